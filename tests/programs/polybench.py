"""The kernels of PolyBench/C 4.2.1 but its stencils, as imperative loop nests written from their formulas.

Scalars that loops carry are arrays of one element. What PolyBench selects by data, `cy.maximum` selects here
(correlation's small deviations), or a table computed before (nussinov's pairs).
"""

import cyclotron as cy

ALPHA, BETA = 2, 3


@cy.kernel
def gemm(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] *= BETA
        for k in range(A.shape[1]):
            for j in range(C.shape[1]):
                C[i, j] += ALPHA * A[i, k] * B[k, j]
    return C


@cy.kernel
def two_mm(A, B, C, D):
    tmp = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            tmp[i, j] = 0
            for k in range(A.shape[1]):
                tmp[i, j] += ALPHA * A[i, k] * B[k, j]
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            D[i, j] *= BETA
            for k in range(B.shape[1]):
                D[i, j] += tmp[i, k] * C[k, j]
    return D


@cy.kernel
def three_mm(A, B, C, D):
    E = cy.empty((A.shape[0], B.shape[1]))
    F = cy.empty((C.shape[0], D.shape[1]))
    G = cy.empty((A.shape[0], D.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            E[i, j] = 0
            for k in range(A.shape[1]):
                E[i, j] += A[i, k] * B[k, j]
    for i in range(C.shape[0]):
        for j in range(D.shape[1]):
            F[i, j] = 0
            for k in range(C.shape[1]):
                F[i, j] += C[i, k] * D[k, j]
    for i in range(A.shape[0]):
        for j in range(D.shape[1]):
            G[i, j] = 0
            for k in range(B.shape[1]):
                G[i, j] += E[i, k] * F[k, j]
    return G


@cy.kernel
def atax(A, x):
    m, n = A.shape
    tmp = cy.empty(m)
    y = cy.empty(n)
    for i in range(n):
        y[i] = 0
    for i in range(m):
        tmp[i] = 0
        for j in range(n):
            tmp[i] += A[i, j] * x[j]
        for j in range(n):
            y[j] += A[i, j] * tmp[i]
    return y


@cy.kernel
def bicg(A, p, r):
    n, m = A.shape
    s = cy.empty(m)
    q = cy.empty(n)
    for i in range(m):
        s[i] = 0
    for i in range(n):
        q[i] = 0
        for j in range(m):
            s[j] += r[i] * A[i, j]
            q[i] += A[i, j] * p[j]
    return s, q


@cy.kernel
def mvt(x1, x2, y1, y2, A):
    n = A.shape[0]
    for i in range(n):
        for j in range(n):
            x1[i] += A[i, j] * y1[j]
    for i in range(n):
        for j in range(n):
            x2[i] += A[j, i] * y2[j]
    return x1, x2


@cy.kernel
def gemver(A, u1, v1, u2, v2, w, x, y, z):
    n = A.shape[0]
    for i in range(n):
        for j in range(n):
            A[i, j] += u1[i] * v1[j] + u2[i] * v2[j]
    for i in range(n):
        for j in range(n):
            x[i] += BETA * A[j, i] * y[j]
    for i in range(n):
        x[i] += z[i]
    for i in range(n):
        for j in range(n):
            w[i] += ALPHA * A[i, j] * x[j]
    return A, x, w


@cy.kernel
def gesummv(A, B, x):
    n = A.shape[0]
    tmp = cy.empty(n)
    y = cy.empty(n)
    for i in range(n):
        tmp[i] = 0
        y[i] = 0
        for j in range(n):
            tmp[i] += A[i, j] * x[j]
            y[i] += B[i, j] * x[j]
        y[i] = ALPHA * tmp[i] + BETA * y[i]
    return y


@cy.kernel
def symm(C, A, B):
    m, n = C.shape
    temp = cy.empty(1)
    for i in range(m):
        for j in range(n):
            temp[0] = 0
            for k in range(i):
                C[k, j] += ALPHA * B[i, j] * A[i, k]
                temp[0] += B[k, j] * A[i, k]
            C[i, j] = BETA * C[i, j] + ALPHA * B[i, j] * A[i, i] + ALPHA * temp[0]
    return C


@cy.kernel
def syrk(C, A):
    n, m = A.shape
    for i in range(n):
        for j in range(i + 1):
            C[i, j] *= BETA
        for k in range(m):
            for j in range(i + 1):
                C[i, j] += ALPHA * A[i, k] * A[j, k]
    return C


@cy.kernel
def syr2k(C, A, B):
    n, m = A.shape
    for i in range(n):
        for j in range(i + 1):
            C[i, j] *= BETA
        for k in range(m):
            for j in range(i + 1):
                C[i, j] += A[j, k] * ALPHA * B[i, k] + B[j, k] * ALPHA * A[i, k]
    return C


@cy.kernel
def trmm(A, B):
    m, n = B.shape
    for i in range(m):
        for j in range(n):
            for k in range(i + 1, m):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] = ALPHA * B[i, j]
    return B


@cy.kernel
def doitgen(A, C4):
    nr, nq, np = A.shape
    total = cy.empty(np)
    for r in range(nr):
        for q in range(nq):
            for p in range(np):
                total[p] = 0
                for s in range(np):
                    total[p] += A[r, q, s] * C4[s, p]
            for p in range(np):
                A[r, q, p] = total[p]
    return A


@cy.kernel
def cholesky(A):
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = cy.sqrt(A[i, i])
    return A


@cy.kernel
def lu(A):
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]
    return A


@cy.kernel
def ludcmp(A, b):
    n = A.shape[0]
    w = cy.empty(1)
    x = cy.empty(n)
    y = cy.empty(n)
    for i in range(n):
        for j in range(i):
            w[0] = A[i, j]
            for k in range(j):
                w[0] -= A[i, k] * A[k, j]
            A[i, j] = w[0] / A[j, j]
        for j in range(i, n):
            w[0] = A[i, j]
            for k in range(i):
                w[0] -= A[i, k] * A[k, j]
            A[i, j] = w[0]
    for i in range(n):
        w[0] = b[i]
        for j in range(i):
            w[0] -= A[i, j] * y[j]
        y[i] = w[0]
    for i in range(n - 1, -1, -1):
        w[0] = y[i]
        for j in range(i + 1, n):
            w[0] -= A[i, j] * x[j]
        x[i] = w[0] / A[i, i]
    return x


@cy.kernel
def trisolv(L, b):
    n = L.shape[0]
    x = cy.empty(n)
    for i in range(n):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]
    return x


@cy.kernel
def durbin(r):
    n = r.shape[0]
    y = cy.empty(n)
    z = cy.empty(n)
    alpha = cy.empty(1)
    beta = cy.empty(1)
    total = cy.empty(1)
    y[0] = -r[0]
    beta[0] = 1
    alpha[0] = -r[0]
    for k in range(1, n):
        beta[0] = (1 - alpha[0] * alpha[0]) * beta[0]
        total[0] = 0
        for i in range(k):
            total[0] += r[k - i - 1] * y[i]
        alpha[0] = -(r[k] + total[0]) / beta[0]
        for i in range(k):
            z[i] = y[i] + alpha[0] * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha[0]
    return y


@cy.kernel
def gramschmidt(A):
    m, n = A.shape
    norm = cy.empty(1)
    Q = cy.zeros((m, n))
    R = cy.zeros((n, n))
    for k in range(n):
        norm[0] = 0
        for i in range(m):
            norm[0] += A[i, k] * A[i, k]
        R[k, k] = cy.sqrt(norm[0])
        for i in range(m):
            Q[i, k] = A[i, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = 0
            for i in range(m):
                R[k, j] += Q[i, k] * A[i, j]
            for i in range(m):
                A[i, j] -= Q[i, k] * R[k, j]
    return R, Q


@cy.kernel
def correlation(data):
    n, m = data.shape
    mean = cy.empty(m)
    stddev = cy.empty(m)
    corr = cy.empty((m, m))
    for j in range(m):
        mean[j] = 0
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] /= n
    for j in range(m):
        stddev[j] = 0
        for i in range(n):
            stddev[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        stddev[j] /= n
        stddev[j] = cy.maximum(cy.sqrt(stddev[j]), 0.1)
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
            data[i, j] /= cy.sqrt(n) * stddev[j]
    for i in range(m - 1):
        corr[i, i] = 1
        for j in range(i + 1, m):
            corr[i, j] = 0
            for k in range(n):
                corr[i, j] += data[k, i] * data[k, j]
            corr[j, i] = corr[i, j]
    corr[m - 1, m - 1] = 1
    return corr


@cy.kernel
def covariance(data):
    n, m = data.shape
    mean = cy.empty(m)
    cov = cy.empty((m, m))
    for j in range(m):
        mean[j] = 0
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] /= n
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
    for i in range(m):
        for j in range(i, m):
            cov[i, j] = 0
            for k in range(n):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= n - 1
            cov[j, i] = cov[i, j]
    return cov


@cy.kernel
def floyd_warshall(path):
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                path[i, j] = cy.minimum(path[i, j], path[i, k] + path[k, j])
    return path


@cy.kernel
def nussinov(pairs):
    """`pairs[i, j]` is 1 where the bases i and j can pair, else 0."""
    n = pairs.shape[0]
    table = cy.zeros((n, n))
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = cy.maximum(table[i, j], table[i, j - 1])
            table[i, j] = cy.maximum(table[i, j], table[i + 1, j])
            if i < j - 1:
                table[i, j] = cy.maximum(table[i, j], table[i + 1, j - 1] + pairs[i, j])
            else:
                table[i, j] = cy.maximum(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = cy.maximum(table[i, j], table[i, k] + table[k + 1, j])
    return table
