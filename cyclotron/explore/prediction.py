"""A prediction of the time of a program on MPI ranks: the simulator, with PEs that share ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cyclotron import _core
from cyclotron.compiler.program import Program, require_program
from cyclotron.mpi.execution import dealt
from cyclotron.mpi.layout import Layout
from cyclotron.support.arguments import invalid_option, rank_count, whole_number
from cyclotron.support.call_site import errors_at_call
from cyclotron.support.progress import progress_bar

_MOST_CORES = 2**31 - 1
_MOST_RANKS = 1 << 20  # each has a processor and a queue


@dataclass(frozen=True, eq=False)
class Prediction:
    """The prediction of `predict`.

    Attributes
    ----------
    cycles : int
        Until the last PE is done.
    seconds : float or None
        The same by the machine's clock; None where it has none.
    busy : ndarray, int64
        Cycles that each rank computes.
    words_sent, words_received : ndarray, int64
        Elements that each rank sends to others, and receives from them.
    messages : ndarray, int64
        That each rank sends; a broadcast is one to each other rank.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> program = matmul.compile(np.ones((2, 2)), np.ones((2, 2)))
    >>> cy.predict(program, ranks=1).words_received.tolist()
    [0]
    """

    cycles: int
    seconds: float | None
    busy: NDArray[np.int64]
    words_sent: NDArray[np.int64]
    words_received: NDArray[np.int64]
    messages: NDArray[np.int64]

    @property
    def utilization(self) -> NDArray[np.float64]:
        """The share of the time that each rank computes."""
        return self.busy / max(self.cycles, 1)

    def __str__(self) -> str:
        time = f"{self.cycles} cycles" if self.seconds is None else f"{self.seconds * 1e3:.3f} ms"
        return (
            f"{time} on {len(self.busy)} ranks that compute {self.utilization.mean():.0%} of it; the busiest "
            f"receives {self.words_received.max()} words, and sends {self.messages.max()} messages"
        )


def predict(
    program: Program, *, ranks: int, deal: Layout | None = None, cores: int | None = None
) -> Prediction:
    """Simulate how long MPI ranks take for a program, time alone.

    A rank computes for one of its PEs at a time, the one that came first; its PEs hand each other tiles in no
    time. Messages to other ranks leave one after the other, by the machine's links, while the rank goes on;
    a broadcast goes once to each rank, along a binomial tree. Ranks have no controller. Smaller tiles at the
    end of a dimension count as whole ones: words and time are a little too many where tiles do not divide the
    shapes. So that the time is that of real ranks, compile the program for `machines.cluster`, or use
    `Program.with_machine`.

    Parameters
    ----------
    program : Program
        Compiled for a machine with the ranks' speed and links.
    ranks : int
        How many there are.
    deal : Layout, optional
        How the PEs are dealt out to the ranks, as of `run`.
    cores : int, optional
        That all ranks share: so many compute at a time. By default each has its own.

    Returns
    -------
    Prediction

    Raises
    ------
    ExecutionError
        If there is no such number of ranks or cores, or the deal is none (CYC733); if tiles of several sizes
        share a slot or a channel (CYC709).
    DeadlockError
        If the channels are too shallow for the program.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> program = matmul.compile(np.ones((2, 2)), np.ones((2, 2)))
    >>> cy.predict(program, ranks=1).cycles > 0
    True
    """
    require_program(program, "predict()")
    rank_count(ranks)
    whole_number("ranks", ranks, code="CYC733", most=_MOST_RANKS)
    cores = ranks if cores is None else whole_number("cores", cores, code="CYC733", most=_MOST_CORES)
    with errors_at_call():
        owners = _owners(program, ranks, deal)
    with progress_bar(f"predicting {program.kernel_name}") as progress:
        found = _core.predict(program.core, owners, ranks=ranks, cores=cores, progress=progress)
    clock = program.machine.clock if program.machine else None
    return Prediction(seconds=None if clock is None else found["cycles"] / clock, **found)


def _owners(program: Program, ranks: int, deal: Layout | None) -> list[int]:
    """The rank of each PE in the order of the grid; empty where each rank has a block of them."""
    if deal is None:
        return []
    if not isinstance(deal, Layout):
        raise invalid_option(
            f"deal={deal!r} is no layout", "give a cy.Layout of the PEs, for example cy.Layout((2, 1), 1)"
        )
    if (deal.ranks or 0) > ranks:
        raise invalid_option(
            f"PEs are dealt out to {deal.ranks} ranks, and there are {ranks}",
            "give as many ranks as the layout's grid has",
        )
    owners = np.zeros(program.grid, np.int64)
    for at, (count, block) in zip(np.indices(program.grid), dealt(program, deal) or (), strict=True):
        owners = owners * count + at // block % count
    return [int(owner) for owner in owners.ravel()]
