"""Powers that NumPy computes otherwise than as powers: squares, roots and reciprocals, by known exponents."""

from __future__ import annotations

from typing import Any

import numpy as np

from cyclotron.language.values import dispatch
from cyclotron.language.values.broadcasting import broadcast
from cyclotron.language.values.dispatch import Array
from cyclotron.language.values.scalar_type import ScalarType, literal, promote
from cyclotron.support.dtypes import ADDED, kind_of

_WITH_SHORTCUTS = ("float32", "float64")
"""The dtypes in which NumPy's ufunc looks at an exponent that is the same for all elements."""


def simple_power(base: Any, exponent: object) -> Any:
    """A power of an array by an exponent that is known, where NumPy has another operator for it; else None.

    The operator `**` has them of Python's numbers in all floating dtypes, the ufunc of any number that is one
    for all elements, in its loops of float32 and float64.
    """
    if not _is_array_of_numbers(base):
        return None
    if type(exponent) in (int, float):
        return _by_python(base, exponent)
    number = _known(exponent, base)
    if number is None or not base.shape:
        return None  # a scalar's
    dtype = promote("power", base.type, number[1])[0]
    if dtype not in _WITH_SHORTCUTS:
        return None
    with np.errstate(over="ignore"):
        value = float(np.dtype(dtype).type(number[0]))
    return _shortened(base if base.dtype_name == dtype else base.astype(dtype), value)


def of_numpy(base: object, exponent: object) -> tuple[object, object]:
    """The operands of NumPy's `power`, which looks at roots and reciprocals in its loops only."""
    if not isinstance(base, Array) or type(exponent) not in (int, float) or exponent not in (0.5, -1):
        return base, exponent
    looks = base.dtype_name != "float16" and kind_of(base.dtype_name) != "c"
    return base, exponent if looks else np.dtype(base.dtype_name).type(exponent)


def root_dtype(base: ScalarType, exponent: object) -> str | None:
    """The dtype in which NumPy's `power` of a scalar is a root; None where it is none."""
    known = literal(exponent)
    if known is None or known[0] != 0.5:
        return None
    dtype = promote("power", base, known[1])[0]
    return dtype if dtype in _WITH_SHORTCUTS else None


def _is_array_of_numbers(value: object) -> bool:
    return isinstance(value, Array) and value.dtype_name != "bool"


def _known(exponent: Any, base: Any) -> tuple[complex, ScalarType] | None:
    """The number that an exponent of the host is for all elements, and its type."""
    if isinstance(exponent, np.ndarray) and exponent.ndim and exponent.size == 1:
        if all(size == 1 for size in broadcast([base.shape, exponent.shape])):
            return None  # which NumPy takes as one of a sequence
        exponent = exponent.reshape(())
    return None if isinstance(exponent, bool) else literal(exponent)


def _by_python(base: Any, exponent: Any) -> Any:
    if base.dtype_name in ADDED and isinstance(exponent, float):
        dtype = promote("power", base.type, ScalarType("float64", weak=True))[0]
        base = base if base.dtype_name == dtype else base.astype(dtype)  # before 0.7 `ml_dtypes` widens
    floating = kind_of(base.dtype_name) in "fc"
    if exponent == 2 and (floating or isinstance(exponent, int)):
        return _shortened(base, 2)
    if not base.shape:
        return None  # a scalar's
    if exponent == 0.5 and base.dtype_name not in ADDED:  # of which NumPy has powers
        return _shortened(base if floating else base.astype("float64"), 0.5)
    if exponent == -1 and isinstance(exponent, float) and kind_of(base.dtype_name) == "c":
        return None  # of which NumPy divides, in its powers
    if (exponent == -1 and floating) or (exponent == 1 and (floating or isinstance(exponent, int))):
        return _shortened(base, exponent)
    return None


def _shortened(base: Any, exponent: float) -> Any:
    """A power of an array of the dtype that the power has, by another operator; None where there is none."""
    if exponent == 2:
        return dispatch.apply("multiply", base, base)
    if exponent == 0.5:
        return dispatch.apply("sqrt", base)
    if exponent == -1:
        is_complex = kind_of(base.dtype_name) == "c"
        return reciprocal_of_complex(base) if is_complex else dispatch.apply("divide", 1, base)
    return base.copy() if exponent == 1 else None


def reciprocal_of_complex(x: Any) -> Any:
    """One over complex scalars, in the steps of NumPy, which rounds other ones than its division."""
    real, imaginary = x.real, x.imag
    flat = dispatch.apply("less_equal", abs(imaginary), abs(real))
    large = dispatch.apply("where", flat, real, imaginary)
    small = dispatch.apply("where", flat, imaginary, real)
    ratio = small / large
    divisor = large + small * ratio
    one, other = 1 / divisor, ratio / divisor
    first, second = dispatch.apply("where", flat, one, other), dispatch.apply("where", flat, other, one)
    return dispatch.apply("conj", first + 1j * second)
