"""More kernels of a first day, which nobody looked at while the search for defaults was tuned."""

import math

import day_one

import cyclotron as cy

#: As those of `day_one`.
CASES = {}
case = day_one.case_of(CASES)


@case((8, 8), (8,))
def transposed_matvec(A, x):
    return A.T @ x


@case((8,), (8, 8), (8,))
def bilinear(x, A, y):
    return x @ A @ y


@case((8, 6))
def gram(A):
    return A.T @ A


@case((8, 5))
def covariance(X):
    centred = X - X.mean(axis=0)
    return centred.T @ centred / (X.shape[0] - 1)


@case((8, 3), (6, 3))
def pairwise_distances(x, y):
    return cy.sqrt(cy.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=2))


@case((8, 4), (6, 4))
def cosine_similarity(A, B):
    a = A / cy.sqrt(cy.sum(A * A, axis=1, keepdims=True))
    b = B / cy.sqrt(cy.sum(B * B, axis=1, keepdims=True))
    return a @ b.T


@case((8, 6))
def batch_norm(x):
    mean = x.mean(axis=0)
    variance = cy.mean((x - mean) ** 2, axis=0)
    return (x - mean) / cy.sqrt(variance + 1e-5)


@case((8, 8))
def rms_norm(x):
    return x / cy.sqrt(cy.mean(x * x, axis=1, keepdims=True) + 1e-6)


@case((4, 8), (8, 8), (8,), (8, 4))
def perceptron(X, W, b, V):
    h = X @ W + b
    return (0.5 * h * (1 + cy.tanh(0.8 * h))) @ V


@case((6,), (6,), (6, 6), (6, 6), (6, 6), (6, 6))
def gru(x, h, Wz, Uz, Wh, Uh):
    z = 1 / (1 + cy.exp(-(Wz @ x + Uz @ h)))
    new = cy.tanh(Wh @ x + Uh @ (z * h))
    return (1 - z) * h + z * new


@case((5, 6), (6, 6), (6, 6))
def recurrent(X, W, U):
    h = cy.zeros(W.shape[0])
    for t in range(X.shape[0]):
        h = cy.tanh(W @ h + U @ X[t])
    return h


@case((8, 8))
def life(cells):
    for _t in range(3):
        rows = cells + cy.roll(cells, 1, 0) + cy.roll(cells, -1, 0)
        around = rows + cy.roll(rows, 1, 1) + cy.roll(rows, -1, 1) - cells
        cells = cy.where((around == 3) | ((cells == 1) & (around == 2)), 1.0, 0.0)
    return cells


@case((10, 10), (10, 10))
def wave(u, before):
    for _t in range(4):
        after = 2 * u - before
        after[1:-1, 1:-1] += 0.1 * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        )
        before = u
        u = after
    return u


@case((10, 10))
def gauss_seidel(u):
    for _t in range(3):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) / 4
    return u


@case((8, 8))
def lu(A):
    n = A.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            A[i, k] = A[i, k] / A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    return A


@case((8, 8), (8,))
def back_substitution(U, b):
    n = b.shape[0]
    x = cy.empty_like(b)
    for i in range(n):
        x[n - 1 - i] = (b[n - 1 - i] - sum(U[n - 1 - i, j] * x[j] for j in range(n - i, n))) / U[
            n - 1 - i, n - 1 - i
        ]
    return x


@case((8,), (8,))
def common_subsequence(a, b):
    n, m = a.shape[0], b.shape[0]
    L = cy.zeros((n + 1, m + 1))
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if a[i - 1] == b[j - 1]:
                L[i, j] = L[i - 1, j - 1] + 1
            else:
                L[i, j] = max(L[i - 1, j], L[i, j - 1])
    return L


@case((8,), (6,))
def local_alignment(a, b):
    H = cy.zeros((a.shape[0] + 1, b.shape[0] + 1))
    for i in range(1, a.shape[0] + 1):
        for j in range(1, b.shape[0] + 1):
            match = 2.0 if a[i - 1] == b[j - 1] else -1.0
            H[i, j] = max(0.0, H[i - 1, j - 1] + match, H[i - 1, j] - 1, H[i, j - 1] - 1)
    return cy.max(H)


@case((6,), (6, 6), (5, 6))
def viterbi(start, moves, seen):
    v = start + seen[0]
    for t in range(1, seen.shape[0]):
        v = cy.max(v[:, None] + moves, axis=0) + seen[t]
    return cy.max(v)


@case((6,), (6, 6), (5, 6))
def hidden_markov(start, moves, seen):
    alpha = start * seen[0]
    for t in range(1, seen.shape[0]):
        alpha = (alpha @ moves) * seen[t]
    return cy.sum(alpha)


@case((8, 8))
def page_rank(P):
    n = P.shape[0]
    x = cy.full(n, 1 / n)
    for _t in range(5):
        x = 0.85 * (P @ x) + 0.15 / n
    return x


@case((6, 6))
def matrix_power(A):
    B = A @ A
    C = B @ B
    return C @ A


@case((8, 8))
def max_pool(x):
    return cy.maximum(cy.maximum(x[::2, ::2], x[1::2, ::2]), cy.maximum(x[::2, 1::2], x[1::2, 1::2]))


@case((10, 10))
def sobel(x):
    gx = x[:-2, 2:] + 2 * x[1:-1, 2:] + x[2:, 2:] - x[:-2, :-2] - 2 * x[1:-1, :-2] - x[2:, :-2]
    gy = x[2:, :-2] + 2 * x[2:, 1:-1] + x[2:, 2:] - x[:-2, :-2] - 2 * x[:-2, 1:-1] - x[:-2, 2:]
    return cy.sqrt(gx * gx + gy * gy)


@case((10, 10))
def blur(x):
    rows = (x[:-2] + 2 * x[1:-1] + x[2:]) / 4
    return (rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]) / 4


@case((8, 5), (8, 5))
def cross_entropy(z, y):
    z = z - cy.max(z, axis=1, keepdims=True)
    logs = z - cy.log(cy.sum(cy.exp(z), axis=1, keepdims=True))
    return -cy.mean(cy.sum(y * logs, axis=1))


@case((8, 5), (8,), (5,))
def logistic_regression(X, y, w):
    for _t in range(4):
        p = 1 / (1 + cy.exp(-(X @ w)))
        w = w - 0.1 * (X.T @ (p - y)) / X.shape[0]
    return w


@case((8,))
def vandermonde(x):
    n = x.shape[0]
    V = cy.empty((n, 4))
    for i in range(n):
        V[i, 0] = 1
        for j in range(1, 4):
            V[i, j] = V[i, j - 1] * x[i]
    return V


@case((32,))
def cumulative_maximum(x):
    y = cy.empty_like(x)
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = max(y[i - 1], x[i])
    return y


@case((8, 16))
def smoothing(x):
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        for t in range(x.shape[1]):
            if t == 0:
                y[i, t] = x[i, t]
            else:
                y[i, t] = 0.3 * x[i, t] + 0.7 * y[i, t - 1]
    return y


@case((33,), (33,))
def trapezoid(x, y):
    return cy.sum((x[1:] - x[:-1]) * (y[1:] + y[:-1])) / 2


@case((8, 8), (8,), (8,), (8,), (8,))
def rank_two_update(A, u, v, x, y):
    B = A + u[:, None] * v[None, :] + v[:, None] * u[None, :]
    return B @ x + y


@case((32,))
def burgers(u):
    for _t in range(6):
        u = u - 0.1 * u * (u - cy.roll(u, 1)) + 0.05 * (cy.roll(u, -1) - 2 * u + cy.roll(u, 1))
    return u


@case((8,), (8,))
def predator_prey(x, y):
    for _t in range(10):
        dx = 1.1 * x - 0.4 * x * y
        dy = 0.1 * x * y - 0.4 * y
        x, y = x + 0.01 * dx, y + 0.01 * dy
    return x, y


@case((4, 4), (4, 4), (4, 4))
def kalman_covariance(F, P, Q):
    for _t in range(3):
        P = F @ P @ F.T + Q
    return P


@case((8, 8), (8, 8))
def mandelbrot(x, y):
    a, b = cy.zeros_like(x), cy.zeros_like(y)
    count = cy.zeros_like(x)
    for _t in range(8):
        inside = a * a + b * b < 4
        count = count + cy.where(inside, 1.0, 0.0)
        a, b = cy.where(inside, a * a - b * b + x, a), cy.where(inside, 2 * a * b + y, b)
    return count


@case((6, 4), (6, 4), (6, 4))
def causal_attention(Q, K, V):
    n = Q.shape[0]
    S = cy.where(cy.tril(cy.ones((n, n))) > 0, Q @ K.T / math.sqrt(Q.shape[1]), -1e9)
    P = cy.exp(S - cy.max(S, axis=1, keepdims=True))
    return (P / cy.sum(P, axis=1, keepdims=True)) @ V


@case((4, 4, 4), (4, 3), (4, 3))
def tensor_times_factors(X, B, C):
    M = cy.zeros((X.shape[0], B.shape[1]))
    for i in range(X.shape[0]):
        for r in range(B.shape[1]):
            for j in range(X.shape[1]):
                for k in range(X.shape[2]):
                    M[i, r] += X[i, j, k] * B[j, r] * C[k, r]
    return M


@case((8, 6), (8, 8))
def symmetric_update(A, C):
    for i in range(A.shape[0]):
        for j in range(i + 1):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * A[j, k]
    return C


@case((16,), (16,))
def correlation(x, y):
    a, b = x - cy.mean(x), y - cy.mean(y)
    return cy.sum(a * b) / cy.sqrt(cy.sum(a * a) * cy.sum(b * b))


@case((10,))
def damped_string(u):
    v = cy.zeros_like(u)
    for _t in range(6):
        v[1:-1] += 0.2 * (u[:-2] - 2 * u[1:-1] + u[2:]) - 0.1 * v[1:-1]
        u = u + v
    return u


@case((8, 8), (8, 8))
def bicgstab(k, b):
    x, r, shadow = cy.zeros_like(b), b.copy(), b.copy()
    p, rho = b.copy(), cy.sum(b * b)
    for _t in range(3):
        v = k * p + cy.roll(p, 1, 0)
        alpha = rho / cy.sum(shadow * v)
        s = r - alpha * v
        q = k * s + cy.roll(s, 1, 0)
        omega = cy.sum(q * s) / cy.sum(q * q)
        x = x + alpha * p + omega * s
        r = s - omega * q
        new = cy.sum(shadow * r)
        p = r + new / rho * (alpha / omega) * (p - omega * v)
        rho = new
    return x


@case((8, 8), (8, 8))
def vorticity(w, psi):
    for _t in range(3):
        for _s in range(4):
            new = psi.copy()
            around = psi[:-2, 1:-1] + psi[2:, 1:-1] + psi[1:-1, :-2] + psi[1:-1, 2:]
            new[1:-1, 1:-1] = (around + 0.01 * w[1:-1, 1:-1]) / 4
            psi = new
        u, v = psi[1:-1, 2:] - psi[1:-1, :-2], psi[:-2, 1:-1] - psi[2:, 1:-1]
        along, across = w[2:, 1:-1] - w[:-2, 1:-1], w[1:-1, 2:] - w[1:-1, :-2]
        w[1:-1, 1:-1] -= 0.1 * (u * along + v * across)
    return w


@case((6,), (8,), (8,))
def maxwell(src, sx, sy):
    n, m = len(sx), len(sy)
    Ez, Hx, Hy = cy.zeros((n, m)), cy.zeros((n, m - 1)), cy.zeros((n - 1, m))
    for t in range(len(src)):
        Hx -= 0.5 * (Ez[:, 1:] - Ez[:, :-1])
        Hy += 0.5 * (Ez[1:] - Ez[:-1])
        inside = Ez[1:-1, 1:-1] + 0.5 * (Hy[1:, 1:-1] - Hy[:-1, 1:-1] - Hx[1:-1, 1:] + Hx[1:-1, :-1])
        Ez[1:-1, 1:-1] = inside / (1 + sx[1:-1, None] + sy[1:-1])
        Ez[3, 4] += src[t]
    return Ez


@case((5, 2), (4,), (4, 4), (4, 4))
def kalman_gain(z, x, P, F):
    for t in range(z.shape[0]):
        x, P = F @ x, F @ P @ F.T
        S = P[0, 0] + 0.1
        gain = P[:, 0] / S
        x = x + gain * (z[t, 0] - x[0])
        P = P - gain[:, None] * P[0]
    return x


@case((16, 2), (3, 2))
def kmeans_step(X, centres):
    labels = cy.argmin(cy.sum((X[:, None, :] - centres) ** 2, axis=2), axis=1)
    member = (labels[:, None] == cy.arange(3)).astype(float)
    return (member.T @ X) / cy.sum(member, axis=0)[:, None]
