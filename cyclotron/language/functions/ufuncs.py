"""NumPy's functions of elements that are a few operators each, in kernels under NumPy's names alone."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cyclotron.language.functions import elementwise as f
from cyclotron.language.functions.compositions import is_nan, isinf
from cyclotron.language.functions.refusals import unfit
from cyclotron.language.functions.registry import numpy_function
from cyclotron.language.values.dispatch import Array, PartialArray
from cyclotron.language.values.operations import element
from cyclotron.language.values.scalar_type import ScalarType, note_mixed, promote, sample
from cyclotron.support.dtypes import kind_of

_elementwise = functools.partial(numpy_function, elementwise=True, public=False)


def _value(x: Any) -> Any:
    if isinstance(x, (Array, PartialArray)):
        return x
    return element(np.asarray(x)[()] if isinstance(x, (list, tuple)) else x)


def _promoted(ufunc: Callable[..., Any], *values: Any) -> list[Any]:
    """Operands of a ufunc in the dtype in which NumPy computes it.

    Raises
    ------
    ShapeError
        CYC121 if NumPy does not have it of such numbers.
    """
    found = [_value(value) for value in values]
    note_mixed(one.type for one in found)
    try:
        dtype = np.asarray(ufunc(*(sample(one.type) for one in found))).dtype
    except TypeError:
        raise unfit(
            f"`np.{ufunc.__name__}` is not defined on {' and '.join(str(one.dtype) for one in found)} arrays",
            "take cy.real, cy.imag or cy.abs of them",
            code="CYC121",
        ) from None
    return [f.cast(one, dtype.name) for one in found]


@_elementwise(np.trunc, np.fix)
def _trunc(x: Any) -> Any:
    value = _value(x)
    below = f.floor(value)
    return below if kind_of(value.dtype) in "biu" else f.where(value < 0, f.ceil(value), below)


@_elementwise(np.signbit)
def _signbit(x: Any) -> Any:
    value = _value(x)
    if kind_of(value.dtype) != "f":
        return value < 0
    return f.arctan2(value, -1.0) < 0  # which is less of -0.0 too


@_elementwise(np.copysign)
def _copysign(x: Any, y: Any) -> Any:
    size, sign = _promoted(np.copysign, x, y)
    return f.where(_signbit(sign), -f.abs(size), f.abs(size))


def _unless_nan(ufunc: np.ufunc, extremum: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """An extremum of the numbers that are none of NaN."""
    a, b = _promoted(ufunc, x, y)
    whole = extremum(a, b)
    return whole if kind_of(a.dtype) not in "fc" else f.where(is_nan(b), a, f.where(is_nan(a), b, whole))


_elementwise(np.fmax)(lambda x, y: _unless_nan(np.fmax, f.maximum, x, y))
_elementwise(np.fmin)(lambda x, y: _unless_nan(np.fmin, f.minimum, x, y))


@_elementwise(np.fmod)
def _fmod(x: Any, y: Any) -> Any:
    a, b = _promoted(np.fmod, x, y)
    if kind_of(a.dtype) == "f":
        rest = f.remainder(f.abs(a), f.abs(b))
        return f.where(_signbit(a), -rest, rest)
    rest = a % b
    return f.where(f.logical_and(rest != 0, (a < 0) != (b < 0)), rest - b, rest)


_elementwise(np.divmod)(lambda x, y: (f.floor_divide(x, y), f.remainder(x, y)))


@_elementwise(np.nan_to_num)
def _nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    value = _value(x)
    kind = kind_of(value.dtype)
    if kind in "biu":
        return +value if kind != "b" else f.where(value, value, value)
    if kind == "c":
        raise unfit("`nan_to_num` of complex arrays", "take it of cy.real and cy.imag of them", "CYC121")
    ends = np.finfo(np.dtype(str(value.dtype)))
    high, low = (float(end) if one is None else one for one, end in ((posinf, ends.max), (neginf, ends.min)))
    finite = f.where(value == np.inf, high, f.where(value == -np.inf, low, value))
    return f.where(is_nan(value), nan, finite)


@_elementwise(np.logaddexp)
def _logaddexp(x: Any, y: Any) -> Any:
    a, b = _promoted(np.logaddexp, x, y)
    dtype = a.dtype
    if np.dtype(str(dtype)).itemsize < 4:
        a, b = f.cast(a, "float32"), f.cast(b, "float32")
    large = f.maximum(a, b) + f.log1p(f.exp(-f.abs(a - b)))
    return f.cast(f.where(a == b, a + math.log(2), large), dtype)


@_elementwise(np.modf)
def _modf(x: Any) -> Any:
    (value,) = _promoted(np.rint, x)
    whole = _trunc(value)
    return _copysign(f.where(isinf(value), 0.0, value - whole), value), _copysign(whole, value)


def _sinc(x: Any) -> Any:
    at = math.pi * f.where(x == 0, 1.0e-20, x)
    return f.sin(at) / at


def _composed(numpy: Callable[..., Any], formula: Callable[[Any], Any]) -> None:
    """Give a function of NumPy's the formula of its floating values, those of two bytes in float32."""

    def function(x: Any) -> Any:
        (value,) = _promoted(numpy, x)
        dtype = value.dtype
        single = f.cast(value, "float32") if np.dtype(str(dtype)).itemsize == 2 else value
        return f.cast(formula(single), dtype)

    _elementwise(numpy)(function)


_composed(np.sinc, _sinc)
_composed(np.exp2, lambda x: f.power(2.0, x))
_composed(np.arcsin, lambda x: f.arctan2(x, f.sqrt((1 - x) * (1 + x))))
_composed(np.arccos, lambda x: f.arctan2(f.sqrt((1 - x) * (1 + x)), x))
_composed(np.arcsinh, lambda x: _copysign(f.log1p(f.abs(x) * (1 + f.abs(x) / (1 + f.hypot(1.0, x)))), x))
_composed(np.arccosh, lambda x: f.log1p((x - 1) + f.sqrt(x - 1) * f.sqrt(x + 1)))
_composed(np.arctanh, lambda x: _copysign(f.log1p(2 * f.abs(x) / (1 - f.abs(x))) / 2, x))


@numpy_function(np.select, public=False)
def _select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    if len(condlist) != len(choicelist) or not condlist:
        raise unfit(
            f"`select` has {len(condlist)} conditions and {len(choicelist)} values", "give one value for each"
        )
    values = [_value(one) for one in (*choicelist, default)]
    dtype, _ = promote("where", ScalarType("bool"), *(value.type for value in values))
    *choices, last = (f.cast(value, dtype) for value in values)
    pairs = reversed([*zip(condlist, choices, strict=True)])
    return functools.reduce(lambda rest, pair: f.where(pair[0], pair[1], rest), pairs, last)
