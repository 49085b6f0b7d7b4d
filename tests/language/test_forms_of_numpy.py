"""Forms of NumPy and of Python that random programs have: values and dtypes are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import cyclotron as cy


def reductions_that_hide_an_index(x, A):
    for i in range(3):
        x[i] += sum(A[i, i] for i in range(2)) + sum(A[k, k] for k in range(4) for k in range(k))
        s = 0
        for k in range(2):
            s += any(x[k] > 1 for k in range(3)) + True
        x[i] -= s
    return x


def einsum_of_views(x, A):
    B = np.einsum("ij->ji", A)
    v = np.einsum("ii->i", B[:3, :3])
    v += x[:3]
    return np.einsum("ij,j->i", A[1:, ::2] + 1, x[::2]), B.copy(), np.einsum("ij->ji", B[::-1])


def concatenated_empty_arrays(x, A):
    nothing = np.concatenate((x[:0], A[0, 1:1]), axis=0)
    return nothing, np.concatenate((nothing, nothing, x)), np.roll(nothing, 2)


def conditions_that_always_hold(x, A):
    """A value that is never chosen may have another dtype."""
    for s in range(1, 2):
        for i in range(2):
            x[i] = (x[i] if s < i else x[i + 1]) if s % 2 == 1 else (A[i, 0] + 1j)
            x[i] += sum((A[k, i] % 2 if k < 4 else A[k, 9]) for k in range(3))
    return x


FUNCTIONS = (
    conditions_that_always_hold,
    reductions_that_hide_an_index,
    einsum_of_views,
    concatenated_empty_arrays,
)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_values_are_those_of_numpy(function: FunctionType) -> None:
    x, A = np.array([3.0, -1.0, 2.0, 0.5]), np.arange(16.0).reshape(4, 4) - 5
    _check(function, function, x, A)


def index_cast(x, A):
    for i in range(3, 0, -1):
        x[i] += cy.cast(i, "float16") / 3 - cy.cast(2 * i - 1, "int32")
    return x


def test_casts_of_indices() -> None:
    def by_numpy(x, A):
        for i in range(3, 0, -1):
            x[i] += np.float16(i) / 3 - np.int32(2 * i - 1)
        return x

    _check(index_cast, by_numpy, np.ones(4, "float32"), np.ones((1, 1)))


def counted(x, A):
    y = cy.arange(4)
    y[1:] += y[:-1]
    for k in range(3):
        y[k] *= y[k + 1]
    return y, cy.arange(4) * x


def test_arange_is_an_array() -> None:
    def by_numpy(x, A):
        y = np.arange(4)
        y[1:] += y[:-1].copy()
        for k in range(3):
            y[k] *= y[k + 1]
        return y, np.arange(4) * x

    _check(counted, by_numpy, np.ones(4), np.ones((1, 1)))


def fillings(x, A):
    y = cy.full((2,), 2.0, dtype="int32")
    z = cy.full_like(x, -3.7, dtype="int64")
    z[0] += 1
    return y, z


def test_fillings_are_converted() -> None:
    def by_numpy(x, A):
        z = np.full_like(x, -3.7, dtype="int64")
        z[0] += 1
        return np.full((2,), 2.0, dtype="int32"), z

    _check(fillings, by_numpy, np.ones(3), np.ones((1, 1)))


def test_a_filling_of_nothing_need_not_fit() -> None:
    """As NumPy's, which converts it where there is an element only."""

    @cy.kernel
    def kernel(u):
        return cy.full_like(u, -1.5)

    nothing = np.array([], "uint8")
    for found in (kernel.reference(nothing), kernel(nothing), np.full_like(nothing, -1.5)):
        assert (found.shape, found.dtype) == ((0,), "uint8")


def _check(function: FunctionType, oracle: Callable[..., Any], *arrays: np.ndarray) -> None:
    expected = oracle(*(array.copy() for array in arrays))
    expected = expected if isinstance(expected, tuple) else (expected,)
    program = cy.kernel(function).compile(*arrays)
    for backend in ("local", "sim"):
        found = cy.run(program, backend=backend).outputs.values()
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other, strict=True)
