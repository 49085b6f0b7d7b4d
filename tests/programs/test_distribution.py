"""Loops of one step that run one after the other: the second needs values of the first from everywhere."""

import numpy as np
import pytest

import cyclotron as cy

S = cy.Schedule()


@cy.kernel
def two_loops(U0, steps):
    n = U0.shape[0]
    U = cy.empty((steps + 1, n), dtype=U0.dtype)
    H = cy.empty((steps + 1, n), dtype=U0.dtype)
    for i in range(n):
        U[0, i] = U0[i]
    for t in range(1, steps + 1):
        for i in range(n):
            H[t, i] = U[t - 1, i] * 2
        for i in range(n):
            U[t, i] = H[t, i - 1] + H[t, i + 1] if i > 0 and i < n - 1 else H[t, i]
    return U


@cy.kernel
def red_black(U0, steps):
    """Gauss-Seidel: the odd points of each sweep, then the even ones with their new neighbours."""
    n = U0.shape[0]
    R = cy.empty((steps + 1, n), dtype=U0.dtype)
    B = cy.empty((steps + 1, n), dtype=U0.dtype)
    for i in range(n):
        R[0, i] = U0[i]
        B[0, i] = U0[i]
    for t in range(1, steps + 1):
        for i in range(n):
            R[t, i] = B[t - 1, i - 1] + B[t - 1, i + 1] if i % 2 == 1 and i < n - 1 else B[t - 1, i]
        for i in range(n):
            B[t, i] = R[t, i - 1] + R[t, i + 1] if i % 2 == 0 and i > 0 and i < n - 1 else R[t, i]
    return B


@cy.kernel
def alternating(U0, steps):
    """Sweeps down the columns, then along the rows of the result, and back."""
    n, m = U0.shape
    U = cy.empty((steps + 1, n, m), dtype=U0.dtype)
    V = cy.empty((steps + 1, n, m), dtype=U0.dtype)
    for i in range(n):
        for j in range(m):
            U[0, i, j] = U0[i, j]
    for t in range(1, steps + 1):
        for i in range(n):
            for j in range(m):
                V[t, i, j] = V[t, i - 1, j] + U[t - 1, i, j] if i > 0 else U[t - 1, i, j]
        for i in range(n):
            for j in range(m):
                U[t, i, j] = U[t, i, j - 1] + V[t, n - 1 - i, j] if j > 0 else V[t, i, j]
    return U


@cy.kernel
def reversals(A):
    n = A.shape[0]
    B = cy.empty((n,), dtype=A.dtype)
    C = cy.empty((n,), dtype=A.dtype)
    D = cy.empty((n,), dtype=A.dtype)
    for i in range(n):
        B[i] = A[i] + 1
    for i in range(n):
        C[i] = B[n - 1 - i] * 2
    for i in range(n):
        D[i] = C[n - 1 - i] + B[i]
    return D


def integers(*shape):
    return np.random.default_rng(3).integers(-9, 9, shape)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6])
@pytest.mark.parametrize("steps", [0, 1, 3])
@pytest.mark.parametrize("kernel", [two_loops, red_black], ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("schedule", [S, S.space("i"), S.space("i").fold(i=2)], ids=str)
def test_sweeps(kernel, schedule, n, steps):
    cy.check(kernel.compile(integers(n), steps, schedule=schedule), backends=("sim", "local"))


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 1), (3, 4), (5, 5)])
def test_alternating_directions(shape):
    cy.check(alternating.compile(integers(*shape), 2, schedule=S), backends=("sim", "local"))


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_a_whole_array_before_the_next(n):
    cy.check(reversals.compile(integers(n), schedule=S), backends=("sim", "local"))


def test_the_innermost_loops_that_can_are_distributed():
    """Of H one row is kept, not all steps."""
    program = two_loops.compile(cy.spec((6,)), 100, schedule=S.time("t", "i"))
    assert "H[i]" in str(program.classes[0])
    assert "for t = 2 .. 100" in str(program.classes[0])
