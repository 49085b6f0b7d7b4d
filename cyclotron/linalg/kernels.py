"""The kernels of `cyclotron.linalg`, for matrices in tiles.

Solvers and factorisations are written as LAPACK does them: what is left of an element, R, is reduced by one
product after the other, so that each is an update in place.
"""

from collections.abc import Callable
from typing import Any

import cyclotron.language as cy
from cyclotron.kernel import Kernel, kernel


@kernel
def matmul(A, B):  # type: ignore[no-untyped-def]
    """A B."""
    C = cy.empty((A.shape[0], B.shape[1]), dtype=A.dtype)
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


@kernel
def solve_lower(A, B, unit):  # type: ignore[no-untyped-def]
    """The X of A X = B, A lower triangular."""
    n, m = B.shape
    R = cy.empty((n, n, m), dtype=B.dtype, tile=(1, n.tile, m.tile))
    X = cy.empty_like(B)
    for i in range(n):
        for r in range(m):
            R[0, i, r] = B[i, r]
            for j in range(1, i + 1):
                R[j, i, r] = R[j - 1, i, r] - A[i, j - 1] @ X[j - 1, r]
            X[i, r] = cy.linalg.solve_triangular(A[i, i], R[i, i, r], unit_diagonal=unit)
    return X


@kernel
def solve_upper(A, B, unit):  # type: ignore[no-untyped-def]
    """The X of A X = B, A upper triangular."""
    n, m = B.shape
    R = cy.empty((n, n, m), dtype=B.dtype, tile=(1, n.tile, m.tile))
    X = cy.empty_like(B)
    for i in range(n - 1, -1, -1):
        for r in range(m):
            R[0, i, r] = B[i, r]
            for j in range(1, n - i):
                R[j, i, r] = R[j - 1, i, r] - A[i, n - j] @ X[n - j, r]
            X[i, r] = cy.linalg.solve_triangular(A[i, i], R[n - 1 - i, i, r], lower=False, unit_diagonal=unit)
    return X


def _transposed(conj: Callable[[Any], Any]) -> tuple[Kernel[..., Any], Kernel[..., Any]]:
    """The kernels of an upper and of a lower matrix, transposed, of whose elements `conj` is taken."""

    @kernel
    def solve_upper_transposed(A, B, unit):  # type: ignore[no-untyped-def]
        """The X of A.T X = B, or A^H X = B, A upper triangular."""
        n, m = B.shape
        R = cy.empty((n, n, m), dtype=B.dtype, tile=(1, n.tile, m.tile))
        X = cy.empty_like(B)
        for i in range(n):
            for r in range(m):
                R[0, i, r] = B[i, r]
                for j in range(1, i + 1):
                    R[j, i, r] = R[j - 1, i, r] - conj(A[j - 1, i]).T @ X[j - 1, r]
                X[i, r] = cy.linalg.solve_triangular(
                    conj(A[i, i]), R[i, i, r], lower=False, trans=True, unit_diagonal=unit
                )
        return X

    @kernel
    def solve_lower_transposed(A, B, unit):  # type: ignore[no-untyped-def]
        """The X of A.T X = B, or A^H X = B, A lower triangular."""
        n, m = B.shape
        R = cy.empty((n, n, m), dtype=B.dtype, tile=(1, n.tile, m.tile))
        X = cy.empty_like(B)
        for i in range(n - 1, -1, -1):
            for r in range(m):
                R[0, i, r] = B[i, r]
                for j in range(1, n - i):
                    R[j, i, r] = R[j - 1, i, r] - conj(A[n - j, i]).T @ X[n - j, r]
                X[i, r] = cy.linalg.solve_triangular(
                    conj(A[i, i]), R[n - 1 - i, i, r], trans=True, unit_diagonal=unit
                )
        return X

    return solve_upper_transposed, solve_lower_transposed


solve_upper_transposed, solve_lower_transposed = _transposed(lambda tile: tile)
solve_upper_adjoint, solve_lower_adjoint = _transposed(cy.conj)


@kernel
def syrk(A):  # type: ignore[no-untyped-def]
    """A A.T, of which the lower triangle is computed and the upper one copied."""
    n = A.shape[0]
    C = cy.empty((n, n), dtype=A.dtype, tile=(n.tile, n.tile))
    for i in range(n):
        for j in range(i + 1):
            C[i, j] = sum(A[i, k] @ A[j, k].T for k in range(A.shape[1]))
        for j in range(i + 1, n):
            C[i, j] = C[j, i].T
    return C


def _cholesky(conj: Callable[[Any], Any]) -> Kernel[..., Any]:
    """The kernel of matrices that are symmetric, or Hermitian, where `conj` is taken of elements."""

    @kernel
    def cholesky(A):  # type: ignore[no-untyped-def]
        """The lower L of A = L L.T, or L L^H, A positive definite."""
        n = A.shape[0]
        R = cy.empty((n, n, n), dtype=A.dtype, tile=(1, n.tile, n.tile))
        L = cy.zeros_like(A)
        for j in range(n):
            for i in range(j, n):
                R[0, i, j] = A[i, j]
                for k in range(1, j + 1):
                    if i == j:
                        R[k, i, j] = R[k - 1, i, j] - L[i, k - 1] @ conj(L[i, k - 1]).T
                    else:
                        R[k, i, j] = R[k - 1, i, j] - L[i, k - 1] @ conj(L[j, k - 1]).T
            L[j, j] = cy.linalg.cholesky(R[j, j, j])
            for i in range(j + 1, n):
                L[i, j] = cy.linalg.solve_triangular(conj(L[j, j]), R[j, i, j], side="right", trans=True)
        return L

    return cholesky


cholesky, cholesky_hermitian = _cholesky(lambda tile: tile), _cholesky(cy.conj)
