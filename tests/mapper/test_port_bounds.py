"""Bounds by words, which memories pass through their ports and links one after the other: by simulation."""

from __future__ import annotations

import dataclasses
import random

import exhaustive_mapping as exhaustive
import mapped_kernels as kernels
import numpy as np
import pytest
import random_mappings

import cyclotron as cy
from cyclotron.mapper.evaluate import Measured, evaluate
from cyclotron.mapper.space import Partial, space_of


@cy.kernel
def increment(x):
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] + 1
    return y


def problem(kernel, args, machine, fix=None):
    system = kernel.recurrences(*args).core
    return system, space_of(system, machine, fix or cy.Schedule())


def random_path(space, dice):
    """From nothing chosen to all."""
    path = [Partial()]
    while not space.is_leaf(path[-1]):
        path.append(dice.choice(list(space.children(path[-1]))))
    return path


@pytest.mark.parametrize("seed", range(6))
def test_no_bound_is_above_a_random_mapping(seed):
    dice = random.Random(seed)
    checked = 0
    while checked < 10:
        case, machine = random_mappings.case(dice), random_mappings.machine(dice)
        system, space = problem(case.kernel, case.args, machine)
        for _ in range(6):
            path = random_path(space, dice)
            found = evaluate(system, space.schedule(path[-1]), machine)
            if isinstance(found, Measured):
                bounds = [space.proven(partial) for partial in path]
                assert max(bounds) <= found.cycles, (case.kernel, case.args, machine, found.schedule, bounds)
                checked += 1


@pytest.mark.parametrize("seed", range(4))
def test_no_bound_is_above_a_random_mapping_of_what_is_fixed(seed):
    """Sums in other orders, other forms of the indices in space, and inputs that have a place."""
    dice = random.Random(seed)
    checked = 0
    for _ in range(60):
        case, machine = random_mappings.case(dice), random_mappings.machine(dice)
        fix = random_mappings.fix(dice, case)
        try:
            system, space = problem(case.kernel, case.args, machine, fix)
            path = random_path(space, dice)
        except cy.ScheduleError:  # no such index in space, or to reorder
            continue
        found = evaluate(system, space.schedule(path[-1]), machine)
        if isinstance(found, Measured):
            bounds = [space.proven(partial) for partial in path]
            assert max(bounds) <= found.cycles, (case.kernel, case.args, machine, found.schedule, bounds)
            checked += 1
    assert checked


@pytest.mark.parametrize("seed", range(3))
def test_no_bound_is_above_a_random_mapping_whose_words_are_passed_on(seed):
    """Elements come and go at ports that the compiler chooses, wherever they are used."""
    dice = random.Random(seed)
    checked = passed = 0
    while checked < 12:
        case = random_mappings.case(dice)
        near, far = dice.choice([1, 9]), dice.choice([9, 99])
        depth, blocks = dice.choice([1, 2]), dice.choice([None, (3, 1)])
        memories = {
            "near": cy.Memory(2, near, depth, serves=":, 0", shared_by=blocks),
            "far": cy.Memory(1, far, depth, serves="0, 1:"),
        }
        machine = cy.Machine(grid=(3, 3), io="ports", memories=memories)
        system, space = problem(case.kernel, case.args, machine)
        for _ in range(4):
            path = random_path(space, dice)
            schedule = space.schedule(path[-1])
            found = evaluate(system, schedule, machine)
            if isinstance(found, Measured):
                bounds = [space.proven(partial) for partial in path]
                assert max(bounds) <= found.cycles, (case.kernel, case.args, machine, schedule, bounds)
                checked += 1
                free = evaluate(system, schedule, dataclasses.replace(machine, io="everywhere"))
                passed += isinstance(free, Measured) and free.cycles != found.cycles
    assert passed


@cy.kernel
def scaled_sums(A):
    C = cy.empty((3, 3))
    for i in range(3):
        for j in range(3):
            C[i, j] = sum(A[i, k] * (j + 1) for k in range(A.shape[1]))
    return C


def test_results_leave_through_a_port_of_others():
    """Those of the first row would take 500 cycles through their own ports; they leave with the others."""
    memories = {"near": cy.Memory(serves=":, 0"), "far": cy.Memory(latency=500, serves="0, 1:")}
    machine = cy.Machine(grid=(3, 3), io="ports", memories=memories)
    system, space = problem(scaled_sums, [np.ones((3, 4))], machine)
    found = evaluate(system, cy.Schedule().space("i", "j").stream("A", along="j"), machine)
    assert isinstance(found, Measured)
    assert space.bounds.least_time(("i", "j"), (None, None)) <= found.cycles < 100


@pytest.mark.parametrize(("topology", "cycles"), [("mesh", 128), ("torus", 124)])
def test_what_is_fixed_to_rotate_loads_in_another_order(topology, cycles):
    """Cannon's algorithm: each PE loads one element and hands it on, where else ends of lines load four."""
    dram = cy.Memory(latency=40, depth=1)
    machine = cy.Machine(grid=(4, 4), topology=topology, memories={"dram": dram}, link=cy.Link(depth=64))
    case = kernels.gemm(4, 4, 4)
    fix = cy.Schedule().space("i", "j").rotate("k", by=("i", "j"))
    found = cy.map(case.kernel, *case.args, machine=machine, fix=fix, candidates=6, time_limit=None)
    assert found.bound <= found[0].cycles
    system, space = problem(case.kernel, case.args, machine, fix)
    measured = evaluate(system, fix, machine)
    assert isinstance(measured, Measured)
    assert measured.cycles == cycles
    assert space.proven(Partial(("i", "j"), (None, None), rotation=("", ()))) <= cycles


@pytest.mark.parametrize("n", [2, 4])
def test_meshes_rotate_what_memories_load(n):
    """Each PE loads an element, at once with all others, instead of a row at the end of a line."""
    dram = cy.Memory(latency=40, depth=1)
    machine = cy.Machine(grid=(n, n), memories={"dram": dram}, link=cy.Link(depth=64))
    case = kernels.gemm(n, n, n)
    found = cy.map(case.kernel, *case.args, machine=machine, candidates=40, time_limit=None)
    assert found[0].schedule.rotations == (("k", ("i", "j")),)
    # By hand: two elements in turn, a result; else the PE at a corner loads a row and a column.
    assert found.bound <= found[0].cycles < 3 * 40 + 2 * n + 1 < 2 * n * 40 + 40


def test_a_fold_on_more_pes_than_there_are():
    """A result beyond the last term would lie outside of the grid."""
    machine = cy.Machine(grid=(2, 1), memories={"dram": cy.Memory(latency=3)})
    case = kernels.tiled(4, 6, 3, 3)
    fix = cy.Schedule().space("j", "0").fold(j=cy.block(3))
    system, space = problem(case.kernel, case.args, machine, fix)
    measured = evaluate(system, fix, machine)
    assert isinstance(measured, Measured)
    assert space.proven(Partial(("j", "0"), (cy.block(3), None), rotation=("", ()))) <= measured.cycles


def test_forms_in_space_are_no_indices_to_rotate_by():
    """On a torus, with as many values as the sum's index has."""
    machine = cy.Machine(grid=(2, 6), topology="torus")
    case = kernels.gemm(2, 3, 2)
    found = cy.map(
        case.kernel, *case.args, machine=machine, fix=cy.Schedule().space("i", "2*j"), candidates=9
    )
    assert found.bound <= found[0].cycles


CORNER = {"latency": 40, "depth": 4, "serves": (":, 0", "0, :")}


def of_corner(case, space, folds=(None, None), grid=(4, 4), topology="mesh"):
    """The bound of a placement, and what the fastest of its mappings takes, by all kinds of movements."""
    machine = cy.Machine(grid=grid, topology=topology, memories={"dram": cy.Memory(**CORNER)})
    _, mappings = problem(case.kernel, case.args, machine)
    schedule = cy.Schedule().space(*space)
    for form, fold in zip(space, folds, strict=True):
        schedule = schedule if fold is None else schedule.fold({form: fold})
    found = [
        exhaustive.cycles(case.kernel, case.args, one, machine)
        for one in exhaustive.movements(schedule, case.tensors)
    ]
    bound = mappings.proven(Partial(space, folds, rotation=("", ())))
    return bound, min(one for one in found if one is not None)


@pytest.mark.parametrize("k", [4, 9, 16])
def test_the_first_pe_loads_all_that_it_uses(k):
    """By hand: no PE is behind it: a row of A and a column of B come four at a time, in 40 cycles."""
    bound, cycles = of_corner(kernels.gemm(4, 4, k), ("i", "j"))
    assert -(-2 * k // 4) * 40 + 1 + 40 <= bound <= cycles


@pytest.mark.parametrize(
    ("space", "folds", "elements"),
    [
        (("x", "y"), (None, None), 9 + 9),
        (("x", "y"), (cy.block(2), cy.block(2)), 16 + 9),
        (("x", "y"), (cy.cyclic(2), None), 9 + 9),  # others may come from PE (1, 0)
        (("r", "s"), (None, None), 16 + 1),
    ],
)
def test_the_first_pe_of_a_convolution(space, folds, elements):
    bound, cycles = of_corner(kernels.convolution(4, 4, 3, 3), space, folds)
    assert -(-elements // 4) * 40 + 1 <= bound <= cycles


def test_a_sum_without_all_terms_is_not_rotated():
    """A solve on a torus: the compiler would refuse each of these."""
    machine = cy.Machine(grid=(4, 4), topology="torus")
    for case, rotates in ((kernels.solve(4, 4), False), (kernels.gemm(4, 4, 4), True)):
        _, space = problem(case.kernel, case.args, machine)
        first, second = ("i", "r") if case.kernel is kernels.trsm else ("i", "j")
        placed = Partial((first, second), (None, None))
        assert (len(list(space.children(placed))) > 1) is rotates


def of_one_pe(n, **memory):
    machine = cy.Machine(grid=(1, 1), memories={"dram": cy.Memory(**memory)})
    system, space = problem(increment, (np.ones(n),), machine)
    folds = (cy.block(1), None) if n > 1 else (None, None)
    bound = space.bounds.least_time(("i", "0"), folds)
    found = evaluate(system, cy.Schedule().space("i", "0").fold(i=1), machine)
    assert isinstance(found, Measured)
    assert bound <= found.cycles
    return bound


@pytest.mark.parametrize(("n", "latency", "depth"), [(1, 20, 2), (7, 20, 2), (8, 20, 4), (9, 50, 4)])
def test_loads_under_way(n, latency, depth):
    """By hand: the last load comes after so many rounds of the latency; then an addition, and its store."""
    assert of_one_pe(n, latency=latency, depth=depth) == -(-n // depth) * latency + 1 + latency


@pytest.mark.parametrize("n", [1, 5, 12])
def test_words_through_a_port(n):
    """By hand: the port passes n elements in and n out, one a cycle, the last of them after an addition."""
    assert of_one_pe(n, latency=1, depth=64) == max(2 * n, n + 2)


@pytest.mark.parametrize(("tile", "bandwidth"), [(4, 1), (4, 16), (6, 7)])
def test_elements_are_tiles(tile, bandwidth):
    """A tile in, one product of tiles, a tile out."""
    args = [cy.blocked(np.ones((tile, tile)), (tile, tile)) for _ in range(2)]
    memory = cy.Memory(bandwidth=bandwidth, latency=30, depth=2)
    machine = cy.Machine(grid=(1, 1), memories={"dram": memory}, pe=cy.PE(cycles={"matmul": 5}))
    _, space = problem(kernels.blocked_matmul, args, machine)
    transfer = -(-tile * tile // bandwidth)
    assert space.bounds.least_time(("0", "0"), (None, None)) == 2 * transfer + 29 + 5 + 30 + transfer - 1


def test_what_no_memory_serves_waits_for_none():
    """The PE at the end of a row loads at no cost, and may hand on to the one that a slow memory serves."""
    memory = cy.Memory(latency=1000, serves=":, 0")
    machine = cy.Machine(grid=(1, 4), memories={"dram": memory})
    case = kernels.gemm(1, 4, 1)
    system, space = problem(case.kernel, case.args, machine)
    # A's element may come from the last PE, but B's of column 0 is read, and C's is stored, in PE 0 alone.
    line = (("0", "j"), (None, None))
    assert space.bounds.least_time(*line) >= 1000
    found = evaluate(system, cy.Schedule().space("0", "j"), machine)
    assert isinstance(found, Measured)
    assert space.bounds.least_time(*line) <= found.cycles


@pytest.mark.parametrize(("words", "width"), [(16, 1), (16, 4), (36, 16)])
def test_tiles_on_links_take_their_words(words, width):
    """Of a chain of products over PEs in a line, each sum of so many words goes over a link."""
    tile, n = round(words**0.5), 4
    args = [cy.blocked(np.ones(shape), (tile, tile)) for shape in ((tile, n * tile), (n * tile, tile))]
    link = cy.Link(latency=3, words_per_cycle=width, depth=4)
    machine = cy.Machine(
        grid=(n, 1),
        link=link,
        broadcast=cy.Link(latency=99, words_per_cycle=width),
        pe=cy.PE(cycles={"matmul": 5}),
    )
    system, space = problem(kernels.blocked_matmul, args, machine)
    bound = space.bounds.least_time(("k", "0"), (None, None))
    found = evaluate(system, cy.Schedule().space("k", "0"), machine)
    assert isinstance(found, Measured)
    assert n * 5 + (n - 1) * (3 + -(-words // width) - 1) <= bound <= found.cycles


def test_the_bound_on_wormhole_counts_its_memory():
    """The bound knows of DRAM, which takes more than all operators."""
    case = kernels.solve(8, 8)
    found = cy.map(case.kernel, *case.args, machine=cy.machines.wormhole(), candidates=6, time_limit=None)
    assert found.bound > 100  # until the first element is there
    assert found.bound <= found[0].cycles
