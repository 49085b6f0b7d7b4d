"""Arrays moved along an axis, `cy.roll` and `cy.shift`: piecewise accesses while tracing, NumPy otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from cyclotron.language.functions.forms import at_axis, by_pieces, zero_of
from cyclotron.language.functions.rearrangement import concatenate
from cyclotron.language.functions.refusals import unfit
from cyclotron.language.functions.registry import numpy_function
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import LazyArray, SymbolicArray
from cyclotron.language.values.axes import axis_of, whole_shift
from cyclotron.language.values.broadcasting import whole_numbers
from cyclotron.language.values.condition import Condition, cases_of
from cyclotron.language.values.nodes import Choose, Element
from cyclotron.language.values.scalars import choose_by_indices
from cyclotron.language.values.source_span import here

Boundary = Literal["zero", "periodic", "reflect", "edge"]
_BOUNDARIES = ("zero", "periodic", "reflect", "edge")
Piece = tuple[int, int, Callable[[Affine], Affine] | None]
"""From a position, to before another: the element there by position; None for 0."""


@numpy_function(np.roll, role="whole arrays")
def roll(a: Any, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Any:
    """Move elements along axes; those that leave at one end come back at the other, as NumPy's ``roll``.

    Parameters
    ----------
    a : ndarray
        Any shape and dtype.
    shift : int or sequence of int
        By how many places, one number for each axis or one for all. Along one axis an index of a loop too.
    axis : int or sequence of int, optional
        The axes, of which the same may come again; by default all, as if they were one.

    Returns
    -------
    ndarray
        Shaped as `a`.

    Raises
    ------
    ShapeError
        CYC122 if there is no such axis.

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.roll(x, 1)
    >>> f(np.array([1, 2, 3])).tolist()
    [3, 1, 2]
    """
    if isinstance(shift, Affine) and (axis is not None or a.ndim == 1):
        return _rolled_by_index(a, shift, axis_of(0 if axis is None else axis, a.ndim, "roll"))
    if axis is None and a.ndim != 1:
        places = sum(by for _, by in _moves("roll", shift, 0, 1))
        return _rolled_as_one(a, places, a.ndim) if a.ndim else a.copy()
    total: dict[int, int] = {}
    for along, by in _moves("roll", shift, 0 if axis is None else axis, a.ndim):
        total[along] = total.get(along, 0) + by
    for along, by in total.items():
        a = moved(a, by, along, "periodic")
    return a


def _rolled_by_index(a: Any, by: Affine, axis: int) -> Any:
    """Move elements along an axis by as many places as an index of a loop says."""
    size = whole_numbers(a.shape, "`roll`")[axis]
    places = by % size if size else 0
    cases = cases_of(places)

    def element_at(index: Sequence[Affine]) -> Element:
        result: Element | None = None
        for region, form in reversed(cases):
            to = index[axis].plus(form.times(-1))
            wrapped, own = (
                a.at((*index[:axis], one, *index[axis + 1 :])) for one in (to.plus(Affine({}, size)), to)
            )
            chosen = Choose(index[axis] < form, wrapped, own, here())
            result = chosen if result is None else choose_by_indices(Condition(region), chosen, result)
        assert result is not None
        return result

    return LazyArray(a.shape, a.dtype_name, element_at, (a,))


def _rolled_as_one(a: Any, by: int, axes: int) -> Any:
    """Move elements along the first so many axes, the last of which is fastest, as if they were one."""
    last = axes - 1
    if last == 0 or not a.shape[last]:
        return moved(a, by, last, "periodic")
    rows, places = divmod(by, whole_numbers((a.shape[last],), "`roll`")[0])
    a = moved(a, places, last, "periodic")
    inside = _rolled_as_one(a, rows, last)
    if places == 0:
        return inside
    wrapped = _rolled_as_one(a, rows + 1, last)[at_axis(last, slice(places))]
    return concatenate([wrapped, inside[at_axis(last, slice(places, None))]], last)


def _moves(what: str, places: Any, axes: Any, ndim: int) -> list[tuple[int, int]]:
    """Along which axes an array moves by how many places, in order: one number for each axis, or for all."""
    numbers = tuple(places) if isinstance(places, (Sequence, np.ndarray)) and np.ndim(places) else (places,)
    given = axes if isinstance(axes, (tuple, list)) else (axes,)
    along = [axis_of(one, ndim, what) for one in given]
    if len(numbers) != len(along) and 1 not in (len(numbers), len(along)):
        raise unfit(
            f"`{what}` has {len(numbers)} numbers of places and {len(along)} axes",
            "give one number for each axis, or one for all",
        )
    moves = max(len(numbers), len(along)) if numbers and along else 0
    return [(along[n % len(along)], whole_shift(numbers[n % len(numbers)], what)) for n in range(moves)]


@numpy_function(role="whole arrays")
def shift(a: Any, by: int | Sequence[int], axis: int | Sequence[int] = 0, boundary: Boundary = "zero") -> Any:
    """Move elements along axes: ``result[i] = a[i - by]``, and beyond the ends what the boundary says.

    Parameters
    ----------
    a : ndarray
        Any shape and dtype.
    by : int or sequence of int
        By how many places, one number for each axis or one for all; negative towards the start. With
        "reflect" less than the size of the axis.
    axis : int or sequence of int
        Along which axes, one after the other.
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

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.shift(x, 1)
    >>> f(np.array([1, 2, 3])).tolist()
    [0, 1, 2]
    """
    if not isinstance(boundary, str) or boundary not in _BOUNDARIES:
        raise unfit(
            f"`shift` has the boundary {boundary!r}", f"use one of {', '.join(map(repr, _BOUNDARIES))}"
        )
    if not isinstance(a, SymbolicArray):
        a = np.asanyarray(a)
    for along, places in _moves("shift", by, axis, a.ndim):
        a = (
            moved(a, places, along, boundary)
            if isinstance(a, SymbolicArray)
            else _moved(a, places, along, boundary)
        )
    return a


def _moved(a: Any, by: int, axis: int, boundary: Boundary) -> Any:
    """An array of NumPy moved along one axis."""
    result = np.zeros_like(a)
    for first, last, source in _pieces(a.shape[axis], by, boundary):
        if source is not None:
            where = [int(source(Affine({}, n))) for n in range(first, last)]
            into = [slice(None)] * a.ndim
            into[axis] = slice(first, last)
            result[tuple(into)] = np.take(a, where, axis=axis)
    return result


def moved(a: SymbolicArray, by: int, axis: int, boundary: Boundary) -> SymbolicArray:
    """An array moved along one axis."""
    size = whole_numbers(a.shape, f"`{a.name}`")[axis]
    pieces = _pieces(size, by, boundary)
    if not pieces:
        return a.copy()

    def element_at(index: Sequence[Affine]) -> Element:
        def piece(source: Callable[[Affine], Affine] | None) -> Element:
            if source is None:
                return zero_of(a.dtype_name)
            return a.at([source(form) if n == axis else form for n, form in enumerate(index)])

        return by_pieces(index[axis], [end for _, end, _ in pieces], lambda number: piece(pieces[number][2]))

    return LazyArray(a.shape, a.dtype_name, element_at, (a,))


def _pieces(size: int, by: int, boundary: Boundary) -> list[Piece]:
    """The positions of an axis in pieces, each with where its elements come from."""
    if boundary == "periodic":
        by = by % size if size else 0
        low, high = by, size
    else:
        low, high = min(max(by, 0), size), max(min(size + by, size), 0)
    if boundary == "reflect" and abs(by) >= max(size, 1):
        raise unfit(
            f"an axis of {size} elements is moved by {by}, farther than its mirror image reaches",
            f"move it by at most {max(size - 1, 0)}",
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
