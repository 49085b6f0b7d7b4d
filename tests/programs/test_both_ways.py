"""Values made in the middle of a line of PEs that use them go both ways from there."""

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def floyd_warshall(D0):
    n = D0.shape[0]
    D = cy.empty((n + 1, n, n), dtype=D0.dtype)
    for i in range(n):
        for j in range(n):
            D[0, i, j] = D0[i, j]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                D[k + 1, i, j] = cy.minimum(D[k, i, j], D[k, i, k] + D[k, k, j])
    return D


@cy.kernel
def gauss_jordan(A):
    """Clears each column above and below its pivot."""
    n, m = A.shape
    S = cy.empty((n + 1, n, m), dtype=A.dtype)
    for i in range(n):
        for j in range(m):
            S[0, i, j] = A[i, j]
    for k in range(n):
        for i in range(n):
            for j in range(m):
                if i == k:
                    S[k + 1, i, j] = S[k, i, j]
                else:
                    S[k + 1, i, j] = S[k, k, k] * S[k, i, j] - S[k, i, k] * S[k, k, j]
    return S


@cy.kernel
def gather_from_the_middle(A, steps):
    """PE m computes; all others use what it has computed in the same step."""
    n = A.shape[0]
    X = cy.empty((steps, n))
    M = cy.empty((steps,))
    for t in range(steps):
        M[t] = X[t - 1, 2] + 1 if t > 0 else A[2]
        for i in range(n):
            X[t, i] = X[t - 1, i] + M[t] if t > 0 else A[i]
    return X


def integers(*shape):
    return np.random.default_rng(7).integers(1, 9, shape)


S = cy.Schedule()


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6])
@pytest.mark.parametrize(
    "schedule",
    [S, S.space("i"), S.space("j"), S.space("i", "j"), S.space("i", "j").broadcast("D"), S.space("j", "-i")],
    ids=str,
)
def test_floyd_warshall_on_every_grid(n, schedule):
    weights = integers(n, n)
    cy.check(floyd_warshall.compile(weights, schedule=schedule), backends=("sim", "local"))


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (4, 4), (4, 6), (5, 2)])
@pytest.mark.parametrize("schedule", [S.space("j"), S.space("i", "j")], ids=str)
def test_gauss_jordan(shape, schedule):
    n, m = shape
    matrix = integers(n, max(n, m))
    cy.check(gauss_jordan.compile(matrix, schedule=schedule), backends=("sim", "local"))


@pytest.mark.parametrize("n", [3, 4, 7])
@pytest.mark.parametrize("schedule", [S.space("i"), S.space("i").broadcast("M")], ids=str)
def test_one_pe_feeds_both_sides(n, schedule):
    cy.check(gather_from_the_middle.compile(integers(n), 4, schedule=schedule), backends=("sim", "local"))


def test_the_classes_do_not_grow_with_the_grid():
    grids = [
        floyd_warshall.compile(cy.spec((n, n)), schedule=S.space("i", "j")).classes for n in (12, 40, 1000)
    ]
    assert len({len(classes) for classes in grids}) == 1


def test_a_broadcast_from_the_middle_is_one_instruction():
    program = floyd_warshall.compile(cy.spec((9, 9)), schedule=S.space("i", "j").broadcast("D"))
    assert "[0 .. 8, j]" in str(program.classes[-1])
