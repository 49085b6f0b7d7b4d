"""Demands of Chrome's trace event format on a file, as Perfetto reads it."""

import collections
import json
from decimal import Decimal

FIELDS = {
    "X": {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"},
    "M": {"name", "ph", "ts", "pid", "tid", "args"},
    "s": {"name", "cat", "ph", "ts", "pid", "tid", "id"},
    "f": {"name", "cat", "ph", "ts", "pid", "tid", "id", "bp"},
}
METADATA = {"process_name": str, "thread_name": str, "process_sort_index": int, "thread_sort_index": int}


def _refuse(constant):
    raise AssertionError(f"{constant} is no JSON")


def check(path):
    """Read the file, numbers as they are written, and return its events."""
    trace = json.loads(path.read_text(), parse_float=Decimal, parse_constant=_refuse)
    assert trace["displayTimeUnit"] in {"ms", "ns"}
    events = trace["traceEvents"]
    for event in events:
        _check_fields(event)
    _check_tracks(events)
    _check_nesting(events)
    _check_arrows(events)
    return events


def _check_fields(event):
    assert event.keys() == FIELDS[event["ph"]]
    assert event["name"]
    assert isinstance(event["name"], str)
    for field in ("ts", "dur"):
        assert event.get(field, 0) >= 0
        assert event.get(field, 0) * 1000 % 1 == 0, "times are whole nanoseconds to Perfetto"
    assert type(event["pid"]) is type(event["tid"]) is int
    assert event["pid"] > 0, "0 is the idle task"
    assert event["tid"] > 0, "0 is the idle task"
    if event["ph"] == "M":
        (value,) = event["args"].values()
        assert type(value) is METADATA[event["name"]]


def _check_tracks(events):
    """Each is named once, and a thread is in one process."""
    named = collections.Counter((e["name"], e["pid"], e["tid"]) for e in events if e["ph"] == "M")
    assert set(named.values()) <= {1}
    process_of = {}
    for event in events:
        assert process_of.setdefault(event["tid"], event["pid"]) == event["pid"]
        assert ("thread_name", event["pid"], event["tid"]) in named
    processes = collections.Counter(e["pid"] for e in events if e["name"] == "process_name")
    assert processes == dict.fromkeys({e["pid"] for e in events}, 1)


def _check_nesting(events):
    """In the order of time; a slice of a track is after another or within it, or Perfetto leaves it out."""
    times = [event["ts"] for event in events if event["ph"] != "M"]
    assert times == sorted(times)
    ends = collections.defaultdict(list)
    for event in events:
        if event["ph"] != "X":
            continue
        around = ends[event["tid"]]
        while around and around[-1] <= event["ts"]:
            around.pop()
        end = event["ts"] + event["dur"]
        assert not around or end <= around[-1]
        around.append(end)


def _check_arrows(events):
    """Each begins once and ends once, in the last slice of its track that has begun and not ended."""
    last = {}
    begun = {}
    ended = set()
    for event in events:
        if event["ph"] == "X":
            last[event["tid"]] = event
        if event["ph"] not in "sf":
            continue
        slice_ = last[event["tid"]]
        within = event["ts"] - slice_["ts"]
        assert 0 <= within < slice_["dur"] or within == slice_["dur"] == 0
        assert slice_["cat"] == ("send" if event["ph"] == "s" else "receive")
        assert event["name"] in slice_["name"]
        if event["ph"] == "s":
            assert event["id"] not in begun
            begun[event["id"]] = event
        else:
            assert event["bp"] == "e"
            start = begun[event["id"]]
            assert (start["name"], start["cat"]) == (event["name"], event["cat"])
            assert event["id"] not in ended
            ended.add(event["id"])
    assert ended == begun.keys()
