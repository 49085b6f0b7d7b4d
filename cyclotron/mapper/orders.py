"""Orders of reductions: what a search chooses first, where a kernel promises none."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from cyclotron import _core
from cyclotron.compiler.recurrences import Recurrences
from cyclotron.machine.machine import Machine
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.errors import ScheduleError


def orders(system: _core.System, machine: Machine, fix: Schedule) -> list[Schedule]:
    """Return `fix` with the reductions of a system in each order that is searched, in the kernel's first.

    Those over an index that minds no order, as sums of whole arrays and of integers do, go from both ends,
    in trees, in both ways, or from the last term on; of two such indices at most, one a dimension of the
    grid. Over one of them they are also done in blocks, as many as a dimension has PEs, each in a PE, and
    over the blocks in these ways. Where `fix` orders reductions, all keep that.

    Parameters
    ----------
    system : _core.System
    machine : Machine
    fix : Schedule
    """
    if fix.reorders_reductions:
        return [fix]
    accesses = (a for one in Recurrences(system).statements for a in (*one.reads, *one.writes))
    taken = {*_core.index_names(system), *(access.tensor for access in accesses)}
    rotated = {index for index, _ in fix.rotations}
    free = [
        index for index in _core.indices_in_any_order(system) if index not in {*rotated, *fix.time_indices}
    ]
    grid = machine.grid or ()
    trees = radixes(machine)
    result: list[Schedule] = []
    for index in free:
        result += _on_grid(fix, index, trees)
    for first, second in itertools.combinations(free, 2) if len(grid) != 1 else ():
        for one in _on_grid(fix, first, trees[-1:]):
            result += _on_grid(one, second, trees[-1:])
    for index in free if len(grid) > 1 else ():
        blocks = next(name for n in itertools.count(2) if (name := index * n) not in taken)
        for parts in sorted({*grid} - {1}):
            cut = fix.reassociate(index, parts, into=blocks)
            result += [cut, *_on_grid(cut, blocks, trees)]
    result += [fix.descending(index) for index in free]
    return [fix, *(order for order in result if _is_legal(system, order, machine))]


def _is_legal(system: _core.System, order: Schedule, machine: Machine) -> bool:
    """False where sums or extremes are not over the same values everywhere, as some orders want them."""
    space = {*order.inward_indices, *(tree.index for tree in order.reductions)}
    try:
        return bool(_core.reorder_reductions(system, order.space(*space).to_core(), machine.to_core()))
    except ScheduleError:
        return False


def radixes(machine: Machine) -> list[int]:
    """Return those of the trees that are searched: small ones, and as many as there are PEs along a line.

    Parameters
    ----------
    machine : Machine
    """
    grid = machine.grid or ()
    return sorted({2, 4, *grid, math.prod(grid)} - {0, 1})


def _on_grid(fix: Schedule, index: str, trees: list[int]) -> Iterator[Schedule]:
    """From both ends, in trees of these radixes, and in trees from both ends."""
    inwards = fix.inwards(*fix.inward_indices, index)
    yield inwards
    for radix in reversed(trees):
        yield from (one.reduce(index, "tree", radix) for one in (inwards, fix))


def needed(fix: Schedule, order: Schedule) -> frozenset[str]:
    """Return the indices that are in space where an order is searched: in time it gains nothing.

    Parameters
    ----------
    fix : Schedule
        All mappings have it in common.
    order : Schedule
        One of its `orders`.
    """
    if fix.reorders_reductions:
        return frozenset()
    return frozenset(
        (
            *order.inward_indices,
            *(tree.index for tree in order.reductions),
            *(blocks.into for blocks in order.reassociations),
        )
    )
