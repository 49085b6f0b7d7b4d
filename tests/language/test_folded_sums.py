"""Sums over a grid with several points a PE: each PE adds up its own, then they pass the totals on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cyclotron as cy

GRID = cy.Schedule().space("i", "j").time("t")


@cy.kernel
def normalised(x):
    """A total that an outer expression uses, and all points after it."""
    return x / cy.sqrt(cy.sum(x * x))


@cy.kernel
def by_rows(x):
    """Totals of rows go back along them."""
    return x - cy.max(x, axis=1)[:, None]


@cy.kernel
def by_columns(x):
    """Totals of columns."""
    n, m = x.shape
    total, y = cy.empty((m,), dtype=x.dtype), cy.empty_like(x)
    for j in range(m):
        total[j] = sum(x[i, j] for i in range(n))
    for i in range(n):
        for j in range(m):
            y[i, j] = x[i, j] - total[j]
    return y


@cy.kernel
def both_ways(x):
    """Two totals of one step, along either axis, then one of both."""
    n, m = x.shape
    total, least, most = cy.empty((m,)), cy.empty((n,)), cy.empty((1,))
    y, z = cy.empty_like(x), cy.empty_like(x)
    for j in range(m):
        total[j] = sum(x[i, j] for i in range(n))
    for i in range(n):
        least[i] = min(x[i, j] for j in range(m))
    for i in range(n):
        for j in range(m):
            y[i, j] = total[j] + least[i]
    most[0] = max(y[i, j] for i in range(n) for j in range(m))
    for i in range(n):
        for j in range(m):
            z[i, j] = y[i, j] - most[0]
    return z


@cy.kernel
def again_and_again(x, steps):
    """Each step's total is used in it, by neighbours' values too, and in the next."""
    totals = cy.zeros((steps + 1,), dtype=x.dtype)
    for t in range(steps):
        y = cy.shift(x, 1, 0) + cy.shift(x, -1, 1)
        totals[t + 1] = cy.sum(y) - totals[t]
        x = y - totals[t + 1]
    return x, totals


@cy.kernel
def conjugate_gradient(b, steps):
    x, r, p = cy.zeros_like(b), b.copy(), b.copy()
    rho = cy.zeros((steps + 1,), dtype=b.dtype)
    rho[0] = cy.sum(b * b)
    for t in range(steps):
        q = 4 * p - cy.shift(p, 1, 0) - cy.shift(p, -1, 0) - cy.shift(p, 1, 1) - cy.shift(p, -1, 1)
        alpha = rho[t] / cy.sum(p * q)
        x += alpha * p
        r -= alpha * q
        rho[t + 1] = cy.sum(r * r)
        if rho[t + 1] < 1e-30:
            break
        p = r + rho[t + 1] / rho[t] * p
    return x, rho


def integers(shape: tuple[int, ...], dtype: str = "float64") -> np.ndarray[Any, Any]:
    """Numbers whose sums are exact in any order."""
    values = np.random.default_rng(5).integers(-3, 4, shape)
    return (values + 1j * values[::-1] if dtype.startswith("complex") else values).astype(dtype)


def agree(program: cy.Program, kernel: cy.Kernel, *arguments: Any, tolerance: float = 0.0) -> None:
    expected = kernel.reference(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    first = None
    for backend in ("sim", "local"):
        outputs = list(cy.run(program, backend=backend).outputs.values())
        for found, wanted in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
            assert found.dtype == wanted.dtype
        for found, same in zip(outputs, first or outputs, strict=True):
            np.testing.assert_array_equal(found, same)
        first = outputs


def deep(grid: tuple[int, int]) -> cy.Machine:
    """Borders of blocks cross both ways at once, into channels that hold them."""
    return cy.Machine(grid=grid, link=cy.Link(depth=64))


SHAPES = [
    ((4, 4), (2, 2)),
    ((7, 9), (3, 2)),
    ((5, 3), (1, 2)),
    ((3, 6), (2, 1)),
    ((4, 4), (1, 1)),
    ((1, 6), (1, 3)),
    ((6, 1), (4, 1)),
    ((1, 1), (2, 2)),
    ((5, 5), (4, 4)),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("shape", "grid"), SHAPES, ids=str)
@pytest.mark.parametrize("kernel", [by_rows, by_columns, both_ways], ids=lambda k: k.name)
def test_totals_of_several_points_a_pe(
    kernel: cy.Kernel, shape: tuple[int, int], grid: tuple[int, int]
) -> None:
    x = integers(shape)
    program = kernel.compile(x, schedule=cy.Schedule().space("i", "j"), machine=deep(grid))
    assert all(own <= most for own, most in zip(program.grid, grid, strict=True))
    agree(program, kernel, x)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128"])
@pytest.mark.parametrize(("shape", "grid"), SHAPES[:4], ids=str)
def test_totals_in_time_loops(shape: tuple[int, int], grid: tuple[int, int], dtype: str) -> None:
    x = integers(shape, dtype)
    program = again_and_again.compile(x, 2, schedule=GRID, machine=deep(grid))
    agree(program, again_and_again, x, 2)


@pytest.mark.parametrize(("shape", "grid"), SHAPES, ids=str)
def test_the_norm_of_all_points(shape: tuple[int, int], grid: tuple[int, int]) -> None:
    x = integers(shape) + 1.0
    program = normalised.compile(x, schedule=cy.Schedule().space("i", "j"), machine=deep(grid))
    agree(program, normalised, x, tolerance=1e-15)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("shape", "grid"), SHAPES, ids=str)
def test_conjugate_gradients_of_several_unknowns_a_pe(shape: tuple[int, int], grid: tuple[int, int]) -> None:
    b = np.zeros(shape)
    b[0, -1], b[-1, 0] = 1.0, -0.5
    program = conjugate_gradient.compile(b, 6, schedule=GRID, machine=deep(grid))
    agree(program, conjugate_gradient, b, 6, tolerance=1e-12)


def test_blocks_that_the_schedule_asks_for() -> None:
    x = integers((6, 8))
    schedule = cy.Schedule().space("i", "j").fold(i=cy.block(2), j=cy.block(3))
    program = both_ways.compile(x, schedule=schedule)
    assert program.grid == (2, 3)
    agree(program, both_ways, x)


def test_a_total_crosses_each_link_once() -> None:
    """The sum comes back to all 16 points of a PE in one message, from PE to PE."""

    @cy.kernel
    def centred(x):
        return x - cy.sum(x)

    x = integers((8, 8))
    program = centred.compile(x, schedule=cy.Schedule().space("i", "j"), machine=cy.Machine(grid=(2, 2)))
    agree(program, centred, x)
    channels = cy.run(program, backend="sim").stats["channels"]
    # The rows' totals go right, their sum down, and the total of all to the other three PEs.
    assert sum(channel["messages"] for channel in channels) == 8 + 1 + 3


EXACT = [((4, 4), (4, 4)), ((3, 5), (3, 5)), ((1, 4), (1, 4)), ((1, 1), (1, 1))]


@pytest.mark.parametrize(("shape", "grid"), EXACT, ids=str)
def test_outer_expressions_need_no_further_pe(shape: tuple[int, int], grid: tuple[int, int]) -> None:
    """The root of the sum is taken where the sum ends."""
    x = integers(shape) + 1.0
    for machine in (deep(grid), None):
        program = normalised.compile(x, schedule=cy.Schedule().space("i", "j"), machine=machine)
        assert program.grid == grid
        agree(program, normalised, x, tolerance=1e-15)
