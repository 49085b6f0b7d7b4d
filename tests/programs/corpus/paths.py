"""Best foldings and shortest paths."""

import numpy as np

import cyclotron as cy
from corpus.entry import SPACE, Entry


@cy.kernel
def nussinov(s):
    """The most pairs of letters that add up to 3 without crossing."""
    n = s.shape[0]
    N = cy.zeros((n, n))
    for i in range(n - 1, -1, -1):
        for j in range(i, n):
            if i == j:
                N[i, j] = 0
            elif i + 1 == j:
                N[i, j] = cy.where(s[i] + s[j] == 3, 1, 0)
            else:
                paired = N[i + 1, j - 1] + cy.where(s[i] + s[j] == 3, 1, 0)
                N[i, j] = max(paired, max(N[i, k] + N[k + 1, j] for k in range(i, j)))
    return N


@cy.kernel
def nussinov_with_zeros(s):
    """The same with the zeros of the new matrix as the least intervals."""
    n = s.shape[0]
    N = cy.zeros((n, n))
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            paired = N[i + 1, j - 1] + cy.where(s[i] + s[j] == 3, 1, 0)
            N[i, j] = max(paired, max(N[i, k] + N[k + 1, j] for k in range(i, j)))
    return N


@cy.kernel
def floyd_warshall(W):
    """The lengths of the shortest paths through the first k nodes."""
    n = W.shape[0]
    D = cy.empty((n + 1, n, n))
    for k in range(n + 1):
        for i in range(n):
            for j in range(n):
                if k == 0:
                    D[k, i, j] = W[i, j]
                else:
                    D[k, i, j] = min(D[k - 1, i, j], D[k - 1, i, k - 1] + D[k - 1, k - 1, j])
    return D


@cy.kernel
def shifted_floyd_warshall(W):
    """Kung, Lo and Lewis's: step k numbers node k as n + k, so that its row and column come first."""
    n = W.shape[0]
    E = cy.zeros((n + 1, 2 * n, 2 * n))
    for i in range(n):
        for j in range(n):
            E[0, i, j] = W[i, j]
    for k in range(1, n + 1):
        for i in range(k, n + k):
            for j in range(k, n + k):
                if i < n + k - 1 and j < n + k - 1:
                    E[k, i, j] = min(E[k - 1, i, j], E[k - 1, i, k - 1] + E[k - 1, k - 1, j])
                elif i < n + k - 1:
                    E[k, i, j] = E[k - 1, i, k - 1]
                elif j < n + k - 1:
                    E[k, i, j] = E[k - 1, k - 1, j]
                else:
                    E[k, i, j] = 0
    return E


def distances(rng, n):
    W = rng.integers(1, 20, (n, n)).astype(float)
    np.fill_diagonal(W, 0)
    return (W,)


def shortest(W):
    """By min-plus squaring."""
    for _ in range(len(W)):
        W = np.minimum(W, (W[:, :, None] + W[None]).min(1))
    return W


def shortest_through(W):
    """For each k from the matrix without the nodes from k on, as intermediate ones."""
    D = [W]
    for k in range(len(W)):
        D.append(np.minimum(D[-1], np.add.outer(D[-1][:, k], D[-1][k])))
    np.testing.assert_array_equal(D[-1], shortest(W))
    return np.array(D)


def shifted(W):
    """The same with the first k nodes behind the others."""
    n = len(W)
    E = np.zeros((n + 1, 2 * n, 2 * n))
    for k, D in enumerate(shortest_through(W)):
        E[k, k : k + n, k : k + n] = np.roll(D, (-k, -k), (0, 1))
    return E


def most_pairs(s):
    """By recursion on the partner of the first letter."""
    n = len(s)
    N = np.zeros((n + 1, n + 1))
    for i in reversed(range(n)):
        for j in range(i, n):
            partners = [
                N[i + 1, k - 1] * (k > i + 1) + 1 + N[k + 1, j] * (k < j)
                for k in range(i + 1, j + 1)
                if s[i] + s[k] == 3
            ]
            N[i, j] = max([N[i + 1, j] if i < j else 0, *partners])
    return N[:n, :n]


ENTRIES = {
    "nussinov": Entry(
        nussinov,
        lambda rng, n: (rng.integers(0, 4, n),),
        ((1,), (2,), (6,)),
        most_pairs,
        {
            "columns": SPACE("j"),
            "triangle": SPACE("i", "j"),
            "rows": SPACE("i"),
        },
    ),
    "nussinov-with-zeros": Entry(
        nussinov_with_zeros,
        lambda rng, n: (rng.integers(0, 4, n),),
        ((1,), (2,), (5,)),
        most_pairs,
        {"rows": SPACE("i")},
    ),
    "floyd-warshall": Entry(
        floyd_warshall,
        distances,
        ((1,), (2,), (4,)),
        shortest_through,
        {"steps": SPACE("k"), "grid": SPACE("i", "j")},
    ),
    "shifted-floyd-warshall": Entry(
        shifted_floyd_warshall,
        distances,
        ((1,), (2,), (4,)),
        shifted,
        {"steps": SPACE("k"), "grid": SPACE("i", "j")},
    ),
}
