"""The benchmarks' common parts: options, and the record that is written."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any


def options(description: str | None) -> argparse.Namespace:
    """`--json FILE` and `--quick`, which only sees that the benchmark runs."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("--quick", action="store_true", help="small sizes and few runs")
    return parser.parse_args()


def medians(runs: int, **measures: Callable[[], float]) -> dict[str, float]:
    """The median of each measure, taken in turn so that a drift of the machine's speed hits all alike."""
    values: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(runs):
        for name, measure in measures.items():
            values[name].append(measure())
    return {name: statistics.median(found) for name, found in values.items()}


def write(path: Path | None, figures: dict[str, Any]) -> None:
    """Write the figures with the commit and the machine they hold for."""
    if path is None:
        return
    try:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:  # the sources came without git
        commit = ""
    machine = {"platform": platform.platform(), "cores": os.cpu_count(), "python": platform.python_version()}
    path.write_text(json.dumps({"commit": commit, "machine": machine, "figures": figures}, indent=2) + "\n")
