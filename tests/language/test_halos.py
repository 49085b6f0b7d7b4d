"""Of array programs on a grid of PEs only the halos cross links, exactly once a step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cyclotron as cy

GRID = cy.Schedule().space("i", "j").time("t")


def numbers(*shape: int) -> Any:
    """Small whole numbers, of which sums and products are exact."""
    return np.random.default_rng(1).integers(-4, 5, shape).astype(float)


@cy.kernel
def five_points(u, steps):
    for t in range(steps):
        u[1:-1, 1:-1] -= u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return u


@cy.kernel
def seven_points(u, steps):
    for t in range(steps):
        inner = u[1:-1, 1:-1, 1:-1]
        inner -= (
            u[:-2, 1:-1, 1:-1]
            + u[2:, 1:-1, 1:-1]
            + u[1:-1, :-2, 1:-1]
            + u[1:-1, 2:, 1:-1]
            + (u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:])
        )
    return u


def words_a_step(kernel: cy.Kernel, u: Any, schedule: cy.Schedule) -> int:
    """The words that cross links in each step after the first, which reads the input."""
    counts = []
    for steps in (2, 3):
        result = cy.run(kernel.compile(u, steps, schedule=schedule), backend="sim")
        np.testing.assert_array_equal(result.output, kernel.reference(u, steps))
        counts.append(sum(int(words.sum()) for words in result.stats["words_sent"].values()))
    return counts[1] - counts[0]


@pytest.mark.parametrize("shape", [(4, 5), (6, 6), (7, 3)])
def test_only_halos_of_five_points_cross_links(shape: tuple[int, int]) -> None:
    """Each inner point is sent once to each inner neighbour, both ways; the border never changes."""
    n, m = shape[0] - 2, shape[1] - 2
    assert words_a_step(five_points, numbers(*shape), GRID) == 2 * ((n - 1) * m + n * (m - 1))


def test_only_halos_of_blocks_cross_links() -> None:
    """Of 8 x 8 inner points the rows and columns on both sides of a cut between blocks."""
    schedule = GRID.fold(i=cy.block(4), j=cy.block(4))
    program = five_points.compile(numbers(10, 10), 3, schedule=schedule)
    rows, columns = cy.run(program, backend="sim").utilization.shape
    cuts = [
        sum(i // -(-10 // pes) != (i + 1) // -(-10 // pes) for i in range(1, 8)) for pes in (rows, columns)
    ]
    assert cuts == [2, 2]
    assert words_a_step(five_points, numbers(10, 10), schedule) == 2 * 8 * sum(cuts)


def test_only_halos_of_columns_cross_links() -> None:
    schedule = cy.Schedule().space("i", "j").time("t", "k")
    assert words_a_step(seven_points, numbers(5, 6, 4), schedule) == 2 * (2 * 4 + 3 * 3) * 2
