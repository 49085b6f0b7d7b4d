"""One rank of `bench/scalapack.py --path user`: `cy.linalg` on ScaLAPACK's layout, as a user calls it.

Prints the (wall, processor) seconds of each run but the first, of the rank that took longest, and a residual.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import cyclotron as cy
from cyclotron import mpi

Matrix = cy.Distributed


def case(name: str, a: np.ndarray, b: np.ndarray, layout: cy.Layout) -> tuple[Callable[[], Matrix], Matrix]:
    """The call, and one operand of it in the layout."""
    n = len(a)
    if name == "gemm":
        left, right = cy.distribute(a, layout), cy.distribute(b, layout)
        return lambda: cy.linalg.matmul(left, right), right
    if name == "trsm":
        lower, right = cy.distribute(np.tril(a, -1) / n + np.eye(n), layout), cy.distribute(b, layout)
        return lambda: cy.linalg.solve_triangular(lower, right), right
    definite = cy.distribute((a + a.T) / 2 + n * np.eye(n), layout)
    return lambda: cy.linalg.cholesky(definite), definite


def residual(name: str, a: np.ndarray, b: np.ndarray, result: np.ndarray) -> float:
    """The relative error of what the result should give."""
    n = len(a)
    if name == "gemm":
        found, wanted = result, a @ b
    elif name == "trsm":
        found, wanted = (np.tril(a, -1) / n + np.eye(n)) @ result, b
    else:
        found, wanted = result @ result.T, (a + a.T) / 2 + n * np.eye(n)
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def main(name: str, n: int, block: int, rows: int, columns: int, repeats: int, dtype: str) -> None:
    world = mpi.current()

    def of_all(text: str) -> list[str]:
        return [world.same(text, rank) for rank in range(world.ranks)]

    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, n)).astype(dtype) for _ in range(2))
    call, operand = case(name, a, b, cy.Layout((rows, columns), block))
    result = call()
    if result.layout != operand.layout:
        raise SystemExit("the result is not in ScaLAPACK's layout")
    for _ in range(repeats):
        of_all("")  # nobody begins before the last one is here
        wall, processor = time.perf_counter(), time.process_time()
        result = call()
        taken = time.perf_counter() - wall, time.process_time() - processor
        times = [tuple(map(float, text.split())) for text in of_all(" ".join(map(str, taken)))]
        if world.rank == 0:
            print(*map(max, zip(*times, strict=True)), flush=True)
    found = residual(name, a, b, result.gather())
    if world.rank == 0:
        print("residual", found, flush=True)


if __name__ == "__main__":
    kernel, n, block, rows, columns, repeats, dtype = sys.argv[1:]
    main(kernel, int(n), int(block), int(rows), int(columns), int(repeats), dtype)
