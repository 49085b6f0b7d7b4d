"""Arrays whose elements are repeated, or added up one after the other: while tracing, NumPy otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from cyclotron.language.functions.forms import ravel
from cyclotron.language.functions.refusals import unfit
from cyclotron.language.functions.registry import numpy_function
from cyclotron.language.trace.assign import running_totals
from cyclotron.language.values.affine import EVERYWHERE, Affine, Constraint, Region
from cyclotron.language.values.array import LazyArray, SymbolicArray, operand
from cyclotron.language.values.axes import axis_of
from cyclotron.language.values.broadcasting import whole_numbers
from cyclotron.language.values.condition import Condition
from cyclotron.language.values.nodes import Element
from cyclotron.language.values.numpy_functions import OF_UFUNCS
from cyclotron.language.values.operators import named_dtype
from cyclotron.language.values.scalar_type import check_accumulator, counted_dtype
from cyclotron.language.values.scalars import choose_by_indices


@numpy_function(np.repeat, method="repeat", role="new array")
def repeat(a: Any, repeats: int, axis: int | None = None) -> Any:
    """Each element several times, one after the other.

    Parameters
    ----------
    a : array
        Of any shape with axes.
    repeats : int
        How many times, a number of the host.
    axis : int, optional
        The axis along which; by default all axes, one after the other, of which the last one is the fastest.

    Returns
    -------
    array
        As long along the axis as `a` times `repeats`.

    Raises
    ------
    ShapeError
        If there is no such axis, or `repeats` is no number of times (CYC122).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.repeat(x, 2)
    >>> f(np.array([5, 6])).tolist()
    [5, 5, 6, 6]
    """
    if isinstance(repeats, SymbolicArray) or not hasattr(type(repeats), "__index__") or repeats < 0:
        raise unfit(
            "`repeat` has a number of times that is none of the host, or negative",
            "give one whole number, 0 or more, for all elements",
        )
    array = operand(a)
    if axis is None:
        array, axis = ravel(array), 0
    along = axis_of(axis, array.ndim, "repeat")
    size = whole_numbers(array.shape, "`repeat`")[along]
    shape = (*array.shape[:along], size * repeats, *array.shape[along + 1 :])

    def element_at(index: Sequence[Affine]) -> Element:
        cases = [
            (where, array.at((*index[:along], place, *index[along + 1 :])))
            for where, place in _quotient(index[along], size, repeats)
        ]
        rest, result = cases[-1]
        for where, element in reversed(cases[:-1]):
            result = choose_by_indices(Condition(where, rest), element, result)
            rest = EVERYWHERE  # the others tell where they are
        return result

    return LazyArray(shape, array.dtype_name, element_at, (array,))


@numpy_function(np.cumsum, method="cumsum", role="new array")
def cumsum(a: Any, axis: int | None = None, dtype: DTypeLike | None = None) -> Any:
    """The sums of the elements up to each, along an axis: each adds its own to that of the one before.

    Parameters
    ----------
    a : array
        Of any shape.
    axis : int, optional
        The axis along which; by default all axes, one after the other, of which the last one is the fastest.
    dtype : dtype, optional
        Of the sums; by default of whole numbers and bool 64 bits, as NumPy's, else that of `a`.

    Returns
    -------
    array
        Shaped as `a`, or of one axis.

    Raises
    ------
    ShapeError
        If there is no such axis (CYC122).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.cumsum(x)
    >>> f(np.array([1, 2, 3])).tolist()
    [1, 3, 6]
    """
    return _running("cumsum", "add", a, axis, dtype)


@numpy_function(np.cumprod, method="cumprod", role="new array", public=False)
def cumprod(a: Any, axis: int | None = None, dtype: DTypeLike | None = None) -> Any:
    return _running("cumprod", "multiply", a, axis, dtype)


def _running(what: str, op: str, a: Any, axis: int | None, dtype: DTypeLike | None) -> Any:
    array = operand(a)
    kept = counted_dtype(array.dtype_name) if dtype is None else named_dtype(dtype)
    check_accumulator(array.dtype_name, kept)
    array = array.astype(kept) if kept != array.dtype_name else array
    if axis is None:
        array, axis = ravel(array), 0
    return running_totals(array, axis_of(axis, array.ndim, what), op)


OF_UFUNCS["accumulate"] = {
    np.add: cumsum,
    np.multiply: cumprod,
    np.maximum: lambda a, axis: _running("maximum", "maximum", a, axis, operand(a).dtype_name),
    np.minimum: lambda a, axis: _running("minimum", "minimum", a, axis, operand(a).dtype_name),
}


def _quotient(form: Affine, count: int, divisor: int) -> list[tuple[Region, Affine]]:
    """The cases of a form from 0 to `count * divisor`, with its quotient in each."""
    if divisor <= 1:
        return [(EVERYWHERE, form)]
    if count < divisor:
        return [
            (((Constraint(rest), Constraint(rest.times(-1).plus(Affine({}, divisor - 1)))),), Affine({}, n))
            for n, rest in enumerate(form.plus(Affine({}, -n * divisor)) for n in range(max(count, 1)))
        ]
    least = (form.plus(Affine({}, -rest)) for rest in range(divisor))
    return [(((Constraint(one, modulus=divisor),),), one.over(divisor)) for one in least]
