"""The events of MPI ranks in Chrome's trace event format, which Perfetto reads."""

from __future__ import annotations

import collections
from typing import Any

from cyclotron.rank_profile import Profile

Record = dict[str, Any]
_PROCESS = 1  # 0 is the idle task


def trace_of_ranks(profile: Profile, message_limit: int) -> Record:
    """Return a trace: a thread a rank; a slice an operator on tiles, a load, a store, a send or a wait.

    A message that arrives is a slice without length, and an arrow leads there from its send.

    Parameters
    ----------
    profile : Profile
        Of a run with ``event_limit``.
    message_limit : int
        Messages to draw arrows for, the first so many.

    Returns
    -------
    dict
        For `json.dump`; ``otherData`` tells the run, and how many events were dropped.

    Raises
    ------
    ExecutionError
        If the ranks kept no events (CYC717).
    """
    events = profile.kept_events()
    records = _metadata("process", 0, "MPI ranks")
    for rank in range(len(profile)):
        records += _metadata("thread", rank, f"rank {rank}")
    # Messages from one sender to one rank on one link or network arrive in their order.
    sent: dict[tuple[str, int, int], collections.deque[tuple[int, Any]]] = collections.defaultdict(
        collections.deque
    )
    arrows: list[tuple[int, Any, Any]] = []
    number = 0
    for event in events:
        if event["kind"] == "send":
            number += 1
            sent[str(event["name"]), int(event["source"]), int(event["peer"])].append((number, event))
    for event in events:
        records.append(_slice(event))
        if event["kind"] != "receive":
            continue
        waiting = sent[str(event["name"]), int(event["source"]), int(event["rank"])]
        if waiting:
            arrows.append((*waiting.popleft(), event))
    for number, send, receive in sorted(arrows, key=lambda arrow: float(arrow[1]["start"]))[:message_limit]:
        arrow = {"cat": "message", "name": str(send["name"]), "id": number, "pid": _PROCESS}
        records.append({"ph": "s", **arrow, "tid": _thread(send), "ts": 1e6 * float(send["start"])})
        end = {"ph": "f", "bp": "e", **arrow, "tid": _thread(receive), "ts": 1e6 * float(receive["start"])}
        records.append(end)
    return {
        "traceEvents": sorted(records, key=lambda record: float(record["ts"])),
        "displayTimeUnit": "ms",
        "otherData": {"run": profile.caption, "events_dropped": profile.events_dropped},
    }


def _slice(event: Any) -> Record:
    kind, name = str(event["kind"]), str(event["name"])
    arguments = {
        "compute": ("pe",),
        "load": ("pe",),
        "store": ("pe",),
        "send": ("words", "peer"),
        "receive": ("words",),
        "wait": (),
        "exchange": (),
    }[kind]
    return {
        "ph": "X",
        "cat": kind,
        "name": name if kind == "compute" else f"{kind} {name}".strip(),
        "pid": _PROCESS,
        "tid": _thread(event),
        "ts": 1e6 * float(event["start"]),
        "dur": 1e6 * float(event["end"] - event["start"]),
        "args": {"to rank" if field == "peer" else field: int(event[field]) for field in arguments},
    }


def _thread(event: Any) -> int:
    return 1 + int(event["rank"])


def _metadata(kind: str, rank: int, name: str) -> list[Record]:
    where = {"ph": "M", "ts": 0, "pid": _PROCESS, "tid": 1 + rank}
    return [
        {**where, "name": f"{kind}_name", "args": {"name": name}},
        {**where, "name": f"{kind}_sort_index", "args": {"sort_index": rank}},
    ]
