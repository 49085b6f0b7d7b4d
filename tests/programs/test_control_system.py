"""The control system as programs of its PEs: cycles and words beside a reference, message by message."""

import dataclasses
import importlib
import json
import os
import random
import sys
from collections import Counter
from pathlib import Path

import mutants
import numpy as np
import pytest
from control_kernels import halved
from reference_control_system import ControlSystem, Costs, calls_of, flow_of

import cyclotron as cy

sys.path.append(str(Path(__file__).parents[2] / "examples"))
import mach_listing

RUNS = int(os.environ.get("CYCLOTRON_CONTROL_RUNS", "8"))  # a case; 50: 500 in all
RATES = 20 if os.environ.get("CYCLOTRON_QUICK") else 20 * RUNS  # 50 RUNS: 1,000


@cy.kernel
def twice(x, least, steps):
    y = x * 3
    for _t in range(steps):
        x = x * 0.5
        y = y + x
        if cy.sum(x) < least:
            break
    x = x + y
    for _s in range(steps):
        y = y * 0.5
        if cy.sum(y) < least:
            break
    return x, y


@cy.kernel
def nested(x, least, steps, inner):
    y = x + 1
    for _t in range(steps):
        x = x * 0.5
        for _s in range(inner):
            y = y * 0.25
            if cy.sum(y) < least:
                break
        x = x + y
        if cy.sum(x) < least:
            break
    return x * y


@cy.kernel
def around(x, least, steps, inner):
    for _t in range(steps):
        x = x + 3
        for _s in range(inner):
            x = x * 0.5
            if cy.sum(x) < least:
                break
        x = x * x
    return x


@cy.kernel
def many_calls(x, y, least, steps):
    """Six tensors and several statements a step, each of which waits for a sum."""
    z = x * y
    w = x - y
    for _ in range(steps):
        x = x * 0.5
        z = z + cy.sum(x) * y
        w = w + cy.sum(z) * x
        y = y * 0.75 + cy.sum(w) * z
        if cy.max(cy.abs(y)) < least:
            break
    return x, y, z, w


@cy.kernel
def ahead(x, y, least, steps):
    """Long sections, four of which are sent ahead where the innermost loop ends for the last time."""
    z = x * y
    for _a in range(3):
        for _b in range(3):
            for _s in range(steps):
                z = z * 0.5
                if cy.sum(z) < least:
                    break
            x = x + z
            y = y * x
            z = z - y
            x = x * 0.5
            y = y - x
            z = z + y
            x = x * z
            y = y + x
        y = y + z
        x = x * y
        z = z + x
        y = y * 0.5
        x = x - y
        z = z * x
        y = y + z
        x = x + y
    return x, y, z


WITH_CONTROL = cy.Machine(control=cy.Control())
KERNELS = {
    "halved": (halved, (0.1, 30)),
    "twice": (twice, (0.1, 9)),
    "nested": (nested, (0.1, 6, 5)),
    "around": (around, (0.1, 5, 6)),
    "many_calls": (many_calls, (0.1, 12)),
    "ahead": (ahead, (0.1, 4)),
}


def compiled(name, memory=49152, size=4):
    kernel, arguments = KERNELS[name]
    x = np.ones((size, size))
    arrays = (x, x) if name in ("many_calls", "ahead") else (x,)
    machine = cy.Machine(grid=(2, 2), control=cy.Control(), pe=cy.PE(memory=memory))
    schedule = cy.Schedule().space("i", "j").fold(i=cy.block(2), j=cy.block(2))
    return kernel.compile(*arrays, *arguments, schedule=schedule, machine=machine)


def inputs_of(control):
    return [tensor for tensor in control.tensors if tensor["role"] == "input"]


def document_of(program):
    return json.loads(program.core.to_bytes()[24:])


def reference(program, control, flags, workers_depth=1000, arguments_depth=None):
    own = program.machine.control
    depths = {"workers_depth": workers_depth, "arguments_depth": arguments_depth or workers_depth}
    document = document_of(program)
    has_flags = any(one.get("executive") for one in document["classes"])
    costs = Costs(own.latency, own.hop, own.setup, **depths, has_flags=has_flags)
    flow = flow_of(document, flags)
    responses = len(program.roles["response"])
    system = ControlSystem(flow, calls_of(program, control), responses, costs)
    return system, system.run()


def random_flags(control, rng):
    """Runs that end at once, after some iterations, never, or now and then."""
    often = rng.choice([0.0, 0.2, 0.7, 0.95, 1.0])
    return [
        np.array([rng.random() < often for _ in range(int(np.prod(t["shape"])))]).reshape(t["shape"])
        for t in inputs_of(control)
    ]


@pytest.mark.parametrize(
    ("name", "memory", "size"),
    [(name, 49152, 4) for name in KERNELS] + [("ahead", 672, 4), ("nested", 512, 4)],
)
def test_cycles_and_words_are_those_of_the_reference(name, memory, size):
    """MA-021 to MA-029: runs of controllers of any costs, with 2 response PEs and more."""
    rng = random.Random(f"{name} {memory}")
    program = compiled(name, memory, size)
    for _ in range(RUNS):
        costs = cy.Control(latency=rng.randrange(20), hop=rng.randrange(4), setup=rng.randrange(70))
        own = program.with_machine(dataclasses.replace(program.machine, control=costs))
        control = own.control_system
        flags = random_flags(control, rng)
        result = cy.run(control, *flags, backend="sim")
        system, cycles = reference(own, control, flags)
        assert result.cycles == cycles
        outputs = {key: value.tolist() for key, value in result.outputs.items()}
        for section, (calls, arguments) in system.taken.items():
            assert outputs[f"calls_{section}"] == calls
            assert outputs.get(f"arguments_{section}", []) == arguments


@pytest.mark.parametrize("name", KERNELS)
def test_backends_run_the_same_programs(name, tmp_path):
    """MA-014, MA-109: sim, local and mpi run the roles' programs, also those of a saved program."""
    rng = random.Random(name)
    program = compiled(name)
    program.save(tmp_path / "kernel.cyc")
    control = cy.load(tmp_path / "kernel.cyc").control_system
    assert control.core == program.control_system.core
    control.save(tmp_path / "control.cyc")
    assert cy.load(tmp_path / "control.cyc").core == control.core
    for _ in range(3):
        flags = random_flags(control, rng)
        results = [cy.run(control, *flags, backend=backend) for backend in ("sim", "local", "mpi")]
        for result in results[1:]:
            assert result.steps == results[0].steps
            for key, value in results[0].outputs.items():
                assert np.array_equal(result.outputs[key], value)
    assert any("deadlock" in line for line in control.verify())


def without_instruction(document, pe_class, number):
    """A copy of a program's text without an instruction; without a loop's head and end, its body stays."""
    changed = json.loads(json.dumps(document))
    code = changed["classes"][pe_class]["code"]
    if code[number]["do"] == "loop":
        depth = 0
        for end in range(number, len(code)):
            depth += (code[end]["do"] in ("loop", "if")) - (code[end]["do"] == "end")
            if depth == 0:
                break
        del code[end]
    del code[number]
    return changed


@pytest.mark.parametrize("name", ["halved", "twice"])
def test_every_instruction_of_every_role_matters(name):
    """Without any one of them cycles, values or steps differ, the run stops, or the verifier refuses it."""
    control = compiled(name).control_system
    flags = [np.arange(t["shape"][-1]) < 5 for t in inputs_of(control)]

    def outcome(one):
        result = cy.run(one, *flags, backend="sim")
        values = {key: value.tolist() for key, value in result.outputs.items()}
        return result.cycles, values, result.steps

    document, values = mutants.text_of(control.core.to_bytes())
    right = outcome(control)
    tried = 0
    for number, pe_class in enumerate(document["classes"]):
        for at, instruction in enumerate(pe_class["code"]):
            if instruction["do"] == "end":
                continue
            text = without_instruction(document, number, at)
            tried += 1
            try:
                mutant = mutants.read(mutants.changed_file(control.core.to_bytes(), text, values))
                found = outcome(mutant)
                if found == right:
                    mutant.verify()
            except cy.CyclotronError:
                continue
            assert found != right, (pe_class["name"], at, instruction)
    assert tried > 60


def test_roles_print_their_programs():
    """MA-109 to MA-114: each role has its program, memory and channels."""
    program = compiled("many_calls")
    roles = program.roles
    assert [one.name for one in roles["response"]] == ["response 0", "response 1"]
    assert "exit unless" in str(roles["executive"])
    assert "calls" in str(roles["response"])
    assert "receive" in str(roles["merge"])
    assert sum(one.pe_count for one in roles["worker"]) == roles.count("worker")
    assert roles["reduction"] == ()
    memory = program.control_system.memory
    assert "response 0" in str(memory)
    with pytest.raises(cy.ProgramError, match="no PE has the role 'boss'") as refused:
        roles["boss"]
    assert refused.value.code == "CYC403"
    alone = program.with_machine(dataclasses.replace(program.machine, control=None))
    assert alone.control_system is None
    assert alone.roles["executive"] == ()


def test_larger_programs_have_more_response_pes():
    """MA-024, MA-025: shares differ by one word at most, and fit the memory of a PE; none has no call."""
    program, small = compiled("nested"), compiled("nested", 512)
    assert len(program.roles["response"]) == 2
    responses = len(small.roles["response"])
    assert responses > 2
    assert small.control_system.memory_bytes <= 512
    assert responses <= max(len(section.calls) for section in small.sections)
    of_one_call = compiled("many_calls", 144, 2)
    assert [len(section.calls) for section in of_one_call.sections] == [1, 1, 1]
    assert len(of_one_call.roles["response"]) == 2
    (calls,) = (t for t in small.control_system.tensors if t["name"] == "calls")
    assert calls["shape"][0] == responses
    words = sum(len(section.calls) for section in small.sections)
    sent = [t["shape"][0] for t in small.control_system.tensors if t["name"].startswith("calls_")]
    assert sum(sent) == words


def test_first_words_come_ten_cycles_after_the_executive():
    """MA-139: about 10 cycles from the executive's broadcast to the first word at the workers."""
    program = compiled("halved")
    machine = dataclasses.replace(program.machine, control=cy.Control(latency=0, hop=1, setup=0))
    control = program.with_machine(machine).control_system
    cycles = []
    for steps in (10, 11):
        flags = [np.arange(t["shape"][-1]) < steps for t in inputs_of(control)]
        cycles.append(cy.run(control, *flags, backend="sim").cycles)
    # The flag takes two hops to the executive; the rest is the section's way.
    assert 8 <= cycles[1] - cycles[0] - 2 <= 12


@pytest.mark.parametrize("memory", [49152, 512])
def test_routers_turn_after_each_share_and_are_reset_after_the_last_of_a_side(memory):
    """MA-029: a wavelet more on both ways of each share; PEs farther in wait for the outermost one.

    Two response PEs have none farther in. Of four the inner ones are reset where the outer ones have a share.
    """
    program = compiled("nested", memory)
    assert len(program.roles["response"]) == (2 if memory == 49152 else 4)
    control = program.control_system
    flags = random_flags(control, random.Random(29))
    result, system = assert_runs_as_the_reference(program, control, flags, 1000, 1000)
    counts = Counter()
    for (kind, _), queue in system.queues.items():
        counts.update((kind, str(value) if value in ("turn", "reset") else "") for _, value in queue.messages)
    words = {one["name"]: one["words"] for one in result.stats["channels"]}
    assert counts["in 0", "turn"] == counts["in 1", "turn"] > 0
    for name, kind in (("calls", 0), ("arguments", 1)):
        assert words[name] == counts[f"in {kind}", ""] == counts[f"out {kind}", ""]
        assert words[f"{name} in"] == words[name] + counts[f"in {kind}", "turn"]
    assert words.get("reset", 0) == counts["reset", "reset"]
    assert (counts["reset", "reset"] > 0) == (memory == 512)


def test_every_wavelet_of_routers_matters():
    """MA-029: a run without one, or in which a PE does not wait for one, is another one, or it stops."""
    control = compiled("nested", 512).control_system
    flags = [np.ones(tensor["shape"], bool) for tensor in inputs_of(control)]
    document, values = mutants.text_of(control.core.to_bytes())
    names = [channel["name"] for channel in document["channels"]]
    right = cy.run(control, *flags, backend="sim")
    places = []
    for number, one in enumerate(document["classes"]):
        slots = [slot["name"] for slot in one["slots"]]
        for at, step in enumerate(one["code"]):
            is_reset = "channel" in step and names[step["channel"]] == "reset"
            is_wavelet = is_reset or (
                step["do"] == "broadcast" and slots[step["source"]["slot"]] == "section"
            )
            if is_wavelet and one["name"].startswith("response"):
                places.append((number, at))
    assert len(places) > 60
    for number, at in random.Random(29).sample(places, 12):
        text = without_instruction(document, number, at)
        mutant = mutants.read(mutants.changed_file(control.core.to_bytes(), text, values))
        try:
            found = cy.run(mutant, *flags, backend="sim")
            if found.cycles == right.cycles:
                mutant.verify()
        except cy.CyclotronError:
            continue
        assert found.cycles != right.cycles, (document["classes"][number]["name"], at)


def depth_of_shares(program):
    """The least depth of the queue of calls: the merge PE passes on a share's calls before arguments."""
    return -(-max(len(section.calls) for section in program.sections) // len(program.roles["response"]))


def assert_runs_as_the_reference(program, control, flags, depth, arguments):
    """Nothing is lost, cycles are equal, each PE of the row is held back as long; return the sim's run."""
    result = cy.run(control, *flags, backend="sim")
    system, cycles = reference(program, control, flags, depth, arguments)
    assert result.cycles == cycles
    for section, (calls, words) in system.taken.items():
        assert result.outputs[f"calls_{section}"].tolist() == calls
        assert result.outputs.get(f"arguments_{section}", np.zeros(0)).tolist() == words
    assert result.stats["stall_full"][0].tolist() == system.held()
    if all(one.all() for one in flags):  # without values each loop runs to its end
        timed = cy.run(control, *flags, backend="sim", functional=False)
        assert timed.cycles == cycles
        assert timed.stats["stall_full"][0].tolist() == system.held()
    return result, system


def most_waiting(result, channel):
    """Words that were in the queue at once."""
    return {one["name"]: one["peak_occupancy"] for one in result.stats["channels"]}[channel]


def test_random_rates_of_workers_and_controllers_lose_nothing():
    """MA-031, MA-033: slow workers stop all of the controller, and a slow controller has idle workers.

    Queues of calls fill to their depth, of one more or less the PEs of the row wait for other times.
    """
    rng = random.Random(33)
    programs = [compiled(name) for name in ("many_calls", "ahead")]
    stopped = np.zeros(2, int)
    for _ in range(RATES):
        which = rng.randrange(2)
        program, slow_workers = programs[which], rng.random() < 0.5
        hop, setup = (
            (rng.randrange(4), rng.randrange(100, 400)) if slow_workers else (rng.randrange(20, 60), 1)
        )
        costs = cy.Control(latency=rng.randrange(40), hop=hop, setup=setup)
        own = program.with_machine(dataclasses.replace(program.machine, control=costs))
        depth, arguments = depth_of_shares(program) + rng.randrange(4), rng.randrange(1, 12)
        control = own.control_system.with_depths({"calls": depth, "arguments": arguments})
        flags = random_flags(control, rng)
        result, system = assert_runs_as_the_reference(own, control, flags, depth, arguments)
        busy = result.stats["busy"][1].max() / result.cycles
        if not slow_workers:
            assert busy < 0.2
            continue
        assert busy > 0.5
        assert most_waiting(result, "calls") == depth
        for other in (max(depth - 1, depth_of_shares(program)), depth + 1, 1000):
            assert (
                other == depth or reference(own, control, flags, other, arguments)[0].held() != system.held()
            )
        # It sends a number to the left and, a cycle later, to the right: more are waits for places.
        stopped[which] += system.held()[own.control_system.grid[1] // 2] > 2 * system.events[0]
    assert stopped[1] > RATES / 8, stopped


def test_slow_workers_fill_the_queue_of_the_merge_pe(tmp_path, monkeypatch):
    """MA-028, MA-033, MA-114: 1,000 calls wait before the workers, then merge and response PEs do."""
    lines = ["import cyclotron as cy", "@cy.kernel", "def wide(x, least, steps):", "    y = x + 1"]
    lines += ["    y = y + x"] * 1300
    lines += ["    for _ in range(steps):", "        x = x * 0.5", "        if cy.sum(x) < least:"]
    lines += ["            break", "    return x, y"]
    (tmp_path / "wide_kernel.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    wide = importlib.import_module("wide_kernel").wide
    schedule = cy.Schedule().space("i").fold(i=cy.block(2))
    machine = cy.Machine(grid=(2,), control=cy.Control())
    compiled_wide = wide.compile(np.ones(8), 0.1, 9, schedule=schedule, machine=machine)
    for setup, full in ((30, True), (0, False)):
        own = dataclasses.replace(machine, control=cy.Control(setup=setup))
        program = compiled_wide.with_machine(own)
        control = program.control_system
        flags = random_flags(control, random.Random(setup))
        result, system = assert_runs_as_the_reference(program, control, flags, 1000, 1000)
        assert (most_waiting(result, "calls") == 1000) == full
        for depth in (999, 1001):
            assert (reference(program, control, flags, depth, 1000)[0].held() != system.held()) == full


def test_only_sections_that_a_flag_decides_wait():
    """MA-030, MA-032: these for all calls before them and for the flag's way; others follow in succession."""
    program, cycles = compiled("ahead"), []
    for hop in (1, 2):
        costs = cy.Control(latency=0, hop=hop, setup=20)
        own = program.with_machine(dataclasses.replace(program.machine, control=costs))
        control = own.control_system
        flags = [np.zeros(tensor["shape"], bool) for tensor in inputs_of(control)]
        result, system = assert_runs_as_the_reference(own, control, flags, 1000, 1000)
        cycles.append(result.cycles)
    sections, decisions = system.events
    assert sections > 4 * decisions
    assert 6 * decisions <= cycles[1] - cycles[0] < 6 * (decisions + 1)


def worker_busy(program, costs):
    """The fraction of the cycles in which the worker beside the merge PE sets up calls."""
    control = program.with_machine(dataclasses.replace(program.machine, control=costs)).control_system
    flags = [np.ones(t["shape"], bool) for t in inputs_of(control)]
    result = cy.run(control, *flags, backend="sim")
    (column,) = (n for n in range(control.grid[1]) if result.stats["busy"][1, n] > 0)
    return result.stats["busy"][1, column] / result.cycles


def test_workers_idle_where_the_controller_is_slower():
    """MA-031: the part of the time in which workers have calls, of a fast and of a slow controller."""
    program = compiled("many_calls")
    fast = worker_busy(program, cy.Control(latency=0, hop=1, setup=100))
    slow = worker_busy(program, cy.Control(latency=200, hop=20, setup=1))
    assert fast > 0.9
    assert slow < 0.1


@pytest.mark.parametrize("latency", [0, 10])
@pytest.mark.parametrize("hop", [0, 1, 3])
@pytest.mark.parametrize("setup", [0, 55])
def test_an_iteration_of_one_call_costs_the_formula_and_the_ways_in_the_row(latency, hop, setup):
    """MA-139, MA-140: what runs of kernels charge, `latency + setup`, four look-ups, and six hops."""
    costs = cy.Control(latency=latency, hop=hop, setup=setup)
    program = compiled("halved", size=2)
    assert [len(section.calls) for section in program.sections] == [1, 1, 1]
    control = program.with_machine(dataclasses.replace(program.machine, control=costs)).control_system
    cycles = []
    for steps in (10, 11):
        flags = [np.arange(t["shape"][-1]) < steps for t in inputs_of(control)]
        cycles.append(cy.run(control, *flags, backend="sim").cycles)
    response = 5  # where all else takes no time: its look-ups, and the wavelet after its words
    assert cycles[1] - cycles[0] == max(latency + setup + 4 + 6 * hop, response)


def test_roles_of_the_papers_listing(golden):
    """MA-110 to MA-114: Listing 1's roles; each iteration sends a section, and another follows the loop.

    As in Listings 3 to 6, but that the flag comes from the workers, and the first iteration, which nothing
    decides, is in the section before.
    """
    machine = cy.machines.wse2(10, 10)
    program = mach_listing.listing.compile(
        *mach_listing.problem(), schedule=mach_listing.WORKERS, machine=machine
    )
    texts = [str(program.roles[role]) for role in ("executive", "response", "merge")]
    golden("control/listing.txt", "\n".join(texts))


def test_sections_have_to_fit_the_memory_of_response_pes():
    program = compiled("around", size=2)
    least = program.memory_bytes
    small = program.with_machine(dataclasses.replace(program.machine, pe=cy.PE(memory=least + 4)))
    with pytest.raises(cy.CapacityError, match="response 0") as refused:
        small.control_system
    assert refused.value.code == "CYC501"


@cy.kernel
def nine_deep(x, most, steps):
    t = 0.0
    for _a in range(3):
        for _b in range(3):
            for _c in range(3):
                for _d in range(3):
                    for _e in range(3):
                        for _f in range(3):
                            for _g in range(3):
                                for _h in range(3):
                                    for _i in range(steps):
                                        t = t + x[0]
                                        if t > most:
                                            break
    return x * t


def test_nests_deeper_than_a_tensor_has_axes():
    """Nine loops around a decision: the iterations of the outermost two are one axis of the flags."""
    x, most = np.full(1, 0.5), 3**8 * 5 * 0.5
    program = nine_deep.compile(x, most, 12, schedule=cy.Schedule().space("i"), machine=WITH_CONTROL)
    for backend in ("sim", "local", "mpi"):
        assert cy.run(program, x, backend=backend).output == nine_deep(x, most, 12)
    control = program.control_system
    (deepest,) = (n for n, t in enumerate(inputs_of(control)) if t["shape"] == [4, *[2] * 6, 10])
    flags = random_flags(control, random.Random(9))
    given = list(flags)
    given[deepest] = flags[deepest].reshape([2] * 8 + [10])
    cycles = reference(program, control, given)[1]
    assert cycles == cy.run(control, *flags, backend="sim").cycles


@cy.kernel
def apart(x, y, least, steps):
    """Two loops: some PEs have no part of the first, which knows nothing of their array."""
    for _s in range(steps):
        x = x * 0.5
        if cy.sum(x) < least:
            break
    for _t in range(steps):
        y = y * 0.5
        if cy.sum(y) < least:
            break
    return x, y


@pytest.mark.parametrize(("here", "there"), [(3, 7), (7, 3)])
def test_pes_without_a_loop_pass_it_by(here, there):
    """Each line of each class is in some section, in the loops of the class that has most of them."""
    schedule = cy.Schedule().space("i")
    program = apart.compile(np.ones(here), np.ones(there), 0.1, 9, schedule=schedule, machine=WITH_CONTROL)
    exits = [sum(step["do"] == "exit" for step in one["code"]) for one in document_of(program)["classes"]]
    assert set(exits) == {1, 2}
    sent = {line for section in program.sections for line in section.lines}
    assert {line for one in program.core.classes for line in one.lines if line[1] > 0} <= sent
    control, rng = program.control_system, random.Random(here)
    for _ in range(RUNS):
        flags = random_flags(control, rng)
        assert cy.run(control, *flags, backend="sim").cycles == reference(program, control, flags)[1]
