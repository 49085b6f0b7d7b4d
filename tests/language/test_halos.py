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


def words_a_step(kernel: cy.Kernel, u: Any, schedule: cy.Schedule, machine: cy.Machine | None = None) -> int:
    """The words that cross links in each step after the first, which reads the input."""
    counts = []
    for steps in (2, 3):
        result = cy.run(kernel.compile(u, steps, schedule=schedule, machine=machine), backend="sim")
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


@cy.kernel
def drift(u, steps):
    for t in range(steps):
        u = u + cy.shift(u, 1, 0)
        u = u - cy.roll(u, -1, 1)
    return u


@pytest.mark.parametrize("shape", [(4, 5), (1, 4), (5, 1)])
def test_new_arrays_lie_where_arrays_as_long_do(shape: tuple[int, int]) -> None:
    """However far the neighbours are that an array is computed from: as many PEs as elements."""
    program = drift.compile(numbers(*shape), 3, schedule=GRID)
    assert cy.run(program, backend="sim").utilization.shape == shape
    n, m = shape
    back = n * (m - 1)  # the first column passes all PEs of its row
    assert words_a_step(drift, numbers(*shape), GRID) == (n - 1) * m + n * (m - 1) + back


@pytest.mark.parametrize("shape", [(4, 5), (3, 3), (1, 4)])
def test_rolls_take_the_links_that_wrap_around(shape: tuple[int, int]) -> None:
    """A hop for each element, where on a mesh the first column passes all PEs of its row."""
    torus = cy.Machine(grid=shape, topology="torus")
    words = words_a_step(drift, numbers(*shape), GRID, torus)
    assert words == (shape[0] - 1) * shape[1] + shape[0] * shape[1]
