"""NumPy's functions that are a few operators each, `cy.clip`: composed while tracing, NumPy otherwise."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from cyclotron.errors import ShapeError
from cyclotron.language.expressions.arithmetic import Arithmetic, Array, Part
from cyclotron.language.expressions.elements import element
from cyclotron.language.expressions.position import here
from cyclotron.language.functions import pointwise as f
from cyclotron.language.functions.pointwise import plain_result


def _composed(numpy: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function that is NumPy's where no operand is an array or element of a kernel that is traced."""

    def decorated(composition: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(composition)
        def function(*args: Any, **kwargs: Any) -> Any:
            values = (*args, *kwargs.values())
            if any(isinstance(value, Arithmetic) for value in values):
                return composition(*map(_array, args), **kwargs)
            return plain_result(numpy(*args, **kwargs), *values)

        return function

    return decorated


def _array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, (list, tuple)) else value


@_composed(np.clip)
def clip(a: Any, a_min: Any = None, a_max: Any = None) -> Any:
    """Each scalar, or the bound that it is beyond; a bound that is None is none."""
    above = a if a_min is None else f.maximum(a, a_min)
    return above if a_max is None else f.minimum(above, a_max)


@_composed(np.tan)
def tan(x: Any) -> Any:
    """The tangent of each scalar, in radians: the sine by the cosine."""
    return f.sin(x) / f.cos(x)


@_composed(np.log2)
def log2(x: Any) -> Any:
    """The logarithm to the base 2 of each scalar: of powers of two to the last bit or so."""
    return f.log(x) / math.log(2)


@_composed(np.log10)
def log10(x: Any) -> Any:
    """The logarithm to the base 10 of each scalar: of powers of ten to the last bit or so."""
    return f.log(x) / math.log(10)


@_composed(np.isinf)
def isinf(x: Any) -> Any:
    """Whether each scalar is infinite."""
    return f.logical_not(f.logical_or(f.isfinite(x), f.isnan(x)))


@_composed(np.round)
def round(a: Any) -> Any:
    """The whole number nearest to each real scalar; of two as near the even one."""
    if a.dtype is not None and np.dtype(a.dtype).kind in "bi":
        return a.copy() if isinstance(a, Array) else a  # type: ignore[attr-defined]
    down = f.floor(a)
    rest = a - down
    near = f.where(rest > 0.5, down + 1, f.where(rest == 0.5, down + down % 2, down))
    return f.where(near == 0, 0 * a, near)  # a zero has the sign of what it was, as in NumPy


def floating(ufunc: np.ufunc, x: Any) -> Any:
    """An operand of a ufunc that computes whole numbers as floating ones, in the dtype that NumPy gives.

    Raises
    ------
    ShapeError
        CYC121 if NumPy does not have it of such numbers, CYC120 if kernels do not have the dtype.
    """
    value = x if isinstance(x, (Array, Part)) else element(x)
    dtype = value.dtype or "float64"  # type: ignore[union-attr]
    try:
        return f.cast(value, ufunc(np.empty(0, dtype)).dtype)
    except TypeError:
        raise ShapeError(
            f"`np.{ufunc.__name__}` is not defined on {dtype} arrays",
            code="CYC121",
            span=here(),
            help="take cy.real, cy.imag or cy.abs of them",
        ) from None


@_composed(np.isclose)
def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08) -> Any:
    """Whether scalars differ by at most ``atol + rtol * abs(b)``; infinite ones only if they are the same."""
    near = f.logical_and(f.isfinite(b), abs(a - b) <= atol + rtol * abs(b))
    return f.logical_or(near, a == b)


@_composed(np.allclose)
def allclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08) -> Any:
    """Whether all scalars are close, as `isclose` says; an array without axes."""
    from cyclotron.language.functions.folds import all

    return all(isclose(a, b, rtol, atol))
