"""FlashAttention-2: a PE holds a tile of queries while tiles of keys and values stream past (section 10.3).

A running maximum m, denominator l and output o are rescaled as better maxima come. With a mask a row may see
no key at all; it stays zero, not NaN.
"""

import numpy as np

import cyclotron as cy


@cy.kernel
def attention(Q, K, V, M, scale):
    n, t = M.shape
    S, P = cy.empty((n, t), Q.dtype), cy.empty((n, t), Q.dtype)
    m, g, l = (cy.empty((n, t), Q.dtype, tile=(M.shape[0].tile, 1)) for _ in range(3))
    o = cy.empty((n, t), Q.dtype, tile=(M.shape[0].tile, V.shape[1].tile))
    O = cy.empty_like(Q)
    for i in range(n):
        for j in range(t):
            S[i, j] = cy.where(M[i, j], (Q[i, 0] @ K[j, 0].T) * scale, -np.inf)
            m[i, j] = cy.row_max(S[i, j]) if j == 0 else cy.maximum(m[i, j - 1], cy.row_max(S[i, j]))
            g[i, j] = cy.where(cy.isfinite(m[i, j]), m[i, j], 0)  # a row that has seen no key yet
            P[i, j] = cy.exp(S[i, j] - g[i, j])
            if j == 0:
                l[i, j] = cy.row_sum(P[i, j])
                o[i, j] = P[i, j] @ V[j, 0]
            else:
                l[i, j] = cy.exp(m[i, j - 1] - g[i, j]) * l[i, j - 1] + cy.row_sum(P[i, j])
                o[i, j] = cy.exp(m[i, j - 1] - g[i, j]) * o[i, j - 1] + P[i, j] @ V[j, 0]
        O[i, 0] = o[i, t - 1] / cy.where(l[i, t - 1] == 0, 1, l[i, t - 1])
    return O


def softmax_attention(Q, K, V, M, scale):
    S = np.where(M, Q @ K.T * scale, -np.inf)
    W = np.exp(S - np.max(S, axis=1, keepdims=True, initial=-1e30))
    return W @ V / np.maximum(W.sum(axis=1, keepdims=True), 1e-30)


SCHEDULES = {
    "one PE": cy.Schedule(),
    "keys and values streamed": cy.Schedule().space("i").stream("K", along="i").stream("V", along="i"),
    "keys and values broadcast": cy.Schedule().space("i").broadcast("K", along="i").broadcast("V", along="i"),
}


def main():
    rng = np.random.default_rng(1)
    n, d, tile = 64, 16, 8
    Q, K, V = rng.standard_normal((3, n, d))
    position = np.arange(n)
    masks = {
        "full": np.ones((n, n), bool),
        "causal": position[:, None] >= position,
        "window": (abs(position[:, None] - position) < 12) & (position[:, None] % 9 > 0),
    }
    print(f"{'mask':8} {'schedule':26} {'PEs':>4} {'cycles':>8} {'busy':>6}  error")
    for mask, M in masks.items():
        expected = softmax_attention(Q, K, V, M, 1 / np.sqrt(d))
        tiles = [cy.blocked(X, (tile, d)) for X in (Q, K, V)] + [cy.blocked(M, (tile, tile))]
        for name, schedule in SCHEDULES.items():
            program = attention.compile(*tiles, 1 / np.sqrt(d), schedule=schedule)
            result = cy.run(program, backend="sim")
            error = abs(result.output - expected).max()
            assert error < 1e-14
            busy = result.utilization
            print(f"{mask:8} {name:26} {busy.size:4} {result.cycles:8} {busy.mean():6.1%}  {error:.0e}")


if __name__ == "__main__":
    main()
