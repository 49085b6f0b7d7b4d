"""Kernels as a user types them on the first day: scalar recurrences and array programs, without schedules."""

import math

import cyclotron as cy

#: Each kernel with the shapes of its arguments, and its function, by name.
CASES = {}


def case_of(cases):
    """Return a decorator that adds kernels, with the shapes of their arguments."""

    def case(*shapes):
        def add(function):
            cases[function.__name__] = (cy.kernel(function), shapes, function)
            return function

        return add

    return case


case = case_of(CASES)


@case((8, 8), (8, 8))
def matmul(A, B):
    n, m = A.shape[0], B.shape[1]
    C = cy.zeros((n, m))
    for i in range(n):
        for j in range(m):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
    return C


@case((8, 8), (8, 8))
def matmul_np(A, B):
    return A @ B


@case((8, 8), (8, 8), (8, 8))
def two_matmuls(A, B, C):
    return (A @ B) @ C


@case((16, 16), (16,))
def matvec(A, x):
    y = cy.zeros(A.shape[0])
    for i in range(A.shape[0]):
        y[i] = sum(A[i, j] * x[j] for j in range(A.shape[1]))
    return y


@case((16, 16), (16,))
def matvec_np(A, x):
    return A @ x


@case((64,), (64,))
def dot(x, y):
    return sum(x[i] * y[i] for i in range(x.shape[0]))


@case((200,), (8,))
def fir(x, h):
    n, k = x.shape[0], h.shape[0]
    y = cy.empty(n - k + 1)
    for i in range(n - k + 1):
        y[i] = sum(h[j] * x[i + j] for j in range(k))
    return y


@case((8,), (8,))
def edit_distance(a, b):
    n, m = a.shape[0], b.shape[0]
    D = cy.empty((n + 1, m + 1))
    for i in range(n + 1):
        D[i, 0] = i
    for j in range(1, m + 1):
        D[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
    return D


@case((8,), (8,), (8,), (32, 8), (32, 8), (32,))
def lstm(x, h, c, W, U, b):
    n = h.shape[0]
    z = W @ x + U @ h + b
    i = 1 / (1 + cy.exp(-z[:n]))
    f = 1 / (1 + cy.exp(-z[n : 2 * n]))
    g = cy.tanh(z[2 * n : 3 * n])
    o = 1 / (1 + cy.exp(-z[3 * n :]))
    c2 = f * c + i * g
    return o * cy.tanh(c2), c2


@case((8, 4), (8, 4), (8, 4))
def attention(Q, K, V):
    S = Q @ K.T / math.sqrt(Q.shape[1])
    P = cy.exp(S - cy.max(S, axis=1, keepdims=True))
    return (P / cy.sum(P, axis=1, keepdims=True)) @ V


@case((2, 2, 4, 4), (2, 2, 4, 4), (2, 2, 4, 4))
def heads(Q, K, V):
    S = cy.einsum("bhid,bhjd->bhij", Q, K)
    P = cy.exp(S)
    P = P / cy.sum(P, axis=3, keepdims=True)
    return cy.einsum("bhij,bhjd->bhid", P, V)


@case((8, 8))
def softmax(x):
    e = cy.exp(x - cy.max(x, axis=1, keepdims=True))
    return e / cy.sum(e, axis=1, keepdims=True)


@case((8, 8))
def layer_norm(x):
    m = cy.mean(x, axis=1, keepdims=True)
    v = cy.mean((x - m) ** 2, axis=1, keepdims=True)
    return (x - m) / cy.sqrt(v + 1e-5)


@case((8, 8), (8, 8))
def quotient_totals(x, y):
    return x * (cy.sum(x * y) / cy.sum(y * y))


@case((8, 8))
def normalise(x):
    return x / cy.sum(x)


@case((10, 10))
def red_black(u):
    u = u.copy()
    for _t in range(3):
        for colour in range(2):
            for i in range(1, u.shape[0] - 1):
                for j in range(1, u.shape[1] - 1):
                    if (i + j) % 2 == colour:
                        u[i, j] = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) / 4
    return u


@case((8, 8), (8, 8))
def colour_mask(u, mask):
    for _t in range(3):
        for colour in range(2):
            new = (cy.roll(u, 1, 0) + cy.roll(u, -1, 0) + cy.roll(u, 1, 1) + cy.roll(u, -1, 1)) / 4
            u = cy.where(mask == colour, new, u)
    return u


@case((10, 10))
def jacobi(u):
    u = u.copy()
    for _t in range(5):
        new = u.copy()
        new[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        u = new
    return u


@case((34,))
def heat(u):
    u = u.copy()
    for _t in range(10):
        u[1:-1] = u[1:-1] + 0.1 * (u[:-2] - 2 * u[1:-1] + u[2:])
    return u


@case((16,), ())
def horner(c, x):
    y = 0.0
    for i in range(c.shape[0]):
        y = y * x + c[i]
    return y


@case((32,))
def prefix(x):
    y = cy.empty_like(x)
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] + x[i]
    return y


@case((8,))
def logistic(x):
    for _t in range(20):
        x = 3.7 * x * (1 - x)
    return x


@case((32,))
def serial_chain(r):
    x = cy.empty(33)
    x[0] = 0.5
    for t in range(32):
        x[t + 1] = r[t] * x[t] * (1 - x[t])
    return x


@case((16,))
def reversed_slices(x):
    for _t in range(4):
        x = x[::-1] * 0.5 + x
    return x


@case((8, 8))
def transposed(u):
    for _t in range(3):
        u = u.T + 1
    return u


@case((16,))
def strided(u):
    u = u.copy()
    for _t in range(3):
        u[::2] = u[::2] + u[1::2]
        u[1::2] = u[1::2] - u[::2]
    return u


@case((8, 8), (8, 8))
def symmetric(A, B):
    C = A @ B
    return C.T + C


@case((8, 8))
def floyd(D):
    n = D.shape[0]
    D = D.copy()
    for k in range(n):
        for i in range(n):
            for j in range(n):
                D[i, j] = min(D[i, j], D[i, k] + D[k, j])
    return D


@case((8, 8))
def cholesky(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    for j in range(n):
        L[j, j] = cy.sqrt(A[j, j] - sum(L[j, k] * L[j, k] for k in range(j)))
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - sum(L[i, k] * L[j, k] for k in range(j))) / L[j, j]
    return L


@case((8, 8), (8, 8))
def trsm(L, B):
    n, m = B.shape
    X = cy.empty_like(B)
    for i in range(n):
        for r in range(m):
            X[i, r] = (B[i, r] - sum(L[i, j] * X[j, r] for j in range(i))) / L[i, i]
    return X


@case((8, 8), (8,))
def trsv(L, b):
    n = b.shape[0]
    x = cy.empty_like(b)
    for i in range(n):
        x[i] = (b[i] - sum(L[i, j] * x[j] for j in range(i))) / L[i, i]
    return x


@case((10, 10), (3, 3))
def conv2d(x, w):
    n, m = x.shape[0] - 2, x.shape[1] - 2
    y = cy.empty((n, m))
    for i in range(n):
        for j in range(m):
            y[i, j] = sum(x[i + r, j + s] * w[r, s] for r in range(3) for s in range(3))
    return y


@case((2, 6, 6), (4, 2, 3, 3))
def conv_channels(x, w):
    y = cy.empty((w.shape[0], 4, 4))
    for o in range(w.shape[0]):
        for i in range(4):
            for j in range(4):
                y[o, i, j] = sum(
                    x[c, i + r, j + s] * w[o, c, r, s] for c in range(2) for r in range(3) for s in range(3)
                )
    return y


@case((8, 8), (8,))
def power_iteration(A, x):
    for _t in range(4):
        y = A @ x
        x = y / cy.sqrt(cy.sum(y * y))
    return x


@case((8, 8), (8,))
def cg(A, b):
    x = cy.zeros_like(b)
    r = b.copy()
    p = r.copy()
    rs = cy.sum(r * r)
    for _t in range(4):
        Ap = A @ p
        alpha = rs / cy.sum(p * Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        new = cy.sum(r * r)
        p = r + (new / rs) * p
        rs = new
    return x


@case((16, 3))
def nbody(x):
    n = x.shape[0]
    F = cy.zeros_like(x)
    for i in range(n):
        for j in range(n):
            for d in range(3):
                F[i, d] += x[j, d] - x[i, d]
    return F


@case((16, 2), (4, 2))
def kmeans_distances(x, c):
    return cy.sum((x[:, None, :] - c[None, :, :]) ** 2, axis=2)


@case((8, 8))
def column_means(x):
    return x - x.mean(axis=0)


@case((8, 8), (8,), (8, 8), (8,), (8,))
def mlp(W1, b1, W2, b2, x):
    h = cy.maximum(W1 @ x + b1, 0)
    return W2 @ h + b2


@case((16,), (16,))
def outer(x, y):
    return x[:, None] * y[None, :]


@case((8,), (8,), (8,), (8,))
def thomas(a, b, c, d):
    n = d.shape[0]
    cp = cy.empty(n)
    dp = cy.empty(n)
    x = cy.empty(n)
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for i in range(1, n):
        cp[i] = c[i] / (b[i] - a[i] * cp[i - 1])
        dp[i] = (d[i] - a[i] * dp[i - 1]) / (b[i] - a[i] * cp[i - 1])
    x[n - 1] = dp[n - 1]
    for i in range(1, n):
        x[n - 1 - i] = dp[n - 1 - i] - cp[n - 1 - i] * x[n - i]
    return x


@case((64,))
def variance(x):
    m = cy.mean(x)
    return cy.mean((x - m) ** 2)
