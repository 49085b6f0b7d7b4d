"""The memory of a PE with all that it holds: values, tensors, code and queues, and that of the controller.

The oracle runs the programs of the files by itself, PE by PE, and notes what is loaded, stored and kept.
"""

import dataclasses
import itertools
import math
import sys
from pathlib import Path

import mutants
import numpy as np
import pytest
import test_corpus
from control_kernels import halved

import cyclotron as cy

sys.path.append(str(Path(__file__).parents[2] / "examples"))
import conjugate_gradient
import mach_listing

GRID = cy.Schedule().space("i", "j")
ALL = ("code", "queues", "tensors")


def machine_of(memory=48 * 1024, holds=ALL, **fields):
    return cy.Machine(pe=cy.PE(memory=memory, holds=holds), control=cy.Control(**fields))


@cy.kernel
def stencil(x, weights):
    y = cy.zeros_like(x)
    y[1:-1, 1:-1] = weights[0] * x[:-2, 1:-1] + weights[1] * x[2:, 1:-1]
    return y, cy.sum(y)


@cy.kernel
def deep(x, y):
    return x * 2 + y


def numbers(*shape):
    return np.random.default_rng(len(shape)).random(shape)


def listing_on_the_wafer():
    return mach_listing.listing.compile(
        *mach_listing.problem(), schedule=mach_listing.WORKERS, machine=cy.machines.wse2(10, 10)
    )


def gradients():
    b = np.zeros((5, 6))
    b[2, 3] = 1.0
    return conjugate_gradient.conjugate_gradient.compile(
        b, 1e-9, 9, schedule=GRID, machine=cy.machines.wse2(5, 6)
    )


def folded():
    schedule = GRID.fold(i=cy.block(3), j=cy.cyclic(2))
    return deep.compile(numbers(6, 4, 5), numbers(6, 4, 5), schedule=schedule, machine=machine_of())


PROGRAMS = {
    "listing": listing_on_the_wafer,
    "gradients": gradients,
    "folded": folded,
    "stencil": lambda: stencil.compile(numbers(5, 6), np.ones(2), schedule=GRID, machine=machine_of()),
    "halved": lambda: halved.compile(np.ones((4, 4)), 0.4, 20, schedule=GRID, machine=machine_of()),
    "deep": lambda: deep.compile(numbers(2, 3, 40), numbers(2, 3, 40), schedule=GRID, machine=machine_of()),
}


@pytest.fixture(scope="module", params=PROGRAMS)
def program(request):
    return PROGRAMS[request.param]()


def value(form, environment):
    return form[0] + sum(c * v for c, v in zip(form[1:], environment, strict=False))


def bounds(texts, environment, best, rounded):
    return best(rounded(value(one["form"], environment), one["divisor"]) for one in texts)


def holds_at(condition, environment):
    def one(test):
        found = value(test["form"], environment)
        if test["is"] == "divisible":
            return found % test["modulus"] == 0
        return found == 0 if test["is"] == "zero" else found >= 0

    return any(all(one(test) for test in together) for together in condition)


def end_of(code, at):
    depth = 0
    for n in range(at, len(code)):
        depth += (code[n]["do"] in ("loop", "if")) - (code[n]["do"] == "end")
        if depth == 0:
            return n
    raise AssertionError("a block without an end")


def touched(code, environment, first=0, last=None):
    """Yield the instruction and the element of each LOAD and STORE of a PE, in all iterations."""
    at, last = first, len(code) if last is None else last
    while at < last:
        step = code[at]
        if step["do"] == "loop":
            end = end_of(code, at)
            low = bounds(step["lower"], environment, max, lambda a, b: -(-a // b))
            high = bounds(step["upper"], environment, min, lambda a, b: a // b)
            for variable in range(low, high + 1, step.get("step", 1)):
                yield from touched(code, [*environment, variable], at + 1, end)
            at = end
        elif step["do"] == "if":
            end = end_of(code, at)
            if holds_at(step["condition"], environment):
                yield from touched(code, environment, at + 1, end)
            at = end
        elif step["do"] in ("load", "store"):
            yield at, step, tuple(value(form, environment) for form in step["index"])
        at += 1


def places(program):
    """By class number: the coordinates of its PEs."""
    document = mutants.text_of(program.core.to_bytes())[0]
    result = {n: [] for n in range(len(document["classes"]))}
    for at in itertools.product(*map(range, program.grid)):
        (number,) = [n for n, one in enumerate(document["classes"]) if holds_at(one["region"], at)]
        result[number].append(at)
    return document, result


def blocks_of(one):
    return {slot.name.removeprefix("tensor "): slot for slot in one.slots if slot.name.startswith("tensor ")}


def test_tensors_lie_in_one_block_at_one_address_in_all_pes(program):
    """MA-057, MA-100, MA-101, MA-106: as large as what the PE with most loads and stores of them."""
    check_blocks(program)


@cy.kernel
def tent(A):
    n = A.shape[0]
    y = cy.zeros(n)
    for i in range(n):
        y[i] = sum(A[i, j] for j in range(max(0, 2 * i - n + 1), i + 1))
    return y


def test_blocks_are_as_large_as_the_pe_with_most_needs():
    """MA-057: it is neither the first nor the last of its class."""
    program = tent.compile(numbers(40, 40), schedule=cy.Schedule().space("i"), machine=machine_of())
    assert max(one.pe_count for one in program.memory.classes) > 30
    check_blocks(program)


@pytest.mark.parametrize("name", test_corpus.ENTRIES)
def test_blocks_of_the_corpus_are_what_pes_use(name):
    """MA-057: of all programs of the corpus, by default schedules."""
    entry = test_corpus.ENTRIES[name]
    program = entry.kernel.compile(*test_corpus.arguments(entry, entry.sizes[0]))
    pe = dataclasses.replace(program.machine.pe, holds=("tensors",))
    check_blocks(program.with_machine(dataclasses.replace(program.machine, pe=pe)))


def check_blocks(program):
    document, pes = places(program)
    found, most = {}, {}
    for number, one in enumerate(program.memory.classes):
        blocks, code = blocks_of(one), document["classes"][number]["code"]
        used = set()
        for at in pes[number]:
            elements = {}
            for _, step, element in touched(code, list(at)):
                elements.setdefault(step["tensor"], set()).add(element)
            for tensor, own in elements.items():
                used.add(tensor)
                most[tensor] = max(most.get(tensor, 0), len(own))
        names = {document["tensors"][tensor]["name"] for tensor in used}
        assert set(blocks) == names
        for name, slot in blocks.items():
            assert found.setdefault(name, (slot.address, slot.size)) == (slot.address, slot.size)
    assert len(most) == len(found) > 0
    for tensor, count in most.items():
        text = document["tensors"][tensor]
        size = np.dtype(text["dtype"]).itemsize * math.prod(text["tile"])
        assert found[text["name"]][1] == count * size


def test_what_is_given_lives_from_the_start_and_results_to_the_end(program):
    """MA-100, MA-101: inputs up to their last LOAD, outputs from their first STORE, loops as a whole."""
    document, _ = places(program)
    roles = {tensor["name"]: tensor["role"] for tensor in document["tensors"]}
    for number, one in enumerate(program.memory.classes):
        code = document["classes"][number]["code"]
        for name, slot in blocks_of(one).items():
            uses = [
                n
                for n, step in enumerate(code)
                if step["do"] in ("load", "store") and document["tensors"][step["tensor"]]["name"] == name
            ]
            ((first, last),) = slot.live
            assert first <= uses[0] <= uses[-1] <= last
            if roles[name] == "output":
                assert last == len(code) - 1
            else:
                assert first == 0


def test_nothing_that_lives_at_once_shares_bytes(program):
    """MA-107: slots and tensors of each class."""
    for one in program.memory.classes:
        bars = [(slot, live) for slot in one.slots for live in slot.live]
        for (a, at), (b, when) in itertools.combinations(bars, 2):
            if a is not b and at[0] <= when[1] and when[0] <= at[1]:
                assert a.address + a.size <= b.address or b.address + b.size <= a.address
        assert one.data == max((slot.address + slot.size for slot in one.slots), default=0)
        assert one.held == one.data + one.queues + one.code


def test_results_and_cycles_are_those_of_a_machine_with_room(program):
    """MA-020: what memory holds costs no cycle."""
    plain = dataclasses.replace(program.machine, pe=dataclasses.replace(program.machine.pe, holds=()))
    other = program.with_machine(plain)
    shapes = [np.ones(t["shape"], t["dtype"]) for t in program.tensors if t["role"] == "input"]
    runs = [cy.run(one, *shapes, backend="sim") for one in (program, other)]
    assert runs[0].cycles == runs[1].cycles
    for a, b in zip(runs[0].outputs.values(), runs[1].outputs.values(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_calls_tell_addresses(program):
    """MA-106: the words that workers are sent are the addresses of the tensors, in words of 16 bits."""
    if program.control_system is None:
        return
    addresses = {}
    for one in program.memory.classes:
        addresses |= {name: slot.address // 2 for name, slot in blocks_of(one).items()}
        assert all(slot.address % 2 == 0 for slot in one.slots)
    control = program.control_system
    flags = [np.ones(t["shape"], bool) for t in control.tensors if t["role"] == "input"]
    told = cy.run(control, *flags, backend="sim").outputs
    sent = [told[name].tolist() for name in told if name.startswith("arguments")]
    assert sent == [
        [addresses[name] for call in section.calls for name in call.arguments]
        for section in program.sections
        if any(call.arguments for call in section.calls)
    ]


@pytest.mark.parametrize("holds", [(), ("code",), ("queues",), ("tensors",), ALL])
def test_just_what_is_held_has_to_fit(holds):
    """MA-020, MA-108: with a byte less the program is refused, and the error tells what takes them."""
    arguments = (numbers(4, 5), np.ones(2))
    needed = stencil.compile(*arguments, schedule=GRID, machine=machine_of(holds=holds)).memory.classes
    most = max(needed, key=lambda one: one.held)
    assert stencil.compile(*arguments, schedule=GRID, machine=machine_of(most.held, holds)).memory_bytes > 0
    with pytest.raises(cy.CapacityError, match=f"needs {most.held:,}".replace(",", "")) as refused:
        stencil.compile(*arguments, schedule=GRID, machine=machine_of(most.held - 1, holds))
    assert refused.value.code == "CYC501"
    text = str(refused.value)
    assert ("its code takes" in text) == ("code" in holds)
    assert (f"its queues take {most.queues} bytes" in text) == ("queues" in holds)
    assert ("tensor `" in text) == ("tensors" in holds)
    parts = {"code": most.code, "queues": most.queues}
    bare = {slot.address + slot.size for slot in most.slots}
    assert most.held == max(bare) + sum(parts.get(part, 0) for part in holds)


def test_arrays_outside_of_loops_need_memory():
    """MA-108: two arrays of 36 KB a PE do not fit into 48 KB, one does."""
    x = numbers(2, 2, 4608)
    wafer = cy.machines.wse2(2, 2)

    @cy.kernel
    def doubled(x):
        x *= 2
        return x

    with pytest.raises(cy.CapacityError, match="`y` takes 36864 bytes"):
        deep.compile(x, x, schedule=GRID, machine=wafer)
    with pytest.raises(cy.CapacityError, match="CYC501"):
        doubled.compile(x, schedule=GRID, machine=wafer)
    assert doubled.compile(x.astype("float32"), schedule=GRID, machine=wafer).memory.fullest.held < 48 * 1024


def test_queues_without_a_bound_fit_nowhere():
    endless = dataclasses.replace(machine_of(), link=cy.Link(depth=2**30))
    with pytest.raises(cy.CapacityError, match="queues without a bound"):
        stencil.compile(numbers(4, 5), np.ones(2), schedule=GRID, machine=endless)


def test_deeper_queues_have_to_fit_too():
    """MA-020: those that `with_depths` deepens."""
    program = stencil.compile(numbers(4, 5), np.ones(2), schedule=GRID, machine=machine_of())
    assert program.with_depths({0: 50}).memory.fullest.held > 0
    with pytest.raises(cy.CapacityError, match="its queues take"):
        program.with_depths({0: 50_000})


def test_what_a_memory_brings_is_not_in_the_pe():
    """MA-100: PEs that a memory serves have no tensors of their own."""
    served = dataclasses.replace(machine_of(), memories={"host": cy.Memory()})
    program = deep.compile(numbers(2, 3, 4), numbers(2, 3, 4), schedule=GRID, machine=served)
    assert not any(blocks_of(one) for one in program.memory.classes)


def test_the_controllers_pes_have_to_fit_too():
    """MA-020, MA-108: code, queues and tables of its row; the merge PE has the queue to the workers."""
    x = np.ones((2, 2))
    roomy = halved.compile(x, 0.1, 9, schedule=GRID, machine=machine_of())
    held = {one.name: one.held for one in roomy.control_system.memory.classes}
    assert held["merge"] > 16_000  # 1,000 words of 8 bytes, of calls and of arguments
    assert 0 < held["executive"] < held["response 0"] < held["merge"]
    assert max(one.held for one in roomy.memory.classes) < held["merge"]
    halved.compile(x, 0.1, 9, schedule=GRID, machine=machine_of(held["merge"]))
    with pytest.raises(cy.CapacityError, match=r"merge of `halved_control` needs \d+ bytes") as refused:
        halved.compile(x, 0.1, 9, schedule=GRID, machine=machine_of(held["merge"] - 1))
    assert "its code takes" in str(refused.value)
    assert "`arguments` takes 8000 bytes" in str(refused.value)


def test_the_row_has_as_many_response_pes_as_the_tables_need():
    """MA-021, MA-025, MA-141: a third one where two are too small for a share, or a refusal."""
    tables = 8 * (2 + 4) * 3  # of 3 sections: 2 of 3 calls, and their 4 arguments, in the fuller of two PEs
    machine = cy.Machine(pe=cy.PE(memory=tables + 11))  # 17 bytes are for a section, a word and a flag

    def compiled(pes):
        own = dataclasses.replace(machine, control=cy.Control(pes=pes))
        return mach_listing.listing.compile(
            *mach_listing.problem(), schedule=mach_listing.WORKERS, machine=own
        )

    assert compiled(5).control_system.grid == (2, 2 + 3)
    assert compiled(996).control_system.grid >= (2, 2 + 3)
    with pytest.raises(
        cy.CapacityError, match=f"response 0 of `listing_control` needs {tables + 17}"
    ) as refused:
        compiled(4).control_system
    assert refused.value.code == "CYC501"
    with pytest.raises(cy.ShapeError, match=r"control\.pes` is 3, outside 4"):
        cy.Control(pes=3)


def test_the_rows_memory_is_the_papers():
    """MA-141: 996 PEs of 48 KB, the width of the wafer, have up to 48 MB."""
    wafer = cy.machines.wse2(750, 950)
    assert 46 * 1024**2 < wafer.control.pes * wafer.pe.memory < 49e6


@pytest.mark.parametrize("holds", [(), ("code",)])
def test_what_stays_between_runs_lies_beside_the_code(holds):
    """MA-020: a resident tensor has to fit with it."""
    x = numbers(2, 3, 40)
    room = deep.compile(x, x, schedule=GRID, machine=machine_of(holds=holds))
    (one,) = room.memory.classes
    needed = one.data + (one.code if holds else 0) + 3 * 40 * 8  # x, y and the result
    for memory in (needed, needed - 1):
        program = deep.compile(x, x, schedule=GRID, machine=machine_of(memory, holds))
        if memory == needed:
            cy.resident(program, backend="sim")
            continue
        with pytest.raises(cy.CapacityError) as refused:
            cy.resident(program, backend="sim")
        assert refused.value.code == "CYC505"


def test_files_keep_what_memory_holds(tmp_path):
    """Programs with their machine, and machines; addresses are those of before."""
    program = listing_on_the_wafer()
    program.save(tmp_path / "listing.cyc")
    loaded = cy.load(tmp_path / "listing.cyc")
    assert loaded.machine == program.machine
    assert str(loaded.memory) == str(program.memory)
    row = dataclasses.replace(program.machine, control=cy.Control(pes=7))
    row.save(tmp_path / "row.toml")
    assert cy.Machine.load(tmp_path / "row.toml") == row
    loaded.with_machine(row).save(tmp_path / "row.cyc")
    assert cy.load(tmp_path / "row.cyc").machine == row


@pytest.mark.parametrize(
    ("holds", "code"),
    [("code", "CYC402"), (3, "CYC402"), ([1], "CYC402"), (["cod"], "CYC401"), (["code"] * 2, "CYC401")],
)
def test_memory_holds_what_there_is(holds, code):
    with pytest.raises(cy.ShapeError, match=r"machine `pe\.holds`") as refused:
        cy.PE(holds=holds)
    assert refused.value.code == code
