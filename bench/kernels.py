"""The kernels that the benchmarks run, on scalars or tiles."""

import cyclotron as cy


@cy.kernel
def matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def solve(L, B):
    X = cy.empty_like(B)
    for i in range(B.shape[0]):
        for r in range(B.shape[1]):
            X[i, r] = cy.linalg.solve_triangular(L[i, i], B[i, r] - sum(L[i, j] @ X[j, r] for j in range(i)))
    return X


@cy.kernel
def cholesky(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    for j in range(n):
        L[j, j] = cy.linalg.cholesky(A[j, j] - sum(L[j, k] @ L[j, k].T for k in range(j)))
        for i in range(j + 1, n):
            rest = A[i, j] - sum(L[i, k] @ L[j, k].T for k in range(j))
            L[i, j] = cy.linalg.solve_triangular(L[j, j], rest, side="right", trans=True)
    return L
