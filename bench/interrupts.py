"""Time until Ctrl-C gives control back: in compilation, recording, `prove`, on sim and local. Bound: 0.2 s.

Each is interrupted at random moments, local within one call of BLAS, which may go on alone.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from common import write
from kernels import matmul

import cyclotron as cy
from cyclotron.linalg.kernels import matmul as tiled_matmul

BOUND_SECONDS = 0.2
_sizes = itertools.count(50)
_timers: list[threading.Timer] = []  # kept: Python ignores what is raised while one is freed


@cy.kernel
def sweeps(u, turns):
    """In place, against the order of the indices: dependences in all directions."""
    n = u.shape[0]
    y = cy.zeros_like(u)
    for _ in range(turns):
        for i in range(n - 1, -1, -1):
            for j in range(n - 1, 0, -1):
                u[i, j] = u[i, j - 1] + u[n - 1 - i, j]
                y[j, i] += u[i, j]
    return y


@cy.kernel
def crossing(u, turns):
    """As `sweeps`, but no order of time lets it have the sums that it reads."""
    n = u.shape[0]
    y = cy.zeros_like(u)
    for t in range(turns):
        for i in range(n):
            for j in range(n):
                y[i, j] = y[n - 1 - j, i] + u[i, j] * t
    return y


WEIGHTS = range(49)


@cy.kernel
def unrolled(u, turns):
    """Almost as many statements as loops over values of the host may record."""
    for v in (*WEIGHTS,):
        for w in (*WEIGHTS,):
            u = u + v * w * turns
    return u


def _compile(kernel: cy.Kernel) -> None:
    n = next(_sizes)
    with contextlib.suppress(cy.CyclotronError):
        kernel.compile(cy.spec((n, n)), 3, schedule=cy.Schedule().space("i", "j"))


def activities(quick: bool) -> dict[str, Callable[[], object]]:
    """The work that is interrupted; each takes most of a second."""
    size = 100 if quick else 200
    product = matmul.compile(
        cy.spec((size, size)), cy.spec((size, size)), schedule=cy.Schedule().space("i", "j")
    )
    large = 1000 if quick else 2500
    A, X = np.ones((size, size)), np.ones((large, large))
    tile = cy.blocked(X, (large, large))
    one_call = tiled_matmul.compile(tile, tile)
    return {
        "compile": lambda: _compile(sweeps),
        "refusal": lambda: _compile(crossing),
        "recording": lambda: unrolled.recurrences(cy.spec((next(_sizes),)), 3),
        "prove": lambda: cy.prove(product),
        "sim": lambda: cy.run(product, A, A, backend="sim"),
        "local": lambda: cy.run(one_call, X, X, backend="local"),
    }


def seconds_to_return(activity: Callable[[], object], longest: float) -> float | None:
    """From the signal to `except KeyboardInterrupt`; None where the activity was over before."""
    sent = 0.0

    def send() -> None:
        nonlocal sent
        sent = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(random.uniform(0.02, max(0.02, longest)), send)
    _timers.append(timer)
    finished = 0.0
    try:
        timer.start()
        activity()
        finished = time.perf_counter()
        timer.join()
        time.sleep(0.01)  # where the signal is seen at the latest
    except KeyboardInterrupt:
        return None if finished else time.perf_counter() - sent
    raise AssertionError("the interrupt was lost")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("--quick", action="store_true", help="two interrupts of each")
    parser.add_argument("--runs", type=int, default=100, help="interrupts of each")
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job has it ignored
    runs = 2 if arguments.quick else arguments.runs
    figures = {}
    for name, activity in activities(arguments.quick).items():
        started = time.perf_counter()
        activity()
        longest = 0.9 * (time.perf_counter() - started)
        found: list[float] = []
        while len(found) < runs:
            late = seconds_to_return(activity, longest)
            found += [] if late is None else [late]
        found.sort()
        p50, p99 = found[len(found) // 2], found[(99 * len(found) - 1) // 100]
        figures[name] = {"p50_seconds": p50, "p99_seconds": p99, "runs": runs}
        print(
            f"{name:8} p50 {p50 * 1e3:4.0f} ms  p99 {p99 * 1e3:4.0f} ms  bound {BOUND_SECONDS * 1e3:.0f} ms",
            flush=True,
        )
    write(arguments.json, figures)
    if not arguments.quick and max(one["p99_seconds"] for one in figures.values()) > BOUND_SECONDS:
        sys.exit(1)


if __name__ == "__main__":
    main()
