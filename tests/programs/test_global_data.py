"""Global data on the controller's executive PE: what it holds and computes, and who sends it what."""

import dataclasses
import random
import sys
from pathlib import Path

import numpy as np
import pytest
import test_control_system as systems
import test_mutants_of_roles as roles
from control_kernels import halved

import cyclotron as cy

sys.path.append(str(Path(__file__).parents[2] / "examples"))
import conjugate_gradient
import mach_listing

NAMES = [name for name in roles.KERNELS if name != "tree_total"]


def with_data(machine, **changes):
    control = dataclasses.replace(machine.control, global_data=True, **changes)
    return dataclasses.replace(machine, control=control)


def compiled(name):
    kernel, arguments, (schedule, machine) = roles.KERNELS[name]
    return kernel.compile(*arguments, schedule=schedule, machine=with_data(machine))


def executive_of(program):
    (found,) = [one for one in roles.classes_of(program) if one.get("executive")]
    return found


def listing():
    return mach_listing.listing.compile(
        *mach_listing.problem(),
        schedule=mach_listing.WORKERS,
        machine=with_data(cy.machines.wse2(10, 10)),
    )


def test_the_executive_of_listing_1_is_that_of_listing_3():
    """MA-008, MA-051, MA-052, MA-066, MA-110: `myGA`, `myGS`, the sum, the comparison, the break."""
    program = listing()
    document = systems.document_of(program)
    names = [tensor["name"] for tensor in document["tensors"]]
    for pe_class in document["classes"]:
        touched = {names[one["tensor"]] for one in pe_class["code"] if one["do"] in ("load", "store")}
        assert touched == {"myGA", "myGS"} if pe_class.get("executive") else not touched & {"myGA", "myGS"}
        compares = [one for one in pe_class["code"] if one.get("op") == "greater"]
        assert bool(compares) == bool(pe_class.get("executive"))
    code = executive_of(program)["code"]
    (start,) = [n for n, one in enumerate(code) if one["do"] == "loop"]
    loop = code[start : next(n for n, one in enumerate(code) if one["do"] == "end")]
    done = [one.get("op", one["do"]) for one in loop]
    assert done[1:5] == ["load", "add", "where", "greater"]  # Listing 3, lines 24, 27 and 34
    assert done[-1] == "exit"
    assert {"send", "broadcast"} >= {*done[-3:-1]}  # to workers, of which none asks
    assert not any(one["do"] == "receive" for one in code)  # workers have nothing that it needs
    assert program.grid == (11, 10)
    assert program.roles.count("executive") == 1
    assert "myGA" in str(program.roles["executive"][-1])
    assert "executive" in str(program.roles)
    expected = mach_listing.listing.reference(*mach_listing.problem())
    for backend in ("sim", "local", "mpi"):
        for found, right in zip(cy.run(program, backend=backend).outputs.values(), expected, strict=True):
            np.testing.assert_array_equal(found, right)


def test_flags_that_need_no_worker_are_known_ahead():
    """MA-030: of Listing 1 the sections follow in succession, and no cycles are lost to flags' ways."""
    wse2 = cy.machines.wse2(10, 10)
    plain = mach_listing.listing.compile(*mach_listing.problem(), schedule=mach_listing.WORKERS, machine=wse2)
    assert cy.run(listing(), backend="sim").cycles < cy.run(plain, backend="sim").cycles


@pytest.mark.parametrize("name", NAMES)
def test_backends_and_files_keep_the_executive(name, tmp_path):
    """MA-008, MA-051: values of Python and of each other on all backends, from files, and proven."""
    program = compiled(name)
    kernel, arguments, (schedule, machine) = roles.KERNELS[name]
    plain = kernel.compile(*arguments, schedule=schedule, machine=machine)
    program.save(tmp_path / "kernel.cyc")
    loaded = cy.load(tmp_path / "kernel.cyc")
    assert loaded.core == program.core
    assert executive_of(loaded)
    arrays = [one for one in program.arguments if hasattr(one, "shape")]
    first = cy.run(program, backend="sim")
    for found, right in zip(first.outputs.values(), cy.run(plain).outputs.values(), strict=True):
        np.testing.assert_array_equal(found, right)
    if name != "chooses":  # whose sums are equal but for their roundings
        for found, right in zip(first.outputs.values(), kernel.reference(*arguments), strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-12)
    for one, backend in ((program, "local"), (program, "mpi"), (loaded, "sim"), (loaded, "local")):
        other = cy.run(one, *arrays, backend=backend)
        assert other.steps == first.steps
        for key, value in first.outputs.items():
            np.testing.assert_array_equal(other.outputs[key], value)
    assert cy.prove(program).ok
    assert any("deadlock" in line for line in program.verify())


@pytest.mark.parametrize("name", NAMES)
def test_every_instruction_of_the_executive_matters(name):
    """MA-109, MA-110: without any one cycles, values or steps differ, or the run stops."""
    program = compiled(name)
    classes = roles.classes_of(program)
    number = next(n for n, one in enumerate(classes) if one.get("executive"))
    code = classes[number]["code"]
    places = [(number, at) for at, one in enumerate(code) if one["do"] != "end"]
    some = random.Random(name).sample(places, min(roles.MOST, len(places)))
    left = [code[at] for _, at in roles.survivors(program, roles.inputs_of(program), some)]
    left = [one for one in left if one.get("op") != "to_int64"]  # of 0, with which memory begins
    names = [slot["name"] for slot in classes[number]["slots"]]
    # A copy of a flag matters where it has changed: in the iteration that ends a loop.
    left = [
        one
        for one in left
        if one["do"] != "move" or not names[one["destination"]["slot"]].startswith("whether_the_loop")
    ]
    assert [one for one in left if not roles.is_of_an_end(classes[number], one)] == []


@pytest.mark.parametrize("name", NAMES)
def test_flags_of_the_executive_take_no_way(name):
    """MA-022, MA-110: the control system message by message, whose executive has the flags itself."""
    rng = random.Random(name)
    program = compiled(name)
    for _ in range(systems.RUNS):
        costs = {"latency": rng.randrange(20), "hop": rng.randrange(4), "setup": rng.randrange(70)}
        own = program.with_machine(with_data(program.machine, **costs))
        control = own.control_system
        flags = systems.random_flags(control, rng)
        system, cycles = systems.reference(own, control, flags)
        assert system.costs.has_flags
        assert cy.run(control, *flags, backend="sim").cycles == cycles


def test_values_come_and_go_by_the_ways_of_the_control_system():
    """A word to the executive or from it takes the hops of its PE to the middle, and one more."""
    program = compiled("nested")
    hop = program.machine.control.hop
    ways = {tuple(one["offset"]): one["link"]["latency_cycles"] for one in program_links(program)}
    assert ways
    assert {x[0] > 0 for x in ways} == {True, False}  # there and back
    for offset, latency in ways.items():
        place = tuple(np.array((2, 0)) - (np.array(offset) if offset[0] > 0 else -np.array(offset)))
        assert latency == hop * (1 + place[0] + place[1])
    slow = program.with_machine(with_data(program.machine, hop=7))
    assert [one["link"]["latency_cycles"] for one in program_links(slow)] == [
        7 * one["link"]["latency_cycles"] // hop for one in program_links(program)
    ]


def program_links(program):
    channels = systems.document_of(program)["channels"]
    return [one for one in channels if "link" in one and one["kind"] == "link"]


def networks_of(program):
    channels = systems.document_of(program)["channels"]
    return {number for number, one in enumerate(channels) if one["kind"] == "network"}


@pytest.mark.parametrize("name", NAMES)
def test_flags_go_to_all_pes_from_the_executive(name):
    """MA-054: values that are the same on all workers, none of which passes them on to another."""
    program = compiled(name)
    networks, channels = networks_of(program), systems.document_of(program)["channels"]
    assert networks
    assert all(channels[one]["axis"] == len(program.grid) for one in networks)
    place = (program.grid[0] - 1, *((extent - 1) // 2 for extent in program.grid[1:]))
    number = int(np.ravel_multi_index(place, program.grid))
    heard = set()
    for pe_class in roles.classes_of(program):
        for step in pe_class["code"]:
            if step["do"] == "broadcast":
                assert pe_class.get("executive")
                assert step["channel"] in networks
            elif step["do"] == "receive" and step["channel"] in networks:
                assert step["sender"] == [[number]]
                heard.add(step["channel"])
            elif step["do"] == "send" and channels[step["channel"]]["dtype"] == "bool":
                assert pe_class.get("executive")  # to the PE that computed the flag
    assert heard == networks


@pytest.mark.parametrize("name", NAMES)
def test_no_program_is_slower_with_an_executive(name):
    """MA-054: a flag takes no longer than the commands of the next section, which wait for it, too."""
    kernel, arguments, (schedule, machine) = roles.KERNELS[name]
    rng = random.Random(name)
    for _ in range(6):
        control = cy.Control(rng.randrange(20), 1, rng.randrange(70))
        cycles = []
        for has_data in (False, True):
            own = dataclasses.replace(control, global_data=has_data)
            program = kernel.compile(
                *arguments, schedule=schedule, machine=dataclasses.replace(machine, control=own)
            )
            cycles.append(cy.run(program, backend="sim").cycles)
        assert cycles[1] <= cycles[0]


@pytest.mark.parametrize("size", [4, 8, 12])
def test_steps_of_conjugate_gradients_are_faster(size):
    """MA-054: by the ways of the flag, there and back."""
    b = np.zeros((size, size))
    b[1, 2], b[2, 1] = 1.0, -1.0
    cycles = []
    for has_data in (False, True):
        machine = cy.machines.wse2(size, size)
        control = dataclasses.replace(machine.control, global_data=has_data)
        program = conjugate_gradient.conjugate_gradient.compile(
            b,
            1e-9,
            20,
            schedule=cy.Schedule().space("i", "j").time("t"),
            machine=dataclasses.replace(machine, control=control),
        )
        result = cy.run(program, backend="sim")
        cycles.append(result.cycles / result.steps["t"])
        np.testing.assert_allclose(
            result.outputs["x"], conjugate_gradient.conjugate_gradient.reference(b, 1e-9, 20)[0], atol=1e-12
        )
    assert cycles[1] < cycles[0]


CHIPS = cy.Chiplets(shape=(2, 2), link=cy.Link(latency=9))
BESIDE = {
    "one memory": {"memories": {"outside": cy.Memory(latency=5, shared_by=(2, 2))}},
    "two memories": {"memories": {"low": cy.Memory(serves="-1, :"), "high": cy.Memory(serves=":2, :")}},
    "chips": {"chiplets": CHIPS},
}


@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.parametrize("backend", ["sim", "local", "mpi"])
def test_executives_beside_memories_and_chips(name, backend):
    """MA-008: no memory serves the executive, whose words cross no chips, and workers keep theirs."""
    b = np.zeros((4, 4))
    b[1, 2], b[2, 1] = 1.0, -1.0
    found = []
    for has_data in (True, False):
        machine = cy.Machine(grid=(4, 4), control=cy.Control(global_data=has_data), **BESIDE[name])
        program = conjugate_gradient.conjugate_gradient.compile(
            b, 1e-9, 20, schedule=cy.Schedule().space("i", "j").time("t"), machine=machine
        )
        assert program.roles.count("executive") == has_data
        found.append(cy.run(program, backend=backend))
    own, other = found
    for value, right in zip(own.outputs.values(), other.outputs.values(), strict=True):
        np.testing.assert_array_equal(value, right)
    if backend == "sim":
        assert own.cycles < other.cycles
        requests = [sum(port["loads"] for port in one.stats["memory_ports"]) for one in found]
        assert requests[0] == requests[1]


def test_lines_that_wind_have_an_executive():
    """MA-008: in a row of its own after those of the line, whose PE in the middle it is nearest to."""
    x, cycles = np.arange(14.0), []
    right = halved.reference(x, 0.5, 30)
    for has_data in (True, False):
        machine = cy.Machine(grid=(4, 4), control=cy.Control(global_data=has_data))
        program = halved.compile(x, 0.5, 30, schedule=cy.Schedule().space("i").serpentine(), machine=machine)
        assert program.grid == (4 + has_data, 4)
        assert program.roles.count("executive") == has_data
        for backend in ("sim", "local", "mpi"):
            np.testing.assert_array_equal(cy.run(program, backend=backend).output, right)
        cycles.append(cy.run(program, backend="sim").cycles)
    assert cycles[0] < cycles[1]


def test_programs_without_a_controller_or_the_option_are_as_they_were():
    kernel, arguments, (schedule, machine) = roles.KERNELS["running"]
    for other in (machine, dataclasses.replace(machine, control=None)):
        program = kernel.compile(*arguments, schedule=schedule, machine=other)
        assert program.grid == machine.grid
        assert not any(one.get("executive") for one in roles.classes_of(program))
        assert program.roles.count("executive") == 0


def test_pes_without_channels_for_it_keep_their_flags():
    """A PE that has no channel left does what the executive would."""
    kernel, arguments, (_, machine) = roles.KERNELS["nested"]
    found = []
    for channels in (4, 5):
        few = with_data(dataclasses.replace(machine, grid=(4,), pe=cy.PE(channels=channels)))
        program = kernel.compile(*arguments, schedule=cy.Schedule().space("i"), machine=few)
        found.append(program.roles.count("executive"))
        for value, right in zip(
            cy.run(program, backend="sim").outputs.values(), kernel.reference(*arguments), strict=True
        ):
            np.testing.assert_allclose(value, right, rtol=1e-12)
    assert found == [0, 1]


def test_the_option_is_true_or_false():
    with pytest.raises(cy.ShapeError, match=r"control\.global_data") as refused:
        cy.Control(global_data=1)
    assert refused.value.code == "CYC402"


def region_beside(text):
    executive = next(one for one in text["classes"] if one.get("executive"))
    executive["region"][0][0]["form"][0] += 1  # of the row before


def second_executive(text):
    text["classes"][0]["executive"] = True


def link_of_another(text):
    own = next(one for one in text["channels"] if "link" not in one)
    own["link"] = next(one["link"] for one in text["channels"] if "link" in one)
    own["offset"] = [0, *own["offset"][1:]]


def broadcast_of_a_worker(text):
    """A flag that a worker sends to all."""
    executive = next(one for one in text["classes"] if one.get("executive"))
    step = next(one for one in executive["code"] if one["do"] == "broadcast")
    worker = next(one for one in text["classes"] if not one.get("executive"))
    slot = next(n for n, one in enumerate(worker["slots"]) if one["dtype"] == "bool")
    worker["code"].append({**step, "source": {**step["source"], "slot": slot}})


def another_sender(text):
    networks = {n for n, one in enumerate(text["channels"]) if one["kind"] == "network"}
    steps = (step for one in text["classes"] for step in one["code"] if step["do"] == "receive")
    next(step for step in steps if step["channel"] in networks)["sender"] = [[0]]


def network_of_a_line(text):
    next(one for one in text["channels"] if one["kind"] == "network")["axis"] = 0


def no_executive(text):
    del next(one for one in text["classes"] if one.get("executive"))["executive"]


@pytest.mark.parametrize(
    "change",
    [region_beside, second_executive, link_of_another, no_executive, broadcast_of_a_worker, another_sender],
)
def test_files_with_another_executive_are_refused(change):
    data = compiled("nested").core.to_bytes()
    text, values = roles.mutants.text_of(data)
    change(text)
    with pytest.raises(cy.ProgramError, match=r"executive") as refused:
        roles.mutants.read(roles.mutants.changed_file(data, text, values))
    assert refused.value.code == "CYC606"


@cy.kernel
def round_a_torus(x, least, steps):
    """Sums decide, of elements that move across the ends of rows and of columns."""
    s = cy.zeros((steps,))
    for t in range(steps):
        x = cy.roll(x, 1, 0) * 0.5 + cy.roll(x, -1, 1) * 0.25
        s[t] = cy.sum(x)
        if s[t] < least:
            break
    return x, s


RINGS = [f"(i, j) -> ((i + {n}) % 4, j)" for n in (1, 3)] + [f"(i, j) -> (i, (j + {n}) % 4)" for n in (1, 3)]
ROUND = {
    "torus": "torus",
    "rings of columns": ("torus", "mesh"),
    "maps": tuple(cy.LinkMap(one, cy.Link(latency=n)) for n, one in enumerate(RINGS, 1)),
}


@pytest.mark.parametrize("topology", ROUND.values(), ids=ROUND)
def test_executives_beside_links_that_wrap_around(topology, tmp_path):
    """MA-008: rings and maps join workers alone: their last row is next to the first."""
    x, found = np.random.default_rng(3).integers(0, 9, (4, 4)) * 1.0, []
    expected = round_a_torus.reference(x, 1.0, 30)
    for has_data in (True, False):
        machine = cy.Machine(grid=(4, 4), topology=topology, control=cy.Control(global_data=has_data))
        program = round_a_torus.compile(x, 1.0, 30, schedule=cy.Schedule().space("i", "j"), machine=machine)
        assert program.grid == (4 + has_data, 4)
        assert program.roles.count("executive") == has_data
        assert cy.prove(program).ok
        program.save(tmp_path / "kernel.cyc")
        program = cy.load(tmp_path / "kernel.cyc")
        results = [cy.run(program, x, backend=backend) for backend in ("sim", "local", "mpi")]
        for result in results:
            assert result.steps == results[0].steps
            for value, right in zip(result.outputs.values(), expected, strict=True):
                np.testing.assert_array_equal(value, right)  # sums of small integers and halves are exact
        found.append(results[0].cycles)
    assert results[0].steps["t"] < 30
    assert found[0] < found[1]
