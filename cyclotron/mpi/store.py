"""What one rank does: keeps its tiles of distributed tensors, and runs programs on them and on arrays.

All methods but `drop` and `part` are collective: every rank of the communicator calls them in the same order.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cyclotron.errors import CyclotronError, ExecutionError, ShapeError
from cyclotron.language.trace import DTYPES
from cyclotron.layout import Layout, check_owners

Tensors = Sequence[Mapping[str, Any]]
Deal = Sequence[tuple[int, int]]
# An array; or the number of a tensor that the ranks keep, or will keep.
Bound = NDArray[Any] | int
# Gives the array; is called where a failure reaches all ranks.
Source = Callable[[], NDArray[Any]]


class Form(NamedTuple):
    """What all ranks know of a tensor: shape, dtype, scalars and rank of each tile, and the rule of that."""

    shape: tuple[int, ...]
    dtype: str
    tile: tuple[int, ...]
    owners: NDArray[np.int32]
    layout: Layout


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

    def distribute(self, number: int, source: Source, layout: Layout | None, root: int | None) -> Form:
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
            owners = form.owners.ravel().tolist()
            self._tensors[number] = self._mpi.Distributed(array, list(form.tile), owners, self.rank)
            return form
        given = self._from_root(source, root)
        array, form = self._together(lambda: self._planned(given, layout))
        whole = self._mpi.Distributed(array, list(form.tile), [root] * form.owners.size, self.rank)
        self._tensors[number] = self._redistributed(whole, form)
        return form

    def relayout(self, number: int, new: int, form: Form, layout: Layout) -> Form:
        """Keep the same values in another layout, under another number."""

        def plan() -> tuple[None, Form]:
            return None, self._form(form.shape, form.dtype, layout)

        _, planned = self._together(plan)
        self._tensors[new] = self._redistributed(self._tensors[number], planned)
        return planned

    def run(
        self,
        program: bytes,
        tensors: Tensors,
        bound: Sequence[Bound],
        deal: Deal | None,
        *,
        shared_outputs: bool = False,
    ) -> tuple[list[dict[str, Any]], dict[int, NDArray[np.int32]]]:
        """Run a program; return the profile of each rank, and the owners of the outputs that are kept."""
        given: list[Any] = []
        made = {}
        for tensor, value in zip(tensors, bound, strict=False):
            if not isinstance(value, int):
                given.append(value)
            elif tensor["role"] == "output":
                made[value] = self._mpi.Distributed()
                given.append(made[value])
            else:
                given.append(self._tensors[value])
        profile: list[dict[str, Any]] = self._mpi.run(
            program,
            self._communicator,
            given,
            shared_outputs=shared_outputs,
            deal=None if deal is None else list(deal),
        )
        self._tensors |= made
        return profile, {number: np.array(core.owners, np.int32) for number, core in made.items()}

    def gather(self, number: int, array: NDArray[Any]) -> None:
        """Write all tiles of a tensor into the array of every rank."""
        self._tensors[number].gather(array, self._communicator)

    def part(self, number: int, form: Form) -> dict[tuple[int, ...], NDArray[Any]]:
        """Return this rank's tiles, in their own memory and not to be written, by their indices."""
        found = {}
        for flat in np.flatnonzero(form.owners == self.rank):
            index = tuple(map(int, np.unravel_index(flat, form.owners.shape)))
            lengths = [min(t, n - i * t) for i, t, n in zip(index, form.tile, form.shape, strict=True)]
            found[index] = self._tensors[number].read(int(flat), lengths)
        return found

    def same(self, text: str) -> str:
        """Return the first rank's text."""
        told: bytes = self._mpi.broadcast(text.encode(), 0, self._communicator)
        return told.decode()

    def drop(self, numbers: Sequence[int]) -> None:
        """Forget tensors."""
        for number in numbers:
            self._tensors.pop(number, None)

    def _redistributed(self, core: Any, form: Form) -> Any:
        return core.redistribute(list(form.tile), form.owners.ravel().tolist(), self._communicator)

    def _form(self, shape: tuple[int, ...], dtype: str, layout: Layout) -> Form:
        form = Form(shape, dtype, layout.tile(shape), layout.owners(shape), layout)
        check_owners(form.owners, self.ranks)
        return form

    def _planned(self, array: NDArray[Any], layout: Layout | None) -> tuple[NDArray[Any], Form]:
        if array.dtype.name not in DTYPES or array.ndim == 0:
            raise ShapeError(
                f"an array of shape {array.shape} and dtype {array.dtype} is not distributed",
                code="CYC734",
                help=f"it has at least one dimension, and one of the dtypes {', '.join(DTYPES)}",
            )
        if not array.dtype.isnative or not array.flags.aligned:
            array = np.array(array, dtype=array.dtype.newbyteorder("="))
        if layout is None:
            layout = Layout(grid=(self.ranks, *(1,) * (array.ndim - 1)))
        return array, self._form(tuple(map(int, array.shape)), array.dtype.name, layout)

    def _together(self, plan: Callable[[], tuple[Any, Form]]) -> tuple[Any, Form]:
        """Plan what all ranks plan alike; raise on all of them where one does otherwise or fails."""
        failure: CyclotronError | None = None
        try:
            array, form = plan()
            own = repr(form[:3]).encode() + form.owners.tobytes()
        except CyclotronError as error:
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
        if not 0 <= root < self.ranks:
            raise ExecutionError(
                f"the array is on rank {root} of {self.ranks}",
                code="CYC733",
                help=f"ranks are numbered from 0 to {self.ranks - 1}",
            )
        array: NDArray[Any] | None = None
        failure: CyclotronError | None = None
        if self.rank == root:
            try:
                array = source()
            except CyclotronError as error:
                failure = error
        known = b"" if array is None else repr((array.shape, array.dtype.str)).encode()
        told: bytes = self._mpi.broadcast(known, root, self._communicator)
        if failure is not None:
            raise failure
        if array is not None:
            return array
        if not told:
            raise ExecutionError(
                f"rank {root}, which was to give the array, failed",
                code="CYC731",
                help="it says why",
            )
        shape, dtype = literal_eval(told.decode())
        return np.broadcast_to(np.zeros((), dtype), shape)
