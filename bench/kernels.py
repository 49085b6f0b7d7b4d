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


@cy.kernel
def lu(A):
    """L - I + U of A = L U, without exchanges of rows."""
    n = A.shape[0]
    R = cy.empty((n, n, n), tile=(1, n.tile, n.tile))
    F = cy.empty_like(A)
    for i in range(n):
        for j in range(n):
            R[0, i, j] = A[i, j]
            for k in range(1, min(i, j) + 1):
                R[k, i, j] = R[k - 1, i, j] - F[i, k - 1] @ F[k - 1, j]
            if i == j:
                F[i, j] = cy.linalg.lu(R[i, i, j])
            elif i > j:
                F[i, j] = cy.linalg.solve_triangular(F[j, j], R[j, i, j], side="right", lower=False)
            else:
                F[i, j] = cy.linalg.solve_triangular(F[i, i], R[i, i, j], unit_diagonal=True)
    return F


@cy.kernel
def syrk(A):
    """The lower triangle of A A.T."""
    n = A.shape[0]
    C = cy.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            C[i, j] = sum(A[i, k] @ A[j, k].T for k in range(A.shape[1]))
    return C


@cy.kernel
def attention(Q, K, V, scale):
    """FlashAttention-2: a running maximum m, denominator l and output o, rescaled as better maxima come."""
    n, t = Q.shape[0], K.shape[0]
    S, P = cy.empty((n, t), tile=(n.tile, t.tile)), cy.empty((n, t), tile=(n.tile, t.tile))
    m, l = (cy.empty((n, t), tile=(n.tile, 1)) for _ in range(2))
    o = cy.empty((n, t), tile=(n.tile, V.shape[1].tile))
    O = cy.empty_like(Q)
    for i in range(n):
        for j in range(t):
            S[i, j] = (Q[i, 0] @ K[j, 0].T) * scale
            m[i, j] = cy.row_max(S[i, j]) if j == 0 else cy.maximum(m[i, j - 1], cy.row_max(S[i, j]))
            P[i, j] = cy.exp(S[i, j] - m[i, j])
            if j == 0:
                l[i, j] = cy.row_sum(P[i, j])
                o[i, j] = P[i, j] @ V[j, 0]
            else:
                l[i, j] = cy.exp(m[i, j - 1] - m[i, j]) * l[i, j - 1] + cy.row_sum(P[i, j])
                o[i, j] = cy.exp(m[i, j - 1] - m[i, j]) * o[i, j - 1] + P[i, j] @ V[j, 0]
        O[i, 0] = o[i, t - 1] / l[i, t - 1]
    return O
