"""Sums whose first term needs the newest value: from the last term on, or a warning."""

import warnings

import numpy as np
import pytest

import cyclotron as cy

MACHINE = cy.Machine(grid=(8, 8))


@cy.kernel
def solved(U, b):
    x = np.zeros(len(b))
    for i in range(len(b) - 1, -1, -1):
        x[i] = (b[i] - U[i, i + 1 :] @ x[i + 1 :]) / U[i, i]
    return x


@cy.kernel
def solved_in_place(U, b):
    x = b.copy()
    for i in range(len(b) - 1, -1, -1):
        x[i] = (x[i] - np.dot(U[i, i + 1 :], x[i + 1 :])) / U[i, i]
    return x


@cy.kernel
def solved_by_text(U, b):
    x = np.zeros(len(b))
    for i in range(len(b) - 1, -1, -1):
        x[i] = (b[i] - sum(U[i, j] * x[j] for j in range(i + 1, len(b)))) / U[i, i]
    return x


@cy.kernel
def solved_by_text_reversed(U, b):
    x = np.zeros(len(b))
    for i in range(len(b) - 1, -1, -1):
        x[i] = (b[i] - sum(U[i, j] * x[j] for j in reversed(range(i + 1, len(b))))) / U[i, i]
    return x


@cy.kernel
def solved_forwards(L, b):
    x = np.zeros(len(b))
    for i in range(len(b)):
        x[i] = (b[i] - sum(L[i, j] * x[j] for j in range(i))) / L[i, i]
    return x


@cy.kernel
def counted(n):
    """Partitions of coins of all values: whole numbers, which have no order."""
    c = np.zeros(n, dtype=np.int64)
    c[0] = 1
    for i in range(1, n):
        c[i] = sum(c[i - k] * (k % 3) for k in range(1, i + 1))
    return c


@cy.kernel
def flipped(w, u, steps):
    for _ in range(steps):
        u = w @ u[::-1]
    return u


def system(n):
    rng = np.random.default_rng(n)
    return rng.random((n, n)) + n * np.eye(n), rng.random(n)


def run(kernel, *args):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        program = kernel.compile(*args, machine=MACHINE)
    result = cy.run(program, backend="sim")
    np.testing.assert_allclose(result.output, kernel.reference(*args), rtol=1e-11)
    return program, result.cycles, [w.message.code for w in seen]


@pytest.mark.parametrize("n", [7, 32])
@pytest.mark.parametrize("kernel", [solved, solved_in_place])
def test_sums_of_arrays_begin_with_the_oldest(kernel, n):
    A, b = system(n)
    program, cycles, _ = run(kernel, A, b)
    assert program.schedule.descending_indices == ("j",)
    assert cycles <= 4 * n  # each after the one before it: a division, a product, a difference and a hop
    assert "from the last term to the first" in str(program.explain())


def test_the_warning(golden_refusal):
    def compile_():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            solved_by_text.compile(*system(32), machine=MACHINE)

    golden_refusal("newest-comes-first", cy.PerformanceWarning, "CYC332", compile_)


def test_sums_of_the_text_keep_their_order_and_warn():
    program, cycles, codes = run(solved_by_text, *system(32))
    assert program.schedule.descending_indices == ()
    assert codes == ["CYC332"]
    _, reversed_cycles, codes = run(solved_by_text_reversed, *system(32))
    assert codes == []
    assert reversed_cycles * 3 < cycles


def test_those_that_begin_with_the_oldest_stay():
    program, _, codes = run(solved_forwards, *system(16))
    assert program.schedule.descending_indices == ()
    assert codes == []


def test_sums_of_whole_numbers_have_no_order():
    program, cycles, codes = run(counted, 32)
    assert program.schedule.descending_indices == ("k",)
    assert "CYC332" not in codes
    assert cycles < 200


def test_values_of_an_earlier_iteration_have_no_newest():
    A, u = system(9)
    program, *_ = run(flipped, A / 20, u, 3)
    assert program.schedule.descending_indices == ()
