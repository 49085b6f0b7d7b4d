"""Compile time does not depend on the grid: a 16x16 against a 1024x1024 weight-stationary array.

python bench/compile_time.py [--json FILE]
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import cyclotron as cy

RUNS = 9


@cy.kernel
def matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


def compile_milliseconds(size: int, steps: int) -> float:
    """One compile of a shape that was not compiled before (equal shapes come from the cache)."""
    schedule = cy.schedules.weight_stationary(matmul)
    started = time.perf_counter()
    matmul.compile(cy.spec((size, size)), cy.spec((size, steps)), schedule=schedule)
    return (time.perf_counter() - started) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    compile_milliseconds(8, 8)  # imports and first allocations
    small, large = [], []
    for run in range(RUNS):  # in turn, so that a drift of the machine's speed hits both
        small.append(compile_milliseconds(16, 100 + run))
        large.append(compile_milliseconds(1024, 100 + run))
    figures = {
        "compile_16x16_ms": statistics.median(small),
        "compile_1024x1024_ms": statistics.median(large),
        "ratio": statistics.median(large) / statistics.median(small),
    }
    print(
        f"16x16: {figures['compile_16x16_ms']:.1f} ms, 1024x1024: {figures['compile_1024x1024_ms']:.1f} ms, "
        f"ratio {figures['ratio']:.2f} (bound 2), medians of {RUNS}"
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
