"""The events of a simulation in Chrome's trace event format, which Perfetto reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from cyclotron.results import Result

Record = dict[str, Any]


def trace_of(result: Result) -> Record:
    """Return a trace: a process a row of the grid, a thread a PE, a slice a computation.

    Times are those of the machine's clock; without one, a cycle is a microsecond. PEs that compute nothing
    have no track.

    Parameters
    ----------
    result : Result
        Of a simulation; of its events there are as many as it kept.

    Returns
    -------
    dict
        For `json.dump`; ``otherData`` tells the kernel, the cycles and how many events were not kept.
    """
    events = result.events
    names = result.program.grid_names
    clock: float | None = result.program.core.machine["clock_hz"]
    microseconds = 1 if clock is None else 1e6 / clock  # a cycle
    records = _tracks([int(pe) for pe in np.unique(events["pe"])], result.grid, tuple(names))
    records += [_slice(event, result.grid[-1], microseconds) for event in events]
    return {
        "traceEvents": records,
        "displayTimeUnit": "ms",
        "otherData": {
            "kernel": result.program.kernel_name,
            "cycles": result.cycles,
            "events_dropped": result.events_dropped,
        },
    }


def _ids(pe: int, columns: int) -> dict[str, int]:
    """Process and thread of a PE. From 1, since 0 is the idle task, and no thread is in two processes."""
    return {"pid": 1 + pe // columns, "tid": 1 + pe}


def _tracks(pes: list[int], grid: tuple[int, ...], names: tuple[str, ...]) -> list[Record]:
    """Names and order of the tracks, rows first."""
    records: list[Record] = []
    row = None
    for pe in pes:
        ids = _ids(pe, grid[-1])
        place = [int(at) for at in np.unravel_index(pe, grid)]
        if ids["pid"] != row:
            row = ids["pid"]
            where = ", ".join(f"{name} = {at}" for name, at in zip(names, place[:-1], strict=False))
            records += _metadata("process", ids, where or "PEs", row)
        records += _metadata("thread", ids, f"PE {', '.join(map(str, place))}", ids["tid"])
    return records


def _metadata(kind: str, ids: dict[str, int], name: str, place: int) -> list[Record]:
    return [
        {"ph": "M", "ts": 0, **ids, "name": f"{kind}_name", "args": {"name": name}},
        {"ph": "M", "ts": 0, **ids, "name": f"{kind}_sort_index", "args": {"sort_index": place}},
    ]


def _slice(event: Any, columns: int, microseconds: float) -> Record:
    start, end = int(event["start"]), int(event["end"])
    loops = event["loops"][: int(event["depth"])].tolist()
    return {
        "ph": "X",
        "ts": start * microseconds,
        "dur": (end - start) * microseconds,
        **_ids(int(event["pe"]), columns),
        "name": str(event["operator"]),
        "args": {"instruction": int(event["instruction"]), "loops": loops},
    }
