"""Schedules of dense kernels on MPI ranks, each against one rank's product of the same size.

Products: those of the Cyclotron paper's Figure 15 and more; triangular solves: Figure 17a's L kept and
streamed; Cholesky and LU right- and left-looking by columns, and by tiles, where PEs that have their operands
go first, so that the next panel is factored while others still update (look-ahead); SYRK, FlashAttention-2.
All start from tiles dealt out over the ranks. Rates are by the time of the processor of the busiest rank,
which others on the machine disturb least; it leaves out what a rank sleeps.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from common import write
from kernels import attention, lu, syrk

import cyclotron as cy
from cyclotron.linalg.kernels import cholesky, matmul, solve_lower
from cyclotron.schedule import Schedule

Build = Callable[[], tuple[cy.Program, list[cy.Distributed]]]


@dataclass
class Case:
    """A schedule of a kernel: how it is made, its flops over n^3, and how its PEs are dealt out."""

    kernel: str
    schedule: str
    flops: float
    build: Build
    deal: cy.Layout | None = None


def cases(n: int, ranks: int, tile: int) -> list[Case]:
    """All cases that the ranks allow."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, n, n))
    S = (A + A.T) / 2 + 2 * n * np.eye(n)

    def keep(array: np.ndarray, rows: int, columns: int) -> cy.Distributed:
        layout = cy.Layout(block=(rows, columns), owner=lambda i, j: (i + j) % ranks)
        return cy.distribute(array, layout, ranks=ranks)

    def product(rows: int, inner: int, columns: int, schedule: Schedule) -> Build:
        def build() -> tuple[cy.Program, list[cy.Distributed]]:
            operands = [keep(A, rows, inner), keep(B, inner, columns)]
            return matmul.compile(*operands, schedule=schedule), operands

        return build

    def of_one(kernel: cy.Kernel, array: np.ndarray, schedule: Schedule) -> Build:
        def build() -> tuple[cy.Program, list[cy.Distributed]]:
            operand = keep(array, tile, tile)
            return kernel.compile(operand, schedule=schedule), [operand]

        return build

    def solve(schedule: Schedule, columns: int) -> Build:
        def build() -> tuple[cy.Program, list[cy.Distributed]]:
            operands = [keep(np.tril(S), tile, tile), keep(B, tile, columns)]
            return solve_lower.compile(*operands, False, schedule=schedule), operands  # no unit diagonal

        return build

    def attend() -> tuple[cy.Program, list[cy.Distributed]]:
        rows, d = -(-n // ranks), 64
        operands = [keep(X[:, :d], size, d) for X, size in ((A, rows), (B, tile), (S, tile))]
        schedule = Schedule().space("i").stream("K", along="i").stream("V", along="i")
        return attention.compile(*operands, 1 / 8, schedule=schedule), operands

    part = -(-n // ranks)
    alone = Schedule().time("i", "j", "k")
    if ranks == 1:
        return [Case("matmul", "one PE", 2, product(n, n, n, alone))]
    ring = Schedule().space("i").time("j", "k").stream("B", along="i").rotate("k", by="i")
    found = [
        Case("matmul", "ring of rows", 2, product(part, part, n, ring)),
        Case(
            "matmul", "weight stationary", 2, product(part, n, part, cy.schedules.weight_stationary(matmul))
        ),
        Case("matmul", "input stationary", 2, product(part, n, part, cy.schedules.input_stationary(matmul))),
    ]
    side = int(ranks**0.5)
    if side > 1 and side**2 == ranks:
        half = -(-n // side)
        for name in ("cannon", "summa", "pumma", "output_stationary"):
            schedule = getattr(cy.schedules, name)(matmul)
            found.append(Case("matmul", name.replace("_", " "), 2, product(half, half, half, schedule)))
    layers = cy.schedules.matmul_25d(matmul, ranks)
    found.append(Case("matmul", f"2.5-D, {ranks} layers", 2, product(n, part, n, layers)))

    columns = cy.Layout((ranks,), 1)
    stationary = Schedule().space("i").time("j", "r").broadcast("X")
    prefetched, streamed = (
        Schedule().space("r").time("i", "j").prefetch("A"),
        Schedule().space("r").time("i", "j"),
    )
    found += [
        Case("solve", "right-hand sides in space, L kept", 1, solve(prefetched, part)),
        Case(
            "solve", "right-hand sides in space, L streamed", 1, solve(streamed.stream("A", along="r"), part)
        ),
        Case("solve", "rows in space", 1, solve(stationary, part), columns),
    ]
    tiles, panels = cy.Layout((ranks, 1), 1), Schedule().space("j")
    for kernel, name, moved, flops, along in (
        (cholesky, "cholesky", "L", 1 / 3, "i"),
        (lu, "lu", "F", 2 / 3, None),
    ):
        found += [
            Case(
                name,
                "tiles",
                flops,
                of_one(kernel, S, Schedule().space("i", "j").broadcast(moved, along)),
                tiles,
            ),
            Case(
                name,
                "right-looking",
                flops,
                of_one(kernel, S, panels.time("k", "i").broadcast(moved)),
                columns,
            ),
            Case(
                name,
                "left-looking",
                flops,
                of_one(kernel, S, panels.time("i", "k").broadcast(moved)),
                columns,
            ),
        ]
    rows = Schedule().space("i").time("j", "k").broadcast("A")
    found.append(Case("syrk", "rows in space", 1, of_one(syrk, A, rows), columns))
    found.append(Case("attention", "keys and values streamed", 4 * 64 / n, attend))
    return found


def measure(case: Case, n: int, ranks: int, runs: int) -> dict[str, float]:
    """GFLOP/s per rank, by the busiest rank's processor and by the wall."""
    program, operands = case.build()
    profiles = [cy.run(program, *operands, backend="mpi", deal=case.deal).profile for _ in range(runs + 1)][
        1:
    ]
    rates = {}
    for clock, key in (("processor", "processor_seconds"), ("wall", "seconds")):
        seconds = median(max(rank[key] for rank in profile) for profile in profiles)
        rates[clock] = case.flops * n**3 / ranks / seconds * 1e-9
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("--quick", action="store_true", help="a small size, once")
    parser.add_argument("--sizes", nargs="+", type=int, default=[1024, 2048])
    parser.add_argument("--ranks", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--tile", type=int, default=128)
    parser.add_argument("--kernels", nargs="+", help="of matmul, solve, cholesky, lu, syrk, attention")
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    sizes, counts, tile, runs = arguments.sizes, arguments.ranks, arguments.tile, arguments.runs
    if arguments.quick:
        sizes, counts, tile, runs = [96], [2], 16, 1
    figures = []
    for n in sizes:
        alone = measure(cases(n, 1, tile)[0], n, 1, runs)
        for ranks in counts:
            for case in cases(n, ranks, tile):
                if arguments.kernels and case.kernel not in arguments.kernels:
                    continue
                rates = measure(case, n, ranks, runs)
                ratio = rates["processor"] / alone["processor"]
                print(
                    f"{case.kernel:9} {case.schedule:38} n={n:<5} {ranks} ranks: {rates['processor']:6.1f} "
                    f"GFLOP/s per rank, ratio to one rank's product {ratio:.2f}",
                    flush=True,
                )
                found = {"kernel": case.kernel, "schedule": case.schedule, "n": n, "ranks": ranks}
                figures.append({**found, "gflops_per_rank": rates, "ratio": ratio})
    write(arguments.json, {"measured": figures})


if __name__ == "__main__":
    main()
