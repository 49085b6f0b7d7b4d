"""Products of matrices and tensors."""

import numpy as np

import cyclotron as cy
from corpus.entry import SPACE, Entry, arrays, tiles


@cy.kernel
def trmm(L, B):
    """The product with a lower triangle."""
    C = cy.empty_like(B)
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(L[i, k] @ B[k, j] for k in range(i + 1))
    return C


@cy.kernel
def syrk(A, C):
    """The lower triangle of C + A A^T."""
    S = cy.zeros_like(C)
    for i in range(C.shape[0]):
        for j in range(i + 1):
            S[i, j] = C[i, j] + sum(A[i, k] @ A[j, k].T for k in range(A.shape[1]))
    return S


@cy.kernel
def syr2k(A, B, C):
    """The lower triangle of C + A B^T + B A^T."""
    S = cy.zeros_like(C)
    for i in range(C.shape[0]):
        for j in range(i + 1):
            S[i, j] = C[i, j] + sum(A[i, k] @ B[j, k].T + B[i, k] @ A[j, k].T for k in range(A.shape[1]))
    return S


@cy.kernel
def batched_matmul(A, B):
    """A product for each b."""
    C = cy.empty((A.shape[0], A.shape[1], B.shape[2]))
    for b in range(A.shape[0]):
        for i in range(A.shape[1]):
            for j in range(B.shape[2]):
                C[b, i, j] = sum(A[b, i, k] * B[b, k, j] for k in range(A.shape[2]))
    return C


@cy.kernel
def ttm(T, A):
    """A tensor times a matrix along its last mode."""
    Y = cy.empty((T.shape[0], T.shape[1], A.shape[0]))
    for i in range(T.shape[0]):
        for j in range(T.shape[1]):
            for r in range(A.shape[0]):
                Y[i, j, r] = sum(T[i, j, k] * A[r, k] for k in range(A.shape[1]))
    return Y


@cy.kernel
def ttmc(T, A, B):
    """A tensor times two matrices, along its second and third mode."""
    Y = cy.empty((T.shape[0], A.shape[1], B.shape[1]))
    for i in range(T.shape[0]):
        for r in range(A.shape[1]):
            for s in range(B.shape[1]):
                Y[i, r, s] = sum(
                    T[i, j, k] * A[j, r] * B[k, s] for j in range(A.shape[0]) for k in range(B.shape[0])
                )
    return Y


@cy.kernel
def mttkrp(T, A, B):
    """The matricised tensor times a Khatri-Rao product."""
    M = cy.empty((T.shape[0], A.shape[1]))
    for i in range(T.shape[0]):
        for r in range(A.shape[1]):
            M[i, r] = sum(
                T[i, j, k] * A[j, r] * B[k, r] for j in range(A.shape[0]) for k in range(B.shape[0])
            )
    return M


@cy.kernel
def mttkrp_factored(T, A, B):
    """The same with the inner sum kept: fewer products."""
    Y = cy.empty((T.shape[0], A.shape[0], A.shape[1]))
    M = cy.empty((T.shape[0], A.shape[1]))
    for i in range(T.shape[0]):
        for j in range(A.shape[0]):
            for r in range(A.shape[1]):
                Y[i, j, r] = sum(T[i, j, k] * B[k, r] for k in range(B.shape[0]))
    for i in range(T.shape[0]):
        for r in range(A.shape[1]):
            M[i, r] = sum(Y[i, j, r] * A[j, r] for j in range(A.shape[0]))
    return M


def triangle(make):
    """The first argument is lower triangular."""

    def lower(rng, *size):
        first, *rest = make(rng, *size)
        if isinstance(first, cy.Blocked):
            return cy.blocked(np.tril(first.array), first.tile_shape), *rest
        return np.tril(first), *rest

    return lower


def lower_tiles(S, tile):
    """S without the tiles above the diagonal."""
    row = np.arange(len(S)) // tile
    return np.where(row[:, None] >= row, S, 0)


THREE = ((1, 1, 1), (2, 3, 1), (4, 3, 5))

MATRIX = {
    "grid": SPACE("i", "j"),
    "A stationary": SPACE("i", "k"),
    "B stationary": SPACE("j", "k"),
    "line": SPACE("i"),
}

FOUR = ((1, 1, 1, 1), (2, 3, 2, 4))


ENTRIES = {
    "trmm": Entry(trmm, triangle(arrays((0, 0), (0, 1))), ((1, 1), (2, 3), (5, 4)), np.matmul, MATRIX),
    "trmm-tiles": Entry(trmm, triangle(tiles((0, 0), (0, 1))), ((1, 1), (5, 3)), np.matmul, MATRIX),
    "syrk": Entry(
        syrk, arrays((0, 1), (0, 0)), ((1, 1), (2, 3), (5, 4)), lambda A, C: np.tril(C + A @ A.T), MATRIX
    ),
    "syrk-tiles": Entry(
        syrk, tiles((0, 1), (0, 0)), ((1, 1), (5, 3)), lambda A, C: lower_tiles(C + A @ A.T, 2), MATRIX
    ),
    "syr2k": Entry(
        syr2k,
        arrays((0, 1), (0, 1), (0, 0)),
        ((1, 1), (2, 3), (5, 4)),
        lambda A, B, C: np.tril(C + A @ B.T + B @ A.T),
        MATRIX,
    ),
    "syr2k-tiles": Entry(
        syr2k,
        tiles((0, 1), (0, 1), (0, 0)),
        ((1, 1), (5, 3)),
        lambda A, B, C: lower_tiles(C + A @ B.T + B @ A.T, 2),
        MATRIX,
    ),
    "batched-matmul": Entry(
        batched_matmul,
        arrays((0, 1, 2), (0, 2, 3)),
        FOUR,
        np.matmul,
        {"grid": SPACE("i", "j"), "batch": SPACE("b"), "batch and rows": SPACE("b", "i")},
    ),
    "ttm": Entry(
        ttm,
        arrays((0, 1, 2), (3, 2)),
        FOUR,
        lambda T, A: np.einsum("ijk,rk->ijr", T, A),
        {"grid": SPACE("j", "r"), "A stationary": SPACE("r", "k"), "T stationary": SPACE("j", "k")},
    ),
    "ttmc": Entry(
        ttmc,
        arrays((0, 1, 2), (1, 3), (2, 3)),
        FOUR,
        lambda T, A, B: np.einsum("ijk,jr,ks->irs", T, A, B),
        {"grid": SPACE("r", "s"), "reductions": SPACE("j", "k")},
    ),
    "mttkrp": Entry(
        mttkrp,
        arrays((0, 1, 2), (1, 3), (2, 3)),
        FOUR,
        lambda T, A, B: np.einsum("ijk,jr,kr->ir", T, A, B),
        {"grid": SPACE("i", "r"), "reductions": SPACE("j", "k")},
    ),
    "mttkrp-factored": Entry(
        mttkrp_factored,
        arrays((0, 1, 2), (1, 3), (2, 3)),
        FOUR,
        lambda T, A, B: np.einsum("ijk,jr,kr->ir", T, A, B),
        {"grid": SPACE("i", "r"), "inner": SPACE("j", "r"), "reductions": SPACE("j", "k")},
    ),
}
