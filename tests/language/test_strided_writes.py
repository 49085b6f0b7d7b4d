"""Writes one stride apart in loops that repeat them, read at other strides: values are NumPy's."""

from __future__ import annotations

from types import FunctionType

import numpy as np
import pytest

import cyclotron as cy


def in_time_loops(u, v, A):
    for _t in range(3):
        u[::-2] = v[1:4] * u[0]
        v[1::2] -= u[:2]
        v[0] += u[2]
    return u, v


def halves(u, v, A):
    for _t in range(2):
        v[::2] = u[1:4]
        v[1::2] = u[3:]
        u[1:] = v[:-1] + v[1:]
    return u, v + 1


def of_matrices(u, v, A):
    for _t in range(2):
        A[::-2, ::-1] = A.T[:2, :4] + u[0]
        A[1::2, 1:3] *= A[:2, 0::3]
    return A, A[1:] + 1


def beside_other_loops(u, v, A):
    for i in range(1, -1, -1):
        for j in range(i, 4):
            u[2 * i] += v[3 - j] - v[1]
    return u + 1, v


@pytest.mark.parametrize(
    "function",
    [in_time_loops, halves, of_matrices, beside_other_loops],
    ids=lambda function: function.__name__,
)
@pytest.mark.parametrize("backend", ["local", "sim"])
def test_values_are_those_of_numpy(function: FunctionType, backend: str) -> None:
    arrays = np.array([1.0, 2, 3, 5, -1]), np.array([0.5, 2, 4, 1, 3]), np.arange(16.0).reshape(4, 4)
    expected = function(*(array.copy() for array in arrays))
    found = cy.run(cy.kernel(function).compile(*arrays), backend=backend).outputs.values()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
