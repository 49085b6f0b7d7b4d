"""The kernels of `cyclotron.linalg`, for matrices in tiles."""

import cyclotron.language as cy


@cy.kernel
def matmul(A, B):  # type: ignore[no-untyped-def]
    """A B."""
    C = cy.empty((A.shape[0], B.shape[1]), dtype=A.dtype)
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def solve_lower(A, B, unit):  # type: ignore[no-untyped-def]
    """The X of A X = B, A lower triangular."""
    X = cy.empty_like(B)
    for i in range(A.shape[0]):
        for r in range(B.shape[1]):
            rest = B[i, r] - sum(A[i, j] @ X[j, r] for j in range(i))
            X[i, r] = cy.linalg.solve_triangular(A[i, i], rest, unit_diagonal=unit)
    return X


@cy.kernel
def solve_upper(A, B, unit):  # type: ignore[no-untyped-def]
    """The X of A X = B, A upper triangular."""
    n = A.shape[0]
    X = cy.empty_like(B)
    for i in range(n - 1, -1, -1):
        for r in range(B.shape[1]):
            rest = B[i, r] - sum(A[i, j] @ X[j, r] for j in range(n - 1, i, -1))
            X[i, r] = cy.linalg.solve_triangular(A[i, i], rest, lower=False, unit_diagonal=unit)
    return X


@cy.kernel
def solve_upper_transposed(A, B, unit):  # type: ignore[no-untyped-def]
    """The X of A.T X = B, A upper triangular."""
    X = cy.empty_like(B)
    for i in range(A.shape[0]):
        for r in range(B.shape[1]):
            rest = B[i, r] - sum(A[j, i].T @ X[j, r] for j in range(i))
            X[i, r] = cy.linalg.solve_triangular(A[i, i], rest, lower=False, trans=True, unit_diagonal=unit)
    return X


@cy.kernel
def solve_lower_transposed(A, B, unit):  # type: ignore[no-untyped-def]
    """The X of A.T X = B, A lower triangular."""
    n = A.shape[0]
    X = cy.empty_like(B)
    for i in range(n - 1, -1, -1):
        for r in range(B.shape[1]):
            rest = B[i, r] - sum(A[j, i].T @ X[j, r] for j in range(n - 1, i, -1))
            X[i, r] = cy.linalg.solve_triangular(A[i, i], rest, trans=True, unit_diagonal=unit)
    return X


@cy.kernel
def cholesky(A):  # type: ignore[no-untyped-def]
    """The lower L of A = L L.T, A symmetric and positive definite."""
    n = A.shape[0]
    L = cy.zeros_like(A)
    for j in range(n):
        L[j, j] = cy.linalg.cholesky(A[j, j] - sum(L[j, k] @ L[j, k].T for k in range(j)))
        for i in range(j + 1, n):
            rest = A[i, j] - sum(L[i, k] @ L[j, k].T for k in range(j))
            L[i, j] = cy.linalg.solve_triangular(L[j, j], rest, side="right", trans=True)
    return L


@cy.kernel
def cholesky_hermitian(A):  # type: ignore[no-untyped-def]
    """The lower L of A = L L^H, A Hermitian and positive definite."""
    n = A.shape[0]
    L = cy.zeros_like(A)
    for j in range(n):
        L[j, j] = cy.linalg.cholesky(A[j, j] - sum(L[j, k] @ cy.conj(L[j, k]).T for k in range(j)))
        for i in range(j + 1, n):
            rest = A[i, j] - sum(L[i, k] @ cy.conj(L[j, k]).T for k in range(j))
            L[i, j] = cy.linalg.solve_triangular(cy.conj(L[j, j]), rest, side="right", trans=True)
    return L
