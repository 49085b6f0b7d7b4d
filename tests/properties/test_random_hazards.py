"""Shared links, pipelines, ports and units side by side: what a slow simulator of docs/timing.md does."""

import dataclasses
import itertools
import os
import random
from collections import Counter

import accounts
import pytest
import random_machines
import reference_simulator
from random_search import SEED

import cyclotron as cy

PROGRAMS = int(os.environ.get("CYCLOTRON_HAZARDS", "150"))
PORTS = ("load", "store", "send", "receive", "issue")


def hazardous(rng, program):
    """The program on its machine with links shared, units pipelined or side by side, and few ports."""
    machine = program.machine
    pe = machine.pe
    cycles = dict(pe.cycles)
    for name in rng.sample(random_machines.ON_UNITS, rng.randint(0, len(random_machines.ON_UNITS))):
        cycles.pop(name, None)

    def unit(name, sizes):
        old = getattr(pe, name) or cy.Unit(shape=(2,) * sizes, cycles=rng.choice((1, 1, 2)))
        later = rng.choice((None, 0, 1, 2, 7))
        return dataclasses.replace(old, latency=None if later is None else old.cycles + later)

    units = {name: unit(name, sizes) for name, sizes in (("matrix", 3), ("vector", 1), ("scalar", 0))}
    ports = {kind: rng.choice((1, 1, 2, 3)) for kind in PORTS if rng.random() < 0.3}
    pe = dataclasses.replace(
        pe,
        cycles=cycles,
        **units,
        ports=ports if rng.random() < 0.6 else {},
        overlap=rng.random() < 0.4,
    )
    memories = {
        name: dataclasses.replace(one, dram=dram(rng) if rng.random() < 0.7 else None)
        for name, one in machine.memories.items()
    }
    shared = rng.random() < 0.7
    return program.with_machine(dataclasses.replace(machine, pe=pe, shared_links=shared, memories=memories))


def dram(rng):
    """Banks whose rows hold an element or some."""
    times = [rng.choice((0, 1, 3, 8)) for _ in range(5)]
    refresh = rng.choice((0, 2, 9))
    interval = rng.choice((0, refresh + sum(times[:2]) + 1, 40, 400))
    return cy.Dram(rng.choice((1, 2, 3, 8)), rng.choice((3, 8, 16, 64)), *times, interval, refresh)


def simulated(program, **options):
    return cy.run(program, backend="sim", functional=False, **options)


def agrees(program):
    """The simulator's run, if it ends: it measures what the reference does, with records and without."""
    try:
        expected = reference_simulator.simulate(program)
    except reference_simulator.Deadlock:
        with pytest.raises(cy.DeadlockError):
            simulated(program)
        return None
    recorded = simulated(program)
    for result in (simulated(program, event_limit=0, engine="general"), recorded):
        assert random_machines.measured(result) == expected, program.machine
    return recorded


@pytest.mark.timeout(2400)
def test_reference_on_random_programs_and_machines(tmp_path, capsys):
    rng = random.Random(SEED)
    ended, causes = 0, Counter()
    for program in itertools.islice(random_machines.programs(SEED, tmp_path), PROGRAMS):
        result = agrees(hazardous(rng, random_machines.retimed(rng, program)))
        if result is None:
            continue
        ended += 1
        causes.update(
            name for name in reference_simulator.reference_hazards.STALLS if result.stats[name].any()
        )
        accounts.check(result)
        path = result.critical_path()
        assert path.cycles == result.cycles
        moments = [step.start for step in path.steps] + [step.end for step in path.steps[-1:]]
        assert moments == sorted(moments)
        assert all(a.end == b.start and a.pe == b.source for a, b in itertools.pairwise(path.steps))
    with capsys.disabled():
        print(f"\nCYCLOTRON_SEED={SEED}: {ended} of {PROGRAMS} end; runs with each stall: {dict(causes)}")
    assert ended > PROGRAMS // 2
    assert {"stall_link", "stall_unit", "stall_port"} <= set(causes)


@pytest.mark.timeout(1200)
def test_machines_without_hazards_measure_as_ever(tmp_path):
    """A latency that is a pass, and more ports than instructions: the same cycles by other rules."""
    rng = random.Random(SEED)
    for program in itertools.islice(random_machines.programs(SEED + 1, tmp_path), PROGRAMS // 5):
        program = random_machines.retimed(rng, program)
        pe = dataclasses.replace(program.machine.pe, ports=dict.fromkeys(PORTS, 1024))
        other = program.with_machine(dataclasses.replace(program.machine, pe=pe))
        try:
            expected = random_machines.measured(simulated(program, event_limit=0))
        except cy.DeadlockError:
            continue
        assert random_machines.measured(simulated(other, event_limit=0)) == expected


@cy.kernel
def meeting(A):
    """In each step two PEs of the line broadcast to all, one of them from each end."""
    n = len(A)
    X = cy.empty(n)
    Z = cy.empty(n)
    Y = cy.empty(n)
    for i in range(n):
        X[i] = A[i] + 1
    for i in range(n):
        Z[i] = A[i] + 2
    for i in range(n):
        Y[i] = sum(X[k] * Z[n - 1 - k] for k in range(n))
    return Y


@pytest.mark.timeout(1200)
def test_several_senders_on_one_bus():
    rng = random.Random(SEED)
    schedule = cy.Schedule().space("i").time("k").broadcast("X", along="i").broadcast("Z", along="i")
    program = meeting.compile(cy.spec(5), schedule=schedule)
    waits = 0
    for _ in range(PROGRAMS):
        other = hazardous(rng, random_machines.retimed(rng, program))
        other = other.with_machine(dataclasses.replace(other.machine, shared_links=True))
        if (result := agrees(other)) is not None:
            accounts.check(result)
            assert result.critical_path().cycles == result.cycles
            waits += bool((result.messages["sent"] > result.messages["placed"]).any())
    assert waits > PROGRAMS // 12
