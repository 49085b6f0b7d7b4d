"""Waits of the slow simulator besides those for messages and memory, from docs/timing.md alone.

Results of pipelined units, units side by side, ports, and links that channels share. All is remembered, and
sums are made at the end.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Json = dict[str, Any]
PE = tuple[int, ...]
STALLS = (
    "stall_empty",
    "stall_full",
    "stall_memory",
    "stall_control",
    "stall_link",
    "stall_unit",
    "stall_port",
)


@dataclass
class Timeline:
    """A PE's clock, its operators and its waits."""

    now: int = 0
    operators: list[tuple[int, int, str]] = field(default_factory=list)  # from, to, name
    waits: list[tuple[int, int, str]] = field(default_factory=list)  # from, to, cause

    def wait(self, time: int, cause: str) -> None:
        if time > self.now:
            self.waits.append((self.now, time, cause))
            self.now = time

    def account(self) -> tuple[Counter[str], Counter[str]]:
        """Cycles by operator, each one's without an earlier one; and those of waits without any operator."""
        busy, stalls = Counter[str](), Counter[str]()
        until = 0  # operators begin in order
        for start, end, name in self.operators:
            busy[name] += max(0, end - max(start, until))
            until = max(until, end)
        for start, end, cause in self.waits:
            hidden = sum(min(end, b) - max(start, a) for a, b in self.runs() if a < end and start < b)
            stalls[cause] += end - start - hidden
        return busy, stalls

    def runs(self) -> list[tuple[int, int]]:
        """The times in which any operator runs, apart and in order."""
        if getattr(self, "_known", None) != len(self.operators):
            merged: list[tuple[int, int]] = []
            for start, end, _ in sorted(self.operators):
                if merged and start <= merged[-1][1]:
                    merged[-1] = merged[-1][0], max(end, merged[-1][1])
                elif end > start:
                    merged.append((start, end))
            self._merged, self._known = merged, len(self.operators)
        return self._merged


class Slots:
    """The times from which elements of a PE's slots may be read and overwritten."""

    def __init__(self, slots: list[Json]) -> None:
        self.slots = slots
        self.written: dict[tuple[int, int], int] = {}
        self.read: dict[tuple[int, int], int] = {}
        self.aliases = {
            s: [o for o in range(len(slots)) if o != s and _meet(slots[s], slots[o])]
            for s in range(len(slots))
        }

    def readable(self, elements: Iterator[tuple[int, int]] | list[tuple[int, int]]) -> int:
        return max((self.written.get(element, 0) for element in elements), default=0)

    def writable(self, elements: list[tuple[int, int]]) -> int:
        own = max((max(self.written.get(e, 0), self.read.get(e, 0)) for e in elements), default=0)
        shared = {other for slot, _ in elements for other in self.aliases[slot]}
        others = [t for times in (self.written, self.read) for (s, _), t in times.items() if s in shared]
        return max([own, *others])

    def whole(self, slot: int) -> list[tuple[int, int]]:
        return [(slot, element) for element in range(self.slots[slot]["count"])]


def _meet(one: Json, other: Json) -> bool:
    (kind, a, b), (other_kind, c, d) = _place(one), _place(other)
    return kind == other_kind and a < d and c < b


def _place(slot: Json) -> tuple[str, int, int]:
    words = slot["count"] * math.prod(slot["tile"])
    if "first_register" in slot:
        return "registers", slot["first_register"], slot["first_register"] + words
    return "memory", slot["address"], slot["address"] + words * np.dtype(slot["dtype"]).itemsize


class Hazards:
    """Of all PEs of a program."""

    def __init__(self, program: Json, wraps: list[bool]) -> None:
        self.program, self.machine, self.wraps = program, program["machine"], wraps
        self.ports = self.machine["pe"].get("ports", {})
        self.overlap = self.machine["pe"].get("overlap", False)
        self.shared = self.machine.get("shared_links", False)
        self.begun: dict[tuple[PE, str], list[int]] = defaultdict(list)
        self.slots: dict[PE, Slots] = {}
        self.unit_free: dict[tuple[PE, str], int] = {}
        self.words: dict[Any, int] = {}  # passed so far, with the places that were left free
        self.bus_asked: dict[PE, tuple[int, Any, int, int]] = {}
        self.bus_given: dict[PE, int] = {}

    def wait_for_port(self, kind: str, pe: PE, clock: Timeline) -> None:
        for name in {kind, "issue"} & set(self.ports):
            before, count = self.begun[pe, name], self.ports[name]
            if len(before) >= count:
                clock.wait(before[-count] + 1, "stall_port")

    def begin(self, kind: str, pe: PE, clock: Timeline) -> None:
        for name in {kind, "issue"}:
            self.begun[pe, name].append(clock.now)

    def latency_after(self, unit: Json | None) -> int:
        return 0 if unit is None else unit.get("latency_cycles", unit["cycles"]) - unit["cycles"]

    def hop(self, channel: Json, sender: PE, receiver: PE) -> Any:
        """The link that all channels over one hop share; or the bus of a line."""
        if channel["kind"] == "network":
            axis = channel["axis"]
            return "bus", axis, sender[:axis], sender[axis + 1 :]
        if "link_maps" in self.machine or channel.get("scale"):
            return "hop", sender, receiver
        way = []
        has_executive = any(one.get("executive") for one in self.program["classes"])
        first, *others = self.program["grid"]
        field = (first - has_executive, *others)
        for step, extent, wraps in zip(channel["offset"], field, self.wraps, strict=True):
            if wraps and "link" not in channel:  # to the executive no link of the torus leads
                ways = [
                    w for w in range(-extent, extent + 1) if (w - step) % extent == 0 and 2 * abs(w) <= extent
                ]
                same_sign = [w for w in ways if w * step >= 0]
                step = same_sign[0] if same_sign and len(ways) > 1 else ways[0]
            way.append(step)
        return "hop", sender, tuple(way)

    def serve_bus(self, memory_starts: float) -> bool:
        """The request that was asked for first, unless a memory could start before."""
        if not self.bus_asked:
            return False
        asked, pe = min((asked, pe) for pe, (asked, *_) in self.bus_asked.items())
        if asked > memory_starts:
            return False
        _, bus, words, width = self.bus_asked.pop(pe)
        self.bus_given[pe] = self.pass_words(bus, asked * width, words)
        return True

    def pass_words(self, end: Any, asked: int, words: int) -> int:
        """The place of a message's first word at an end of a link, of those from 0 on, `asked` or later."""
        first = max(self.words.get(end, 0), asked)
        self.words[end] = first + words
        return first
