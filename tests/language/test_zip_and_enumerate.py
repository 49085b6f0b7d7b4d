"""Loops and sums over what arrays hold, beside each other and counted, as the same text in Python."""

from __future__ import annotations

import numpy as np
import pytest

import cyclotron as cy


def counted(A, u, v, w):
    y = u * 0
    for i, a in enumerate(u):
        y[i] = a * i
    return y


def beside(A, u, v, w):
    s = 0.0
    for a, b in zip(u, v):
        s += a * b
    return s


def counted_from_two(A, u, v, w):
    y = w
    for i, (a, b) in enumerate(zip(u, v), start=2):
        y[i] = a - b
        y[i + 1] += b
    return y, i, a


def rows_with_weights(A, u, v, w):
    y = A[0] * 0
    for row, b in zip(A, v):
        y += row * b
    return y


def with_numbers(A, u, v, w):
    y = u * 0
    for i, a, b in zip(range(4, 0, -1), u, range(2, 9)):
        y[i] = a + b
    return y


def place_of_the_largest(A, u, v, w):
    best, place = u[0], 0
    for i, a in enumerate(u):
        if a > best:
            best, place = a, i
    return best, place


def until_less(A, u, v, w):
    n = 0
    for i, (a, b) in enumerate(zip(u, v)):
        if a < b:
            break
        n += i
    return n


def elements_of_rows(A, u, v, w):
    y = v * 0
    s = 0.0
    for i, row in enumerate(A):
        for j, a in enumerate(row):
            y[i] += a * v[j]
        for a in row:
            s += a * i
    return y, s


def of_what_changes(A, u, v, w):
    for i, a in enumerate(u):
        u[i] = a + 1
    for a, b in zip(u[1:], u[:-1]):
        u[0] += a * b
    return u


def under_a_condition(A, u, v, w):
    s = 0.0
    for i, a in enumerate(u[::-1]):
        if i % 2 == 0:
            s -= a
    return s


def reductions(A, u, v, w):
    total = sum(a * b for a, b in zip(u, v))
    return total, max(abs(a - 2) for a in u), sum(x for row in A for x in row), any(a > 7 for a in v)


def reductions_in_loops(A, u, v, w):
    y = v * 0
    for i, row in enumerate(A):
        y[i] = sum(a * b for a, b in zip(row, v)) + sum(a * (k + 1) for k, a in enumerate(row) if k != i)
    return y, all(a < b for a, b in zip(v, v[1:]))  # noqa: RUF007 (pairs are taken so, too)


FUNCTIONS = [
    counted, beside, counted_from_two, rows_with_weights, with_numbers, place_of_the_largest, until_less,
    elements_of_rows, of_what_changes, under_a_condition, reductions, reductions_in_loops,
]  # fmt: skip
A = np.arange(12.0).reshape(4, 3)
U = np.array([3.0, 1, 4, 1, 5])
V = np.array([2.0, 7, 1, 8])


@pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
def test_gives_what_python_gives(function, dtype):
    given = [one.astype(dtype) for one in (A, U, V, np.zeros(8))]
    expected = function(*(one.copy() for one in given))
    expected = expected if isinstance(expected, tuple) else (expected,)
    program = cy.kernel(function).compile(*given)
    for backend in ("sim", "local"):
        found = cy.run(program, backend=backend).outputs.values()
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == np.asarray(other).dtype
            np.testing.assert_array_equal(one, other)


def test_the_counter_is_the_index_of_schedules():
    program = cy.kernel(counted).compile(A, U, V, V, schedule=cy.Schedule().space("i"))
    assert program.grid == (5,)


def strictly(u, v):
    s = 0.0
    for a, b in zip(u, v, strict=True):
        s += a * b
    return s


def test_other_lengths_are_refused_where_they_must_be_equal():
    assert cy.run(cy.kernel(strictly), V, V).output == V @ V
    with pytest.raises(cy.TraceError, match="5, 4 long") as caught:
        cy.kernel(strictly).compile(U, V)
    assert caught.value.code == "CYC102"
