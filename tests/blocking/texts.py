"""Texts of linear algebra on scalars, with what NumPy says that each computes."""

import numpy as np

TEXTS = {
    "matmul": """
def kernel(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C
""",
    "matmul_transposed": """
def kernel(A, B):
    C = cy.zeros((A.shape[1], B.shape[0]))
    for k in range(A.shape[0]):
        for i in range(A.shape[1]):
            for j in range(B.shape[0]):
                C[i, j] += B[j, k] * A[k, i]
    return C
""",
    "gemm": """
def kernel(A, B, C):
    D = cy.empty_like(C)
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            s = 0.0
            for k in range(A.shape[1]):
                s += A[i, k] * B[k, j]
            D[i, j] = 0.5 * C[i, j] + 2.0 * s
    return D
""",
    "matvec": """
def kernel(A, x):
    y = cy.empty(A.shape[0])
    for i in range(A.shape[0]):
        y[i] = sum(A[i, k] * x[k] for k in range(A.shape[1]))
    return y
""",
    "trsm_lower": """
def kernel(L, B):
    X = cy.empty_like(B)
    for i in range(B.shape[0]):
        for r in range(B.shape[1]):
            X[i, r] = (B[i, r] - sum(L[i, j] * X[j, r] for j in range(i))) / L[i, i]
    return X
""",
    "trsm_upper": """
def kernel(L, B):
    n = B.shape[0]
    X = cy.empty_like(B)
    for i in range(n - 1, -1, -1):
        for r in range(B.shape[1]):
            X[i, r] = (B[i, r] - sum(L[i, j] * X[j, r] for j in range(i + 1, n))) / L[i, i]
    return X
""",
    "trsm_lower_transposed": """
def kernel(L, B):
    n = B.shape[0]
    X = B.copy()
    for i in range(n - 1, -1, -1):
        for r in range(B.shape[1]):
            for j in range(i + 1, n):
                X[i, r] -= L[j, i] * X[j, r]
            X[i, r] = X[i, r] / L[i, i]
    return X
""",
    "trsm_right": """
def kernel(L, B):
    n = L.shape[0]
    X = cy.empty_like(B)
    for j in range(n):
        for i in range(B.shape[0]):
            X[i, j] = (B[i, j] - sum(X[i, k] * L[j, k] for k in range(j))) / L[j, j]
    return X
""",
    "trsm_unit": """
def kernel(L, B):
    X = cy.empty_like(B)
    for i in range(B.shape[0]):
        for r in range(B.shape[1]):
            X[i, r] = B[i, r] - sum(L[i, j] * X[j, r] for j in range(i))
    return X
""",
    "trsm_right_looking": """
def kernel(L, B):
    n, m = B.shape
    X = B.copy()
    for j in range(n):
        for r in range(m):
            X[j, r] = X[j, r] / L[j, j]
            for i in range(j + 1, n):
                X[i, r] -= L[i, j] * X[j, r]
    return X
""",
    "cholesky": """
def kernel(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    for j in range(n):
        L[j, j] = cy.sqrt(A[j, j] - sum(L[j, k] * L[j, k] for k in range(j)))
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - sum(L[i, k] * L[j, k] for k in range(j))) / L[j, j]
    return L
""",
    "cholesky_right_looking": """
def kernel(A):
    n = A.shape[0]
    L = A.copy()
    for k in range(n):
        L[k, k] = cy.sqrt(L[k, k])
        for i in range(k + 1, n):
            L[i, k] = L[i, k] / L[k, k]
        for j in range(k + 1, n):
            for i in range(j, n):
                L[i, j] -= L[i, k] * L[j, k]
    for i in range(n):
        for j in range(i + 1, n):
            L[i, j] = 0.0
    return L
""",
    "cholesky_upper": """
def kernel(A):
    n = A.shape[0]
    U = cy.zeros_like(A)
    for j in range(n):
        U[j, j] = cy.sqrt(A[j, j] - sum(U[k, j] * U[k, j] for k in range(j)))
        for i in range(j + 1, n):
            U[j, i] = (A[j, i] - sum(U[k, i] * U[k, j] for k in range(j))) / U[j, j]
    return U
""",
    "lu_in_place": """
def kernel(A):
    n = A.shape[0]
    F = A.copy()
    for k in range(n):
        for i in range(k + 1, n):
            F[i, k] = F[i, k] / F[k, k]
            for j in range(k + 1, n):
                F[i, j] -= F[i, k] * F[k, j]
    return F
""",
    "lu": """
def kernel(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    U = cy.zeros_like(A)
    for i in range(n):
        for j in range(n):
            if i <= j:
                U[i, j] = A[i, j] - sum(L[i, k] * U[k, j] for k in range(i))
            else:
                L[i, j] = (A[i, j] - sum(L[i, k] * U[k, j] for k in range(j))) / U[j, j]
            if i == j:
                L[i, j] = 1.0
    return L, U
""",
    "ldl": """
def kernel(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    D = cy.empty(n)
    for j in range(n):
        D[j] = A[j, j] - sum(L[j, k] * L[j, k] * D[k] for k in range(j))
        L[j, j] = 1.0
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - sum(L[i, k] * L[j, k] * D[k] for k in range(j))) / D[j]
    return L, D
""",
    "syrk": """
def kernel(A):
    n = A.shape[0]
    C = cy.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            C[i, j] = sum(A[i, k] * A[j, k] for k in range(A.shape[1]))
    return C
""",
    "trmm": """
def kernel(L, B):
    C = cy.empty_like(B)
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(L[i, k] * B[k, j] for k in range(i + 1))
    return C
""",
    "trtri": """
def kernel(L):
    n = L.shape[0]
    X = cy.zeros_like(L)
    for j in range(n):
        X[j, j] = 1.0 / L[j, j]
        for i in range(j + 1, n):
            X[i, j] = -sum(L[i, k] * X[k, j] for k in range(j, i)) / L[i, i]
    return X
""",
}

# Other orders of the same. Matrices of 1 and 2 have numbers in place of some indices, which have no tiles.
VARIANTS = {
    "cholesky_from_the_diagonal_back": """
def kernel(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    for j in range(n):
        s = A[j, j]
        for k in range(j - 1, -1, -1):
            s -= L[j, k] * L[j, k]
        L[j, j] = cy.sqrt(s)
        for i in range(j + 1, n):
            L[i, j] = A[i, j]
            for k in range(j - 1, -1, -1):
                L[i, j] -= L[i, k] * L[j, k]
            L[i, j] /= L[j, j]
    return L
""",
    "cholesky_by_rows": """
def kernel(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    for i in range(n):
        for j in range(i):
            L[i, j] = (A[i, j] - sum(L[i, k] * L[j, k] for k in range(j))) / L[j, j]
        L[i, i] = cy.sqrt(A[i, i] - sum(L[i, k] * L[i, k] for k in range(i)))
    return L
""",
    "lu_right_looking": """
def kernel(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    U = cy.zeros_like(A)
    R = A.copy()
    for k in range(n):
        L[k, k] = 1.0
        for j in range(k, n):
            U[k, j] = R[k, j]
        for i in range(k + 1, n):
            L[i, k] = R[i, k] / U[k, k]
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                R[i, j] -= L[i, k] * U[k, j]
    return L, U
""",
    "lu_by_columns": """
def kernel(A):
    n = A.shape[0]
    F = A.copy()
    for j in range(n):
        for k in range(j):
            for i in range(k + 1, n):
                F[i, j] -= F[i, k] * F[k, j]
        for i in range(j + 1, n):
            F[i, j] /= F[j, j]
    return F
""",
    "ldl_right_looking": """
def kernel(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    D = cy.empty(n)
    R = A.copy()
    for j in range(n):
        D[j] = R[j, j]
        L[j, j] = 1.0
        for i in range(j + 1, n):
            L[i, j] = R[i, j] / D[j]
        for i in range(j + 1, n):
            for c in range(j + 1, i + 1):
                R[i, c] -= L[i, j] * D[j] * L[c, j]
    return L, D
""",
    "trtri_right_looking": """
def kernel(L):
    n = L.shape[0]
    X = cy.zeros_like(L)
    for j in range(n):
        X[j, j] = 1.0
    for k in range(n):
        for j in range(k + 1):
            X[k, j] /= L[k, k]
            for i in range(k + 1, n):
                X[i, j] -= L[i, k] * X[k, j]
    return X
""",
    "trtri_by_columns": """
def kernel(L):
    n = L.shape[0]
    X = cy.zeros_like(L)
    for i in range(n):
        X[i, i] = 1.0 / L[i, i]
        for j in range(i - 1, -1, -1):
            X[i, j] = -sum(X[i, k] * L[k, j] for k in range(j + 1, i + 1)) / L[j, j]
    return X
""",
}
ALL = {**TEXTS, **VARIANTS}


def arguments(name, n, m, seed=0):
    """Random arguments, and the result that NumPy has for them."""
    random = np.random.default_rng(seed)
    general, wide, tall = random.random((n, n)), random.random((n, m)), random.random((m, n))
    definite = general @ general.T + n * np.eye(n)
    matrix = general + n * np.eye(n)  # with what solvers must not read in the other triangle
    if name == "matmul":
        return (tall, wide), tall @ wide
    if name == "matmul_transposed":
        return (wide, tall), wide.T @ tall.T
    if name == "gemm":
        c = random.random((m, m))
        return (tall, wide, c), 0.5 * c + 2 * tall @ wide
    if name == "matvec":
        return (tall, general[0].copy()), tall @ general[0]
    if name in ("trsm_lower", "trsm_right_looking"):
        return (matrix, wide), np.linalg.solve(np.tril(matrix), wide)
    if name == "trsm_unit":
        small = matrix / n
        return (small, wide), np.linalg.solve(np.tril(small, -1) + np.eye(n), wide)
    if name == "trsm_upper":
        return (matrix, wide), np.linalg.solve(np.triu(matrix), wide)
    if name == "trsm_lower_transposed":
        return (matrix, wide), np.linalg.solve(np.tril(matrix).T, wide)
    if name == "trsm_right":
        return (matrix, tall), np.linalg.solve(np.tril(matrix), tall.T).T
    if name.startswith("cholesky"):
        factor = np.linalg.cholesky(definite)
        if name.endswith("upper"):
            return (np.triu(definite),), factor.T
        return (np.tril(definite),), factor
    if name in ("lu_in_place", "lu_by_columns"):
        packed = definite.copy()
        for k in range(n):
            packed[k + 1 :, k] /= packed[k, k]
            packed[k + 1 :, k + 1 :] -= np.outer(packed[k + 1 :, k], packed[k, k + 1 :])
        return (definite,), packed
    if name.startswith(("lu", "ldl")):
        (given,), packed = arguments("lu_in_place", n, m, seed)
        lower = np.tril(packed, -1) + np.eye(n)
        return (given,), (lower, np.triu(packed) if name.startswith("lu") else np.diagonal(packed))
    if name == "syrk":
        return (tall,), np.tril(tall @ tall.T)
    if name == "trmm":
        return (matrix, wide), np.tril(matrix) @ wide
    assert name.startswith("trtri")
    return (matrix,), np.linalg.inv(np.tril(matrix))
