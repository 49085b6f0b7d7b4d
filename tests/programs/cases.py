"""Every kernel under every schedule and size: exact on integers, within LAPACK's bounds on random tiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import array_kernels
import kernels
import numpy as np

import cyclotron as cy

EPSILON = np.finfo(float).eps
THRESHOLD = 30.0  # LAPACK's


@dataclass(frozen=True)
class Case:
    """A kernel, a schedule and arguments; `exact` where every backend must equal NumPy bit for bit."""

    name: str
    kernel: cy.Kernel
    schedule: cy.Schedule | None
    arguments: tuple[Any, ...]
    exact: bool

    def compile(self) -> cy.Program:
        return self.kernel.compile(*self.arguments, schedule=self.schedule)


SPACE = cy.Schedule().space
SIZES = (1, 2, 3, 5, 8, 16)

MATMUL = {
    "output-stationary": cy.schedules.output_stationary(kernels.matmul),
    "weight-stationary": cy.schedules.weight_stationary(kernels.matmul),
    "input-stationary": cy.schedules.input_stationary(kernels.matmul),
    "summa": cy.schedules.summa(kernels.matmul),
    "pumma": cy.schedules.pumma(kernels.matmul),
    "pumma-A": SPACE("i", "j").broadcast("A").stream("B"),
    "one-row": SPACE("j"),
    "reduction-in-space": SPACE("k"),
    "three-dimensional": SPACE("i", "j", "k"),
    "one-pe": cy.Schedule(),
    "default": None,
}
SOLVE = {
    "B-streamed": SPACE("i").stream("B", along="i"),
    "B-prefetched": SPACE("i").prefetch("B"),
    "B-broadcast": SPACE("i").broadcast("B", along="i"),
    "L-streamed": SPACE("i", "r").stream("L", along="r"),
    "L-prefetched": SPACE("i").prefetch("L"),
    "X-broadcast": SPACE("i").broadcast("X", along="i"),
    "triangle": SPACE("i", "j"),
    "columns": SPACE("r"),
    "one-pe": cy.Schedule(),
    "default": None,
}
SOLVE_VECTOR = {
    "b-streamed": SPACE("i").stream("b", along="i"),
    "b-prefetched": SPACE("i").prefetch("b"),
    "b-broadcast": SPACE("i").broadcast("b", along="i"),
    "L-prefetched": SPACE("i").prefetch("L"),
    "triangle": SPACE("i", "j"),
    "one-pe": cy.Schedule(),
}
ARRAYS = {"one-pe": cy.Schedule(), "rows": SPACE("i").time("t"), "points": SPACE("i", "j").time("t")}
CHOLESKY = {
    "grid": SPACE("i", "j"),
    "grid-transposed": SPACE("j", "i"),
    "rows": SPACE("i"),
    "columns": SPACE("j"),
    "A-prefetched": SPACE("i", "j").prefetch("A"),
    "L-broadcast": SPACE("i", "j").broadcast("L"),
    "one-pe": cy.Schedule(),
    "default": None,
}
PREFIX = {"line": SPACE("i"), "one-pe": cy.Schedule(), "default": None}


def integers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-3, 4, shape).astype(float)


def unit_triangle(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lower triangular with +-1 on the diagonal: every step of a solve is exact."""
    triangle = np.tril(integers(rng, n, n), -1)
    np.fill_diagonal(triangle, rng.choice([1.0, -1.0], n))
    return triangle


def factor(rng: np.random.Generator, n: int) -> np.ndarray:
    """L of an exact Cholesky factorisation."""
    triangle = np.tril(rng.integers(-1, 2, (n, n)).astype(float), -1)
    np.fill_diagonal(triangle, rng.choice([1.0, 2.0], n))
    return triangle


def all_cases() -> Iterator[Case]:
    rng = np.random.default_rng(1988)
    shapes = [(n, n, n) for n in SIZES] + [(3, 4, 5), (5, 1, 2), (1, 5, 3), (8, 2, 1)]
    for name, schedule in MATMUL.items():
        for n, k, m in shapes:
            arguments = integers(rng, n, k), integers(rng, k, m)
            yield Case(f"matmul/{name}/{n}x{k}x{m}", kernels.matmul, schedule, arguments, True)
        tiles = cy.blocked(integers(rng, 7, 9), (3, 4)), cy.blocked(integers(rng, 9, 5), (4, 2))
        yield Case(f"matmul/{name}/ragged-tiles", kernels.matmul, schedule, tiles, True)
        tiles = (
            cy.blocked(rng.standard_normal((16, 12)), (4, 4)),
            cy.blocked(rng.standard_normal((12, 8)), (4, 4)),
        )
        yield Case(f"matmul/{name}/random-tiles", kernels.matmul, schedule, tiles, False)
    for name, schedule in SOLVE.items():
        for n, m in [(n, n) for n in SIZES] + [(5, 1), (5, 3), (1, 4)]:
            arguments = unit_triangle(rng, n), integers(rng, n, m)
            yield Case(f"solve/{name}/{n}x{m}", kernels.solve_scalar, schedule, arguments, True)
        L = np.tril(rng.standard_normal((9, 9))) + 4 * np.eye(9)
        tiles = cy.blocked(L, (2, 2)), cy.blocked(rng.standard_normal((9, 5)), (2, 3))
        yield Case(f"solve/{name}/ragged-tiles", kernels.solve, schedule, tiles, False)
        tiles = cy.blocked(L, (2, 2)), cy.blocked(rng.standard_normal((5, 9)), (3, 2))
        yield Case(f"solve-right/{name}/ragged-tiles", kernels.solve_right, schedule, tiles, False)
        exact = cy.blocked(unit_triangle(rng, 6), (2, 2)), cy.blocked(integers(rng, 4, 6), (2, 2))
        yield Case(f"solve-right/{name}/exact-tiles", kernels.solve_right, schedule, exact, True)
    for name, schedule in SOLVE_VECTOR.items():
        for n in SIZES:
            arguments = unit_triangle(rng, n), integers(rng, n)
            yield Case(f"solve-vector/{name}/{n}", kernels.solve_vector, schedule, arguments, True)
    for name, schedule in PREFIX.items():
        for n in SIZES:
            yield Case(f"prefix/{name}/{n}", kernels.prefix_sum, schedule, (rng.integers(-9, 10, n),), True)
        tiles = (cy.blocked(integers(rng, 12), (3,)),)
        yield Case(f"prefix/{name}/tiles", kernels.prefix_sum, schedule, tiles, True)
    for name, schedule in CHOLESKY.items():
        for n in SIZES:
            L = factor(rng, n)
            yield Case(f"cholesky/{name}/{n}", kernels.cholesky_scalar, schedule, (L @ L.T,), True)
        M = rng.standard_normal((9, 9))
        A = M @ M.T + 9 * np.eye(9)
        yield Case(
            f"cholesky/{name}/ragged-tiles", kernels.cholesky, schedule, (cy.blocked(A, (2, 2)),), False
        )
    for name, schedule in ARRAYS.items():
        u, f = integers(rng, 6, 7), integers(rng, 6, 7)
        yield Case(f"heat/{name}/6x7", array_kernels.heat, schedule, (u, 3), True)
        yield Case(f"red-black/{name}/6x7", array_kernels.red_black, schedule, (u, f, 2), True)


def residual_ratio(case: Case, output: np.ndarray) -> float:
    """LAPACK's test ratio: error / (n * norm * eps), to stay below the threshold."""
    arrays = [getattr(argument, "array", argument) for argument in case.arguments]

    def norm(matrix: np.ndarray) -> float:
        return float(np.linalg.norm(np.atleast_2d(matrix), 1))

    if case.kernel is kernels.matmul:
        bound = np.abs(arrays[0]) @ np.abs(arrays[1])
        return float(np.max(np.abs(output - arrays[0] @ arrays[1]) / bound)) / EPSILON / arrays[0].shape[1]
    if case.kernel is kernels.solve:
        error = norm(arrays[1] - np.tril(arrays[0]) @ output)
        return error / (norm(arrays[0]) * norm(output) * EPSILON)
    if case.kernel is kernels.solve_right:
        error = norm(arrays[1] - output @ np.tril(arrays[0]).T)
        return error / (norm(arrays[0]) * norm(output) * EPSILON)
    assert case.kernel is kernels.cholesky
    error = norm(output @ output.T - arrays[0])
    return error / (output.shape[0] * norm(arrays[0]) * EPSILON)
