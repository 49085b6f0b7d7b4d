"""Loops of solvers as textbooks write them, at sizes at which isl joins what larger ones keep apart."""

import numpy as np
import pytest

import cyclotron as cy


def jacobi(A, b):
    x = b.copy()
    for i in range(b.shape[0]):
        s = b[i]
        for j in range(b.shape[0]):
            if i != j:
                s -= A[i, j] * b[j]
        x[i] = s / A[i, i]
    return x


def off_diagonal(A, b):
    for i in range(b.shape[0]):
        s = 0.0
        for j in range(b.shape[0]):
            if i != j:
                s += A[i, j]
        b[i] = b[i] - s
    return b


def over_relaxation(A, b):
    x = b.copy()
    for _t in range(3):
        for i in range(b.shape[0]):
            s = 0.0
            for j in range(b.shape[0]):
                if i != j:
                    s += A[i, j] * x[j]
            x[i] = x[i] + 1.1 * ((b[i] - s) / A[i, i] - x[i])
    return x


def bodies(x, v):
    for _t in range(3):
        a = 0.0 * x
        for i in range(x.shape[0]):
            for j in range(x.shape[0]):
                if i != j:
                    d = x[j] - x[i]
                    a[i] += d / (abs(d) ** 3 + 0.1)
        v = v + 0.1 * a
        x = x + 0.1 * v
    return x


def in_two_ranges(x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            if (i < 2 and j < 1) or (i >= 2 and j < 3):
                y[i] += x[j]
    return y


def fixed_point(A, b):
    e = 1.0
    while e > 1e-6:
        e = 0.0
        for i in range(b.shape[0]):
            s = 0.0
            for j in range(b.shape[0]):
                s += A[i, j] * b[j]
            b[i] = 0.01 * s
            e += abs(b[i])
    return b


def inner_fixed_point(A, b):
    for _t in range(2):
        e = 1.0
        while e > 1e-3:
            e = 0.0
            for i in range(b.shape[0]):
                s = 0.0
                for j in range(b.shape[0]):
                    s += A[i, j] * b[j]
                b[i] = 0.02 * s
                e += abs(b[i])
        b = b + 1.0
    return b


def pairs(A, x):
    e = 1.0
    while e > 1e-3:
        e = 0.0
        for i in range(x.shape[0]):
            for j in range(i + 1, x.shape[0]):
                d = 0.25 * (x[i] - x[j])
                x[i] = x[i] - d
                x[j] = x[j] + d
                e += abs(d)
    return x


def rows_in_place(row, column, x):
    for i in range(x.shape[0]):
        for k in range(row[i], row[i + 1]):
            x[i] += x[column[k]]
    return x


def rows_but_the_diagonal(row, column, x):
    for i in range(x.shape[0]):
        for k in range(row[i], row[i + 1]):
            if column[k] != i:
                x[i] += x[column[k]]
    return x


def sparse_gauss_seidel(row, column, value, b, x):
    e = 1.0
    while e > 1e-3:
        e = 0.0
        for i in range(x.shape[0]):
            s = b[i]
            for k in range(row[i], row[i + 1]):
                s -= value[k] * x[column[k]]
            x[i] = x[i] + 0.2 * s
            e += abs(0.2 * s)
    return x


DENSE = [jacobi, off_diagonal, over_relaxation, in_two_ranges, fixed_point, inner_fixed_point, pairs]
SPARSE = [rows_in_place, rows_but_the_diagonal, sparse_gauss_seidel]


def arguments(function, n):
    rng = np.random.default_rng(n)
    b, x = rng.random(n), rng.random(n)
    if function in (bodies, in_two_ranges):
        return x, b
    full = rng.random((n, n)) + 2 * np.eye(n)
    if function in DENSE:
        return full, b
    kept = (rng.random((n, n)) < 0.5) | np.eye(n, dtype=bool)
    row = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    column, value = np.nonzero(kept)[1], full[kept]
    return (row, column, value, b, x) if function is sparse_gauss_seidel else (row, column, x)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("function", [*DENSE, bodies, *SPARSE])
def test_gives_what_plain_python_gives_and_ends_early(function, n, recwarn):
    values = arguments(function, n)
    with np.errstate(all="ignore"):
        expected = function(*(one.copy() for one in values))
    result = cy.run(cy.kernel(function).compile(*values), *values, backend="sim")
    np.testing.assert_allclose(result.output, expected, rtol=1e-12, atol=1e-12)
    assert result.cycles < 100_000  # of a million iterations
    assert not [one for one in recwarn if "CYC331" in str(one.message)]
