"""Global data on the controller's executive PE: what it holds and computes, and who sends it what."""

import dataclasses
import random
import sys
from pathlib import Path

import numpy as np
import pytest
import test_control_system as systems
import test_mutants_of_roles as roles

import cyclotron as cy

sys.path.append(str(Path(__file__).parents[2] / "examples"))
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
    assert done[-2:] == ["send", "exit"]
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
    return [one for one in systems.document_of(program)["channels"] if "link" in one]


def test_programs_without_a_controller_or_the_option_are_as_they_were():
    kernel, arguments, (schedule, machine) = roles.KERNELS["running"]
    for other in (machine, dataclasses.replace(machine, control=None)):
        program = kernel.compile(*arguments, schedule=schedule, machine=other)
        assert program.grid == machine.grid
        assert not any(one.get("executive") for one in roles.classes_of(program))
        assert program.roles.count("executive") == 0


def test_pes_without_channels_for_it_keep_their_flags():
    """A PE that has no channel left does what the executive would."""
    kernel, arguments, (schedule, machine) = roles.KERNELS["nested"]
    least = len(kernel.compile(*arguments, schedule=schedule, machine=machine).channels)
    found = set()
    for channels in range(least, least + 9):
        few = with_data(dataclasses.replace(machine, pe=cy.PE(channels=channels)))
        try:
            program = kernel.compile(*arguments, schedule=schedule, machine=few)
        except cy.CapacityError:
            continue
        found.add(program.roles.count("executive"))
        for value, right in zip(
            cy.run(program, backend="sim").outputs.values(), kernel.reference(*arguments), strict=True
        ):
            np.testing.assert_allclose(value, right, rtol=1e-12)
    assert found == {0, 1}


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


def no_executive(text):
    del next(one for one in text["classes"] if one.get("executive"))["executive"]


@pytest.mark.parametrize("change", [region_beside, second_executive, link_of_another, no_executive])
def test_files_with_another_executive_are_refused(change):
    data = compiled("nested").core.to_bytes()
    text, values = roles.mutants.text_of(data)
    change(text)
    with pytest.raises(cy.ProgramError, match=r"executive") as refused:
        roles.mutants.read(roles.mutants.changed_file(data, text, values))
    assert refused.value.code == "CYC606"
