"""Arrays of which MPI ranks have parts."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cyclotron.language import Spec
from cyclotron.mpi.layout import Layout, layout_of, require_layout
from cyclotron.support.errors import ExecutionError

if TYPE_CHECKING:
    from cyclotron.mpi.ranks import Ranks
    from cyclotron.mpi.store import StoredTensor


class Distributed:
    """An array in tiles, each on one MPI rank; made by `distribute`, or by a run. Not to be changed.

    Under ``mpirun`` every rank holds such an object, and `gather`, `relayout` and ``np.asarray`` are
    collective; in another process the ranks are those of a pool, and end with it.

    Attributes
    ----------
    shape : tuple of int
        In scalars.
    dtype : numpy.dtype
    tile : tuple of int
        Scalars of a tile along each dimension; the last may be smaller.
    owners : ndarray, int32
        The rank of each tile, by the tile's index; -1 where nobody has it and all is zero.
    layout : Layout
        How the tiles are dealt out: on a grid of ranks, or else with an owner.

    Examples
    --------
    >>> kept = cy.distribute(np.eye(4), ranks=1)
    >>> kept.shape, float(kept.gather().trace())
    ((4, 4), 4.0)
    """

    def __init__(self, ranks: Ranks, number: int, form: StoredTensor) -> None:
        self.shape = form.shape
        self.dtype = np.dtype(form.dtype)
        self.tile = form.tile
        self.owners = form.owners
        self.layout = form.layout
        self._ranks = ranks
        self._number = number
        self._form = form
        self._finalizer = weakref.finalize(self, ranks.forget, number)
        self._finalizer.atexit = False

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def local(self) -> NDArray[Any]:
        """This rank's part: its rows and columns of the array, packed, as ScaLAPACK has it; a copy.

        Raises
        ------
        ShapeError
            If the tiles are not dealt out on a grid: see `tiles`, or `relayout` it.
        ExecutionError
            If this process is no rank.
        """
        tiles = self.tiles
        indices = self.layout.local_indices(self.shape, self._rank())
        part = np.zeros([len(index) for index in indices], self.dtype)
        for index, tile in tiles.items():
            firsts = [
                np.searchsorted(rows, i * t) for rows, i, t in zip(indices, index, self.tile, strict=True)
            ]
            part[tuple(slice(at, at + n) for at, n in zip(firsts, tile.shape, strict=True))] = tile
        return part

    @property
    def tiles(self) -> dict[tuple[int, ...], NDArray[Any]]:
        """This rank's tiles by their index: their own memory, not to be written.

        Raises
        ------
        ExecutionError
            If this process is no rank.
        """
        self._rank()
        return self.ranks.part(self._number, self._form)

    def gather(self) -> NDArray[Any]:
        """Return the whole array, under ``mpirun`` on every rank."""
        return self.ranks.gather(self._number, self._form)

    def relayout(self, layout: Layout) -> Distributed:
        """Return the same array in another layout; each rank sends each other at most one message.

        Parameters
        ----------
        layout : Layout

        Raises
        ------
        ShapeError
            If it is no layout, or does not fit the array (CYC734).
        ExecutionError
            If the ranks disagree (CYC731), or are gone (CYC736).
        """
        require_layout(layout)
        ranks = self.ranks
        return Distributed(ranks, *ranks.relayout(self._number, self._form, layout))

    def described(self, layout: Layout) -> Distributed:
        """Return the same array, which is in this layout already, with the layout as the caller writes it.

        Parameters
        ----------
        layout : Layout
            That deals out the same tiles to the same ranks.
        """
        self.layout = layout
        self._form = self._form._replace(layout=layout)
        return self

    def _diagonal(self) -> NDArray[Any]:
        """The diagonal of a matrix, on every rank."""
        return self.ranks.diagonal(self._number, self._form)

    def _reshaped(self, shape: tuple[int, ...]) -> Distributed:
        """The same array in a shape that has more or fewer axes of extent 1; no number leaves its rank."""
        ranks = self.ranks
        tiles = iter([t for n, t in zip(self.shape, self.tile, strict=True) if n != 1])
        tile = tuple(1 if n == 1 else next(tiles) for n in shape)
        owners = self.owners.reshape([-(-n // t) for n, t in zip(shape, tile, strict=True)])
        layout = layout_of(shape, tile, owners)
        form = self._form._replace(shape=shape, tile=tile, owners=owners, layout=layout)
        return Distributed(ranks, ranks.reshape(self._number, self._form, form), form)

    def spec(self) -> Spec:
        """Return what `Kernel.compile` needs to know of it: shape, dtype and tile."""
        return Spec(self.shape, self.dtype.name, self.tile)

    def on(self, ranks: Ranks | None) -> int:
        """Return the number that ranks know it by.

        Parameters
        ----------
        ranks : Ranks or None
            Those of a run.

        Raises
        ------
        ExecutionError
            If other ranks keep it.
        """
        if ranks is not self.ranks:
            raise _not_held(
                f"an array is kept by {self.ranks.ranks} other ranks than those of this run",
                "distribute all arrays on the same ranks, or pass gather()",
            )
        return self._number

    @property
    def ranks(self) -> Ranks:
        """The ranks that keep it.

        Raises
        ------
        ExecutionError
            If they are gone.
        """
        return not_closed(self._ranks, "the array", "distribute it again")

    def _rank(self) -> int:
        rank = self._ranks.rank
        if rank is None:
            raise _not_held(
                "this process is no rank, and has no part of the array",
                "take all of it, by gather(), or run the script under mpirun",
            )
        return rank

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("the numbers are on ranks, and gathered into a copy")
        array = self.gather()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __repr__(self) -> str:
        tile = "x".join(map(str, self.tile))
        shape = "x".join(map(str, self.shape))
        return f"<distributed {self.dtype} {shape} on {self._ranks.ranks} ranks, in tiles of {tile}>"


def ranks_of(operands: Iterable[object], ranks: int | None) -> Ranks | None:
    """Return the ranks that keep the first distributed operand; None where there is none.

    Parameters
    ----------
    operands : iterable
    ranks : int, optional
        How many the caller asks for.

    Raises
    ------
    ExecutionError
        If the array is on another number of ranks, or they are gone (CYC736).
    """
    kept = next((operand for operand in operands if isinstance(operand, Distributed)), None)
    if kept is None:
        return None
    if ranks not in (None, kept.ranks.ranks):
        raise _not_held(
            f"ranks={ranks} for an array that is on {kept.ranks.ranks}",
            "leave ranks out, or distribute the array on that many",
        )
    return kept.ranks


def not_closed(ranks: Ranks, kept: str, help: str) -> Ranks:
    """Return ranks that still have what they kept; raise `ExecutionError` CYC736 where they are gone."""
    if ranks.closed:
        raise _not_held(f"the {ranks.ranks} ranks that kept {kept} are gone", help)
    return ranks


def _not_held(message: str, help: str) -> ExecutionError:
    return ExecutionError(message, code="CYC736", help=help)
