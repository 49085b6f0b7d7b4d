"""Predicted against measured: what the simulator says that an MPI run takes, and what it takes.

Products on a ring of rows, triangular solves with the right-hand sides in space and the matrix streamed, and
Cholesky by tiles that are dealt out by columns, each on operands that lie where they are used. The simulated
machine has the rates and links that `cy.calibrate` measures right before, of operators whose tiles are in the
cache: a little faster than in a run. Times are the wall's, of the rank that takes longest: the median of some
runs, in turn; others on the machine lengthen them. The ratio is of the predicted to the measured time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from cluster import machine
from common import write

import cyclotron as cy
from cyclotron import mpi
from cyclotron.linalg.kernels import cholesky, matmul, solve_lower
from cyclotron.support.environment import threads


@dataclass
class Case:
    """A program, its operands on the ranks, and who runs its PEs."""

    kernel: str
    n: int
    ranks: int
    program: cy.Program
    operands: list[cy.Distributed]
    deal: cy.Layout | None = None

    def run(self) -> float:
        """Seconds of the slowest rank."""
        profile = cy.run(self.program, *self.operands, backend="mpi", deal=self.deal).profile
        return max(rank["seconds"] for rank in profile)


def cases(n: int, ranks: int, tile: int, calibration: cy.Calibration) -> list[Case]:
    """One of each kernel."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, n, n))
    S = (A + A.T) / 2 + 2 * n * np.eye(n)
    part, tiles, space = n // ranks, n // tile, cy.Schedule().space

    def keep(array: np.ndarray, rows: int, columns: int, owner: Callable[[int, int], int]) -> cy.Distributed:
        return cy.distribute(array, cy.Layout(block=(rows, columns), owner=owner), ranks=ranks)

    def case(kernel: str, function: cy.Kernel, *given: Any, nodes: cy.Machine, **options: Any) -> Case:
        operands = [value for value in given if isinstance(value, cy.Distributed)]
        deal = options.pop("deal", None)
        program = function.compile(*given, machine=nodes, **options)
        return Case(kernel, n, ranks, program, operands, deal)

    ring = space("i").time("j", "k").stream("B", along="i").rotate("k", by="i")
    rows = keep(A, part, part, lambda i, k: i), keep(B, part, n, lambda k, j: k)
    sides = keep(np.tril(S), tile, tile, lambda i, j: 0), keep(B, tile, part, lambda i, r: r)
    streamed = space("r").time("i", "j").stream("A", along="r")
    columns = keep(S, tile, tile, lambda i, j: j % ranks)
    line, plane = (ranks,), (tiles, tiles)
    return [
        case("gemm", matmul, *rows, nodes=machine(calibration, line, (part, n, part)), schedule=ring),
        case(
            "trsm",
            solve_lower,
            *sides,
            False,
            nodes=machine(calibration, line, (tile, part, tile)),
            schedule=streamed,
        ),
        case(
            "cholesky",
            cholesky,
            columns,
            nodes=machine(calibration, plane, (tile, tile, tile)),
            schedule=space("i", "j").broadcast("L"),
            deal=cy.Layout((1, ranks), 1),
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("--quick", action="store_true", help="a small size, once")
    parser.add_argument("--sizes", nargs="+", type=int, default=[1024, 2048])
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--tile", type=int, default=128)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    sizes, counts, tile, runs = arguments.sizes, arguments.ranks, arguments.tile, arguments.runs
    if arguments.quick:
        sizes, counts, tile, runs = [96], [2], 16, 1
    calibration = cy.calibrate(refresh=not arguments.quick)
    print(calibration)
    figures = []
    for ranks in counts:
        found = [case for n in sizes for case in cases(n, ranks, tile, calibration)]
        measured = [[case.run() for case in found] for _ in range(runs + 1)][1:]  # the first warms up
        for case, times in zip(found, zip(*measured, strict=True), strict=True):
            prediction = cy.predict(case.program, ranks=ranks, deal=case.deal, cores=threads())
            assert prediction.seconds is not None
            taken, best = median(times), min(times)
            ratio = prediction.seconds / taken
            print(
                f"{case.kernel:8} n={case.n:<5} {ranks} ranks: predicted {prediction.seconds * 1e3:8.2f} ms, "
                f"measured {taken * 1e3:8.2f} (least {best * 1e3:.2f}), ratio {ratio:.2f}, "
                f"error {ratio - 1:+.0%}",
                flush=True,
            )
            row = {"kernel": case.kernel, "n": case.n, "ranks": ranks, "predicted": prediction.seconds}
            figures.append({**row, "measured": taken, "least": best, "error": ratio - 1})
    errors = [abs(figure["error"]) for figure in figures]
    print(f"median error {median(errors):.0%}, most {max(errors):.0%}")
    write(arguments.json, {"measured": figures})
    mpi.close_all()


if __name__ == "__main__":
    main()
