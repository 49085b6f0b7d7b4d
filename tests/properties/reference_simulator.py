"""A slow, obvious simulator of compiled programs, straight from the rules of `simulate` in runtime.hpp.

Each PE is a Python generator that walks its class's code and yields where it has to wait. Queues remember
everything; statistics are counted at the end.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import reference_controller
import reference_hazards
import reference_memories

import cyclotron as cy

Json = dict[str, Any]
KINDS = ("load", "store", "move", "send", "receive", "broadcast", "compute")
WORK = ("flops", "words_loaded", "words_stored", "bytes_loaded", "bytes_stored")
# Operators that count no floating-point operation.
MOVES = ("copy", "conj", "real", "imag", "where", "transpose")
CHOOSES = ("logical_", "bit_", "to_")


class Deadlock(Exception):  # noqa: N818 (as in `random_search`)
    """No PE can go on."""


@dataclass
class Queue:
    depth: int
    link: Json
    sent: list[int] = field(default_factory=list)  # cycles, by message
    arrived: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)

    @property
    def peak(self) -> int:
        """Most messages that were in it when one entered: those that left then or later."""
        left = [*self.left, *[math.inf] * (len(self.sent) - len(self.left))]
        return max((sum(x >= t for x in left[: m + 1]) for m, t in enumerate(self.sent)), default=0)


@dataclass
class Clock(reference_hazards.Timeline):
    stall_control: int = 0
    instructions: int = 0
    work: Counter[Any] = field(default_factory=Counter)  # by name, or by name and kind or channel


def simulate(program: cy.Program, ends: Sequence[tuple[int, int]] = ()) -> Json:
    """Cycles and statistics, as `Result.cycles` and `Result.stats` have them, arrays as flat lists.

    `ends` has for each ending the iteration after which its loop leaves some out, and how many.
    """
    return _Simulation(program, json.loads(program.core.to_bytes()[24:]), ends).run()


class _Simulation:
    def __init__(self, compiled: cy.Program, program: Json, ends: Sequence[tuple[int, int]]) -> None:
        self.program, self.machine = program, program["machine"]
        document = copy.deepcopy(program)
        controlled = compiled.control_system is not None
        for number, found in enumerate(program["classes"]):
            if controlled:
                reference_controller.mark_calls(compiled, number, found["code"])
            found["code"] = reference_controller.without_exits(found["code"], ends, controlled)
        topology = self.machine["topology"]
        names = topology if isinstance(topology, list) else [topology] * len(program["grid"])
        self.wraps = [name in ("torus", "ring") for name in names]
        self.queues: dict[tuple[int, tuple[int, ...], tuple[int, ...]], Queue] = {}
        self.network_free: dict[tuple[int, tuple[int, ...]], int] = {}
        self.memories = reference_memories.Memories(program)
        self.hazards = reference_hazards.Hazards(program, self.wraps)
        self.controller = reference_controller.Controller(
            compiled, document, ends, self.wraps, self.with_exit
        )

    def run(self) -> Json:
        grid = list(itertools.product(*map(range, self.program["grid"])))
        clocks = {pe: Clock() for pe in grid}
        self.memories.fetch({pe: self.loads_of(pe) for pe in grid})
        called = [pe for pe in grid if pe != self.controller.executive and self.class_of(pe)]
        self.controller.taken = {pe: reference_controller.Taken() for pe in called}
        waiting = [self.execute(pe, clocks[pe]) for pe in grid]
        while waiting:
            before = len(waiting), self.progress(clocks)
            control = self.controller.running
            self.controller.running = [pe for pe in control if next(pe, "done") != "done"]
            waiting = [pe for pe in waiting if next(pe, "done") != "done"]
            stuck = waiting and (len(waiting), self.progress(clocks)) == before
            if stuck and not (self.hazards.serve_bus(self.memories.next_start()) or self.memories.serve()):
                raise Deadlock
        self.memories.check()
        return self.statistics(list(clocks.values()))

    def loads_of(self, pe: tuple[int, ...]) -> Iterator[reference_memories.Places]:
        """The elements of each LOAD of a PE, in the order of its program."""
        found = self.class_of(pe) or {"code": []}
        for step, environment in _walk(found["code"], 0, [*pe]):
            if step["do"] == "load":
                yield self.places(step, environment)

    def places(self, step: Json, environment: list[int]) -> reference_memories.Places:
        """The elements of a tile of a tensor: which tensor's, and the byte from which on each lies in it."""
        tensor = self.program["tensors"][step["tensor"]]
        first = [_value(i, environment) * tile for i, tile in zip(step["index"], tensor["tile"], strict=True)]
        axes = map(range, first, map(sum, zip(first, self.loaded(step, environment), strict=True)))
        numbers = np.arange(math.prod(tensor["shape"])).reshape(tensor["shape"])
        size = np.dtype(tensor["dtype"]).itemsize
        return [(step["tensor"], int(numbers[at]) * size) for at in itertools.product(*axes)]

    def class_of(self, pe: tuple[int, ...]) -> Json | None:
        classes: list[Json] = self.program["classes"]
        holds = (c for c in classes if any(all(_holds(o, [*pe]) for o in box) for box in c["region"]))
        return next(holds, None)

    def progress(self, clocks: dict[tuple[int, ...], Clock]) -> int:
        return self.controller.steps() + sum(
            clock.instructions + clock.stall_control for clock in clocks.values()
        )

    def statistics(self, clocks: list[Clock]) -> Json:
        cycles = max(clock.now for clock in clocks)
        channels = []
        for number, channel in enumerate(self.program["channels"]):
            queues = [queue for (c, _, _), queue in self.queues.items() if c == number]
            words = sum(rows * columns for queue in queues for rows, columns in queue.sizes)
            peak = max((queue.peak for queue in queues), default=0)
            used = sum(bool(queue.sent) for queue in queues)
            busy = sum(_transfer(size, queue.link) for queue in queues for size in queue.sizes)
            width = sum(queue.link["words_per_cycle"] for queue in queues if queue.sent)
            channels.append(
                {
                    "name": channel["name"],
                    "kind": channel["kind"],
                    "bytes": words * np.dtype(channel["dtype"]).itemsize,
                    "messages": sum(len(queue.sent) for queue in queues),
                    "words": words,
                    "queues": used,
                    "busy_cycles": busy,
                    "words_per_cycle": width,
                    "peak_occupancy": peak,
                    "utilization": busy / max(used * cycles, 1),
                }
            )
        accounts = [clock.account() for clock in clocks]
        for clock, (_, stalls) in zip(clocks, accounts, strict=True):
            stalls["stall_control"] += clock.stall_control
        names = {name for busy, _ in accounts for name in busy if busy[name]}
        return {
            "cycles": cycles,
            "busy": [busy.total() for busy, _ in accounts],
            **{cause: [stalls[cause] for _, stalls in accounts] for cause in reference_hazards.STALLS},
            "idle": [cycles - clock.now for clock in clocks],
            "busy_by_operator": {name: [busy[name] for busy, _ in accounts] for name in names},
            "channels": channels,
            "memory_ports": self.memories.statistics(cycles),
            "memory_port": [*self.memories.port_of.values()],
            "instructions": sum(clock.instructions for clock in clocks),
            **self.work(clocks),
        }

    def work(self, clocks: list[Clock]) -> Json:
        def counted(*key: str) -> list[int]:
            return [clock.work[key] for clock in clocks]

        channels = [channel["name"] for channel in self.program["channels"]]
        return {
            **{name: counted(name) for name in WORK},
            "instructions_by_kind": {kind: counted("instructions", kind) for kind in KINDS},
            "words_sent": {name: counted("sent", name) for name in channels},
            "words_received": {name: counted("received", name) for name in channels},
        }

    def execute(self, pe: tuple[int, ...], clock: Clock) -> Iterator[None]:
        found = self.class_of(pe)
        if found is None:
            return
        self.hazards.slots[pe] = reference_hazards.Slots(found["slots"])
        yield from self.block(found["code"], 0, [*pe], pe, clock, {})
        clock.wait(max((end for _, end, _ in clock.operators), default=0), "stall_unit")
        clock.wait(max(self.hazards.slots[pe].written.values(), default=0), "stall_unit")
        while not self.memories.all_stored(pe):
            yield
        self.wait(clock, self.memories.stored_by(pe))
        self.controller.finish(pe, clock)

    def with_exit(self, ending: int) -> list[tuple[int, ...]]:
        """The PEs of a loop that may end, in the order of the grid."""
        exits = {"do": "exit", "ending": ending}.items()
        classes = self.program["classes"]
        own = [found["region"] for found in classes if any(exits <= step.items() for step in found["code"])]
        grid = itertools.product(*map(range, self.program["grid"]))
        return [pe for pe in grid if any(all(_holds(c, [*pe]) for c in box) for box in itertools.chain(*own))]

    def wait(self, clock: Clock, time: int) -> None:
        """For its memory."""
        clock.wait(time, "stall_memory")

    def block(
        self, code: list[Json], at: int, environment: list[int], pe: Any, clock: Clock, sizes: Any
    ) -> Iterator[None]:
        """The instructions from `at` to the End of the block that they are in."""
        while at < len(code) and code[at]["do"] != "end":
            step = code[at]
            if step.get("call"):
                yield from self.controller.call(step["call"], pe, clock)
            if step["do"] == "loop":
                for value in _values(step, environment):
                    yield from self.block(code, at + 1, [*environment, value], pe, clock, sizes)
                at = _after(code, at)
            elif step["do"] == "if":
                if any(all(_holds(c, environment) for c in conj) for conj in step["condition"]):
                    yield from self.block(code, at + 1, environment, pe, clock, sizes)
                at = _after(code, at)
            elif step["do"] == "exit":
                yield from self.controller.decide(step["ending"], environment[-1], pe, clock)
                at += 1
            else:
                yield from getattr(self, step["do"])(step, environment, pe, clock, sizes)
                clock.instructions += 1
                clock.work["instructions", step["do"]] += 1
                at += 1

    def come(self, step: Json, environment: list[int], pe: Any, clock: Clock) -> str:
        """Wait for a port, and for what the instruction reads and overwrites; its kind among the ports."""
        kind = {"broadcast": "send", "move": "issue", "compute": "issue"}.get(step["do"], step["do"])
        self.hazards.wait_for_port(kind, pe, clock)
        slots = self.hazards.slots[pe]
        reads, writes = self.elements(step, environment, slots)
        if step["do"] == "store" and self.memories.port_of[pe] < 0:
            reads = []  # it goes once it is there, and nobody waits
        clock.wait(max(slots.readable(reads), slots.writable(writes)), "stall_unit")
        return kind

    def elements(self, step: Json, environment: list[int], slots: Any) -> tuple[list[Any], list[Any]]:
        """The elements that an instruction reads and overwrites; a slot's all where a number tells which."""
        sources = [*step.get("operands", ()), *([step["source"]] if "source" in step else [])]
        sources = [source for source in sources if "slot" in source]
        reads = [_element(source, environment) for source in sources]
        writes = [_element(step["destination"], environment)] if "destination" in step else []
        if indexed := step.get("indexed"):
            changed = writes if indexed.get("scatters") else reads
            changed[-1:] = slots.whole(changed[-1][0])
            reads.append(_element(indexed["number"], environment))
        return reads, writes

    def loaded(self, step: Json, environment: list[int]) -> list[int]:
        tensor = self.program["tensors"][step["tensor"]]
        return [
            min(tile, extent - _value(index, environment) * tile)
            for tile, extent, index in zip(tensor["tile"], tensor["shape"], step["index"], strict=True)
        ]

    def load(self, step: Json, environment: list[int], pe: Any, clock: Clock, sizes: Any) -> Iterator[None]:
        tensor, shape = self.program["tensors"][step["tensor"]], self.loaded(step, environment)
        self.come(step, environment, pe, clock)
        while not self.memories.has_loaded(pe):
            yield
        self.wait(clock, self.memories.take(pe, clock.now))
        self.hazards.begin("load", pe, clock)
        self.touched("loaded", tensor, math.prod(shape), clock)
        sizes[_element(step["destination"], environment)] = (
            math.prod(shape[:-1]) if len(shape) > 1 else math.prod(shape),
            shape[-1] if len(shape) > 1 else 1,
        )

    def store(self, step: Json, environment: list[int], pe: Any, clock: Clock, sizes: Any) -> Iterator[None]:
        tensor = self.program["tensors"][step["tensor"]]
        words = math.prod(_size(step["source"], environment, sizes))
        self.come(step, environment, pe, clock)
        while not self.memories.may_store(pe):
            yield
        self.wait(clock, self.memories.leave(pe, clock.now, self.places(step, environment)))
        self.hazards.begin("store", pe, clock)
        self.touched("stored", tensor, words, clock)

    def touched(self, how: str, tensor: Json, words: int, clock: Clock) -> None:
        clock.work[f"words_{how}",] += words
        clock.work[f"bytes_{how}",] += words * np.dtype(tensor["dtype"]).itemsize

    def move(self, step: Json, environment: list[int], pe: Any, clock: Clock, sizes: Any) -> Iterator[None]:
        self.come(step, environment, pe, clock)
        self.hazards.begin("issue", pe, clock)
        sizes[_element(step["destination"], environment)] = _size(step["source"], environment, sizes)
        return iter(())

    def compute(
        self, step: Json, environment: list[int], pe: Any, clock: Clock, sizes: Any
    ) -> Iterator[None]:
        operands = [_size(operand, environment, sizes) for operand in step["operands"]]
        sizes[_element(step["destination"], environment)] = _result(step["op"], operands)
        clock.work["flops",] += _flops(step["op"], operands)
        cycles = max(self.cycles(step["op"], operands), self.bank_cycles(step, pe, operands))
        self.come(step, environment, pe, clock)
        name, unit = self.unit(step["op"], operands)
        side_by_side = self.hazards.overlap and unit is not None
        if side_by_side:
            clock.wait(self.hazards.unit_free.get((pe, name), 0), "stall_unit")
        self.hazards.begin("issue", pe, clock)
        end, slots = clock.now + cycles, self.hazards.slots[pe]
        clock.operators.append((clock.now, end, step["op"]))
        reads, writes = self.elements(step, environment, slots)
        if side_by_side:
            self.hazards.unit_free[pe, name] = end
            slots.read |= {element: max(end, slots.read.get(element, 0)) for element in reads}
        else:
            clock.now = end
        slots.written |= dict.fromkeys(writes, end + self.hazards.latency_after(unit))
        return iter(())

    def bank_cycles(self, step: Json, pe: tuple[int, ...], operands: list[tuple[int, int]]) -> int:
        """Of the bank that the most words of operands and result are in."""
        machine, banks = self.machine["pe"], Counter[int]()
        if "banks" not in machine and "registers" not in machine:
            return 0
        size = machine["memory_bytes"] // machine.get("banks", 1)
        (slots,) = (
            found["slots"]
            for found in self.program["classes"]
            if any(all(_holds(c, [*pe]) for c in conjunction) for conjunction in found["region"])
        )
        tiles = [*zip(step["operands"], operands, strict=True)]
        for place, tile in [*tiles, (step["destination"], _result(step["op"], operands))]:
            if "slot" not in place or "first_register" in slots[place["slot"]]:
                continue
            slot = slots[place["slot"]]
            end = slot["address"] + slot["count"] * math.prod(slot["tile"]) * np.dtype(slot["dtype"]).itemsize
            its = range(slot["address"] // size, -(-end // size))
            banks.update(dict.fromkeys(its, -(-math.prod(tile) // len(its))))
        return max(banks.values(), default=0)

    def unit(self, op: str, operands: list[tuple[int, int]]) -> tuple[str, Json | None]:
        """The unit that runs an operator, if one does."""
        pe = self.machine["pe"]
        if self.given_cycles(op) is not None:
            return "", None
        single = "scalar" in pe and _result(op, operands) == (1, 1)
        name = "matrix" if op.startswith("matmul") else "scalar" if single else "vector"
        return name, pe[name]

    def given_cycles(self, op: str) -> int | None:
        """By its name; a comparator that tells the first of equals is one, unless both are given."""
        given = self.machine["pe"]["cycles"]
        found: int | None = given.get(op, given.get(op.removeprefix("first_")))
        return found

    def cycles(self, op: str, operands: list[tuple[int, int]]) -> int:
        """As the machine gives them by name, else the passes of a unit."""
        name, unit = self.unit(op, operands)
        if unit is None:
            return int(self.given_cycles(op) or 0)
        result = _result(op, operands)
        sizes: tuple[int, ...] = {"scalar": (), "vector": (math.prod(result),)}.get(name, ())
        if name == "matrix":
            sizes = (*result, operands[-1][0])
        passes = math.prod(-(-size // most) for size, most in zip(sizes, unit["shape"], strict=True))
        return int(passes * unit["cycles"])

    def send(self, step: Json, environment: list[int], pe: Any, clock: Clock, sizes: Any) -> Iterator[None]:
        channel = self.program["channels"][step["channel"]]
        to = self.moved(pe, channel["offset"], channel)
        if scale := channel.get("scale"):
            to = tuple(x // factor for x, factor in zip(to, scale, strict=True))
        size = sizes.get(_element(step["source"], environment), (1, 1))
        yield from self.enter(step, environment, pe, [to], size, clock)

    def broadcast(
        self, step: Json, environment: list[int], pe: Any, clock: Clock, sizes: Any
    ) -> Iterator[None]:
        channel = self.program["channels"][step["channel"]]
        line = range(_lower(step["lower"], environment), _upper(step["upper"], environment) + 1)
        to = [at for at in (self.on_line(pe, channel["axis"], x) for x in line) if at != pe]
        if "link" in channel:  # the executive's, to all that receive on it
            to = [at for at in to if self.listens(at, step["channel"])]
        size = sizes.get(_element(step["source"], environment), (1, 1))
        yield from self.enter(step, environment, pe, to, size, clock)

    def enter(
        self,
        step: Json,
        environment: list[int],
        pe: Any,
        receivers: list[Any],
        size: tuple[int, int],
        clock: Clock,
    ) -> Iterator[None]:
        """Send k: t = max(t, when message k - depth left + response latency, the link is free again)."""
        if not receivers:
            return
        number, hazards = step["channel"], self.hazards
        self.come(step, environment, pe, clock)
        queues = [self.queue(number, pe, to) for to in receivers]
        while any(len(queue.sent) - len(queue.left) >= queue.depth for queue in queues):
            yield
        transfer = _transfer(size, queues[0].link)
        for queue in queues:
            if len(queue.sent) >= queue.depth:
                place = queue.left[len(queue.sent) - queue.depth]
                clock.wait(place + queue.link["response_latency_cycles"], "stall_full")
        clock.wait(self.network_free.get((number, pe), 0), "stall_full")
        first, words, width = None, math.prod(size), queues[0].link["words_per_cycle"]
        is_network = self.program["channels"][number]["kind"] == "network"
        if not hazards.shared or (is_network and pe == self.controller.executive):
            pass  # nobody else sends on its network
        elif is_network:
            hop = hazards.hop(self.program["channels"][number], pe, receivers[0])
            hazards.bus_asked[pe] = clock.now, hop, words, width
            while pe not in hazards.bus_given:
                yield
            first = hazards.bus_given.pop(pe)
            clock.wait(first // width, "stall_link")
        else:
            hop = hazards.hop(self.program["channels"][number], pe, receivers[0])
            first = hazards.pass_words(hop, clock.now * width, words)
            clock.wait(first // width, "stall_link")
        hazards.begin("send", pe, clock)
        sent = clock.now
        for queue, receiver in zip(queues, receivers, strict=True):
            queue.sent.append(sent)
            queue.arrived.append(sent + queue.link["latency_cycles"] + transfer - 1)
            if (
                first is not None
            ):  # the words come to the receiver's end later, and pass it one after the other
                end = hop, receiver
                there = hazards.pass_words(end, first + queue.link["latency_cycles"] * width, words)
                queue.arrived[-1] = (there + words - 1) // width
            queue.sizes.append(size)
        self.network_free[number, pe] = sent + transfer
        clock.work["sent", self.program["channels"][number]["name"]] += math.prod(size)

    def receive(
        self, step: Json, environment: list[int], pe: Any, clock: Clock, sizes: Any
    ) -> Iterator[None]:
        channel = self.program["channels"][step["channel"]]
        if channel["kind"] == "link":
            at = pe
            if scale := channel.get("scale"):
                at = tuple(x * factor for x, factor in zip(pe, scale, strict=True))
            sender = self.moved(at, [-step for step in channel["offset"]], channel)
        else:
            sender = self.on_line(pe, channel["axis"], _value(step["sender"][0], environment))
        queue = self.queue(step["channel"], sender, pe)
        self.come(step, environment, pe, clock)
        while len(queue.sent) == len(queue.left):
            yield
        arrived = queue.arrived[len(queue.left)]
        sizes[_element(step["destination"], environment)] = queue.sizes[len(queue.left)]
        clock.wait(arrived, "stall_empty")
        self.hazards.begin("receive", pe, clock)
        clock.work["received", channel["name"]] += math.prod(queue.sizes[len(queue.left)])
        queue.left.append(clock.now)

    def listens(self, pe: tuple[int, ...], number: int) -> bool:
        found = self.class_of(pe) or {"code": []}
        return any(one["do"] == "receive" and one["channel"] == number for one in found["code"])

    def on_line(self, pe: tuple[int, ...], axis: int, at: int) -> tuple[int, ...]:
        """The PE at a coordinate of a network's line; of all the grid, the one of that number."""
        if axis == len(pe):
            return next(itertools.islice(itertools.product(*map(range, self.program["grid"])), at, None))
        return (*pe[:axis], at, *pe[axis + 1 :])

    def moved(self, pe: tuple[int, ...], steps: list[int], channel: Json) -> tuple[int, ...]:
        """The PE so many steps away; the executive's row, to which its own channels lead, is in no ring."""
        return tuple(
            (x + dx) % n if wraps and "link" not in channel else x + dx
            for x, dx, n, wraps in zip(pe, steps, self.controller.field, self.wraps, strict=True)
        )

    def link(self, number: int, sender: tuple[int, ...], receiver: tuple[int, ...]) -> Json:
        channel = self.program["channels"][number]
        if channel["kind"] == "network" and "link" not in channel:
            networks = {own["dimension"]: own["link"] for own in self.machine.get("broadcasts", [])}
            link = dict(networks.get(channel["axis"], self.machine["broadcast"]))
            link["latency_cycles"] *= self.spread(channel["axis"], sender, receiver)
            return link
        if "link" in channel:  # to the executive or from it
            place = self.controller.executive
            (worker,) = {sender, receiver} - {place}
            ways = 1 + self.controller.hops(worker)
            return {**self.machine["link"], "latency_cycles": ways * self.controller.costs["hop_cycles"]}
        along = {tuple(own["offset"]): own["link"] for own in self.machine.get("links", [])}
        link = along.get(tuple(channel["offset"]), self.machine["link"])
        if chiplets := self.machine.get("chiplets"):
            chips = {
                tuple(x // n for x, n in zip(pe, chiplets["shape"], strict=True)) for pe in (sender, receiver)
            }
            if len(chips) > 1:
                link = chiplets["link"]
        maps = (own for own in self.machine.get("link_maps", []) if _lead(own["map"], sender) == receiver)
        return next(maps, {}).get("link", link)

    def spread(self, axis: int, sender: tuple[int, ...], receiver: tuple[int, ...]) -> int:
        """The multiple of its network's latency that a broadcast takes."""
        away = abs(sender[axis] - receiver[axis])
        if self.wraps[axis]:
            away = min(away, self.controller.field[axis] - away)
        return {"constant": 1, "distance": away, "tree": len(f"{away:b}")}[
            self.machine.get("spread", "constant")
        ]

    def queue(self, number: int, sender: Any, receiver: Any) -> Queue:
        if (number, sender, receiver) not in self.queues:
            link = self.link(number, sender, receiver)
            depth = self.program["channels"][number]["depth"] or link["depth"]
            self.queues[number, sender, receiver] = Queue(depth, link)
        return self.queues[number, sender, receiver]


def _walk(code: list[Json], at: int, environment: list[int]) -> Iterator[tuple[Json, list[int]]]:
    """The instructions from `at` to the End of the block that they are in, without what they do."""
    while at < len(code) and code[at]["do"] != "end":
        step = code[at]
        if step["do"] == "loop":
            for value in _values(step, environment):
                yield from _walk(code, at + 1, [*environment, value])
            at = _after(code, at)
        elif step["do"] == "if":
            if any(all(_holds(c, environment) for c in conj) for conj in step["condition"]):
                yield from _walk(code, at + 1, environment)
            at = _after(code, at)
        else:
            yield step, environment
            at += 1


def _values(loop: Json, environment: list[int]) -> Iterator[int]:
    values = range(_lower(loop["lower"], environment), _upper(loop["upper"], environment) + 1, loop["step"])
    return (value for value in values if value not in loop.get("left_out", ()))


def _lead(text: str, sender: tuple[int, ...]) -> tuple[int, ...] | None:
    """The PE to which a link map leads from another: it is written as Python."""
    names, right = text.split("->")
    receiver, _, where = right.partition(" if ")
    at = dict(zip(names.strip(" ()").replace(" ", "").split(","), sender, strict=True))
    return eval(f"({receiver.strip()[1:-1]},)", at) if eval(where or "True", at) else None


def _transfer(size: tuple[int, int], link: Json) -> int:
    """Cycles that a message keeps its link busy."""
    words: int = size[0] * size[1]
    return -(-words // link["words_per_cycle"])


def _value(form: list[int], environment: list[int]) -> int:
    """The constant, then the coefficients of the coordinates and of the loops around."""
    return form[0] + sum(c * v for c, v in zip(form[1:], environment, strict=False))


def _lower(bounds: list[Json], environment: list[int]) -> int:
    return max(-(-_value(bound["form"], environment) // bound["divisor"]) for bound in bounds)


def _upper(bounds: list[Json], environment: list[int]) -> int:
    return min(_value(bound["form"], environment) // bound["divisor"] for bound in bounds)


def _holds(condition: Json, environment: list[int]) -> bool:
    value = _value(condition["form"], environment)
    if condition["is"] == "non_negative":
        return value >= 0
    return value == 0 if condition["is"] == "zero" else value % condition["modulus"] == 0


def _after(code: list[Json], at: int) -> int:
    """The instruction after the End of the Loop or If at `at`."""
    depth = 0
    for n in range(at, len(code)):
        depth += {"loop": 1, "if": 1, "end": -1}.get(code[n]["do"], 0)
        if depth == 0:
            return n + 1
    raise AssertionError


def _result(op: str, operands: list[tuple[int, int]]) -> tuple[int, int]:
    """Of products of matrices that are not transposed, and of elementwise operators."""
    if op == "matmul":
        return operands[0][0], operands[1][1]
    if op.startswith(("matmul_", "syrk_")):
        return operands[0]
    return max(rows for rows, _ in operands), max(columns for _, columns in operands)


def _flops(op: str, operands: list[tuple[int, int]]) -> int:
    """Of the operators that `_result` knows."""
    elements = math.prod(_result(op, operands))
    if op.startswith("matmul"):
        return 2 * elements * operands[-1][0]
    return elements * (0 if op in MOVES or op.startswith(CHOOSES) else 2 if op.startswith("multiply_") else 1)


def _element(reference: Json, environment: list[int]) -> tuple[int, int]:
    wrap = reference.get("wrap", {"form": [0], "modulus": 1, "stride": 1})
    turned = wrap["stride"] * (_value(wrap["form"], environment) % wrap["modulus"])
    return reference["slot"], _value(reference["index"], environment) + turned


def _size(operand: Json, environment: list[int], sizes: Any) -> tuple[int, int]:
    return sizes.get(_element(operand, environment), (1, 1)) if "slot" in operand else (1, 1)
