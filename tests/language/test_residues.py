"""Loops with steps and conditions with `%` and `//`: domains that are not convex."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import agree, record

import cyclotron as cy

SPACE = cy.Schedule().space
ONE_PE = cy.Schedule()


def integers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-3, 4, shape).astype(float)


@cy.kernel
def both_ways(x):
    n = len(x)
    y = cy.empty_like(x)
    for i in range(0, n, 2):
        y[i] = 2 * x[i]
    for i in range(n - 1 - n % 2, 0, -2):
        y[i] = -x[i]
    return y


@cy.kernel
def back_substitution(U, b):
    """A loop that counts down runs in Python's order, whatever the index of the schedule."""
    n = len(b)
    X = cy.empty_like(b)
    for i in range(n - 1, -1, -1):
        X[i] = b[i] - sum(U[i, k] * X[k] for k in range(n - 1, i, -1))
    return X


@cy.kernel
def filled_between(x):
    y = cy.zeros_like(x)
    for i in range(1, len(x) - 1, 3):
        y[i] = x[i]
    return y


@cy.kernel
def zones(x):
    y = cy.zeros_like(x)
    for i in range(len(x)):
        if i % 4 == 0:
            y[i] = x[i]
        elif i // 3 == 1:
            y[i] = -x[i]
        elif i // 2 > 3 and i % 2:
            y[i] = x[i] + 1
        elif not i % 3 and 2 <= i // 2 < 7:
            y[i] = 5
    return y


@cy.kernel
def comparisons(x):
    y = cy.zeros((len(x), 4))
    for i in range(len(x)):
        for j in range(4):
            if j == i // 4 and i // 3 != 2 and i // 2 <= 6 and 2 * i // 3 >= j:
                y[i, j] = x[i] if i % 5 > 2 else (x[i] - 1 if i % 5 == j else (2 if i % 2 != 1 else 7))
    return y


@cy.kernel
def checkerboard(A):
    n, m = A.shape
    X = cy.empty_like(A)
    for i in range(n):
        for j in range(m):
            if (i + j) % 2 == 0:
                X[i, j] = 2 * A[i, j]
    for i in range(n):
        for j in range(m):
            if (i + j) % 2 == 1:
                X[i, j] = A[i, j] + (X[i - 1, j] if i > 0 else 0) + (X[i, j - 1] if j > 0 else A[i, 0])
    return X


@cy.kernel
def sums_of_even_columns(A):
    x = cy.zeros(A.shape[0])
    for i in range(A.shape[0]):
        for k in range(0, A.shape[1], 2):
            x[i] += A[i, k]
    return x


@cy.kernel
def clamped_down(A):
    n = A.shape[0]
    X = cy.zeros_like(A)
    for i in range(n):
        for j in range(min(i + 1, n - 1, 3), max(-1, i - 3), -1):
            X[i, j] = A[i, j] - sum(A[i, k] for k in range(min(i, 2), max(-1, i - 3), -1))
    return X


@cy.kernel
def strided_prefix(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        y[i] = x[i] + (y[i - 3] if i >= 3 else 0)
    return y


CASES = {
    "both ways": (both_ways, lambda n: (integers(n),), [SPACE("i")]),
    "back substitution": (
        back_substitution,
        lambda n: (np.triu(integers(n, n), 1), integers(n)),
        [SPACE("i")],
    ),
    "filled between": (filled_between, lambda n: (integers(n),), [SPACE("i")]),
    "zones": (zones, lambda n: (integers(2 * n),), [SPACE("i")]),
    "comparisons": (comparisons, lambda n: (integers(2 * n),), [SPACE("i"), SPACE("j")]),
    "checkerboard": (checkerboard, lambda n: (integers(n, 4),), [SPACE("i"), SPACE("j"), SPACE("i", "j")]),
    "even columns": (sums_of_even_columns, lambda n: (integers(3, n),), [SPACE("i"), SPACE("k")]),
    "clamped down": (clamped_down, lambda n: (integers(n, n),), [SPACE("i")]),
    "strided prefix": (strided_prefix, lambda n: (integers(n),), []),
}


@pytest.mark.parametrize("size", [1, 2, 5, 8])
@pytest.mark.parametrize("case", CASES)
def test_recurrences_mean_what_python_computes(case: str, size: int) -> None:
    """CY-004 CY-005: `%` and `//` on indices, and every step of a range."""
    kernel, arguments, _ = CASES[case]
    agree(kernel, *arguments(size))


@pytest.mark.parametrize("size", [1, 5, 8])
@pytest.mark.parametrize(
    ("case", "schedule"), [(c, s) for c, (*_, more) in CASES.items() for s in [None, ONE_PE, *more]], ids=str
)
def test_programs_compute_it(case: str, schedule: cy.Schedule | None, size: int) -> None:
    """CY-004: a residue class is a part of the domain in every stage; the PEs of a class may lie apart."""
    kernel, make, _ = CASES[case]
    arguments = make(size)
    program = kernel.compile(*arguments, schedule=schedule)
    expected = kernel.reference(*arguments)
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, expected)


def test_printed_and_saved(tmp_path) -> None:
    """A residue reads as one writes it, and a program file keeps it."""
    text = str(checkerboard.recurrences(integers(4, 4)))
    assert "(i+j) mod 2 = 0\n" in text
    assert "(i+j) mod 2 = 1\n" in text
    program = zones.compile(integers(16), schedule=SPACE("i"))
    program.save(tmp_path / "zones.json")
    loaded = cy.load(tmp_path / "zones.json")
    np.testing.assert_array_equal(
        cy.run(loaded, integers(16), backend="sim").output, zones.reference(integers(16))
    )


def test_index_of_a_descending_loop() -> None:
    """With a negative step the index of the schedule counts from the start, in the order of the loop."""
    assert "X[-i+4] = b[-i+4] - " in str(back_substitution.recurrences(integers(5, 5), integers(5)))
    system = record(both_ways, integers(6))
    assert system.equations[0].index == [([1], 0)]
    assert system.equations[1].index == [([-1], 5)]


def test_constant_ranges_are_one_conjunction() -> None:
    """The elements that the fill value completes are one equation, whatever the step."""
    system = record(filled_between, integers(9))
    assert len(system.equations) == 2
