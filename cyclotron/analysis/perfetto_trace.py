"""Traces in Perfetto's own binary format, half as large as JSON."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from cyclotron.analysis.chrome_trace import Record
from cyclotron.support.data import require_package

SUFFIXES = (".pftrace", ".perfetto-trace")
_SEQUENCE = 1  # all packets are of one writer


def packed(trace: Record) -> bytes:
    """Return a trace in the binary format: tracks, begins and ends of slices, flows, and what they tell.

    Parameters
    ----------
    trace : dict
        In Chrome's format, as `cyclotron.analysis.chrome_trace.trace_of` makes it.

    Raises
    ------
    BackendUnavailable
        CYC722 if the package ``perfetto`` is not installed.
    """
    require_package("perfetto", instead="save it as .json, which Perfetto reads too")
    format_ = importlib.import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    result = format_.Trace()
    records = trace["traceEvents"]
    for track in _tracks(records):
        track.describe(result.packet.add())
    told = result.packet.add(timestamp=0, trusted_packet_sequence_id=_SEQUENCE).track_event
    told.type, told.track_uuid, told.name = format_.TrackEvent.TYPE_INSTANT, 0, "run"
    _annotate(told, trace["otherData"])
    edges: list[_Edge] = []
    for place, (record, flows) in enumerate(_slices(records)):
        start, length = (round(1000 * record[field]) for field in ("ts", "dur"))
        edges.append(_Edge(start, place, record, flows))
        edges.append(_Edge(start + length, place, record, None))
    # In the order of their begins those that end are before those that begin then; an end is the innermost's.
    for edge in sorted(edges, key=lambda edge: edge.order):
        edge.write(result.packet.add(), format_.TrackEvent)
    data: bytes = result.SerializeToString()
    return data


class _Track(NamedTuple):
    """A process or a thread, by its metadata."""

    pid: int
    tid: int | None
    name: str
    order: int

    def describe(self, packet: Any) -> None:
        packet.trusted_packet_sequence_id = _SEQUENCE
        track = packet.track_descriptor
        if self.tid is None:
            track.uuid = _uuid(self.pid, None)
            track.process.pid, track.process.process_name = self.pid, self.name
            track.process.legacy_sort_index = self.order
        else:
            track.uuid, track.parent_uuid = _uuid(self.pid, self.tid), _uuid(self.pid, None)
            track.thread.pid, track.thread.tid, track.thread.thread_name = self.pid, self.tid, self.name
            track.thread.legacy_sort_index = self.order


class _Edge(NamedTuple):
    """The begin or the end of a slice."""

    nanoseconds: int
    place: int
    record: Record
    flows: dict[str, list[int]] | None  # None: the end

    @property
    def order(self) -> tuple[int, int, bool]:
        return self.nanoseconds, self.place, self.flows is None

    def write(self, packet: Any, event_type: Any) -> None:
        packet.timestamp, packet.trusted_packet_sequence_id = self.nanoseconds, _SEQUENCE
        event = packet.track_event
        event.track_uuid = _uuid(self.record["pid"], self.record["tid"])
        if self.flows is None:
            event.type = event_type.TYPE_SLICE_END
            return
        event.type, event.name = event_type.TYPE_SLICE_BEGIN, self.record["name"]
        event.categories.append(self.record["cat"])
        event.flow_ids.extend(self.flows["s"])
        event.terminating_flow_ids.extend(self.flows["f"])
        _annotate(event, self.record["args"])


def _uuid(pid: int, tid: int | None) -> int:
    return pid << 32 | (tid or 0)


def _tracks(records: list[Record]) -> list[_Track]:
    """The tracks, processes first."""
    names = {(r["name"], r["pid"], r["tid"]): r["args"] for r in records if r["ph"] == "M"}
    tracks = [
        _Track(
            pid,
            None if kind == "process_name" else tid,
            told["name"],
            names[kind.replace("name", "sort_index"), pid, tid]["sort_index"],
        )
        for (kind, pid, tid), told in names.items()
        if kind.endswith("_name")
    ]
    return sorted(tracks, key=lambda track: track.tid is not None)


def _slices(records: list[Record]) -> list[tuple[Record, dict[str, list[int]]]]:
    """The slices, each with the arrows that start and that end there: an arrow's end is of the last slice."""
    result: list[tuple[Record, dict[str, list[int]]]] = []
    last: dict[int, dict[str, list[int]]] = {}
    for record in records:
        if record["ph"] == "X":
            last[record["tid"]] = {"s": [], "f": []}
            result.append((record, last[record["tid"]]))
        elif record["ph"] in "sf":
            last[record["tid"]][record["ph"]].append(record["id"])
    return result


def _annotate(event: Any, told: Record) -> None:
    for name, value in told.items():
        note = event.debug_annotations.add(name=name)
        if isinstance(value, list):
            for one in value:
                note.array_values.add(int_value=one)
        elif isinstance(value, int):
            note.int_value = value
        else:
            note.string_value = str(value)
