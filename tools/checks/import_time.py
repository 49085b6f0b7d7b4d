"""Prints the processor time that `import cyclotron` takes beyond NumPy's own, beside its budget.

The least of several runs, which a busy machine disturbs least; a report, not a verdict.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUDGET_SECONDS = 0.12
RUNS = 7
PROGRAM = (
    "import numpy, time; start = time.process_time(); import cyclotron; print(time.process_time() - start)"
)


def measure() -> float:
    """Return the seconds of processor time, with OpenBLAS's threads asleep and modules compiled before."""
    environment = {**os.environ, "OPENBLAS_THREAD_TIMEOUT": "4"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", PROGRAM]
    return min(
        float(
            subprocess.run(
                command, check=True, capture_output=True, text=True, env=environment, cwd=ROOT
            ).stdout
        )
        for _ in range(RUNS)
    )


if __name__ == "__main__":
    seconds = measure()
    verdict = "" if seconds <= BUDGET_SECONDS else ", OVER BUDGET"
    print(f"import cyclotron: {seconds:.2f} of {BUDGET_SECONDS} s of processor time beyond NumPy's{verdict}")
