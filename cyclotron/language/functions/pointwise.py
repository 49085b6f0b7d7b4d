"""Functions of elements, as `cy.exp`: symbolic while tracing, NumPy otherwise."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from cyclotron.language.arrays.plain_slices import PlainRagged
from cyclotron.language.arrays.reference import ScalarView, Value
from cyclotron.language.expressions import elements
from cyclotron.language.expressions.affine import Affine, Condition, Extremum
from cyclotron.language.expressions.arithmetic import Arithmetic, Array, Part
from cyclotron.language.expressions.dtypes import of_numpy, selected
from cyclotron.language.expressions.elements import Element
from cyclotron.language.expressions.operators import OPERATORS
from cyclotron.language.recording.trace import ACTIVE, Reference, Trace

_HOSTS = (np.ndarray, np.generic, int, float, complex, list, tuple)


def _elementwise(name: str, op: str, about: str) -> Callable[..., Any]:
    """The function of an elementwise operator of the registry."""

    numpy = OPERATORS[op].numpy

    def function(*values: Any) -> Any:
        traced = isinstance(ACTIVE.get(), Trace) and not builtins.all(isinstance(v, _HOSTS) for v in values)
        return of_numpy(elements.apply(op, *values)) if traced else numpy(*values)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = about
    return function


sqrt = _elementwise("sqrt", "sqrt", "The square root of each scalar, floating or complex.")
exp = _elementwise("exp", "exp", "The exponential of each scalar, floating or complex.")
log = _elementwise("log", "log", "The natural logarithm of each scalar, floating or complex.")
log1p = _elementwise("log1p", "log1p", "log(1 + x) of each scalar x, exact for small ones, floating.")
expm1 = _elementwise("expm1", "expm1", "exp(x) - 1 of each scalar x, exact for small ones, floating.")
sin = _elementwise("sin", "sin", "The sine of each scalar, in radians, floating or complex.")
cos = _elementwise("cos", "cos", "The cosine of each scalar, in radians, floating or complex.")
sinh = _elementwise("sinh", "sinh", "The hyperbolic sine of each scalar, floating or complex.")
cosh = _elementwise("cosh", "cosh", "The hyperbolic cosine of each scalar, floating or complex.")
tanh = _elementwise("tanh", "tanh", "The hyperbolic tangent of each scalar, floating or complex.")
arctan2 = _elementwise("arctan2", "arctan2", "The angle of each point (y, x), in radians, floating.")
hypot = _elementwise("hypot", "hypot", "The length of each vector (a, b), floating.")
abs = _elementwise("abs", "absolute", "The absolute value of each scalar; real for complex ones.")
sign = _elementwise("sign", "sign", "-1, 0 or 1 by the sign of each real scalar.")
floor = _elementwise("floor", "floor", "The largest whole number not above each scalar, floating.")
ceil = _elementwise("ceil", "ceil", "The least whole number not below each scalar, floating.")
conj = _elementwise("conj", "conj", "The complex conjugate of each scalar.")
real = _elementwise("real", "real", "The real part of each scalar.")
imag = _elementwise("imag", "imag", "The imaginary part of each scalar.")
copy = _elementwise(
    "copy",
    "copy",
    "Each scalar, through a register: it takes the time of an operator, where assigning takes none.",
)
maximum = _elementwise("maximum", "maximum", "The larger of each pair of scalars; NaN where one is NaN.")
minimum = _elementwise("minimum", "minimum", "The smaller of each pair of scalars; NaN where one is NaN.")
isnan = _elementwise("isnan", "is_nan", "Whether each scalar is NaN.")
isfinite = _elementwise("isfinite", "is_finite", "Whether each scalar is neither infinite nor NaN.")
logical_and = _elementwise("logical_and", "logical_and", "Whether both of each pair of scalars are not zero.")
logical_or = _elementwise("logical_or", "logical_or", "Whether one of each pair of scalars is not zero.")
logical_xor = _elementwise("logical_xor", "logical_xor", "Whether exactly one of each pair is not zero.")
logical_not = _elementwise("logical_not", "logical_not", "Whether each scalar is zero.")


def square(x: Any) -> Any:
    """The square of each scalar."""
    return x * x


def reciprocal(x: Any) -> Any:
    """One over each scalar, floating or complex."""
    return 1 / x


def where(condition: Any, a: Any, b: Any) -> Any:
    """Choose each scalar of `a` where the condition holds, else of `b`; both are computed.

    Parameters
    ----------
    condition : bool, scalar, tile or array
        A comparison of data, or a condition on indices.
    a, b : scalar, tile or array, one dtype
        The values; of two numbers an array without axes, of their dtype (`a if condition else b` is a number,
        which adopts the dtype of its neighbours).

    Returns
    -------
    scalar, tile or array
        Shaped as all three broadcast.
    """
    traced = isinstance(ACTIVE.get(), Trace)
    symbolic = (Condition, Arithmetic, Affine, Extremum)
    if traced and builtins.any(isinstance(value, symbolic) for value in (condition, a, b)):
        return selected(condition, a, b)
    return plain_result(np.where(condition, a, b), condition, a, b)


def cast(x: Any, dtype: DTypeLike) -> Any:
    """Convert each scalar to a dtype, as NumPy's ``astype`` does.

    Complex scalars convert to complex dtypes and bool only; `cy.real` gives their real part.
    """
    if isinstance(x, Element):
        return elements.cast(x, dtype)
    if isinstance(x, (Array, Part)):
        return x.astype(dtype)  # type: ignore[union-attr]
    return plain_result(x.astype(dtype) if isinstance(x, PlainRagged) else np.asarray(x).astype(dtype), x)


def plain_result(result: Any, *operands: Any) -> Any:
    """A new array of a plain run: whole if an operand is, else an element; elsewhere what NumPy gives."""
    if isinstance(result, PlainRagged) or not isinstance(ACTIVE.get(), Reference):
        return result
    whole = builtins.any(np.ndim(value) and not isinstance(value, Value) for value in operands)
    return np.asarray(result).view(ScalarView if whole else Value)


def outer(a: Any, b: Any) -> Any:
    """The products of all pairs of scalars of two vectors, as a tile or array; of scalars the product."""
    if isinstance(a, Array) or isinstance(b, Array):
        from cyclotron.language.arrays.products import outer as of_arrays

        return of_arrays(a, b)
    if isinstance(a, Element) or isinstance(b, Element):
        return elements.outer(a, b)
    return np.multiply.outer(np.ravel(a), np.ravel(b)) if np.ndim(a) else a * b


def row_sum(x: Any) -> Any:
    """The sum of each row of a tile, as one column; of a scalar the scalar."""
    return x.sum(axis=-1, keepdims=True) if isinstance(x, Element) or np.ndim(x) else x


def row_max(x: Any) -> Any:
    """The maximum of each row of a tile, as one column; of a scalar the scalar."""
    return x.max(axis=-1, keepdims=True) if isinstance(x, Element) or np.ndim(x) else x


def row_min(x: Any) -> Any:
    """The minimum of each row of a tile, as one column; of a scalar the scalar."""
    return x.min(axis=-1, keepdims=True) if isinstance(x, Element) or np.ndim(x) else x


def col_sum(x: Any) -> Any:
    """The sum of each column of a tile, as one row; of a scalar the scalar."""
    return x.sum(axis=0, keepdims=True) if isinstance(x, Element) or np.ndim(x) else x


def col_max(x: Any) -> Any:
    """The maximum of each column of a tile, as one row; of a scalar the scalar."""
    return x.max(axis=0, keepdims=True) if isinstance(x, Element) or np.ndim(x) else x


def col_min(x: Any) -> Any:
    """The minimum of each column of a tile, as one row; of a scalar the scalar."""
    return x.min(axis=0, keepdims=True) if isinstance(x, Element) or np.ndim(x) else x
