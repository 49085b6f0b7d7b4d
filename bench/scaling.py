"""Strong and weak scaling to 1,024 ranks: what the simulator predicts of a calibrated cluster.

Products by Cannon's algorithm, triangular solves and Cholesky by tiles that are dealt out block-cyclically
and run as soon as their operands are there, as on the MPI backend. Each rank is a core of this computer and
each link what its ranks exchange messages over, as `cy.calibrate` measured them; no numbers are computed.

Words received by the busiest rank are compared with the leading term of the memory-dependent lower bound: a
rank that multiplies G pairs of elements, with room for M of them, moves 2 G / sqrt(M) (Irony, Toledo and
Tiskin 2004, and Ballard, Demmel, Holtz and Schwartz 2011 for all three kernels, up to a constant; this one is
of Smith et al. 2019, and less by sqrt(2) for Cholesky, after Beaumont et al. 2022). M is a rank's share of
the matrices, so the bound falls as 1 / sqrt(ranks), and schedules of two dimensions reach it but for a
factor. On few ranks they can do with less: the leading term leaves out what a rank has at the start.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cluster import machine, peak
from common import write

import cyclotron as cy
from cyclotron.linalg.kernels import cholesky, matmul, solve_lower


@dataclass(frozen=True)
class Kernel:
    """Per n^3: flops and pairs multiplied; words that are stored per n^2; tiles of a rank along a side."""

    flops: float
    pairs: float
    stored: float
    tiles: int
    symmetry: float = 1.0

    def bound(self, n: int, ranks: int) -> float:
        """Words that a rank has to move, at least, to leading order; none where it is alone."""
        if ranks == 1:
            return 0.0
        return 2 * self.pairs * n**3 / ranks / math.sqrt(self.stored * n**2 / ranks) / self.symmetry


KERNELS = {
    "gemm": Kernel(flops=2, pairs=1, stored=3, tiles=1),
    "trsm": Kernel(flops=1, pairs=1 / 2, stored=3 / 2, tiles=4),
    "cholesky": Kernel(flops=1 / 3, pairs=1 / 6, stored=1 / 2, tiles=8, symmetry=math.sqrt(2)),
}
TILES = 16  # along a side, at least, where there are several


def predict(name: str, n: int, side: int, calibration: cy.Calibration) -> cy.Prediction:
    """The kernel on side x side ranks."""
    space = cy.Schedule().space
    if name == "gemm":
        tile = -(-n // side)
        matrix = cy.spec((n, n), tile=tile)
        nodes = machine(calibration, (side, side), (tile, tile, tile))
        program = matmul.compile(matrix, matrix, schedule=cy.schedules.cannon(matmul), machine=nodes)
        return cy.predict(program, ranks=side**2)
    tiles = max(KERNELS[name].tiles * side, min(TILES, n))
    tile = -(-n // tiles)
    matrix = cy.spec((n, n), tile=tile)
    nodes = machine(calibration, (tiles, tiles), (tile, tile, tile))
    if name == "trsm":
        schedule = space("i", "r").broadcast("X").broadcast("A", along="r")
        program = solve_lower.compile(matrix, matrix, False, schedule=schedule, machine=nodes)
    else:
        program = cholesky.compile(matrix, schedule=space("i", "j").broadcast("L"), machine=nodes)
    return cy.predict(program, ranks=side**2, deal=cy.Layout((side, side), 1))


def measure(name: str, scaling: str, n: int, side: int, calibration: cy.Calibration) -> dict[str, Any]:
    """One row of the table."""
    kernel, ranks = KERNELS[name], side**2
    begun = time.perf_counter()
    found = predict(name, n, side, calibration)
    spent = time.perf_counter() - begun
    assert found.seconds is not None
    rate = kernel.flops * n**3 / ranks / found.seconds
    words, bound = int(found.words_received.max()), kernel.bound(n, ranks)
    ratio = words / bound if bound else 1.0
    efficiency = rate / peak(calibration)
    print(
        f"{name:8} {scaling:6} n={n:<6} {ranks:5} ranks  {rate * 1e-9:7.2f} GFLOP/s per rank  efficiency "
        f"{efficiency:4.0%}  {words * 1e-6:9.2f} M words, ratio to the bound {ratio:5.2f}  ({spent:.1f} s)",
        flush=True,
    )
    return {
        "kernel": name,
        "scaling": scaling,
        "n": n,
        "ranks": ranks,
        "seconds": found.seconds,
        "gflops_per_rank": rate * 1e-9,
        "efficiency": efficiency,
        "words_of_the_busiest_rank": words,
        "bound_words": bound,
        "messages": int(found.messages.max()),
    }


def plot(path: Path, figures: list[dict[str, Any]]) -> None:
    """Efficiency above, words against the bound below; strong scaling left, weak right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6.4), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True)
    for column, scaling in enumerate(("strong", "weak")):
        top, bottom = axes[0][column], axes[1][column]
        for number, name in enumerate(KERNELS):
            chosen = [f for f in figures if (f["kernel"], f["scaling"]) == (name, scaling)]
            ranks, colour = [f["ranks"] for f in chosen], f"C{number}"
            top.plot(ranks, [f["efficiency"] for f in chosen], marker="o", color=colour, label=name)
            moved = [f for f in chosen if f["bound_words"]]
            ranks = [f["ranks"] for f in moved]
            words = [f["words_of_the_busiest_rank"] for f in moved]
            bottom.plot(ranks, words, marker="o", color=colour, label=name)
            bound = [f["bound_words"] for f in moved]
            bottom.plot(ranks, bound, linestyle="--", color=colour, label=f"{name}, lower bound")
        sizes = sorted({f["n"] for f in figures if f["scaling"] == scaling})
        n = f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} … {sizes[-1]}"
        top.set(title=f"{scaling} scaling, {n}", ylabel="efficiency", ylim=(0, 1.05), xscale="log")
        bottom.set(xlabel="ranks", ylabel="words received, busiest rank", xscale="log", yscale="log")
        counts = sorted({f["ranks"] for f in figures})
        bottom.set_xticks(counts, [str(count) for count in counts])
        bottom.minorticks_off()
    axes[0][0].legend(frameon=False)
    axes[1][0].legend(frameon=False, fontsize="small")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("--plot", type=Path, help="picture to draw")
    parser.add_argument("--quick", action="store_true", help="few ranks and a small size")
    parser.add_argument("--kernels", nargs="+", choices=tuple(KERNELS), default=tuple(KERNELS))
    parser.add_argument(
        "--sides", nargs="+", type=int, default=[1, 2, 4, 8, 16, 32], help="of the ranks' grid"
    )
    parser.add_argument("--strong", type=int, default=16384, help="n of strong scaling")
    parser.add_argument("--weak", type=int, default=2048, help="n / sqrt(ranks) of weak scaling")
    parser.add_argument("--latency", type=float, help="of a link, in seconds, instead of the measured one")
    parser.add_argument(
        "--bandwidth", type=float, help="of a link, in bytes a second, instead of the measured"
    )
    arguments = parser.parse_args()
    sides, strong, weak = arguments.sides, arguments.strong, arguments.weak
    if arguments.quick:
        sides, strong, weak = [1, 2], 128, 64
    calibration = cy.calibrate()
    if arguments.latency:
        calibration = replace(calibration, latency=arguments.latency)
    if arguments.bandwidth:
        calibration = replace(calibration, seconds_per_byte=1 / arguments.bandwidth)
    print(calibration)
    figures = [
        measure(name, scaling, strong if scaling == "strong" else weak * side, side, calibration)
        for name in arguments.kernels
        for scaling in ("strong", "weak")
        for side in sides
    ]
    write(arguments.json, {"measured": figures})
    if arguments.plot:
        plot(arguments.plot, figures)


if __name__ == "__main__":
    main()
