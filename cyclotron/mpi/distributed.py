"""Runs on data that stay where they are: every rank holds some tiles of each tensor before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.errors import ExecutionError, ShapeError
from cyclotron.mpi import extension
from cyclotron.mpi.collective import world


class Distributed:
    """A matrix in tiles, each on one rank of ``MPI.COMM_WORLD``; made by `distribute` or by a run.

    Attributes
    ----------
    shape : tuple of int
        In scalars.
    dtype : numpy.dtype
    """

    def __init__(self, core: Any, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.core = core

    def gather(self) -> NDArray[Any]:
        """Return the whole matrix on every rank. Collective."""
        _mpi = extension.load()
        array = np.zeros(self.shape, self.dtype)
        self.core.gather(array, world(_mpi))
        return array


def distribute(array: NDArray[Any], tile: tuple[int, ...], owner: Callable[..., int]) -> Distributed:
    """Keep this rank's tiles of an array that every rank has. Collective, without messages.

    Parameters
    ----------
    array : ndarray
        The same values on every rank.
    tile : tuple of int
        Scalars of a tile along each dimension; the last may be smaller.
    owner : callable
        Rank of the tile with the given index, e.g. ``lambda i, j: (i + j) % 2``.

    Raises
    ------
    ShapeError
        If the tile has not as many dimensions as the array, or is empty.
    ExecutionError
        If there is no such rank.
    """
    if len(tile) != array.ndim or min(tile, default=1) < 1:
        raise ShapeError(
            f"tiles of {tile} in an array of shape {array.shape}",
            code="CYC710",
            help="give a positive size for each dimension",
        )
    _mpi = extension.load()
    extents = [-(-size // length) for size, length in zip(array.shape, tile, strict=True)]
    communicator = world(_mpi)
    ranks = _mpi.size(communicator)
    owners = {index: owner(*index) for index in np.ndindex(*extents)}
    for index, rank in owners.items():
        if not 0 <= rank < ranks:
            raise ExecutionError(
                f"tile {index} is given to rank {rank} of {ranks}",
                code="CYC733",
                help=f"ranks are numbered from 0 to {ranks - 1}",
            )
    core = _mpi.Distributed(array, list(tile), list(owners.values()), _mpi.rank(communicator))
    return Distributed(core, array.shape, array.dtype)


@dataclass(frozen=True)
class DistributedRun:
    """What a run left behind.

    Attributes
    ----------
    outputs : dict of str to Distributed
    profile : list of dict
        For each rank ``seconds`` from the first instruction to the last, ``compute`` (seconds by operator on
        tiles), ``load_store`` (seconds), ``lent_bytes``, ``sent_bytes`` and ``messages``; it waited for the
        rest of the time.
    """

    outputs: dict[str, Distributed]
    profile: list[dict[str, Any]]


def run_distributed(
    program: bytes,
    tensors: Sequence[Mapping[str, Any]],
    inputs: Sequence[Distributed],
    deal: Sequence[tuple[int, int]] | None = None,
) -> DistributedRun:
    """Run on all ranks of ``MPI.COMM_WORLD``, on tiles that the ranks hold. Collective.

    A tile that is held by another rank than the one that loads it is fetched before the run; outputs stay
    where they are computed.

    Parameters
    ----------
    program : bytes
        The program file; its tensors are blocked.
    tensors : sequence of dict
        Its tensor table.
    inputs : sequence of Distributed
        One for each input, in tiles of the program's size.
    deal : sequence of (int, int), optional
        For each dimension of the grid the number of ranks and the size of the blocks of PEs that are dealt
        out to them in turn; by default every rank has a block of PEs in the order of the grid.

    Raises
    ------
    ExecutionError
        As `cyclotron.mpi.run`; CYC733 where PEs cannot be dealt out so.
    """
    _mpi = extension.load()
    given = iter(inputs)
    bound = [next(given).core if t["role"] == "input" else _mpi.Distributed() for t in tensors]
    profile = _mpi.run(program, world(_mpi), bound, deal=None if deal is None else list(deal))
    outputs = {
        t["name"]: Distributed(core, tuple(t["shape"]), t["dtype"])
        for t, core in zip(tensors, bound, strict=True)
        if t["role"] == "output"
    }
    return DistributedRun(outputs, profile)
