"""The part of a step in which workers are idle beside a controller, out of its programs and each PE's waits.

Of the last step of each kernel, a point a PE on `cy.machines.wse2`, on average over PEs: waits for words of
the controller, set-up of calls, waits for other workers (messages and places in queues), and computations.
All three loops end by data, once a step: else there is no controller, nor calls that are set up.
The bound: one step on the whole wafer, with its controller, simulated in 10 s.
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

WAFER = (750, 950)
GRID = cy.Schedule().space("i", "j").time("t")
BOUND = 10  # seconds
CHANNELS = 32  # a PE; shallow water uses 25, one more than the wafer has


@cy.kernel
def heat(u, least, c, steps):
    """The heat equation, until nothing moves."""
    for t in range(steps):  # noqa: B007
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        change = c * (around - 4 * u[1:-1, 1:-1])
        u[1:-1, 1:-1] += change
        if cy.max(cy.abs(change)) < least:
            break
    return u


@cy.kernel
def shallow_water(h, u, v, least, g, depth, steps):
    """The example of that name, until the water is at rest."""
    for t in range(steps):  # noqa: B007
        u[1:-1] -= g * (h[1:] - h[:-1])
        v[:, 1:-1] -= g * (h[:, 1:] - h[:, :-1])
        h -= depth * (u[1:] - u[:-1] + v[:, 1:] - v[:, :-1])
        if cy.max(cy.abs(h)) < least:
            break
    return h, u, v


def problems(rows: int, columns: int) -> dict[str, tuple[cy.Kernel, tuple[Any, ...]]]:
    """Kernels and their arguments on so many PEs."""
    h, u, v = (cy.spec(shape) for shape in ((rows, columns), (rows + 1, columns), (rows, columns + 1)))
    return {
        "cg": (conjugate_gradient, (h, 1e-12)),
        "heat": (heat, (h, 1e-12, 0.2)),
        "shallow water": (shallow_water, (h, u, v, 1e-12, 0.5, 0.5)),
    }


def measure(name: str, shape: tuple[int, int]) -> dict[str, Any]:
    """Parts of the last step, by what the average PE does, and the seconds that simulating it takes."""
    kernel, arguments = problems(*shape)[name]
    machine = cy.machines.wse2(shape[0] + 1, shape[1] + 1)
    machine = replace(machine, pe=replace(machine.pe, channels=CHANNELS))
    totals: list[dict[str, float]] = []
    for steps in (5, 6):  # in fewer, there are none that a loop could leave out
        program = kernel.compile(*arguments, steps, schedule=GRID, machine=machine)
        assert program.control_system is not None
        start = time.perf_counter()
        result = cy.run(program, backend="sim", functional=False)
        seconds = time.perf_counter() - start
        worked = {key: float(result.stats[key].mean()) for key in ("busy", "wait_control", "stall_control")}
        totals.append({"cycles": result.cycles, "seconds": seconds / steps, **worked})
    step = {key: totals[1][key] - totals[0][key] for key in totals[0]}
    parts = {
        "wait_control": step["wait_control"],
        "setup": step["stall_control"] - step["wait_control"],
        "busy": step["busy"],
    }
    shares = {key: value / step["cycles"] for key, value in parts.items()}
    shares["wait_workers"] = 1 - sum(shares.values())
    return {
        "kernel": name,
        "grid": shape,
        "cycles": step["cycles"],
        **shares,
        "seconds": totals[1]["seconds"],
    }


def main() -> None:
    chosen = options(__doc__)
    shapes = [(4, 4)] if chosen.quick else [(4, 4), (16, 16), (64, 64), (256, 256), WAFER]
    print("kernel         grid         cycles    busy  set-up  idle: controller  idle: workers  s a step")
    found = []
    for shape in shapes:
        for name in problems(*shape):
            one = measure(name, shape)
            found.append(one)
            print(
                f"{name:15}{shape[0]:3} x {shape[1]:<6}{one['cycles']:8}{one['busy']:8.2%}{one['setup']:8.2%}"
                f"{one['wait_control']:18.2%}{one['wait_workers']:15.2%}{one['seconds']:10.2f}",
                flush=True,
            )
    slowest = max(one["seconds"] for one in found)
    print(f"the slowest step simulated in {slowest:.1f} s (bound {BOUND} s)")
    write(chosen.json, {"workers": found, "seconds_for_a_step": slowest})


if __name__ == "__main__":
    main()
