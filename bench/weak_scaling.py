"""Weak scaling of array programs on a wafer: conjugate gradients, a point a PE, and a 7-point stencil.

Cycles of a step, simulated on `cy.machines.wse2`; the reductions' share is what a step costs more with its
sums than with factors that are known, the control's what it costs more with its test of convergence. Both
programs are static, so that no controller takes part; a row of PEs below the points works out the factors.
The bound: one step of conjugate gradients on the whole wafer simulated in 10 s.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from common import options, write

import cyclotron as cy

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from conjugate_gradient import conjugate_gradient

GRID = cy.Schedule().space("i", "j")
WAFER = (750, 950)
COLUMN = 32  # Points of the stencil's third axis, in the memory of each PE; its links hold as many words.


@cy.kernel
def without_test(b, steps):
    """Conjugate gradients that never stand still."""
    x, r, p = cy.zeros_like(b), cy.zeros_like(b), cy.zeros_like(b)
    rho = cy.zeros((steps + 1,), dtype=b.dtype)
    r[...] = b
    p[...] = b
    rho[0] = cy.sum(b * b)
    for t in range(steps):
        q = 4 * p - cy.shift(p, 1, 0) - cy.shift(p, -1, 0) - cy.shift(p, 1, 1) - cy.shift(p, -1, 1)
        alpha = rho[t] / cy.sum(p * q)
        x += alpha * p
        r -= alpha * q
        rho[t + 1] = cy.sum(r * r)
        p[...] = r + rho[t + 1] / rho[t] * p
    return x


@cy.kernel
def without_sums(b, alpha, beta, steps):
    """The same steps with factors that are known."""
    x, r, p = cy.zeros_like(b), cy.zeros_like(b), cy.zeros_like(b)
    r[...] = b
    p[...] = b
    for t in range(steps):  # noqa: B007
        q = 4 * p - cy.shift(p, 1, 0) - cy.shift(p, -1, 0) - cy.shift(p, 1, 1) - cy.shift(p, -1, 1)
        x += alpha * p
        r -= alpha * q
        p[...] = r + beta * p
    return x


@cy.kernel
def seven_points(u, c, steps):
    """The explicit heat equation in three dimensions."""
    for t in range(steps):  # noqa: B007
        around = u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
        around = around + u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:]
        u[1:-1, 1:-1, 1:-1] += c * (around - 6 * u[1:-1, 1:-1, 1:-1])
    return u


def cycles_of_a_step(kernel: cy.Kernel, *arguments: Any, order: tuple[str, ...] = ("t",)) -> int:
    """The second step's, past the filling of the grid."""
    shape = arguments[0].shape
    found = []
    for steps in (2, 3):
        machine = replace(cy.machines.wse2(shape[0] + 1, shape[1]), link=cy.Link(depth=COLUMN))
        program = kernel.compile(*arguments, steps, schedule=GRID.time(*order), machine=machine)
        found.append(cy.run(program, backend="sim", functional=False).cycles)
    return int(found[1] - found[0])


def measure(shape: tuple[int, int]) -> dict[str, Any]:
    """Everything of one grid."""
    plane, block = cy.spec(shape), cy.spec((*shape, COLUMN))
    full = cycles_of_a_step(conjugate_gradient, plane, 1e-12)
    untested = cycles_of_a_step(without_test, plane)
    local = cycles_of_a_step(without_sums, plane, 0.2, 0.1)
    figures = {
        "grid": shape,
        "cg_cycles": full,
        "reduction_share": (untested - local) / full,
        "control_share": (full - untested) / full,
        "stencil_cycles": cycles_of_a_step(seven_points, block, 0.1, order=("t", "k")),
    }
    shares = f"sums {figures['reduction_share']:.0%}, test {figures['control_share']:.0%}"
    print(
        f"{shape[0]:4} x {shape[1]:<4} conjugate gradients: {full:6} cycles a step, {shares};"
        f" 7 points, columns of {COLUMN}: {figures['stencil_cycles']} cycles a step",
        flush=True,
    )
    return figures


def main() -> None:
    arguments = options(__doc__)
    shapes = [(4, 4)] if arguments.quick else [(4, 4), (16, 16), (64, 64), (256, 256), WAFER]
    figures = [measure(shape) for shape in shapes]
    grid = shapes[-1]
    machine = cy.machines.wse2(grid[0] + 1, grid[1])
    program = conjugate_gradient.compile(cy.spec(grid), 1e-12, 1, schedule=GRID.time("t"), machine=machine)
    start = time.perf_counter()
    cy.run(program, backend="sim", functional=False)
    seconds = time.perf_counter() - start
    print(
        f"one step of conjugate gradients on {grid[0]} x {grid[1]} simulated in {seconds:.1f} s (bound 10 s)"
    )
    write(arguments.json, {"steps": figures, "seconds_for_a_step": seconds})


if __name__ == "__main__":
    main()
