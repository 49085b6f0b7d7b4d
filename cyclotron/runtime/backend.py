"""Interface between `cyclotron.run` and the backends; `docs/extending/backend.md` shows how to write one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from cyclotron.analysis.rank_profile import Profile
from cyclotron.compiler.defaults import Workers, is_small
from cyclotron.compiler.program import Program
from cyclotron.language.trace.early_exit import is_ending
from cyclotron.language.trace.prints import printed_by
from cyclotron.mpi.layout import Layout

Engine = Literal["auto", "general", "fast-forward"]


@dataclass(frozen=True)
class Options:
    """Options of `cyclotron.run`, checked; those that a backend does not take are as here.

    Attributes
    ----------
    functional : bool
        False: time without numbers; there are no inputs then.
    threads : int
        0: one a core.
    ranks : int or None
    deal : Layout or None
    event_limit : int or None
        None: the backend's own choice.
    engine : {"auto", "general", "fast-forward"}
    steps : tuple of int
        Without numbers, for each loop that may end early the iterations after which it does; -1: after all.
        Empty: all.
    """

    functional: bool = True
    threads: int = 0
    ranks: int | None = None
    deal: Layout | None = None
    event_limit: int | None = None
    engine: Engine = "auto"
    steps: tuple[int, ...] = ()


@dataclass(frozen=True)
class Execution:
    """All that a backend gives back of one run.

    Attributes
    ----------
    outputs : dict of str to ndarray or Distributed
        Every output tensor of the program, by name; empty where only time was simulated.
    timing : mapping or None
        Cycles, counters and events, as the simulator of the core returns them.
    profile : Profile or None
        Of MPI ranks.
    skipped : sequence of int or None
        For each loop that may end early the iterations that it left out; empty: none did. None: not known.
    raised : int
        The exceptions of IEEE 754 of its arithmetic, as NumPy numbers them: 1 division by zero, 2 overflow,
        4 underflow, 8 invalid.
    """

    outputs: dict[str, Any]
    timing: Mapping[str, Any] | None = None
    profile: Profile | None = None
    skipped: Sequence[int] | None = None
    raised: int = 0


class Run(Protocol):
    """Run a program once on checked inputs, one for each input tensor, by name."""

    def __call__(self, program: Program, inputs: Mapping[str, Any], options: Options, /) -> Execution: ...


class Residence(Protocol):
    """The tensors of a program in the PEs of a backend, from one run to the next; by name.

    `Resident` has checked what it is asked.
    """

    def give(self, name: str, array: NDArray[Any], /) -> int:
        """Copy an input into the PEs; return the bytes."""

    def feed(self, output: str, name: str, /) -> tuple[int, int]:
        """Make an output of the last run an input of the next; return messages and bytes."""

    def run(self, loaded: frozenset[str], /) -> Execution:
        """Run once; its outputs stay. `loaded`: the inputs that came into the PEs since the run before."""

    def fetch(self, name: str, /) -> tuple[NDArray[Any], int | None]:
        """Return a copy of an output of the last run, and the cycles that it took."""

    def close(self) -> None:
        """Drop everything."""


@dataclass(frozen=True)
class Backend:
    """A place where programs run; see `cyclotron.runtime.backends.register`.

    Attributes
    ----------
    name : str
    run : callable
        Takes program, inputs and options; returns an `Execution`.
    options : tuple of str
        Fields of `Options` that it takes; others are refused before it is called.
    distributed : bool
        Inputs may be `Distributed`; else these are gathered first.
    check : callable or None
        Takes the program, and raises where the backend cannot run it, before the inputs are looked at.
    keep : callable or None
        Takes program and options; returns a `Residence`. None: it keeps nothing between runs.
    workers : callable or None
        Takes options and inputs; returns the threads or ranks that a program without a given machine is
        placed on, or None where it runs as it is. None: it always does.
    """

    name: str
    run: Run
    options: tuple[str, ...] = ()
    distributed: bool = False
    check: Callable[[Program], None] | None = None
    keep: Callable[[Program, Options], Residence] | None = None
    workers: Callable[[Options, Sequence[Any]], Workers | None] | None = None

    def placed(self, program: Program, options: Options, inputs: Sequence[Any] = ()) -> Program:
        """Return the program that runs: the same or, of scalars without a given machine, that of its workers.

        Parameters
        ----------
        program : Program
        options : Options
        inputs : sequence
            Those of the run, as far as they are known.
        """
        if program.placements is None or self.workers is None or is_small(program):
            return program
        workers = self.workers(options, inputs)
        if workers is None:
            return program
        if workers not in program.for_workers:
            chosen = program.placements.on(workers)
            program.for_workers[workers] = (
                program if chosen is None else chosen.with_arguments(program.arguments)
            )
        return program.for_workers[workers]


def empty_outputs(program: Program) -> dict[str, NDArray[Any]]:
    """Return zeros for each output tensor, by name."""
    return {
        tensor["name"]: np.zeros(tensor["shape"], dtype=tensor["dtype"])
        for tensor in program.tensors
        if tensor["role"] == "output"
    }


def is_told(name: str) -> bool:
    """Tell whether an output is for the host alone: the end of a loop, or what a kernel prints."""
    return is_ending(name) or printed_by(name) is not None


def arrays_of(
    program: Program, inputs: Mapping[str, Any], outputs: Mapping[str, NDArray[Any]]
) -> list[NDArray[Any]]:
    """Return an array for each tensor of a program in order: inputs, constants, and outputs to be written."""
    arrays = {**inputs, **program.constants, **outputs}
    return [np.asarray(arrays[tensor["name"]]) for tensor in program.tensors]
