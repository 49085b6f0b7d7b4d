"""Defaults that need more effort: values on long ways, sums of PEs from both ends; none falls to one PE."""

import numpy as np
import pytest

import cyclotron as cy

S = cy.Schedule()
FROM_BOTH_ENDS = S.space("i", "j").inwards("i", "j").reduce("i", "tree").reduce("j", "tree")


@cy.kernel
def repeated(e, x):
    y = np.zeros(24)
    for i in range(24):
        y[i] = e[i // 3] * x[i] + e[i % 5] - x[(i + 7) % 24]
    return y


@cy.kernel
def prolonged(u):
    e = np.zeros_like(u)
    beside = u[1:-3:2, 2:-2:2] + u[3:-1:2, 2:-2:2] + u[2:-2:2, 1:-3:2] + u[2:-2:2, 3:-1:2]
    e[2:-2:2, 2:-2:2] = u[2:-2:2, 2:-2:2] * 0.25 + 0.125 * beside
    e[1:-1:2, 2:-2:2] = 0.5 * (e[:-2:2, 2:-2:2] + e[2::2, 2:-2:2])
    e[1:-1, 1:-1:2] = 0.5 * (e[1:-1, :-2:2] + e[1:-1, 2::2])
    return u + e


@cy.kernel
def symmetric(u, steps):
    for _ in range(steps):
        u = (u.T @ u) / 16 + u.T
        u = u / np.abs(u).max()
    return u


@cy.kernel
def normalised(x):
    return x / np.sqrt(np.sum(x * x))


@cy.kernel
def shortest_paths(D):
    for k in range(D.shape[0]):
        D = cy.minimum(D, D[:, k][:, None] + D[k, :])
    return D, D.max(), D.sum(axis=1).argmin()


@cy.kernel
def deposited(x, mass):
    cells = cy.zeros(16)
    for p in range(x.shape[0]):
        c = int(x[p] * 16)
        share = x[p] * 16 - c
        cells[c] += mass[p] * (1 - share)
        cells[(c + 1) % 16] += mass[p] * share
    return cells


@cy.kernel
def filtered(K, u):
    out = np.zeros((K.shape[0], u.shape[0], u.shape[1]))
    for k in range(K.shape[0]):
        padded = np.pad(u, 1, mode="edge")
        total = np.zeros(u.shape)
        for p in range(3):
            for q in range(3):
                total += K[k, p, q] * padded[p : p + u.shape[0], q : q + u.shape[1]]
        out[k] = np.maximum(total, 0)
    return out


@cy.kernel
def relaxed(W, source):
    d = np.full(W.shape[0], 1e6)
    d[source] = 0
    for _ in range(W.shape[0] - 1):
        new = np.minimum(d, np.min(d[:, None] + W, axis=0))
        if np.all(new == d):
            break
        d = new
    return d


def cycles_of(program):
    return cy.run(program, backend="sim", functional=False).cycles


@cy.kernel
def layer(x, w, b):
    rows, columns = x.shape[1] - 2, x.shape[2] - 2
    y = np.zeros((w.shape[0], rows, columns))
    for o in range(w.shape[0]):
        for c in range(w.shape[1]):
            for p in range(3):
                for q in range(3):
                    y[o] += w[o, c, p, q] * x[c, p : p + rows, q : q + columns]
        y[o] += b[o]
    return np.maximum(y, 0)


@cy.kernel
def factored(A, b):
    n = A.shape[0]
    for k in range(n - 1):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= A[k + 1 :, k, None] * A[k, k + 1 :]
    y = b.copy()
    for k in range(n):
        y[k + 1 :] -= A[k + 1 :, k] * y[k]
    for k in reversed(range(n)):
        y[k] = y[k] / A[k, k]
        y[:k] -= A[:k, k] * y[k]
    return y


@cy.kernel
def clustered(X, C):
    label = np.zeros(X.shape[0], dtype=np.int64)
    for _ in range(3):
        for i in range(X.shape[0]):
            label[i] = np.argmin((X[i, 0] - C[:, 0]) ** 2 + (X[i, 1] - C[:, 1]) ** 2)
        S = np.zeros((3, 2))
        N = np.zeros(3)
        for i in range(X.shape[0]):
            S[label[i]] += X[i]
            N[label[i]] += 1
        C = S / np.maximum(N, 1)[:, None]
    return C, label


@cy.kernel
def eliminated(A, B):
    n = A.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            A[i, k:] -= f * A[k, k:]
            B[i] -= f * B[k]
    X = np.zeros_like(B)
    for i in range(n - 1, -1, -1):
        X[i] = (B[i] - A[i, i + 1 :] @ X[i + 1 :]) / A[i, i]
    return X


@pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")
@pytest.mark.parametrize(
    ("kernel", "shapes", "numbers", "pes", "schedule"),
    [
        (layer, [(3, 16, 16), (4, 3, 3, 3), (4,)], (), 8, S.space("i", "j")),
        (clustered, [(32, 2), (3, 2)], (), 8, S.space("i").serpentine()),
        (eliminated, [(16, 16), (16, 4)], (), 8, S.space("j").serpentine()),
        (factored, [(12, 12), (12,)], (), 8, S.space("i").serpentine()),
        (repeated, [(8,), (24,)], (), 8, S.space("i", "0")),
        (prolonged, [(17, 17)], (), 8, S.space("i", "j")),
        (symmetric, [(16, 16)], (3,), 8, S.space("j", "i")),
        (normalised, [(64, 64)], (), 16, FROM_BOTH_ENDS),
        (shortest_paths, [(9, 9)], (), 9, S.space("i", "j").reduce("i", "tree", 4).reduce("j", "tree", 4)),
        (deposited, [(48,), (48,)], (), 8, S.space("-i", "p")),
        (filtered, [(3, 3, 3), (12, 12)], (), 8, S.space("i", "j")),
        (relaxed, [(16, 16)], (3,), 8, S.space("i", "0")),
    ],
)
def test_a_default_is_as_fast_as_what_compiles(kernel, shapes, numbers, pes, schedule):
    machine = cy.Machine(grid=(pes, pes))
    rng = np.random.default_rng(1)
    values = [rng.random(shape) for shape in shapes]
    program = kernel.compile(*values, *numbers, machine=machine)
    found = tuple(cy.run(program, backend="sim").outputs.values())
    right = kernel.reference(*(v.copy() for v in values), *numbers)
    for one, other in zip(found, right if len(found) > 1 else (right,), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    other = kernel.compile(*values, *numbers, machine=machine, schedule=schedule)
    assert cycles_of(program) <= 1.05 * cycles_of(other)
