"""The controller: what loops cost whose ends depend on data, and that all else costs nothing."""

import dataclasses
import json
import random
from pathlib import Path

import accounts
import numpy as np
import pytest
from control_kernels import halved

import cyclotron as cy
from cyclotron.analysis import critical_path
from cyclotron.analysis.counters import TIMES
from cyclotron.plot import _critical_path as critical_path_plot

CONTROL = cy.Control(latency=10, hop=3, setup=55)


@cy.kernel
def halved_always(x, steps):
    for _ in range(steps):
        x = x / 2
    return x


def compiled(shape, least, steps=40, control=CONTROL, **machine):
    x = np.ones(shape)
    schedule = cy.Schedule().space(*"ij"[: len(shape)]).time("_")
    return halved.compile(
        x, least * x.size, steps, schedule=schedule, machine=cy.Machine(control=control, **machine)
    )


def run(program, **options):
    result = cy.run(program, backend="sim", **options)
    assert (sum(result.stats[name] for name in TIMES) == result.cycles).all()
    return result


def measured(result):
    times = {name: result.stats[name].tolist() for name in TIMES}
    return result.cycles, times, result.stats["channels"], result.stats["instructions"]


@pytest.mark.parametrize("shape", [(1,), (5,), (1, 4), (3, 5), (6, 6)])
@pytest.mark.parametrize("least", [0.9, 0.1, 1e-30])
def test_each_decision_costs_the_way_and_the_set_up(shape, least):
    program = compiled(shape, least)
    free = program.with_machine(dataclasses.replace(program.machine, control=None))
    assert len(program.core.endings) == 1
    result, without = run(program), run(free)
    assert result.steps == without.steps
    assert np.array_equal(result.output, without.output)
    ending = program.core.endings[0]
    (steps,) = result.steps.values()
    skipped = ending["steps"] - steps
    decisions = ending["last"] - skipped - ending["first"] + 1
    middle = [(n - 1) // 2 for n in program.grid]
    least_cycles = decisions * (CONTROL.latency + CONTROL.setup)
    waits = result.stats["stall_control"]
    assert waits[tuple(middle)] >= least_cycles
    assert (waits >= decisions * CONTROL.setup).all()
    # The farthest PE goes on no sooner than the word comes there, and the next sum waits for it.
    assert result.cycles >= without.cycles + least_cycles
    # What a PE waits for beyond that is the ways in the controller's row, and of the words.
    assert ((waits - result.stats["wait_control"]) % CONTROL.setup == 0).all()


def test_static_programs_need_no_controller():
    x, schedule = np.ones((4, 6)), cy.Schedule().space("i", "j").time("_")
    programs = [
        halved_always.compile(x, 9, schedule=schedule, machine=cy.Machine(control=control))
        for control in (None, CONTROL)
    ]
    for options in ({}, {"event_limit": 0}, {"functional": False}):
        without, result = (run(program, **options) for program in programs)
        assert measured(without) == measured(result)
        assert not result.stats["stall_control"].any()
        assert result.stats["cycles_skipped"] == without.stats["cycles_skipped"]


def test_looking_sections_up_costs_where_nothing_else_does():
    """Four cycles for each section that a flag decides, and for the first one."""
    free = cy.Control(latency=0, hop=0, setup=0)
    with_it, without = (run(compiled((1,), 0.01, control=control)) for control in (free, None))
    (steps,) = with_it.steps.values()
    assert with_it.cycles == without.cycles + 4 * (steps - 1)


@pytest.mark.parametrize(("latency", "hop", "setup"), [(0, 0, 0), (0, 1, 55), (10, 2, 60)])
def test_waits_of_an_iteration_are_the_ways_of_the_control_system(latency, hop, setup):
    """MA-139, MA-140: in place of a rule, the look-up and six hops: 10 cycles where a hop takes one."""
    control = cy.Control(latency=latency, hop=hop, setup=setup)
    stats = [run(compiled((1,), 1e-30, n, control), functional=False).stats for n in (10, 11)]
    wait, stall = ((stats[1][name] - stats[0][name]).sum() for name in ("wait_control", "stall_control"))
    assert wait == latency + 4 + 6 * hop
    assert stall - wait == setup


@pytest.mark.parametrize("least", [0.9, 0.1, 1e-30])
def test_a_run_that_computes_in_no_time_is_one_of_the_control_system(least):
    """MA-109: the worker of `control_system` is a PE of the program whose operators take no cycles."""
    rng = random.Random(least)
    for _ in range(20):
        control = cy.Control(latency=rng.randrange(20), hop=rng.randrange(4), setup=rng.randrange(70))
        operators = ("divide", "less", "logical_and", "logical_not", "where")
        pe = cy.PE(cycles=dict.fromkeys(operators, 0))
        program = compiled((1, 1), least, control=control, pe=pe)
        result, system = run(program), program.control_system
        assert result.stats["busy"].sum() == 0, result.stats["busy_by_operator"]
        (flags,) = (tensor for tensor in system.tensors if tensor["role"] == "input")
        iterations = np.arange(flags["shape"][0])
        runs = (cy.run(system, iterations < n, backend="sim") for n in range(len(iterations) + 1))
        assert result.cycles == next(one.cycles for one in runs if one.steps == result.steps)


def test_slow_workers_hold_the_controller_back_and_fast_ones_idle():
    """MA-031, MA-033: random rates; workers do all calls, and wait for them the less, the slower they are."""
    rng = random.Random(0)
    for _ in range(100):
        rates = sorted(rng.sample(range(1, 400), 2))
        control = cy.Control(latency=rng.randrange(40), hop=rng.randrange(4), setup=rng.randrange(70))
        runs = [
            run(compiled((2, 3), 0.05, control=control, pe=cy.PE(cycles={"divide": rate}))) for rate in rates
        ]
        fast, slow = runs
        assert np.array_equal(fast.output, slow.output)
        setups = [result.stats["stall_control"] - result.stats["wait_control"] for result in runs]
        assert np.array_equal(*setups)
        idle = [result.stats["wait_control"].mean() / result.cycles for result in runs]
        assert idle[0] > idle[1]
    far = cy.Control(latency=10_000, hop=1, setup=1)
    waits = run(compiled((2, 3), 0.05, control=far))
    assert waits.stats["wait_control"].mean() / waits.cycles > 0.9


@pytest.mark.parametrize("engine", ["auto", "general", "fast-forward"])
def test_engines_agree(engine):
    program = compiled((4, 5), 1e-30, steps=60)
    alone = run(program, functional=False, event_limit=0, engine=engine)
    told = run(program, functional=False)
    assert measured(alone) == measured(told)
    assert told.stats["stall_control"].any()


def test_causes_and_critical_paths_have_control():
    program = compiled((3, 4), 0.01)
    result = run(program)
    accounts.check(result)
    account = result.accounting()
    assert np.array_equal(account.control, result.stats["stall_control"])
    assert "waits for control" in str(account)
    path = result.critical_path()
    assert path.cycles == result.cycles
    assert path.by_kind["control"] > 0
    assert "cy.Control" in str(path)


def test_programs_keep_their_control(tmp_path):
    program = compiled((3, 3), 0.1, pe=cy.PE(channels=24))
    program.save(tmp_path / "halved.cyc")
    loaded = cy.load(tmp_path / "halved.cyc")
    assert loaded.machine.control == CONTROL
    assert loaded.machine.pe.channels == 24
    saved = json.loads(program.core.to_bytes()[24:])["machine"]
    assert saved["control"] == {"latency_cycles": 10, "hop_cycles": 3, "setup_cycles": 55}
    assert run(loaded, functional=False).cycles == run(program, functional=False).cycles


def test_a_pe_has_so_many_channels_and_no_more():
    """MA-018: and two of them are the controller's, for control and arguments."""
    program = compiled((3, 3), 0.1)
    machine = program.machine
    used = next(
        count
        for count in range(1, 100)
        if _fits(program, dataclasses.replace(machine, pe=cy.PE(channels=count)))
    )
    with pytest.raises(
        cy.CapacityError, match=f"uses {used} channels, but the machine has {used - 1} a PE"
    ) as refused:
        program.with_machine(dataclasses.replace(machine, pe=cy.PE(channels=used - 1)))
    assert refused.value.code == "CYC504"
    assert "2 bring control and arguments" in str(refused.value)
    # Those of the control are not needed where there is none.
    program.with_machine(dataclasses.replace(machine, pe=cy.PE(channels=used - 2), control=None))


def test_the_pes_with_the_most_channels_are_told():
    """A machine with as many as the refusal asks for is enough: inner PEs use more than those in corners."""
    program = compiled((4, 4), 0.1)
    machine = program.machine
    with pytest.raises(cy.CapacityError, match="a machine with at least") as refused:
        program.with_machine(dataclasses.replace(machine, pe=cy.PE(channels=3)))
    least = int(str(refused.value).split("at least ")[1].split()[0])
    assert _fits(program, dataclasses.replace(machine, pe=cy.PE(channels=least)))


def test_critical_paths_with_waits_for_control_can_be_drawn():
    assert set(critical_path_plot._STYLES) == set(critical_path.KINDS)
    run(compiled((3, 3), 0.1)).plot.critical_path()


def _fits(program, machine):
    try:
        program.with_machine(machine)
    except cy.CapacityError:
        return False
    return True


def test_sections_are_what_runs_between_decisions():
    program = compiled((3, 4), 0.1)
    sections = program.sections
    assert [section.loop for section in sections] == ["", "_", ""]
    assert [bool(section.waits_for) for section in sections] == [False, True, True]
    body = sections[1]
    # `x / 2`, `cy.sum(x)` and `< least`, but not what follows the loop.
    source = Path(halved.file).read_text(encoding="utf-8").splitlines()
    texts = [source[line - 1] for _, line in body.lines]
    assert any("x / 2" in text for text in texts)
    assert any("cy.sum(x) < least" in text for text in texts)
    assert "divide" in body.operators
    assert sections[0].arguments == ("x",)
    assert all(call.instructions > 0 and call.classes for section in sections for call in section.calls)
    assert "iteration of _" in str(sections)
    assert sections._repr_html_().count("<tr>") == 4


@cy.kernel
def shrunk(x, y, least, steps):
    """Two array statements a step, the second of which waits for the sum of the first."""
    for _ in range(steps):
        x = x * 0.5
        total = cy.sum(x)
        y = y + total * x
        if total < least:
            break
    return x, y


def folded(size, setup, kernel=shrunk):
    """On 2x2 PEs, blocks of so many rows and columns; nothing but the set-up costs control."""
    x = np.ones((2 * size[0], 2 * size[1]))
    machine = cy.Machine(grid=(2, 2), control=cy.Control(latency=0, hop=0, setup=setup))
    schedule = cy.Schedule().space("i", "j").time("_").fold(i=cy.block(2), j=cy.block(2))
    return kernel.compile(x, x, 1e-9, 30, schedule=schedule, machine=machine)


def calls_of(program, section, pe):
    """The number of procedures of a section in which the PE takes part in."""
    return sum(program.core.class_of(pe) in call.classes for call in section.calls)


@pytest.mark.parametrize("size", [(1, 1), (1, 4), (3, 2)])
def test_each_call_is_set_up(size):
    programs = {setup: folded(size, setup) for setup in (0, 1, 1000)}
    before, body, after = programs[0].sections
    ending = programs[0].core.endings[0]
    decided = ending["last"] - ending["first"]  # iterations that a decision has sent; then what follows
    middle = (0, 0)  # its value decides, so that it waits for no other PE
    calls = decided * calls_of(programs[0], body, middle)
    calls += sum(calls_of(programs[0], section, middle) for section in (before, after))
    found = {}
    for setup, program in programs.items():
        for limit in (200_000, 0):
            stats = run(program, functional=False, event_limit=limit).stats
            found[setup, limit] = int((stats["stall_control"] - stats["wait_control"])[middle])
    # Iterations of the loop in which it cannot end are called, too.
    assert calls <= found[1, 0] <= calls + 2 * calls_of(programs[0], body, middle)
    assert all(cycles == setup * found[1, 0] for (setup, _), cycles in found.items())
    # Sums are between nests of loops; where blocks have one element there are no loops.
    assert (len(body.calls) == 1) == (size == (1, 1))


@cy.kernel
def scaled(x, y, steps):
    for _ in range(steps):
        x = x * 0.5
        if y[0, 0] < 0:
            break
    return x


@pytest.mark.parametrize(("count", "least", "most"), [(1, 0, 0.2), (50, 0.5, 0.9), (500, 0.9, 1)])
def test_an_array_statement_of_fifty_elements_a_pe_is_efficient(count, least, most):
    """MACH, section 4.1: a set-up of 50 to 60 cycles leaves as few as 50 elements a PE efficient."""
    x = np.ones((1, count))
    machine = cy.Machine(grid=(1,), control=cy.Control(latency=0, hop=0, setup=55))
    schedule = cy.Schedule().space("i").time("_", "j")
    runs = []
    for steps in (20, 21):
        program = scaled.compile(x, x, steps, schedule=schedule, machine=machine)
        runs.append(run(program, functional=False))
    cycles = runs[1].cycles - runs[0].cycles
    busy = int((runs[1].stats["busy"] - runs[0].stats["busy"]).sum())
    assert len(program.sections[1].calls) == 1
    assert busy >= count
    assert cycles == busy + 55 + 4  # to look the section up
    assert least < busy / cycles < most


def test_a_static_program_is_one_section_that_waits_for_nothing():
    x = np.ones((4, 6))
    sections = halved_always.compile(x, 9, schedule=cy.Schedule().space("i", "j").time("_")).sections
    assert len(sections) == 1
    assert sections[0].waits_for == ""
    assert "ahead" in str(sections)
    assert "none of them" in repr(sections)
