"""A control system message by message, as docs/timing.md has it: it shares nothing with the package.

Each PE is a generator with a clock, which yields where it waits; queues keep when messages came and left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import cyclotron as cy


@dataclass
class Costs:
    """Of the machine, in cycles, and depths of queues: of those to the workers, and of the others."""

    latency: int
    hop: int
    setup: int
    depth: int = 2
    workers_depth: int = 1000
    arguments_depth: int = 1000
    has_flags: bool = False  # the executive computes them, of its own data


@dataclass
class Queue:
    """Messages between two PEs, first in, first out."""

    latency: int
    depth: int
    messages: list[tuple[int, Any]] = field(default_factory=list)  # arrival and value, all of the run
    left: list[int] = field(default_factory=list)  # when they left
    link_free: int = 0

    def has_place(self) -> bool:
        return len(self.messages) - len(self.left) < self.depth

    def place_free(self) -> int:
        before = len(self.messages) - self.depth
        return self.left[before] + 1 if before >= 0 else 0

    def put(self, cycle: int, value: Any) -> None:
        self.messages.append((cycle + self.latency, value))


class Pe:
    """A clock, and what a PE does with messages; a port sends a word a cycle."""

    def __init__(self) -> None:
        self.now = 0
        self.held = 0  # cycles in which it waited for places in queues, or for its port
        self.port_free: dict[str, int] = {}

    def send(self, port: str, queues: Sequence[Queue], value: Any) -> Iterator[None]:
        while not all(queue.has_place() for queue in queues):
            yield
        if queues:
            free = [queue.place_free() for queue in queues]
            before, self.now = self.now, max(self.now, self.port_free.get(port, 0), *free)
            self.held += self.now - before
            self.port_free[port] = self.now + 1
        for queue in queues:
            queue.put(self.now, value)

    def receive(self, queue: Queue) -> Iterator[None]:
        while len(queue.messages) == len(queue.left):
            yield
        arrival, self.value = queue.messages[len(queue.left)]
        self.now = max(self.now, arrival)
        queue.left.append(self.now)


@dataclass
class Loop:
    """A loop: its body has sections (numbers) and loops; `ending`: first, last, period."""

    extent: range
    body: list[Any]
    ending: tuple[int, int, int] | None = None
    flags: Any = None  # of the loop, by iterations of the loops around it and its own
    number: int | None = None  # of its ending


@dataclass
class Call:
    """The words of a call: its number and its arguments."""

    number: int
    arguments: list[int]


class ControlSystem:
    """Executive in column `middle`, the merge PE left of it, response PEs on both sides, inside out."""

    def __init__(self, flow: list[Any], calls: list[list[Call]], responses: int, costs: Costs) -> None:
        self.flow, self.calls, self.costs = flow, calls, costs
        self.places = [-2 - n // 2 if n % 2 == 0 else 1 + n // 2 for n in range(responses)]
        self.queues: dict[tuple[str, int], Queue] = {}
        self.taken: dict[int, tuple[list, list]] = {}
        self.events = [0, 0]  # sections and flags that the executive sent
        self.pes = [Pe() for _ in range(4 + responses)]  # worker, executive, merge, beside, response PEs

    def queue(self, kind: str, to: int = 0, hops: int = 1) -> Queue:
        decides = self.costs.latency if kind == "flag up" else 0
        if kind == "flag up" and self.costs.has_flags:
            hops = 0
        depths = {"out 0": self.costs.workers_depth, "out 1": self.costs.arguments_depth}
        depth = depths.get(kind, self.costs.depth)
        made = Queue(self.costs.hop * hops + decides, depth)
        return self.queues.setdefault((kind, to), made)

    def run(self) -> int:
        pes = self.pes
        running = [self.walk(self.flow, *self.worker(pes[0]), []), *self.without_worker(pes[1:])]
        waiting = 0
        while running:
            before = (len(running), self.steps())
            running = [one for one in running if next(one, "done") != "done"]
            waiting = waiting + 1 if (len(running), self.steps()) == before else 0
            assert waiting < 3, "all wait for each other"
        return max(pe.now for pe in pes)

    def without_worker(self, pes: Sequence[Pe]) -> list[Iterator[None]]:
        roles: list[Callable[[Pe], tuple[Any, Any]]] = [self.executive, self.merge, self.beside]
        roles += [lambda pe, n=n: self.response(pe, n) for n in range(len(self.places))]
        return [self.walk(self.flow, *role(pe), []) for pe, role in zip(pes, roles, strict=True)]

    def held(self) -> list[int]:
        """By column of the row: how long its PE was held back."""
        places = {0: 1, -1: 2} | {at: 4 + n for n, at in enumerate(self.places)}
        return [self.pes[places[at]].held for at in sorted(places)]

    def steps(self) -> int:
        return sum(len(queue.messages) + len(queue.left) for queue in self.queues.values())

    def walk(self, body: list[Any], section: Any, decide: Any, around: list[int]) -> Iterator[None]:
        for item in body:
            if not isinstance(item, Loop):
                if self.calls[item]:
                    yield from section(item)
                continue
            value = item.extent.start
            while value in item.extent:
                place = [*around, value - item.extent.start]
                yield from self.walk(item.body, section, decide, place)
                first, last, period = item.ending or (0, -1, 1)
                if first <= value <= last:
                    goes_on = yield from decide(bool(item.flags[tuple(place)]))
                    if not goes_on:
                        value += (last - value) // period * period
                value += 1

    def share(self, section: int, response: int) -> tuple[list[int], list[int]]:
        """Calls and their arguments: calls are dealt as evenly as can be, the first ones one more."""
        calls = self.calls[section]
        counts = [len(calls) // len(self.places)] * len(self.places)
        for n in range(len(calls) % len(self.places)):
            counts[n] += 1
        begin = sum(counts[:response])
        own = calls[begin : begin + counts[response]]
        return [call.number for call in own], [argument for call in own for argument in call.arguments]

    def executive(self, pe: Pe) -> tuple[Any, Any]:
        left, right = ([n for n, at in enumerate(self.places) if (at < 0) == side] for side in (True, False))

        def section(number: int) -> Iterator[None]:
            self.events[0] += 1
            for side in (left, right):
                has = [n for n in side if any(self.share(number, n))]
                queues = [self.queue("section", n, abs(self.places[n])) for n in has]
                yield from pe.send("section", queues, number)

        def decide(_: bool) -> Iterator[Any]:
            self.events[1] += 1
            yield from pe.receive(self.queue("flag up"))
            flag = pe.value
            queues = [self.queue("goes on", n, abs(at)) for n, at in enumerate(self.places)]
            yield from pe.send("goes on", [*queues, self.queue("goes on", -1)], flag)
            return flag

        return section, decide

    def response(self, pe: Pe, number: int) -> tuple[Any, Any]:
        hops = abs(self.places[number] + 1)

        def section(which: int) -> Iterator[None]:
            if not any(self.share(which, number)):
                return
            yield from pe.receive(self.queue("section", number, abs(self.places[number])))
            shares = self.share(pe.value, number)
            pe.now += 4  # two lengths and two addresses are looked up, by the number
            for kind, words in enumerate(shares):
                for word in words:
                    yield from pe.send(f"in {kind}", [self.queue(f"in {kind}", number, hops)], word)
            for kind in (0, 1):  # its router turns to the next one, and the merge PE's to the other side
                yield from pe.send(f"in {kind}", [self.queue(f"in {kind}", number, hops)], "turn")
            side = [n for n, at in enumerate(self.places) if (at < 0) == (self.places[number] < 0)]
            side = [n for n in side if any(self.share(which, n))]
            if number < max(side):
                yield from pe.receive(
                    self.queue("reset", number, abs(self.places[max(side)] - self.places[number]))
                )
            else:
                inner = [self.queue("reset", n, abs(self.places[number] - self.places[n])) for n in side[:-1]]
                yield from pe.send("reset", inner, "reset")

        def decide(_: bool) -> Iterator[Any]:
            yield from pe.receive(self.queue("goes on", number, abs(self.places[number])))
            return pe.value

        return section, decide

    def merge(self, pe: Pe) -> tuple[Any, Any]:
        def section(number: int) -> Iterator[None]:
            for n, at in enumerate(self.places):
                for kind, words in enumerate(self.share(number, n)):
                    for _ in words:
                        yield from pe.receive(self.queue(f"in {kind}", n, abs(at + 1)))
                        yield from pe.send(f"out {kind}", [self.queue(f"out {kind}")], pe.value)
                if any(self.share(number, n)):
                    for kind in (0, 1):
                        yield from pe.receive(self.queue(f"in {kind}", n, abs(at + 1)))
                        assert pe.value == "turn"

        def decide(_: bool) -> Iterator[Any]:
            yield from pe.receive(self.queue("goes on", -1))
            return pe.value

        return section, decide

    def worker(self, pe: Pe) -> tuple[Any, Any]:
        def section(number: int) -> Iterator[None]:
            taken: tuple[list, list] = ([], [])
            for call in self.calls[number]:
                for kind in (0, *(1 for _ in call.arguments)):
                    yield from pe.receive(self.queue(f"out {kind}"))
                    taken[kind].append(pe.value)
                pe.now += self.costs.setup
            self.taken[number] = taken

        def decide(goes_on: bool) -> Iterator[Any]:
            if not self.costs.has_flags:
                yield from pe.send("flag", [self.queue("flag beside")], goes_on)
            return goes_on

        return section, decide

    def beside(self, pe: Pe) -> tuple[Any, Any]:
        def section(_: int) -> Iterator[None]:
            return
            yield

        def decide(goes_on: bool) -> Iterator[Any]:
            if self.costs.has_flags:
                pe.value = goes_on
            else:
                yield from pe.receive(self.queue("flag beside"))
            flag = pe.value
            yield from pe.send("flag", [self.queue("flag up")], flag)
            return flag

        return section, decide


def flow_of(document: dict[str, Any], flags: Iterable[Any]) -> list[Any]:
    """The control flow of the workers, from the code of the class that has most of it in the program's file.

    Sections are numbered as they are opened: at the start, in each loop that ends by data or has such loops
    in it, and after it. Of a loop that other classes have too it has all iterations that any has.
    """
    given, count = iter(flags), iter(range(10_000))
    classes = [one["code"] for one in document["classes"]]
    result = _flow(max(classes, key=lambda code: sum(step["do"] == "exit" for step in code)), document, count)
    for code in classes:
        _widen(result, _flow(code, document, iter(range(10_000))))

    def give(body: list[Any]) -> None:
        for part in body:
            if isinstance(part, Loop):
                give(part.body)
                part.flags = next(given) if part.number is not None else None

    give(result)
    return result


def _flow(code: list[Any], document: dict[str, Any], count: Iterator[int]) -> list[Any]:
    body: list[Any] = [next(count)]
    at = 0
    while at < len(code):
        end, depth = at, 0
        while True:
            depth += (code[end]["do"] in ("loop", "if")) - (code[end]["do"] == "end")
            end += 1
            if depth == 0:
                break
        exits = [step for step in code[at:end] if step["do"] == "exit"]
        if code[at]["do"] == "loop" and exits:
            lower, upper = (code[at][name][0] for name in ("lower", "upper"))
            first, last = -(-lower["form"][0] // lower["divisor"]), upper["form"][0] // upper["divisor"]
            loop = Loop(range(first, last + 1), _flow(code[at + 1 : end - 1], document, count))
            if code[end - 2]["do"] == "exit":
                loop.number = code[end - 2]["ending"]
                plan = document["endings"][loop.number]
                loop.ending = plan["first"], plan["last"], plan["period"]
            body += [loop, next(count)]
        at = end
    return body


def _widen(flow: list[Any], other: list[Any]) -> None:
    """Give loops the iterations of those of another class that end alike, or, where none does, in part."""
    left = [part for part in flow if isinstance(part, Loop)]
    for loop in other:
        if not isinstance(loop, Loop):
            continue
        alike = [n for n, one in enumerate(left) if _ends(one) == _ends(loop)]
        alike += [n for n, one in enumerate(left) if set(_ends(one)) & set(_ends(loop))]
        if alike:
            into = left[alike[0]]
            if loop.extent and not any(isinstance(part, Loop) for part in into.body):
                into.extent = range(
                    min(into.extent.start, loop.extent.start), max(into.extent.stop, loop.extent.stop)
                )
            _widen(into.body, loop.body)
            left = left[alike[0] + 1 :]


def _ends(loop: Loop) -> list[int]:
    inner = [number for part in loop.body if isinstance(part, Loop) for number in _ends(part)]
    return inner if loop.number is None else [*inner, loop.number]


def calls_of(program: cy.Program, control: cy.Program) -> list[list[Call]]:
    """The calls of each section: they are numbered in order, and have the numbers of their tensors."""
    numbers = {tensor["name"]: number for number, tensor in enumerate(program.tensors, 1)}
    sent = [int(t["name"].split("_")[1]) for t in control.tensors if t["name"].startswith("calls_")]
    result: list[list[Call]] = [[] for _ in range(10_000)]
    calls = 0
    for number, section in zip(sent, program.sections, strict=True):
        for call in section.calls:
            calls += 1
            result[number].append(Call(calls, [numbers[name] for name in call.arguments]))
    return result
