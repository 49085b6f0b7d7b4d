"""Schedules of dense kernels on MPI ranks, each against one rank's product of the same size.

Products: those of the Cyclotron paper's Figure 15 and more; triangular solves: Figure 17a's L kept and
streamed; Cholesky and LU right- and left-looking by columns, and by tiles, where PEs that have their operands
go first; with one PE a rank, that keeps to its schedule, right-looking and with the next panel first
(look-ahead); SYRK, FlashAttention-2. All start from tiles dealt out over the ranks, grids of ranks from a
block each. Rates are by the time of the processor of the busiest rank, which others on the machine disturb
least; it leaves out what a rank sleeps, which the wall's does not.

The order of the paper's section 10.1 (SUMMA, PUMMA, output stationary, weight stationary) was within 2 % on 4
ranks that share 2 cores, less than runs differ: tiles are passed on before they are used, so that no rank
waits for its neighbour's product, and nothing is left that an initial broadcast would save. Cannon's ranks
wait for each other in every step, which shows by the wall where they share cores. Solves that keep L and that
stream it are as close, as in section 10.2: both bring all of L to all ranks, before or while they compute.

`--plot` draws Figures 15 and 17a, with ScaLAPACK where it is built: products against n, and weak scaling of
the solves, n growing with the root of the ranks.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from common import write
from kernels import attention, lu, syrk
from scalapack import CLOCKS, FLOPS, fastest, find_peer, scalapack_runners

import cyclotron as cy
from cyclotron.linalg.kernels import cholesky, matmul, solve_lower
from cyclotron.schedule.schedule import Schedule

Build = Callable[[], tuple[cy.Program, list[cy.Distributed]]]
SOLVES = ("right-hand sides in space, L kept", "right-hand sides in space, L streamed")


@dataclass
class Case:
    """A schedule of a kernel: how it is made, its flops over n^3, and how its PEs are dealt out."""

    kernel: str
    schedule: str
    flops: float
    build: Build
    deal: cy.Layout | None = None


@dataclass
class Inputs:
    """Matrices of n x n on the ranks, and how kernels of them are built."""

    n: int
    ranks: int
    tile: int

    def __post_init__(self) -> None:
        self.A, self.B = np.random.default_rng(0).standard_normal((2, self.n, self.n))
        self.S = (self.A + self.A.T) / 2 + 2 * self.n * np.eye(self.n)
        self.part = -(-self.n // self.ranks)

    def keep(self, array: np.ndarray, rows: int, columns: int, side: int = 1) -> cy.Distributed:
        layout = cy.Layout(block=(rows, columns), owner=lambda i, j: (side * i + j) % self.ranks)
        return cy.distribute(array, layout, ranks=self.ranks)

    def product(self, rows: int, inner: int, columns: int, schedule: Schedule, side: int = 1) -> Build:
        def build() -> tuple[cy.Program, list[cy.Distributed]]:
            operands = [self.keep(self.A, rows, inner, side), self.keep(self.B, inner, columns, side)]
            return matmul.compile(*operands, schedule=schedule), operands

        return build

    def of_one(
        self, kernel: cy.Kernel, array: np.ndarray, schedule: Schedule, machine: cy.Machine | None = None
    ) -> Build:
        def build() -> tuple[cy.Program, list[cy.Distributed]]:
            operand = self.keep(array, self.tile, self.tile)
            return kernel.compile(operand, schedule=schedule, machine=machine), [operand]

        return build

    def solve(self, schedule: Schedule, columns: int) -> Build:
        def build() -> tuple[cy.Program, list[cy.Distributed]]:
            operands = [
                self.keep(np.tril(self.S), self.tile, self.tile),
                self.keep(self.B, self.tile, columns),
            ]
            return solve_lower.compile(*operands, False, schedule=schedule), operands  # no unit diagonal

        return build

    def attend(self) -> tuple[cy.Program, list[cy.Distributed]]:
        rows, d = self.part, 64
        given = ((self.A, rows), (self.B, self.tile), (self.S, self.tile))
        operands = [self.keep(X[:, :d], size, d) for X, size in given]
        schedule = Schedule().space("i").stream("K", along="i").stream("V", along="i")
        return attention.compile(*operands, 1 / 8, schedule=schedule), operands


def cases(n: int, ranks: int, tile: int) -> list[Case]:
    """All cases that the ranks allow."""
    inputs = Inputs(n, ranks, tile)
    prefetched, streamed = (
        Schedule().space("r").time("i", "j").prefetch("A"),
        Schedule().space("r").time("i", "j").stream("A", along="r"),
    )
    solves = [
        Case("solve", name, 1, inputs.solve(schedule, inputs.part))
        for name, schedule in zip(SOLVES, (prefetched, streamed), strict=True)
    ]
    if ranks == 1:
        alone = Schedule().time("i", "j", "k")
        return [Case("matmul", "one PE", 2, inputs.product(n, n, n, alone)), *solves]
    columns = cy.Layout((ranks,), 1)
    stationary = Schedule().space("i").time("j", "r").broadcast("X")
    rows = Schedule().space("i").time("j", "k").broadcast("A")
    return [
        *products(inputs),
        *solves,
        Case("solve", "rows in space", 1, inputs.solve(stationary, inputs.part), columns),
        *factorizations(inputs, "cholesky", cholesky, "L", 1 / 3, "i"),
        *factorizations(inputs, "lu", lu, "F", 2 / 3, None),
        Case("syrk", "rows in space", 1, inputs.of_one(syrk, inputs.A, rows), columns),
        Case("attention", "keys and values streamed", 4 * 64 / n, inputs.attend),
    ]


def products(inputs: Inputs) -> list[Case]:
    """Products of two matrices on several ranks."""
    n, part, ranks = inputs.n, inputs.part, inputs.ranks

    def case(text: str, *sizes_and_schedule: Any) -> Case:
        return Case("matmul", text, 2, inputs.product(*sizes_and_schedule))

    ring = Schedule().space("i").time("j", "k").stream("B", along="i").rotate("k", by="i")
    result = [
        case("ring of rows", part, part, n, ring),
        case("weight stationary", part, n, part, cy.schedules.weight_stationary(matmul)),
        case("input stationary", part, n, part, cy.schedules.input_stationary(matmul)),
    ]
    side = int(ranks**0.5)
    if side > 1 and side**2 == ranks:
        half = -(-n // side)
        for name in ("summa", "pumma", "cannon", "output_stationary", "weight_stationary"):
            schedule = getattr(cy.schedules, name)(matmul)
            text = f"{name.replace('_', ' ')} on {side}x{side}"
            result.append(case(text, half, half, half, schedule, side))
        in_place = cy.schedules.summa(matmul, distributed=True)
        result.append(case(f"summa in place on {side}x{side}", half, half, half, in_place, side))
    layers = cy.schedules.matmul_25d(matmul, ranks)
    result.append(case(f"2.5-D, {ranks} layers", n, part, n, layers))
    return result


def factorizations(
    inputs: Inputs, name: str, kernel: cy.Kernel, moved: str, flops: float, along: str | None
) -> list[Case]:
    """One factorisation by tiles, and with its columns in several orders of time."""
    S, ranks = inputs.S, inputs.ranks
    tiles, columns = cy.Layout((ranks, 1), 1), cy.Layout((ranks,), 1)
    panels = Schedule().space("j")
    schedules = {
        "tiles": (Schedule().space("i", "j").broadcast(moved, along), tiles),
        "right-looking": (panels.time("k", "i").broadcast(moved), columns),
        "left-looking": (panels.time("i", "k").broadcast(moved), columns),
    }
    result = [
        Case(name, text, flops, inputs.of_one(kernel, S, schedule), deal)
        for text, (schedule, deal) in schedules.items()
    ]
    ring_of_ranks = cy.Machine(
        grid=(ranks,), topology="ring", link=cy.Link(depth=1 << 30), pe=cy.PE(memory=1 << 40)
    )
    for order, time in (("right-looking", ("k", "i")), ("look-ahead", ("j+k", "i"))):
        one = panels.time(*time).fold(j=cy.cyclic(ranks)).stream(moved, along="j")
        build = inputs.of_one(kernel, S, one, ring_of_ranks)
        result.append(Case(name, f"one PE a rank, {order}", flops, build))
    return result


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


def row(case: Case, n: int, ranks: int, runs: int, alone: float) -> dict[str, Any]:
    """Measure and print one case; `alone` is the rate of one rank's product."""
    rates = measure(case, n, ranks, runs)
    ratio = rates["processor"] / alone
    print(
        f"{case.kernel:9} {case.schedule:38} n={n:<5} {ranks} ranks: {rates['processor']:6.1f} GFLOP/s per "
        f"rank ({rates['wall']:.1f} by the wall), ratio to one rank's product {ratio:.2f}",
        flush=True,
    )
    found = {"kernel": case.kernel, "schedule": case.schedule, "n": n, "ranks": ranks}
    return {**found, "gflops_per_rank": rates, "ratio": ratio}


def peer_row(peer: Path, kernel: str, n: int, ranks: int, runs: int, clock: str) -> dict[str, Any]:
    """The rate of ScaLAPACK with its best block and grid, its PBLAS tuned."""
    name = {"matmul": "gemm", "solve": "trsm"}[kernel]
    best = fastest(scalapack_runners(peer, name, n, ranks, runs, 256), CLOCKS.index(clock))
    rates = {each: FLOPS[name] * n**3 / ranks / best.median(at) * 1e-9 for at, each in enumerate(CLOCKS)}
    print(f"{kernel:9} ScaLAPACK, {best.name}: n={n}, {ranks} ranks: {rates[clock]:6.1f}", flush=True)
    return {"kernel": kernel, "schedule": "ScaLAPACK", "n": n, "ranks": ranks, "gflops_per_rank": rates}


def plot(path: Path, products: list[dict[str, Any]], solves: list[dict[str, Any]], clock: str) -> None:
    """Figure 15, a panel for each number of ranks, and Figure 17a."""
    from matplotlib.figure import Figure

    counts = sorted({found["ranks"] for found in products})
    figure = Figure(figsize=(4.2 * (len(counts) + 1), 4.6), layout="constrained")
    panels = figure.subplots(1, len(counts) + 1, squeeze=False)[0]
    titles = [f"products, {count} ranks" for count in counts]
    groups = [[found for found in products if found["ranks"] == count] for count in counts]
    for axes, title, group, across in zip(
        panels,
        [*titles, "solves, n growing with the root of the ranks"],
        [*groups, solves],
        [*("n" for _ in counts), "ranks"],
        strict=True,
    ):
        for name in dict.fromkeys(found["schedule"] for found in group):
            line = [found for found in group if found["schedule"] == name]
            style = {"color": "black", "linestyle": "--"} if name == "ScaLAPACK" else {}
            rates = [found["gflops_per_rank"][clock] for found in line]
            axes.plot([found[across] for found in line], rates, marker="o", label=name, **style)
        axes.set(title=title, xlabel=across, ylim=(0, None))
        axes.set_xticks(sorted({found[across] for found in group}))
        axes.legend(frameon=False, fontsize="x-small", loc="lower right")
    panels[0].set_ylabel(f"GFLOP/s per rank, by the {clock}")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("--plot", type=Path, help="picture to draw")
    parser.add_argument("--quick", action="store_true", help="a small size, once")
    parser.add_argument("--sizes", nargs="+", type=int, default=[1024, 2048])
    parser.add_argument("--ranks", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--tile", type=int, default=128)
    parser.add_argument("--kernels", nargs="+", help="of matmul, solve, cholesky, lu, syrk, attention")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="what the picture shows")
    arguments = parser.parse_args()
    sizes, counts, tile, runs = arguments.sizes, arguments.ranks, arguments.tile, arguments.runs
    if arguments.quick:
        sizes, counts, tile, runs = [96], [2], 16, 1
    figures, alone = [], {}
    for n in sizes:
        alone[n] = measure(cases(n, 1, tile)[0], n, 1, runs)["processor"]
        for ranks in counts:
            for case in cases(n, ranks, tile):
                if not arguments.kernels or case.kernel in arguments.kernels:
                    figures.append(row(case, n, ranks, runs, alone[n]))
    if arguments.plot:
        peer, weak = find_peer(None), []
        products = [figure for figure in figures if figure["kernel"] == "matmul"]
        for ranks in sorted({1, *counts}):
            n = round(sizes[0] * math.sqrt(ranks) / tile) * tile
            of_size = cases(n, ranks, tile)
            weak += [
                row(case, n, ranks, runs, alone[sizes[0]]) for case in of_size if case.schedule in SOLVES
            ]
            if peer is not None:
                weak.append(peer_row(peer, "solve", n, ranks, runs, arguments.clock))
                at = sizes if ranks in counts else []
                products += [peer_row(peer, "matmul", n, ranks, runs, arguments.clock) for n in at]
        plot(arguments.plot, products, weak, arguments.clock)
        figures += weak
    write(arguments.json, {"measured": figures})


if __name__ == "__main__":
    main()
