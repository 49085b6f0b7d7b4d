"""Loops that keep the largest or the smallest number of what they compute, beside other statements."""

import numpy as np
import pytest
from numpy_oracle import check_against_numpy

import cyclotron as cy

pytestmark = pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")


def alignment(a, b):
    n, m = len(a), len(b)
    H = np.zeros((n + 1, m + 1), dtype="int64")
    best = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            H[i, j] = max(0, H[i - 1, j - 1] + (3 if a[i - 1] == b[j - 1] else -2), H[i - 1, j] - 1)
            best = max(best, H[i, j])
    return H, best


def relaxation(a, b):
    u, n, steps, change = a / 2, len(a), 0, 1.0
    while change > 0.5:
        change = 0.0
        for i in range(1, n - 1):
            old = u[i]
            u[i] = (u[i - 1] + u[i + 1] + b[i]) / 4
            change = max(change, abs(u[i] - old))
        steps += 1
    return u, steps


def both_ends(a, b):
    low, high = a[0], a[0]
    y = np.zeros(len(a))
    for i in range(len(a)):
        y[i] = a[i] * b[i]
        if y[i] < low:
            low = y[i]
        if high <= a[i] - b[i]:
            high = a[i] - b[i]
    return y / 2, low, high


def nearest(a, b):
    best = 1000 * abs(a[0] - b[0])
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            best = min(best, (a[i] - a[j]) ** 2 + (b[i] - b[j]) ** 2)
    return best


def of_rows(a, b):
    y = np.zeros(len(a))
    for k in range(len(a)):
        top = -1000
        for i in range(0, k, 2):
            y[i] += a[i] * k
            top = max(top, a[i] + b[k])
        y[k] = top
    return y


def over_items(a, b):
    best = a[0]
    for v, w in zip(a, b, strict=True):
        best = min(best, v - 2 * w)
    for i in range(1, 1):
        best = max(best, a[i])
    return best


def of_indices(a, b):
    best = 0
    for i in range(len(a)):
        best = max(best, i * (5 - i))
    return best + a[0]


def of_data(a, b):
    n = np.abs(b).astype("int64") % 4
    best, low, y = a[0] * 0 - 1000, a[0] * 0 + 1000, np.zeros(4)
    for i in range(4):
        for k in range(n[i]):
            best = max(best, a[k] - b[k])
        y[i] = a[i]
    for i in range(4):
        first = n[i]
        for k in range(first, first + 2):
            y[i] += a[k]
            low = min(low, a[k])
    return y, best, low


def read_in_the_loop(a, b):
    best, at = a[0], 0
    y = np.zeros(len(a))
    for i in range(len(a)):
        if a[i] > best:
            best = a[i]
            at = i
        y[i] = best
    return y, best, at


def ends_early(a, b):
    best = a[0]
    for i in range(len(a)):
        if a[i] == b[i]:
            break
        best = max(best, a[i])
    return best


BODIES = [
    alignment, relaxation, both_ends, nearest, of_rows, over_items, of_indices, of_data, read_in_the_loop,
    ends_early,
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
@pytest.mark.parametrize("dtype", ["float64", "int64", "float32"])
def test_extremes_are_pythons(body, dtype):
    rng = np.random.default_rng(len(body.__name__))
    if body is relaxation and dtype == "int64":
        dtype = "float64"
    check_against_numpy(body, *rng.integers(-9, 9, (2, 8)).astype(dtype), rtol=1e-6)


@pytest.mark.parametrize("start", [0, 2])
@pytest.mark.parametrize("largest", [True, False])
def test_terms_that_are_no_numbers_are_left_out(start, largest):
    def kept(x):
        best = x[start]
        for i in range(len(x)):
            best = max(best, x[i]) if largest else min(best, x[i])
        return best

    def by_call(x):
        best = x[start]
        for i in range(len(x)):
            best = max(best, x[i])
        return best

    def by_test(x):
        best = x[start]
        for i in range(len(x)):
            if x[i] < best:
                best = x[i]
        return best

    x = np.array([1.0, np.nan, np.nan, 4.0, -2.0, np.nan])
    for body in (kept, by_call, by_test):
        np.testing.assert_array_equal(cy.kernel(body)(x), body(x))


@pytest.mark.parametrize("backend", ["sim", "local"])
def test_they_wait_for_no_other_number(backend):
    program = cy.kernel(alignment).compile(
        cy.spec((48,), "int64"), cy.spec((48,), "int64"), schedule=cy.Schedule().space("i", "j")
    )
    a, b = np.random.default_rng(3).integers(0, 4, (2, 48))
    result = cy.run(program, a, b, backend=backend)
    right = alignment(a, b)
    np.testing.assert_array_equal(result.outputs["H"], right[0])
    assert result.outputs["best"] == right[1]
    if backend == "sim":
        assert result.cycles < 12 * 48  # one after the other they would take 48 * 48
