"""Sums over windows that overlap: convolutions of tiles, which read their neighbours' edges."""

import time

import numpy as np
import pytest
from loading import kernel_of
from mutations import plain
from numpy.lib.stride_tricks import sliding_window_view

import cyclotron as cy

ONE = cy.Schedule()
CONV2D_TEXT = """
def kernel(A, W):
    O = cy.empty((A.shape[0] - W.shape[0] + 1, A.shape[1] - W.shape[1] + 1))
    for i in range(O.shape[0]):
        for j in range(O.shape[1]):
            O[i, j] = sum(A[i + p, j + q] * W[p, q] for p in range(W.shape[0]) for q in range(W.shape[1]))
    return O
"""
CONV2D = kernel_of(CONV2D_TEXT)
ACCUMULATED = kernel_of("""
def kernel(A, W):
    O = cy.zeros((A.shape[0] - W.shape[0] + 1, A.shape[1] - W.shape[1] + 1))
    for p in range(W.shape[0]):
        for q in range(W.shape[1]):
            for i in range(A.shape[0] - W.shape[0] + 1):
                for j in range(A.shape[1] - W.shape[1] + 1):
                    O[i, j] += W[p, q] * A[p + i, j + q]
    return O
""")
CHANNELS = kernel_of("""
def kernel(A, W):
    O = cy.empty((W.shape[0], A.shape[1] - W.shape[2] + 1, A.shape[2] - W.shape[3] + 1))
    for f in range(O.shape[0]):
        for i in range(O.shape[1]):
            for j in range(O.shape[2]):
                O[f, i, j] = sum(
                    A[c, i + p, j + q] * W[f, c, p, q]
                    for c in range(A.shape[0]) for p in range(W.shape[2]) for q in range(W.shape[3])
                )
    return O
""")
ALONG = kernel_of("""
def kernel(A, w):
    O = cy.empty((A.shape[0], A.shape[1] - w.shape[0] + 1))
    for i in range(O.shape[0]):
        for j in range(O.shape[1]):
            O[i, j] = sum(A[i, j + q] * w[q] for q in range(w.shape[0]))
    return O
""")
VECTOR = kernel_of("""
def kernel(a, w, b):
    o = cy.empty(a.shape[0] - w.shape[0] + 1)
    for i in range(o.shape[0]):
        o[i] = 0.5 * b[i] - 2.0 * sum(w[p] * a[i + p] for p in range(w.shape[0]))
    return o
""")
TWICE = kernel_of("""
def kernel(A, W):
    B = cy.empty((A.shape[0] - W.shape[0] + 1, A.shape[1] - W.shape[1] + 1))
    O = cy.empty((A.shape[0] - 2 * W.shape[0] + 2, A.shape[1] - 2 * W.shape[1] + 2))
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] = sum(A[i + p, j + q] * W[p, q] for p in range(W.shape[0]) for q in range(W.shape[1]))
    for i in range(O.shape[0]):
        for j in range(O.shape[1]):
            O[i, j] = sum(B[i + p, j + q] * W[p, q] for p in range(W.shape[0]) for q in range(W.shape[1]))
    return O
""")
SHAPES = [
    ((10, 12), (3, 3)),
    ((8, 8), (3, 3)),
    ((7, 5), (1, 1)),
    ((9, 9), (4, 3)),
    ((13, 6), (1, 5)),
    ((3, 4), (3, 4)),
]


def correlate(a, w):
    """Return the sums over the windows of `a`, by NumPy."""
    return np.einsum("ijpq,pq->ij", sliding_window_view(a, w.shape), w)


def check(kernel, given, expected, tile):
    result = cy.run(kernel.compile(*given, schedule=ONE, tile=tile)).output
    np.testing.assert_allclose(result, expected, rtol=1e-12, err_msg=f"tiles of {tile}")


@pytest.mark.parametrize(("shape", "window"), SHAPES)
@pytest.mark.parametrize("kernel", [CONV2D, ACCUMULATED])
def test_convolutions_are_numpys(kernel, shape, window):
    random = np.random.default_rng(0)
    given = random.random(shape), random.random(window)
    for tile in (1, 2, 3, 4, 5, 64, {"i": 2, "j": 5}):
        check(kernel, given, correlate(*given), tile)


@pytest.mark.parametrize("tile", [1, 2, 3, 4, 20])
def test_windows_of_channels_lines_and_results(tile):
    random = np.random.default_rng(0)
    image, weights = random.random((3, 9, 7)), random.random((2, 3, 3, 2))
    expected = [sum(correlate(a, w) for a, w in zip(image, of, strict=True)) for of in weights]
    check(CHANNELS, (image, weights), expected, tile)
    check(ALONG, (image[0], weights[0, 0, :, 0]), correlate(image[0], weights[0, 0, :, :1].T), tile)
    a, w, b = random.random(11), random.random(4), random.random(8)
    check(VECTOR, (a, w, b), 0.5 * b - 2 * np.correlate(a, w), tile)
    w = weights[0, 0]
    check(TWICE, (image[0], w), correlate(correlate(image[0], w), w), tile)


def test_classes_are_exact_and_few():
    def classes(n, m):
        return [
            (c.tensor, c.operators) for c in CONV2D.block(cy.spec((n, m)), cy.spec((3, 3)), tile=8).classes
        ]

    assert classes(18, 34) == [("O", ("join", "conv"))]  # the last tiles read as many
    assert classes(21, 34) == classes(101, 1002) == [("O", ("join", "conv"))] * 2
    blocking = CONV2D.block(cy.spec((21, 34)), cy.spec((3, 3)), tile=8)
    assert sorted(c.tiles for c in blocking.classes) == [
        "0 <= i <= 1 and 0 <= j <= 3",
        "i = 2 and 0 <= j <= 3",
    ]
    assert blocking.tiles == {"i": 8, "j": 8, "p": 3, "q": 3}
    assert "the weights of windows are one tile" in blocking.explain()
    assert "O where i = 2 and 0 <= j <= 3: join -> conv" in str(blocking)


def test_time_of_blocking_does_not_depend_on_shapes():
    shapes = cy.spec((10_000, 8_000)), cy.spec((5, 5))
    CONV2D.recurrences(*shapes)
    least = float("inf")
    for tile in (64, 65, 66, 67):
        start = time.process_time()
        CONV2D.block(*shapes, tile=tile)
        least = min(least, time.process_time() - start)
    assert least < 0.05


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64"])
def test_backends_agree_bit_for_bit(dtype):
    random = np.random.default_rng(0)
    given = [(9 * random.standard_normal(shape)).astype(dtype) for shape in ((12, 9), (3, 2))]
    kernel = kernel_of("""
def kernel(A, W):
    O = cy.empty((A.shape[0] - W.shape[0] + 1, A.shape[1] - W.shape[1] + 1), A.dtype)
    for i in range(O.shape[0]):
        for j in range(O.shape[1]):
            O[i, j] = sum(A[i + p, j + q] * W[p, q] for p in range(W.shape[0]) for q in range(W.shape[1]))
    return O
""")
    program = kernel.compile(*given, tile=4)
    local = cy.run(program, backend="local").output
    np.testing.assert_allclose(local, correlate(*given), rtol=1e-4)
    for other in (cy.run(program, backend="sim"), *(cy.run(program, backend="mpi", ranks=r) for r in (2, 3))):
        np.testing.assert_array_equal(other.output, local)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A[i + p, j + q]", "A[2 * i + p, j + q]"),
        ("A[i + p, j + q]", "A[i + 2 * p, j + q]"),
        ("A[i + p, j + q]", "A[i + q, j + p]"),
        ("A[i + p, j + q]", "A[j + p, i + q]"),
        ("A[i + p, j + q]", "A[i + W.shape[0] - 1 - p, j + q]"),
        ("W[p, q] for", "W[q, p] for"),
        ("W[p, q] for", "W[p, q] * W[p, q] for"),
        ("W[p, q] for", "W[p, 0] for"),
        ("for p in range(W.shape[0])", "for p in range(1, W.shape[0])"),
        ("for p in range(W.shape[0])", "for p in range(W.shape[0] - 1)"),
        ("for p in range(W.shape[0]) for q in range(W.shape[1])", "for p in range(3) for q in range(p + 1)"),
        ("= sum(", "= 1.0 + sum("),
        ("= sum(", "= -sum("),
        ("] * W", "] / W"),
    ],
)
def test_other_windows_are_refused_or_right(old, new):
    few = CONV2D_TEXT.replace("(A.shape[0] - W.shape[0] + 1, A.shape[1] - W.shape[1] + 1)", "(7, 7)")
    text = few.replace(old, new)
    assert text != few
    kernel, random = kernel_of(text), np.random.default_rng(0)
    given = random.random((17, 17)), random.random((3, 3))
    for tile in (1, 2, 3, 8):
        try:
            program = kernel.compile(*given, schedule=ONE, tile=tile)
        except cy.LegalityError as error:
            if error.code != "CYC231":
                raise
            continue
        np.testing.assert_allclose(cy.run(program).output, *plain(text, *given), rtol=1e-12)
