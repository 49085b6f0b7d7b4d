"""Random kernels on random machines with memories, narrow links and rings, and random mappings of them."""

from __future__ import annotations

import contextlib
import random

import mapped_kernels as kernels

import cyclotron as cy

SERVED = (None, ":, 0", "0, :", (":, 0", "-1, :"), ("0, :", "-1, :", ":, 0", ":, -1"), ":, -1")


def case(dice: random.Random) -> kernels.Case:
    """A small kernel."""
    some = lambda least, most, count: [dice.randint(least, most) for _ in range(count)]  # noqa: E731
    return dice.choice(
        [
            lambda: kernels.gemm(*some(1, 6, 3)),
            lambda: kernels.tiled(*some(4, 20, 3), dice.randint(2, 5)),
            lambda: kernels.convolution(*some(2, 5, 2), *some(1, 3, 2)),
            lambda: kernels.attend(*some(2, 4, 2), *some(1, 3, 2)),
            lambda: kernels.solve(*some(2, 6, 2)),
            lambda: kernels.factor(dice.randint(2, 6)),
            lambda: kernels.krp(*some(1, 4, 4)),
        ]
    )()


def machine(dice: random.Random) -> cy.Machine:
    """A machine of few PEs, most with a memory."""
    grid = (dice.randint(1, 5), dice.randint(1, 5))
    memory = cy.Memory(
        bandwidth=dice.choice([1, 1, 2, 4, 16]),
        latency=dice.choice([1, 3, 10, 40]),
        depth=dice.choice([1, 2, 4]),
        serves=dice.choice(SERVED),
        shared_by=dice.choice([None, None, grid, (grid[0], 1), (1, grid[1])]),
    )
    link, network = (
        cy.Link(
            latency=dice.choice([0, 1, 1, 2, 5][first:]),
            depth=1 << 20,
            words_per_cycle=dice.choice([1, 1, 2, 8]),
        )
        for first in (0, 1)
    )
    cycles = dice.choice([{}, {"multiply_add": 3, "multiply": 2, "divide": 7, "sqrt": 9}])
    return cy.Machine(
        grid=grid,
        topology=dice.choice(["mesh", "mesh", "torus"]),
        link=link,
        broadcast=network,
        pe=cy.PE(memory=1 << 20, cycles=cycles),
        memories=dice.choice([{}, *5 * [{"dram": memory}]]),
        shared_links=dice.random() < 0.4,
        spread=dice.choice(["constant", "distance", "tree"]),
    )


def fix(dice: random.Random, case: kernels.Case) -> cy.Schedule:
    """A schedule that all mappings of a search have in common: three verbs at most, of any kind."""
    names = list(case.extents)
    some = lambda: dice.choice(names)  # noqa: E731
    forms = lambda: [some(), some(), "0", "l", f"{some()}+{some()}", f"{some()}-{some()}", f"2*{some()}"]  # noqa: E731
    verbs = [
        lambda one: one.rotate(some(), by=dice.sample(names, dice.randint(1, 2))),
        lambda one: one.inwards(some()),
        lambda one: one.descending(some()),
        lambda one: one.stages(some()),
        lambda one: one.reduce(some(), dice.choice(["tree", "linear"])),
        lambda one: one.reassociate(some(), dice.randint(1, 3), into="l"),
        lambda one: one.place(dice.choice(case.tensors), some(), some()),
        lambda one: one.space(dice.choice(forms()), dice.choice(forms())),
        lambda one: one.time(dice.choice(["", "-"]) + some()),
        lambda one: dice.choice([one.stream, one.broadcast, one.prefetch])(dice.choice(case.tensors)),
        lambda one: one.fold({some(): dice.choice([cy.block, cy.cyclic])(dice.randint(1, 3))}),
    ]
    result = cy.Schedule()
    for _ in range(dice.randint(1, 3)):
        with contextlib.suppress(cy.CyclotronError):  # a verb that another one excludes
            result = dice.choice(verbs)(result)
    return result
