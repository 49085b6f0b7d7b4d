"""Matrices seen as grids of tiles, extents that remember their tiles, and shapes without data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cyclotron.language.values.dispatch import Arithmetic
from cyclotron.language.values.source_span import shape_error
from cyclotron.support.arguments import array_of, index_of, items_of, shown
from cyclotron.support.dtypes import advice, load_added
from cyclotron.support.errors import ShapeError


class Extent(int):
    """The number of tiles along one axis; remembers the scalars and the tile size of that axis."""

    scalars: int
    tile: int

    def __new__(cls, scalars: int, tile: int) -> Extent:
        extent = super().__new__(cls, -(-scalars // tile))
        extent.scalars = scalars
        extent.tile = tile
        return extent

    def __reduce__(self) -> tuple[type[Extent], tuple[int, int]]:
        return (Extent, (self.scalars, self.tile))


@dataclass(frozen=True, eq=False)
class Blocked:
    """An array seen as a grid of tiles; made by `cyclotron.blocked`.

    Attributes
    ----------
    array : ndarray
        The scalars.
    tile_shape : tuple of int
        Scalars per tile along each axis; the last tile of an axis may be smaller.

    Examples
    --------
    >>> tiles = cy.blocked(np.ones((4, 4)), (2, 2))
    >>> tiles.shape, tiles.array.shape
    ((2, 2), (4, 4))
    """

    array: NDArray[Any]
    tile_shape: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of tiles along each axis."""
        return extents(self.array.shape, self.tile_shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.array.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the scalars."""
        return self.array.dtype

    @property
    def size(self) -> int:
        """The number of tiles."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, index: SupportsIndex | tuple[SupportsIndex, ...]) -> NDArray[Any]:
        """Return a view of one tile; the last one of an axis may be smaller."""
        tile: NDArray[Any] = self.array[self._slices(index)]
        return tile

    def __setitem__(self, index: SupportsIndex | tuple[SupportsIndex, ...], value: object) -> None:
        self.array[self._slices(index)] = value

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        array = self.array if dtype is None else self.array.astype(dtype, copy=False)
        return array.copy() if copy else array

    def __repr__(self) -> str:
        grid = "x".join(str(int(extent)) for extent in self.shape)
        tile = "x".join(map(str, self.tile_shape))
        scalars = "x".join(map(str, self.array.shape))
        return f"<blocked {self.dtype} {scalars}: {grid} tiles of {tile}>"

    def _slices(self, index: SupportsIndex | tuple[SupportsIndex, ...]) -> tuple[slice, ...]:
        subscripts = index if isinstance(index, tuple) else (index,)
        if len(subscripts) != self.ndim:
            raise IndexError(f"{self.ndim} tile indices are needed, got {len(subscripts)}")
        slices = []
        for subscript, extent, tile in zip(subscripts, self.shape, self.tile_shape, strict=True):
            position = subscript.__index__()
            if not -extent <= position < extent:
                raise IndexError(f"tile index {position} is out of bounds for {int(extent)} tiles")
            start = (position % extent) * tile
            slices.append(slice(start, start + tile))
        return tuple(slices)


@dataclass(frozen=True)
class Spec:
    """The shape and dtype of an argument without its data; made by `cyclotron.spec`.

    Parameters
    ----------
    shape : tuple of int
        Scalars along each axis.
    dtype : str
        The element type.
    tile : tuple of int, optional
        Scalars per tile along each axis.

    Examples
    --------
    >>> cy.spec((4, 4)) == cy.spec((4, 4), "float64")
    True
    """

    shape: tuple[int, ...]
    dtype: str = "float64"
    tile: tuple[int, ...] | None = None


def blocked(array: NDArray[Any], tile_shape: int | Sequence[int]) -> Blocked:
    """View an array as a grid of tiles.

    Parameters
    ----------
    array : ndarray
        The scalars, any shape and dtype; not copied.
    tile_shape : int or sequence of int
        Scalars per tile along each axis, at least 1; one number counts for all axes.

    Returns
    -------
    Blocked
        ``shape`` is the grid of tiles, ``b[i, j]`` a view of one tile.

    Raises
    ------
    ShapeError
        If the tile has another number of axes than the array, or a size below 1 (CYC122).

    Examples
    --------
    >>> cy.blocked(np.ones((5, 4)), (2, 2)).shape  # in tiles; the last rows are one of 1x2
    (3, 2)
    """
    scalars = array_of(array, "what has tiles", code="CYC122")
    if scalars.ndim == 0:
        raise _unfit("an array without axes has no tiles", "pass a vector or a matrix")
    return Blocked(scalars, _tile_shape(tile_shape, scalars.ndim))


def spec(
    shape: int | Sequence[int], dtype: DTypeLike = "float64", tile: int | Sequence[int] | None = None
) -> Spec:
    """Describe an argument without its data.

    Parameters
    ----------
    shape : int or sequence of int
        Scalars along each axis.
    dtype : dtype, default "float64"
        The element type.
    tile : int or sequence of int, optional
        Scalars per tile along each axis; by default the elements are scalars.

    Returns
    -------
    Spec
        An argument for ``f.compile`` and ``f.recurrences``.

    Raises
    ------
    ShapeError
        If a size is no integer or negative (CYC122), or NumPy has no such dtype (CYC120).

    Examples
    --------
    >>> cy.spec((4, 4), "float32", tile=(2, 2))
    Spec(shape=(4, 4), dtype='float32', tile=(2, 2))
    """
    sizes = _sizes(shape)
    load_added(dtype)
    try:
        name = np.dtype(dtype).name
    except (TypeError, ValueError):
        raise ShapeError(
            f"{shown(dtype)} is no dtype",
            code="CYC120",
            help=advice(dtype, 'give one of NumPy\'s, for example "float64"'),
        ) from None
    return Spec(sizes, name, None if tile is None else _tile_shape(tile, len(sizes)))


def _sizes(shape: Any) -> tuple[int, ...]:
    """The sizes of an argument's shape."""
    items = None if isinstance(shape, str) else items_of(shape)
    given = (shape,) if items is None else items
    sizes = []
    for size in given:
        number = None if isinstance(size, bool) else index_of(size)
        if number is None or number < 0:
            fault = "is no integer" if number is None else "is negative"
            raise _unfit(
                f"the size {shown(size)} of the shape {shown(shape)} {fault}",
                "give each axis an integer of at least 0",
            )
        sizes.append(number)
    return tuple(sizes)


def extents(scalars: Sequence[int], tile: Sequence[int] | None) -> tuple[int, ...]:
    """Return the shape in elements of a tensor: of tiles `Extent`s, of scalars Python's numbers."""
    if tile is None:
        return tuple(map(int, scalars))
    return tuple(Extent(n, t) for n, t in zip(scalars, tile, strict=True))


def resolve_shape(
    shape: int | Sequence[int], tile: int | Sequence[int] | None
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Find the scalars and tile shape of a new tensor from its shape in elements.

    Entries taken from the shape of a blocked tensor bring their tile size along.

    Parameters
    ----------
    shape : int or sequence of int
        Elements along each axis.
    tile : int or sequence of int, optional
        Scalars per tile along each axis; by default what the entries of `shape` bring along.

    Returns
    -------
    tuple
        Scalars along each axis, and the tile shape or None.
    """
    entries: tuple[Any, ...] = (
        tuple(shape) if isinstance(shape, Iterable) and not isinstance(shape, Arithmetic) else (shape,)
    )
    given = None if tile is None else _tile_shape(tile, len(entries))
    if given is None and not any(isinstance(entry, Extent) for entry in entries):
        return tuple(_size(entry) for entry in entries), None
    scalars, tiles = [], []
    for entry, size in zip_longest(entries, given or ()):
        if isinstance(entry, Extent) and size in (None, entry.tile):
            scalars.append(entry.scalars)
            tiles.append(entry.tile)
        elif size is not None or _size(entry) == 1:
            scalars.append(_size(entry) * (size or 1))
            tiles.append(size or 1)
        else:
            raise shape_error(
                "CYC122",
                f"the tile size of the axis of {int(entry)} tiles is not known",
                help="give it, e.g. `tile=(64, 64)`, or take the number from the shape of a blocked argument",
            )
    return tuple(scalars), tuple(tiles)


def _size(entry: object) -> int:
    if isinstance(entry, Arithmetic) or not isinstance(entry, SupportsIndex):
        of_data = isinstance(entry, Arithmetic)
        raise shape_error(
            "CYC122",
            "a shape depends on data" if of_data else f"a shape has the size {entry!r}",
            help="shapes are known when a kernel is compiled: take sizes of arguments, or pass the number"
            if of_data
            else "sizes are whole numbers, e.g. `n // 2` instead of `n / 2`",
        )
    size = int(entry.__index__())
    if size < 0:
        raise shape_error("CYC122", f"a shape has the negative size {size}")
    return size


def _tile_shape(tile: int | Sequence[int], rank: int) -> tuple[int, ...]:
    given = items_of(tile)
    given = (tile,) * rank if given is None else given
    sizes = tuple(size for size in map(index_of, given) if size is not None)
    if len(sizes) != len(given):
        raise _unfit(
            f"a tile shape is {shown(tile)}",
            "give a whole number for each axis, e.g. `(64, 64)`, or one for all",
        )
    if len(sizes) != rank:
        raise _unfit(
            f"tile shape {sizes} has {len(sizes)} axes, the array has {rank}", "give one tile size per axis"
        )
    if any(size < 1 for size in sizes):
        raise _unfit(f"tile shape {sizes} has a size below 1", "use positive sizes")
    return sizes


def _unfit(message: str, help: str) -> ShapeError:
    return ShapeError(message, code="CYC122", help=help)
