"""`cy.map`: the best mapping by brute force is found, and bounds are proven below all."""

from __future__ import annotations

import dataclasses
import itertools
import random
import re

import exhaustive_mapping as exhaustive
import mapped_kernels as kernels
import numpy as np
import pytest

import cyclotron as cy
from cyclotron import _core
from cyclotron.mapper import search
from cyclotron.mapper.bounds import Bounds
from cyclotron.mapper.evaluate import Measured, evaluate
from cyclotron.mapper.space import Partial, Space

DEEP = cy.Link(depth=1 << 20)
SMALL = cy.Machine(grid=(2, 2), link=DEEP, pe=cy.PE(memory=1 << 20))
SLOW = cy.Machine(
    grid=(2, 3),
    link=cy.Link(latency=3, depth=1 << 20),
    broadcast=cy.Link(latency=5, depth=1 << 20),
    pe=cy.PE(memory=1 << 20, cycles={"multiply_add": 3, "multiply": 2, "divide": 7, "sqrt": 9}),
)
CASES = {
    "gemm": (kernels.gemm(2, 3, 4), 5),
    "gemm, tall": (kernels.gemm(5, 2, 3), 11),
    "gemm in tiles": (kernels.tiled(12, 16, 8, 4), 5),
    "convolution": (kernels.convolution(3, 4, 2, 2), 23),
    "attention": (kernels.attend(3, 3, 2, 2), 151),
    "solve": (kernels.solve(4, 3), 19),
    "factor": (kernels.factor(4), 5),
    "tensor": (kernels.krp(3, 2, 3, 2), 59),
}


@pytest.mark.parametrize("name", CASES)
def test_no_mapping_is_better(name):
    """Of the enumeration each n-th is compiled: primes, so that all choices are among them."""
    case, every = CASES[name]
    true, legal = exhaustive.best(case.kernel, case.args, case.extents, case.tensors, SMALL, every)
    assert legal > 5
    found = cy.map(case.kernel, *case.args, machine=SMALL, time_limit=None, candidates=40)
    assert found[0].cycles <= 1.02 * true
    assert found.bound <= min(true, found[0].cycles)
    assert (found[0].cycles - true) / found[0].cycles <= found.gap


def problem(case, machine):
    recurrences = case.kernel.recurrences(*case.args)
    return recurrences.core, Space(
        recurrences, machine, Bounds(recurrences.core, machine, cy.Schedule()), cy.Schedule()
    )


@pytest.mark.parametrize("machine", [SMALL, SLOW, cy.machines.wormhole(), cy.machines.gemmini_16("float64")])
@pytest.mark.parametrize("name", CASES)
def test_bounds_of_partial_mappings(name, machine):
    """From nothing chosen to all: no bound on the way is above what the mapping takes."""
    system, space = problem(CASES[name][0], machine)
    dice = random.Random(f"{name} {machine}")
    checked = 0
    for _ in range(60):
        if checked == 3:
            break
        path = [Partial()]
        while not space.is_leaf(path[-1]):
            path.append(dice.choice(list(space.children(path[-1]))))
        found = evaluate(system, space.schedule(path[-1]), machine)
        if isinstance(found, Measured):
            bounds = [space.proven(partial) for partial in path]
            assert max(bounds) <= found.cycles, (found.schedule, bounds)
            checked += 1
    assert checked or machine.pe.memory < 2048  # tiles of 4 x 4 and more need more than a cell has


@pytest.mark.parametrize("topology", ["mesh", "torus"])
def test_no_chain_bounds_what_may_rotate_its_sums(topology):
    """On a torus a sum may begin with any term, and wait for others than in the kernel's order."""
    machine = cy.Machine(grid=(4, 4), topology=topology)
    _, space = problem(kernels.solve(4, 4), machine)
    chain = space.bounds.chain
    assert chain > space.bounds.anywhere(16)
    assert (space.bound(Partial()) == chain) is (topology == "mesh")
    folded = next(one for one in space.children(Partial(space=("i", "0"))) if one.shares[0] is not None)
    assert space.bound(folded) >= chain  # what is folded is not rotated


def test_operations_by_place_against_points():
    """A triangular solve: each operation is counted where its indices are."""
    n, m = 5, 3
    case = kernels.solve(n, m)
    machine = cy.Machine(
        pe=cy.PE(cycles={"divide": 7, "multiply_subtract": 2, "multiply": 2, "multiply_add": 2})
    )
    found = _core.operations_by_place(case.kernel.recurrences(*case.args).core, machine.to_core(), ["i", "j"])
    by_cycles = {one["cycles"]: one for one in found}
    terms = np.zeros((n, n), int)
    for i, _, j in itertools.product(range(n), range(m), range(n)):
        terms[i, j] += j < i
    one = by_cycles[2]
    assert one["dimensions"] == [0, 1]
    (i, j), counts = one["first"], one["counts"]
    assert terms.sum() == counts.sum()
    assert np.array_equal(terms[i : i + counts.shape[0], j : j + counts.shape[1]], counts)
    assert by_cycles[7]["dimensions"] == [0]
    assert by_cycles[7]["counts"].tolist() == [m] * n


SLOW_SOLVE = {"divide": 7, "multiply": 3, "multiply_add": 3, "multiply_subtract": 3, "subtract": 2}


def longest_of_solve(n, divide, update, difference):
    """By the recurrence: a row's sum goes on when the row before is divided."""
    done = []
    for i in range(n):
        total = 0
        for j in range(i):
            total = max(total, done[j]) + update
        done.append(total + difference + divide)
    return max(done)


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_the_longest_chain(n):
    case = kernels.solve(n, 2)
    machine = cy.Machine(pe=cy.PE(cycles=SLOW_SOLVE)).to_core()
    system = case.kernel.recurrences(*case.args).core
    graph = _core.operation_graph(system, machine, most=10**4)
    nowhere = np.zeros((len(graph), 0), np.int64)
    assert graph.least_time(nowhere, distance="any", hop=0, at_most=0) == longest_of_solve(n, 7, 3, 2)
    assert _core.operation_graph(system, machine, most=1) is None


def least_of_solve(n, columns, grid, space, folds, **machine):
    case = kernels.solve(n, columns)
    pe = cy.PE(cycles=SLOW_SOLVE)
    bounds = Bounds(
        case.kernel.recurrences(*case.args).core, cy.Machine(grid=grid, pe=pe, **machine), cy.Schedule()
    )
    return bounds.least_time(space, folds)


@pytest.mark.parametrize("n", [2, 5, 9])
def test_the_least_time_of_rows_in_a_line(n):
    """By hand: of each row the last term waits for the row before, a hop away; a difference, a quotient."""
    line = {"grid": (n, 1), "space": ("i", "0"), "folds": (None, None)}
    chain = n * (2 + 7) + (n - 1) * 3
    assert least_of_solve(n, 1, **line, link=cy.Link(latency=4)) == chain + (n - 1)  # a broadcast takes 1
    far = {"link": cy.Link(latency=4), "broadcast": cy.Link(latency=9)}
    assert least_of_solve(n, 1, **line, **far) == chain + (n - 1) * 4
    assert least_of_solve(n, 1, **line, **far, topology="torus") == chain + (n - 1) * 4


@pytest.mark.parametrize("n", [2, 5, 9])
def test_the_least_time_of_sums_in_a_line(n):
    """By hand: the next row's last term is where a row's sum ends, and its result a hop further."""
    far = {"link": cy.Link(latency=4), "broadcast": cy.Link(latency=9)}
    line = {"grid": (1, n), "space": ("r", "j"), "folds": (None, None)}
    assert least_of_solve(n, 1, **line, **far) == n * (2 + 7) + (n - 1) * (3 + 4)


@pytest.mark.parametrize(("m", "e"), [(3, 2), (5, 1)])
def test_statements_without_an_index_in_space_are_in_one_pe(m, e):
    """By hand: a row of scores, its maximum, differences, exponentials, their sum, and an output."""
    case, machine = kernels.attend(1, m, e, 3), cy.Machine(grid=(3, 1))
    system, space = problem(case, machine)
    found = evaluate(system, cy.Schedule().space("f", "0"), machine)
    assert isinstance(found, Measured)
    bound = space.bounds.least_time(("f", "0"), (None, None))
    assert m * e + (m - 1) + 2 * m + (m - 1) + m + 1 <= bound <= found.cycles


@pytest.mark.parametrize(("n", "columns"), [(2, 3), (5, 4)])
def test_the_least_time_of_one_pe_is_its_work(n, columns):
    work = columns * (n * (2 + 7) + n * (n - 1) // 2 * 3)
    assert least_of_solve(n, columns, (1, 1), ("0", "0"), (None, None)) == work


MIXED = {
    "mesh": cy.Machine(grid=(3, 4), link=DEEP, pe=cy.PE(memory=1 << 20)),
    "slow": SLOW,
    "torus": dataclasses.replace(SLOW, grid=(2, 4), topology="torus"),
    "hexagonal": dataclasses.replace(SLOW, grid=(3, 3), topology="hexagonal"),
    "free links": dataclasses.replace(SMALL, link=cy.Link(latency=0, depth=1 << 20)),
    "side by side": dataclasses.replace(
        SMALL, pe=cy.PE(memory=1 << 20, overlap=True, matrix=cy.Unit((2, 2, 2)), vector=cy.Unit((2,)))
    ),
}


@pytest.mark.sampled(5)  # each machine and each kernel is among them
@pytest.mark.parametrize("machine", MIXED)
@pytest.mark.parametrize("name", CASES)
def test_no_bound_is_above_an_enumerated_mapping(name, machine):
    """Mappings that the mapper had no part in, each against the bounds of its space and folds."""
    case, target = CASES[name][0], MIXED[machine]
    bounds = Bounds(case.kernel.recurrences(*case.args).core, target, cy.Schedule())
    every = list(exhaustive.schedules(case.extents, case.tensors, target.grid))
    checked = 0
    for schedule in random.Random(f"{name} {machine}").sample(every, 14):
        cycles = exhaustive.cycles(case.kernel, case.args, schedule, target)
        if cycles is None:
            continue
        folds = dict(schedule.folds)
        space, shares = schedule.space_indices, [folds.get(form) for form in schedule.space_indices]
        assert bounds.least_time(space, shares) <= cycles, schedule
        assert bounds.cycles(space, shares, target.grid) <= cycles, schedule
        checked += 1
    assert checked


def test_a_mapping_prints_as_code_that_runs_to_the_same_cycles():
    case = kernels.gemm(5, 4, 3)
    for one in cy.map(case.kernel, *case.args, machine=SMALL, gap=0, candidates=30, time_limit=None):
        schedule = eval(repr(one.schedule), {"cy": cy})
        assert schedule == one.schedule
        program = case.kernel.compile(*case.args, schedule=schedule, machine=SMALL)
        assert cy.run(program, backend="sim", functional=False).cycles == one.cycles == program.cycles
        assert program.memory_bytes == one.memory
        assert np.prod(program.grid) == one.pes


def test_the_best_computes_what_the_kernel_does():
    A, B = np.arange(20.0).reshape(5, 4), np.arange(24.0).reshape(4, 6)
    found = cy.map(kernels.matmul, A, B, machine=SMALL)
    assert np.array_equal(cy.run(found.best, backend="sim").output, A @ B)
    assert found.best.cycles == found[0].cycles
    assert found.best.schedule is not None


def test_as_many_candidates_find_the_same():
    case = kernels.factor(5)
    one, other = (
        cy.map(case.kernel, *case.args, machine=SMALL, candidates=12, time_limit=None) for _ in range(2)
    )
    assert one.report.tried >= 12
    assert one.report.ended == "candidates"
    assert [item.schedule for item in one] == [item.schedule for item in other]
    assert (one.bound, one.tried) == (other.bound, other.tried)
    assert one.gap > 0


def test_time_that_is_up_and_an_interrupt_keep_the_best(monkeypatch):
    case = kernels.factor(6)
    calls = itertools.count()

    def interrupted(*args):
        if next(calls) == 4:
            raise KeyboardInterrupt
        return evaluate(*args)

    monkeypatch.setattr(search, "evaluate", interrupted)
    found = cy.map(case.kernel, *case.args, machine=SMALL)
    assert found.report.ended == "interrupted"
    assert found.report.tried == 4
    assert 0 < found.bound <= found[0].cycles
    monkeypatch.undo()
    whole = cy.map(case.kernel, *case.args, machine=SMALL, candidates=20, time_limit=None)
    assert found.bound <= whole[0].cycles
    ticks = itertools.count()
    monkeypatch.setattr(search.time, "monotonic", lambda: float(next(ticks)))
    stopped = cy.map(case.kernel, *case.args, machine=SMALL, time_limit=30)
    assert stopped.report.ended == "time"
    assert stopped.bound <= whole[0].cycles


def test_an_interrupt_after_the_default_keeps_it(monkeypatch):
    """Nothing else was looked into: no more is proven than that no order saves operators."""
    calls = itertools.count()

    def interrupted(*args):
        if next(calls) == 1:
            raise KeyboardInterrupt
        return evaluate(*args)

    monkeypatch.setattr(search, "evaluate", interrupted)
    case = kernels.solve(7, 5)
    found = cy.map(case.kernel, *case.args, machine=SMALL)
    usual = case.kernel.compile(*case.args, machine=SMALL)
    assert (found.report.ended, found.report.tried) == ("interrupted", 1)
    assert found[0].cycles == usual.cycles
    monkeypatch.undo()
    assert found.bound <= cy.map(case.kernel, *case.args, machine=SMALL)[0].cycles


def test_what_is_fixed_stays():
    case = kernels.gemm(4, 4, 4)
    fix = cy.Schedule().space("k", "j").stream("B").fold(k=cy.cyclic(2))
    found = cy.map(case.kernel, *case.args, machine=SMALL, fix=fix, candidates=20, time_limit=None)
    for one in found:
        assert one.schedule.space_indices == ("k", "j")
        assert one.schedule.movement("B").kind == "stream"
        assert dict(one.schedule.folds)["k"] == cy.cyclic(2)


def test_all_that_is_pinned_is_one_candidate():
    case = kernels.gemm(4, 4, 4)
    fix = cy.Schedule().space("i", "j").time("k").stream("A").stream("B").fold(i=2, j=2)
    found = cy.map(case.kernel, *case.args, machine=SMALL, fix=fix)
    assert found.report.tried == 1
    assert found.gap == 0
    program = case.kernel.compile(*case.args, schedule=fix, machine=SMALL)
    assert found[0].cycles == program.cycles


def test_objectives_in_order():
    case = kernels.gemm(4, 4, 2)
    limits = {"machine": SMALL, "gap": 0, "time_limit": None}
    fast = cy.map(case.kernel, *case.args, objective=("cycles", "memory"), **limits)
    assert fast.report.ended == "exhausted"
    assert fast.gap == 0
    least = min(one.memory for one in fast.pareto if one.cycles == fast[0].cycles)
    assert fast[0].memory == least
    small = cy.map(case.kernel, *case.args, objective="memory", candidates=60, **limits)
    assert small[0].memory <= fast[0].memory
    front = [(one.cycles, one.memory, one.pes) for one in fast.pareto]
    for one, other in itertools.permutations(front, 2):
        assert any(a < b for a, b in zip(one, other, strict=True))


def test_tiles_are_chosen_too():
    A, B = np.ones((24, 24)), np.ones((24, 24))
    machine = cy.Machine(
        grid=(2, 2), link=DEEP, pe=cy.PE(memory=1 << 20, matrix=cy.Unit((8, 8, 8), cycles=8))
    )
    found = cy.map(
        kernels.blocked_matmul,
        lambda m, k: (cy.blocked(A, (m, k)), cy.blocked(B, (k, m))),
        tiles=[(4, 4), (8, 8), (12, 12), (24, 24)],
        machine=machine,
        time_limit=None,
        candidates=60,
    )
    # 3 * 3 * 3 passes of 8 cycles on 4 PEs, of which one has 2 * 2 of the tiles: 4 * 3 * 8.
    assert found[0].tile == (12, 12) or found[0].cycles <= 4 * 3 * 8 + 24
    assert {one.tile for one in found} <= {(4, 4), (8, 8), (12, 12), (24, 24)}
    assert found.best.cycles == found[0].cycles


def test_saved_mappings_come_back(tmp_path):
    case = kernels.gemm(4, 3, 2)
    found = cy.map(case.kernel, *case.args, machine=SMALL)
    found.save(tmp_path / "found.json")
    again = cy.Mappings.load(tmp_path / "found.json", case.kernel, *case.args)
    assert str(again) == str(found)
    assert again.explain() == found.explain()
    assert again.best.cycles == found.best.cycles
    assert [one.schedule for one in again.pareto] == [one.schedule for one in found.pareto]


def test_a_file_of_something_else(tmp_path, golden_refusal):
    case, path = kernels.gemm(4, 3, 2), tmp_path / "found.json"
    cy.map(case.kernel, *case.args, machine=SMALL).save(path)
    other = kernels.solve(3, 2)

    def load():
        try:
            cy.Mappings.load(path, other.kernel, *other.args)
        except cy.ProgramError as error:
            raise type(error)(
                error.message.replace(str(tmp_path), "."), code=error.code, help=error.help
            ) from None

    golden_refusal("mappings-of-another", cy.ProgramError, "CYC623", load)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 1}', '{"format": "cyclotron mappings 1", "kernel": "matmul"}']
)
def test_files_that_are_none(tmp_path, text):
    path = tmp_path / "found.json"
    path.write_text(text)
    with pytest.raises(cy.ProgramError) as caught:
        cy.Mappings.load(path, kernels.matmul, np.ones((2, 2)), np.ones((2, 2)))
    assert caught.value.code == "CYC623"


def test_compile_with_the_best():
    case = kernels.gemm(5, 4, 3)
    program = case.kernel.compile(*case.args, machine=SMALL, schedule="best")
    assert program.cycles == cy.map(case.kernel, *case.args, machine=SMALL)[0].cycles
    assert case.kernel.compile(*case.args, machine=SMALL, schedule="best").schedule == program.schedule


@pytest.mark.parametrize(
    "machine",
    [
        cy.machines.wormhole(),
        cy.machines.gemmini_16("float64"),
        cy.machines.unit(3, 5),
        cy.machines.spyre_ring(4),
        None,
    ],
    ids=["wormhole", "gemmini_16", "unit", "ring", "none"],
)
def test_machines(machine):
    case = kernels.gemm(6, 5, 4)
    found = cy.map(case.kernel, *case.args, machine=machine, candidates=25, time_limit=None)
    usual = case.kernel.compile(*case.args, machine=machine)
    assert found.bound <= found[0].cycles <= usual.cycles


def test_a_stencil_in_time():
    found = cy.map(kernels.jacobi, np.ones(8), 4, machine=SMALL, candidates=40, time_limit=None)
    assert found.bound <= found[0].cycles
    usual = kernels.jacobi.compile(np.ones(8), 4, machine=SMALL)
    assert found[0].cycles <= usual.cycles


def test_too_little_memory(golden_refusal):
    case = kernels.gemm(4, 4, 4)
    machine = cy.Machine(grid=(2, 2), pe=cy.PE(memory=32))

    def action():
        cy.map(case.kernel, *case.args, machine=machine, candidates=10, time_limit=None)

    golden_refusal("no-mapping-in-memory", cy.ScheduleError, "CYC340", action)
    with pytest.raises(cy.ScheduleError) as caught:
        action()
    needed = int(re.search(r"with (\d+) bytes of memory", str(caught.value))[1])
    enough = cy.Machine(grid=(2, 2), pe=cy.PE(memory=needed))
    assert cy.map(case.kernel, *case.args, machine=enough, candidates=60, time_limit=None)[0].memory <= needed


def test_a_pinned_choice_that_is_illegal(golden_refusal):
    case = kernels.solve(4, 3)
    fix = cy.Schedule().space("r", "i").time("-j")
    action = lambda: cy.map(case.kernel, *case.args, machine=SMALL, fix=fix, candidates=9, time_limit=None)  # noqa: E731
    golden_refusal("no-mapping-with-pins", cy.ScheduleError, "CYC340", action)


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "speed"},
        {"objective": ()},
        {"top": 0},
        {"gap": -1},
        {"time_limit": "long"},
        {"fix": "i"},
    ],
)
def test_options_that_are_none(options):
    with pytest.raises(cy.ScheduleError) as caught:
        cy.map(kernels.matmul, np.ones((2, 2)), np.ones((2, 2)), **options)
    assert caught.value.code == "CYC301"


def test_the_picture(tmp_path):
    case = kernels.gemm(5, 4, 3)
    found = cy.map(case.kernel, *case.args, machine=SMALL, candidates=20, gap=0, time_limit=None)
    figure = found.plot(path=tmp_path / "found.png")
    assert (tmp_path / "found.png").stat().st_size > 10_000
    assert len(figure.axes[0].collections[0].get_offsets()) == len(found.tried)


@cy.kernel
def scaled(x, y):
    return 2.0 * x + y


@pytest.mark.parametrize(
    "fields",
    [{}, {"memories": {"dram": cy.Memory(bandwidth=2, latency=5, serves=":, 0:2")}}],
    ids=["alone", "memory"],
)
def test_arrays_of_one_axis_on_a_line(fields):
    machine = cy.Machine(grid=(3, 4), **fields)
    x, y = np.arange(30.0), np.ones(30)
    found = cy.map(scaled, x, y, machine=machine, candidates=40, time_limit=None)
    usual = scaled.compile(x, y, machine=machine)
    assert usual.schedule.is_serpentine or fields
    assert found.bound <= found[0].cycles <= cy.run(usual, backend="sim").cycles
    fixed = cy.map(
        scaled,
        x,
        y,
        machine=machine,
        fix=cy.Schedule().space("i").serpentine(),
        candidates=20,
        time_limit=None,
    )
    assert fixed.bound <= fixed[0].cycles
    assert fixed[0].schedule.is_serpentine
    for one in (found, fixed):
        np.testing.assert_array_equal(cy.run(one.best).output, 2 * x + y)
