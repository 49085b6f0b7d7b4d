"""Results of kernels: inputs, other names of arrays and numbers too, as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cyclotron as cy


def an_input(u, a):
    return u


def assigned_nowhere(u, a):
    u[...] = u
    u[2:1] = 7
    return u, u + 1


def other_names(u, a):
    v = u
    u[0] = 5
    return u, u[1:], v, u


def numbers(u, a):
    n = m = u.shape[0]
    return n, a, u * m, 3, 2.5, -0.0, True, np.float32(2), a * n, u.size > 2


def a_number(u, a):
    s = 1.0
    for k in range(0):
        s += u[k]
    return s


@pytest.mark.parametrize(
    "function",
    [an_input, assigned_nowhere, other_names, numbers, a_number],
    ids=lambda function: function.__name__,
)
@pytest.mark.parametrize("backend", ["local", "sim"])
def test_results_are_those_of_numpy(function: Callable[..., Any], backend: str) -> None:
    u = np.array([1.5, -2.0, 4.0])
    expected = function(u.copy(), np.float64(3))
    expected = expected if isinstance(expected, tuple) else (expected,)
    program = cy.kernel(function).compile(u, np.float64(3))
    found = list(cy.run(program, backend=backend).outputs.values())
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
        assert np.array_equal(np.signbit(one), np.signbit(other))


def test_each_result_is_an_array_of_its_own() -> None:
    u = np.ones(3)
    first, second, third = cy.kernel(thrice)(u)
    first[0] = 2
    assert (second[0], third[0], u[0]) == (1, 1, 1)


def thrice(u):
    v = u
    return u, v, u


@pytest.mark.parametrize("tile", [(2, 2), (3, 2)])
def test_blocked_arguments_are_returned_as_they_are(tile):
    @cy.kernel
    def f(A, B):
        C = cy.zeros_like(B)
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                C[i, j] = A[i, j] + B[i, j]
        return C, A

    rng = np.random.default_rng(3)
    a, b = rng.random((5, 4)), rng.random((5, 4))
    program = f.compile(cy.blocked(a, tile), cy.blocked(b, tile))
    for backend in ("sim", "local"):
        found = cy.run(program, backend=backend).outputs
        np.testing.assert_array_equal(found["C"], a + b)
        np.testing.assert_array_equal(found["A_out" if "A_out" in found else "A"], a)
