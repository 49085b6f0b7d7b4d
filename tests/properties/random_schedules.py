"""Random schedules and machines for a kernel of random_kernels, and smaller ones of each."""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Iterator
from typing import Any

from random_kernels import Kernel

import cyclotron as cy

BLOCKS = "b"  # the index of a reassociated reduction's blocks


def index_names(kernel: Kernel) -> list[str]:
    """All indices of loops and reductions."""
    return sorted(set(re.findall(r"\bfor (\w) in", kernel.source)))


def draw(rng: random.Random, kernel: Kernel) -> cy.Schedule | None:
    """A schedule that may or may not be legal; None for the compiler's own."""
    kind = rng.random()
    if kind < 0.15:
        return None
    names = index_names(kernel)
    # A comprehension follows its term; a loop is alone on its line.
    reduced = sorted(set(re.findall(r"\S for (\w) in", kernel.source)))
    blocks: list[str] = []
    if reduced and rng.random() < 0.2:
        blocks = [rng.choice(reduced)]
        names = [*names, BLOCKS]
    indices = rng.sample(names, len(names))
    grid = min(rng.choice([0, 1, 1, 1, 2, 2, 2, 3]), len(indices))
    forms = dict.fromkeys(form(rng, index, names, 0.15) for index in indices[:grid])
    schedule = cy.Schedule().space(*forms)
    for index in blocks:
        schedule = schedule.reassociate(index, parts=rng.randint(1, 4), into=BLOCKS)
    schedule = _with_time(rng, schedule, indices[grid:], names)
    tensors = [name for name, _ in kernel.inputs] + [name for name, *_ in kernel.tensors]
    for tensor in tensors:
        if rng.random() < 0.3:
            schedule = _with_movement(rng, schedule, tensor, kernel, names)
    if schedule.space_indices and rng.random() < 0.25:
        for name in rng.sample(schedule.space_indices, rng.randint(1, len(schedule.space_indices))):
            schedule = schedule.fold({name: rng.choice([cy.block, cy.cyclic])(rng.randint(1, 4))})
    if "for k in range(p)" in kernel.source and rng.random() < 0.35:
        plain = [name for name in schedule.space_indices if name in names]
        if plain and "k" not in plain:
            schedule = schedule.rotate("k", by=rng.sample(plain, rng.randint(1, len(plain))))
    for tensor, _ in kernel.inputs:
        if rng.random() < 0.06 and schedule.space_indices:
            places = [rng.choice([*names, "0"]) for _ in schedule.space_indices]
            schedule = schedule.place(tensor, *places)
    if names and rng.random() < 0.1:
        schedule = schedule.panels(rng.choice(names), rng.randint(1, 3))
    inwards = [index for index in reduced if index in schedule.space_indices]
    if inwards and rng.random() < 0.3:
        schedule = schedule.inwards(rng.choice(inwards))
    return schedule


def form(rng: random.Random, index: str, names: list[str], skewed: float) -> str:
    """The index, turned round, or skewed by another."""
    kind = rng.random()
    others = [name for name in names if name != index]
    if kind < skewed and others:
        return f"{index}{rng.choice('+-')}{rng.choice(others)}"
    return f"-{index}" if kind > 0.9 else index


def _with_time(rng: random.Random, schedule: cy.Schedule, rest: list[str], names: list[str]) -> cy.Schedule:
    kind = rng.random()
    if kind < 0.55 or not rest:
        return schedule
    if kind < 0.9:
        forms = dict.fromkeys(form(rng, index, names, 0.1) for index in rest)
    else:
        forms = {"+".join(rng.sample(names, rng.randint(1, len(names)))): None}
    return schedule.time(*(text for text in forms if text not in schedule.space_indices))


def _with_movement(
    rng: random.Random, schedule: cy.Schedule, tensor: str, kernel: Kernel, names: list[str]
) -> cy.Schedule:
    kinds = [cy.Schedule.stream, cy.Schedule.broadcast]
    if tensor in dict(kernel.inputs):
        kinds.append(cy.Schedule.prefetch)
    plain = [name for name in schedule.space_indices if name in names] or names
    along: list[str] | None = None
    if rng.random() < 0.25:
        along = [
            rng.choice(["", "", "", "-"]) + name for name in rng.sample(plain, rng.randint(1, len(plain)))
        ]
    return rng.choice(kinds)(schedule, tensor, along)


def machine(rng: random.Random, schedule: cy.Schedule | None) -> cy.Machine | None:
    """Mostly the default, at times a small grid or a torus."""
    rotated = schedule is not None and schedule.rotations
    if rng.random() < 0.92 or rotated:
        return None
    grid = rng.choice([(2, 2, 2), (3,), (2, 3), (8, 8), (4, 4, 4)])
    topologies: list[Any] = ["mesh", _mesh_of_maps(grid)]
    topologies += {1: ["ring"], 2: ["torus", "hexagonal", ("torus", "mesh"), ("mesh", "torus")]}.get(
        len(grid), []
    )
    return cy.Machine(grid=grid, topology=rng.choice(topologies))


def _mesh_of_maps(grid: tuple[int, ...]) -> tuple[cy.LinkMap, ...]:
    """The links of a mesh, those of every other PE in a map of their own."""
    names = [f"x{d}" for d in range(len(grid))]
    maps = []
    for d, (name, extent) in enumerate(zip(names, grid, strict=True)):
        for step, inside in (("+ 1", f"{name} < {extent - 1}"), ("- 1", f"{name} > 0")):
            to = ", ".join([*names[:d], f"{name} {step}", *names[d + 1 :]])
            maps += [
                cy.LinkMap(
                    f"({', '.join(names)}) -> ({to}) if {inside} and ({'+'.join(names)}) % 2 == {parity}"
                )
                for parity in (0, 1)
            ]
    return tuple(maps)


def smaller(schedule: cy.Schedule | None) -> Iterator[cy.Schedule | None]:
    """Schedules with one part less."""
    if schedule is None:
        return
    yield None
    parts_of = (
        "movements",
        "folds",
        "rotations",
        "reassociations",
        "places",
        "panel_counts",
        "inward_indices",
    )
    for field in (*parts_of, "time_indices", "space_indices"):
        parts = getattr(schedule, field)
        for n in range(len(parts)):
            yield dataclasses.replace(schedule, **{field: (*parts[:n], *parts[n + 1 :])})
    for n, move in enumerate(schedule.movements):
        if move.along:
            moves = list(schedule.movements)
            moves[n] = dataclasses.replace(move, along=())
            yield dataclasses.replace(schedule, movements=tuple(moves))
