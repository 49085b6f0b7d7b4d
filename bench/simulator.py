"""Instructions a second of the simulator and of the threads, on a scalar output-stationary product.

python bench/simulator.py [--json FILE]
"""

import argparse
import json
import statistics
from pathlib import Path

import numpy as np

import cyclotron as cy

RUNS = 5


@cy.kernel
def matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((64, 256)), rng.standard_normal((256, 64))
    program = matmul.compile(A, B, schedule=cy.schedules.output_stationary(matmul))
    timing = cy.run(program, backend="sim", functional=False)
    instructions, pe_cycles = timing.stats["instructions"], timing.cycles * timing.utilization.size
    figures = {}
    for name, options in {
        "sim": {"backend": "sim"},
        "sim, timing only": {"backend": "sim", "functional": False},
        "local": {"backend": "local"},
    }.items():
        seconds = statistics.median(cy.run(program, **options).seconds for _ in range(RUNS))
        figures[name] = {
            "instructions_per_second": instructions / seconds,
            "nanoseconds_per_instruction": seconds / instructions * 1e9,
            "pe_cycles_per_second": pe_cycles / seconds,
        }
        print(
            f"{name:17} {figures[name]['nanoseconds_per_instruction']:6.1f} ns an instruction "
            f"({figures[name]['nanoseconds_per_instruction'] / 200:.2f} of the bound of 200 ns), "
            f"{figures[name]['pe_cycles_per_second'] / 1e6:.1f} M PE-cycles/s"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
