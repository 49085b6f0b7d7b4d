"""Convolutions and filters."""

import numpy as np

import cyclotron as cy
from corpus.entry import SPACE, Entry, integers


@cy.kernel
def convolve(x, w, stride, dilation):
    """A valid convolution of a line."""
    n = (x.shape[0] - dilation * (w.shape[0] - 1) - 1) // stride + 1
    y = cy.empty((n,))
    for i in range(n):
        y[i] = sum(w[k] * x[stride * i + dilation * k] for k in range(w.shape[0]))
    return y


@cy.kernel
def convolve_handed_on(x, w):
    """Each element of the line enters once and is handed from tap to tap, against the sums."""
    taps = w.shape[0]
    n = x.shape[0] - taps + 1
    X = cy.empty((n, taps))
    y = cy.empty((n,))
    for i in range(n):
        for k in range(taps):
            X[i, k] = x[i + k] if i == 0 or k == taps - 1 else X[i - 1, k + 1]
        y[i] = sum(w[k] * X[i, k] for k in range(taps))
    return y


@cy.kernel
def convolve_image(x, w):
    """A valid convolution of an image."""
    n, m = x.shape[0] - w.shape[0] + 1, x.shape[1] - w.shape[1] + 1
    y = cy.empty((n, m))
    for i in range(n):
        for j in range(m):
            y[i, j] = sum(w[p, q] * x[i + p, j + q] for p in range(w.shape[0]) for q in range(w.shape[1]))
    return y


@cy.kernel
def convolve_channels(x, w, stride, dilation):
    """x (channels, rows, columns) with w (filters, channels, rows, columns)."""
    n = (x.shape[1] - dilation * (w.shape[2] - 1) - 1) // stride + 1
    m = (x.shape[2] - dilation * (w.shape[3] - 1) - 1) // stride + 1
    y = cy.empty((w.shape[0], n, m))
    for f in range(w.shape[0]):
        for i in range(n):
            for j in range(m):
                y[f, i, j] = sum(
                    w[f, c, p, q] * x[c, stride * i + dilation * p, stride * j + dilation * q]
                    for c in range(w.shape[1])
                    for p in range(w.shape[2])
                    for q in range(w.shape[3])
                )
    return y


@cy.kernel
def pointwise(x, w):
    """A 1 x 1 convolution mixes channels only."""
    y = cy.empty((w.shape[0], x.shape[1], x.shape[2]))
    for f in range(w.shape[0]):
        for i in range(x.shape[1]):
            for j in range(x.shape[2]):
                y[f, i, j] = sum(w[f, c] * x[c, i, j] for c in range(x.shape[0]))
    return y


@cy.kernel
def depthwise(x, w):
    """Each channel has its own filter."""
    n, m = x.shape[1] - w.shape[1] + 1, x.shape[2] - w.shape[2] + 1
    y = cy.empty((x.shape[0], n, m))
    for c in range(x.shape[0]):
        for i in range(n):
            for j in range(m):
                y[c, i, j] = sum(
                    w[c, p, q] * x[c, i + p, j + q] for p in range(w.shape[1]) for q in range(w.shape[2])
                )
    return y


@cy.kernel
def fir(x, h):
    """y[t] is a weighted sum of the latest inputs, fewer at the start."""
    y = cy.empty_like(x)
    for t in range(x.shape[0]):
        y[t] = sum(h[k] * x[t - k] for k in range(h.shape[0]) if k <= t)
    return y


@cy.kernel
def iir(x, b, a):
    """A recursive filter: a[k] weighs the output k + 1 steps ago."""
    y = cy.empty_like(x)
    for t in range(x.shape[0]):
        forward = sum(b[k] * x[t - k] for k in range(b.shape[0]) if k <= t)
        y[t] = forward - sum(a[k] * y[t - 1 - k] for k in range(a.shape[0]) if k < t)
    return y


@cy.kernel
def all_pole(x, a):
    """The recursive part alone, its sum over the outputs: the oldest comes first."""
    y = cy.empty_like(x)
    for t in range(x.shape[0]):
        y[t] = x[t] - sum(a[t - 1 - s] * y[s] for s in range(max(0, t - a.shape[0]), t))
    return y


@cy.kernel
def all_pole_padded(x, a):
    """The same with zeros before the first output; a counts backwards."""
    n, order = x.shape[0], a.shape[0]
    y = cy.zeros((n + order,))
    for t in range(n):
        y[t + order] = x[t] - sum(a[k] * y[t + k] for k in range(order))
    return y


@cy.kernel
def biquad(x, b, a):
    """The same of second order, its direct form spelt out."""
    y = cy.empty_like(x)
    for t in range(x.shape[0]):
        if t == 0:
            y[t] = b[0] * x[t]
        elif t == 1:
            y[t] = b[0] * x[t] + b[1] * x[t - 1] - a[0] * y[t - 1]
        else:
            y[t] = b[0] * x[t] + b[1] * x[t - 1] + b[2] * x[t - 2] - a[0] * y[t - 1] - a[1] * y[t - 2]
    return y


def lines(rng, n, taps, stride=1, dilation=1):
    return integers(rng, n), integers(rng, taps), stride, dilation


def correlate(x, w, strides, dilations):
    """x (channels, ...) with w (filters, channels, ...), by windows of strides."""
    extents = [d * (k - 1) + 1 for d, k in zip(dilations, w.shape[2:], strict=True)]
    axes = tuple(range(1, x.ndim))
    windows = np.lib.stride_tricks.sliding_window_view(x, extents, axes)
    step = tuple(slice(None, None, n) for n in (*strides, *dilations))
    windows = windows[(slice(None), *step)]
    inner = [0, *range(x.ndim, windows.ndim)]
    return np.tensordot(w, windows, axes=([1, *range(2, w.ndim)], inner))


def correlate_line(x, w, stride, dilation):
    return correlate(x[None], w[None, None], (stride,), (dilation,))[0]


def correlate_image(x, w):
    return correlate(x[None], w[None, None], (1, 1), (1, 1))[0]


def correlate_channels(x, w, stride, dilation):
    return correlate(x, w, (stride, stride), (dilation, dilation))


def each_channel(x, w):
    return np.stack([correlate_image(x[c], w[c]) for c in range(len(x))])


def filtered(x, b, a):
    """A convolution, then the system of the recursion solved."""
    n = len(x)
    forward = np.convolve(x, b)[:n]
    system = np.eye(n) + sum(np.diag(np.full(n - k, a[k - 1]), -k) for k in range(1, min(n - 1, len(a)) + 1))
    return np.linalg.solve(system, forward)


def images(*shapes):
    return lambda rng, *size: tuple(integers(rng, *(size[axis] for axis in shape)) for shape in shapes)


def filters(rng, n, *taps):
    return integers(rng, n), *(rng.integers(-1, 2, k).astype(float) for k in taps)


ENTRIES = {
    "convolve": Entry(
        convolve,
        lines,
        ((1, 1), (5, 5), (9, 3)),
        correlate_line,
        {
            "outputs": SPACE("i"),
            "weights stay": SPACE("k"),
            "weights loaded": SPACE("k").prefetch("w"),
            "grid": SPACE("i", "k"),
            "folded": SPACE("i").fold(i=2),
            "line handed on": SPACE("k").stream("x", along="-k"),
            "line handed on to outputs": SPACE("i").stream("x", along="-i"),
            "line handed on, folded": SPACE("k").stream("x", along="-k").fold(k=2),
        },
    ),
    "convolve-handed-on": Entry(
        convolve_handed_on,
        images((0,), (1,)),
        ((1, 1), (5, 5), (9, 3)),
        lambda x, w: np.correlate(x, w),
        {"weights stay": SPACE("k").prefetch("w"), "outputs": SPACE("i")},
    ),
    "convolve-strided": Entry(
        convolve,
        lines,
        ((9, 3, 2), (9, 3, 1, 2), (12, 3, 2, 3), (9, 3, 4, 1)),
        correlate_line,
        {"outputs": SPACE("i"), "weights stay": SPACE("k")},
    ),
    "convolve-image": Entry(
        convolve_image,
        images((0, 1), (2, 3)),
        ((1, 1, 1, 1), (4, 3, 2, 3), (5, 6, 3, 2)),
        correlate_image,
        {
            "outputs": SPACE("i", "j"),
            "weights stay": SPACE("p", "q"),
            "rows": SPACE("i"),
            "row": SPACE("i", "p"),
        },
    ),
    "convolve-channels": Entry(
        convolve_channels,
        lambda rng, stride, dilation: (integers(rng, 2, 5, 6), integers(rng, 3, 2, 2, 2), stride, dilation),
        ((2, 2), (1, 2)),
        correlate_channels,
        {"weights stay": SPACE("f", "c"), "taps": SPACE("p", "q"), "filters": SPACE("f")},
    ),
    "pointwise": Entry(
        pointwise,
        images((0, 1, 2), (3, 0)),
        ((1, 1, 1, 1), (2, 3, 2, 4)),
        lambda x, w: np.einsum("fc,cij->fij", w, x),
        {"weights stay": SPACE("f", "c"), "outputs": SPACE("i", "j")},
    ),
    "depthwise": Entry(
        depthwise,
        images((0, 1, 2), (0, 3, 4)),
        ((1, 1, 1, 1, 1), (2, 4, 5, 2, 3)),
        each_channel,
        {"channels": SPACE("c"), "outputs": SPACE("i", "j"), "weights stay": SPACE("p", "q")},
    ),
    "fir": Entry(
        fir,
        filters,
        ((1, 1), (2, 4), (7, 3)),
        lambda x, h: np.convolve(x, h)[: len(x)],
        {"outputs": SPACE("t"), "taps": SPACE("k"), "grid": SPACE("t", "k")},
    ),
    "iir": Entry(
        iir,
        filters,
        ((1, 1, 1), (7, 3, 2), (6, 1, 3)),
        filtered,
        {"outputs": SPACE("t"), "taps": SPACE("k")},
        tolerance=8,
    ),
    "all-pole": Entry(
        all_pole,
        filters,
        ((1, 1), (7, 3), (4, 6)),
        lambda x, a: filtered(x, np.ones(1), a),
        {"outputs": SPACE("t"), "taps": SPACE("t-s")},
        tolerance=8,
    ),
    "all-pole-padded": Entry(
        all_pole_padded,
        filters,
        ((1, 1), (2, 4), (7, 3)),
        lambda x, a: np.concatenate([np.zeros(len(a)), filtered(x, np.ones(1), a[::-1])]),
        {"outputs": SPACE("t"), "taps": SPACE("k")},
        tolerance=8,
    ),
    "biquad": Entry(
        biquad,
        lambda rng, n: filters(rng, n, 3, 2),
        ((1,), (2,), (7,)),
        filtered,
        {"outputs": SPACE("t")},
        tolerance=8,
    ),
}
