"""Corners of NumPy on whole arrays: dtypes, scalars, in-place operators, arguments of functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from test_arrays import check, numbers

import cyclotron as cy


@cy.kernel
def norms(x):
    return cy.norm(x), np.linalg.norm(x)


@cy.kernel
def products(T, A, x):
    return np.dot(T, A), np.dot(A, x), np.dot(x, T), np.outer(2.0, x)


@cy.kernel
def multiplied_in_place(A, B):
    C = A[:2, 1:]
    for _t in range(2):
        A @= B
    A[1:, 1:] @= B[:2, :2]
    return A, C


@cy.kernel
def scalars_of_numpy(x):
    return (
        x * np.float64(0.1),
        np.float32(0.5) - x,
        x + 0.1,
        x ** np.float64(3),  # NumPy before 2.3 squares in the dtype of x
        np.where(x > 0, x, np.int64(2)),
    )


@cy.kernel
def truth_in_place(x, a):
    x += np.float64(0.25)
    return x * a, a**3, x == np.int64(2)


@cy.kernel
def arguments_of_numpy(A, x):
    rolled = cy.roll(x, (1, 2)) + np.roll(x, (1, 2), axis=0)
    return rolled, np.roll(A, 1, axis=(0, 1)), A.transpose(None), np.sum(A, 0, None, keepdims=True), A.max(0)


@cy.kernel
def sums_of_elements(x):
    """The axes have other names than the sums' indices, also where statements leave few."""
    y = x + sum(x[i] for i in range(2))
    z = y - max(y[i] for i in range(2)) * sum(y[j] for j in range(3))
    return y, z + sum(z[i] + sum(z[j] for j in range(2)) for i in range(2))


@cy.kernel
def counts(x, A):
    """Python adds and multiplies truth values as whole numbers."""
    total = 0
    for i in range(3):
        total += x[i]
    found = cy.empty((2,), dtype="int64")
    found[0] = sum(A[i, j] for i in range(2) for j in range(3) if i <= j)
    found[1] = math.prod(A[i, 0] for i in range(2))
    return total, found, sum(A[i] for i in range(2)), any(x[i] for i in range(3))


CASES: list[tuple[cy.Kernel, tuple[Any, ...]]] = [
    (norms, (np.array([50000, 0], "int32"),)),
    (norms, (np.array([2**33, 0]),)),
    (norms, (np.array([True, False]),)),
    (norms, (np.array([3, 4], "float32"),)),
    (products, (numbers(2, 3, 3), numbers(3, 3, seed=2), numbers(3, dtype="float32"))),
    (scalars_of_numpy, (numbers(3, dtype="float32"),)),
    (scalars_of_numpy, (numbers(3, dtype="int32"),)),
    (truth_in_place, (numbers(3, dtype="float32"), numbers(3, dtype="bool"))),
    (arguments_of_numpy, (numbers(2, 3), numbers(4))),
    (sums_of_elements, (numbers(5),)),
    (sums_of_elements, (numbers(3, dtype="int32"),)),
    (counts, (np.array([True, True, False]), np.array([[1, 1, 0], [1, 1, 1]], "bool"))),
    (counts, (np.zeros(3, "bool"), np.ones((2, 3), "bool"))),
    (multiplied_in_place, (numbers(3, 3), numbers(3, 3, seed=2))),
]


@pytest.mark.parametrize(
    ("kernel", "arguments"), CASES, ids=[f"{k.name}-{n}" for n, (k, _) in enumerate(CASES)]
)
def test_means_what_numpy_makes_of_it(kernel: cy.Kernel, arguments: tuple[Any, ...]) -> None:
    check(kernel, *arguments, backends=("local",))
