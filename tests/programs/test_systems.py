"""Systems of several tensors, stencils in time and conditions on the reduction index."""

import numpy as np
import pytest

import cyclotron as cy

SPACE = cy.Schedule().space


@cy.kernel
def two_products(A, B, D):
    T = cy.empty((A.shape[0], B.shape[1]))
    R = cy.empty((A.shape[0], D.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            T[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
        for h in range(D.shape[1]):
            R[i, h] = sum(T[i, j] * D[j, h] for j in range(B.shape[1]))
    return R


@cy.kernel
def add_reversed(A):
    n = A.shape[0]
    T = cy.empty_like(A)
    R = cy.empty_like(A)
    for i in range(n):
        T[i] = A[i] * 2
    for i in range(n):
        R[i] = T[i] + T[n - 1 - i]
    return R


@cy.kernel
def stencil(A, steps):
    n = A.shape[0]
    U = cy.empty((steps, n))
    for t in range(steps):
        for x in range(n):
            if t == 0 or x == 0 or x == n - 1:
                U[t, x] = A[x]
            else:
                U[t, x] = U[t - 1, x - 1] + U[t - 1, x] - 2 * U[t - 1, x + 1]
    return U


@cy.kernel
def cholesky_by_rows(A):
    """Two operands of one space that hold the same elements: neither may wait for the other."""
    L = cy.zeros_like(A)
    for i in range(A.shape[0]):
        for j in range(i + 1):
            if i == j:
                L[i, j] = cy.sqrt(A[i, j] - sum(L[i, k] * L[j, k] for k in range(j)))
            else:
                L[i, j] = (A[i, j] - sum(L[i, k] * L[j, k] for k in range(j))) / L[j, j]
    return L


@cy.kernel
def partial_sums(A):
    n = A.shape[0]
    X = cy.empty_like(A)
    for i in range(n):
        X[i] = sum(A[k] for k in range(n) if k <= i)
    return X


CASES = [
    (two_products, ((4, 3), (3, 5), (5, 2)), [None, cy.Schedule(), SPACE("i"), SPACE("i", "j")]),
    (add_reversed, ((5,),), [None, cy.Schedule()]),
    (stencil, ((8,), 5), [None, cy.Schedule(), SPACE("x"), SPACE("t")]),
    (partial_sums, ((6,),), [None, cy.Schedule(), SPACE("i"), SPACE("k")]),
]


@pytest.mark.parametrize("schedule", [None, cy.Schedule(), SPACE("i"), SPACE("i", "j")], ids=str)
def test_operands_that_could_wait_for_each_other(schedule):
    rng = np.random.default_rng(0)
    L = np.tril(rng.integers(-2, 3, (6, 6)).astype(float), -1) + np.eye(6)
    program = cholesky_by_rows.compile(L @ L.T, schedule=schedule)
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, L)


@pytest.mark.parametrize(
    ("kernel", "shapes", "schedule"),
    [(kernel, shapes, schedule) for kernel, shapes, schedules in CASES for schedule in schedules],
    ids=lambda value: value.name if isinstance(value, cy.Kernel) else None,
)
def test_equals_numpy(kernel, shapes, schedule):
    rng = np.random.default_rng(0)
    arguments = [s if isinstance(s, int) else rng.integers(-3, 4, s).astype(float) for s in shapes]
    program = kernel.compile(*arguments, schedule=schedule)
    expected = kernel.reference(*arguments)
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, expected)
