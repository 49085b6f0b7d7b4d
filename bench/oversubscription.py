"""More ranks than cores: the throughput of all, against that of as many ranks as there are cores.

Ranks that wait give their core to others, so that the rest should cost little. Kernels and distributions are
those of `scalapack.py`, each with its best tile; runs alternate. By the wall: a rank that waits takes none of
the processor's time.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from common import write
from scalapack import FLOPS, cyclotron_runners, fastest

WALL = 0


def measure(kernel: str, n: int, counts: list[int], rounds: int, repeats: int) -> list[dict[str, object]]:
    """Rates of all ranks together, in turn."""
    runners = {count: fastest(cyclotron_runners(kernel, n, count, repeats), WALL) for count in counts}
    for _ in range(rounds):
        for runner in runners.values():
            runner.run()
    rates = {count: FLOPS[kernel] * n**3 / runner.median(WALL) * 1e-9 for count, runner in runners.items()}
    figures: list[dict[str, object]] = []
    for count, rate in rates.items():
        ratio = rate / rates[counts[0]]
        print(
            f"{kernel:8} n={n:<5} {count} ranks: {rate:6.1f} GFLOP/s in all ({runners[count].name}), "
            f"ratio to {counts[0]} ranks {ratio:.2f}",
            flush=True,
        )
        figures.append({"kernel": kernel, "n": n, "ranks": count, "gflops": rate, "ratio": ratio})
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("--quick", action="store_true", help="a small size, once")
    parser.add_argument("--kernels", nargs="+", default=["gemm", "trsm", "cholesky"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[2048, 4096])
    parser.add_argument("--times", nargs="+", type=int, default=[2, 4], help="ranks a core")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    counts = [cores, *(times * cores for times in arguments.times)]
    sizes, rounds, repeats = arguments.sizes, arguments.rounds, 5
    if arguments.quick:
        sizes, counts, rounds, repeats = [96], [1, 2], 1, 1
    figures = [
        figure
        for kernel in arguments.kernels
        for n in sizes
        for figure in measure(kernel, n, counts, rounds, repeats)
    ]
    write(arguments.json, {"measured": figures})


if __name__ == "__main__":
    main()
