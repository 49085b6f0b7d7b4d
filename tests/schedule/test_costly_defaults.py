"""Defaults that searches missed: costly kernels on one PE, PEs that wait for each other, and lines of PEs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

MACHINE = cy.Machine(grid=(8, 8))
ROW = cy.Machine(grid=(1, 8))
ON_COLUMNS = cy.Schedule().space("j").serpentine()


@cy.kernel
def householder(A):
    R = A.copy()
    for k in range(A.shape[1]):
        x = R[k:, k]
        s = cy.sqrt(cy.sum(x * x))
        v = x.copy()
        v[0] += cy.where(x[0] >= 0, s, -s)
        v = v / cy.sqrt(cy.sum(v * v))
        R[k:, k:] -= 2 * cy.outer(v, v @ R[k:, k:])
    return R


@cy.kernel
def alternating_sweeps(u):
    n = u.shape[0]
    c = cy.zeros(n)
    for t in range(3):
        c[0] = -0.5 / 2
        u[:, 0] = u[:, 0] / 2
        for j in range(1, n):
            c[j] = -0.5 / (2 + 0.5 * c[j - 1])
            u[:, j] = (u[:, j] + 0.5 * u[:, j - 1]) / (2 + 0.5 * c[j - 1])
        for j in range(n - 2, -1, -1):
            u[:, j] -= c[j] * u[:, j + 1]
        u[0, :] = u[0, :] / 2
        for i in range(1, n):
            u[i, :] = (u[i, :] + 0.5 * u[i - 1, :]) / (2 + 0.5 * c[i - 1])
        for i in range(n - 2, -1, -1):
            u[i, :] -= c[i] * u[i + 1, :]
    return u


@cy.kernel
def longest_common_subsequence(a, b):
    D = cy.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            longer = cy.maximum(D[i - 1, j], D[i, j - 1])
            D[i, j] = cy.where(a[i - 1] == b[j - 1], D[i - 1, j - 1] + 1, longer)
    return D


@cy.kernel
def leapfrog(E, H):
    for _ in range(15):
        H[:-1] += 0.5 * (E[1:] - E[:-1])
        E[1:] += 0.5 * (H[1:] - H[:-1])
    return E


@cy.kernel
def leapfrog_with_source(E, H):
    for t in range(20):
        H += 0.5 * (E[1:] - E[:-1])
        E[1:-1] += 0.5 * (H[1:] - H[:-1])
        E[30] += np.exp(-(((t - 8) / 4.0) ** 2))
    return E


@cy.kernel
def waves(E, X, Y):
    for t in range(6):
        X -= 0.5 * (E[:, 1:] - E[:, :-1])
        Y += 0.5 * (E[1:, :] - E[:-1, :])
        E[1:-1, 1:-1] += 0.5 * (Y[1:, 1:-1] - Y[:-1, 1:-1] - X[1:-1, 1:] + X[1:-1, :-1])
        E[9, 9] += np.sin(0.3 * t)
    return E


@cy.kernel
def fir(x, h):
    y = np.zeros(128)
    for n in range(128):
        for k in range(16):
            if n - k >= 0:
                y[n] += h[k] * x[n - k]
    return y


@cy.kernel
def gauss_seidel(u, f):
    n, m = u.shape
    for s in range(5):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
    return u


@cy.kernel
def least_products(p):
    n = len(p) - 1
    m = np.zeros((n, n))
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            best = np.inf
            for k in range(i, j):
                best = min(best, m[i, k] + m[k + 1, j] + p[i] * p[k + 1] * p[j + 1])
            m[i, j] = best
    return m[0, n - 1]


@cy.kernel
def convolution(x, h):
    y = np.zeros(len(x) + len(h) - 1)
    for i in range(len(x)):
        for k in range(len(h)):
            y[i + k] += x[i] * h[k]
    return y


@cy.kernel
def upwind(u, dt, dx):
    for _ in range(30):
        back = (u - np.roll(u, 1)) / dx
        ahead = (np.roll(u, -1) - u) / dx
        u = u - dt * np.where(u > 0, u * back, u * ahead)
    return u


@cy.kernel
def opened(img):
    p = np.pad(img, 1, mode="edge")
    h, w = img.shape
    e = p[1:-1, 1:-1]
    for dy in range(3):
        for dx in range(3):
            e = np.minimum(e, p[dy : dy + h, dx : dx + w])
    q = np.pad(e, 1, mode="edge")
    d = e
    for dy in range(3):
        for dx in range(3):
            d = np.maximum(d, q[dy : dy + h, dx : dx + w])
    return d


@cy.kernel
def transform(x):
    n = len(x)
    X = x.reshape(1, n)
    while X.shape[0] < n:
        m = X.shape[0]
        even, odd = X[:, : X.shape[1] // 2], X[:, X.shape[1] // 2 :]
        factor = np.exp(-1j * np.pi * np.arange(m) / m)[:, None]
        X = np.vstack([even + factor * odd, even - factor * odd])
    return X.ravel()


@cy.kernel
def gated(X, Wz, Uz, Wr, Ur, Wn, Un):
    h = np.zeros(Uz.shape[0])
    for x in X:
        z = 1 / (1 + np.exp(-(Wz @ x + Uz @ h)))
        r = 1 / (1 + np.exp(-(Wr @ x + Ur @ h)))
        n = np.tanh(Wn @ x + Un @ (r * h))
        h = (1 - z) * n + z * h
    return h


@cy.kernel
def levels(adj, source):
    level = np.full(adj.shape[0], -1)
    frontier = np.arange(adj.shape[0]) == source
    depth = 0
    while np.any(frontier):
        level = np.where(frontier, depth, level)
        frontier = np.any(adj & frontier[:, None], axis=0) & (level < 0)
        depth += 1
    return level


@cy.kernel
def tracked(z, F, Q, H, r):
    n = F.shape[0]
    x, P = np.zeros(n), np.eye(n)
    out = np.zeros((len(z), n))
    for t in range(len(z)):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H + r
        K = P @ H / S
        x = x + K * (z[t] - H @ x)
        P = P - np.outer(K, H @ P)
        out[t] = x
    return out


@cy.kernel
def fourier(x, w):
    n, half, m = len(x), len(x) // 2, 1
    while m < n:
        a, b = x[:half].reshape(half // m, m), x[half:].reshape(half // m, m)
        x = np.stack([a + b, (a - b) * w[:half:m][:, None]], axis=1).reshape(n)
        m = m * 2
    return x


@cy.kernel
def tridiagonal(a, b, c, D):
    n = D.shape[0]
    cp = cy.zeros(n)
    X = cy.zeros(D.shape)
    cp[0] = c[0] / b[0]
    X[0] = D[0] / b[0]
    for i in range(1, n):
        den = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / den
        X[i] = (D[i] - a[i] * X[i - 1]) / den
    for i in range(n - 2, -1, -1):
        X[i] = X[i] - cp[i] * X[i + 1]
    return X


@cy.kernel
def smoothed(X):
    S = cy.zeros_like(X)
    S[0] = X[0]
    for t in range(1, X.shape[0]):
        S[t] = 0.3 * X[t] + 0.7 * S[t - 1]
    return S


@cy.kernel
def matrix_chain(p):
    n = len(p) - 1
    m = cy.zeros((n, n))
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            m[i, j] = min(m[i, k] + m[k + 1, j] + p[i] * p[k + 1] * p[j + 1] for k in range(i, j))
    return m


@cy.kernel
def paths(z, price, rate, sigma, step):
    count, steps = z.shape
    S = cy.full(count, price)
    total = cy.zeros(count)
    for t in range(steps):
        S = S * cy.exp((rate - 0.5 * sigma**2) * step + sigma * cy.sqrt(step) * z[:, t])
        total += S
    payoff = cy.maximum(total / steps - price, 0)
    return payoff.mean() + payoff.std() / cy.sqrt(count)


@cy.kernel
def normalised_layers(x, g, b, W, c, V, d):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    h = g * (x - mean) / cy.sqrt(variance + 1e-5) + b
    return x + cy.maximum(h @ W + c, 0) @ V + d


@cy.kernel
def sweeps(u):
    n = u.shape[0]
    c = cy.zeros(n)
    for t in range(3):
        for j in range(1, n):
            c[j] = 0.5 / (2 + c[j - 1])
            u[:, j] = u[:, j] + c[j] * u[:, j - 1]
        for j in range(n - 2, -1, -1):
            u[:, j] -= c[j] * u[:, j + 1]
        for i in range(1, n):
            u[i, :] = u[i, :] + c[i] * u[i - 1, :]
        for i in range(n - 2, -1, -1):
            u[i, :] -= c[i] * u[i + 1, :]
        u = u[::-1, ::-1]
    return u


def lanczos(A, v, steps):
    n = v.shape[0]
    alpha, beta = np.zeros(steps), np.zeros(steps)
    before = np.zeros(n)
    v = v / np.sqrt(np.sum(v * v))
    b = 0.0
    for k in range(steps):
        w = A @ v - b * before
        alpha[k] = np.sum(w * v)
        w = w - alpha[k] * v
        b = np.sqrt(np.sum(w * w))
        beta[k] = b
        before = v
        v = w / b
    return alpha + beta


def tracked_alone(z, q, r):
    found = np.zeros(z.shape[0])
    x, p = 0.0, 1.0
    for i in range(z.shape[0]):
        p = p + q
        gain = p / (p + r)
        x = x + gain * (z[i] - x)
        p = (1 - gain) * p
        found[i] = x
    return found


def segmented_sums(x, starts):
    sums = np.zeros_like(x)
    total = 0.0
    for i in range(x.shape[0]):
        total = x[i] if starts[i] else total + x[i]
        sums[i] = total
    return sums


def triangle_of(A):
    """R of LAPACK's factors, below it zeros, with a positive diagonal."""
    upper = np.linalg.qr(A, mode="r")
    return upper * np.sign(np.diag(upper))[:, None]


def positive(R):
    """The same of another R, whose zeros are as good as its roundings."""
    upper = R[: R.shape[1]]
    return upper * np.sign(np.diag(upper))[:, None]


def swept(u):
    """Two tridiagonal solves a step, by LAPACK, as the Thomas algorithm eliminates the rows."""
    n = len(u)
    system = np.diag(np.full(n, 2.0)) + np.diag(np.full(n - 1, -0.5), 1) + np.diag(np.full(n - 1, -0.5), -1)
    for _ in range(3):
        u = np.linalg.solve(system, u.T).T
        u = np.linalg.solve(system, u)
    return u


def lengths(a, b):
    D = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            D[i + 1, j + 1] = D[i, j] + 1 if x == y else max(D[i, j + 1], D[i + 1, j])
    return D


def leapt_from_source(E, H):
    for t in range(20):
        H = H + 0.5 * np.diff(E)
        E = E + 0.5 * np.diff(H, prepend=H[0], append=H[-1])
        E[30] += np.exp(-(((t - 8) / 4.0) ** 2))
    return E


def radiated(E, X, Y):
    for t in range(6):
        X, Y = X - 0.5 * np.diff(E, axis=1), Y + 0.5 * np.diff(E, axis=0)
        E[1:-1, 1:-1] += 0.5 * (np.diff(Y[:, 1:-1], axis=0) - np.diff(X[1:-1], axis=1))
        E[9, 9] += np.sin(0.3 * t)
    return E


def leapt(E, H):
    E, H = E.copy(), H.copy()
    for _ in range(15):
        H[:-1] += 0.5 * np.diff(E)
        E[1:] += 0.5 * np.diff(H)
    return E


def solved(a, b, c, D):
    return np.linalg.solve(np.diag(b) + np.diag(a[1:], -1) + np.diag(c[:-1], 1), D)


def decayed(X):
    """Each value by the weights of all before it."""
    t = np.arange(len(X))
    weights = np.where(t[:, None] >= t, 0.7 ** np.maximum(t[:, None] - t, 0) * np.where(t == 0, 1, 0.3), 0)
    return weights @ X


def products(p):
    m: dict[tuple[int, int], float] = {(i, i): 0.0 for i in range(len(p) - 1)}
    for length in range(1, len(p) - 1):
        for i in range(len(p) - 1 - length):
            j = i + length
            m[i, j] = min(m[i, k] + m[k + 1, j] + p[i] * p[k + 1] * p[j + 1] for k in range(i, j))
    return np.array([[m.get((i, j), 0.0) for j in range(len(p) - 1)] for i in range(len(p) - 1)])


def payoffs(z, price, rate, sigma, step):
    growth = np.cumsum((rate - sigma**2 / 2) * step + sigma * np.sqrt(step) * z, axis=1)
    values = np.maximum(price * np.exp(growth).mean(axis=1) - price, 0)
    return values.mean() + values.std() / np.sqrt(len(z))


def two_layers(x, g, b, W, c, V, d):
    h = (x - x.mean(axis=1)[:, None]) / np.sqrt(x.var(axis=1) + 1e-5)[:, None] * g + b
    return x + np.maximum(h @ W + c, 0) @ V + d


def uniform(*shape):
    return np.random.default_rng(len(shape)).random(shape)


def letters(n):
    return np.random.default_rng(n).integers(0, 4, n)


def copied(arguments):
    return [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]


ON_ROWS = cy.Schedule().space("i").serpentine()
MIRRORED = cy.Schedule().space("-i").serpentine()
ON_LINE = cy.Schedule().space("n").serpentine()
CASES: dict[str, tuple[Any, tuple[Any, ...], Callable[..., Any], cy.Schedule]] = {
    "householder": (householder, (uniform(16, 12),), triangle_of, ON_COLUMNS),
    "alternating sweeps": (alternating_sweeps, (uniform(16, 16),), swept, ON_COLUMNS),
    "common": (longest_common_subsequence, (letters(24), letters(20)), lengths, ON_COLUMNS),
    "leapfrog": (leapfrog, (uniform(120), np.zeros(120)), leapt, MIRRORED),
    "leapfrog with a source": (
        leapfrog_with_source,
        (np.zeros(100), np.zeros(99)),
        leapt_from_source,
        MIRRORED,
    ),
    "waves": (
        waves,
        (np.zeros((18, 18)), np.zeros((18, 17)), np.zeros((17, 18))),
        radiated,
        cy.Schedule().space("-i", "j"),
    ),
    "filter": (
        fir,
        (uniform(128), uniform(16)),
        lambda x, h: np.convolve(x, h)[:128],
        ON_LINE.prefetch("h"),
    ),
    "Gauss-Seidel": (
        gauss_seidel,
        (uniform(26, 26), uniform(26, 26)),
        gauss_seidel.reference,
        cy.Schedule().space("s", "i"),
    ),
    "least products": (least_products, (uniform(21),), least_products.reference, ON_ROWS),
    "convolution": (
        convolution,
        (uniform(64), uniform(24)),
        np.convolve,
        cy.Schedule().space("i+k").prefetch("x").prefetch("h").fold({"i+k": cy.cyclic(64)}).serpentine(),
    ),
    "upwind": (
        upwind,
        (uniform(64), 0.01, 0.1),
        upwind.reference,
        ON_ROWS.fold(i=cy.block(16)),
    ),
    "vectorised transform": (
        transform,
        (uniform(64) + 0j,),
        np.fft.fft,
        cy.Schedule().space("i", "j").fold(i=cy.cyclic(8), j=cy.cyclic(8)),
    ),
    "gated": (
        gated,
        (uniform(10, 16), *[uniform(16, 16) / 8] * 6),
        gated.reference,
        cy.Schedule().space("i", "k"),
    ),
    "levels": (
        levels,
        (uniform(32, 32) < 0.06, 0),
        levels.reference,
        ON_ROWS.inwards("i"),
    ),
    "opening": (
        opened,
        (uniform(32, 32),),
        opened.reference,
        cy.Schedule().space("i", "j").time("statement", "dy", "statement_in_dy", "dx"),
    ),
    "Kalman filter": (
        tracked,
        (uniform(30), uniform(4, 4) / 4, np.eye(4) / 9, uniform(4), 0.3),
        tracked.reference,
        cy.Schedule().inwards("i", "j").space("i", "j").time("t", "k", "statement_in_t"),
    ),
    "Fourier transform": (
        fourier,
        (uniform(64) + 1j * uniform(64), np.exp(-2j * np.pi * np.arange(32) / 64)),
        lambda x, _: np.fft.fft(x),
        cy.Schedule().space("i", "j"),
    ),
    "tridiagonal": (
        tridiagonal,
        (uniform(32), uniform(32) + 4, uniform(32), uniform(32, 32)),
        solved,
        ON_COLUMNS,
    ),
    "smoothed": (smoothed, (uniform(25, 40),), decayed, ON_ROWS),
    "narrow tridiagonal": (
        tridiagonal,
        (uniform(22), uniform(22) + 4, uniform(22), uniform(22, 13)),
        solved,
        ON_COLUMNS,
    ),
    "paths": (
        paths,
        (uniform(50, 12), 100.0, 0.02, 0.3, 0.05),
        payoffs,
        ON_ROWS.reduce("i", "tree", radix=4),
    ),
    "layers": (
        normalised_layers,
        (
            uniform(10, 12),
            uniform(12),
            uniform(12),
            uniform(12, 20),
            uniform(20),
            uniform(20, 12),
            uniform(12),
        ),
        two_layers,
        cy.Schedule().space("i", "k"),
    ),
    "Lanczos": (
        cy.kernel(lanczos),
        (uniform(45, 45) + uniform(45, 45).T + np.eye(45), uniform(45), 6),
        lanczos,
        cy.Schedule().reduce("i", "tree", radix=8).space("i", "j"),
    ),
    "tracked alone": (
        cy.kernel(tracked_alone),
        (uniform(200), 0.01, 0.1),
        tracked_alone,
        ON_ROWS.fold(i=cy.cyclic(64)),
    ),
    "matrix chain": (matrix_chain, (uniform(15),), products, ON_ROWS),
    "long matrix chain": (matrix_chain, (uniform(18),), products, ON_ROWS),
}


@pytest.mark.parametrize("name", CASES)
def test_a_default_is_about_as_fast_as_what_a_reviewer_found(name):
    kernel, arguments, oracle, schedule = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if "chain" in name else "error")  # wider ones are refused
        program = kernel.compile(*copied(arguments), machine=MACHINE)
    result = cy.run(program, backend="sim")
    (value,) = result.outputs.values()
    right = oracle(*arguments)
    np.testing.assert_allclose(
        positive(value) if name == "householder" else value, right, rtol=1e-9, atol=1e-12
    )
    explicit = kernel.compile(*copied(arguments), machine=MACHINE, schedule=schedule)
    assert result.cycles <= 1.25 * cy.run(explicit, backend="sim").cycles
    assert np.count_nonzero(result.stats["busy"]) > 8


def test_a_loop_that_carries_a_number_goes_round_a_few_pes():
    x, starts = uniform(200), uniform(200) < 0.1
    program = cy.kernel(segmented_sums).compile(x, starts, machine=MACHINE)
    result = cy.run(program, backend="sim")
    np.testing.assert_array_equal(result.output, segmented_sums(x, starts))
    on_two = cy.Schedule().space("i", "0").fold(i=cy.cyclic(2))
    explicit = cy.kernel(segmented_sums).compile(x, starts, machine=MACHINE, schedule=on_two)
    assert result.cycles <= 1.1 * cy.run(explicit, backend="sim").cycles


def warnings_of(**choices):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program = sweeps.compile(np.ones((12, 12)), machine=ROW, **choices)
    return program, [one.message.code for one in caught]


def test_what_was_not_tried_to_its_end_is_named(golden_refusal):
    def compile_():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sweeps.compile(np.ones((12, 12)), machine=ROW)

    golden_refusal("not-tried-to-its-end", cy.PerformanceWarning, "CYC333", compile_)


def test_only_a_search_warns_of_it():
    program, codes = warnings_of()
    assert (program.grid, codes) == ((1, 1), ["CYC333"])
    _, codes = warnings_of(schedule=cy.Schedule().space("0", "t"))
    assert codes == []
