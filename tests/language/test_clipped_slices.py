"""Slices that the ends of an array clip, by `max` and `min` of an index, and as NumPy does by itself."""

import math

import numpy as np
import pytest
from numpy_oracle import check_against_numpy

import cyclotron as cy

pytestmark = pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")


def blocks(x, y):
    n = x.shape[0]
    for b in range(0, n, 4):
        y[b : b + 4] = x[b : b + 4] - np.mean(x[b : b + 4])
    return y


def batches(A, w):
    for s in range(0, A.shape[0], 3):
        part = A[s : s + 3]
        w = w - (part.T @ (part @ w)) / part.shape[0]
    return w


def products(A, B):
    n = A.shape[0]
    C = np.zeros((n, n))
    for i in range(0, n, 4):
        e = min(i + 4, n)
        for j in range(0, n, 3):
            for k in range(0, n, 5):
                C[i:e, j : j + 3] += A[i:e, k : min(k + 5, n)] @ B[k : k + 5, j : j + 3]
    return C


def boxes(A, B):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            window = A[max(i - 1, 0) : i + 2, max(j - 2, 0) : min(j + 2, m)]
            B[i, j] += np.max(window) * window.shape[1] - np.sum(window)
    return B


def banded(A, B):
    n = A.shape[0]
    A = A + 9 * np.eye(n)
    for k in range(n - 1):
        e = min(k + 3, n)
        A[k + 1 : e, k] /= A[k, k]
        A[k + 1 : e, k + 1 : e] -= np.outer(A[k + 1 : e, k], A[k, k + 1 : e])
    return A


def same_size(x, y):
    n, w = x.shape[0], np.array([1.0, -2.0, 4.0, 8.0, 16.0])
    for i in range(n):
        y[i] = np.sum(x[max(0, i - 2) : min(n, i + 3)] * w[max(0, 2 - i) : min(5, n + 2 - i)])
    return y


def backwards(x, y):
    for i in range(x.shape[0]):
        k = min(3, i + 1)
        y[i] = np.dot(y[:k], x[i - k + 1 : i + 1][::-1]) + k
    return y


def of_parts(x, y):
    for k in range(3):
        part = x[k:].copy()
        part[0] += np.sum(part)
        scaled = part / np.sqrt(np.sum(part * part))
        y[k:] += scaled * np.sum(scaled[:3])
    return y


@pytest.mark.parametrize("body", [blocks, batches, products, boxes, banded, same_size, backwards, of_parts])
@pytest.mark.parametrize("n", [7, 10, 12])
def test_clipped_slices_take_the_elements_that_numpy_takes(body, n):
    shapes = {"batches": ((n, 4), (4,)), "boxes": ((n, 6), (n, 6))}
    shape = (n, n) if body in (products, banded) else (n,)
    rng = np.random.default_rng(n)
    operands = (rng.integers(1, 9, one).astype(float) for one in shapes.get(body.__name__, (shape, shape)))
    check_against_numpy(body, *operands, rtol=1e-12)


def window(first, last, least, most):
    def body(x, y):
        for i in range(x.shape[0]):
            start = max(least, i + first, 0)
            y[i] += np.sum(x[start : min(i + last, most)])
            y[start : i + last] *= 2
        return y

    return body


@pytest.mark.parametrize("seed", range(40))
def test_windows_of_any_size(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    first, least = int(rng.integers(-4, 1)), int(rng.integers(0, 2))
    body = window(first, int(rng.integers(1, 5)), least, int(rng.integers(1, n + 3)))
    check_against_numpy(body, *rng.integers(-8, 9, (2, n)).astype(float))


def moving_mean(x):
    n, y = x.shape[0], np.zeros_like(x)
    for i in range(n):
        y[i] = np.mean(x[max(0, i - 2) : i + 3])
    return y


def test_a_window_reads_only_what_it_takes():
    program = cy.kernel(moving_mean).compile(cy.spec((64,)), schedule=cy.Schedule().space("i"))
    cycles = cy.run(program, backend="sim", functional=False).cycles
    longer = cy.kernel(moving_mean).compile(cy.spec((512,)), schedule=cy.Schedule().space("i"))
    assert cy.run(longer, backend="sim", functional=False).cycles == cycles
    assert math.prod(longer.grid) == 512


def by_blocks(x, y):
    for b in range(0, x.shape[0], 4):
        part = x[b : b + 4] * 2
        for _ in range(3):
            part = part * part + y[b : b + 4]
        y[b : b + 4] = np.sqrt(part) - part
    return y


def sliding(x, y):
    for t in range(y.shape[0] - 3):
        part = x[t : t + 4] * y[:4]
        y[t + 3] = np.sum(part * part)
    return y


def test_what_a_loop_makes_of_a_part_lies_where_that_does():
    program = cy.kernel(by_blocks).compile(cy.spec((30,)), cy.spec((30,)), schedule=cy.Schedule().space("i"))
    assert not program.channels
    check_against_numpy(by_blocks, *np.random.default_rng(0).random((2, 30)), rtol=1e-14)


def test_but_not_where_iterations_share_places():
    check_against_numpy(sliding, *np.random.default_rng(1).random((2, 9)), rtol=1e-14)
    program = cy.kernel(sliding).compile(cy.spec((1000,)), cy.spec((1000,)), schedule=cy.Schedule())
    assert program.memory.classes[0].data < 200


def below(x):
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = np.sum(x[i - 2 : i + 1])
    return y


def of_two_sizes(x):
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = np.sum(x[i : i + 3] * x[max(0, i - 2) : i + 1])
    return y


def after(x):
    total = 0.0
    for b in range(0, x.shape[0], 3):
        part = 2 * x[b : b + 3]
        total += np.sum(part)
    return total + np.sum(part)


@pytest.mark.parametrize(
    ("body", "error", "says"),
    [
        (below, cy.TraceError, "`i - 2` of a slice of `x` may lie outside"),
        (of_two_sizes, cy.ShapeError, "do not conform: axis -1 has"),
        (after, cy.TraceError, "depends on the index of a loop"),
    ],
)
def test_refusals_name_the_bounds(body, error, says):
    with pytest.raises(error, match=says.replace("(", r"\(")) as raised:
        cy.kernel(body).compile(cy.spec((8,)))
    assert raised.value.span is not None
