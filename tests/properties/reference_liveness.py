"""Rules of memory plans, and the least that any plan takes, from the unrolled instructions of PEs.

Nothing here knows of loops, branches or lifetimes: a PE's instructions are laid out one after the other, and
every element of a slot is a place of its own.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from reference_simulator import _element, _holds, _walk

Json = dict[str, Any]
Element = tuple[int, int]  # slot, and which of its tiles
Step = tuple[set[Element], set[Element]]  # what an instruction reads and writes


@dataclass(frozen=True)
class Plan:
    """The bytes of one PE class.

    Attributes
    ----------
    peak : int
        What the plan takes.
    live_slots : int
        The most that slots with a live element take at once. No plan of these slots takes less.
    live_elements : int
        The most that live elements take at once. No plan of any slots takes less.
    without_reuse : int
        What all slots take side by side.
    """

    peak: int
    live_slots: int
    live_elements: int
    without_reuse: int


def plans(program: Json, most_pes: int = 3) -> Iterator[Plan]:
    """One a class, judged by so many of its PEs at most; bounds are those of the PE that needs most."""
    for pe_class, pes in classes(program):
        slots = pe_class["slots"]
        sizes = [slot["count"] * bytes_of(slot) for slot in slots]
        bounds = [(0, 0)]
        for pe in pes[:: -(-len(pes) // most_pes)]:
            steps = [*trace(pe_class, pe)]
            check_plan(slots, steps)
            bounds.append(most_live(slots, steps))
        ends = (slot["address"] + size for slot, size in zip(slots, sizes, strict=True))
        yield Plan(max(ends, default=0), *map(max, zip(*bounds, strict=True)), sum(sizes))


def classes(program: Json) -> Iterator[tuple[Json, list[tuple[int, ...]]]]:
    """Each class with its PEs."""
    grid = [*itertools.product(*map(range, program["grid"]))]
    for pe_class in program["classes"]:
        yield (
            pe_class,
            [
                pe
                for pe in grid
                if any(all(_holds(c, [*pe]) for c in conjunction) for conjunction in pe_class["region"])
            ],
        )


def trace(pe_class: Json, pe: tuple[int, ...]) -> Iterator[Step]:
    """Reads and writes of each instruction that the PE runs."""
    for step, environment in _walk(pe_class["code"], 0, [*pe]):
        sources = step.get("operands") or ([step["source"]] if "source" in step else [])
        targets = [step["destination"]] if "destination" in step else []
        yield (
            {_element(one, environment) for one in sources if "slot" in one},
            {_element(one, environment) for one in targets},
        )


def bytes_of(slot: Json) -> int:
    """Of one of its elements."""
    return math.prod(slot["tile"]) * np.dtype(slot["dtype"]).itemsize


def most_live(slots: list[Json], steps: list[Step]) -> tuple[int, int]:
    """The most bytes of slots, and of elements, whose value is still read, or just then read or written.

    Persistent slots always count.
    """
    kept = sum(slot["count"] * bytes_of(slot) for slot in slots if slot["persistent"])
    size = [0 if slot["persistent"] else bytes_of(slot) for slot in slots]
    whole = [n * slot["count"] for n, slot in zip(size, slots, strict=True)]
    live: set[Element] = set()
    elements = Counter[int]()  # that are live, by slot
    in_slots = in_elements = most_slots = most_elements = 0

    def turn(element: Element, lives: bool) -> None:
        nonlocal in_slots, in_elements
        slot = element[0]
        if lives == (element in live):
            return
        (live.add if lives else live.remove)(element)
        sign = 1 if lives else -1
        alone = not elements[slot] if lives else elements[slot] == 1
        elements[slot] += sign
        in_elements += sign * size[slot]
        in_slots += sign * whole[slot] * alone

    for read, written in reversed(steps):
        for element in read | written:
            turn(element, True)
        most_slots, most_elements = max(most_slots, in_slots), max(most_elements, in_elements)
        for element in written - read:
            turn(element, False)
    return kept + most_slots, kept + most_elements


def check_plan(slots: list[Json], steps: list[Step]) -> None:
    """Every read finds the bytes of the last write to that element; no result lies over another operand."""
    end = max((slot["address"] + slot["count"] * bytes_of(slot) for slot in slots), default=0)
    holder = np.full(end, -1)
    written_by: dict[Element, int] = {}

    def place(element: Element) -> slice:
        slot = slots[element[0]]
        assert 0 <= element[1] < slot["count"]
        first = slot["address"] + element[1] * bytes_of(slot)
        assert slot["address"] % max(2, np.dtype(slot["dtype"]).alignment) == 0
        return slice(first, first + bytes_of(slot))

    for at, (read, written) in enumerate(steps):
        for element in read:
            assert (holder[place(element)] == written_by[element]).all(), (at, slots[element[0]]["name"])
        for element in written:
            own = place(element)
            for other in read - {element}:
                there = place(other)
                assert own.stop <= there.start or there.stop <= own.start, (at, slots[element[0]]["name"])
            holder[own] = written_by[element] = at
