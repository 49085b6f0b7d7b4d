"""Blocks that exchange borders: links of every depth carry them, with NumPy's bits and no more words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

sys.path.append(str(Path(__file__).parents[2] / "examples"))
import heat
import heat_3d
import ising
import kernels
import poisson
import shallow_water
import waves


@cy.kernel
def line(u, steps):
    for t in range(steps):
        u[2:-2] -= u[:-4] + 2 * u[1:-3] + 3 * u[3:-1] + 4 * u[4:]
    return u


@cy.kernel
def box(u, steps):
    for t in range(steps):
        u[1:-1, 1:-1] -= (
            (u[:-2, :-2] + 2 * u[:-2, 1:-1] + 3 * u[:-2, 2:])
            + (4 * u[1:-1, :-2] + 5 * u[1:-1, 2:])
            + (6 * u[2:, :-2] + 7 * u[2:, 1:-1] + 8 * u[2:, 2:])
        )
    return u


@cy.kernel
def torus(u, steps):
    for t in range(steps):
        u = u - (cy.roll(u, 1, 0) + 2 * cy.roll(u, -1, 0) + 3 * cy.roll(u, 1, 1) + 4 * cy.roll(u, -1, 1))
    return u


@cy.kernel
def then_a_total(u, steps):
    for t in range(steps):
        u[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] - u[1:-1, 1:-1] + u[1:-1, 2:]
    return u, cy.sum(u), cy.max(u)


@cy.kernel
def beside_a_product(u, a, b, steps):
    for t in range(steps):
        u[1:-1, 1:-1] += u[:-2, 1:-1] - u[2:, 1:-1] + 2 * u[1:-1, :-2] + 3 * u[1:-1, 2:]
    return u, a @ b


@cy.kernel
def rows_then_columns(u, steps):
    for t in range(steps):
        rows = u.copy()
        rows[:, 2:-2] = u[:, :-4] + 2 * u[:, 1:-3] - u[:, 2:-2] + 3 * u[:, 3:-1] + 4 * u[:, 4:]
        u[2:-2, 2:-2] = rows[:-4, 2:-2] - 2 * rows[1:-3, 2:-2] + rows[3:-1, 2:-2] + 5 * rows[4:, 2:-2]
    return u


@cy.kernel
def sweeps(u, steps):
    """Gauss-Seidel: of each step's values those behind, of the last step's those ahead."""
    n, m = u.shape
    x = cy.empty((steps + 1, n, m))
    for t in range(steps + 1):
        for i in range(n):
            for j in range(m):
                if t == 0 or i == 0 or j == 0 or i == n - 1 or j == m - 1:
                    x[t, i, j] = u[i, j]
                else:
                    around = x[t, i - 1, j] + x[t - 1, i + 1, j] + x[t, i, j - 1] + x[t - 1, i, j + 1]
                    x[t, i, j] = around - x[t - 1, i, j]
    return x


@cy.kernel
def sweeps_beside_borders(u, v, steps):
    x = cy.empty((steps + 1, u.shape[0]))
    for t in range(steps + 1):
        for i in range(u.shape[0]):
            if t == 0 or i == 0 or i == u.shape[0] - 1:
                x[t, i] = u[i]
            else:
                x[t, i] = x[t, i - 1] + x[t - 1, i + 1]
    for t in range(steps):
        v[1:-1] += v[:-2] - 2 * v[2:]
    return x, v


@cy.kernel
def rolls_both_ways(w, steps):
    for _t in range(steps):
        w = cy.roll(w, 2) - cy.roll(w, -2)
    return w


@cy.kernel
def older_beside_newer(u, steps):
    older = u.copy()
    total = u.copy()
    for _t in range(steps):
        newer = 2 * u - 1
        total[1:-1] = older[:-2] + 3 * older[2:]
        older = u
        u = newer
    return u, total


@cy.kernel
def shifted_columns(u, steps):
    for _t in range(steps):
        u[1:-1, 3:] = u[:-2, :-3] + 2 * u[2:, :-3]
    return u


@cy.kernel
def at_half_speed(x):
    n, steps = x.shape
    u, y = cy.empty_like(x), cy.zeros_like(x)
    for i in range(n):
        for t in range(steps):
            u[i, t] = x[i, t] if t == 0 else 2 * u[i, t - 1] - x[i, t]
    for i in range(1, n - 1):
        for t in range((steps + 1) // 2, steps):
            y[i, t] = u[i - 1, 2 * t - steps] + 3 * u[i + 1, 2 * t - steps]
    return y


@cy.kernel
def taking_turns(u, v, steps):
    for _t in range(steps):
        v[2:-2] -= v[3:-1] + u[3:-1]
        u, v = v, u
        v = 2 * v - u
    return u, v


@cy.kernel
def taking_turns_first(u, v, steps):
    for _t in range(steps):
        u, v = v, u
        u[2:-2] -= v[3:-1] - v[4:] - u[3:-1]
        v[2:-2] = v[3:-1] - v[4:]
    return u, v


@cy.kernel
def taking_turns_between(u, v, steps):
    for _t in range(steps):
        u = 2 * v - v
        u[2:-2] = u[:-4] - u[1:-3]
        u, v = v, u
        v[2:-2] += v[1:-3] - v[:-4] - u[:-4]
    return u, v


def numbers(*shape: int, dtype: str = "float64") -> Any:
    return np.random.default_rng(len(shape)).integers(-9, 10, shape).astype(dtype)


WALL = numbers(9, 8) > 5
CASES = {  # kernel, arguments, grids
    "1-D": (line, (numbers(23), 4), [(4,), (1,)]),
    "1-D, complex": (line, (numbers(29, dtype="complex128"), 3), [(3,)]),
    "5 points": (heat.heat, (numbers(11, 10), 4, 0.25), [(2, 2), (3, 2), (1, 4), (5, 1)]),
    "5 points, float32": (heat.heat, (numbers(9, 12, dtype="float32"), 3, 0.25), [(2, 3)]),
    "5 points, nothing inside": (heat.heat, (numbers(2, 9), 3, 0.25), [(1, 2)]),
    "9 points": (box, (numbers(10, 11, dtype="int64"), 3), [(2, 2), (3, 3), (1, 4)]),
    "round a torus": (torus, (numbers(12, 8, dtype="int64"), 3), [(3, 2), (4, 1)]),
    "3-D": (heat_3d.heat, (numbers(7, 6, 5), 3, 0.125), [(2, 2), (5, 1)]),
    "two time levels": (waves.waves, (numbers(9, 8), numbers(9, 8), WALL, 4, 0.25), [(2, 2), (1, 3)]),
    "staggered": (shallow_water.shallow_water, shallow_water.problem(7, 9, 3), [(2, 2), (3, 1)]),
    "then a total": (then_a_total, (numbers(8, 9), 3), [(2, 2), (1, 3)]),
    "beside a product": (
        beside_a_product,
        (numbers(10, 9), numbers(6, 5), numbers(5, 7), 3),
        [(2, 2), (1, 3), (3, 1)],
    ),
    "beside a product, int32": (
        beside_a_product,
        (*(numbers(*shape, dtype="int32") for shape in ((7, 11), (7, 1), (1, 5))), 3),
        [(2, 3)],
    ),
    "by way of rows": (rows_then_columns, (numbers(12, 11), 3), [(2, 2), (3, 1), (1, 2)]),
    "by way of rows, 5 wide": (rows_then_columns, (numbers(5, 5, dtype="complex64"), 2), [(2, 2)]),
    "sweeps": (sweeps, (numbers(9, 10), 4), [(2, 2), (3, 2), (1, 4)]),
    "sweeps beside borders": (sweeps_beside_borders, (numbers(13), numbers(14), 4), [(2,), (3,)]),
    "a total of each step, on a torus": (ising.ising, ising.problem(8, 6, 3), [(2, 2), (2, 3)]),
    # Steps make their own values before those of the last step are received.
    "two columns away": (rolls_both_ways, (numbers(8), 3), [(2,), (3,)]),
    "two columns away, a point a PE": (rolls_both_ways, (numbers(7), 4), [(3,), (7,)]),
    "values of two steps ago": (older_beside_newer, (numbers(8), 5), [(2,), (4,)]),
    # Two kinds of values go to one neighbour, one in the step that makes it.
    "two arrays take turns": (taking_turns, (numbers(10), 3 * numbers(10), 3), [(3,), (5,)]),
    "two arrays take turns, complex": (
        taking_turns,
        (numbers(8, dtype="complex64"), 3 * numbers(8, dtype="complex64"), 4),
        [(3,), (4,)],
    ),
    "two arrays take turns first": (taking_turns_first, (numbers(10), 3 * numbers(10), 3), [(3,), (1,)]),
    "two arrays take turns between": (
        taking_turns_between,
        (numbers(8, dtype="int64"), 3 * numbers(8, dtype="int64"), 3),
        [(3,), (2,)],
    ),
    # Values of neighbours are used ever fewer steps after they are made.
    "at half speed": (at_half_speed, (numbers(6, 14),), [(6,), (3,)]),
    "at half speed, int32": (at_half_speed, (numbers(7, 11, dtype="int32"),), [(7,), (2,)]),
    "at half speed, one step": (at_half_speed, (numbers(3, 1, dtype="float32"),), [(3,), (1,)]),
    "columns of a row": (shifted_columns, (numbers(6, 8), 3), [(2,), (3,)]),
    "until it converges": (poisson.jacobi, (numbers(8, 9), 1.0, 9), [(2, 2), (1, 3)]),
}


# Where the compiler would take fewer PEs than the grid has, and links would carry less or nothing.
PLACEMENTS = {
    "two columns away, a point a PE": cy.Schedule().space("i"),
    "by way of rows, 5 wide": cy.Schedule().space("i", "j"),
}


def on(grid: tuple[int, ...], depth: int | None, name: str) -> cy.Machine:
    link = cy.Link(depth=depth) if depth else cy.Link(depth=1 << 30)
    return cy.Machine(grid=grid, link=link, topology="torus" if "torus" in name else "mesh")


def words(result: cy.Result) -> int:
    return sum(int(sent.sum()) for sent in result.stats["words_sent"].values())


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "grid"), [(name, grid) for name, case in CASES.items() for grid in case[2]])
def test_links_of_any_depth_carry_borders(name, grid):
    kernel, arguments, _ = CASES[name]
    expected = kernel.reference(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    placement = PLACEMENTS.get(name)
    unbounded = kernel.compile(*arguments, schedule=placement, machine=on(grid, None, name))
    deep = cy.run(unbounded, backend="sim")
    for depth in (1, 2, 3):
        # The same placement: for shallow links the compiler may choose another, of more messages.
        schedule, machine = unbounded.schedule, on(grid, depth, name)
        program = kernel.compile(*arguments, schedule=schedule, machine=machine)
        for backend in ("sim", "local"):
            result = cy.run(program, backend=backend)
            for found, wanted in zip(result.outputs.values(), expected, strict=True):
                assert found.dtype == wanted.dtype
                assert np.array_equal(found, wanted)
            # Fewer where a loop ends early: what the next step would use has not been sent.
            assert backend == "local" or words(result) <= words(deep)


@cy.kernel
def backward_solve(U, b):
    n = b.shape[0]
    x = cy.empty_like(b)
    for i in range(n):
        x[i] = (b[i] - sum(U[i, j] * x[j] for j in range(i + 1, n))) / U[i, i]
    return x


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(("n", "dtype"), [(1, "float64"), (2, "float32"), (5, "complex128"), (8, "float64")])
def test_values_that_are_used_in_another_order_than_they_are_made(n, dtype, depth):
    """The next PE needs first the value that a PE computes last."""
    U = np.triu(numbers(n, n, dtype=dtype), 1) + np.eye(n, dtype=dtype)
    x = numbers(n, dtype=dtype)
    line = cy.Schedule().space("i", "0")  # by default one PE
    program = backward_solve.compile(U, U @ x, schedule=line, machine=on((8, 8), depth, ""))
    for backend in ("sim", "local"):
        assert np.array_equal(cy.run(program, backend=backend).output, x)
    assert cy.prove(program)


def test_that_they_are_sent_late_is_proven_and_takes_no_room():
    """A column of each PE, of which its neighbours need every value: none of them is kept twice."""
    columns = cy.Schedule().space("i", "j").time("t", "k")
    late, early = (
        heat_3d.heat.compile(numbers(8, 8, 40), 3, 0.125, schedule=columns, machine=on((8, 8), depth, ""))
        for depth in (2, 64)
    )
    assert any("links of every depth" in proof for proof in late.verify())
    assert not any("links of every depth" in proof for proof in early.verify())
    assert late.memory_bytes <= early.memory_bytes
    assert cy.prove(late.with_machine(on((8, 8), 1, "")))
    with pytest.raises(cy.DeadlockError):
        cy.prove(early.with_machine(on((8, 8), 1, "")))


@pytest.mark.parametrize(("rows", "columns", "inner"), [(4, 4, 4), (6, 5, 3), (3, 4, 1)])
def test_links_that_hold_what_is_on_the_way_need_no_late_sends(rows, columns, inner):
    """Products dealt out: each step uses what the last one made, before it sends its own."""
    dealt = cy.Schedule().space("i", "j").time("k").fold(i=cy.cyclic(2), j=cy.cyclic(3))
    A, B = numbers(rows, inner), numbers(inner, columns)
    program = kernels.matmul.compile(A, B, schedule=dealt, machine=on((2, 3), 2, "torus"))
    assert not any("links of every depth" in proof for proof in program.verify())
    assert np.array_equal(cy.run(program, backend="sim").output, A @ B)


def test_a_program_for_shallow_links_waits_for_no_depth():
    program = heat.heat.compile(numbers(14, 14), 4, 0.25, machine=on((2, 2), 2, ""))
    depths = program.least_depths()
    assert all(channel.least == 1 for channel in depths.channels)


@cy.kernel
def along_a_diagonal(u, steps):
    """In each step another column of elements goes to the neighbours."""
    K, N = u.shape
    y = cy.empty((steps + 1, K, N), u.dtype)
    for t in range(steps + 1):
        for k in range(K):
            for i in range(N):
                if t == 0:
                    y[t, k, i] = u[k, i]
                elif k == K - t and i > 0 and i < N - 1:
                    y[t, k, i] = y[t - 1, k, i] + y[t - 1, k, i - 1] + y[t - 1, k, i + 1]
                else:
                    y[t, k, i] = y[t - 1, k, i]
    return y


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("shape", [(3, 4), (5, 6)], ids=str)
def test_messages_of_other_places_in_each_step(shape, depth):
    u = np.arange(shape[0] * shape[1]).reshape(shape)
    schedule = cy.Schedule().space("i").time("t", "k")
    program = along_a_diagonal.compile(
        u, shape[0], schedule=schedule, machine=cy.Machine(link=cy.Link(depth=depth))
    )
    for backend in ("sim", "local"):
        result = cy.run(program, backend=backend)
        np.testing.assert_array_equal(result.output, along_a_diagonal.reference(u, shape[0]))
