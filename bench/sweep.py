"""Design-space exploration: 1,000 designs of a 64x64 array, time alone, with the Pareto front's picture."""

import tempfile
import time
from pathlib import Path

from common import medians, options, write
from kernels import matmul

import cyclotron as cy

BOUND_SECONDS = 10.0


def explore(side: int) -> cy.Sweep:
    """Four dataflows of a product on side x side PEs, on 250 kinds of links."""
    schedules = cy.schedules
    swept = cy.sweep(
        matmul,
        cy.spec((side, side)),
        cy.spec((side, side)),
        schedule=[
            schedules.output_stationary(matmul),
            schedules.weight_stationary(matmul),
            schedules.input_stationary(matmul),
            schedules.summa(matmul),
        ],
        link_latency=[1, 2, 4, 8, 16],
        response_latency=[0, 1],
        words_per_cycle=[1, 2, 4, 8, 16],
        depth=[1, 2, 4, 8, 16],
    )
    with tempfile.TemporaryDirectory() as folder:
        swept.plot("depth", "cycles", path=Path(folder) / "front.png")
    return swept


def main() -> None:
    chosen = options(__doc__)
    side, runs = (4, 1) if chosen.quick else (64, 3)
    swept = explore(side)

    def seconds() -> float:
        started = time.perf_counter()
        explore(side)
        return time.perf_counter() - started

    median = medians(runs, sweep=seconds)["sweep"]
    refused = sum(record["error"] is not None for record in swept)
    share = median / BOUND_SECONDS
    print(
        f"{len(swept)} designs of {side}x{side} PEs ({refused} refused): {median:.2f} s, "
        f"{share:.2f} of the bound"
    )
    write(chosen.json, {"designs": len(swept), "seconds": median, "of_bound": share})


if __name__ == "__main__":
    main()
