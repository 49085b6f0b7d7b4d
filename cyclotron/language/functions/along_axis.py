"""Elements at places that data tell: compared with all places while tracing, NumPy otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cyclotron.errors import ShapeError
from cyclotron.language.arrays import broadcasting
from cyclotron.language.arrays.broadcasting import text, whole_numbers
from cyclotron.language.arrays.elementwise import combine, operand, settled
from cyclotron.language.arrays.naming import FoldIndex
from cyclotron.language.arrays.whole import Expression, Whole, axis_of
from cyclotron.language.expressions.affine import Affine
from cyclotron.language.expressions.elements import Constant, Element, Reduce, apply, where
from cyclotron.language.expressions.index_numbers import IndexValue
from cyclotron.language.expressions.position import here
from cyclotron.language.expressions.promotion import typed
from cyclotron.language.expressions.regions import box


def take_along_axis(arr: Any, indices: Any, axis: int = -1) -> Any:
    """The elements of an array at indices along an axis, as NumPy's; each PE compares them with its places.

    Parameters
    ----------
    arr : ndarray
        Any shape with axes.
    indices : ndarray of integers
        Of as many axes; those other than `axis` broadcast. Negative ones count from the end.
    axis : int
        The axis along which `indices` tell which element.

    Returns
    -------
    ndarray
        Of the dtype of `arr`, as long along the axis as `indices`.

    Raises
    ------
    ShapeError
        CYC122 for shapes that do not conform, CYC120 for indices that are not integers. When the program
        runs, an index outside of the axis is an `ExecutionError` (CYC701).
    """
    if not isinstance(arr, Whole) and not isinstance(indices, Whole):
        return np.take_along_axis(arr, indices, axis)
    array, places, along = _checked("take_along_axis", arr, indices, axis)
    return _taken(settled(array) if array.costly else array, places, along)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int) -> None:
    """Assign values to the elements at indices along an axis, as NumPy's: the last of several stays.

    Parameters
    ----------
    arr : ndarray
        Any shape with axes; changed in place.
    indices : ndarray of integers
        As for `take_along_axis`.
    values : ndarray
        Broadcast to the shape of `indices`.
    axis : int
        The axis along which `indices` tell which element.

    Raises
    ------
    ShapeError
        As `take_along_axis`.
    """
    if not isinstance(arr, Whole):
        return np.put_along_axis(arr, indices, values, axis)
    array, places, along = _checked("put_along_axis", arr, indices, axis)
    if array.whole() is None:
        array[...] = values  # which refuses it: it is no array that can be changed
    put = operand(values).astype(array.dtype_name)
    put = settled(put) if put.costly else put
    if places.shape[along] == 0:
        array[...] = array.copy()  # nothing is put, but it is assigned
        return None
    shape = (*array.shape[:along], places.shape[along], *array.shape[along + 1 :])
    if broadcasting.broadcast([shape, put.shape]) != shape:
        raise _nonconforming("put_along_axis", shape, put.shape)
    last = settled(_last_of(array, places, along))
    array[...] = combine("where", (last >= 0, _put_by(put, last, shape, along), array))
    return None


def _checked(what: str, arr: Any, indices: Any, axis: int) -> tuple[Whole, Whole, int]:
    """The arrays, the indices from 0 on, and the axis as one too."""
    array, given = operand(arr), operand(indices)
    along = axis_of(axis, array.ndim, what)
    if given.dtype.kind != "i":
        raise ShapeError(
            f"the indices of `{what}` have dtype {given.dtype_name}",
            code="CYC120",
            span=here(),
            help="indices are integers, e.g. int64",
        )
    sizes, own = whole_numbers(array.shape, "the array"), whole_numbers(given.shape, "the indices")
    others = [(a, b) for n, (a, b) in enumerate(zip(sizes, own, strict=False)) if n != along]
    fits = all(b in (1, a) or (a == 1 and what == "take_along_axis") for a, b in others)
    if len(sizes) != len(own) or not fits:
        raise _nonconforming(what, array.shape, given.shape)
    size = sizes[along]
    if size == 0 and 0 not in own:
        raise ShapeError(
            f"`{what}` has indices of shape {text(given.shape)} into an axis without elements",
            code="CYC122",
            span=here(),
            help="an index is less than the size of the axis",
        )
    wide = given if given.dtype_name == "int64" else given.astype("int64")
    return array, settled(combine("normalize_index", (wide, size))), along


def _nonconforming(what: str, shape: Any, other: Any) -> ShapeError:
    return ShapeError(
        f"`{what}` has arrays of shapes {text(shape)} and {text(other)}",
        code="CYC122",
        span=here(),
        help="both have as many axes, and as many elements along all but the one that is named",
    )


def _taken(array: Whole, places: Whole, along: int) -> Whole:
    """The sum of all elements along the axis, of which the others count as nothing."""
    swapped = (*array.shape[:along], 1, *array.shape[along + 1 :])
    shape = tuple(
        one if n == along else broadcasting.broadcast([(one,), (other,)])[0]
        for n, (one, other) in enumerate(zip(places.shape, swapped, strict=True))
    )

    def element_at(index: Sequence[Affine]) -> Element:
        place = places.at(broadcasting.along(index, places.shape))

        def term(at: Affine) -> Element:
            own = broadcasting.along(index, swapped)
            return array.at([*own[:along], at, *own[along + 1 :]])

        return _chosen(array, along, place, term)

    return Expression(shape, array.dtype_name, element_at, (array, places), costly=True, label="taken")


def _last_of(array: Whole, places: Whole, along: int) -> Whole:
    """For each element the last one of the indices that is its place; -1 where none is."""

    def element_at(index: Sequence[Affine]) -> Element:
        fold = FoldIndex("fold", here())
        at = Affine({fold: 1}, 0)
        own = broadcasting.along(index, (*places.shape[:along], 1, *places.shape[along + 1 :]))
        found = apply(
            "equal",
            places.at([*own[:along], at, *own[along + 1 :]]),
            IndexValue(index[along], "int64", here()),
        )
        number = where(found, IndexValue(at, "int64", here()), typed(Constant(-1, here()), "int64"))
        return Reduce("maximum", fold, (box([(fold, places.shape[along])]),), number, here())

    return Expression(array.shape, "int64", element_at, (places,), costly=True, label="last")


def _put_by(values: Whole, last: Whole, shape: Sequence[Any], along: int) -> Whole:
    """The values that are put, by their numbers along the axis."""
    wide = (1,) * (len(shape) - values.ndim) + tuple(values.shape)
    count = shape[along]

    def element_at(index: Sequence[Affine]) -> Element:
        def term(at: Affine) -> Element:
            own = [*index[:along], at, *index[along + 1 :]]
            return values.at(broadcasting.along(own, wide)[len(wide) - values.ndim :])

        return _summed(count, values.dtype_name, last.at(index), term)

    return Expression(last.shape, values.dtype_name, element_at, (values, last), costly=True, label="put")


def _chosen(array: Whole, along: int, place: Element, term: Any) -> Element:
    return _summed(array.shape[along], array.dtype_name, place, term)


def _summed(count: Any, dtype: str, place: Element, term: Any) -> Element:
    """The term of a place, as the sum of all terms of which the others are neutral: of floats that is -0."""
    fold = FoldIndex("fold", here())
    at = Affine({fold: 1}, 0)
    found = apply("equal", place, IndexValue(at, "int64", here()))
    neutral: complex = {"f": -0.0, "c": complex(-0.0, -0.0), "b": False}.get(np.dtype(dtype).kind, 0)
    value = where(found, term(at), typed(Constant(neutral, here()), dtype))
    return Reduce("sum", fold, (box([(fold, count)]),), value, here())
