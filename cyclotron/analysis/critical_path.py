"""The critical path of a simulation: the chain of operators and messages that its cycles are the sum of."""

from __future__ import annotations

import functools
import html
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cyclotron.analysis.events import HasEvents, all_events, all_memory_requests, all_messages
from cyclotron.analysis.memory_waits import Cause, MemoryWaits
from cyclotron.support.tables import Row, Table

StepKind = Literal[
    "compute", "data", "broadcast", "capacity", "bandwidth", "memory", "port", "control", "hazard"
]
# What each kind of step is, and what would shorten it.
KINDS: dict[StepKind, tuple[str, str]] = {
    "compute": ("an operator computes", "fewer cycles of the operator: cy.PE(cycles=...), a wider unit"),
    "data": ("a message travels", "a lower latency or more words a cycle: cy.Link"),
    "broadcast": ("a message travels over a network", "another cy.Machine(broadcast=cy.Link(...))"),
    "capacity": ("a place becomes free in a full channel", "deeper channels: cy.Link(depth=...)"),
    "bandwidth": ("the message before leaves the link", "more words a cycle: cy.Link(words_per_cycle=...)"),
    "memory": ("a load or store is transferred and arrives", "a lower latency: cy.Memory(latency=...)"),
    "port": ("a port transfers the request before", "more bandwidth or ports: cy.Memory(bandwidth=...)"),
    "control": ("a PE waits for its next section", "less latency or set-up: cy.Control"),
    "hazard": (
        "a PE waits for a result, a unit or a port",
        "a lower latency: cy.Unit; more cy.PE(ports=...)",
    ),
}


class Step(NamedTuple):
    """One step of a critical path; the next one begins when it ends.

    Attributes
    ----------
    kind : {"compute", "data", "broadcast", "capacity", "bandwidth", "memory", "port", "control", "hazard"}
        An operator computes; a message travels over a link or over a network; a sender waits until a place in
        a full channel is free and it has learnt so (the response latency), or until the message before has
        left the link, of any channel where channels share it; a PE waits for a load or store from the start
        of its transfer on, or this until the port has transferred the request before, of whichever PE; a PE
        waits for the controller's calls, and sets them up: all in that PE, though the controller may have
        waited for another one; or a PE waits for a result of its own that a unit has not delivered,
        for a unit, or for a port.
    name : str
        The operator, the channel, the memory, the controller, or the PE.
    start, end : int
        Cycles.
    source, pe : int
        Linear indices of the PEs where it begins and ends; of an operator, the same.
    line : str
        ``file.py:12``, the Python text of the operator, or of the value that is sent, loaded or stored; or
        empty.
    """

    kind: StepKind
    name: str
    start: int
    end: int
    source: int
    pe: int
    line: str

    @property
    def cycles(self) -> int:
        """Its length; the steps of a path add up to the run's cycles."""
        return self.end - self.start


class CriticalPath(Table):
    """The chain of steps whose cycles add up to a run's: each begins when the one before ends.

    A longer step makes the run longer by as much. What is not on the path has slack, or ties with it: to
    shorten it never makes the run shorter. It tells where stalls come from.

    Attributes
    ----------
    result : Result
        The run.
    steps : tuple of Step
        From cycle 0 on.
    """

    def __init__(self, result: HasEvents, steps: tuple[Step, ...]) -> None:
        self.result = result
        self.steps = steps

    @property
    def cycles(self) -> int:
        """The sum of the steps: the run's cycles."""
        return sum(step.cycles for step in self.steps)

    @property
    def by_kind(self) -> dict[str, int]:
        """Cycles of each kind of step that occurs."""
        return self._sums(lambda step: step.kind)

    @property
    def by_name(self) -> dict[str, int]:
        """Cycles of each operator, and of each channel and memory whatever the kind."""
        return self._sums(lambda step: step.name)

    @functools.cached_property
    def by_pe(self) -> NDArray[np.int64]:
        """Cycles that the path spends in each PE, or on the way to it; int64, shape ``grid``."""
        found = np.zeros(int(np.prod(self.result.grid)), dtype=np.int64)
        for step in self.steps:
            found[step.pe] += step.cycles
        return found.reshape(self.result.grid)

    def _sums(self, key: Any) -> dict[str, int]:
        sums: Counter[str] = Counter()
        for step in self.steps:
            sums[key(step)] += step.cycles
        return dict(sums.most_common())

    def _table(self) -> tuple[Row, list[list[str]]]:
        """The operators and channels of the path, the longest first."""
        cycles: Counter[tuple[StepKind, str, str]] = Counter()
        steps: Counter[tuple[StepKind, str, str]] = Counter()
        for step in self.steps:
            cycles[step.kind, step.name, step.line] += step.cycles
            steps[step.kind, step.name, step.line] += 1
        return _HEADER, [
            [
                kind,
                name,
                line,
                f"{steps[kind, name, line]:,}",
                f"{total:,}",
                f"{total / max(self.cycles, 1):.1%}",
            ]
            for (kind, name, line), total in cycles.most_common()
        ]

    @property
    def caption(self) -> str:
        """The run that the path is of, and how long it is, in a line."""
        count = "×".join(map(str, self.result.grid))
        visited = len({step.pe for step in self.steps} | {step.source for step in self.steps})
        pes = f"{visited:,} PE" + ("" if visited == 1 else "s")
        name = self.result.program.kernel_name
        return f"critical path of {name} on {count}: {self.cycles:,} cycles, {len(self.steps):,} steps, {pes}"

    def _advice(self) -> list[str]:
        return [
            f"{kind}: {KINDS[kind][0]}; shorter by {KINDS[kind][1]}" for kind in KINDS if kind in self.by_kind
        ]

    def __str__(self) -> str:
        return "\n\n".join([super().__str__(), "\n".join(self._advice())]) if self.steps else self.caption

    def _repr_html_(self) -> str:
        advice = "".join(f"<li>{html.escape(line)}</li>" for line in self._advice())
        return f"<div>{super()._repr_html_()}<ul>{advice}</ul></div>"


_HEADER = ("kind", "through", "line", "steps", "cycles", "share")


def critical_path(result: HasEvents) -> CriticalPath:
    """Follow the last event of a run backwards to cycle 0, through what each event waited for.

    Where several chains are as long, it follows the one that stays in a PE longest.

    Parameters
    ----------
    result : Result
        Of a simulation that kept its events and messages.

    Returns
    -------
    CriticalPath

    Raises
    ------
    ExecutionError
        If events or messages are missing; tells the ``event_limit`` that keeps them.
    """
    return CriticalPath(result, tuple(_Log(result).back())[::-1])


class _Log:
    """The computations, sends, receives, loads and stores of every PE, in order.

    An action is a number: an event, then a message's receive, then its send, then a request's LOAD or STORE;
    and, no PE's own, the start of its transfer.
    """

    def __init__(self, result: HasEvents) -> None:
        self.program = result.program
        self.grid, self.cycles = result.grid, result.cycles
        self.idle = result.stats["idle"].reshape(-1)
        # What no action explains, a PE waited for: the controller, or itself.
        self.gap: tuple[StepKind, str] | None = None
        if result.stats["stall_control"].any():
            self.gap = "control", "controller"
        elif self._has_hazards(result):
            self.gap = "hazard", "PE"
        self.events, self.messages = all_events(result), all_messages(result)
        events, messages = self.events, self.messages
        requests = all_memory_requests(result)
        self.receives, self.sends = len(events), len(events) + len(messages)
        self.passes = self.sends + len(messages)
        self.transfers = self.passes + len(requests)
        self.memory = MemoryWaits(requests, result.stats["memory_ports"], result.program.core.machine)
        # What is never received, as only a program written by hand leaves it, is no PE's.
        receiver = np.where(messages["received"] < 0, -1, messages["receiver"])
        orders = events["order"], messages["receive_order"], messages["send_order"], requests["order"]
        loader = np.where(requests["passed"] < 0, -1, requests["pe"])
        pe = np.concatenate([events["pe"], receiver, messages["sender"], loader]).astype(np.int64)
        order = np.concatenate(orders)
        self.end = np.concatenate([events["end"], messages["received"], messages["sent"], requests["passed"]])
        self.key = (pe << 32) | order
        self.sorted = np.argsort(self.key, kind="stable")
        self.sorted_keys = self.key[self.sorted]
        self.queue, self.queue_place = self._ranked("sender", "receiver")
        self.port, self.port_place = self._ranked("sender")
        self.lines = [pe_class.lines for pe_class in self.program.core.classes]
        self.class_of: dict[int, int] = {}  # of the PEs that the path came to
        self.channels = self.program.channels
        self.link = functools.cache(self.program.core.link)

    @staticmethod
    def _has_hazards(result: HasEvents) -> bool:
        waits = any(result.stats[name].any() for name in ("stall_unit", "stall_port"))
        return waits or bool(result.program.core.machine.pe.overlap)

    def _ranked(self, *ends: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The messages sorted by channel, ends and order of sending, and the place of each among them."""
        m = self.messages
        rank = np.lexsort([m["send_order"], *[m[end] for end in reversed(ends)], m["channel"]])
        place = np.empty_like(rank)
        place[rank] = np.arange(len(rank))
        return rank, place

    def back(self) -> Iterator[Step]:
        """The steps, from the last to the first, and the waits that no action explains.

        Where units overlap, a PE goes on while an operator computes: the step ends then.
        """
        at, pe = self.cycles, int(np.argmin(self.idle))
        for step in self._steps():
            if self.gap and step.end < at:
                yield Step(*self.gap, step.end, at, step.pe, step.pe, "")
            yield step._replace(end=min(step.end, at))
            at, pe = step.start, step.source
        if at > 0 and self.gap:
            yield Step(*self.gap, 0, at, pe, pe, "")

    def _steps(self) -> Iterator[Step]:
        """Those that actions explain."""
        action = self._last()
        if action is None and (last := self.memory.last(self.cycles)) is not None:
            pe = int(self.memory.requests["pe"][last])
            start = int(self.memory.requests["start"][last])
            yield self._request(Cause("memory", last, start, self.cycles), pe)
            action = self.transfers + last
        while action is not None:
            if action < self.receives:
                yield self._compute(action)
                action = self._before(action)
            elif action < self.sends:
                message = action - self.receives
                step = self._arrival(message)
                if step is not None:
                    yield step
                action = self._before(action) if step is None else self.sends + message
            elif action < self.passes:
                found = self._place(action - self.sends)
                if found is not None:
                    yield found[0]
                action = self._before(action) if found is None else found[1]
            else:
                cause, pe = self._cause(action)
                if cause is not None and cause.kind != "passed":
                    yield self._request(cause, pe)
                action = self._after(action, cause)

    def _cause(self, action: int) -> tuple[Cause | None, int]:
        """The cause that a LOAD, a STORE or the start of a transfer waited for, and its PE."""
        transfer = action >= self.transfers
        request = action - (self.transfers if transfer else self.passes)
        cause = self.memory.start_of(request) if transfer else self.memory.pass_of(request)
        return cause, int(self.memory.requests["pe"][request])

    def _after(self, action: int, cause: Cause | None) -> int | None:
        """The action that ended the wait; where there was none, what the PE did before."""
        if cause is None:
            return None if action >= self.transfers else self._before(action)
        return (self.passes if cause.kind == "passed" else self.transfers) + cause.request

    def _request(self, cause: Cause, pe: int) -> Step:
        assert cause.kind != "passed"
        source = int(self.memory.requests["pe"][cause.request])
        line = self._line(source, int(self.memory.requests["instruction"][cause.request]))
        return Step(cause.kind, self.memory.name(cause.request), cause.start, cause.end, source, pe, line)

    def _last(self) -> int | None:
        """The last action of a PE that ends with the run, if only with a wait for the controller."""
        ends = self.end[self.sorted] == self.cycles
        if self.gap and not ends.any():
            ends = self.sorted_keys >> 32 == np.argmin(self.idle)
        pe = self.sorted_keys >> 32
        last_of_pe = np.append(pe[1:] != pe[:-1], True)[: len(pe)]
        found = np.flatnonzero(ends & last_of_pe)
        return int(self.sorted[found[0]]) if len(found) else None

    def _before(self, action: int) -> int | None:
        """The action of the PE before."""
        at = int(np.searchsorted(self.sorted_keys, self.key[action])) - 1
        if at < 0 or self.sorted_keys[at] >> 32 != self.key[action] >> 32:
            return None
        return int(self.sorted[at])

    def _compute(self, number: int) -> Step:
        event = self.events[number]
        pe = int(event["pe"])
        line = self._line(pe, int(event["instruction"]))
        return Step("compute", str(event["operator"]), int(event["start"]), int(event["end"]), pe, pe, line)

    def _arrival(self, number: int) -> Step | None:
        """The way of a message that its receiver waited for; None where it did not wait."""
        message = self.messages[number]
        if message["received"] == message["waiting"]:
            return None
        network = self.channels[message["channel"]]["kind"] == "network"
        sender, receiver = int(message["sender"]), int(message["receiver"])
        return self._message("broadcast" if network else "data", message, message["sent"], sender, receiver)

    def _place(self, number: int) -> tuple[Step, int] | None:
        """The step that a sender waited for, and the action that ended it; None where it did not wait."""
        message = self.messages[number]
        channel, sent, sender = int(message["channel"]), message["sent"], int(message["sender"])
        if sent == message["ready"]:
            return None
        if sent > message["placed"]:
            return self._turn_to_send(number)
        first, last = self._group(number)
        before = int(self.port[first - 1]) if first > 0 else -1
        if before >= 0 and self._same_port(before, number) and self._own_free(before) == sent:
            start = self.messages["sent"][before]
            return self._message("bandwidth", message, start, sender, sender), self.sends + before
        link = self.link(channel, sender)
        for member in self.port[first:last]:  # of a broadcast, the receiver that is last to have a place
            at = self.queue_place[member] - link.depth
            earlier = int(self.queue[at]) if at >= 0 else -1
            if earlier < 0 or not self._same_queue(earlier, int(member)):
                continue
            left = self.messages["received"][earlier]
            if left + link.response_latency_cycles == sent:
                receiver = int(self.messages["receiver"][earlier])
                return self._message("capacity", message, left, receiver, sender), self.receives + earlier
        raise AssertionError(f"message {number} waited for nothing")

    def _own_free(self, number: int) -> int:
        """The cycle from which the next message of the same channel may leave."""
        message = self.messages[number]
        width = self.link(int(message["channel"]), int(message["sender"])).words_per_cycle
        return int(message["sent"] - (-message["words"] // width))

    def _turn_to_send(self, number: int) -> tuple[Step, int]:
        """The step in which another message is on a link or bus that channels share, and its send."""
        message = self.messages[number]
        before = np.flatnonzero(self._sharing(number) & (self.messages["sent"] < message["sent"]))
        other = int(before[np.argmax(self.messages["sent"][before])])
        source, start = int(self.messages["sender"][other]), int(self.messages["sent"][other])
        step = self._message("bandwidth", message, start, source, int(message["sender"]))
        return step, self.sends + other

    def _sharing(self, number: int) -> NDArray[np.bool_]:
        """The messages whose link, or bus, a message takes, too."""
        m, axis = self.messages, self._axis[self.messages["channel"][number]]
        if axis < 0:
            return np.asarray(
                (self._axis[m["channel"]] < 0)
                & (m["sender"] == m["sender"][number])
                & (m["receiver"] == m["receiver"][number])
            )
        line = self._lines_of(axis)
        return np.asarray(
            (self._axis[m["channel"]] == axis) & (line[m["sender"]] == line[m["sender"][number]])
        )

    @functools.cached_property
    def _axis(self) -> NDArray[np.int64]:
        """The axis of each channel's broadcasts; -1 of a link's."""
        return np.array([c["axis"] if c["kind"] == "network" else -1 for c in self.channels], np.int64)

    def _lines_of(self, axis: int) -> NDArray[np.intp]:
        """The first PE of the line of each PE along an axis."""
        pes = np.arange(int(np.prod(self.grid))).reshape(self.grid)
        return np.broadcast_to(np.take(pes, [0], axis), self.grid).reshape(-1)

    def _group(self, number: int) -> tuple[int, int]:
        """The positions in `port` of the messages of one send: several of a broadcast."""
        order = self.messages["send_order"][number]
        first = last = int(self.port_place[number])
        while first > 0 and self._is_in(first - 1, number, order):
            first -= 1
        while last < len(self.port) and self._is_in(last, number, order):
            last += 1
        return first, last

    def _is_in(self, place: int, number: int, order: int) -> bool:
        other = int(self.port[place])
        return self._same_port(other, number) and self.messages["send_order"][other] == order

    def _same_port(self, a: int, b: int) -> bool:
        m = self.messages
        return bool(m["channel"][a] == m["channel"][b] and m["sender"][a] == m["sender"][b])

    def _same_queue(self, a: int, b: int) -> bool:
        return self._same_port(a, b) and bool(self.messages["receiver"][a] == self.messages["receiver"][b])

    def _message(self, kind: StepKind, message: Any, start: int, source: int, pe: int) -> Step:
        """A step of a message, which ends when it is sent, or received where it travels."""
        end = message["received"] if kind in ("data", "broadcast") else message["sent"]
        name = self.channels[message["channel"]]["name"]
        line = self._line(int(message["sender"]), int(message["send_instruction"]))
        return Step(kind, name, int(start), int(end), source, pe, line)

    def _line(self, pe: int, instruction: int) -> str:
        if pe not in self.class_of:
            found = self.program.core.class_of([int(at) for at in np.unravel_index(pe, self.grid)])
            assert found is not None
            self.class_of[pe] = found
        file, line = self.lines[self.class_of[pe]][instruction]
        return f"{Path(file).name}:{line}" if line else ""
