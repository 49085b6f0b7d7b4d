"""Arrays that are joined, repeated and split, along an axis: symbolic while tracing, NumPy otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from cyclotron.language.functions.forms import (
    at_axis,
    atleast_1d,
    atleast_2d,
    broadcast_to,
    expand_dims,
    ravel,
    reshape,
)
from cyclotron.language.functions.rearrangement import concatenate
from cyclotron.language.functions.refusals import unfit
from cyclotron.language.functions.registry import numpy_function
from cyclotron.language.values.array import SymbolicArray, operand
from cyclotron.language.values.axes import axis_of, whole_size
from cyclotron.language.values.broadcasting import whole_numbers
from cyclotron.language.values.host_arrays import constant


@numpy_function(np.stack, role="whole arrays")
def stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Arrays of one shape side by side, along a new axis.

    Parameters
    ----------
    arrays : sequence of array
        Of one shape.
    axis : int
        Where the new axis is in the result.

    Returns
    -------
    array
        Of one axis more, as long as there are arrays.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x, y):
    ...     return cy.stack([x, y])
    >>> f(np.array([1, 2]), np.array([3, 4])).tolist()
    [[1, 2], [3, 4]]
    """
    wholes = [operand(array) for array in arrays]
    along = axis_of(axis, wholes[0].ndim + 1, "stack")
    return concatenate([expand_dims(one, along) for one in wholes], along)


@numpy_function(np.vstack, role="whole arrays")
def vstack(tup: Sequence[Any]) -> Any:
    """Arrays one below the other; vectors are rows.

    Parameters
    ----------
    tup : sequence of array
        Of the same shape, except along the first axis; vectors of one size.

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
    ... def f(x, y):
    ...     return cy.vstack([x, y])
    >>> f(np.array([1, 2]), np.array([3, 4])).tolist()
    [[1, 2], [3, 4]]
    """
    return concatenate([atleast_2d(operand(one)) for one in tup], 0)


@numpy_function(np.hstack, role="whole arrays")
def hstack(tup: Sequence[Any]) -> Any:
    """Arrays side by side: along the second axis, vectors one after the other.

    Parameters
    ----------
    tup : sequence of array
        Of the same shape, except along the second axis; or vectors.

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
    ... def f(x, y):
    ...     return cy.hstack([x, y])
    >>> f(np.array([1, 2]), np.array([3, 4])).tolist()
    [1, 2, 3, 4]
    """
    wholes = [atleast_1d(operand(one)) for one in tup]
    return concatenate(wholes, 0 if wholes[0].ndim == 1 else 1)


@numpy_function(np.dstack, role="whole arrays")
def dstack(tup: Sequence[Any]) -> Any:
    """Arrays one behind the other, along the third axis.

    Parameters
    ----------
    tup : sequence of array
        Of the same shape, except along the third axis.

    Returns
    -------
    array
        Of at least three axes.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x, y):
    ...     return cy.dstack([x, y])
    >>> f(np.array([1, 2]), np.array([3, 4])).tolist()
    [[[1, 3], [2, 4]]]
    """
    flat = [atleast_2d(operand(one)) for one in tup]
    return concatenate([one if one.ndim > 2 else one[:, :, None] for one in flat], 2)


@numpy_function(np.column_stack, role="whole arrays")
def column_stack(tup: Sequence[Any]) -> Any:
    """Vectors as the columns of a matrix; matrices side by side.

    Parameters
    ----------
    tup : sequence of array
        Vectors and matrices of as many rows.

    Returns
    -------
    array
        A matrix.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x, y):
    ...     return cy.column_stack([x, y])
    >>> f(np.array([1, 2]), np.array([3, 4])).tolist()
    [[1, 3], [2, 4]]
    """
    wholes = [operand(one) for one in tup]
    return concatenate([one if one.ndim > 1 else atleast_2d(one).T for one in wholes], 1)


@numpy_function(np.block, role="whole arrays", public=False)
def blocks(arrays: Any) -> Any:
    """The array of the blocks that nested lists have: the innermost along the last axis (`np.block`)."""
    depth, first = 0, arrays
    while isinstance(first, list):
        depth, first = depth + 1, first[0]
    whole = _joined(arrays, depth, 0, max(depth, _most_axes(arrays)))
    return whole if isinstance(arrays, list) else whole.copy()


def _most_axes(arrays: Any) -> int:
    return max(map(_most_axes, arrays)) if isinstance(arrays, list) else operand(arrays).ndim


def _joined(arrays: Any, depth: int, level: int, ndim: int) -> Any:
    if isinstance(arrays, list):
        parts = [_joined(array, depth, level + 1, ndim) for array in arrays]
        return concatenate(parts, ndim - depth + level)
    one = operand(arrays)
    return one[(None,) * (ndim - one.ndim)]


@numpy_function(np.tile, role="whole arrays")
def tile(A: Any, reps: int | Sequence[int]) -> Any:
    """The array again and again along its axes.

    Parameters
    ----------
    A : array
        Of any shape.
    reps : int or sequence of int
        How often along each axis; of more axes than `A` new ones are first.

    Returns
    -------
    array
        Of as many axes as the longer of both.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.tile(x, 2)
    >>> f(np.array([1, 2])).tolist()
    [1, 2, 1, 2]
    """
    times = [whole_size(one, "tile") for one in (reps if isinstance(reps, (tuple, list)) else (reps,))]
    array = operand(A)
    array = array[(None,) * max(0, len(times) - array.ndim)].copy()
    for axis, count in enumerate([1] * (array.ndim - len(times)) + times):
        if count != 1:
            array = concatenate([array] * count, axis) if count else array[at_axis(axis, slice(0))]
    return array


@numpy_function(np.resize, role="whole arrays")
def resize(a: Any, new_shape: int | Sequence[int]) -> Any:
    """The elements in another shape, again from the first one where there are too few.

    Parameters
    ----------
    a : array
        Of any shape; of none the result has zeros.
    new_shape : int or tuple of int
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
    ...     return cy.resize(x, (2, 3))
    >>> f(np.array([1, 2])).tolist()
    [[1, 2, 1], [2, 1, 2]]
    """
    shape = tuple(new_shape) if isinstance(new_shape, (tuple, list)) else (new_shape,)
    flat, size = ravel(operand(a)), int(np.prod(shape))
    if flat.size == 0:
        return constant(np.zeros(shape, flat.dtype))
    return reshape(tile(flat, -(-size // flat.size))[:size], shape)


@numpy_function(np.append, role="whole arrays")
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """The array and then the values; without an axis both in one row.

    Parameters
    ----------
    arr : array
        Of any shape.
    values : array or number
        Shaped as `arr`, except along the axis.
    axis : int, optional
        The axis along which.

    Returns
    -------
    array
        As large as both.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.append(x, 7)
    >>> f(np.array([1, 2])).tolist()
    [1, 2, 7]
    """
    if axis is None:
        return concatenate([ravel(operand(arr)), ravel(operand(values))])
    return concatenate([arr, values], axis)


@numpy_function(np.delete, role="whole arrays")
def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """The array without some places along an axis; without an axis of all its elements in one row.

    Parameters
    ----------
    arr : array
        Of any shape.
    obj : int, slice or sequence of int
        The places, which are known before the program runs.
    axis : int, optional
        The axis along which.

    Returns
    -------
    array
        Shorter along the axis.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.delete(x, 1)
    >>> f(np.array([1, 2, 3])).tolist()
    [1, 3]
    """
    array, along, size = _in_one_row(arr, axis, "delete")
    _check_places(obj, "delete")
    left = np.delete(np.arange(size), obj)
    runs = np.split(left, np.flatnonzero(np.diff(left) != 1) + 1) if left.size else []
    parts = [array[at_axis(along, slice(int(run[0]), int(run[-1]) + 1))] for run in runs]
    return concatenate(parts, along) if parts else array[at_axis(along, slice(0))].copy()


@numpy_function(np.insert, role="whole arrays")
def insert(arr: Any, obj: int, values: Any, axis: int | None = None) -> Any:
    """The array with values before a place along an axis; without an axis of all its elements in one row.

    Parameters
    ----------
    arr : array
        Of any shape.
    obj : int
        The place, which is known before the program runs.
    values : array or number
        What is put there: one number, or shaped as the elements at one place.
    axis : int, optional
        The axis along which.

    Returns
    -------
    array
        Longer along the axis by one, or by the vector that is inserted.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.insert(x, 1, 7)
    >>> f(np.array([1, 2, 3])).tolist()
    [1, 7, 2, 3]
    """
    array, along, size = _in_one_row(arr, axis, "insert")
    _check_places(obj, "insert")
    if np.ndim(obj) or not -size <= obj <= size:
        raise unfit(f"`insert` has the place {obj!r} of {size}", f"give one between {-size} and {size}")
    at = obj if obj >= 0 else obj + size
    new = operand(values)
    new = new.astype(array.dtype_name) if new.dtype_name != array.dtype_name else new
    if array.ndim == 1:
        new = atleast_1d(new)
    else:
        shape = whole_numbers((*array.shape[:along], *array.shape[along + 1 :]), "the array")
        new = expand_dims(broadcast_to(new, shape), along)
    return concatenate([array[at_axis(along, slice(at))], new, array[at_axis(along, slice(at, None))]], along)


def _in_one_row(arr: Any, axis: int | None, what: str) -> tuple[SymbolicArray, int, int]:
    """An array, the axis along which it changes, and its size there."""
    array = operand(arr)
    if axis is None:
        array, axis = ravel(array), 0
    along = axis_of(axis, array.ndim, what)
    return array, along, whole_numbers(array.shape, what)[along]


def _check_places(places: Any, what: str) -> None:
    if isinstance(places, SymbolicArray) or not isinstance(
        places, (int, np.integer, slice, list, tuple, np.ndarray)
    ):
        raise unfit(
            f"`{what}` has places that are data, and so would be the shape",
            "give numbers that are known before the program runs; choose by data with `cy.where(mask, a, b)`",
        )


@numpy_function(np.array_split, role="whole arrays")
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """The parts of an array along an axis: as many as said, of about one size, or before and after places.

    Parameters
    ----------
    ary : array
        Of at least one axis.
    indices_or_sections : int or sequence of int
        How many parts, or the places where they begin.
    axis : int
        The axis along which.

    Returns
    -------
    list of array
        Views, in order.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     p, q = cy.array_split(x, 2)
    ...     return p, q
    >>> [part.tolist() for part in f(np.array([1, 2, 3]))]
    [[1, 2], [3]]
    """
    along = axis_of(axis, ary.ndim, "array_split")
    size = whole_numbers(ary.shape, f"`{ary.name}`")[along]
    _check_places(indices_or_sections, "split")
    parts = np.array_split(np.arange(size), indices_or_sections)
    bounds = [0, *map(int, np.cumsum([len(part) for part in parts]))]
    return [ary[at_axis(along, slice(*pair))] for pair in pairwise(bounds)]


@numpy_function(np.split, role="whole arrays")
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """The parts of an array along an axis: as many as said, of one size, or before and after places.

    Parameters
    ----------
    ary : array
        Of at least one axis.
    indices_or_sections : int or sequence of int
        How many parts, or the places where they begin.
    axis : int
        The axis along which.

    Returns
    -------
    list of array
        Views, in order.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     p, q = cy.split(x, 2)
    ...     return p, q
    >>> [part.tolist() for part in f(np.array([1, 2, 3, 4]))]
    [[1, 2], [3, 4]]
    """
    along = axis_of(axis, ary.ndim, "split")
    size = whole_numbers(ary.shape, f"`{ary.name}`")[along]
    if isinstance(indices_or_sections, (int, np.integer)) and size % indices_or_sections:
        raise unfit(
            f"`split` makes {indices_or_sections} parts of {size} elements",
            "give a number that divides the size, or use cy.array_split",
        )
    return array_split(ary, indices_or_sections, along)


@numpy_function(np.hsplit, role="whole arrays")
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """The parts of an array along its second axis, of vectors along their own, as `split`.

    Parameters
    ----------
    ary : array
        Of at least one axis.
    indices_or_sections : int or sequence of int
        As for `split`.

    Returns
    -------
    list of array
        Views, in order.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     p, q = cy.hsplit(x, 2)
    ...     return p, q
    >>> [part.tolist() for part in f(np.array([[1, 2], [3, 4]]))]
    [[[1], [3]], [[2], [4]]]
    """
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


@numpy_function(np.vsplit, role="whole arrays")
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """The parts of an array along its first axis, as `split`.

    Parameters
    ----------
    ary : array
        Of at least two axes.
    indices_or_sections : int or sequence of int
        As for `split`.

    Returns
    -------
    list of array
        Views, in order.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     p, q = cy.vsplit(x, 2)
    ...     return p, q
    >>> [part.tolist() for part in f(np.array([[1, 2], [3, 4]]))]
    [[[1, 2]], [[3, 4]]]
    """
    return split(ary, indices_or_sections, 0)
