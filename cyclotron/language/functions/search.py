"""Arrays of places, and where extrema are: numbers of indices while tracing, NumPy otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from cyclotron.language.functions.reductions import fold
from cyclotron.language.functions.refusals import unfit
from cyclotron.language.functions.registry import numpy_function
from cyclotron.language.trace.trace import Trace
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import LazyArray, SymbolicArray, combine, flat_indices, materialized
from cyclotron.language.values.axes import axes_of, axis_of
from cyclotron.language.values.broadcasting import whole_numbers
from cyclotron.language.values.context import ACTIVE
from cyclotron.language.values.nodes import Element, IndexValue
from cyclotron.language.values.operations import apply, element
from cyclotron.language.values.operators import named_dtype
from cyclotron.language.values.ranges import range_of_form
from cyclotron.language.values.reference import ScalarView
from cyclotron.language.values.scalar_type import ScalarType, check_fit
from cyclotron.language.values.source_span import here
from cyclotron.support.dtypes import kind_of

_MOST = 1 << 62  # as the program's forms of indices


@numpy_function(role="new array")
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: DTypeLike | None = None) -> Any:
    """The numbers from `start` on, `step` apart, before `stop`; of one argument those below it from 0 on.

    Parameters
    ----------
    start, stop, step : int or float
        Numbers that are known before the program runs, as sizes are.
    dtype : dtype, optional
        By default int64, of floats float64; of whole numbers any.

    Returns
    -------
    ndarray
        Of one axis.

    Raises
    ------
    ShapeError
        CYC122 for a step of 0 or bounds that data make, CYC120 for floats in another dtype.

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return x + cy.arange(3)
    >>> f(np.zeros(3)).tolist()
    [0.0, 1.0, 2.0]
    """
    if not isinstance(ACTIVE.get(), Trace):
        bounds: tuple[Any, ...] = (0, start, step) if stop is None else (start, stop, step)
        made = np.arange(*bounds, dtype=dtype)
        return made.view(ScalarView) if ACTIVE.get() is not None else made
    first, last, apart = (_known(one) for one in ((0, start, step) if stop is None else (start, stop, step)))
    size = max(0, math.ceil((last - first) / apart)) if apart else _refuse_step(step)
    if all(isinstance(one, int) for one in (first, last, apart)):
        return _whole_numbers(int(first), int(apart), size, "int64" if dtype is None else named_dtype(dtype))
    if dtype is not None and named_dtype(dtype) != "float64":
        raise unfit(
            f"`arange` counts from {first} by {apart} in {named_dtype(dtype)}",
            'convert the numbers, e.g. `cy.arange(0, 1, 0.1).astype("float32")`',
            code="CYC120",
        )
    between = (first + apart) - first  # as NumPy, which fills in what lies between the first two

    def element_at(index: Sequence[Affine]) -> Element:
        count = IndexValue(index[0], ScalarType("float64"), here())
        return apply("add", float(first), apply("multiply", count, float(between)))

    return LazyArray((size,), "float64", element_at, ())


@numpy_function(np.argmax, method="argmax", or_numpy=False)
def argmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The index of the largest element, over an axis, by default among all; the first of several, or of NaNs.

    Parameters
    ----------
    a : ndarray
        Any shape.
    axis : int, optional
        The axis to search, by default all of them, one after the other.
    keepdims : bool
        Whether the axis stays, with one element.

    Returns
    -------
    ndarray, int64
        Without the axis; of all axes one scalar.

    Raises
    ------
    ShapeError
        If the array has no such axis (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.argmax(x)
    >>> f(np.array([1, 3, 2])).tolist()
    1
    """
    return _extremum("max", a, axis, keepdims)


@numpy_function(np.argmin, method="argmin", or_numpy=False)
def argmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The index of the smallest element, over an axis, by default among all; otherwise as `argmax`.

    Parameters
    ----------
    a : array
        Of any shape, real.
    axis : int, optional
        The axis to search along; by default all elements.
    keepdims : bool
        Whether the axis stays, with size 1.

    Returns
    -------
    array
        Shaped as `a` without the axis; int64.

    Raises
    ------
    ShapeError
        If the array has no such axis (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.argmin(x)
    >>> f(np.array([3, 1, 2])).tolist()
    1
    """
    return _extremum("min", a, axis, keepdims)


def _extremum(kind: Literal["max", "min"], a: Any, axis: int | None, keepdims: bool) -> Any:
    if not isinstance(a, SymbolicArray):
        return getattr(np, f"arg{kind}")(a, axis=axis, keepdims=keepdims)
    searched = axes_of(None, a.ndim, kind) if axis is None else (axis_of(axis, a.ndim, f"arg{kind}"),)
    array = materialized(a) if a.costly else a
    found = combine("equal", (array, fold(kind, array, searched, True)))
    if kind_of(array.dtype) == "f":
        found = combine("logical_or", (found, combine("is_nan", (array,))))
    sizes = tuple(array.shape[one] for one in searched)
    known = range_of_form(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], Affine) else None
    number = known[1] if known else math.prod(whole_numbers(sizes, f"arg{kind}"))
    return fold(
        "min", combine("where", (found, flat_indices(array.shape, searched), number)), searched, keepdims
    )


def _whole_numbers(first: int, apart: int, size: int, dtype: str) -> SymbolicArray:
    ends = [first, first + apart * (size - 1)] if size > 0 else []
    if any(abs(end) > _MOST for end in ends):
        raise unfit(
            f"`arange` counts from {ends[0]} to {ends[1]}, and programs count to 2^62",
            "count from 0 and scale it, e.g. `a + b * cy.arange(0.0, n)`",
            code="CYC120",
        )
    if dtype == "bool" and size > 2:
        raise unfit(
            f"`arange` counts {size} truth values, of which there are two",
            "compare the numbers, e.g. `cy.arange(n) > 0`",
            code="CYC120",
        )
    check_fit([element(end).type for end in ends], dtype)

    def element_at(index: Sequence[Affine]) -> Element:
        return IndexValue(index[0].times(apart).plus(Affine({}, first)), ScalarType("int64"), here())

    made = LazyArray((size,), "int64", element_at, ())
    return made if dtype == "int64" else made.astype(dtype)


def _known(value: Any) -> int | float:
    """A number of the host; Python's of NumPy's."""
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, float):
        return number
    if hasattr(type(number), "__index__") and not isinstance(number, (SymbolicArray, Affine)):
        return int(number.__index__())
    raise unfit(
        "`arange` has a bound or step that is no number before the program runs",
        "how many elements an array has may not depend on data: give sizes and numbers",
    )


def _refuse_step(step: object) -> int:
    raise unfit(f"`arange` has the step {step}", "give a step other than 0")
