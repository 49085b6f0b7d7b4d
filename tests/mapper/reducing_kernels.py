"""Kernels whose reductions promise no order, and some whose sums do, with small whole numbers."""

from __future__ import annotations

import numpy as np

import cyclotron as cy


@cy.kernel
def dot(x, y):
    return cy.sum(x * y)


@cy.kernel
def total(x):
    return x.sum()


@cy.kernel
def length(x):
    return cy.sqrt(cy.sum(x * x))


@cy.kernel
def product(A, B):
    return A @ B


@cy.kernel
def column_sums(A):
    return A.sum(axis=0)


@cy.kernel
def row_maxima(A):
    return A.max(axis=1)


@cy.kernel
def softmax(x):
    e = cy.exp(x - x.max())
    return e / e.sum()


@cy.kernel
def softmax_of_rows(A):
    e = cy.exp(A - A.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@cy.kernel
def layer_norm(A):
    centred = A - A.mean(axis=1, keepdims=True)
    return centred / cy.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1.0)


@cy.kernel
def attention(Q, K, V):
    scores = Q @ K.T
    e = cy.exp(scores - scores.max(axis=1, keepdims=True))
    return (e @ V) / e.sum(axis=1, keepdims=True)


@cy.kernel
def gram(A):
    return A.T @ A


@cy.kernel
def solve_back(U, b):
    x = cy.empty_like(b)
    for i in range(b.shape[0] - 1, -1, -1):
        x[i] = (b[i] - U[i, i + 1 :] @ x[i + 1 :]) / U[i, i]
    return x


@cy.kernel
def solve_rows_back(U, B):
    n, m = B.shape
    X = cy.empty_like(B)
    for i in range(n - 1, -1, -1):
        for r in range(m):
            X[i, r] = (B[i, r] - sum(U[i, j] * X[j, r] for j in range(i + 1, n))) / U[i, i]
    return X


@cy.kernel
def dot_of_terms(x, y):
    out = cy.empty((1,))
    for i in range(1):
        out[i] = sum(x[k] * y[k] for k in range(x.shape[0]))
    return out


@cy.kernel
def filtered(x, h):
    y = cy.empty((x.shape[0] - h.shape[0] + 1,))
    for i in range(y.shape[0]):
        y[i] = sum(x[i + k] * h[k] for k in range(h.shape[0]))
    return y


@cy.kernel
def filtered_channels(x, w):
    outputs, inputs, taps = w.shape
    y = cy.empty((outputs, x.shape[1] - taps + 1))
    for o in range(outputs):
        for i in range(y.shape[1]):
            y[o, i] = sum(w[o, c, k] * x[c, i + k] for c in range(inputs) for k in range(taps))
    return y


@cy.kernel
def prefix(x):
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] if i == 0 else y[i - 1] + x[i]
    return y


@cy.kernel
def prefix_of_sums(x):
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = sum(x[j] for j in range(i + 1))
    return y


@cy.kernel
def decompose(A):
    n = A.shape[0]
    L, U = cy.zeros_like(A), cy.zeros_like(A)
    for i in range(n):
        for j in range(n):
            if i <= j:
                U[i, j] = A[i, j] - sum(L[i, k] * U[k, j] for k in range(i))
            else:
                L[i, j] = (A[i, j] - sum(L[i, k] * U[k, j] for k in range(j))) / U[j, j]
    return L, U


@cy.kernel
def relax(u, steps: int):
    n = u.shape[0]
    x = cy.empty((steps + 1, n, n))
    for i in range(n):
        for j in range(n):
            x[0, i, j] = u[i, j]
    for t in range(1, steps + 1):
        for i in range(n):
            for j in range(n):
                if i > 0 and i < n - 1 and j > 0 and j < n - 1:
                    x[t, i, j] = x[t - 1, i - 1, j] + x[t - 1, i + 1, j] - x[t - 1, i, j - 1]
                else:
                    x[t, i, j] = x[t - 1, i, j]
    return x


@cy.kernel
def align(M):
    n, m = M.shape
    H = cy.empty((n, m))
    for i in range(n):
        for j in range(m):
            if i == 0 or j == 0:
                H[i, j] = M[i, j]
            else:
                H[i, j] = max(H[i - 1, j - 1] + M[i, j], H[i - 1, j] - 1.0, H[i, j - 1] - 1.0)
    return H


@cy.kernel
def polynomial(x, c):
    p = cy.empty((c.shape[0], x.shape[0]))
    for k in range(c.shape[0]):
        for i in range(x.shape[0]):
            p[k, i] = c[k] if k == 0 else p[k - 1, i] * x[i] + c[k]
    return p


@cy.kernel
def distances(x):
    f = cy.empty_like(x)
    for i in range(x.shape[0]):
        f[i] = sum((x[j] - x[i]) * (x[j] - x[i]) for j in range(x.shape[0]))
    return f


def some(*shape: int) -> np.ndarray:
    """Small whole numbers."""
    return np.random.default_rng(list(shape)).integers(1, 4, shape).astype(float)


def triangle(n: int) -> np.ndarray:
    """Of an equation whose solution is one of quarters."""
    return np.triu(some(n, n), 1) + 4 * np.eye(n)
