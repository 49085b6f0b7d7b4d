"""Critical paths are longest paths of the graph of waits, and tell what a run's cycles depend on."""

import dataclasses
import itertools
import os
import random
from collections import Counter

import numpy as np
import pytest
import random_machines
import reference_paths
from random_search import SEED

import cyclotron as cy

PROGRAMS = int(os.environ.get("CYCLOTRON_CRITICAL_PATHS", "80"))


def check_path(program, result):
    """Its steps follow each other, add up, and are waits of the graph that are tight."""
    nodes, length = reference_paths.longest_paths(program)
    assert max(length, default=0) == result.cycles
    path = result.critical_path()
    moments = [step.start for step in path.steps] + [step.end for step in path.steps[-1:]]
    assert moments == sorted(moments)
    assert all(a.end == b.start and a.pe == b.source for a, b in itertools.pairwise(path.steps))
    assert path.cycles == result.cycles == sum(path.by_kind.values()) == path.by_pe.sum()
    if path.steps:
        assert path.steps[0].start == 0
        assert path.steps[-1].end == result.cycles
    tight = {
        (kind, nodes[before].pe, node.pe, length[before], length[n])
        for n, node in enumerate(nodes)
        for before, cycles, kind in node.waits
        if length[before] + cycles == length[n]
    }
    for step in path.steps:
        ends = (tuple(map(int, np.unravel_index(pe, result.grid))) for pe in (step.source, step.pe))
        assert (step.kind, *ends, step.start, step.end) in tight
    return path


def retimed(seed, tmp_path, count, with_memory=0):
    """Random programs on random machines that end, and their runs.

    Without memories: where requests meet, a cycle more in one place may make a run shorter.
    """
    rng = random.Random(seed)
    programs = random_machines.programs(seed, tmp_path)
    for program in itertools.islice(programs, count):
        program = random_machines.retimed(rng, program, with_memory)
        try:
            yield program, cy.run(program, backend="sim", functional=False)
        except cy.DeadlockError:
            continue


@pytest.mark.timeout(1200)
def test_paths_of_random_programs_are_longest_paths(tmp_path, capsys):
    kinds = Counter()
    for program, result in retimed(SEED, tmp_path, PROGRAMS, with_memory=0.6):
        kinds.update(check_path(program, result).by_kind.keys())
    with capsys.disabled():
        print(f"\nCYCLOTRON_SEED={SEED}: runs with a step of each kind on the path: {dict(kinds)}")
    assert {"compute", "data", "capacity", "memory", "port"} <= set(kinds)


def with_cycles(program, **cycles):
    machine = program.machine
    pe = cy.PE(memory=machine.pe.memory, cycles={**machine.pe.cycles, **cycles})
    return program.with_machine(dataclasses.replace(machine, pe=pe))


def cycles_of(program):
    return cy.run(program, backend="sim", functional=False).cycles


@pytest.mark.timeout(1200)
def test_operators_on_the_path_matter_and_others_do_not(tmp_path):
    """A cycle more costs as often as the operator is on the path; off it, a cycle less is no gain."""
    rng = random.Random(SEED)
    on = off = 0
    for program, _ in retimed(SEED + 1, tmp_path, PROGRAMS // 2):
        costs = {name: rng.randint(1, 5) for name in random_machines.OPERATORS}
        program = with_cycles(program, **costs)
        result = cy.run(program, backend="sim", functional=False)
        times = Counter(step.name for step in result.critical_path().steps if step.kind == "compute")
        for name in result.stats["busy_by_operator"]:
            if name in times:
                assert (
                    cycles_of(with_cycles(program, **{name: costs[name] + 1})) >= result.cycles + times[name]
                )
                on += 1
            else:
                assert cycles_of(with_cycles(program, **{name: costs[name] - 1})) == result.cycles
                off += 1
    assert on > 10
    assert off > 0


def with_links(program, change):
    """One link a direction, so that each channel is on one."""
    machine = dataclasses.replace(program.machine, chiplets=None)
    hops = {tuple(c["offset"]) for c in program.channels if c["kind"] == "link"}
    links = {hop: machine.links.get(hop, machine.link) for hop in hops}
    return program.with_machine(dataclasses.replace(machine, links={**links, **change(links)}))


@pytest.mark.timeout(1200)
def test_links_on_the_path_matter_and_others_do_not(tmp_path):
    on = off = 0
    for program, _ in retimed(SEED + 2, tmp_path, PROGRAMS // 2):
        if program.machine.link_maps:
            continue  # its links are not given by direction
        program = with_links(program, lambda links: links)
        try:
            result = cy.run(program, backend="sim", functional=False)
        except cy.DeadlockError:
            continue
        hop_of = {c["name"]: tuple(c["offset"]) for c in program.channels if c["kind"] == "link"}
        steps = result.critical_path().steps
        travels = Counter(hop_of[step.name] for step in steps if step.kind == "data")
        replies = Counter(
            hop_of[step.name] for step in steps if step.kind == "capacity" and step.name in hop_of
        )
        for hop in set(hop_of.values()):

            def changed(field, amount, hop=hop, program=program):
                def change(links):
                    value = getattr(links[hop], field) + amount
                    return {hop: dataclasses.replace(links[hop], **{field: value})}

                return cycles_of(with_links(program, change))

            link = program.machine.links.get(hop, program.machine.link)
            assert changed("latency", 1) >= result.cycles + travels[hop]
            assert changed("response_latency", 1) >= result.cycles + replies[hop]
            on += travels[hop] > 0
            if link.latency > 1 and not travels[hop]:
                assert changed("latency", -1) == result.cycles
                off += 1
            if link.response_latency > 0 and not replies[hop]:
                assert changed("response_latency", -1) == result.cycles
                off += 1
    assert on > 10
    assert off > 10
