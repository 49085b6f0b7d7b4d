"""The controller of the reference simulator: its control system and the words of each PE, one by one."""

from __future__ import annotations

import copy
import importlib
import itertools
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cyclotron as cy

sys.path.append(str(Path(__file__).resolve().parents[1]))  # scripts have this folder alone
reference: Any = importlib.import_module("reference_control_system")

Json = dict[str, Any]
Pe = tuple[int, ...]


@dataclass
class Flags:
    """Of a loop that ends early each time, if it does: whether it goes on, by iterations."""

    end: int | None

    def __getitem__(self, place: tuple[int, ...]) -> bool:
        return place[-1] != self.end


@dataclass
class Taken:
    """The place of a PE among the calls and ends of iterations, and when it took the words up to there."""

    at: int = 0
    words: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))  # of calls, of arguments
    done: int | None = None  # cycle


class Controller:
    """A row beside the PE in the middle of the grid; `with_exit` tells the PEs of an ending's loop."""

    def __init__(
        self,
        program: cy.Program,
        document: Json,
        ends: Sequence[tuple[int, int]],
        wraps: list[bool],
        with_exit: Callable[[int], list[Pe]],
    ) -> None:
        self.machine, self.grid, self.wraps = document["machine"], document["grid"], wraps
        self.endings, self.ends = document.get("endings", []), ends
        self.field, self.executive = list(self.grid), None  # without the executive's row, where it has data
        if any(one.get("executive") for one in document["classes"]):
            self.field[0] -= 1
            self.executive = (self.field[0], *((n - 1) // 2 for n in self.field[1:]))
        self.control = program.control_system
        self.taken: dict[Pe, Taken] = {}
        self.running: list[Iterator[None]] = []
        if self.control is None:
            return
        self.costs = self.machine["control"]
        flow = reference.flow_of(document, itertools.repeat(None))  # flags come later
        self.ending = [with_exit(n) for n in range(len(self.endings))]
        self.nearest = [self.executive or min(pes, key=self.hops) for pes in self.ending]
        costs = reference.Costs(*(self.costs[f"{name}_cycles"] for name in ("latency", "hop", "setup")))
        costs.has_flags = self.executive is not None
        self.give_flags(flow)
        calls = reference.calls_of(program, self.control)
        self.system = reference.ControlSystem(flow, calls, len(program.roles["response"]), costs)
        pes = [reference.Pe() for _ in range(3 + len(self.system.places))]
        self.running = self.system.without_worker(pes)
        if self.executive is not None:
            del self.running[2]  # the flags are those of the run's executive
        self.flags_free = 0
        self.items: list[reference.Call | int] = []  # all calls, and the endings of iterations that end
        self.unroll(flow)

    def give_flags(self, flow: list[Any]) -> None:
        for loop in flow:
            if isinstance(loop, reference.Loop):
                self.give_flags(loop.body)
                if loop.number is not None:
                    at, skipped = self.ends[loop.number] if self.ends else (0, 0)
                    loop.flags = Flags(at - loop.extent.start if skipped else None)

    def unroll(self, flow: list[Any]) -> None:
        for part in flow:
            if not isinstance(part, reference.Loop):
                self.items += self.system.calls[part]
                continue
            value = part.extent.start
            while value in part.extent:
                self.unroll(part.body)
                if part.number is not None:
                    if self.may_end(part.number, value):
                        self.items.append(part.number)
                    if not part.flags[(value - part.extent.start,)]:
                        _, last, period = part.ending
                        value += (last - value) // period * period
                value += 1

    def may_end(self, ending: int, iteration: int) -> bool:
        plan = self.endings[ending]
        may: bool = plan["first"] <= iteration <= plan["last"]
        return may

    def hops(self, pe: Pe) -> int:
        """To the middle of the field."""
        if pe == self.executive:
            return 0
        middle = [(n - 1) // 2 for n in self.field]
        away = [abs(x - m) for x, m in zip(pe, middle, strict=True)]
        if self.machine["topology"] == "hexagonal" and len(pe) == 2:
            (down, right), (row, column) = pe, middle
            return max(away) if (down > row) == (right > column) else sum(away)
        sizes = zip(away, self.field, self.wraps, strict=True)
        return sum(min(x, n - x) if wraps else x for x, n, wraps in sizes)

    def way(self, pe: Pe) -> int:
        hop: int = self.costs["hop_cycles"]
        return self.hops(pe) * hop

    def steps(self) -> int:
        """The more, the farther all have come."""
        if self.control is None:
            return 0
        return self.system.steps() + sum(taken.at for taken in self.taken.values())

    def take(self, pe: Pe, now: int) -> Generator[None, None, int]:
        """Take the words of the next item; the cycle at which the PE has the last one of them."""
        taken = self.taken[pe]
        item = self.items[taken.at]
        if isinstance(item, reference.Call):
            for kind in (0, *(1 for _ in item.arguments)):
                queue = self.system.queue(f"out {kind}")
                place = len(taken.words[kind])
                while place >= len(queue.messages):
                    yield
                now = max(now, queue.messages[place][0] + self.way(pe))
                taken.words[kind].append(now)
                self.leave(kind, queue)
        taken.at += 1
        return now

    def leave(self, kind: int, queue: reference.Queue) -> None:
        """Have the words leave that all PEs have taken; one that is done takes them when they come."""
        while len(queue.left) < len(queue.messages):
            place = len(queue.left)
            times = []
            for pe, taken in self.taken.items():
                if place < len(taken.words[kind]):
                    times.append(taken.words[kind][place])
                elif taken.done is not None:
                    times.append(max(taken.done, queue.messages[place][0] + self.way(pe)))
                else:
                    return
            queue.left.append(max(times))

    def finish(self, pe: Pe, clock: Any) -> None:
        if self.control is not None and pe != self.executive:
            self.taken[pe].done = clock.now
            for kind in (0, 1):
                self.leave(kind, self.system.queue(f"out {kind}"))

    def decide(self, ending: int, iteration: int, pe: Pe, clock: Any) -> Iterator[None]:
        """The end of a PE's iteration."""
        if not self.may_end(ending, iteration):
            return
        if pe == self.nearest[ending]:
            queue = self.system.queue("flag up" if self.executive else "flag beside")
            while not queue.has_place():
                yield
            sent = max(clock.now + self.way(pe), self.flags_free, queue.place_free())
            self.flags_free = sent + 1
            at, skipped = self.ends[ending] if self.ends else (0, 0)
            queue.put(sent, not skipped or iteration != at)
            self.wait(clock, sent - self.way(pe))
        if pe == self.executive:
            return
        while self.items[self.taken[pe].at] != ending:
            yield from self.skip(pe, clock)
        yield from self.skip(pe, clock)

    def skip(self, pe: Pe, clock: Any) -> Iterator[None]:
        """Take an item that is not the PE's, for which it does not wait."""
        yield from self.take(pe, clock.now)

    def wait(self, clock: Any, until: int) -> None:
        clock.stall_control += max(0, until - clock.now)
        clock.now = max(clock.now, until)

    def call(self, number: int, pe: Pe, clock: Any) -> Iterator[None]:
        """The beginning of a procedure of a PE."""
        if self.control is None:
            return
        if number in self.ahead(pe):
            while getattr(self.items[self.taken[pe].at], "number", None) != number:
                yield from self.skip(pe, clock)
            self.wait(clock, (yield from self.take(pe, clock.now)))
        self.wait(clock, clock.now + self.costs["setup_cycles"])

    def ahead(self, pe: Pe) -> Iterator[int]:
        """The calls before the end of an iteration that the PE ends too."""
        for item in self.items[self.taken[pe].at :]:
            if isinstance(item, reference.Call):
                yield item.number
            elif pe in self.ending[item]:
                return


def without_exits(code: list[Json], ends: Sequence[tuple[int, int]], decides: bool) -> list[Json]:
    """The code with two loops for one that leaves iterations out; with exits where these cost time."""
    result: list[Json] = []
    begins: list[int] = []
    for step in code:
        if step["do"] in ("loop", "if"):
            begins.append(len(result))
        result.append(step)
        if step["do"] == "end":
            loop = result[begins.pop() :]
            exits = [inner for inner in loop if inner["do"] == "exit"]
            at, skipped = ends[exits[0]["ending"]] if ends and exits else (0, 0)
            if skipped:
                rest = copy.deepcopy([inner for inner in loop if decides or inner["do"] != "exit"])
                loop[0]["left_out"] = range(at + 1, sys.maxsize)
                rest[0]["left_out"] = range(-sys.maxsize, at + skipped + 1)
                last = min(bound["form"][0] // bound["divisor"] for bound in loop[0]["upper"])
                result += rest if at + skipped < last else []
    return [step for step in result if decides or step["do"] != "exit"]


def mark_calls(program: cy.Program, pe_class: int, code: list[Json]) -> None:
    """Tell the instructions with which procedures begin: ``step["call"]`` is the number of the call.

    Blocks are apart where they are loops with an exit, or conditions around loops. The others and single
    instructions follow one another in one procedure where they have a line in common with what that has so
    far, or where neither is a loop.
    """
    blocks = [_Block(None, [])]
    for step in code:
        if step["do"] == "end":
            block = blocks.pop()
            blocks[-1].items.append(block)
        elif step["do"] in ("loop", "if"):
            blocks.append(_Block(step, []))
        else:
            blocks[-1].items.append(_Block(step, []))
    if program.core.classes[pe_class].role == "executive":
        return  # it is not called
    _mark(blocks[0])
    calls = [call for section in program.sections for call in section.calls]
    own = [number for number, call in enumerate(calls, 1) if pe_class in call.classes]
    begins = [step for step in code if "call" in step]
    if len(begins) != len(own):  # of loops that the class with most EXITs lacks
        raise NotImplementedError
    for step, number in zip(begins, own, strict=True):
        step["call"] = number


@dataclass
class _Block:
    step: Json | None
    items: list[_Block]

    def steps(self) -> list[Json]:
        own = [] if self.step is None else [self.step]
        return own + [step for item in self.items for step in item.steps()]

    def lines(self) -> set[tuple[int, ...]]:
        return {tuple(step["at"][:2]) for step in self.steps() if "at" in step}

    def is_apart(self) -> bool:
        inner = {step["do"] for step in self.steps()[1:]}
        kind = self.step["do"] if self.step else "loop"
        return (kind == "loop" and "exit" in inner) or (kind == "if" and "loop" in inner)


def _mark(block: _Block) -> None:
    lines: set[tuple[int, ...]] | None = None
    straight = False
    for item in block.items:
        assert item.step is not None
        if item.step["do"] == "exit":
            continue
        if item.is_apart():
            _mark(item)
            lines = None
            continue
        is_straight = item.step["do"] != "loop"
        if lines is None or not (lines & item.lines() or (straight and is_straight)):
            item.step["call"] = True
            lines = set()
        lines |= item.lines()
        straight = is_straight
