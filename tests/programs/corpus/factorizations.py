"""Factorisations and triangular systems, on scalars and on tiles."""

import numpy as np

import cyclotron as cy
from corpus.entry import SPACE, SQUARES, Entry, integers, signed_upper, unit_lower


@cy.kernel
def lu(A):
    """Doolittle's: L has ones on the diagonal; no pivots are sought."""
    n = A.shape[0]
    L, U = cy.zeros_like(A), cy.zeros_like(A)
    for i in range(n):
        L[i, i] = 1
        for j in range(i, n):
            U[i, j] = A[i, j] - sum(L[i, k] * U[k, j] for k in range(i))
        for j in range(i + 1, n):
            L[j, i] = (A[j, i] - sum(L[j, k] * U[k, i] for k in range(i))) / U[i, i]
    return L, U


@cy.kernel
def lu_right_looking(A):
    """Kung and Leiserson's: step k subtracts an outer product from the rest of the matrix."""
    n = A.shape[0]
    W = cy.empty((n, n, n))
    L, U = cy.zeros_like(A), cy.zeros_like(A)
    for k in range(n):
        for i in range(k, n):
            for j in range(k, n):
                W[k, i, j] = A[i, j] if k == 0 else W[k - 1, i, j] - L[i, k - 1] * U[k - 1, j]
        for j in range(k, n):
            U[k, j] = W[k, k, j]
        for i in range(k, n):
            L[i, k] = 1 if i == k else W[k, i, k] / W[k, k, k]
    return L, U


@cy.kernel
def lu_tiles(A):
    """L and U in one matrix of tiles: a diagonal tile holds both its factors."""
    n = A.shape[0]
    F = cy.empty_like(A)
    for i in range(n):
        for j in range(n):
            if i == j:
                F[i, j] = cy.linalg.lu(A[i, j] - sum(F[i, k] @ F[k, j] for k in range(i)))
            elif i < j:
                rest = A[i, j] - sum(F[i, k] @ F[k, j] for k in range(i))
                F[i, j] = cy.linalg.solve_triangular(F[i, i], rest, unit_diagonal=True)
            else:
                rest = A[i, j] - sum(F[i, k] @ F[k, j] for k in range(j))
                F[i, j] = cy.linalg.solve_triangular(F[j, j], rest, side="right", lower=False)
    return F


@cy.kernel
def lu_tiles_by_steps(A):
    """The same with the step of the elimination as the outer loop, and two loops below it."""
    n = A.shape[0]
    F = cy.empty_like(A)
    for k in range(n):
        F[k, k] = cy.linalg.lu(A[k, k] - sum(F[k, l] @ F[l, k] for l in range(k)))
        for j in range(k + 1, n):
            rest = A[k, j] - sum(F[k, l] @ F[l, j] for l in range(k))
            F[k, j] = cy.linalg.solve_triangular(F[k, k], rest, unit_diagonal=True)
        for i in range(k + 1, n):
            rest = A[i, k] - sum(F[i, l] @ F[l, k] for l in range(k))
            F[i, k] = cy.linalg.solve_triangular(F[k, k], rest, side="right", lower=False)
    return F


@cy.kernel
def ldl(A):
    """A = L D L^T with D (n,) and ones on the diagonal of L."""
    n = A.shape[0]
    L = cy.zeros_like(A)
    D = cy.empty((n,))
    for j in range(n):
        D[j] = A[j, j] - sum(L[j, k] * L[j, k] * D[k] for k in range(j))
        L[j, j] = 1
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - sum(L[i, k] * L[j, k] * D[k] for k in range(j))) / D[j]
    return L, D


@cy.kernel
def givens(A):
    """R of A = Q R, by Gentleman and Kung's triangle: row i of A is rotated into each row j of R in turn."""
    m, n = A.shape
    R = cy.zeros((m + 1, n, n))
    X = cy.empty((m, n, n))
    h, c, s = (cy.empty((m, n)) for _ in range(3))
    for i in range(m):
        for k in range(n):
            X[i, 0, k] = A[i, k]
        for j in range(n):
            h[i, j] = cy.hypot(R[i, j, j], X[i, j, j])
            length = cy.where(h[i, j] > 0, h[i, j], 1)
            c[i, j] = cy.where(h[i, j] > 0, R[i, j, j] / length, 1)
            s[i, j] = X[i, j, j] / length
            for k in range(j, n):
                R[i + 1, j, k] = c[i, j] * R[i, j, k] + s[i, j] * X[i, j, k]
            for k in range(j + 1, n):
                X[i, j + 1, k] = c[i, j] * X[i, j, k] - s[i, j] * R[i, j, k]
    return R


@cy.kernel
def inverse(L):
    """The inverse of a lower triangle, by columns."""
    n = L.shape[0]
    X = cy.zeros_like(L)
    for j in range(n):
        X[j, j] = 1 / L[j, j]
        for i in range(j + 1, n):
            X[i, j] = -sum(L[i, k] * X[k, j] for k in range(j, i)) / L[i, i]
    return X


@cy.kernel
def inverse_tiles(L):
    """The same on tiles."""
    n = L.shape[0]
    X = cy.zeros_like(L)
    for j in range(n):
        X[j, j] = cy.linalg.inv_triangular(L[j, j])
        for i in range(j + 1, n):
            X[i, j] = -cy.linalg.solve_triangular(L[i, i], sum(L[i, k] @ X[k, j] for k in range(j, i)))
    return X


@cy.kernel
def backward_solve(U, B):
    """U X = B: the last row comes first."""
    X = cy.empty_like(B)
    n = B.shape[0]
    for i in range(n - 1, -1, -1):
        for r in range(B.shape[1]):
            rest = B[i, r] - sum(U[i, j] @ X[j, r] for j in range(i + 1, n))
            X[i, r] = cy.linalg.solve_triangular(U[i, i], rest, lower=False)
    return X


@cy.kernel
def backward_solve_vector(U, b):
    """U x = b."""
    x = cy.empty_like(b)
    n = b.shape[0]
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - sum(U[i, j] * x[j] for j in range(i + 1, n))) / U[i, i]
    return x


def lu_data(rng, n):
    return (unit_lower(rng, n) @ signed_upper(rng, n),)


def tiled_lu_data(rng, n, tile):
    return (cy.blocked(*lu_data(rng, n), (tile, tile)),)


def random_lu_data(rng, n, tile):
    return (cy.blocked(rng.standard_normal((n, n)) + n * np.eye(n), (tile, tile)),)


def ldl_data(rng, n):
    L = unit_lower(rng, n)
    return (L @ np.diag(rng.choice([1.0, -1.0, 2.0], n)) @ L.T,)


def upper_system(rng, n, m):
    U = signed_upper(rng, n)
    return U, U @ integers(rng, n, m)


def packed_factors(A):
    """By elimination on the whole matrix."""
    F = A.astype(float)
    for k in range(len(F)):
        F[k + 1 :, k] /= F[k, k]
        F[k + 1 :, k + 1 :] -= np.outer(F[k + 1 :, k], F[k, k + 1 :])
    return F


def factors(A):
    F = packed_factors(A)
    return np.tril(F, -1) + np.eye(len(F)), np.triu(F)


def ldl_factors(A):
    L, U = factors(A)
    return L, np.diag(U)


def rotated_rows(A):
    """R after each row, by rotations through the angles."""
    m, n = A.shape
    R = np.zeros((m + 1, n, n))
    for i in range(m):
        R[i + 1], x = R[i], A[i].copy()
        for j in range(n):
            angle = np.arctan2(x[j], R[i + 1, j, j])
            turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
            R[i + 1, j, j:], x[j:] = turn @ np.array([R[i + 1, j, j:], x[j:]])
    return np.triu(R)


GRID = {"grid": SPACE("i", "j"), "rows": SPACE("i"), "columns": SPACE("j")}

ENTRIES = {
    "lu": Entry(lu, lu_data, SQUARES, factors, {**GRID, "transposed": SPACE("j", "i")}),
    "lu-right-looking": Entry(
        lu_right_looking,
        lu_data,
        ((1,), (2,), (5,)),
        factors,
        {
            "grid": SPACE("i", "j"),
            "steps": SPACE("k"),
            "steps and rows": SPACE("k", "i"),
        },
    ),
    "lu-tiles": Entry(lu_tiles, tiled_lu_data, ((1, 2), (4, 2), (5, 2)), packed_factors, GRID),
    "lu-tiles-random": Entry(lu_tiles, random_lu_data, ((9, 4),), packed_factors, GRID, tolerance=30),
    "lu-tiles-by-steps": Entry(
        lu_tiles_by_steps,
        tiled_lu_data,
        ((1, 2), (4, 2), (5, 2)),
        packed_factors,
        {"rows": SPACE("i"), "steps": SPACE("k")},
    ),
    "ldl": Entry(ldl, ldl_data, SQUARES, ldl_factors, GRID),
    "givens": Entry(
        givens,
        lambda rng, m, n: (rng.standard_normal((m, n)),),
        ((1, 1), (2, 1), (2, 3), (5, 3)),
        rotated_rows,
        {"triangle": SPACE("j", "k"), "columns": SPACE("k"), "line": SPACE("j")},
        tolerance=30,
    ),
    "inverse": Entry(
        inverse,
        lambda rng, n: (unit_lower(rng, n),),
        SQUARES,
        np.linalg.inv,
        {**GRID, "reduction": SPACE("k")},
        tolerance=4,
    ),
    "inverse-tiles": Entry(
        inverse_tiles,
        lambda rng, n: (cy.blocked(unit_lower(rng, n), (2, 2)),),
        ((1,), (4,), (5,)),
        np.linalg.inv,
        GRID,
        tolerance=4,
    ),
    "backward-solve": Entry(
        backward_solve,
        upper_system,
        ((1, 1), (2, 3), (6, 1), (5, 4)),
        np.linalg.solve,
        {
            "rows": SPACE("i"),
            "grid": SPACE("i", "r"),
            "reduction": SPACE("j"),
        },
        tolerance=4,
    ),
    "backward-solve-tiles": Entry(
        backward_solve,
        lambda rng, n, m: tuple(cy.blocked(array, (2, 2)) for array in upper_system(rng, n, m)),
        ((1, 1), (5, 3)),
        np.linalg.solve,
        {"rows": SPACE("i"), "grid": SPACE("i", "r"), "right-hand sides": SPACE("r")},
        tolerance=4,
    ),
    "backward-solve-vector": Entry(
        backward_solve_vector,
        lambda rng, n: (lambda U: (U, U @ integers(rng, n)))(signed_upper(rng, n)),
        SQUARES,
        np.linalg.solve,
        {"rows": SPACE("i"), "reduction": SPACE("j")},
        tolerance=4,
    ),
}
