"""Loops that do not run at these sizes: schedules may name their indices all the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cyclotron as cy

S = cy.Schedule()


@cy.kernel
def heat(u, steps):
    for t in range(steps):
        u[1:-1] += 0.5 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@cy.kernel
def norms(x, steps):
    """A tensor that the loop fills, and one that it assigns anew."""
    totals = cy.zeros((steps + 1,))
    for t in range(steps):
        totals[t + 1] = cy.sum(x * x)
        x = x - totals[t + 1]
    return x, totals


@cy.kernel
def product(A, B):
    C = cy.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
    return C


SCHEDULES = [
    S.space("i").time("t"),
    S.time("t"),
    S.space("t", "i"),
    S.space("i").time("i+t"),
]


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
@pytest.mark.parametrize("kernel", [heat, norms], ids=lambda kernel: kernel.name)
def test_no_steps(kernel: cy.Kernel, schedule: cy.Schedule, n: int) -> None:
    u = np.arange(n, dtype=float)
    expected: Any = kernel.reference(u.copy(), 0)
    program = kernel.compile(u, 0, schedule=schedule)
    assert "t" in program.recurrences.indices
    for backend in ("sim", "local"):
        outputs = cy.run(program, backend=backend).outputs.values()
        for found, wanted in zip(outputs, expected if kernel is norms else (expected,), strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0, 3), (2, 3, 0), (0, 0, 0)], ids=str)
def test_products_of_empty_matrices(shape: tuple[int, int, int]) -> None:
    n, k, m = shape
    A, B = np.ones((n, k)), np.ones((k, m))
    program = product.compile(A, B, schedule=S.space("i", "j").time("k"))
    np.testing.assert_array_equal(cy.run(program).output, A @ B)


def test_other_names_are_refused() -> None:
    with pytest.raises(cy.ScheduleError) as caught:
        heat.compile(np.ones(4), 0, schedule=S.space("i").time("s"))
    assert caught.value.code == "CYC310"
    assert "it has: t, i" in caught.value.help
