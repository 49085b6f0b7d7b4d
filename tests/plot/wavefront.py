"""Results as the simulator would report them for a wavefront over a grid, without a simulator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

EVENT = np.dtype([("pe", "u4"), ("operator", "U20"), ("start", "i8"), ("end", "i8")])


@dataclass
class Program:
    kernel_name: str
    grid_names: list[str]


@dataclass
class Result:
    program: Program
    grid: tuple[int, ...]
    cycles: int
    utilization: np.ndarray
    stats: dict[str, Any]
    events: np.ndarray = field(default_factory=lambda: np.empty(0, EVENT))
    events_dropped: int = 0


def wavefront(grid: tuple[int, ...], steps: int, *, kernel: str = "matmul", events: bool = True) -> Result:
    """PE p starts at cycle sum(p) and computes once a cycle; every seventh step waits a cycle for space."""
    names = ["i", "j", "k", "l"][: len(grid)]
    starts = sum(np.indices(grid)).reshape(-1)
    stalls = steps // 7
    cycles = int(starts.max()) + steps + stalls
    offsets = np.arange(steps) + np.arange(steps) // 7
    count = starts.size
    shape = np.ones(grid, dtype=np.int64)
    stats = {
        "busy": shape * steps,
        "stall_empty": starts.reshape(grid),
        "stall_full": shape * stalls,
        "idle": cycles - stalls - steps - starts.reshape(grid),
        "busy_by_operator": {"multiply_add": shape * (steps - 1), "divide": shape},
        "channels": [
            {"name": f"A.j+{n}", "messages": n, "words": n, "peak_occupancy": 1, "utilization": n / 40}
            for n in range(1, 15)
        ],
    }
    log = np.empty(count * steps if events else 0, EVENT)
    if events:
        log["pe"] = np.repeat(np.arange(count), steps)
        log["start"] = (starts[:, None] + offsets[None, :]).reshape(-1)
        log["end"] = log["start"] + 1
        log["operator"] = np.tile(np.where(np.arange(steps) == steps - 1, "divide", "multiply_add"), count)
    return Result(Program(kernel, names), grid, cycles, stats["busy"] / cycles, stats, log)
