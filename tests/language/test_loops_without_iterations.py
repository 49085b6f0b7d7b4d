"""Loops without an iteration: what Python does not run is not judged, whatever its shapes and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cyclotron as cy


def unknown_operators(x, A):
    for i in range(1, 1):
        x[i] = A[i, 0] % 2 - (-(x > 0))[i]
    return x


def wrong_shapes(x, A):
    for i in range(x.shape[0] - 3):
        for j in range(A.shape[1]):
            if i > 4:
                x[j, i] = A[j]
        x[:] = A[i, j]
    x[0] += 1
    return x


def never_together(x, A):
    for i in range(3):
        for k in range(3, i):
            x[i] += A[k, 7, i]
        if i > 2:
            x[i] -= A[i]
        else:
            x[i] *= 2
    return x


def early_exits(x, A):
    s = 1.0
    for i in range(-2):
        s = s * A[i]
        if s > x[:2]:
            break
    return x * s


@pytest.mark.parametrize(
    "function",
    [unknown_operators, wrong_shapes, never_together, early_exits],
    ids=lambda function: function.__name__,
)
def test_what_does_not_run_is_not_judged(function: Callable[..., Any]) -> None:
    x, A = np.array([3.0, -1.0, 2.0]), np.ones((3, 2), dtype=complex)
    expected = function(x.copy(), A)
    for backend in ("local", "sim"):
        (found,) = cy.run(cy.kernel(function).compile(x, A), backend=backend).outputs.values()
        np.testing.assert_array_equal(found, expected)


def test_what_runs_is_judged() -> None:
    with pytest.raises(cy.ShapeError, match="`remainder` is not defined on complex128"):
        cy.kernel(an_unknown_operator).compile(np.ones(3), np.ones((3, 2), dtype=complex))


def an_unknown_operator(x, A):
    for i in range(1, 2):
        x[i] = A[i, 0] % 2
    return x
