"""Weak scaling of array programs on a wafer: conjugate gradients, a point a PE, and a 7-point stencil.

Cycles of a step, simulated on `cy.machines.wse2`; the reductions' share is what a step costs more with its
sums than with factors that are known, the test's what it costs more with its test of convergence, and the
control's the part of a step in which its PEs, on average, wait for the controller's calls and set them up,
here one a step. It makes a step longer by less, where they would wait anyway: what it adds is in
the picture.
The stencil's step, those of conjugate gradients without a test and the pipelined ones are static: no
controller takes part. Programs use more channels than the wafer's 24, which they would share in turn.
A sum goes along the rows and one column to a corner, and back; inwards it goes to the middle of the grid,
where each PE adds before it sends on; in two phases only one PE of each block does, and the others pass on.
The least that a sum and its way back can take is a hop a PE from the corners to the middle and back: as many
cycles as the grid has rows and columns. The pipelined method (examples/pipelined_conjugate_gradient.py) has
one way to go a step instead of two, here in two phases.
The bound: one step of conjugate gradients on the whole wafer simulated in 10 s.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from common import write

import cyclotron as cy

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from conjugate_gradient import conjugate_gradient
from pipelined_conjugate_gradient import pipelined

GRID = cy.Schedule().space("i", "j")
INWARDS = GRID.inwards("i", "j")
PHASES = INWARDS.reduce("i", "two_phase").reduce("j", "two_phase")
WAFER = (750, 950)
CONTROL = cy.machines.wse2(1, 1).control
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


def cycles_of_a_step(
    kernel: cy.Kernel, *arguments: Any, order: tuple[str, ...] = ("t",), grid: cy.Schedule = GRID
) -> int:
    """The last step's, past the filling of the grid."""
    return measured_step(kernel, *arguments, order=order, grid=grid)[0]


def measured_step(
    kernel: cy.Kernel,
    *arguments: Any,
    order: tuple[str, ...] = ("t",),
    grid: cy.Schedule = GRID,
    control: cy.Control | None = CONTROL,
) -> tuple[int, float]:
    """The cycles of the last step, and those of control, of the average PE."""
    shape = arguments[0].shape
    found = []
    for steps in (5, 6):  # in fewer, there are none that a loop could leave out
        machine = replace(cy.machines.wse2(shape[0] + 1, shape[1]), link=cy.Link(depth=COLUMN))
        machine = replace(machine, control=control)
        program = kernel.compile(*arguments, steps, schedule=grid.time(*order), machine=machine)
        result = cy.run(program, backend="sim", functional=False)
        found.append((result.cycles, float(result.stats["stall_control"].mean())))
    return found[1][0] - found[0][0], found[1][1] - found[0][1]


def measure(shape: tuple[int, int]) -> dict[str, Any]:
    """Everything of one grid."""
    plane, block = cy.spec(shape), cy.spec((*shape, COLUMN))
    full, control = measured_step(conjugate_gradient, plane, 1e-12)
    free = measured_step(conjugate_gradient, plane, 1e-12, control=None)[0]
    untested = cycles_of_a_step(without_test, plane)
    local = cycles_of_a_step(without_sums, plane, 0.2, 0.1)
    figures = {
        "grid": shape,
        "cg_cycles": full,
        "inwards_cycles": cycles_of_a_step(conjugate_gradient, plane, 1e-12, grid=INWARDS),
        "phases_cycles": cycles_of_a_step(conjugate_gradient, plane, 1e-12, grid=PHASES),
        "pipelined_cycles": cycles_of_a_step(pipelined, plane, grid=PHASES),
        "local_cycles": local,
        "least_cycles_of_a_sum": sum(shape) - 2,
        "reduction_share": (untested - local) / full,
        "test_share": (free - untested) / full,
        "added_by_control": (full - free) / full,
        "control_cycles": control,
        "control_share": control / full,
        "stencil_cycles": cycles_of_a_step(seven_points, block, 0.1, order=("t", "k")),
    }
    print(
        f"{shape[0]:4} x {shape[1]:<4}{full:9}{figures['reduction_share']:10.1%}"
        f"{figures['test_share']:9.1%}{figures['control_share']:10.2%}{figures['inwards_cycles']:9}"
        f"{figures['phases_cycles']:8}{figures['pipelined_cycles']:11}"
        f"{figures['least_cycles_of_a_sum']:7}{figures['stencil_cycles']:9}",
        flush=True,
    )
    return figures


def plot(path: Path, figures: list[dict[str, Any]]) -> None:
    """Cycles a step left; what the sums, the test and the rest take of one of conjugate gradients right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    cycles, shares = figure.subplots(1, 2)
    sizes = [f["grid"][0] * f["grid"][1] for f in figures]
    grids = ["{} x {}".format(*f["grid"]) for f in figures]
    curves = (
        ("cg_cycles", "conjugate gradients"),
        ("inwards_cycles", "with sums to the middle"),
        ("phases_cycles", "to the middle in two phases"),
        ("pipelined_cycles", "pipelined, to the middle in two phases"),
        ("stencil_cycles", f"7-point stencil, columns of {COLUMN}"),
    )
    for key, name in curves:
        cycles.plot(sizes, [f[key] for f in figures], marker="o", label=name)
    least = [f["least_cycles_of_a_sum"] for f in figures]
    cycles.plot(sizes, least, linestyle="--", color="grey", label="least of one sum")
    cycles.set(xscale="log", yscale="log", xlabel="grid", ylabel="cycles a step")
    cycles.set_xticks(sizes, grids)
    cycles.minorticks_off()
    cycles.legend(frameon=False, fontsize="small")
    below = [0.0] * len(figures)
    parts = {
        "sums": [f["reduction_share"] for f in figures],
        "test": [f["test_share"] for f in figures],
        "control": [f["added_by_control"] for f in figures],
        "the rest": [f["local_cycles"] / f["cg_cycles"] for f in figures],
    }
    for name, values in parts.items():
        shares.bar(grids, values, bottom=below, label=name)
        below = [a + b for a, b in zip(below, values, strict=True)]
    shares.set(xlabel="grid", ylabel="share of a step of conjugate gradients")
    shares.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1), ncols=4)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("--plot", type=Path, help="picture to draw")
    parser.add_argument("--quick", action="store_true", help="the smallest grid only")
    arguments = parser.parse_args()
    shapes = [(4, 4)] if arguments.quick else [(4, 4), (16, 16), (64, 64), (256, 256), WAFER]
    print(f"cycles a step of conjugate gradients, and of the 7-point stencil on columns of {COLUMN}:")
    print("grid         in order  of it sums     test   control  inwards  phases  pipelined  a way  stencil")
    figures = [measure(shape) for shape in shapes]
    grid = shapes[-1]
    machine = cy.machines.wse2(grid[0] + 1, grid[1])
    steps = 6  # in fewer than 3 no step is decided, and no controller takes part
    program = conjugate_gradient.compile(
        cy.spec(grid), 1e-12, steps, schedule=GRID.time("t"), machine=machine
    )
    start = time.perf_counter()
    cy.run(program, backend="sim", functional=False)
    seconds = (time.perf_counter() - start) / steps
    print(
        f"one step of conjugate gradients on {grid[0]} x {grid[1]} simulated in {seconds:.1f} s (bound 10 s)"
    )
    write(arguments.json, {"steps": figures, "seconds_for_a_step": seconds})
    if arguments.plot:
        plot(arguments.plot, figures)


if __name__ == "__main__":
    main()
