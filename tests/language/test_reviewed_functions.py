"""Functions and operators where dtypes, signs of zeros and last bits depend on forms, against NumPy itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

FLOATS = ("float64", "float32", "float16")
N = np.array([3, 1, 2], "int32")
X = np.array([1.5, -0.5, 4.0, 2.25])


def bits(values: Any) -> list[tuple[Any, ...]]:
    """Dtypes, shapes and elements, in which NaN are equal and zeros of two signs are not."""
    arrays = map(np.asarray, values if isinstance(values, tuple) else (values,))
    return [(one.dtype.name, one.shape, repr(one.tolist())) for one in arrays]


def check(body: Callable[..., Any], *args: Any, numpy: Callable[..., Any] | None = None) -> None:
    """Compare a kernel with the function itself, or with NumPy's spelling of it."""
    with np.errstate(all="ignore"):
        expected = (numpy or body)(*(np.copy(one) if isinstance(one, np.ndarray) else one for one in args))
        assert bits(cy.kernel(body)(*args)) == bits(expected)


def roots(x, y):
    z, u, v = x.copy(), x.copy(), x.copy()
    z **= 0.5
    u **= np.array(0.5)
    v **= np.array([0.5])
    return x**0.5, x ** np.sqrt(0.25), x ** np.float64(0.5), x**y, x ** np.array([0.5]), z, u, v


def roots_in_columns(x, y):
    return x[:, None] ** np.array([0.5]), x[:, None] ** np.array([0.5, 0.5]), x[1:] ** np.array([0.5])


def roots_of_functions(x, y):
    return np.power(x, 0.5), np.power(x, np.float64(0.5)), np.power(x, y), np.power(x[1], 0.5), x[1] ** 0.5


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("body", [roots, roots_in_columns, roots_of_functions])
def test_powers_by_one_half_are_roots_where_they_are_of_numpy(body, dtype):
    check(body, np.array([-np.inf, -0.0, 4.0], dtype), np.array(0.5))
    check(body, np.array([-np.inf, -0.0, 2.0], dtype), np.float32(0.5))


def other_powers(x):
    return x ** np.float64(2), x ** np.array([-1.0]), np.power(x, 1.0), np.power(x, -1), x ** np.float64(3)


@pytest.mark.parametrize("dtype", FLOATS)
def test_powers_by_other_known_numbers(dtype):
    check(other_powers, X.astype(dtype))
