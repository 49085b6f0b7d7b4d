"""Axes of one array have different names, also where a diagonal is read: all elements are computed."""

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def diagonal_and_all(A):
    M = 2 * A
    y = np.zeros(A.shape[0])
    for j in range(A.shape[0]):
        y[j] = M[j, j]
    return y, M


@cy.kernel
def diagonal_and_row(A):
    M = A + np.eye(A.shape[0])
    y = np.zeros(A.shape[0])
    for j in range(A.shape[0]):
        y[j] = M[j, j] - M[0, j]
    return y


@cy.kernel
def cholesky_of_computed(A):
    n = A.shape[0]
    M = A @ A.T + n * np.eye(n)
    L = np.zeros((n, n))
    for j in range(n):
        L[j, j] = np.sqrt(M[j, j] - np.sum(L[j, :j] ** 2))
        for i in range(j + 1, n):
            L[i, j] = (M[i, j] - np.dot(L[i, :j], L[j, :j])) / L[j, j]
    return L


@cy.kernel
def blocks_of_computed(A):
    M = np.stack([A, 2 * A])
    y = np.zeros(A.shape)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[i, j] = M[1, i, i] + M[0, i, j] * M[1, j, j]
    return y


@pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")
@pytest.mark.parametrize(
    "kernel",
    [diagonal_and_all, diagonal_and_row, cholesky_of_computed, blocks_of_computed],
    ids=lambda k: k.name,
)
@pytest.mark.parametrize("grid", [None, (3, 2)], ids=str)
def test_axes_of_an_array_whose_diagonal_is_read(kernel, grid):
    A = np.random.default_rng(3).random((7, 7))
    result = cy.run(kernel.compile(A, machine=cy.Machine(grid=grid) if grid else None), backend="sim")
    right = kernel.reference(A)
    for one, other in zip(
        result.outputs.values(), right if isinstance(right, tuple) else (right,), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)
