"""The kernels of first light, as a user would write them."""

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
def solve_scalar(L, B):
    X = cy.empty_like(B)
    for i in range(B.shape[0]):
        for r in range(B.shape[1]):
            X[i, r] = (B[i, r] - sum(L[i, j] * X[j, r] for j in range(i))) / L[i, i]
    return X


@cy.kernel
def solve_right(L, B):
    X = cy.empty_like(B)
    for r in range(B.shape[0]):
        for i in range(B.shape[1]):
            rest = B[r, i] - sum(X[r, j] @ L[i, j].T for j in range(i))
            X[r, i] = cy.linalg.solve_triangular(L[i, i], rest, side="right", trans=True)
    return X


@cy.kernel
def solve_vector(L, b):
    x = cy.empty_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - sum(L[i, j] * x[j] for j in range(i))) / L[i, i]
    return x


@cy.kernel
def prefix_sum(A):
    P = cy.empty_like(A)
    for i in range(A.shape[0]):
        if i == 0:
            P[i] = A[i]
        else:
            P[i] = P[i - 1] + A[i]
    return P


@cy.kernel
def cholesky_scalar(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    for j in range(n):
        L[j, j] = cy.sqrt(A[j, j] - sum(L[j, k] * L[j, k] for k in range(j)))
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - sum(L[i, k] * L[j, k] for k in range(j))) / L[j, j]
    return L


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


@cy.kernel
def sums_of_all_before(B):
    n = B.shape[0] + 1
    X = cy.empty((n,))
    for i in range(n):
        if i >= 2:
            X[i] = max(X[k] for k in range(i)) + cy.maximum(X[i - 2], B[i - 1])
        else:
            X[i] = B[i]
    return X


@cy.kernel
def sums_in_the_border_columns(A, B):
    X = cy.empty(B.shape)
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            if j >= 1 and j + 1 < B.shape[1]:
                X[i, j] = B[i, j]
            else:
                X[i, j] = B[i, j] + sum(A[i, k] for k in range(A.shape[1]))
    return X
