"""The best mapping by brute force, after TL (section 2.2) and AutoSA: what `cy.map` is judged by.

It shares nothing with the mapper: every choice is written here, compiled by `Kernel.compile`, and simulated
by `cy.run`. Parallel dimensions go to none, one or both dimensions of the grid in each order (TL-012, TL-014,
AS-023), each folded onto every number of PEs, in blocks and dealt out (TL-016), operands streamed, broadcast
or loaded by each PE (TL-025 ... TL-028, TL-033), and what stays in time in every order of loops (TL-005).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import cyclotron as cy


def spaces(indices: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Both dimensions, one of them, or none."""
    yield from itertools.permutations(indices, 2)
    for name in indices:
        yield (name, "0")
        yield ("0", name)
    yield ("0", "0")


def folds(extent: int, limit: int) -> Iterator[cy.Fold | None]:
    """Every number of PEs along a dimension."""
    if extent <= limit:
        yield None
    for parts in range(1, min(limit, extent - 1) + 1):
        yield cy.block(parts)
        if parts > 1:
            yield cy.cyclic(parts)


def movements(schedule: cy.Schedule, tensors: tuple[str, ...]) -> Iterator[cy.Schedule]:
    """Each operand as the compiler moves it, to its neighbour, over a network, or loaded before."""
    for kinds in itertools.product((None, "broadcast", "prefetch"), repeat=len(tensors)):
        result = schedule
        for tensor, kind in zip(tensors, kinds, strict=True):
            if kind is not None:
                result = getattr(result, kind)(tensor)
        yield result


def orders(schedule: cy.Schedule, indices: tuple[str, ...]) -> Iterator[cy.Schedule]:
    """As the compiler orders the loops that stay in time, and in each order."""
    yield schedule
    rest = [name for name in indices if name not in schedule.space_indices]
    if len(rest) > 1:
        yield from (schedule.time(*order) for order in itertools.permutations(rest))


def schedules(
    extents: dict[str, int], tensors: tuple[str, ...], grid: tuple[int, int]
) -> Iterator[cy.Schedule]:
    """All of them, the loops in the compiler's order."""
    for space in spaces(tuple(extents)):
        options = [
            [None] if name == "0" else list(folds(extents[name], limit))
            for name, limit in zip(space, grid, strict=True)
        ]
        for chosen in itertools.product(*options):
            folded = {name: fold for name, fold in zip(space, chosen, strict=True) if fold is not None}
            schedule = cy.Schedule().space(*space)
            yield from movements(schedule.fold(folded) if folded else schedule, tensors)


def cycles(kernel: cy.Kernel, args: tuple, schedule: cy.Schedule, machine: cy.Machine) -> int | None:
    """Simulated cycles; None where it is refused."""
    try:
        program = kernel.compile(*args, schedule=schedule, machine=machine)
        return cy.run(program, backend="sim", functional=False).cycles
    except cy.CyclotronError:
        return None


def pes(schedule: cy.Schedule, extents: dict[str, int]) -> int:
    """PEs at most: a result may lie one beyond the terms of its sum."""
    folded = dict(schedule.folds)
    return math.prod(
        folded[name].parts if name in folded else extents[name] + 1
        for name in schedule.space_indices
        if name != "0"
    )


def best(
    kernel: cy.Kernel,
    args: tuple,
    extents: dict[str, int],
    tensors: tuple[str, ...],
    machine: cy.Machine,
    every: int = 1,
    operations: int = 0,
    in_orders: bool = False,
) -> tuple[int, int]:
    """The fewest cycles of all mappings, or of each n-th, and how many were legal.

    Of so many operations, of at least a cycle each, PEs share at best evenly: mappings whose PEs are too few
    to beat the best are not compiled.
    """
    assert machine.grid is not None
    tried = list(itertools.islice(schedules(extents, tensors, machine.grid), 0, None, every))
    if in_orders:
        tried = [one for schedule in tried for one in orders(schedule, tuple(extents))]
    least = [-(-operations // pes(schedule, extents)) for schedule in tried]
    true, legal = None, 0
    for bound, schedule in sorted(zip(least, tried, strict=True), key=lambda one: one[0]):
        if true is not None and bound >= true:
            break
        found = cycles(kernel, args, schedule, machine)
        if found is not None:
            legal += 1
            true = found if true is None else min(true, found)
    assert true is not None
    return true, legal
