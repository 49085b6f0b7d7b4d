"""The events of MPI ranks in Chrome's trace event format, which Perfetto reads."""

from __future__ import annotations

import collections
from typing import Any

from cyclotron.analysis.chrome_trace import Record, metadata, microseconds
from cyclotron.analysis.rank_profile import Profile


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
    records = metadata("process", _ids(0), "MPI ranks", 0)
    for rank in range(len(profile)):
        records += metadata("thread", _ids(rank), f"rank {rank}", rank)
    arrows = _arrows(events, message_limit)
    slices: list[Record] = []
    for place, event in enumerate(events):
        slices.append(_slice(event))
        if place not in arrows:
            continue
        # An arrow's end belongs to the slice on its track that is before it in the file.
        where = {"name": str(event["name"]), "cat": "message", "id": arrows[place], **_ids(event["rank"])}
        end = {"ph": "s"} if event["kind"] == "send" else {"ph": "f", "bp": "e"}
        slices.append({**end, **where, "ts": slices[-1]["ts"]})
    return {
        "traceEvents": records + sorted(slices, key=lambda record: float(record["ts"])),
        "displayTimeUnit": "ms",
        "otherData": {"run": profile.caption, "events_dropped": profile.events_dropped},
    }


def _arrows(events: Any, limit: int) -> dict[int, int]:
    """The number of the arrow that starts or ends at an event, by the event's: of the first so many."""
    # Messages from one sender to one rank on one link or network arrive in their order.
    sent: dict[tuple[str, int, int], collections.deque[int]] = collections.defaultdict(collections.deque)
    for place, event in enumerate(events):
        if event["kind"] == "send":
            sent[str(event["name"]), int(event["source"]), int(event["peer"])].append(place)
    ends: dict[int, int] = {}
    for place, event in enumerate(events):
        waiting = sent.get((str(event["name"]), int(event["source"]), int(event["rank"])))
        if event["kind"] == "receive" and waiting:
            ends[waiting.popleft()] = place
    first = sorted(ends, key=lambda place: float(events[place]["start"]))[:limit]
    numbers = {place: number for number, place in enumerate(first, start=1)}
    return {**numbers, **{ends[place]: number for place, number in numbers.items()}}


def _slice(event: Any) -> Record:
    kind, name = str(event["kind"]), str(event["name"])
    start, end = (round(1e9 * float(event[field])) for field in ("start", "end"))
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
        **_ids(event["rank"]),
        "ts": microseconds(start),
        "dur": microseconds(end - start),
        "args": {"to rank" if field == "peer" else field: int(event[field]) for field in arguments},
    }


def _ids(rank: int) -> dict[str, int]:
    """All ranks are threads of one process; 0 is the idle task."""
    return {"pid": 1, "tid": 1 + int(rank)}
