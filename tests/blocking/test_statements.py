"""Tensors that are computed one after the other: factors that are solved with, on one PE and on several."""

import numpy as np
import pytest
from loading import kernel_of

import cyclotron as cy

CHOLESKY_SOLVE = """
def kernel(A, b):
    n = A.shape[0]
    L = cy.zeros_like(A)
    y = cy.empty(n)
    x = cy.empty(n)
    for j in range(n):
        L[j, j] = cy.sqrt(A[j, j] - sum(L[j, k] * L[j, k] for k in range(j)))
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - sum(L[i, k] * L[j, k] for k in range(j))) / L[j, j]
    for i in range(n):
        y[i] = (b[i] - sum(L[i, j] * y[j] for j in range(i))) / L[i, i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - sum(L[j, i] * x[j] for j in range(i + 1, n))) / L[i, i]
    return x
"""
LU_SOLVE = """
def kernel(A, B):
    n = A.shape[0]
    L = cy.zeros_like(A)
    U = cy.zeros_like(A)
    Y = cy.empty_like(B)
    X = cy.empty_like(B)
    for i in range(n):
        L[i, i] = 1.0
        for j in range(i, n):
            U[i, j] = A[i, j] - sum(L[i, k] * U[k, j] for k in range(i))
        for j in range(i + 1, n):
            L[j, i] = (A[j, i] - sum(L[j, k] * U[k, i] for k in range(i))) / U[i, i]
    for i in range(n):
        for r in range(B.shape[1]):
            Y[i, r] = B[i, r] - sum(L[i, j] * Y[j, r] for j in range(i))
    for i in range(n - 1, -1, -1):
        for r in range(B.shape[1]):
            X[i, r] = (Y[i, r] - sum(U[i, j] * X[j, r] for j in range(i + 1, n))) / U[i, i]
    return X
"""
LDL_SOLVE = """
def kernel(A, b):
    n = A.shape[0]
    L = cy.zeros_like(A)
    D = cy.empty(n)
    y = cy.empty(n)
    x = cy.empty(n)
    for j in range(n):
        D[j] = A[j, j] - sum(L[j, k] * L[j, k] * D[k] for k in range(j))
        L[j, j] = 1.0
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - sum(L[i, k] * L[j, k] * D[k] for k in range(j))) / D[j]
    for i in range(n):
        y[i] = b[i] - sum(L[i, j] * y[j] for j in range(i))
    for i in range(n - 1, -1, -1):
        x[i] = y[i] / D[i] - sum(L[j, i] * x[j] for j in range(i + 1, n))
    return x
"""
RIDGE = """
def kernel(X, y):
    n, d = X.shape
    G = cy.empty((d, d))
    L = cy.zeros((d, d))
    c = cy.empty(d)
    u = cy.empty(d)
    w = cy.empty(d)
    for i in range(d):
        c[i] = sum(X[k, i] * y[k] for k in range(n))
        for j in range(d):
            G[i, j] = sum(X[k, i] * X[k, j] for k in range(n))
        G[i, i] = G[i, i] + 0.5
    for j in range(d):
        L[j, j] = cy.sqrt(G[j, j] - sum(L[j, k] * L[j, k] for k in range(j)))
        for i in range(j + 1, d):
            L[i, j] = (G[i, j] - sum(L[i, k] * L[j, k] for k in range(j))) / L[j, j]
    for i in range(d):
        u[i] = (c[i] - sum(L[i, j] * u[j] for j in range(i))) / L[i, i]
    for i in range(d - 1, -1, -1):
        w[i] = (u[i] - sum(L[j, i] * w[j] for j in range(i + 1, d))) / L[i, i]
    return w
"""
CHOLESKY_SOLVE_IN_PLACE = """
def kernel(A, B):
    n = A.shape[0]
    L = A.copy()
    X = B.copy()
    for k in range(n):
        L[k, k] = cy.sqrt(L[k, k])
        for i in range(k + 1, n):
            L[i, k] /= L[k, k]
        for j in range(k + 1, n):
            for i in range(j, n):
                L[i, j] -= L[i, k] * L[j, k]
    for i in range(n):
        for r in range(X.shape[1]):
            for j in range(i):
                X[i, r] -= L[i, j] * X[j, r]
            X[i, r] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for r in range(X.shape[1]):
            for j in range(i + 1, n):
                X[i, r] -= L[j, i] * X[j, r]
            X[i, r] /= L[i, i]
    return X
"""
KALMAN = """
def kernel(P, H, V, x, z):
    n, m = P.shape[0], H.shape[0]
    T = cy.empty((n, m))
    S = cy.empty((m, m))
    L = cy.zeros((m, m))
    W = cy.empty((n, m))
    w = cy.empty(m)
    y = cy.empty(n)
    C = cy.empty((n, n))
    for i in range(n):
        for j in range(m):
            T[i, j] = sum(P[i, k] * H[j, k] for k in range(n))
    for i in range(m):
        for j in range(m):
            S[i, j] = sum(H[i, k] * T[k, j] for k in range(n)) + V[i, j]
    for j in range(m):
        L[j, j] = cy.sqrt(S[j, j] - sum(L[j, k] * L[j, k] for k in range(j)))
        for i in range(j + 1, m):
            L[i, j] = (S[i, j] - sum(L[i, k] * L[j, k] for k in range(j))) / L[j, j]
    for j in range(m):
        for i in range(n):
            W[i, j] = (T[i, j] - sum(W[i, k] * L[j, k] for k in range(j))) / L[j, j]
        r = z[j] - sum(H[j, k] * x[k] for k in range(n))
        w[j] = (r - sum(L[j, k] * w[k] for k in range(j))) / L[j, j]
    for i in range(n):
        y[i] = x[i] + sum(W[i, k] * w[k] for k in range(m))
        for j in range(n):
            C[i, j] = P[i, j] - sum(W[i, k] * W[j, k] for k in range(m))
    return y, C
"""
BATCHED_LDL = """
def kernel(A, B):
    b, n, _ = A.shape
    L = cy.zeros_like(A)
    D = cy.empty((b, n))
    Y = cy.empty_like(B)
    for s in range(b):
        for j in range(n):
            D[s, j] = A[s, j, j] - sum(L[s, j, k] * L[s, j, k] * D[s, k] for k in range(j))
            L[s, j, j] = 1.0
            for i in range(j + 1, n):
                L[s, i, j] = (A[s, i, j] - sum(L[s, i, k] * L[s, j, k] * D[s, k] for k in range(j))) / D[s, j]
    for s in range(b):
        for i in range(n):
            for r in range(B.shape[2]):
                Y[s, i, r] = B[s, i, r] - sum(L[s, i, j] * Y[s, j, r] for j in range(i))
    return L, D, Y
"""


def definite(n, seed=0):
    a = np.random.default_rng(seed).random((n, n))
    return a @ a.T + n * np.eye(n)


def kalman(p, h, v, x, z):
    gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + v)
    return x + gain @ (z - h @ x), p - gain @ h @ p


def batched_ldl(a, b):
    root = np.linalg.cholesky(a)
    diagonal = np.diagonal(root, axis1=1, axis2=2)
    lower = root / diagonal[:, None, :]
    return lower, diagonal**2, np.linalg.solve(lower, b)


def solved(a, b):
    return (np.linalg.solve(a, b),)


# The text, its arguments for n and m, NumPy's results, and the operators of its classes.
CASES = {
    "Cholesky and solve": (
        CHOLESKY_SOLVE,
        lambda n, m: (definite(n), np.arange(n) + 1.0),
        solved,
        ["L gemm trsm", "L syrk potrf", "x gemm trsm", "y gemm trsm"],
    ),
    "LU and solve": (
        LU_SOLVE,
        lambda n, m: (definite(n) + np.triu(np.ones((n, n))), np.ones((n, m))),
        solved,
        ["L gemm getrf", "L gemm trsm", "U gemm getrf", "U gemm trsm", "X gemm trsm", "Y gemm trsm"],
    ),
    "LDL and solve": (
        LDL_SOLVE,
        lambda n, m: (definite(n), np.arange(n) + 1.0),
        solved,
        ["D gemm sytrf row_sum", "L gemm sytrf", "L gemm trsm", "x gemm trsm", "y gemm trsm"],
    ),
    "Cholesky and solve in place": (
        CHOLESKY_SOLVE_IN_PLACE,
        lambda n, m: (definite(n), np.ones((n, m))),
        solved,
        ["L gemm trsm", "L syrk potrf", "X gemm trsm"],
    ),
    "ridge": (
        RIDGE,
        lambda n, m: (definite(n + m)[:, :m], np.arange(n + m) + 1.0),
        lambda x, y: (np.linalg.solve(x.T @ x + 0.5 * np.eye(x.shape[1]), x.T @ y),),
        ["L gemm syrk potrf", "L gemm trsm", "u gemm trsm", "w gemm trsm"],
    ),
    "Kalman": (
        KALMAN,
        lambda n, m: (
            definite(n),
            np.random.default_rng(1).random((m, n)),
            definite(m),
            np.ones(n),
            np.ones(m),
        ),
        kalman,
        None,
    ),
    "batched LDL": (
        BATCHED_LDL,
        lambda n, m: (np.stack([definite(n, s) for s in range(2)]), np.ones((2, n, m))),
        batched_ldl,
        ["D gemm sytrf column_sum", "L", "L gemm sytrf", "L gemm trsm", "Y gemm trsm"],
    ),
}
KERNELS = {name: kernel_of(case[0]) for name, case in CASES.items()}


@pytest.mark.parametrize("schedule", [cy.Schedule(), None], ids=["one PE", "default"])
@pytest.mark.parametrize("name", CASES)
def test_results_are_numpys(name, schedule):
    for n, m in ((1, 2), (7, 4), (8, 8)):
        given = CASES[name][1](n, m)
        expected = CASES[name][2](*given)
        for tile in (2, 3, 4, 64):
            results = cy.run(KERNELS[name].compile(*given, schedule=schedule, tile=tile)).outputs.values()
            for result, wanted in zip(results, expected, strict=True):
                np.testing.assert_allclose(result, wanted, 1e-8, 1e-10, err_msg=f"{n}, {m}, {tile}")


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[3] is not None])
def test_classes_have_their_operators(name):
    blocking = KERNELS[name].block(*CASES[name][1](24, 16), tile=4)
    assert sorted({" ".join((c.tensor, *c.operators)) for c in blocking.classes} - {"L", "U"}) == sorted(
        set(CASES[name][3]) - {"L", "U"}
    )


@pytest.mark.parametrize("name", ["Cholesky and solve", "batched LDL"])
def test_backends_agree_bit_for_bit(name):
    given = CASES[name][1](9, 4)
    program = KERNELS[name].compile(*given, tile=3)
    local = cy.run(program, backend="local").outputs
    for other in (cy.run(program, backend="sim"), cy.run(program, backend="mpi", ranks=2)):
        for key, value in local.items():
            np.testing.assert_array_equal(other.outputs[key], value)


def test_long_kernels_run_in_tiles_by_themselves():
    given = CASES["Cholesky and solve"][1](448, 1)
    result = cy.run(KERNELS["Cholesky and solve"], *given, backend="local", threads=1)
    assert result.program.blocking is not None
    np.testing.assert_allclose(result.output, np.linalg.solve(*given), rtol=1e-9)
