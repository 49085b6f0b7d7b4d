"""The kernels that every later stage relies on, traced and compared with their plain Python bodies."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import agree, record

import cyclotron as cy


def integers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(float)


def unit_lower(n: int, seed: int = 1) -> np.ndarray:
    return np.tril(integers(n, n, seed=seed), -1) + np.eye(n)


@cy.kernel
def matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def matmul_accumulated(A, B):
    (n, p), m = A.shape, B.shape[1]
    C = cy.zeros((n, m))
    for i in range(n):
        for j in range(m):
            for k in range(p):
                C[i, j] += A[i, k] @ B[k, j]
    return C


@cy.kernel
def matmul_k_outermost(A, B):
    C = cy.zeros((A.shape[0], B.shape[1]))
    for k in range(A.shape[1]):
        for i in range(A.shape[0]):
            for j in range(B.shape[1]):
                C[i, j] += A[i, k] @ B[k, j]
    return C


@cy.kernel
def matmul_local(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            total = 0.0
            for k in range(A.shape[1]):
                total += A[i, k] @ B[k, j]
            C[i, j] = total
    return C


@cy.kernel
def matmul_initialised(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = 0
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] @ B[k, j]
    return C


MATMULS = [matmul, matmul_accumulated, matmul_k_outermost, matmul_local, matmul_initialised]


@pytest.mark.parametrize("kernel", MATMULS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 1, 1), (3, 1, 2), (1, 4, 1)])
def test_matmul_scalar(kernel: cy.Kernel, shape: tuple[int, int, int]) -> None:
    """CY-001 CY-012 CY-015: scalar elements, square or not."""
    n, p, m = shape
    A, B = integers(n, p), integers(p, m, seed=1)
    system = agree(kernel, A, B)
    np.testing.assert_array_equal(kernel.reference(A, B), A @ B)
    assert system.ops() == {"multiply"}


@pytest.mark.parametrize("kernel", [matmul, matmul_accumulated, matmul_k_outermost], ids=lambda k: k.name)
@pytest.mark.parametrize("shape", [(4, 4, 4), (5, 3, 7), (2, 9, 2)])
def test_matmul_blocked(kernel: cy.Kernel, shape: tuple[int, int, int]) -> None:
    """CY-015: tiles, the last ones ragged; the result takes the tiles of its operands."""
    n, p, m = shape
    A, B = integers(n, p), integers(p, m, seed=1)
    system = agree(kernel, cy.blocked(A, (2, 3)), cy.blocked(B, (3, 4)))
    np.testing.assert_array_equal(kernel.reference(cy.blocked(A, (2, 3)), cy.blocked(B, (3, 4))), A @ B)
    assert system.ops() == {"matmul"}
    assert (system.named("C").shape, system.named("C").tile) == ([n, m], [2, 4])


@pytest.mark.parametrize("shape", [(0, 2, 2), (2, 0, 2), (2, 2, 0), (0, 0, 0)])
def test_matmul_empty(shape: tuple[int, int, int]) -> None:
    """A sum over nothing is zero, and an empty result has no elements."""
    n, p, m = shape
    for kernel in (matmul, matmul_accumulated):
        agree(kernel, np.zeros((n, p)), np.zeros((p, m)))


def test_matmul_recorded_form() -> None:
    """The equation names its loops in order, and the reduction its index."""
    system = record(matmul, cy.spec((2, 3)), cy.spec((3, 4)))
    (equation,) = system.equations
    assert equation.indices == ["i", "j"]
    kind, index, domain, _ = next(node[1:] for node in system.exprs if node[0] == "reduce")
    assert (kind, index) == ("sum", "k")
    assert domain == [[(([0, 0, 1], 0), ">="), (([0, 0, -1], 2), ">=")]]


def test_accumulation_is_the_reduction_it_spells() -> None:
    """`C[i, j] += ...` records what `C[i, j] = sum(...)` records."""
    arguments = (cy.spec((2, 3)), cy.spec((3, 4)))
    first, second = record(matmul, *arguments), record(matmul_accumulated, *arguments)
    assert first.exprs == second.exprs
    assert first.equations[0].domain == second.equations[0].domain


@cy.kernel
def solve_left(L, B):
    n, m = B.shape
    X = cy.empty_like(B)
    for i in range(n):
        for r in range(m):
            acc = sum(L[i, j] @ X[j, r] for j in range(i))
            X[i, r] = cy.linalg.solve_triangular(L[i, i], B[i, r] - acc)
    return X


@cy.kernel
def solve_left_imperative(L, B):
    n, m = B.shape
    X = cy.empty_like(B)
    for i in range(n):
        for r in range(m):
            X[i, r] = B[i, r]
            for j in range(i):
                X[i, r] -= L[i, j] @ X[j, r]
            X[i, r] = cy.linalg.solve_triangular(L[i, i], X[i, r])
    return X


@cy.kernel
def solve_left_local(L, B):
    n, m = B.shape
    X = cy.empty_like(B)
    for i in range(n):
        for r in range(m):
            rest = B[i, r]
            for j in range(i):
                rest -= L[i, j] @ X[j, r]
            X[i, r] = cy.linalg.solve_triangular(L[i, i], rest)
    return X


@cy.kernel
def solve_right(L, B):
    m, n = B.shape
    X = cy.empty_like(B)
    for r in range(m):
        for i in range(n):
            acc = B[r, i] - sum(X[r, j] @ L[i, j].T for j in range(i))
            X[r, i] = cy.linalg.solve_triangular(L[i, i], acc, side="right", trans=True)
    return X


@cy.kernel
def solve_vector(L, b):
    x = cy.empty_like(b)
    for i in range(b.shape[0]):
        x[i] = cy.linalg.solve_triangular(L[i, i], b[i] - sum(L[i, j] @ x[j] for j in range(i)))
    return x


@cy.kernel
def solve_division(L, B):
    n, m = B.shape
    X = cy.empty_like(B)
    for i in range(n):
        for r in range(m):
            X[i, r] = (B[i, r] - sum(L[i, j] * X[j, r] for j in range(i))) / L[i, i]
    return X


@cy.kernel
def solve_backward(U, b):
    n = b.shape[0]
    x = cy.empty_like(b)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - sum(U[i, j] * x[j] for j in range(i + 1, n))) / U[i, i]
    return x


LEFT = [solve_left, solve_left_imperative, solve_left_local]


@pytest.mark.parametrize("kernel", [*LEFT, solve_division], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("shape", [(4, 3), (1, 1), (3, 0), (0, 2)])
def test_solve_left_scalar(kernel: cy.Kernel, shape: tuple[int, int]) -> None:
    """CY-020: L X = B, as a recurrence and as the paper's loops."""
    L, X = unit_lower(shape[0]), integers(*shape)
    agree(kernel, L, L @ X)
    np.testing.assert_array_equal(kernel.reference(L, L @ X), X)


@pytest.mark.parametrize("kernel", LEFT, ids=lambda kernel: kernel.name)
def test_solve_left_blocked(kernel: cy.Kernel) -> None:
    """CY-019 CY-020: L X = B on tiles, ragged."""
    L, X = unit_lower(5), integers(5, 4)
    system = agree(kernel, cy.blocked(L, (2, 2)), cy.blocked(L @ X, (2, 3)))
    flags = next(node[3] for node in system.exprs if node[1] == "solve_triangular")
    assert flags == ["lower"]


def test_solve_right() -> None:
    """CY-016: X Lᵀ = B, the right-hand sides as rows."""
    L, X = unit_lower(5), integers(3, 5)
    agree(solve_right, L, X @ L.T)
    system = agree(solve_right, cy.blocked(L, (2, 2)), cy.blocked(X @ L.T, (2, 2)))
    flags = {node[1]: node[3] for node in system.exprs if node[0] == "apply"}
    assert flags["matmul"] == ["transpose_b"]
    assert flags["solve_triangular"] == ["lower", "transpose_a", "right_side"]
    assert "transpose" not in flags


def test_solve_vector() -> None:
    """CY-021: one right-hand side, scalars and vector tiles."""
    L, x = unit_lower(5), integers(5)
    agree(solve_vector, L, L @ x)
    agree(solve_vector, cy.blocked(L, (2, 2)), cy.blocked(L @ x, 2))


def test_solve_backward() -> None:
    """A loop that counts down gives the same domain as one that counts up."""
    U, x = unit_lower(4).T.copy(), integers(4)
    agree(solve_backward, U, U @ x)


@cy.kernel
def prefix_branches(A):
    P = cy.empty_like(A)
    for i in range(A.shape[0]):
        if i == 0:
            P[i] = A[i]
        else:
            P[i] = P[i - 1] + A[i]
    return P


@cy.kernel
def prefix_equations(A):
    P = cy.empty_like(A)
    if A.shape[0] > 0:
        P[0] = A[0]
    for i in range(1, A.shape[0]):
        P[i] = P[i - 1] + A[i]
    return P


@cy.kernel
def prefix_conditional(A):
    P = cy.empty_like(A)
    for i in range(len(A)):
        P[i] = A[i] if i == 0 else P[i - 1] + A[i]
    return P


@cy.kernel
def prefix_partly(A):
    P = cy.empty_like(A)
    for i in range(len(A)):
        P[i] = (P[i - 1] if i > 0 else 0) + A[i]
    return P


PREFIXES = [prefix_branches, prefix_equations, prefix_conditional, prefix_partly]


@pytest.mark.parametrize("kernel", PREFIXES, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("n", [0, 1, 5])
def test_prefix_sum(kernel: cy.Kernel, n: int) -> None:
    """CY-003 CY-004 CY-007 CY-017."""
    A = integers(n)
    agree(kernel, A)
    np.testing.assert_array_equal(kernel.reference(A), np.cumsum(A))


@cy.kernel
def cholesky_scalar(A):
    L = cy.zeros_like(A)
    for i in range(A.shape[0]):
        for j in range(i + 1):
            rest = A[i, j] - sum(L[i, k] * L[j, k] for k in range(j))
            if i == j:
                L[i, j] = cy.sqrt(rest)
            else:
                L[i, j] = rest / L[j, j]
    return L


@cy.kernel
def cholesky_tiles(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    for j in range(n):
        L[j, j] = cy.linalg.cholesky(A[j, j] - sum(L[j, k] @ L[j, k].T for k in range(j)))
        for i in range(j + 1, n):
            rest = A[i, j] - sum(L[i, k] @ L[j, k].T for k in range(j))
            L[i, j] = cy.linalg.solve_triangular(L[j, j], rest, side="right", trans=True)
    return L


@pytest.mark.parametrize("kernel", [cholesky_scalar, cholesky_tiles], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_cholesky_scalar(kernel: cy.Kernel, n: int) -> None:
    """CY-006 CY-018: two mutually dependent equations, and zeros above the diagonal."""
    G = unit_lower(n)
    system = agree(kernel, G @ G.T)
    np.testing.assert_array_equal(kernel.reference(G @ G.T), G)
    if n == 5:
        assert len(system.equations) == 3
        zero = system.equations[-1]
        assert zero.indices == ["i", "j"]
        assert len(zero.domain) == 1


@pytest.mark.parametrize("n", [1, 2, 4, 5])
def test_cholesky_tiles(n: int) -> None:
    """CY-022: SYRK and CHOL on the diagonal, GEMM and TRSM below it; L where the paper prints A (E9)."""
    G = unit_lower(n)
    system = agree(cholesky_tiles, cy.blocked(G @ G.T, (2, 2)))
    np.testing.assert_array_equal(cholesky_tiles.reference(cy.blocked(G @ G.T, (2, 2))), G)
    if n > 2:
        assert system.ops() == {"syrk", "cholesky", "matmul", "solve_triangular", "subtract"}
