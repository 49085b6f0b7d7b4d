"""Loops over `reversed(range(n))` and `range(n)[::-1]`: descending loops, recorded once, on every backend."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import cyclotron as cy

pytestmark = pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")


@cy.kernel
def back_substitution(U, b):
    n = b.shape[0]
    x = cy.zeros(n)
    for i in reversed(range(n)):
        x[i] = (b[i] - U[i, i + 1 :] @ x[i + 1 :]) / U[i, i]
    return x


@cy.kernel
def by_a_slice(U, b):
    n = b.shape[0]
    x = cy.zeros(n)
    for i in range(n)[::-1]:
        x[i] = (b[i] - U[i, i + 1 :] @ x[i + 1 :]) / U[i, i]
    return x


@cy.kernel
def elementwise(U, b):
    n = b.shape[0]
    x = cy.zeros_like(b)
    for i in reversed(range(n)):
        s = b[i]
        for j in reversed(range(i + 1, n)):
            s -= U[i, j] * x[j]
        x[i] = s / U[i, i]
    return x


@cy.kernel
def bounded_by_an_index(U, b):
    n = b.shape[0]
    X = cy.zeros_like(U)
    for i in range(n):
        for j in range(i)[::-1]:
            X[i, j] = U[j, i] + (X[i, j + 1] if j + 1 < i else b[i])
    return X


@cy.kernel
def with_steps(U, b):
    n, step = b.shape[0], 2
    x = cy.zeros_like(b)
    for i in reversed(range(1, n, step)):
        x[i] = b[i] + (x[i + 2] if i + 2 < n else 0)
    for i in reversed(range(n - 1, -1, -3)):
        x[i] += b[i] + (x[i - 3] if i >= 3 else 0)
    for i in reversed(range(4, 2)):
        x[i] = 0
    for i in range(3, 3, 2)[::-1]:
        x[i] = 0
    return x


@cy.kernel
def ends_early(U, b):
    x = cy.zeros_like(b)
    for i in reversed(range(len(b))):
        x[i] = b[i]
        if b[i] < 3:
            break
    return x


@cy.kernel
def between_data(U, b):
    rows = cy.cumsum(cy.ones(6, dtype="int64"))
    x = cy.zeros(6)
    for i in range(5):
        for k in reversed(range(rows[i], rows[i + 1])):
            x[i] = x[i] * 0.5 + b[k]
    return x


@cy.kernel
def summed(U, b):
    n = b.shape[0]
    total = sum(U[0, k] * b[k] for k in reversed(range(n)))
    x = cy.zeros_like(b)
    for i, j in zip(range(n), reversed(range(n)), strict=True):
        x[i] = b[j] * total
    return x


@cy.kernel
def rows_from_the_last(U, b):
    x = cy.zeros_like(b)
    for row, v in zip(reversed(U), b, strict=True):
        x = x * 0.5 + row * v
    for w in reversed(b):
        x = x * 0.5 + w
    return x


KERNELS = [
    back_substitution, by_a_slice, elementwise, bounded_by_an_index, with_steps, ends_early, between_data,
    summed, rows_from_the_last,
]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda one: one.name)
def test_loops_run_from_the_last_number_to_the_first(kernel):
    U = np.triu(2.0 ** np.arange(36).reshape(6, 6).clip(0, 5))
    b = np.array([5.0, 1, 4, 2, 8, 6])
    program = kernel.compile(U, b)
    expected = kernel.reference(U, b)
    for backend in ("sim", "local"):
        assert_array_equal(cy.run(program, U, b, backend=backend).output, expected, err_msg=backend)


@pytest.mark.parametrize("kernel", [back_substitution, by_a_slice])
def test_programs_do_not_grow_with_the_range(kernel):
    lengths = {
        len(str(kernel.compile(np.triu(np.ones((n, n))), np.ones(n))).splitlines()) for n in (12, 24, 48)
    }
    assert len(lengths) == 1
