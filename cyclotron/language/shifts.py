"""Arrays moved along an axis, `cy.roll` and `cy.shift`: piecewise accesses while tracing, NumPy otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from cyclotron.errors import ShapeError
from cyclotron.language.affine import Affine
from cyclotron.language.broadcasting import whole_numbers
from cyclotron.language.elements import Choose, Constant, Element
from cyclotron.language.position import here
from cyclotron.language.promotion import typed
from cyclotron.language.whole import Expression, Whole, axes_of

Boundary = Literal["zero", "periodic", "reflect", "edge"]
_BOUNDARIES = ("zero", "periodic", "reflect", "edge")
Piece = tuple[int, int, Callable[[Affine], Affine] | None]
"""From a position, to before another: the element there by position; None for 0."""


def roll(a: Any, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Any:
    """Move elements along axes; those that leave at one end come back at the other, as NumPy's ``roll``.

    Parameters
    ----------
    a : ndarray
        Any shape and dtype.
    shift : int or sequence of int
        By how many places, one number for each axis or one for all.
    axis : int or sequence of int, optional
        The axes, of which the same may come again; may be left out where there is one.

    Returns
    -------
    ndarray
        Shaped as `a`.

    Raises
    ------
    ShapeError
        CYC122 if there is no such axis, or none is given for several.
    """
    if not isinstance(a, Whole):
        return np.roll(a, shift, axis)
    if axis is None and a.ndim != 1:
        raise ShapeError(
            f"`roll` of an array with {a.ndim} axes does not say along which",
            code="CYC122",
            span=here(),
            help="name it, e.g. `cy.roll(x, 1, axis=0)`",
        )
    places: tuple[Any, ...] = tuple(shift) if isinstance(shift, (Sequence, np.ndarray)) else (shift,)
    given = (0,) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [axes_of(one, a.ndim, "roll")[0] for one in given]
    if len(places) != len(axes) and 1 not in (len(places), len(axes)):
        raise ShapeError(
            f"`roll` has {len(places)} numbers of places and {len(axes)} axes",
            code="CYC122",
            span=here(),
            help="give one number for each axis, or one for all",
        )
    total = dict.fromkeys(axes, 0)
    for n in range(max(len(places), len(axes)) if places and axes else 0):
        total[axes[n % len(axes)]] += int(places[n % len(places)])
    for along, by in total.items():
        a = moved(a, by, along, "periodic")
    return a


def shift(a: Any, by: int, axis: int = 0, boundary: Boundary = "zero") -> Any:
    """Move elements along an axis: ``result[i] = a[i - by]``, and beyond the ends what the boundary says.

    Parameters
    ----------
    a : ndarray
        Any shape and dtype.
    by : int
        By how many places; negative towards the start. At most the size of the axis, with "reflect" less.
    axis : int
        Along which axis.
    boundary : {"zero", "periodic", "reflect", "edge"}
        Beyond the ends there is 0; the other end; the mirror image, which does not repeat the last element
        (``numpy.pad``'s "reflect"); or the last element again.

    Returns
    -------
    ndarray
        Shaped as `a`.

    Raises
    ------
    ShapeError
        CYC122 if there is no such axis or boundary, or the mirror image does not reach as far.
    """
    if boundary not in _BOUNDARIES:
        raise ShapeError(
            f"`shift` has the boundary {boundary!r}",
            code="CYC122",
            span=here(),
            help=f"use one of {', '.join(map(repr, _BOUNDARIES))}",
        )
    (along,) = axes_of(axis, np.ndim(a), "shift")
    if isinstance(a, Whole):
        return moved(a, int(by), along, boundary)
    result = np.zeros_like(a)
    for first, last, source in _pieces(a.shape[along], int(by), boundary):
        if source is not None:
            where = [int(source(Affine({}, n))) for n in range(first, last)]
            into = [slice(None)] * a.ndim
            into[along] = slice(first, last)
            result[tuple(into)] = np.take(a, where, axis=along)
    return result


def moved(a: Whole, by: int, axis: int, boundary: Boundary) -> Whole:
    """An array moved along one axis."""
    size = whole_numbers(a.shape, f"`{a.name}`")[axis]
    pieces = _pieces(size, by, boundary)
    if not pieces:
        return a.copy()

    def element_at(index: Sequence[Affine]) -> Element:
        def piece(source: Callable[[Affine], Affine] | None) -> Element:
            if source is None:
                return typed(Constant(0, here()), a.dtype_name)
            return a.at([source(form) if n == axis else form for n, form in enumerate(index)])

        result = piece(pieces[-1][2])
        for _, end, source in reversed(pieces[:-1]):
            result = Choose(index[axis] < end, piece(source), result, here())
        return result

    return Expression(a.shape, a.dtype_name, element_at, (a,))


def _pieces(size: int, by: int, boundary: Boundary) -> list[Piece]:
    """The positions of an axis in pieces, each with where its elements come from."""
    if boundary == "periodic":
        by = by % size if size else 0
        low, high = by, size
    else:
        low, high = min(max(by, 0), size), max(min(size + by, size), 0)
    if boundary == "reflect" and abs(by) >= max(size, 1):
        raise ShapeError(
            f"an axis of {size} elements is moved by {by}, farther than its mirror image reaches",
            code="CYC122",
            span=here(),
            help=f"move it by at most {max(size - 1, 0)}",
        )
    outside: dict[str, tuple[Callable[[Affine], Affine] | None, Callable[[Affine], Affine] | None]] = {
        "zero": (None, None),
        "periodic": (lambda i: i.plus(Affine({}, size - by)), None),
        "reflect": (
            lambda i: Affine({}, by).plus(i.times(-1)),
            lambda i: Affine({}, 2 * size - 2 + by).plus(i.times(-1)),
        ),
        "edge": (lambda i: Affine({}, 0), lambda i: Affine({}, size - 1)),
    }
    before, after = outside[boundary]
    pieces: list[Piece] = [
        (0, low, before),
        (low, high, lambda i: i.plus(Affine({}, -by))),
        (high, size, after),
    ]
    return [piece for piece in pieces if piece[0] < piece[1]]
