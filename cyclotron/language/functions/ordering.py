"""Arrays in order: sorting networks along an axis, of exchanges that all elements make at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cyclotron.language.functions.forms import at_axis, broadcast_to, moveaxis, ravel, reshape, with_axes
from cyclotron.language.functions.rearrangement import pad
from cyclotron.language.functions.reductions import any as any_of
from cyclotron.language.functions.reductions import mean
from cyclotron.language.functions.refusals import unfit
from cyclotron.language.functions.registry import numpy_function
from cyclotron.language.functions.search import arange
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import LazyArray, SymbolicArray, combine, materialized
from cyclotron.language.values.axes import axis_of
from cyclotron.language.values.broadcasting import whole_numbers
from cyclotron.language.values.nodes import Choose, Element
from cyclotron.language.values.operations import apply
from cyclotron.language.values.source_span import here
from cyclotron.support.dtypes import kind_of


@numpy_function(np.sort, role="whole arrays")
def sort(a: Any, axis: int | None = -1, kind: str | None = None, *, stable: bool | None = None) -> Any:
    """The elements in ascending order along an axis, NaNs last: by Batcher's bitonic network.

    Parameters
    ----------
    a : array
        Real numbers; of n elements along the axis the network has log2(n)^2 / 2 stages.
    axis : int or None
        The axis along which; None for all elements in one row.
    kind, stable : optional
        As NumPy's, without effect: equal elements stay in their order.

    Returns
    -------
    array
        Shaped as `a`.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.sort(x)
    >>> f(np.array([3, 1, 2])).tolist()
    [1, 2, 3]
    """
    if axis is None:
        return sort(ravel(a), 0)
    return _sorted((a,), axis_of(axis, a.ndim, "sort"))[0]


@numpy_function(np.argsort, method="argsort", role="whole arrays")
def argsort(a: Any, axis: int | None = -1, kind: str | None = None, *, stable: bool | None = None) -> Any:
    """The indices of the elements in ascending order along an axis, NaNs last; equal ones in their order.

    Parameters
    ----------
    a : array
        Real numbers.
    axis : int or None
        The axis along which; None for all elements in one row.
    kind, stable : optional
        As NumPy's, without effect: equal elements stay in their order.

    Returns
    -------
    array
        Shaped as `a`, int64.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.argsort(x)
    >>> f(np.array([3, 1, 2])).tolist()
    [1, 2, 0]
    """
    if axis is None:
        return argsort(ravel(a), 0)
    along = axis_of(axis, a.ndim, "argsort")
    sizes = whole_numbers(a.shape, f"`{a.name}`")
    own = with_axes(arange(sizes[along]), a.ndim - along - 1)
    return _sorted((a, broadcast_to(own, sizes)), along)[1]


@numpy_function(np.median, role="whole arrays")
def median(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The middle of the elements in order along an axis, or the mean of the two middle ones; NaN of NaNs.

    Parameters
    ----------
    a : array
        Real numbers.
    axis : int, optional
        The axis along which; by default all elements.
    keepdims : bool
        Whether the axis stays, with one element.

    Returns
    -------
    array
        Without the axis; floating.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.median(x)
    >>> f(np.array([3.0, 1.0, 2.0, 7.0])).tolist()
    2.5
    """
    if axis is None:
        whole = median(ravel(a), 0)
        return whole[(None,) * a.ndim] if keepdims else whole
    along = axis_of(axis, a.ndim, "median")
    size = whole_numbers(a.shape, f"`{a.name}`")[along]
    middle = sort(a, along)[at_axis(along, slice((size - 1) // 2, size // 2 + 1))]
    value = mean(middle, along, keepdims=keepdims)
    if kind_of(a.dtype) != "f":
        return value
    return combine("where", (any_of(combine("is_nan", (a,)), along, keepdims=keepdims), np.nan, value))


@numpy_function(public=False, method="sort")
def _sort(a: SymbolicArray, axis: int = -1, kind: str | None = None, *, stable: bool | None = None) -> None:
    a[...] = sort(a, axis)


def _sorted(arrays: Sequence[SymbolicArray], along: int) -> list[SymbolicArray]:
    """Arrays in the order of the first, by Batcher's bitonic network.

    The axis is padded to 2^m elements and split into m axes of 2, which are the digits of a place: a stage
    exchanges neighbours along one of them, up or down by another.
    """
    if kind_of(arrays[0].dtype) == "c":
        raise unfit(
            "complex arrays are not sorted",
            "sort their parts, e.g. `cy.sort(cy.real(u))`, or cy.abs",
            "CYC121",
        )
    sizes = whole_numbers(arrays[0].shape, "the array")
    digits = max(sizes[along] - 1, 0).bit_length()
    found = [_digits(moveaxis(array, along, -1), digits) for array in arrays]
    for run in range(digits):
        for digit in range(run, -1, -1):
            found = _exchanged(found, digits, digit, run + 1)
    before = whole_numbers(found[0].shape[: arrays[0].ndim - 1], "the array")
    kept = [reshape(one, (*before, 1 << digits))[..., : sizes[along]] for one in found]
    return [moveaxis(one, -1, along) for one in kept]


def _digits(array: SymbolicArray, digits: int) -> SymbolicArray:
    """An array whose last axis is padded by what is last in order, and split into axes of 2."""
    size = whole_numbers(array.shape, "the array")[-1]
    kind = kind_of(array.dtype)
    last = np.nan if kind == "f" else True if kind == "b" else np.iinfo(array.dtype).max
    widths = [(0, 0)] * (array.ndim - 1) + [(0, (1 << digits) - size)]
    whole = pad(array, widths, constant_values=last) if widths[-1][1] else array
    split = reshape(whole, (*whole_numbers(array.shape[:-1], "the array"), *(2,) * digits))
    return materialized(split)


def _exchanged(arrays: Sequence[SymbolicArray], digits: int, digit: int, run: int) -> list[SymbolicArray]:
    """A stage: of elements that differ in a digit the first is the smaller, by a digit above the larger."""
    ndim = arrays[0].ndim
    axis, above = ndim - 1 - digit, ndim - 1 - run if run < digits else None

    def stage(number: int) -> SymbolicArray:
        def element_at(index: Sequence[Affine]) -> Element:
            other = [
                form.times(-1).plus(Affine({}, 1)) if n == axis else form for n, form in enumerate(index)
            ]
            own, partner = ([array.at(at) for array in arrays] for at in (index, other))
            first = index[axis] == (0 if above is None else index[above])
            return Choose(first, _smaller(own, partner, number), _larger(own, partner, number), here())

        one = arrays[number]
        return LazyArray(one.shape, one.dtype_name, element_at, tuple(arrays), costly=True, label="sorted")

    return [materialized(stage(number)) for number in range(len(arrays))]


def _before(a: Sequence[Element], b: Sequence[Element]) -> Element:
    """The condition that elements come before others: by the first of each, NaNs last, then by the next."""
    less = apply("less", a[0], b[0])
    if a[0].type.kind == "f":
        before_nan = apply("logical_and", apply("is_nan", b[0]), apply("equal", a[0], a[0]))
        less = apply("logical_or", less, before_nan)
    if len(a) == 1:
        return less
    next_less = apply("logical_and", apply("logical_not", _before(b[:1], a[:1])), apply("less", a[1], b[1]))
    return apply("logical_or", less, next_less)


def _smaller(own: Sequence[Element], other: Sequence[Element], number: int) -> Element:
    return apply("where", _before(other, own), other[number], own[number])


def _larger(own: Sequence[Element], other: Sequence[Element], number: int) -> Element:
    return apply("where", _before(own, other), other[number], own[number])
