"""PEs compute the terms of a sum that travels before it arrives."""

from __future__ import annotations

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def total(x):
    return cy.sum(cy.exp(x) * x + cy.sin(x) * 2 - cy.cos(x) / (1 + x * x))


@cy.kernel
def greatest(x):
    return cy.max(cy.abs(x) * 2 - x)


@cy.kernel
def rows(a, b):
    return cy.sum(cy.abs(a - b) / (1 + a * a), axis=1)


@cy.kernel
def all_of(a, b):
    return cy.sum(cy.abs(a - b) / (1 + a * a))


@cy.kernel
def damped(u, steps):
    """A sum in each step, that the next one needs."""
    for _ in range(steps):
        s = cy.sum(cy.abs(u) * 0.5 + 1)
        u = u - u / s
    return u


RNG = np.random.default_rng(7)
VECTOR, MATRICES = (RNG.random(100),), (RNG.random((20, 22)), RNG.random((20, 22)))
CASES = {
    "total": (total, VECTOR),
    "float32": (total, (RNG.random(45).astype(np.float32),)),
    "greatest": (greatest, (RNG.integers(-9, 9, 100),)),
    "rows": (rows, MATRICES),
    "all": (all_of, MATRICES),
    "damped": (damped, (RNG.random(30), 4)),
}


@pytest.mark.parametrize("grid", [(8,), (3,), (4, 3)], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_bits_stay(name, grid):
    kernel, given = CASES[name]
    alone = cy.run(kernel.compile(*given, machine=cy.Machine(grid=(1,))), backend="sim")
    space = ("i", "j" if given[0].ndim > 1 else "0")[: len(grid)]
    program = kernel.compile(*given, machine=cy.Machine(grid=grid), schedule=cy.Schedule().space(*space))
    for backend in ("sim", "local"):
        for output, right in zip(
            cy.run(program, backend=backend).outputs.values(), alone.outputs.values(), strict=True
        ):
            np.testing.assert_array_equal(output, right)
    assert cy.prove(program).ok


def test_a_sum_waits_for_additions_alone():
    """Of 100 terms of 10 operators, 13 a PE: theirs, then an addition a term, and a hop a PE."""
    program = total.compile(*VECTOR, machine=cy.Machine(grid=(8,)), schedule=cy.Schedule().space("i"))
    cycles = cy.run(program, backend="sim").cycles
    assert cycles <= 13 * 10 + 100 + 8


def test_without_room_terms_stay_in_the_loop():
    few, many = (cy.Machine(grid=(4,), pe=cy.PE(memory=bytes)) for bytes in (8 * 1024, 64 * 1024))
    given = (RNG.random(6000),)
    schedule = cy.Schedule().space("i")
    slow, fast = (
        cy.run(total.compile(*given, machine=machine, schedule=schedule), backend="sim")
        for machine in (few, many)
    )
    assert fast.cycles < slow.cycles / 2
    assert fast.outputs["result"] == slow.outputs["result"]
