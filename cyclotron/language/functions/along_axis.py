"""Elements at places that data tell: compared with all in equations, found by address in PEs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cyclotron.language.functions.refusals import unfit
from cyclotron.language.functions.registry import numpy_function
from cyclotron.language.trace.loops import inner_loop
from cyclotron.language.values import broadcasting
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import (
    LazyArray,
    SymbolicArray,
    combine,
    flat_index,
    materialized,
    operand,
)
from cyclotron.language.values.axes import axis_of
from cyclotron.language.values.broadcasting import box, text, whole_numbers
from cyclotron.language.values.nodes import Constant, Element, Reduce, SearchIndex
from cyclotron.language.values.operations import apply, where
from cyclotron.language.values.scalar_type import check_fit, nothing_of
from cyclotron.language.values.scalars import check_numbers
from cyclotron.language.values.source_span import here
from cyclotron.support.dtypes import is_whole
from cyclotron.support.errors import ShapeError


@numpy_function(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    """The elements of an array at indices along an axis, as NumPy's; a PE finds them by address in its part.

    Parameters
    ----------
    arr : ndarray
        Any shape with axes.
    indices : ndarray of integers
        Of as many axes; those other than `axis` broadcast. Negative ones count from the end.
    axis : int or None
        The axis along which `indices` tell which element; None means all axes, one after the other, of which
        the last one is the fastest. `indices` have one axis then.

    Returns
    -------
    ndarray
        Of the dtype of `arr`, as long along the axis as `indices`.

    Raises
    ------
    ShapeError
        CYC122 for shapes that do not conform, CYC120 for indices that are not integers. When the program
        runs, an index outside of the axis is an `ExecutionError` (CYC701).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x, n):
    ...     return cy.take_along_axis(x, n, 0)
    >>> f(np.array([5, 6, 7]), np.array([2, 0])).tolist()
    [7, 5]
    """
    array, places, along = _checked("take_along_axis", arr, indices, axis)
    array = materialized(array) if array.costly else array
    return _taken_of_all(array, places) if along is None else _taken(array, places, along)


@numpy_function(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    """Assign values to the elements at indices along an axis, as NumPy's: the last of several stays.

    Parameters
    ----------
    arr : ndarray
        Any shape with axes; changed in place.
    indices : ndarray of integers
        As for `take_along_axis`.
    values : ndarray
        Broadcast to the shape of `indices`.
    axis : int or None
        As for `take_along_axis`.

    Returns
    -------
    None
        `arr` is assigned.

    Raises
    ------
    ShapeError
        As `take_along_axis`.

    Examples
    --------
    >>> @cy.kernel
    ... def f(x, n):
    ...     y = x.copy()
    ...     cy.put_along_axis(y, n, 0, 0)
    ...     return y
    >>> f(np.array([5, 6, 7]), np.array([2])).tolist()
    [5, 6, 0]
    """
    array, places, along = _checked("put_along_axis", arr, indices, axis)
    if array.whole() is None:
        array[...] = values  # which refuses it: it is no array that can be changed
    check_numbers(values, array.dtype_name)
    put = operand(values)
    check_fit([put.type], array.dtype_name)
    put = put.astype(array.dtype_name)
    put = materialized(put)  # once, and as it was before
    at = 0 if along is None else along
    if places.shape[at] == 0:
        array[...] = array.copy()  # nothing is put, but it is assigned
        return
    others = ((), ()) if along is None else (array.shape[:along], array.shape[along + 1 :])
    shape = (*others[0], places.shape[at], *others[1])
    if broadcasting.broadcast([shape, put.shape]) != shape:
        raise _nonconforming("put_along_axis", shape, put.shape)
    if any(read is tensor for read in put.read_tensors() for tensor in array.read_tensors()):
        put = materialized(put.copy())
    with inner_loop("place", places.shape[at]) as number:
        array[...] = _put_one(array, places, put, shape, along, number)


def _checked(
    what: str, arr: Any, indices: Any, axis: int | None
) -> tuple[SymbolicArray, SymbolicArray, int | None]:
    """The arrays, the indices from 0 on, and the axis as one too."""
    array, given = operand(arr), operand(indices)
    along = None if axis is None else axis_of(axis, array.ndim, what)
    check_integers(given.dtype_name, what)
    sizes, own = whole_numbers(array.shape, "the array"), whole_numbers(given.shape, "the indices")
    others = [(a, b) for n, (a, b) in enumerate(zip(sizes, own, strict=False)) if n != along]
    fits = all(b in (1, a) or (a == 1 and what == "take_along_axis") for a, b in others)
    if len(own) != (1 if along is None else len(sizes)) or not (fits or along is None):
        raise _nonconforming(what, array.shape, given.shape)
    size = math.prod(sizes) if along is None else sizes[along]
    if size == 0 and 0 not in own:
        raise unfit(
            f"`{what}` has indices of shape {text(given.shape)} into an axis without elements",
            "an index is less than the size of the axis",
        )
    wide = given if given.dtype_name == "int64" else given.astype("int64")
    return array, materialized(combine("normalize_index", (wide, size))), along


def check_integers(dtype: Any, name: str) -> None:
    """Raise `ShapeError` (CYC120) for indices that are none."""
    if not is_whole(dtype):
        raise unfit(
            f"the indices of `{name}` have dtype {dtype}", "indices are integers, e.g. int64", "CYC120"
        )


def _nonconforming(what: str, shape: Any, other: Any) -> ShapeError:
    return unfit(
        f"`{what}` has arrays of shapes {text(shape)} and {text(other)}",
        "both have as many axes, and as many elements along all but the one that is named; with"
        " axis=None the indices have one axis",
    )


def _taken(array: SymbolicArray, places: SymbolicArray, along: int) -> SymbolicArray:
    """The sum of all elements along the axis, of which the others count as nothing."""
    swapped = (*array.shape[:along], 1, *array.shape[along + 1 :])
    shape = broadcasting.broadcast([places.shape, swapped])

    def element_at(index: Sequence[Affine]) -> Element:
        chosen = places.at(broadcasting.along(index, places.shape))

        def term(at: Sequence[Affine]) -> Element:
            own = broadcasting.along(index, swapped)
            return array.at([*own[:along], *at, *own[along + 1 :]])

        return summed(array.shape[along : along + 1], array.dtype_name, chosen, term)

    return LazyArray(shape, array.dtype_name, element_at, (array, places), costly=True, label="taken")


def _taken_of_all(array: SymbolicArray, places: SymbolicArray) -> SymbolicArray:
    """The same of all axes."""

    def element_at(index: Sequence[Affine]) -> Element:
        return summed(array.shape, array.dtype_name, places.at(index), array.at)

    shape = places.shape
    return LazyArray(shape, array.dtype_name, element_at, (array, places), costly=True, label="taken")


def _put_one(
    array: SymbolicArray,
    places: SymbolicArray,
    values: SymbolicArray,
    shape: Sequence[Any],
    along: int | None,
    number: Affine,
) -> SymbolicArray:
    """The array with the values of one number along the axis at their places."""
    wide = (1,) * (len(shape) - values.ndim) + tuple(values.shape)

    def element_at(index: Sequence[Affine]) -> Element:
        if along is None:
            at, own = [number], flat_index(index, array.shape)
        else:
            at = [*index[:along], number, *index[along + 1 :]]
            own = flat_index(index[along : along + 1], array.shape[along : along + 1])
        found = apply("equal", places.at(broadcasting.along(at, places.shape)), own)
        new = values.at(broadcasting.along(at, wide)[len(wide) - values.ndim :])
        return where(found, new, array.at(index))

    return LazyArray(array.shape, array.dtype_name, element_at, (array, places, values), label="put")


def summed(
    counts: Sequence[Any], dtype: str, chosen: Element, term: Callable[[Sequence[Affine]], Element]
) -> Element:
    """The term of a place, as the sum of all terms of which the others are neutral: of floats that is -0."""
    folds = [SearchIndex("fold", here()) for _ in counts]
    index = [Affine({fold: 1}, 0) for fold in folds]
    found = apply("equal", chosen, flat_index(index, tuple(counts)))
    value = where(found, term(index), Constant(nothing_of(dtype), here()))
    for fold, count in zip(reversed(folds), reversed(counts), strict=True):
        value = Reduce("sum", fold, (box([(fold, count)]),), value, here())
    return value
