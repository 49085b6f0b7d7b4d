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


def corrected(u, v):
    error = 1.0
    while error > 1e-2:
        u[::2] += v
        v = v * 0.5
        u = u * 0.9
        error = np.max(v)
    return u, v


def corrected_by_parts(u, v):
    error = 1.0
    while error > 1e-2:
        u[::2] += 0.5 * v
        v = v * 0.5
        u[1:-1] = (u[:-2] + u[2:]) / 2
        error = np.max(np.abs(v))
    return u, v


def by_thirds(u, v):
    for k in range(60):
        u[2::3] -= v[: len(u[2::3])]
        v[::3] *= 0.5
        if np.max(u) < 0.1:
            break
        u[::3] *= 0.5
        u[1::3] *= 0.25
    return u, v


def before_inner_loops(u, v):
    u[1::2] += v[: len(u[1::2])]
    for t in range(3):
        error = 1.0
        while error > 0.15:
            u = u * 0.5 + 0.01
            error = np.max(np.abs(u - 0.02))
        if np.sum(u) > 0.2:
            u = u + t
    return u, v


ENDING = {corrected: (9, 5), corrected_by_parts: (9, 5), by_thirds: (9, 4), before_inner_loops: (9, 5)}


@pytest.mark.filterwarnings("error::cyclotron.PerformanceWarning")
@pytest.mark.parametrize("function", ENDING)
@pytest.mark.parametrize("backend", ["local", "sim"])
def test_loops_that_update_strided_slices_end(function: FunctionType, backend: str) -> None:
    """A loop of a million iterations, of which so many are computed as NumPy takes, and a few more."""
    arrays = [np.random.default_rng(size).random(size) for size in ENDING[function]]
    expected = function(*(array.copy() for array in arrays))
    result = cy.run(cy.kernel(function).compile(*arrays), backend=backend)
    for one, other in zip(result.outputs.values(), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, strict=True)
    assert 1 < sum(result.steps.values()) < 30


def sorted_and_added(u, v):
    for _t in range(6):
        v = np.sort(u, axis=1)
        if np.sum(np.abs(v)) < 9:
            break
        u[1::2] += v[:2]
    return u, v


def with_two_tests(u, v):
    for _t in range(4):
        u[1::2] += v[:2]
        if np.sum(v) > 0.53:
            v = v + u
        if np.sum(u) > 0.12:
            u = u * 0.7
            u = u + u
    return u, v


def around_a_row(u, v):
    for _t in range(6):
        u[1::2] += v[:2]
        v[1] = u[:, 0]
        v = v * 0.5
        if np.sum(np.abs(v)) < 4:
            break
        v[1::2] += u[:2]
    return u, v


@pytest.mark.parametrize("function", [sorted_and_added, with_two_tests, around_a_row])
@pytest.mark.parametrize("backend", ["local", "sim"])
def test_many_statements_read_what_strides_wrote(function: FunctionType, backend: str) -> None:
    rng = np.random.default_rng(1)
    arrays = rng.random((4, 4)), rng.random((4, 4))
    expected = function(*(array.copy() for array in arrays))
    found = cy.run(cy.kernel(function).compile(*arrays), backend=backend).outputs.values()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, strict=True)
