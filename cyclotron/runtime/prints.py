"""Lines that kernels print of their data, when a run has ended."""

from __future__ import annotations

from typing import Any

import numpy as np

from cyclotron.language.trace.prints import Printed, printed_by
from cyclotron.runtime.result import Result

_MOST = 1000


def pop_prints(result: Result) -> Result:
    """Print what the kernel prints, drop the outputs that tell it, and return the result."""
    calls: dict[tuple[str, tuple[int, ...]], dict[int, Any]] = {}
    first: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for name in list(result.outputs):
        found: Printed | None = printed_by(name)
        if found is not None:
            key = found.text, tuple(found.orders)
            calls.setdefault(key, {})[found.part] = np.asarray(result.outputs.pop(name))
            first[key] = found.first
    lines = []
    for (text, orders), parts in calls.items():
        for index in map(tuple, np.argwhere(parts[-1])):
            places = np.add(index, first[text, orders]).tolist()
            at = [one for pair in zip(orders, places, strict=False) for one in pair]
            values = (parts[n][index] for n in range(len(parts) - 1))
            lines.append(((*at, orders[-1]), text.format(*values)))
    lines.sort(key=lambda line: line[0])
    for _, line in lines[:_MOST]:
        print(line)
    if len(lines) > _MOST:
        print(f"... and {len(lines) - _MOST:,} lines more")
    return result
