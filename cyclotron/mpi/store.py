"""The store of one rank: it keeps tiles of distributed tensors, and runs programs on them and on arrays.

All methods but `drop` and `part` are collective: every rank of the communicator calls them in the same order.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cyclotron import cache
from cyclotron.mpi.layout import Layout, check_owners
from cyclotron.mpi.sources import rank_among, require_numbers
from cyclotron.support.errors import ExecutionError

Tensors = Sequence[Mapping[str, Any]]
Deal = Sequence[tuple[int, int]]
# An array; or the number of a tensor that the ranks keep, or will keep; or None, for one mapped there.
Bound = NDArray[Any] | int | None
# Gives the array; is called where a failure reaches all ranks.
Source = Callable[[], NDArray[Any]]


class StoredTensor(NamedTuple):
    """Metadata of a tensor on all ranks: shape, dtype, scalars and rank of each tile, and its layout."""

    shape: tuple[int, ...]
    dtype: str
    tile: tuple[int, ...]
    owners: NDArray[np.int32]
    layout: Layout


class Work(NamedTuple):
    """A run of a program.

    Attributes
    ----------
    program : bytes
    tensors : sequence of dict
        Those of the program.
    bound : sequence
        An array, of which those of outputs are written, or a tensor that is kept, for each of them.
    deal : sequence of (int, int), optional
        From `dealt`.
    event_limit : int
        Of each rank.
    """

    program: bytes
    tensors: Tensors
    bound: Sequence[Bound]
    deal: Deal | None = None
    event_limit: int = 0


def place_of(tile: NDArray[Any], index: tuple[int, ...], sides: tuple[int, ...]) -> tuple[slice, ...]:
    """Return where a tile is in its array.

    Parameters
    ----------
    tile : ndarray
        The last along a dimension may be smaller than the others.
    index : tuple of int
        Which it is, along each dimension.
    sides : tuple of int
        Scalars of the others.
    """
    firsts = (i * side for i, side in zip(index, sides, strict=True))
    return tuple(slice(first, first + n) for first, n in zip(firsts, tile.shape, strict=True))


class Store:
    """The tensors of one rank, by the numbers that its owner gives them.

    Parameters
    ----------
    mpi : module
        ``cyclotron._mpi``.
    communicator : int
        Its Fortran handle.
    """

    def __init__(self, mpi: Any, communicator: int) -> None:
        self._mpi = mpi
        self._communicator = communicator
        self._tensors: dict[int, Any] = {}
        self.rank: int = mpi.rank(communicator)
        self.ranks: int = mpi.size(communicator)

    def distribute(
        self, number: int, source: Source, layout: Layout | None, root: int | None
    ) -> StoredTensor:
        """Keep this rank's blocks of an array.

        Parameters
        ----------
        number : int
        source : callable
            Gives the same values on every rank, or is looked at on the root only.
        layout : Layout, optional
            By default a block of rows for each rank.
        root : int, optional
        """
        if root is None:
            array, form = self._together(lambda: self._planned(source(), layout))
            self._tensors[number] = self._own_tiles(array, form)
            return form
        root = rank_among(root, self.ranks)
        given = self._from_root(source, root)
        array, form = self._together(lambda: self._planned(given, layout))
        whole = self._mpi.Distributed(array, list(form.tile), [root] * form.owners.size, self.rank)
        self._tensors[number] = self._redistributed(whole, form)
        return form

    def relayout(self, number: int, new: int, form: StoredTensor, layout: Layout) -> StoredTensor:
        """Keep the same values in another layout, under another number."""

        def plan() -> tuple[None, StoredTensor]:
            return None, self._form(form.shape, form.dtype, layout)

        _, planned = self._together(plan)
        self._tensors[new] = self._redistributed(self._tensors[number], planned)
        return planned

    def run(
        self, work: Work, *, shared_outputs: bool = False
    ) -> tuple[list[dict[str, Any]], dict[int, NDArray[np.int32]]]:
        """Run a program; return the account of each rank, and the owners of the outputs that are kept."""
        given: list[Any] = []
        made = {}
        for tensor, value in zip(work.tensors, work.bound, strict=False):
            if not isinstance(value, int):
                given.append(value)
            elif tensor["role"] == "output":
                made[value] = self._mpi.Distributed()
                given.append(made[value])
            else:
                given.append(self._tensors[value])
        accounts: list[dict[str, Any]] = self._mpi.run(
            work.program,
            self._communicator,
            given,
            shared_outputs=shared_outputs,
            deal=None if work.deal is None else list(work.deal),
            event_limit=work.event_limit,
            loops=cache.loops(),
        )
        self._tensors |= made
        return accounts, {number: np.array(core.owners, np.int32) for number, core in made.items()}

    def gather(self, number: int, array: NDArray[Any]) -> None:
        """Write all tiles of a tensor into the array of every rank."""
        self._tensors[number].gather(array, self._communicator)

    def part(self, number: int, form: StoredTensor) -> dict[tuple[int, ...], NDArray[Any]]:
        """Return this rank's tiles, in their own memory and not to be written, by their indices."""
        found = {}
        for flat in np.flatnonzero(form.owners == self.rank):
            index = tuple(map(int, np.unravel_index(flat, form.owners.shape)))
            lengths = [min(t, n - i * t) for i, t, n in zip(index, form.tile, form.shape, strict=True)]
            found[index] = self._tensors[number].read(int(flat), lengths)
        return found

    def diagonal(self, number: int, form: StoredTensor) -> NDArray[Any]:
        """Return the diagonal of a matrix, of which each rank tells what is in its tiles."""
        own = np.zeros(min(form.shape), form.dtype)
        for (i, j), tile in self.part(number, form).items():
            row, column = i * form.tile[0], j * form.tile[1]
            first, end = max(row, column), min(row + tile.shape[0], column + tile.shape[1])
            if first < end:
                at = np.arange(first, end)
                own[first:end] = tile[at - row, at - column]
        result = np.zeros_like(own)
        for rank in range(self.ranks):
            # Zero where another rank has it.
            result += np.frombuffer(self._mpi.broadcast(own.tobytes(), rank, self._communicator), own.dtype)
        return result

    def reshape(self, number: int, new: int, form: StoredTensor, shaped: StoredTensor) -> None:
        """Keep this rank's tiles in a shape with more or fewer axes of extent 1, under another number."""
        own = np.zeros(form.shape, form.dtype)
        for index, tile in self.part(number, form).items():
            own[place_of(tile, index, form.tile)] = tile
        self._tensors[new] = self._own_tiles(own.reshape(shaped.shape), shaped)

    def keep(self, number: int, make: Callable[[Any, int], Any]) -> None:
        """Keep what is made of the extension and the communicator."""
        self._tensors[number] = make(self._mpi, self._communicator)

    def kept(self, number: int) -> Any:
        """Return what is kept under a number."""
        return self._tensors[number]

    def same(self, text: str, root: int = 0) -> str:
        """Return the text of one rank."""
        return str(self._mpi.broadcast(text.encode(), root, self._communicator), "utf-8")

    def drop(self, numbers: Sequence[int]) -> None:
        """Forget tensors."""
        for number in numbers:
            self._tensors.pop(number, None)

    def _own_tiles(self, array: NDArray[Any], form: StoredTensor) -> Any:
        return self._mpi.Distributed(array, list(form.tile), form.owners.ravel().tolist(), self.rank)

    def _redistributed(self, core: Any, form: StoredTensor) -> Any:
        return core.redistribute(list(form.tile), form.owners.ravel().tolist(), self._communicator)

    def _form(self, shape: tuple[int, ...], dtype: str, layout: Layout) -> StoredTensor:
        form = StoredTensor(shape, dtype, layout.tile(shape), layout.owners(shape), layout)
        check_owners(form.owners, self.ranks)
        return form

    def _planned(self, array: NDArray[Any], layout: Layout | None) -> tuple[NDArray[Any], StoredTensor]:
        require_numbers(array)
        if not array.dtype.isnative or not array.flags.aligned:
            array = np.array(array, dtype=array.dtype.newbyteorder("="))
        if layout is None:
            layout = Layout(grid=(self.ranks, *(1,) * (array.ndim - 1)))
        return array, self._form(tuple(map(int, array.shape)), array.dtype.name, layout)

    def _together(self, plan: Callable[[], tuple[Any, StoredTensor]]) -> tuple[Any, StoredTensor]:
        """Plan what all ranks plan alike; raise on all of them where one does otherwise or fails."""
        failure: Exception | None = None
        try:
            array, form = plan()
            own = repr(form[:3]).encode() + form.owners.tobytes()
        except Exception as error:  # whatever it is, the others wait
            failure = error
            own = str(error).encode()
        agreed: bool = self._mpi.agree(own, self._communicator)
        if failure is not None:
            raise failure
        if agreed:
            return array, form
        raise ExecutionError(
            f"the {self.ranks} ranks were given different arrays or layouts",
            code="CYC731",
            help="every rank passes an array of the same shape and dtype, and the same layout",
        )

    def _from_root(self, source: Source, root: int) -> NDArray[Any]:
        """The array on the root; elsewhere one of its shape and dtype, which takes no memory."""
        array: NDArray[Any] | None = None
        failure: Exception | None = None
        if self.rank == root:
            try:
                array = source()
            except Exception as error:  # whatever it is, the others wait
                failure = error
        known = b"" if array is None else repr((array.shape, array.dtype.str)).encode()
        told: bytes = self._mpi.broadcast(known, root, self._communicator)
        if failure is not None:
            raise failure
        if array is not None:
            return array
        if not told:
            raise ExecutionError(
                f"rank {root}, which was to give the array, failed", code="CYC731", help="it says why"
            )
        shape, dtype = literal_eval(told.decode())
        return np.broadcast_to(np.zeros((), dtype), shape)
