"""The controller of the reference simulator: when the sections leave it that loops wait for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

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
        if iteration not in self.ranges[ending]:
            return
        control = self.machine["control"]
        way = self.hops(pe) * control["hop_cycles"]
        if pe == self.nearest[ending]:
            self.sent[ending, iteration] = clock.now + way + control["latency_cycles"]
        while (ending, iteration) not in self.sent:
            yield
        starts = max(clock.now, self.sent[ending, iteration] + way) + control["setup_cycles"]
        clock.stall_control += starts - clock.now
        clock.now = starts
