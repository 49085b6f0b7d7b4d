"""What `tools/bench` measures: time to compile, simulated PE cycles a second, speed on threads."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import cyclotron as cy


@cy.kernel
def matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


def best(function: Callable[[], object], repeats: int = 3) -> float:
    """The shortest of a few runs, in seconds: what the machine can do undisturbed."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def compile_seconds(size: int) -> float:
    # A new extent each time: equal shapes would come from the cache.
    extents = iter(range(size, size + 3))

    def once() -> None:
        spec = cy.spec((next(extents), size), "float64")
        other = cy.spec((size, size), "float64")
        matmul.compile(spec, other, schedule=cy.schedules.output_stationary(matmul))

    return best(once)


def simulated_pe_cycles_per_second(size: int) -> float:
    matrix = np.ones((size, size))
    program = matmul.compile(matrix, matrix, schedule=cy.schedules.output_stationary(matmul))
    result = cy.run(program, backend="sim", event_limit=0)
    seconds = best(lambda: cy.run(program, backend="sim", event_limit=0))
    return result.cycles * size * size / seconds


def gigaflops(size: int, tile: int, backend: str) -> float:
    rng = np.random.default_rng(0)
    left, right = rng.random((2, size, size))
    flops = 2.0 * size**3
    if backend == "numpy":
        return flops / best(lambda: left @ right) / 1e9
    tiles = (tile, tile)
    program = matmul.compile(
        cy.blocked(left, tiles),
        cy.blocked(right, tiles),
        schedule=cy.schedules.output_stationary(matmul),
        machine=cy.Machine(pe=cy.PE(memory=2**30)),
    )
    return flops / best(lambda: cy.run(program, backend=backend)) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="file to write the numbers to")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    options = parser.parse_args()
    grid, size, tile = (8, 64, 16) if options.quick else (64, 1024, 128)
    numbers = {
        f"compile matmul {grid}x{grid}, s": compile_seconds(grid),
        f"simulate matmul {grid}x{grid}, PE cycles a second": simulated_pe_cycles_per_second(grid),
        f"matmul {size} in tiles of {tile}, threads, GFLOP/s": gigaflops(size, tile, "local"),
        f"matmul {size}, NumPy, GFLOP/s": gigaflops(size, tile, "numpy"),
    }
    width = max(map(len, numbers))
    for name, value in numbers.items():
        print(f"{name:{width}}  {value:12.4g}")
    if options.json:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
        machine = {
            "platform": platform.platform(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        }
        options.json.write_text(
            json.dumps({"commit": commit, "machine": machine, "numbers": numbers}, indent=2) + "\n"
        )


if __name__ == "__main__":
    main()
