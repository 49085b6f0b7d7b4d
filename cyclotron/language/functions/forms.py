"""The elements of arrays in other shapes: views where NumPy has them while tracing, NumPy otherwise."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cyclotron.language.functions.refusals import unfit
from cyclotron.language.functions.registry import numpy_function
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import LazyArray, SymbolicArray, materialized, operand
from cyclotron.language.values.axes import axes_of, whole_size
from cyclotron.language.values.broadcasting import along, broadcast, text, whole_numbers
from cyclotron.language.values.nodes import Choose, Constant, Element
from cyclotron.language.values.scalars import explicit_cast
from cyclotron.language.values.source_span import here


def at_axis(axis: int, *parts: Any) -> tuple[Any, ...]:
    """Subscripts that take parts along an axis, and those that follow; all along the axes before."""
    return (*(slice(None),) * axis, *parts)


def with_axes(array: Any, count: int) -> Any:
    """The array with more axes of one element, the last ones."""
    places = (..., *(None,) * count)
    return array[places]


def zero_of(dtype: str) -> Element:
    """Zero, in a dtype."""
    return explicit_cast(Constant(0, here()), dtype)


def by_pieces(form: Affine, ends: Sequence[int], element: Callable[[int], Element]) -> Element:
    """The element of the piece that a form of the indices is in, by its number; each one is up to an end."""
    result = element(len(ends) - 1)
    for number in reversed(range(len(ends) - 1)):
        result = Choose(form < ends[number], element(number), result, here())
    return result


@numpy_function(np.expand_dims, role="whole arrays")
def expand_dims(a: Any, axis: int | Sequence[int]) -> Any:
    """The array with new axes of one element.

    Parameters
    ----------
    a : array
        Of any shape.
    axis : int or tuple of int
        Where the new axes are in the result.

    Returns
    -------
    array
        A view of more axes.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.expand_dims(x, 1)
    >>> f(np.array([1, 2])).tolist()
    [[1], [2]]
    """
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    new = axes_of(axis, a.ndim + count, "expand_dims")
    return a[tuple(None if n in new else slice(None) for n in range(a.ndim + count))]


@numpy_function(np.squeeze, method="squeeze", role="whole arrays")
def squeeze(a: Any, axis: int | Sequence[int] | None = None) -> Any:
    """The array without axes of one element.

    Parameters
    ----------
    a : array
        Of any shape.
    axis : int or tuple of int, optional
        The axes to leave out; by default all that have one element.

    Returns
    -------
    array
        A view of fewer axes.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.squeeze(x)
    >>> f(np.array([[1, 2]])).tolist()
    [1, 2]
    """
    sizes = whole_numbers(a.shape, f"`{a.name}`")
    single = tuple(n for n, size in enumerate(sizes) if size == 1)
    out = single if axis is None else axes_of(axis, a.ndim, "squeeze")
    if not set(out) <= set(single):
        raise unfit(f"`squeeze` leaves out {out} of shape {text(sizes)}", "name axes of one element")
    key = (*(0 if n in out else slice(None) for n in range(a.ndim)), ...)
    return a[key]


@numpy_function(np.moveaxis, role="whole arrays")
def moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    """The array with axes at other places, the others in their order.

    Parameters
    ----------
    a : array
        Of at least one axis.
    source, destination : int or sequence of int
        Where the axes are, and where they go.

    Returns
    -------
    array
        A view.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.moveaxis(x, 0, 1)
    >>> f(np.array([[1, 2], [3, 4]])).tolist()
    [[1, 3], [2, 4]]
    """
    old, new = (axes_of(one, a.ndim, "moveaxis") for one in (source, destination))
    order = [n for n in range(a.ndim) if n not in old]
    for to, axis in sorted(zip(new, old, strict=True)):
        order.insert(to, axis)
    return a.transpose(order)


@numpy_function(np.broadcast_to, role="whole arrays")
def broadcast_to(array: Any, shape: int | Sequence[int]) -> Any:
    """The array in a larger shape, as operators broadcast it.

    Parameters
    ----------
    array : array
        Of a shape that broadcasts.
    shape : int or tuple of int
        That of the result.

    Returns
    -------
    array
        A new array.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.broadcast_to(x, (2, 2))
    >>> f(np.array([1, 2])).tolist()
    [[1, 2], [1, 2]]
    """
    given = shape if isinstance(shape, (tuple, list)) else (shape,)
    wide = tuple(whole_size(n, "broadcast_to") if isinstance(n, float) else n for n in given)
    whole = operand(array)
    if tuple(broadcast([whole.shape, wide])) != wide:
        raise unfit(
            f"shape {text(whole.shape)} does not broadcast to {text(wide)}", "sizes stay, or are 1 before"
        )
    whole = materialized(whole) if whole.costly else whole

    def element_at(index: Sequence[Affine]) -> Element:
        return whole.at(along(index, whole.shape))

    return LazyArray(wide, whole.dtype_name, element_at, (whole,)).viewing(whole)


@numpy_function(np.atleast_1d, role="whole arrays")
def atleast_1d(ary: Any) -> Any:
    """The array; of an element a vector of it.

    Parameters
    ----------
    ary : array or scalar
        Of any shape.

    Returns
    -------
    array
        Of at least one axis.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.atleast_1d(x)
    >>> f(np.array([1, 2])).tolist()
    [1, 2]
    """
    return ary if ary.ndim else ary[None]


@numpy_function(np.atleast_2d, role="whole arrays")
def atleast_2d(ary: Any) -> Any:
    """The array; of a vector a matrix whose row it is.

    Parameters
    ----------
    ary : array or scalar
        Of any shape.

    Returns
    -------
    array
        Of at least two axes.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.atleast_2d(x)
    >>> f(np.array([1, 2])).tolist()
    [[1, 2]]
    """
    return ary[(None,) * max(0, 2 - ary.ndim)]


@numpy_function(np.reshape, role="whole arrays")
def reshape(a: Any, shape: int | Sequence[int], order: str = "C") -> Any:
    """The elements in another shape, in the order in which the last axis is the fastest.

    Parameters
    ----------
    a : array
        Of any shape.
    shape : int or tuple of int
        Of as many elements; one size may be -1, which is what is left.
    order : {"C", "F"}
        F for the order in which the first axis is the fastest, in both shapes.

    Returns
    -------
    array
        To be read while the array is as it was: NumPy may have a view. A name of it that is read after the
        array changed is refused, and one that is changed itself before the array is read (CYC111).

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.reshape(x, (2, 2))
    >>> f(np.array([1, 2, 3, 4])).tolist()
    [[1, 2], [3, 4]]
    """
    old = whole_numbers(a.shape, f"`{a.name}`")
    new = _sizes(old, shape if isinstance(shape, (tuple, list)) else (shape,))
    if order == "F":
        return reshape(a.T, new[::-1]).T
    if order not in ("C", "A"):
        raise unfit(f"`reshape` has the order {order!r}", 'give "C" or "F"')
    groups = _groups(old, new)
    array = materialized(a) if a.costly else a

    def element_at(index: Sequence[Affine]) -> Element:
        if 0 in new:
            return zero_of(array.dtype_name)
        return _at_groups(array, groups, (), [*zip(index, new, strict=True)], old)

    return LazyArray(new, array.dtype_name, element_at, (array,)).viewing(array)


def _sizes(old: tuple[int, ...], shape: Sequence[Any]) -> tuple[int, ...]:
    """The shape that is meant, in which -1 stands for what is left."""
    new = [operator.index(one) for one in shape]
    rest = math.prod(one for one in new if one != -1)
    if new.count(-1) == 1 and rest:
        new[new.index(-1)] = math.prod(old) // rest
    if math.prod(new) != math.prod(old) or min(new, default=0) < 0:
        raise unfit(
            f"`reshape` to {text(tuple(shape))} of {math.prod(old)} elements, of shape {text(old)}",
            "give a shape of as many elements; one size may be -1, which is what is left",
        )
    return tuple(new)


def _groups(old: Sequence[int], new: Sequence[int]) -> list[tuple[range, range]]:
    """The least runs of axes of both shapes that have as many elements."""
    if 0 in old:
        return [(range(len(old)), range(len(new)))]
    groups: list[tuple[range, range]] = []
    at = to = 0
    while at < len(old) and to < len(new):
        first, then = at, to
        at, to = at + 1, to + 1
        while (mine := math.prod(old[first:at])) != (theirs := math.prod(new[then:to])):
            at, to = (at + 1, to) if mine < theirs else (at, to + 1)
        groups.append((range(first, at), range(then, to)))
    if not groups or at < len(old) or to < len(new):  # axes of one element are left, or all are new
        last = groups.pop() if groups else (range(0), range(0))
        groups.append((range(last[0].start, len(old)), range(last[1].start, len(new))))
    return groups


def _at_groups(
    array: SymbolicArray,
    groups: Sequence[tuple[range, range]],
    before: tuple[Affine, ...],
    index: Sequence[tuple[Affine, int]],
    old: Sequence[int],
) -> Element:
    """The element at forms of the first axes, and where those of groups are at an index of the new axes.

    An axis that becomes several is at an affine form of them. Several that become others are rows of the last
    of them, one of which the form chooses.
    """
    if not groups:
        return array.at(before)
    (mine, theirs), *later = groups
    place = Affine({}, 0)
    for form, size in (index[axis] for axis in theirs):
        place = place.times(size).plus(form)
    if not mine:
        return _at_groups(array, later, before, index, old)
    row, rows = old[mine[-1]], [*np.ndindex(*(old[axis] for axis in mine[:-1]))]

    def in_row(number: int) -> Element:
        at = (*(Affine({}, one) for one in rows[number]), place.plus(Affine({}, -number * row)))
        return _at_groups(array, later, (*before, *at), index, old)

    return by_pieces(place, [(number + 1) * row for number in range(len(rows))], in_row)


@numpy_function(np.ravel, method="ravel", role="whole arrays")
def ravel(a: Any, order: str = "C") -> Any:
    """The elements in one row, the last axis the fastest.

    Parameters
    ----------
    a : array
        Of any shape.
    order : {"C", "F"}
        F for the first axis as the fastest.

    Returns
    -------
    array
        Of one axis, as `reshape` gives it.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.ravel(x)
    >>> f(np.array([[1, 2], [3, 4]])).tolist()
    [1, 2, 3, 4]
    """
    if a.ndim == 1:
        return a.copy() if _is_strided(a) else a
    return reshape(a, (-1 if a.size else 0,), order)


def _is_strided(a: Any) -> bool:
    """True of a vector of elements that do not lie side by side in their array: NumPy copies them."""
    view = a.whole() if isinstance(a, SymbolicArray) else None
    if view is None:
        return False
    return bool(view.part) or not (view.picks[-1].axis == 0 and view.picks[-1].step == 1)


@numpy_function(public=False, method="flatten")
def _flatten(a: SymbolicArray, order: str = "C") -> SymbolicArray:
    flat: SymbolicArray = ravel(a, order)
    return flat.copy()


@numpy_function(public=False, method="reshape")
def _reshape(a: SymbolicArray, *shape: Any, order: str = "C") -> SymbolicArray:
    whole: SymbolicArray = reshape(a, shape[0] if len(shape) == 1 else shape, order)
    return whole


@numpy_function(public=False, method="view")
def _view(a: SymbolicArray) -> SymbolicArray:
    whole: SymbolicArray = a[...]
    return whole
