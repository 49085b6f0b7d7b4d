"""Kernels that are mapped, with the extents of their indices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import cyclotron as cy


@cy.kernel
def matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def conv2d(image, weights):
    rows, columns = image.shape[0] - weights.shape[0] + 1, image.shape[1] - weights.shape[1] + 1
    out = cy.empty((rows, columns))
    for x in range(rows):
        for y in range(columns):
            out[x, y] = sum(
                image[x + r, y + s] * weights[r, s]
                for r in range(weights.shape[0])
                for s in range(weights.shape[1])
            )
    return out


@cy.kernel
def trsm(L, B):
    n, m = B.shape
    X = cy.empty_like(B)
    for i in range(n):
        for r in range(m):
            X[i, r] = (B[i, r] - sum(L[i, j] * X[j, r] for j in range(i))) / L[i, i]
    return X


@cy.kernel
def cholesky(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    for j in range(n):
        for i in range(j, n):
            if i == j:
                L[i, j] = cy.sqrt(A[i, j] - sum(L[i, k] * L[j, k] for k in range(j)))
            else:
                L[i, j] = (A[i, j] - sum(L[i, k] * L[j, k] for k in range(j))) / L[j, j]
    return L


@cy.kernel
def mttkrp(X, B, C):
    M = cy.empty((X.shape[0], B.shape[1]))
    for i in range(X.shape[0]):
        for r in range(B.shape[1]):
            M[i, r] = sum(
                X[i, j, k] * B[j, r] * C[k, r] for j in range(X.shape[1]) for k in range(X.shape[2])
            )
    return M


@cy.kernel
def attention(Q, K, V):
    n, m = Q.shape[0], K.shape[0]
    S, P, most, total = cy.empty((n, m)), cy.empty((n, m)), cy.empty((n,)), cy.empty((n,))
    out = cy.empty((n, V.shape[1]))
    for i in range(n):
        for j in range(m):
            S[i, j] = sum(Q[i, e] * K[j, e] for e in range(Q.shape[1]))
    for i in range(n):
        most[i] = max(S[i, j] for j in range(m))
    for i in range(n):
        for j in range(m):
            P[i, j] = cy.exp(S[i, j] - most[i])
    for i in range(n):
        total[i] = sum(P[i, j] for j in range(m))
    for i in range(n):
        for f in range(V.shape[1]):
            out[i, f] = sum(P[i, j] * V[j, f] for j in range(m)) / total[i]
    return out


@cy.kernel
def jacobi(u, steps: int):
    n = u.shape[0]
    x = cy.empty((steps + 1, n))
    for i in range(n):
        x[0, i] = u[i]
    for t in range(1, steps + 1):
        for i in range(n):
            if i > 0 and i < n - 1:
                x[t, i] = (x[t - 1, i - 1] + x[t - 1, i] + x[t - 1, i + 1]) / 3.0
            else:
                x[t, i] = x[t - 1, i]
    return x


class Case(NamedTuple):
    kernel: Any
    args: tuple[Any, ...]
    extents: dict[str, int]
    tensors: tuple[str, ...]


def gemm(m: int, n: int, k: int) -> Case:
    args = np.ones((m, k)), np.ones((k, n))
    return Case(matmul, args, {"i": m, "j": n, "k": k}, ("A", "B"))


def tiled(m: int, n: int, k: int, tile: int) -> Case:
    args = tuple(cy.blocked(np.ones(shape), (tile, tile)) for shape in ((m, k), (k, n)))
    extents = {name: -(-size // tile) for name, size in (("i", m), ("j", n), ("k", k))}
    return Case(blocked_matmul, args, extents, ("A", "B"))


@cy.kernel
def blocked_matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


def convolution(rows: int, columns: int, r: int, s: int) -> Case:
    args = np.ones((rows + r - 1, columns + s - 1)), np.ones((r, s))
    return Case(conv2d, args, {"x": rows, "y": columns, "r": r, "s": s}, ("image", "weights"))


def solve(n: int, m: int) -> Case:
    return Case(trsm, (np.ones((n, n)), np.ones((n, m))), {"i": n, "r": m, "j": n}, ("L", "B"))


def factor(n: int) -> Case:
    return Case(cholesky, (np.ones((n, n)),), {"j": n, "i": n, "k": n}, ("A",))


def krp(i: int, j: int, k: int, r: int) -> Case:
    args = np.ones((i, j, k)), np.ones((j, r)), np.ones((k, r))
    return Case(mttkrp, args, {"i": i, "r": r, "j": j, "k": k}, ("X", "B", "C"))


def attend(n: int, m: int, e: int, f: int) -> Case:
    args = np.ones((n, e)), np.ones((m, e)), np.ones((m, f))
    return Case(attention, args, {"i": n, "j": m, "e": e, "f": f}, ("Q", "K", "V"))
