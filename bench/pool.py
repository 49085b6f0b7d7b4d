"""Costs of a pool of ranks besides the work, each against its bound.

The first run of a process that starts the ranks (3 s), a later one of hardly any work (20 ms), and arrays of
64 MB that go in and come back (50 ms each way). Medians by the wall, which others on the machine disturb; the
processor's time of this process, which they do not, is told with them.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from common import options, write

import cyclotron as cy
from cyclotron import mpi
from cyclotron.linalg.kernels import matmul

RANKS = 2
BOUNDS = {"first run": 3.0, "later run": 0.020, "64 MB in": 0.050, "64 MB out": 0.050}
FIRST = """
import time
begun = time.perf_counter()
import numpy as np
import cyclotron as cy
from cyclotron.linalg.kernels import matmul
A = np.eye(2)
cy.run(matmul.compile(cy.blocked(A, (1, 2)), cy.blocked(A, (2, 1))), backend="mpi", ranks=2)
print(time.perf_counter() - begun)
"""


def first_run() -> tuple[float, float]:
    """Seconds of the wall in a process of its own; its processor's time is not told."""
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True)
    return float(done.stdout), float("nan")


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the wall, and of this process's processor."""
    wall, processor = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - processor


def beyond_the_work(program: cy.Program, *inputs: object) -> tuple[float, float]:
    """A run without what its slowest rank spent in the program."""
    wall, processor = time.perf_counter(), time.process_time()
    profile = cy.run(program, *inputs, backend="mpi", ranks=RANKS).profile
    spent = time.perf_counter() - wall, time.process_time() - processor
    return spent[0] - max(rank["seconds"] for rank in profile), spent[1]


def main() -> None:
    arguments = options(__doc__)
    runs = 1 if arguments.quick else 15
    side = 128 if arguments.quick else 2896  # squared, doubles: 64 MB
    small = np.eye(2)
    program = matmul.compile(cy.blocked(small, (1, 2)), cy.blocked(small, (2, 1)))
    large = np.ones((side, side))
    kept = cy.distribute(large, cy.Layout((RANKS, 1)))
    measures: dict[str, Callable[[], tuple[float, float]]] = {
        "first run": first_run,
        "later run": lambda: beyond_the_work(program),
        "64 MB in": lambda: timed(lambda: cy.distribute(large, cy.Layout((RANKS, 1)))),
        "64 MB out": lambda: timed(kept.gather),
    }
    figures = {}
    for name, measure in measures.items():
        measure()
        found = [measure() for _ in range(min(runs, 5) if name == "first run" else runs)]
        wall, processor = (statistics.median(column) for column in zip(*found, strict=True))
        bound = BOUNDS[name]
        own = "" if name == "first run" else f"{processor * 1e3:.1f} ms of the processor, "
        print(
            f"{name:10} {wall * 1e3:8.1f} ms by the wall, {own}"
            f"ratio to the bound of {bound * 1e3:.0f} ms: {wall / bound:.2f}"
        )
        figures[name] = {
            "wall": wall,
            "processor": None if name == "first run" else processor,
            "bound": bound,
        }
    write(arguments.json, figures)
    mpi.close_all()


if __name__ == "__main__":
    main()
