"""Random programs on machines with random timing, for comparing simulators."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import random_kernels
import random_schedules
import reference_simulator
from random_search import Judge

import cyclotron as cy
from cyclotron import _core
from cyclotron.analysis.counters import TIMES

OPERATORS = [operator.name for operator in _core.operators()]
# Those that the reference simulator knows on units: products, not transposed, and elementwise operators.
_OTHERS = ("transpose", "syrk", "solve_", "inv_", "cholesky", "lu", "ldl", "row_", "column_")
ON_UNITS = [name for name in OPERATORS if not name.startswith(_OTHERS)]
DEPTHS = (1, 1, 2, 2, 3, 4, 7, 40, 1 << 30)


def programs(seed: int, folder: Path, long: int = 0, wide: int = 0) -> Iterator[cy.Program]:
    """Random kernels under random schedules, of random sizes; those that are refused are left out.

    One of the sizes is up to `long`, if that is given: the loops over it go on for a while. With
    `wide` all but one are between half of that and that: large arrays.
    """
    judge = Judge(folder)
    rng = random.Random(seed)
    while True:
        kernel = random_kernels.draw(rng)
        function = judge.kernel(kernel.source)
        for _ in range(3):
            schedule = random_schedules.draw(rng, kernel)
            sizes = [rng.randint((wide + 1) // 2 or 1, wide or 5) for _ in random_kernels.SIZES]
            if wide:
                sizes[rng.randrange(len(sizes))] = rng.randint(1, 9)
            if long:
                sizes[rng.randrange(len(sizes))] = rng.randint(long // 3, long)
            arguments = kernel.arguments(tuple(sizes), np.random.default_rng(0))
            try:
                machine = random_schedules.machine(rng, schedule)
                yield function.compile(*arguments, schedule=schedule, machine=machine)
            except cy.CyclotronError:
                continue


def retimed(rng: random.Random, program: cy.Program, with_memory: float = 0.5) -> cy.Program:
    """The program on a machine with random links, costs and, as likely as told, memories."""

    def link() -> cy.Link:
        return cy.Link(
            latency=rng.choice((0, 1, 1, 2, 3, 9)),
            response_latency=rng.choice((0, 0, 1, 1, 2, 6)),
            words_per_cycle=rng.choice((1, 1, 2, 3)),
            depth=rng.choice(DEPTHS),
        )

    def unit(sizes: int) -> cy.Unit:
        return cy.Unit(shape=[rng.randint(1, 4) for _ in range(sizes)], cycles=rng.choice((1, 1, 2, 5)))

    machine = program.machine
    assert machine is not None
    hops = {tuple(channel["offset"]) for channel in program.channels if channel["kind"] == "link"}
    links = {hop: link() for hop in sorted(hops) if rng.random() < 0.4}
    most = rng.choice((1, 1, 3, 12))
    cycles = {name: rng.randint(0 if rng.random() < 0.2 else 1, most) for name in OPERATORS}
    units: dict[str, cy.Unit] = {}
    if rng.random() < 0.5:
        for name in rng.sample(ON_UNITS, rng.randint(1, len(ON_UNITS))):
            del cycles[name]
        units = {"matrix": unit(3), "vector": unit(1), "scalar": unit(0)}
        if rng.random() < 0.5:
            del units["scalar"]
    pe = banked(rng, dataclasses.replace(machine.pe, cycles=cycles, **units), program.memory_bytes)
    chiplets = None
    if rng.random() < 0.4:
        chiplets = cy.Chiplets(shape=[rng.randint(1, 4) for _ in program.grid], link=link())
    memories = memories_of(rng, machine.grid or program.grid) if rng.random() < with_memory else {}
    if machine.link_maps:
        maps = (dataclasses.replace(one, link=rng.choice((None, link()))) for one in machine.link_maps)
        machine = dataclasses.replace(machine, topology=tuple(maps))
        links = {}
    return program.with_machine(
        dataclasses.replace(
            machine,
            link=link(),
            broadcast=link(),
            broadcasts={axis: link() for axis in range(len(program.grid)) if rng.random() < 0.2},
            spread=rng.choice(("constant", "constant", "distance", "tree")),
            links=links,
            pe=pe,
            chiplets=chiplets,
            memories=memories,
        )
    )


def banked(rng: random.Random, pe: cy.PE, needed: int) -> cy.PE:
    """The PE with random registers and banks, some of which the values that they hold fill."""
    if rng.random() < 0.4:
        return dataclasses.replace(pe, registers=None, banks=None)
    banks = rng.choice((None, 1, 2, 3, 5, 8))
    memory = rng.choice((pe.memory, 16 * rng.randint(1, 4) + needed))
    return dataclasses.replace(
        pe,
        memory=memory - memory % (banks or 1) + 16 * (banks or 1),
        registers=rng.choice((None, 0, 1, 2, 3, 4, 9, 40)),
        banks=banks,
    )


def unhurried(program: cy.Program) -> cy.Program:
    """The program on a machine whose links all take a cycle at least, to and fro."""

    def slower(link: cy.Link) -> cy.Link:
        return dataclasses.replace(
            link, latency=max(1, link.latency), response_latency=max(1, link.response_latency)
        )

    machine = program.machine
    assert machine is not None
    links = {hop: slower(link) for hop, link in machine.links.items()}
    return program.with_machine(
        dataclasses.replace(
            machine, link=slower(machine.link), broadcast=slower(machine.broadcast), links=links
        )
    )


def memories_of(rng: random.Random, grid: tuple[int, ...]) -> dict[str, cy.Memory]:
    """One memory of all PEs, of some, or two of some each."""

    def memory(serves: Any) -> cy.Memory:
        blocks = tuple(rng.choice([n for n in range(1, extent + 1) if extent % n == 0]) for extent in grid)
        return cy.Memory(
            bandwidth=rng.choice((1, 1, 2, 3, 100)),
            latency=rng.choice((1, 1, 2, 5, 30)),
            depth=rng.choice(DEPTHS),
            serves=serves,
            shared_by=rng.choice((None, blocks, grid)),
        )

    if rng.random() < 0.3:
        return {"memory": memory(None)}
    axis = rng.randrange(len(grid))
    cut = rng.randint(1, grid[axis])
    parts = [[":"] * axis + [part] + [":"] * (len(grid) - axis - 1) for part in (f":{cut}", f"{cut}:")]
    names = rng.sample(("left", "right"), 2)
    count = rng.randint(1, 2 if cut < grid[axis] else 1)
    return {name: memory(", ".join(part)) for name, part in zip(names, parts[:count], strict=False)}


def measured(result: cy.Result) -> dict[str, Any]:
    """All that a timing-only run measures, as plain values."""
    stats = result.stats
    found: dict[str, Any] = {name: stats[name].ravel().tolist() for name in (*TIMES, "memory_port")}
    found["busy_by_operator"] = {
        name: cycles.ravel().tolist() for name, cycles in stats["busy_by_operator"].items()
    }
    found |= {name: stats[name].ravel().tolist() for name in reference_simulator.WORK}
    for by_name in ("instructions_by_kind", "words_sent", "words_received"):
        found[by_name] = {name: words.ravel().tolist() for name, words in stats[by_name].items()}
    return {
        "cycles": result.cycles,
        "channels": stats["channels"],
        "memory_ports": stats["memory_ports"],
        "instructions": stats["instructions"],
        **found,
    }
