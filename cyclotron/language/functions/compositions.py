"""NumPy's functions that are a few operators each, `cy.clip`: composed while tracing, NumPy otherwise."""

from __future__ import annotations

import builtins
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from cyclotron.language.functions import elementwise as f
from cyclotron.language.functions.reductions import all
from cyclotron.language.functions.refusals import unfit
from cyclotron.language.functions.registry import numpy_function, plain_result
from cyclotron.language.values.axes import whole_shift
from cyclotron.language.values.dispatch import Arithmetic, Array, PartialArray
from cyclotron.language.values.operations import element
from cyclotron.support.dtypes import ADDED, is_whole, kind_of


def _in_single(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that is computed in single precision of floats of 8 and 16 bits that `ml_dtypes` adds."""

    @functools.wraps(function)
    def computed(x: Any) -> Any:
        dtype = np.dtype(getattr(x, "dtype", float)).name
        return f.cast(function(f.cast(x, "float32")), dtype) if dtype in ADDED else function(x)

    return computed


@numpy_function(np.clip, method="clip", elementwise=True)
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """Each scalar, or the bound that it is beyond; a bound that is None is none.

    Parameters
    ----------
    a : array, tile or scalar
        Of any shape.
    a_min, a_max : array, tile or scalar, optional
        The bounds, of shapes that broadcast with `a`; also named `min` and `max`.

    Returns
    -------
    array, tile or scalar
        Of the operands' broadcast shape.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.clip(x, 0, 2)
    >>> f(np.array([-1, 1, 3])).tolist()
    [0, 1, 2]
    """
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if is_whole(getattr(a, "dtype", float)):  # numbers of Python's beyond the dtype bound nothing
        ends = np.iinfo(a.dtype)
        low = None if type(low) is int and low <= ends.min else low
        high = None if type(high) is int and high >= ends.max else high
    if low is None and high is None:
        return +a  # a new array
    above = a if low is None else f.maximum(a, low)
    return above if high is None else f.minimum(above, high)


@numpy_function(np.tan, elementwise=True)
def tan(x: Any) -> Any:
    """The tangent of each scalar, in radians: the sine by the cosine; of complex ones by the hyperbolic one.

    Parameters
    ----------
    x : array, tile or scalar
        Of any shape.

    Returns
    -------
    array, tile or scalar
        Shaped as the operand.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.tan(x)
    >>> x = np.array([0.0, 0.5])
    >>> np.allclose(f(x), np.tan(x))
    True
    """
    x = floating(np.tan, x)
    if kind_of(x.dtype) == "c":  # sines of large imaginary parts are infinite
        return -1j * f.tanh(1j * x)
    return f.sin(x) / f.cos(x)


@numpy_function(np.log2, elementwise=True)
@_in_single
def log2(x: Any) -> Any:
    """The logarithm to the base 2 of each scalar: of powers of two to the last bit or so.

    Parameters
    ----------
    x : array, tile or scalar
        Of any shape.

    Returns
    -------
    array, tile or scalar
        Shaped as the operand.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.log2(x)
    >>> np.allclose(f(np.array([1.0, 8.0])), [0.0, 3.0])
    True
    """
    return f.log(x) / math.log(2)


@numpy_function(np.log10, elementwise=True)
@_in_single
def log10(x: Any) -> Any:
    """The logarithm to the base 10 of each scalar: of powers of ten to the last bit or so.

    Parameters
    ----------
    x : array, tile or scalar
        Of any shape.

    Returns
    -------
    array, tile or scalar
        Shaped as the operand.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.log10(x)
    >>> np.allclose(f(np.array([1.0, 100.0])), [0.0, 2.0])
    True
    """
    return f.log(x) / math.log(10)


@numpy_function(np.degrees, np.rad2deg, elementwise=True)
def degrees(x: Any) -> Any:
    """Angles in radians as degrees, floating.

    Parameters
    ----------
    x : array, tile or scalar
        Of any shape.

    Returns
    -------
    array, tile or scalar
        Shaped as the operand.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.degrees(x)
    >>> f(np.array([0.0, np.pi])).tolist()
    [0.0, 180.0]
    """
    return _scaled(np.degrees, x, 180, math.pi)


@numpy_function(np.radians, np.deg2rad, elementwise=True)
def radians(x: Any) -> Any:
    """Angles in degrees as radians, floating.

    Parameters
    ----------
    x : array, tile or scalar
        Of any shape.

    Returns
    -------
    array, tile or scalar
        Shaped as the operand.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.radians(x)
    >>> np.allclose(f(np.array([0.0, 180.0])), [0.0, np.pi])
    True
    """
    return _scaled(np.radians, x, math.pi, 180)


@numpy_function(np.isinf, elementwise=True)
def isinf(x: Any) -> Any:
    """True where a scalar is infinite.

    Parameters
    ----------
    x : array, tile or scalar
        Of any shape.

    Returns
    -------
    array, tile or scalar
        Shaped as the operand, bool.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.isinf(x)
    >>> f(np.array([1.0, np.inf])).tolist()
    [False, True]
    """
    value: Any = x if isinstance(x, (Array, PartialArray)) else element(x)
    if kind_of(value.dtype) == "c":  # a part may be NaN
        return f.logical_or(isinf(value.real), isinf(value.imag))
    return f.logical_not(f.logical_or(f.isfinite(x), f.isnan(x)))


@numpy_function(np.round, np.around, method="round", elementwise=True)
def round(a: Any, decimals: int = 0) -> Any:
    """The whole number nearest to each real scalar, of two as near the even one; or the nearest decimal one.

    Parameters
    ----------
    a : array, tile or scalar
        Of any shape.
    decimals : int
        How many places after the point stay; of floating scalars negative ones round to tens and so on.

    Returns
    -------
    array, tile or scalar
        Shaped as the operand.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.round(x)
    >>> f(np.array([0.5, 1.5, 2.4])).tolist()
    [0.0, 2.0, 2.0]
    """
    kind, places = kind_of(a.dtype), whole_shift(decimals, "round")
    if kind == "b" and not places:
        return a.astype("float16")
    if kind in "iu" and places >= 0:
        return +a if isinstance(a, Array) else a
    if kind != "f" and places:
        raise unfit(
            f"`round` of {a.dtype} arrays has decimals={decimals!r}",
            'round floating ones, e.g. `cy.round(x.astype("float64"), -1)`'
            if kind in "biu"
            else "round cy.real and cy.imag of them",
        )
    power = 10.0 ** builtins.abs(places)
    scaled = a * power if places > 0 else a / power if places else a
    down = f.floor(scaled)
    rest = scaled - down
    near = f.where(rest > 0.5, down + 1, f.where(rest == 0.5, down + down % 2, down))
    near = f.where(near == 0, 0 * scaled, near)  # a zero has the sign of what it was, as in NumPy
    return near / power if places > 0 else near * power if places else near


def floating(ufunc: np.ufunc, x: Any) -> Any:
    """An operand of a ufunc that computes whole numbers as floating ones, in the dtype that NumPy gives.

    Raises
    ------
    ShapeError
        CYC121 if NumPy does not have it of such numbers, CYC120 if kernels do not have the dtype.
    """
    value: Any = x if isinstance(x, (Array, PartialArray)) else element(x)
    dtype = value.dtype
    try:
        return f.cast(value, ufunc(np.empty(0, dtype)).dtype)
    except TypeError:
        raise unfit(
            f"`np.{ufunc.__name__}` is not defined on {dtype} arrays",
            "take cy.real, cy.imag or cy.abs of them",
            code="CYC121",
        ) from None


@numpy_function(np.isclose, elementwise=True)
def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """True where scalars differ by at most ``atol + rtol * abs(b)``; infinite ones where they are equal.

    Parameters
    ----------
    a, b : array, tile or scalar
        Of shapes that broadcast.
    rtol, atol : float
        Relative and absolute tolerance.
    equal_nan : bool
        Whether NaN are close to each other.

    Returns
    -------
    array, tile or scalar
        Of the operands' broadcast shape, bool.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.isclose(x, 1.0)
    >>> f(np.array([1.0, 2.0])).tolist()
    [True, False]
    """
    both = f.logical_and(is_nan(a), is_nan(b)) if equal_nan else None
    if isinstance(b, int):
        b = float(b)
    elif hasattr(b, "dtype") and kind_of(b.dtype) in "biu":
        b = f.cast(b, "float64")  # as NumPy does: the least whole number has no absolute value
    near = f.logical_and(f.isfinite(b), abs(a - b) <= atol + rtol * abs(b))
    near = f.logical_or(near, a == b)
    return near if both is None else f.logical_or(near, both)


def is_nan(x: Any) -> Any:
    """True where a scalar is NaN, which no whole number is."""
    value: Any = x if isinstance(x, (Array, PartialArray)) else element(x)
    return f.isnan(value) if kind_of(value.dtype) in "fc" else value != value


@numpy_function(np.allclose, or_numpy=False)
def allclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """True if all scalars are close, as `isclose` says; an array without axes.

    Parameters
    ----------
    a, b : array, tile or scalar
        Of shapes that broadcast.
    rtol, atol : float
        Relative and absolute tolerance: ``abs(a - b) <= atol + rtol * abs(b)``.
    equal_nan : bool
        As for `isclose`.

    Returns
    -------
    array
        Without axes, bool.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.allclose(x, 1.0)
    >>> f(np.array([1.0, 1.0 + 1e-9])).tolist()
    True
    """
    if isinstance(a, Arithmetic) or isinstance(b, Arithmetic):
        return all(isclose(a, b, rtol, atol, equal_nan))
    return plain_result(np.allclose(a, b, rtol, atol, equal_nan), a, b)


@numpy_function(np.rint, elementwise=True, public=False)
def _rint(x: Any) -> Any:
    return round(floating(np.rint, x))


@numpy_function(np.fabs, elementwise=True, public=False)
def _fabs(x: Any) -> Any:
    return f.abs(floating(np.fabs, x))


def _scaled(ufunc: np.ufunc, x: Any, numerator: float, denominator: float) -> Any:
    """An operand times a fraction, which NumPy has in the operand's dtype, or in float32 for float16."""
    value = floating(ufunc, x)
    precise = np.promote_types(value.dtype, "float32")
    factor = precise.type(numerator) / precise.type(denominator)
    return f.cast(f.cast(value, precise) * float(factor), value.dtype)
