"""Every engine of the simulator measures what a slow, obvious one does, on random programs and machines."""

import itertools
import os
import random
import sys
from pathlib import Path

import advice
import numpy as np
import pytest
import random_machines
import reference_simulator
from random_search import SEED

import cyclotron as cy

sys.path.append(str(Path(__file__).parents[2] / "examples"))

from tree_reduction import tree_sums

PROGRAMS = int(os.environ.get("CYCLOTRON_SIMULATIONS", "250"))
FAST_FORWARDS = int(os.environ.get("CYCLOTRON_FAST_FORWARDS", "400"))


def judged(program):
    """Tell whether the reference simulator's run ended; the engines agree with it or fail here."""

    def run(engine):
        return cy.run(program, backend="sim", functional=False, event_limit=0, engine=engine)

    try:
        expected = reference_simulator.simulate(program)
    except reference_simulator.Deadlock:
        for engine in ("auto", "general"):
            with pytest.raises(cy.DeadlockError) as caught:
                run(engine)
        advice.exact(program, caught.value)
        return False
    for engine in ("auto", "general"):
        assert random_machines.measured(run(engine)) == expected, program.machine
    return True


@pytest.mark.timeout(1200)
def test_reference_on_random_programs(tmp_path, capsys):
    rng = random.Random(SEED)
    ended = 0
    for number, program in enumerate(random_machines.programs(SEED, tmp_path)):
        if number == PROGRAMS:
            break
        ended += judged(random_machines.retimed(rng, program))
    with capsys.disabled():
        print(f"\nCYCLOTRON_SEED={SEED}: {ended} programs end, {PROGRAMS - ended} deadlock")
    assert ended > PROGRAMS // 2


@cy.kernel
def blocked_product(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


@pytest.mark.parametrize(("rows", "tile"), [*itertools.product((4, 7, 10), (2, 3))])
def test_reference_on_tiles(rows, tile):
    """Messages of several words, the last of a dimension smaller."""
    rng = random.Random(rows)
    A, B = np.ones((rows, 8)), np.ones((8, 9))
    for schedule in (cy.schedules.output_stationary, cy.schedules.weight_stationary):
        program = blocked_product.compile(
            cy.blocked(A, (tile, tile)), cy.blocked(B, (tile, tile)), schedule=schedule(blocked_product)
        )
        for _ in range(4):
            judged(random_machines.retimed(rng, program))


@pytest.mark.parametrize("leaves", [2, 5, 8])
def test_reference_on_trees(leaves):
    """Senders that are multiples of their receivers."""
    rng = random.Random(leaves)
    schedule = cy.Schedule().space("-p").time("k")
    program = tree_sums.compile(cy.spec((leaves, 12)), schedule=schedule, machine=cy.machines.tree(leaves))
    assert sum(judged(random_machines.retimed(rng, program)) for _ in range(12)) > 0


def both(program):
    """A run by each engine, which measure the same; None where both deadlock."""
    runs = []
    for engine in ("general", "fast-forward"):
        try:
            runs.append(cy.run(program, backend="sim", functional=False, event_limit=0, engine=engine))
        except cy.DeadlockError as error:
            runs.append(error)
    general, forward = runs
    if isinstance(general, cy.DeadlockError):
        assert str(general) == str(forward)
        return None
    assert random_machines.measured(general) == random_machines.measured(forward), program.machine
    assert (general.engine, forward.engine) == ("general", "fast-forward")
    assert general.stats["cycles_skipped"] == 0
    return forward


@pytest.mark.timeout(1200)
def test_fast_forward_on_random_programs(tmp_path, capsys):
    rng = random.Random(SEED)
    ended = skipped = 0
    for number, program in enumerate(random_machines.programs(SEED, tmp_path, long=60)):
        if number >= FAST_FORWARDS // 5:
            break
        for _ in range(5):
            result = both(random_machines.retimed(rng, program))
            ended += result is not None
            skipped += result is not None and result.stats["cycles_skipped"] > 0
    with capsys.disabled():
        print(f"\nCYCLOTRON_SEED={SEED}: {ended} runs end, {skipped} of them with cycles skipped")
    assert skipped > ended // 10


@pytest.mark.timeout(1200)
def test_fast_forward_of_large_arrays(tmp_path, capsys):
    """Most PEs of uniform arrays are not simulated, but proved to do what their neighbours do."""
    rng = random.Random(SEED)
    ended = skipped = 0
    for number, program in enumerate(random_machines.programs(SEED, tmp_path, wide=24)):
        if number >= FAST_FORWARDS // 5:
            break
        for late in (False, False, True):  # each link takes a cycle, where the machine is not any
            machine = random_machines.retimed(rng, program)
            result = both(machine if late else random_machines.unhurried(machine))
            ended += result is not None
            skipped += result is not None and result.stats["pes_skipped"] > 0
    with capsys.disabled():
        print(f"\nCYCLOTRON_SEED={SEED}: {ended} runs end, {skipped} of them with PEs skipped")
    assert skipped > 0


RECIPES = {
    "output stationary": (cy.schedules.output_stationary, (9, 120, 7)),
    "weight stationary": (cy.schedules.weight_stationary, (6, 8, 150)),
    "input stationary": (cy.schedules.input_stationary, (8, 6, 150)),
    "summa": (cy.schedules.summa, (5, 100, 6)),
    "pumma": (cy.schedules.pumma, (8, 8, 8)),
    "cannon": (cy.schedules.cannon, (8, 8, 8)),
    "folded": (lambda f: cy.schedules.output_stationary(f).fold(i=3, j=2), (12, 90, 8)),
    "one dimension": (lambda f: cy.Schedule().space("j").time("i", "k"), (40, 30, 6)),
}


@pytest.mark.parametrize("name", RECIPES)
def test_fast_forward_of_systolic_arrays(name):
    recipe, (n, k, m) = RECIPES[name]
    program = blocked_product.compile(cy.spec((n, k)), cy.spec((k, m)), schedule=recipe(blocked_product))
    rng = random.Random(name)
    for _ in range(8):
        both(random_machines.retimed(rng, program))
