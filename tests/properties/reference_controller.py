"""The controller of the reference simulator: when the sections leave it that loops wait for."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Pe = tuple[int, ...]


class Controller:
    """In the middle of the grid; `with_exit` tells the PEs of an ending's loop."""

    def __init__(
        self,
        program: dict[str, Any],
        ends: Sequence[tuple[int, int]],
        wraps: list[bool],
        with_exit: Callable[[int], list[Pe]],
    ) -> None:
        self.machine, self.grid, self.wraps = program["machine"], program["grid"], wraps
        self.ranges, self.nearest = [], []
        self.sent: dict[tuple[int, int], int] = {}  # cycles, by ending and iteration
        self.called: set[Pe] = set()  # whose section was sent by a decision
        if "control" not in self.machine:
            return
        for number, ending in enumerate(program.get("endings", ())):
            at, skipped = ends[number] if ends else (0, 0)
            self.ranges.append(range(ending["first"], (at if skipped else ending["last"]) + 1))
            self.nearest.append(min(with_exit(number), key=self.hops))

    def hops(self, pe: Pe) -> int:
        """To the middle of the grid."""
        middle = [(n - 1) // 2 for n in self.grid]
        away = [abs(x - m) for x, m in zip(pe, middle, strict=True)]
        if self.machine["topology"] == "hexagonal" and len(pe) == 2:
            (down, right), (row, column) = pe, middle
            return max(away) if (down > row) == (right > column) else sum(away)
        sizes = zip(away, self.grid, self.wraps, strict=True)
        return sum(min(x, n - x) if wraps else x for x, n, wraps in sizes)

    def decide(self, ending: int, iteration: int, pe: Pe, clock: Any) -> Iterator[None]:
        """The end of a PE's iteration."""
        self.called.discard(pe)
        if iteration not in self.ranges[ending]:
            return
        control = self.machine["control"]
        way = self.hops(pe) * control["hop_cycles"]
        if pe == self.nearest[ending]:
            self.sent[ending, iteration] = clock.now + way + control["latency_cycles"]
        while (ending, iteration) not in self.sent:
            yield
        starts = max(clock.now, self.sent[ending, iteration] + way)
        clock.stall_control += starts - clock.now
        clock.now = starts
        self.called.add(pe)

    def call(self, pe: Pe, clock: Any) -> None:
        """The beginning of a procedure of a PE."""
        if pe in self.called:
            clock.stall_control += self.machine["control"]["setup_cycles"]
            clock.now += self.machine["control"]["setup_cycles"]


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
                rest = copy.deepcopy([inner for inner in loop if inner["do"] != "exit"])
                loop[0]["left_out"] = range(at + 1, sys.maxsize)
                rest[0]["left_out"] = range(-sys.maxsize, at + skipped + 1)
                last = min(bound["form"][0] // bound["divisor"] for bound in loop[0]["upper"])
                result += rest if at + skipped < last else []
    return [step for step in result if decides or step["do"] != "exit"]


def mark_calls(code: list[Json]) -> None:
    """Tell the instructions with which procedures begin: ``step["call"]``.

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
    _mark(blocks[0])


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
