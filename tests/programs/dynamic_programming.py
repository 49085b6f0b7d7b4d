"""Recurrences over sequences: alignments, warping, decoding, and scans of a state."""

import cyclotron as cy


@cy.kernel
def smith_waterman(a, b, match, gap):
    """Local alignment: `a` (n,) and `b` (m,) are letters, `match` (2,) scores unequal and equal ones."""
    H = cy.zeros((a.shape[0] + 1, b.shape[0] + 1))
    for i in range(1, a.shape[0] + 1):
        for j in range(1, b.shape[0] + 1):
            diagonal = H[i - 1, j - 1] + cy.where(a[i - 1] == b[j - 1], match[1], match[0])
            H[i, j] = max(0, diagonal, H[i - 1, j] - gap, H[i, j - 1] - gap)
    return H


@cy.kernel
def needleman_wunsch(a, b, match, gap):
    """Global alignment."""
    H = cy.zeros((a.shape[0] + 1, b.shape[0] + 1))
    for i in range(1, a.shape[0] + 1):
        H[i, 0] = H[i - 1, 0] - gap
    for j in range(1, b.shape[0] + 1):
        H[0, j] = H[0, j - 1] - gap
    for i in range(1, a.shape[0] + 1):
        for j in range(1, b.shape[0] + 1):
            diagonal = H[i - 1, j - 1] + cy.where(a[i - 1] == b[j - 1], match[1], match[0])
            H[i, j] = max(diagonal, H[i - 1, j] - gap, H[i, j - 1] - gap)
    return H


@cy.kernel
def time_warping(x, y):
    """The least cost of a monotone walk through both series."""
    D = cy.empty((x.shape[0], y.shape[0]))
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            if i == 0 and j == 0:
                D[i, j] = abs(x[i] - y[j])
            elif i == 0:
                D[i, j] = abs(x[i] - y[j]) + D[i, j - 1]
            elif j == 0:
                D[i, j] = abs(x[i] - y[j]) + D[i - 1, j]
            else:
                D[i, j] = abs(x[i] - y[j]) + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D


@cy.kernel
def viterbi(first, step, emission):
    """The scores of the best paths to each state: `step` (s, s), `emission` (t, s), logarithms."""
    D = cy.empty_like(emission)
    for t in range(emission.shape[0]):
        for s in range(emission.shape[1]):
            if t == 0:
                D[t, s] = first[s] + emission[t, s]
            else:
                D[t, s] = max(D[t - 1, r] + step[r, s] for r in range(step.shape[0])) + emission[t, s]
    return D


@cy.kernel
def linear_attention(Q, K, V):
    """Causal attention without softmax: the state grows by an outer product a step."""
    n, d, e = Q.shape[0], Q.shape[1], V.shape[1]
    S = cy.empty((n, d, e))
    O = cy.empty((n, e))
    for t in range(n):
        for c in range(e):
            for a in range(d):
                if t == 0:
                    S[t, a, c] = K[t, a] * V[t, c]
                else:
                    S[t, a, c] = S[t - 1, a, c] + K[t, a] * V[t, c]
            O[t, c] = sum(Q[t, a] * S[t, a, c] for a in range(d))
    return O


@cy.kernel
def state_space(A, B, C, x):
    """A selective scan: h = A h + B x, y = C h, for a diagonal A (s,)."""
    h = cy.empty_like(B)
    y = cy.empty_like(x)
    for t in range(x.shape[0]):
        for s in range(A.shape[0]):
            if t == 0:
                h[t, s] = B[t, s] * x[t]
            else:
                h[t, s] = A[s] * h[t - 1, s] + B[t, s] * x[t]
        y[t] = sum(C[t, s] * h[t, s] for s in range(A.shape[0]))
    return y
