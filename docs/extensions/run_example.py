"""Runs one example as a script in the current folder; draws its last simulated run if it draws nothing.

python run_example.py <example>
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("agg")

import cyclotron as cy

run = cy.run
simulated: list[Any] = []


def recorded(*args: Any, **kwargs: Any) -> Any:
    result = run(*args, **kwargs)
    if kwargs.get("backend") == "sim" and 1 <= len(result.grid) <= 2:
        simulated[:] = [result]
    return result


def main(example: Path) -> None:
    vars(cy)["run"] = recorded
    sys.path.insert(0, str(example.parent))
    sys.argv = [str(example)]
    runpy.run_path(str(example), run_name="__main__")
    if not any(Path().glob("*.png")) and simulated:
        simulated[0].plot.utilization(path="utilization.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
