"""The events of a simulation in Chrome's trace event format, which Perfetto reads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cyclotron.analysis.events import HasEvents

Record = dict[str, Any]


def microseconds(nanoseconds: int) -> float:
    """As the format has them; with whole nanoseconds slices that meet do not overlap by a rounding error."""
    whole, rest = divmod(nanoseconds, 1000)
    return nanoseconds / 1000 if rest else whole


def trace_of(result: HasEvents, message_limit: int) -> Record:
    """Return a trace: a process a row of the grid, a thread a PE, a slice a computation, a send or a receive.

    A send lasts as long as the PE waits for a place in the channel. A receive is a slice of no length, after
    one of the wait for the message; an arrow (a flow) leads there from the send. A load or store that its
    memory serves lasts as long as the PE waits for it; a memory is a process, too, with a thread a port and a
    slice a transfer. Times are those of the machine's clock; without one, a cycle is a microsecond. PEs that
    do nothing have no track.

    Parameters
    ----------
    result : Result
        Of a simulation; of its events and messages there are as many as it kept.
    message_limit : int
        Messages to draw, those that are sent first, and requests to memories, those that are served first.

    Returns
    -------
    dict
        For `json.dump`; ``otherData`` tells the kernel, the cycles, and how many events and messages are not
        drawn.
    """
    events = result.events
    messages = result.messages[np.argsort(result.messages["sent"], kind="stable")[:message_limit]]
    clock: float | None = result.program.core.machine.clock_hz
    time = _Time(1e3 if clock is None else 1e9 / clock)
    draw = _Drawing(time, result.grid[-1])
    for event in events:
        draw.computation(event)
    names = [channel["name"] for channel in result.program.channels]
    drawn: set[tuple[int, int]] = set()
    for number, message in enumerate(messages, start=1):
        send = int(message["sender"]), int(message["send_order"])
        draw.message(number, message, names[message["channel"]], first=send not in drawn)
        drawn.add(send)  # of a broadcast once, with an arrow to each receiver
    requests = result.memory_requests[
        np.argsort(result.memory_requests["start"], kind="stable")[:message_limit]
    ]
    memories = [port["memory"] for port in result.stats["memory_ports"]]
    for request in requests:
        draw.request(request, memories[request["port"]])
    ports = _Ports(memories, int(np.prod(result.grid)), result.grid[-1], time)
    return {
        "traceEvents": _tracks(draw.pes, result.grid, tuple(result.program.grid_names))
        + ports.tracks(requests)
        + sorted(draw.records() + ports.records(requests), key=lambda record: float(record["ts"])),
        "displayTimeUnit": "ms",
        "otherData": {
            "kernel": result.program.kernel_name,
            "cycles": result.cycles,
            "events_dropped": result.events_dropped,
            "messages_dropped": result.messages_dropped + len(result.messages) - len(messages),
            "memory_requests_dropped": result.memory_requests_dropped
            + len(result.memory_requests)
            - len(requests),
        },
    }


class _Time(NamedTuple):
    """The clock's."""

    nanoseconds: float  # A cycle.

    def at(self, cycle: int) -> float:
        return microseconds(round(cycle * self.nanoseconds))

    def between(self, start: int, end: int) -> float:
        return microseconds(round(end * self.nanoseconds) - round(start * self.nanoseconds))

    def last(self, start: int, end: int) -> float:
        """The last nanosecond of a slice that is that long: at its end Perfetto takes the slice after it."""
        first, after = (round(cycle * self.nanoseconds) for cycle in (start, end))
        return microseconds(max(first, after - 1))


class _SortKey(NamedTuple):
    """Order of a record in the file."""

    cycle: int
    order: int
    part: int  # 0: the slice, 1: an end of an arrow
    pe: int


class _Drawing:
    """Slices and arrows. An arrow's end belongs to the slice that it is in, the last such in the file."""

    def __init__(self, time: _Time, columns: int) -> None:
        self._time, self._columns = time, columns
        self._records: list[tuple[_SortKey, Record]] = []

    @property
    def pes(self) -> list[int]:
        return sorted({place.pe for place, _ in self._records})

    def records(self) -> list[Record]:
        """All in the order of time, and at one time in the order in which they can happen."""
        return [record for _, record in sorted(self._records, key=lambda entry: entry[0])]

    def computation(self, event: Any) -> None:
        loops = event["loops"][: int(event["depth"])].tolist()
        arguments = {"instruction": int(event["instruction"]), "loops": loops}
        cycles = int(event["start"]), int(event["end"])
        self._slice(
            "compute", str(event["operator"]), int(event["pe"]), int(event["order"]), cycles, arguments
        )

    def message(self, number: int, message: Any, channel: str, *, first: bool) -> None:
        """An arrow between two slices; the first of a broadcast draws the sender's."""
        words = {"words": int(message["words"])}
        sender, receiver = int(message["sender"]), int(message["receiver"])
        order, then = int(message["send_order"]), int(message["receive_order"])
        sent, received = int(message["sent"]), int(message["received"])
        sending, waiting = (int(message["ready"]), sent), (int(message["waiting"]), received)
        if first:
            self._slice("send", f"send {channel}", sender, order, sending, words)
        if received < 0:
            return
        if waiting[0] < received:
            self._slice("wait", f"wait {channel}", receiver, then, waiting, {})
        self._slice("receive", f"receive {channel}", receiver, then, (received, received), words)
        arrow = {"cat": "message", "name": channel, "id": number}
        self._add(_SortKey(sent, order, 1, sender), {"ph": "s", **arrow, "ts": self._time.last(*sending)})
        end = {"ph": "f", "bp": "e", **arrow, "ts": self._time.at(received)}
        self._add(_SortKey(received, then, 1, receiver), end)

    def request(self, request: Any, memory: str) -> None:
        """The time that its PE waits, if the PE came to it."""
        if request["passed"] < 0:
            return
        kind = "store" if request["stores"] else "load"
        cycles = int(request["waiting"]), int(request["passed"])
        words = {"words": int(request["words"])}
        self._slice(kind, f"{kind} {memory}", int(request["pe"]), int(request["order"]), cycles, words)

    def _slice(
        self, kind: str, name: str, pe: int, order: int, cycles: tuple[int, int], arguments: Record
    ) -> None:
        start, end = cycles
        times = {"ts": self._time.at(start), "dur": self._time.between(start, end)}
        record = {"ph": "X", "cat": kind, "name": name, **times, "args": arguments}
        self._add(_SortKey(start, order, 0, pe), record)

    def _add(self, key: _SortKey, record: Record) -> None:
        self._records.append((key, {**record, **_ids(key.pe, self._columns)}))


class _Ports:
    """The tracks of the memories' ports, after those of the PEs."""

    def __init__(self, memories: list[str], pes: int, columns: int, time: _Time) -> None:
        self._memories, self._pes, self._rows = memories, pes, -(-pes // columns)
        self._names = list(dict.fromkeys(memories))
        self._time = time

    def tracks(self, requests: Any) -> list[Record]:
        """Names and order of those that are used."""
        records: list[Record] = []
        for port in sorted({int(port) for port in requests["port"]}):
            ids = self._ids(port)
            memory = self._memories[port]
            if not records or records[-1]["pid"] != ids["pid"]:
                records += metadata("process", ids, f"memory {memory}", ids["pid"])
            number = port - self._memories.index(memory)
            records += metadata("thread", ids, f"{memory} port {number}", ids["tid"])
        return records

    def records(self, requests: Any) -> list[Record]:
        """A slice a transfer."""
        return [
            {
                "ph": "X",
                "cat": "transfer",
                "name": "store" if request["stores"] else "load",
                "ts": self._time.at(int(request["start"])),
                "dur": self._time.between(int(request["start"]), int(request["end"])),
                **self._ids(int(request["port"])),
                "args": {
                    "pe": int(request["pe"]),
                    "words": int(request["words"]),
                    "asked": int(request["asked"]),
                },
            }
            for request in requests
        ]

    def _ids(self, port: int) -> dict[str, int]:
        memory = self._names.index(self._memories[port])
        return {"pid": 1 + self._rows + memory, "tid": 1 + self._pes + port}


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
            records += metadata("process", ids, where or "PEs", row)
        records += metadata("thread", ids, f"PE {', '.join(map(str, place))}", ids["tid"])
    return records


def metadata(kind: str, ids: dict[str, int], name: str, place: int) -> list[Record]:
    return [
        {"ph": "M", "ts": 0, **ids, "name": f"{kind}_name", "args": {"name": name}},
        {"ph": "M", "ts": 0, **ids, "name": f"{kind}_sort_index", "args": {"sort_index": place}},
    ]
