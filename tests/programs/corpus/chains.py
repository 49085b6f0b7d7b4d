"""Chains of products, and products of polynomials and bands."""

import numpy as np

import cyclotron as cy
from corpus.entry import SPACE, Entry, arrays, integers, tiles


@cy.kernel
def two_products(A, B, C, D, alpha, beta):
    """PolyBench's 2mm: alpha A B C + beta D."""
    T = cy.empty((A.shape[0], B.shape[1]))
    R = cy.empty_like(D)
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            T[i, j] = alpha * sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    for i in range(A.shape[0]):
        for l in range(D.shape[1]):
            R[i, l] = beta * D[i, l] + sum(T[i, j] @ C[j, l] for j in range(B.shape[1]))
    return R


@cy.kernel
def three_products(A, B, C, D):
    """PolyBench's 3mm: (A B) (C D)."""
    E = cy.empty((A.shape[0], B.shape[1]))
    F = cy.empty((C.shape[0], D.shape[1]))
    G = cy.empty((A.shape[0], D.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            E[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    for j in range(C.shape[0]):
        for l in range(D.shape[1]):
            F[j, l] = sum(C[j, m] @ D[m, l] for m in range(C.shape[1]))
    for i in range(A.shape[0]):
        for l in range(D.shape[1]):
            G[i, l] = sum(E[i, j] @ F[j, l] for j in range(B.shape[1]))
    return G


@cy.kernel
def vector_chain(A, u, v, y, z, alpha, beta):
    """PolyBench's gemver: a rank-1 update, then its transpose and itself times vectors."""
    n = A.shape[0]
    B = cy.empty_like(A)
    x, w = cy.empty((n,)), cy.empty((n,))
    for i in range(n):
        for j in range(n):
            B[i, j] = A[i, j] + u[i] * v[j]
    for i in range(n):
        x[i] = z[i] + beta * sum(B[j, i] * y[j] for j in range(n))
    for i in range(n):
        w[i] = alpha * sum(B[i, j] * x[j] for j in range(n))
    return B, x, w


@cy.kernel
def vector_chain_by_columns(A, u, v, y, z, alpha, beta):
    """The same with the loops named after the axes of the matrix."""
    n = A.shape[0]
    B = cy.empty_like(A)
    x, w = cy.empty((n,)), cy.empty((n,))
    for i in range(n):
        for j in range(n):
            B[i, j] = A[i, j] + u[i] * v[j]
    for j in range(n):
        x[j] = z[j] + beta * sum(B[i, j] * y[i] for i in range(n))
    for i in range(n):
        w[i] = alpha * sum(B[i, j] * x[j] for j in range(n))
    return B, x, w


@cy.kernel
def polynomial_product(a, b):
    """The coefficients of a product of polynomials."""
    n, m = a.shape[0], b.shape[0]
    c = cy.empty((n + m - 1,))
    for k in range(n + m - 1):
        c[k] = sum(a[i] * b[k - i] for i in range(max(0, k - m + 1), min(n, k + 1)))
    return c


@cy.kernel
def banded_matvec(D, x, width):
    """D (n, 2 width + 1) has the diagonals of a band matrix as columns."""
    n = x.shape[0]
    y = cy.empty_like(x)
    for i in range(n):
        y[i] = sum(D[i, d] * x[i + d - width] for d in range(2 * width + 1) if 0 <= i + d - width < n)
    return y


def gemver(A, u, v, y, z, alpha, beta):
    B = A + np.outer(u, v)
    x = z + beta * (B.T @ y)
    return B, x, alpha * (B @ x)


def band(D, x, width):
    n = len(x)
    A = np.zeros((n, n))
    for d in range(-width, width + 1):
        for i in range(max(0, -d), min(n, n - d)):
            A[i, i + d] = D[i, d + width]
    return A @ x


VECTORS = arrays((0, 0), (0,), (0,), (0,), (0,))


ENTRIES = {
    "two-products": Entry(
        two_products,
        lambda rng, *size: (*arrays((0, 1), (1, 2), (2, 3), (0, 3))(rng, *size), 2.0, 3.0),
        ((1, 1, 1, 1), (2, 3, 4, 3)),
        lambda A, B, C, D, alpha, beta: alpha * A @ B @ C + beta * D,
        {"rows": SPACE("i"), "grid": SPACE("i", "j"), "transposed": SPACE("j", "l")},
    ),
    "two-products-tiles": Entry(
        two_products,
        lambda rng, *size: (*tiles((0, 1), (1, 2), (2, 3), (0, 3))(rng, *size), 2.0, 3.0),
        ((1, 1, 1, 1), (3, 3, 4, 5)),
        lambda A, B, C, D, alpha, beta: alpha * A @ B @ C + beta * D,
        {"rows": SPACE("i"), "grid": SPACE("i", "j")},
    ),
    "three-products": Entry(
        three_products,
        arrays((0, 1), (1, 2), (2, 3), (3, 4)),
        ((1, 1, 1, 1, 1), (2, 3, 4, 3, 2)),
        lambda A, B, C, D: (A @ B) @ (C @ D),
        {
            "rows": SPACE("i"),
            "grid": SPACE("i", "j"),
            "inner products in space": SPACE("k"),
        },
    ),
    "three-products-tiles": Entry(
        three_products,
        tiles((0, 1), (1, 2), (2, 3), (3, 4)),
        ((1, 1, 1, 1, 1), (3, 3, 4, 3, 5)),
        lambda A, B, C, D: (A @ B) @ (C @ D),
        {"rows": SPACE("i"), "grid": SPACE("i", "j")},
    ),
    "vector-chain": Entry(
        vector_chain,
        lambda rng, n: (*VECTORS(rng, n), 2.0, 3.0),
        ((1,), (4,)),
        gemver,
        {
            "rows": SPACE("i"),
            "grid": SPACE("i", "j"),
        },
    ),
    "vector-chain-by-columns": Entry(
        vector_chain_by_columns,
        lambda rng, n: (*VECTORS(rng, n), 2.0, 3.0),
        ((1,), (4,)),
        gemver,
        {"columns": SPACE("j"), "rows": SPACE("i")},
    ),
    "polynomial-product": Entry(
        polynomial_product,
        arrays((0,), (1,)),
        ((1, 1), (1, 4), (3, 2), (5, 4)),
        np.convolve,
        {"coefficients": SPACE("k"), "factor": SPACE("i"), "grid": SPACE("i", "k")},
    ),
    "banded-matvec": Entry(
        banded_matvec,
        lambda rng, n, width: (integers(rng, n, 2 * width + 1), integers(rng, n), width),
        ((1, 0), (4, 1), (7, 2)),
        band,
        {"rows": SPACE("i"), "diagonals": SPACE("d"), "band": SPACE("i", "d")},
    ),
}
