"""Scans, recurrences and sorting."""

import numpy as np

import cyclotron as cy
from corpus.entry import SPACE, Entry, integers


@cy.kernel
def running_maximum(x):
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] if i == 0 else max(y[i - 1], x[i])
    return y


@cy.kernel
def exclusive_scan(x):
    """The sums of what comes before."""
    y = cy.zeros_like(x)
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] + x[i - 1]
    return y


@cy.kernel
def suffix_sum(x):
    n = x.shape[0]
    y = cy.empty_like(x)
    for i in range(n - 1, -1, -1):
        y[i] = x[i] if i == n - 1 else y[i + 1] + x[i]
    return y


@cy.kernel
def scan_by_doubling(x):
    """Hillis and Steele's: each step adds what is twice as far to the left; three steps."""
    n = x.shape[0]
    S = cy.empty((4, n))
    for i in range(n):
        S[0, i] = x[i]
        S[1, i] = S[0, i] + S[0, i - 1] if i >= 1 else S[0, i]
        S[2, i] = S[1, i] + S[1, i - 2] if i >= 2 else S[1, i]
        S[3, i] = S[2, i] + S[2, i - 4] if i >= 4 else S[2, i]
    return S


@cy.kernel
def summed_area(A):
    """Sums over rectangles from the corner."""
    S = cy.empty_like(A)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if i == 0 and j == 0:
                S[i, j] = A[i, j]
            elif i == 0:
                S[i, j] = S[i, j - 1] + A[i, j]
            elif j == 0:
                S[i, j] = S[i - 1, j] + A[i, j]
            else:
                S[i, j] = S[i - 1, j] + S[i, j - 1] - S[i - 1, j - 1] + A[i, j]
    return S


@cy.kernel
def linear_recurrence(a, b):
    """x[i] = a[i] x[i - 1] + b[i]."""
    x = cy.empty_like(b)
    for i in range(b.shape[0]):
        x[i] = b[i] if i == 0 else a[i] * x[i - 1] + b[i]
    return x


@cy.kernel
def fibonacci(x):
    """x[i] with two earlier values."""
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] if i < 2 else y[i - 1] + y[i - 2] + x[i]
    return y


@cy.kernel
def vector_recurrence(A, b):
    """x[t] = A x[t - 1] + b[t], for a matrix A."""
    x = cy.empty_like(b)
    for t in range(b.shape[0]):
        for i in range(b.shape[1]):
            if t == 0:
                x[t, i] = b[t, i]
            else:
                x[t, i] = b[t, i] + sum(A[i, k] * x[t - 1, k] for k in range(b.shape[1]))
    return x


@cy.kernel
def horner(c, x):
    """A polynomial at many points: c[0] + c[1] x + ..."""
    n = c.shape[0]
    P = cy.empty((n, x.shape[0]))
    y = cy.empty_like(x)
    for j in range(x.shape[0]):
        for i in range(n):
            P[i, j] = c[n - 1] if i == 0 else P[i - 1, j] * x[j] + c[n - 1 - i]
        y[j] = P[n - 1, j]
    return y


@cy.kernel
def odd_even_sort(x):
    """n steps of compare and exchange with the left or the right neighbour."""
    n = x.shape[0]
    S = cy.empty((n + 1, n))
    for t in range(n + 1):
        for i in range(n):
            if t == 0:
                S[t, i] = x[i]
            elif (t + i) % 2 == 0 and i > 0:
                S[t, i] = max(S[t - 1, i - 1], S[t - 1, i])
            elif (t + i) % 2 == 1 and i < n - 1:
                S[t, i] = min(S[t - 1, i], S[t - 1, i + 1])
            else:
                S[t, i] = S[t - 1, i]
    return S


@cy.kernel
def insertion_sort(x):
    """Each PE keeps the least of what passes and hands on the rest."""
    n = x.shape[0]
    keep, rest = cy.empty((n, n)), cy.empty((n, n))
    y = cy.empty_like(x)
    for i in range(n):
        for t in range(i, n):
            if i == 0 and t == 0:
                keep[i, t] = x[t]
                rest[i, t] = x[t]
            elif i == 0:
                keep[i, t] = min(keep[i, t - 1], x[t])
                rest[i, t] = max(keep[i, t - 1], x[t])
            elif t == i:
                keep[i, t] = rest[i - 1, t]
                rest[i, t] = rest[i - 1, t]
            else:
                keep[i, t] = min(keep[i, t - 1], rest[i - 1, t])
                rest[i, t] = max(keep[i, t - 1], rest[i - 1, t])
        y[i] = keep[i, n - 1]
    return y


def vectors(count):
    return lambda rng, n: tuple(integers(rng, n) for _ in range(count))


def states(A, b):
    x = [b[0]]
    for row in b[1:]:
        x.append(A @ x[-1] + row)
    return np.array(x)


def doubled(x):
    """The sums of the last 1, 2, 4 and 8 elements."""
    return np.array([np.convolve(x, np.ones(2**s))[: len(x)] for s in range(4)])


def fibonacci_solved(x):
    n = len(x)
    A = np.eye(n) - np.eye(n, k=-1) - np.eye(n, k=-2)
    A[:2] = np.eye(2, n)[:n]
    return np.round(np.linalg.solve(A, x))


def linear_solved(a, b):
    return np.round(np.linalg.solve(np.eye(len(b)) - np.diag(a[1:], -1), b))


def odd_even_steps(x):
    """The states; the last one is sorted."""
    S = [x]
    for t in range(1, len(x) + 1):
        new = S[-1].copy()
        for i in range(2 - t % 2 if t % 2 == 0 else 1, len(x), 2):
            new[i - 1 : i + 1] = np.sort(new[i - 1 : i + 1])
        S.append(new)
    np.testing.assert_array_equal(S[-1], np.sort(x))
    return np.array(S)


LENGTHS = ((1,), (2,), (7,))

LINE = {"line": SPACE("i")}


ENTRIES = {
    "running-maximum": Entry(running_maximum, vectors(1), LENGTHS, np.maximum.accumulate, LINE),
    "exclusive-scan": Entry(exclusive_scan, vectors(1), LENGTHS, lambda x: np.cumsum(x) - x, LINE),
    "suffix-sum": Entry(suffix_sum, vectors(1), LENGTHS, lambda x: np.cumsum(x[::-1])[::-1], LINE),
    "scan-by-doubling": Entry(
        scan_by_doubling,
        vectors(1),
        ((1,), (5,), (11,)),
        doubled,
        {"line": SPACE("i")},
    ),
    "summed-area": Entry(
        summed_area,
        lambda rng, n, m: (integers(rng, n, m),),
        ((1, 1), (1, 4), (4, 3)),
        lambda A: A.cumsum(0).cumsum(1),
        {"rows": SPACE("i"), "columns": SPACE("j"), "grid": SPACE("i", "j")},
    ),
    "linear-recurrence": Entry(linear_recurrence, vectors(2), LENGTHS, linear_solved, LINE),
    "fibonacci": Entry(fibonacci, vectors(1), LENGTHS, fibonacci_solved, {"line": SPACE("i")}),
    "vector-recurrence": Entry(
        vector_recurrence,
        lambda rng, steps, n: (integers(rng, n, n), integers(rng, steps, n)),
        ((1, 1), (3, 1), (4, 3)),
        states,
        {"steps": SPACE("t"), "rows": SPACE("i")},
    ),
    "horner": Entry(
        horner,
        lambda rng, n, m: (integers(rng, n), integers(rng, m)),
        ((1, 1), (1, 3), (5, 1), (4, 3)),
        lambda c, x: np.polynomial.polynomial.polyval(x, c),
        {"coefficients": SPACE("i"), "points": SPACE("j"), "grid": SPACE("i", "j")},
    ),
    "odd-even-sort": Entry(
        odd_even_sort,
        vectors(1),
        ((1,), (2,), (6,)),
        odd_even_steps,
        {"line": SPACE("i"), "steps": SPACE("t")},
    ),
    "insertion-sort": Entry(
        insertion_sort,
        vectors(1),
        LENGTHS,
        np.sort,
        {"line": SPACE("i"), "triangle": SPACE("i", "t")},
    ),
}
