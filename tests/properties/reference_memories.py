"""The memories of the slow simulator, straight from the rule of `cyclotron.Memory`.

Whenever no PE can go on, the request that can start first is served. That this is the rule, first come first
served, is checked at the end, where all requests are known.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Json = dict[str, Any]
PE = tuple[int, ...]


# The first byte of each element of a request, and the number of its tensor.
Places = list[tuple[int, int]]


@dataclass
class Served:
    """A request that a port has transferred."""

    asked: int
    pe: PE
    stores: bool
    start: int
    words: int
    cycles: int
    end: int


class Dram:
    """The rows of a port's banks, straight from `cyclotron.Dram`: an event list for each bank."""

    def __init__(self, dram: Json, width: int, tensor_bytes: list[int]) -> None:
        self.told, self.width = dram, width
        rows = [-(-size // dram["row_bytes"]) for size in tensor_bytes]
        self.first_rows = [sum(rows[:number]) for number in range(len(rows))]
        self.row: dict[int, int] = {}  # by bank, the one that is open
        self.opened: dict[int, int] = {}
        self.may_close: dict[int, int] = {}
        self.refreshed = 0  # until then
        self.refreshes = 0
        self.last_word = 0
        self.stored: bool | None = None

    def opens(self, row: int, known: int) -> int:
        """The cycle in which a row that is not open is opened."""
        bank = row % self.told["banks"]
        if bank in self.row:
            return max(known, self.may_close[bank]) + self.told["precharge_cycles"]
        return max(known, self.refreshed)

    def first_word(self, row: int, known: int, start: int) -> int:
        bank = row % self.told["banks"]
        opened = self.opened[bank] if self.row.get(bank) == row else self.opens(row, known)
        return max(start, opened + self.told["activate_cycles"])

    def refresh(self) -> None:
        self.refreshes += 1
        begin = max([self.refreshes * self.told["interval_cycles"], self.refreshed, *self.may_close.values()])
        closing = self.told["precharge_cycles"] if self.row else 0
        self.refreshed = begin + closing + self.told["refresh_cycles"]
        self.row, self.opened, self.may_close = {}, {}, {}

    def transfer(self, places: Places, known: int, start: int, stores: bool) -> tuple[int, int]:
        """The cycle after the last word, and the number of cycles in which words pass."""
        if self.stored is not None and self.stored != stores:
            start = max(start, self.last_word + self.told["turnaround_cycles"])
        self.stored = stores
        rows = [self.first_rows[tensor] + byte // self.told["row_bytes"] for tensor, byte in places]
        busy = 0
        for row, run in itertools.groupby(rows):
            word = self.first_word(row, known, start)
            while (due := self.told["interval_cycles"]) and (self.refreshes + 1) * due <= word:
                self.refresh()
                word = self.first_word(row, known, start)
            bank = row % self.told["banks"]
            if self.row.get(bank) != row:
                self.opened[bank] = self.opens(row, known)
                self.may_close[bank] = self.opened[bank] + self.told["open_cycles"]
                self.row[bank] = row
            cycles = -(-len(list(run)) // self.width)
            busy += cycles
            start = self.last_word = word + cycles
            written = self.told["recovery_cycles"] if stores else 0
            self.may_close[bank] = max(self.may_close[bank], start + written)
        return start, busy


@dataclass
class Port:
    memory: str
    machine: Json
    dram: Dram | None = None
    pes: list[PE] = field(default_factory=list)
    served: list[Served] = field(default_factory=list)

    @property
    def free(self) -> int:
        return self.served[-1].end if self.served else 0


@dataclass
class Transfers:
    """Of one PE: its loads, or its stores."""

    places: list[Places] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    arrivals: list[int] = field(default_factory=list)
    passed: list[int] = field(default_factory=list)  # when the PE took a load, or left a store


class Memories:
    """Those of a program's machine."""

    def __init__(self, program: Json) -> None:
        grid = program["grid"]
        tensor_bytes = [
            math.prod(one["shape"]) * np.dtype(one["dtype"]).itemsize for one in program["tensors"]
        ]
        self.ports: list[Port] = []
        self.port_of = dict.fromkeys(itertools.product(*map(range, grid)), -1)
        for name, memory in sorted(program["machine"].get("memories", {}).items()):
            mask = np.zeros(grid, bool)
            for box in memory["serves"] or [[]]:
                mask[tuple(slice(s["first"], s.get("last"), s["step"]) for s in box)] = True
            blocks: dict[Any, int] = {}
            for pe in map(tuple, np.argwhere(mask).tolist()):
                block = tuple(x // n for x, n in zip(pe, memory["shared_by"] or [1] * len(pe), strict=True))
                if block not in blocks:
                    blocks[block] = len(self.ports)
                    dram = memory.get("dram")
                    banks = Dram(dram, memory["words_per_cycle"], tensor_bytes) if dram else None
                    self.ports.append(Port(name, memory, banks))
                self.port_of[pe] = blocks[block]
                self.ports[blocks[block]].pes.append(pe)
        self.loads: dict[PE, Transfers] = {}
        self.stores: dict[PE, Transfers] = {}

    def fetch(self, loads: dict[PE, Iterable[Places]]) -> None:
        """Know all loads of each PE."""
        for pe in self.port_of:
            served = self.port_of[pe] >= 0
            self.loads[pe] = Transfers(places=list(loads[pe]) if served else [])
            self.stores[pe] = Transfers()

    def has_loaded(self, pe: PE) -> bool:
        loads = self.loads[pe]
        return self.port_of[pe] < 0 or len(loads.passed) < len(loads.arrivals)

    def take(self, pe: PE, now: int) -> int:
        """Cycle at which the PE goes on with its next load."""
        if self.port_of[pe] < 0:
            return now
        loads = self.loads[pe]
        loads.passed.append(max(now, loads.arrivals[len(loads.passed)]))
        return loads.passed[-1]

    def may_store(self, pe: PE) -> bool:
        return self.port_of[pe] < 0 or len(self.stores[pe].places) < len(self.stores[pe].ends) + self.depth(
            pe
        )

    def leave(self, pe: PE, now: int, places: Places) -> int:
        """Cycle at which the PE goes on after its next store."""
        if self.port_of[pe] < 0:
            return now
        stores = self.stores[pe]
        before = len(stores.places) - self.depth(pe)
        stores.passed.append(max(now, stores.ends[before] if before >= 0 else 0))
        stores.places.append(places)
        return stores.passed[-1]

    def all_stored(self, pe: PE) -> bool:
        return len(self.stores[pe].places) == len(self.stores[pe].ends)

    def stored_by(self, pe: PE) -> int:
        return max(self.stores[pe].arrivals, default=0)

    def depth(self, pe: PE) -> int:
        return int(self.ports[self.port_of[pe]].machine["depth"])

    def room(self, port: Port, pe: PE) -> int:
        """The cycle from which on there is room for the next load."""
        number, depth = len(self.loads[pe].ends), port.machine["depth"]
        return self.loads[pe].passed[number - depth] if number >= depth else 0

    def requests(self, port: Port) -> Iterator[tuple[int, PE, bool]]:
        """Those that are asked for now: when, by which PE, and whether it stores."""
        depth = port.machine["depth"]
        for pe in port.pes:
            loads, stores = self.loads[pe], self.stores[pe]
            number = len(loads.ends)
            if number < len(loads.places) and number - depth < len(loads.passed):
                yield max([self.room(port, pe), *loads.ends[-1:]]), pe, False
            number = len(stores.ends)
            if number < len(stores.places):
                yield max([stores.passed[number], *stores.ends[-1:]]), pe, True

    def first_of_ports(self) -> list[tuple[int, int, PE, bool, int]]:
        """Of each port that is asked, the next request, with when it can start."""
        return [
            (max(port.free, asked), asked, pe, stores, number)
            for number, port in enumerate(self.ports)
            for asked, pe, stores in itertools.islice(sorted(self.requests(port)), 1)
        ]

    def next_start(self) -> float:
        """The cycle in which the next request can start; infinite where there is none."""
        return min((start for start, *_ in self.first_of_ports()), default=math.inf)

    def serve(self) -> bool:
        """The request that can start first; False where there is none."""
        found = self.first_of_ports()
        if not found:
            return False
        start, asked, pe, stores, number = min(found)
        port = self.ports[number]
        transfers = (self.stores if stores else self.loads)[pe]
        places = transfers.places[len(transfers.ends)]
        cycles = -(-len(places) // port.machine["words_per_cycle"])
        end = start + cycles
        if port.dram:
            known = transfers.passed[len(transfers.ends)] if stores else self.room(port, pe)
            end, cycles = port.dram.transfer(places, known, start, stores)
        port.served.append(Served(asked, pe, stores, start, len(places), cycles, end))
        transfers.ends.append(end)
        transfers.arrivals.append(end + port.machine["latency_cycles"] - 1)
        return True

    def check(self) -> None:
        """First come, first served, without a cycle lost."""
        for port in self.ports:
            assert port.served == sorted(port.served, key=lambda r: (r.asked, r.pe, r.stores))
            free = 0
            for request in port.served:
                assert request.start == max(request.asked, free)
                free = request.end

    def statistics(self, cycles: int) -> list[Json]:
        def told(port: Port) -> Json:
            words = [[r.words for r in port.served if r.stores == stores] for stores in (False, True)]
            busy = sum(request.cycles for request in port.served)
            return {
                "memory": port.memory,
                "pes": len(port.pes),
                "loads": len(words[0]),
                "stores": len(words[1]),
                "words_loaded": sum(words[0]),
                "words_stored": sum(words[1]),
                "busy_cycles": busy,
                "utilization": busy / max(cycles, 1),
            }

        return [told(port) for port in self.ports]
