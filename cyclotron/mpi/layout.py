"""The layout of an array's elements on ranks."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.support.arguments import MOST_RANKS, index_of, shown, whole_number
from cyclotron.support.errors import ShapeError

_LONGEST = 2**63 - 1
_DESCRIPTOR_LENGTH = 9
_DENSE_MATRIX = 1  # the type of descriptor in ScaLAPACK's DESC_A(1)


@dataclass(frozen=True, repr=False)
class Layout:
    """Blocks of an array dealt out over a grid of ranks in turn, as in ScaLAPACK; or by a rule of one's own.

    Ranks are numbered row by row, the last dimension fastest (BLACS's "Row" order).

    Parameters
    ----------
    grid : sequence of int, optional
        Ranks along each dimension of the array: ``(2, 2)``.
    block : int or sequence of int, optional
        Scalars of a block along each dimension: 1 deals out single elements (cyclic), any other number
        blocks (block-cyclic). By default every rank has one block, as equal as ceil(n / ranks) makes them.
    source : sequence of int, optional
        The place in the grid of the rank that has the first block; by default the first.
    owner : callable, optional
        Instead of the grid: the rank of the block with the given index, -1 for none (zeros), e.g.
        ``lambda i, j: (i + j) % 4``.

    Raises
    ------
    ShapeError
        If there is not either a grid or an owner, the numbers of dimensions differ, a size is below 1, or the
        grid has no dimension or more ranks than MPI can count (CYC734).

    Examples
    --------
    >>> cy.Layout(grid=(2, 2), block=64)
    cy.Layout(grid=(2, 2), block=64)
    """

    grid: tuple[int, ...] | None = None
    block: tuple[int, ...] | int | None = None
    source: tuple[int, ...] | None = None
    owner: Callable[..., int] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", _sizes("grid", self.grid))
        object.__setattr__(self, "source", _sizes("source", self.source))
        block = index_of(self.block)
        object.__setattr__(self, "block", _sizes("block", self.block) if block is None else block)
        if (self.grid is None) == (self.owner is None):
            raise unfit(
                "a layout has either a grid or an owner", "Layout(grid=(2, 2)) or Layout(block=64, owner=f)"
            )
        if self.owner is not None and not callable(self.owner):
            raise unfit(f"an owner of a layout is {shown(self.owner)}", "give a function of a block's index")
        if self.grid is None and (self.block is None or self.source is not None):
            raise unfit("a layout with an owner has a block, and no source", "Layout(block=64, owner=f)")
        blocks = (self.block,) if isinstance(self.block, int) else (self.block or ())
        if () in (self.grid, self.block):
            raise unfit(
                f"{self} has no dimension",
                "give a size for each dimension of the array, of which there is one",
            )
        if min((1, *(self.grid or ()), *blocks)) < 1:
            raise unfit(
                f"a layout of blocks {self.block} on a grid of {self.grid} ranks", "use sizes of at least 1"
            )
        if (self.ranks or 1) > MOST_RANKS or max((1, *blocks)) > _LONGEST:
            raise unfit(
                f"a layout of blocks {self.block} on a grid of {self.grid} ranks",
                f"use at most {MOST_RANKS} ranks, and blocks of at most {_LONGEST}",
            )
        grid = self.grid or ()
        source = self.source or (0,) * len(grid)
        if len(source) != len(grid) or any(not 0 <= at < size for at, size in zip(source, grid, strict=True)):
            raise unfit(
                f"the first block is on rank {self.source} of a grid of {grid}", "give a place in the grid"
            )

    def __repr__(self) -> str:
        fields = ((name, getattr(self, name)) for name in ("grid", "block", "source", "owner"))
        given = (f"{name}={_named(value)}" for name, value in fields if value is not None)
        return f"cy.Layout({', '.join(given)})"

    @property
    def ranks(self) -> int | None:
        """The number of ranks of the grid; None where an owner decides."""
        return None if self.grid is None else math.prod(self.grid)

    def tile(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the scalars of a block along each dimension of an array, at least 1.

        Parameters
        ----------
        shape : sequence of int
            Of the array, in scalars.

        Raises
        ------
        ShapeError
            If the layout has another number of dimensions (CYC734).
        """
        shape = _extents(shape)
        for value in (self.grid, self.block):
            if isinstance(value, tuple) and len(value) != len(shape):
                raise unfit(
                    f"a layout with {len(value)} dimensions for an array of shape {tuple(shape)}",
                    "give a size for each dimension of the array",
                )
        if self.block is None:
            return tuple(max(1, -(-n // p)) for n, p in zip(shape, self.grid or (), strict=True))
        return (self.block,) * len(shape) if isinstance(self.block, int) else self.block

    def owners(self, shape: Sequence[int]) -> NDArray[np.int32]:
        """Return the rank of each block of an array, int32, by the block's index.

        Parameters
        ----------
        shape : sequence of int
            Of the array, in scalars.

        Raises
        ------
        ShapeError
            If the layout has another number of dimensions, or the owner takes another number of arguments,
            fails, or tells no rank: a whole number of at least -1 (CYC734).
        """
        extents = tuple(-(-n // t) for n, t in zip(_extents(shape), self.tile(shape), strict=True))
        if self.owner is not None:
            _check_arguments(self.owner, len(extents))
            found = [_owner_of(self.owner, index) for index in np.ndindex(*extents)]
            return np.array(found, np.int32).reshape(extents)
        assert self.grid is not None
        result = np.zeros(extents, np.int32)
        source = self.source or (0,) * len(self.grid)
        for dimension, (extent, size, first) in enumerate(zip(extents, self.grid, source, strict=True)):
            along = (np.arange(extent, dtype=np.int32) + first) % size
            lacking = len(extents) - dimension - 1
            result = result * size + along.reshape(-1, *(1,) * lacking)
        return result

    def tabled(self, shape: Sequence[int]) -> Layout:
        """Return a layout of arrays of this shape that deals out blocks alike, and can be pickled.

        Parameters
        ----------
        shape : sequence of int
        """
        if self.owner is None:
            return self
        return Layout(block=self.tile(shape), owner=self.owners(shape).item)

    def descriptor(self, shape: Sequence[int], *, rank: int = 0, context: int = 0) -> tuple[int, ...]:
        """Return ScaLAPACK's array descriptor of a matrix in this layout.

        Parameters
        ----------
        shape : (int, int)
            Rows and columns of the matrix.
        rank : int
            Whose leading dimension is told.
        context : int
            The BLACS context of the grid.

        Returns
        -------
        tuple of int
            ``(DTYPE_, CTXT_, M_, N_, MB_, NB_, RSRC_, CSRC_, LLD_)``, for a local array in column-major order
            (``np.asfortranarray(tensor.local)``).

        Raises
        ------
        ShapeError
            If it is no matrix, or the layout has an owner (CYC734).
        ExecutionError
            If the grid has no such rank (CYC733).
        """
        shape = _extents(shape)
        if self.grid is None or len(self.grid) != 2 or len(shape) != 2:
            raise unfit(
                f"{self} of an array of shape {tuple(shape)} has no descriptor",
                "descriptors are of matrices on a grid of ranks",
            )
        rank = whole_number("rank", rank, code="CYC733", least=0, most=math.prod(self.grid) - 1)
        row = rank // self.grid[1]
        owners = self.owners((shape[0], 1))[:, 0] // self.grid[1]
        tile = self.tile(shape)
        rows = sum(min(tile[0], shape[0] - at * tile[0]) for at in np.flatnonzero(owners == row))
        return (_DENSE_MATRIX, context, *shape, *tile, *(self.source or (0, 0)), max(1, int(rows)))

    @classmethod
    def from_descriptor(cls, descriptor: Sequence[int], grid: Sequence[int]) -> Layout:
        """Return the layout that ScaLAPACK's array descriptor tells of, on a grid of ranks.

        Parameters
        ----------
        descriptor : sequence of int
            ``(DTYPE_, CTXT_, M_, N_, MB_, NB_, RSRC_, CSRC_, LLD_)``, of a dense matrix.
        grid : (int, int)
            Rows and columns of the BLACS grid, which the context tells and the descriptor does not; ranks are
            numbered row by row.

        Raises
        ------
        ShapeError
            If it is none of a dense matrix, or its sizes fit no layout on the grid (CYC734).

        Examples
        --------
        >>> cy.Layout.from_descriptor((1, 0, 100, 80, 32, 16, 0, 1, 64), grid=(2, 2))
        cy.Layout(grid=(2, 2), block=(32, 16), source=(0, 1))
        """
        found = _sizes("descriptor", descriptor) or ()
        if len(found) != _DESCRIPTOR_LENGTH or found[0] != _DENSE_MATRIX:
            raise unfit(
                f"descriptor {shown(descriptor)} is none of a dense matrix",
                "give the nine numbers that DESCINIT writes, the first of them 1",
            )
        source = found[6:8]
        return cls(tuple(grid), found[4:6], source if any(source) else None)

    def local_indices(self, shape: Sequence[int], rank: int) -> tuple[NDArray[np.int64], ...]:
        """Return which rows, columns, ... of an array a rank of the grid has.

        Parameters
        ----------
        shape : sequence of int
            Of the array, in scalars.
        rank : int
            At least 0; those that are not in the grid have nothing.

        Returns
        -------
        tuple of ndarray
            For each dimension the positions, increasing: ``array[np.ix_(*indices)]`` is the rank's part.

        Raises
        ------
        ShapeError
            If the layout has an owner, or another number of dimensions (CYC734).
        ExecutionError
            If `rank` is no whole number of at least 0 (CYC733).
        """
        shape, rank = _extents(shape), whole_number("rank", rank, code="CYC733", least=0)
        if self.grid is None:
            raise unfit("what a rank has is no product of rows and columns", "use a layout with a grid")
        if not 0 <= rank < math.prod(self.grid):
            return tuple(np.zeros(0, np.int64) for _ in shape)
        place = np.unravel_index(rank, self.grid)
        source = self.source or (0,) * len(self.grid)
        result = []
        for n, tile, size, first, at in zip(shape, self.tile(shape), self.grid, source, place, strict=True):
            positions = np.arange(n, dtype=np.int64)
            result.append(positions[(positions // tile + first) % size == at])
        return tuple(result)


def layout_of(shape: Sequence[int], tile: tuple[int, ...], owners: NDArray[np.int32]) -> Layout:
    """Return the layout that deals out tiles so: on a grid where there is one, else with an owner.

    Parameters
    ----------
    shape : sequence of int
        Of the array, in scalars.
    tile : tuple of int
        Scalars of a tile along each dimension.
    owners : ndarray, int32
        The rank of each tile.
    """
    grid = _grid_of(owners)
    if grid is not None:
        found = Layout(grid=grid, block=tile)
        if np.array_equal(found.owners(shape), owners):
            return found
    return Layout(block=tile, owner=owners.item)


def _grid_of(owners: NDArray[np.int32]) -> tuple[int, ...] | None:
    """The only grid that could have dealt out tiles so, from the first rank: by the periods of the owners."""
    if owners.size == 0:
        return None
    grid = []
    for dimension in range(owners.ndim):
        line = np.moveaxis(owners, dimension, 0).reshape(owners.shape[dimension], -1)[:, 0]
        again = np.flatnonzero(line == line[0])
        grid.append(int(again[1]) if len(again) > 1 else len(line))
    return tuple(grid)


def require_layout(layout: Any) -> Layout:
    """Return a layout; raise `ShapeError` CYC734 where it is none."""
    if not isinstance(layout, Layout):
        raise unfit(f"the layout is {shown(layout)}", "give a cy.Layout, for example cy.Layout((2, 1))")
    return layout


def _check_arguments(owner: Callable[..., Any], dimensions: int) -> None:
    """Refuse an owner that does not take a block's index, where Python knows what it takes."""
    try:
        signature = inspect.signature(owner)
    except (TypeError, ValueError):  # written in C
        return
    try:
        signature.bind(*range(dimensions))
    except TypeError:
        raise unfit(
            f"the owner of a layout takes {signature}, and a block's index has {dimensions} numbers",
            "give a function of as many arguments as the array has dimensions",
        ) from None


def _owner_of(owner: Callable[..., Any], index: tuple[int, ...]) -> int:
    """The rank that an owner tells."""
    try:
        found = owner(*index)
    except Exception as error:  # on ranks too, which all have to learn of it
        raise unfit(
            f"the owner of block {index} is not told: {type(error).__name__}: {error}",
            "see the function that the layout was given",
        ) from error
    rank = index_of(found)
    if rank is None or not -1 <= rank <= MOST_RANKS:
        raise unfit(
            f"the owner of block {index} is {shown(found)}",
            "return the number of a rank, or -1 for none, for example (i + j) % 4",
        )
    return rank


def _named(value: Any) -> str:
    """A field of a layout as text, a function without its address."""
    return getattr(value, "__name__", repr(value)) if callable(value) else str(value)


def _extents(shape: Any) -> tuple[int, ...]:
    """An array's shape."""
    try:
        found = tuple(map(operator.index, shape))
    except TypeError:
        found = (-1,)
    if min((0, *found)) < 0:
        raise unfit(f"an array of shape {shown(shape)}", "give a whole number for each dimension")
    return found


def _sizes(name: str, value: Any) -> tuple[int, ...] | None:
    """Whole numbers, one for each dimension."""
    if value is None:
        return None
    try:
        return tuple(map(operator.index, value))
    except TypeError:
        raise unfit(f"{name}={shown(value)} of a layout", "give a whole number for each dimension") from None


def unfit(what: str, help: str) -> ShapeError:
    """Return the error of a layout, or of an array, that ranks cannot have."""
    return ShapeError(what, code="CYC734", help=help)


def check_owners(owners: NDArray[Any], ranks: int) -> None:
    """Raise ShapeError where a block is given to a rank that does not exist.

    Parameters
    ----------
    owners : ndarray, int32
        The rank of each block, -1 for none.
    ranks : int
        How many there are.
    """
    wrong = np.argwhere((owners < -1) | (owners >= ranks))
    if len(wrong):
        index = tuple(map(int, wrong[0]))
        raise unfit(
            f"block {index} is given to rank {int(owners[index])} of {ranks}",
            f"ranks are numbered from 0 to {ranks - 1}; for more use ranks=, or mpirun -n",
        )
