"""Kernels of MACH's workers (Listing 7) and parts of its compiler, as programs have them."""

import ast
import dataclasses
import inspect
import string
import sys
from pathlib import Path

import mutants
import numpy as np
import pytest
import test_held_memory as held
import test_mutants_of_roles as roles
from toy_backend import KERNELS, holds

import cyclotron as cy
from cyclotron.compiler import generators

sys.path.append(str(Path(__file__).parents[2] / "examples"))
import mach_listing

GRID = cy.Schedule().space("i", "j")


def numbers(*shape):
    return np.random.default_rng(len(shape)).random(shape)


def document_of(program):
    return mutants.text_of(program.core.to_bytes())[0]


def same_as_python(program, kernel, *arguments):
    """On all backends; return the result on the simulator."""
    expected = kernel.__wrapped__(
        *(np.copy(one) if isinstance(one, np.ndarray) else one for one in arguments)
    )
    for backend in ("local", "mpi", "sim"):
        result = cy.run(program, backend=backend)
        for found, right in zip(result.outputs.values(), expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-12)
    return result


# Compiler (Table 1, sections 5.3 and 6).

LINES = {
    "loop": "for $at in range($first, $last + 1):",
    "load": "memory[$to] = $tensor[$index]",
    "store": "$tensor[$index] = memory[$of]",
    "compute": "memory[$to] = KERNELS['$op']($operands)",
    "move": "memory[$to] = $operands",
}


def in_python(program):
    """Text of a language, Python's, by templates of its lines: a function of each class."""
    text, rank = [], len(program["grid"])
    names = [f"x{n}" for n in range(9)]

    def form(one):
        terms = [f"{c} * {v}" for c, v in zip(one[1:], names, strict=False) if c]
        return " + ".join([*terms, str(one[0])])

    def place(ref):
        return f"({ref['slot']}, {form(ref['index'])})"

    def operand(one):
        return f"memory[{place(one)}]" if "slot" in one else repr(one["real"])

    for number, pe_class in enumerate(program["classes"]):
        text.append(
            f"def class_{number}({', '.join([*names[:rank], *(t['name'] for t in program['tensors'])])}):"
        )
        text.append("    memory = {}")
        loops = 0
        for step in pe_class["code"]:
            if step["do"] == "end":
                loops -= 1
                continue
            fields = {"at": names[rank + loops]}
            for key, part in (("to", "destination"), ("of", "source")):
                if "slot" in step.get(part, {}):
                    fields[key] = place(step[part])
            if "tensor" in step:
                fields["tensor"] = program["tensors"][step["tensor"]]["name"]
                fields["index"] = ", ".join(map(form, step["index"]))
            if step["do"] == "loop":
                (first,), (last,) = step["lower"], step["upper"]
                fields |= {"first": form(first["form"]), "last": form(last["form"])}
            if step["do"] == "move":
                fields["operands"] = operand(step["source"])
            if step["do"] == "compute":
                fields |= {"op": step["op"], "operands": ", ".join(map(operand, step["operands"]))}
            text.append("    " * (1 + loops) + string.Template(LINES[step["do"]]).substitute(fields))
            loops += step["do"] == "loop"
    return "\n".join(text)


@pytest.mark.parametrize("fused", [False, True])
def test_generators_make_text_of_another_language(monkeypatch, fused):
    """MA-006: what a compiler for a machine's language needs: a translator, templates, variables, directives.

    The optimizer's part is done before: with the directive `cy.fuse` values between stay in a register.
    """
    if fused:

        @cy.kernel
        def kernel(x, y):
            with cy.fuse():
                z = x * y
                z = z + x
            return z
    else:

        @cy.kernel
        def kernel(x, y):
            z = x * y
            z = z + x
            return z

    monkeypatch.setattr(generators, "_GENERATORS", {**generators._GENERATORS})
    generators.register("python", in_python)
    x, y = numbers(3, 4, 5), numbers(3, 4, 5) + 1
    program = kernel.compile(x, y, schedule=GRID)
    found = {"KERNELS": KERNELS}
    exec(compile(program.emit("python"), "<emitted>", "exec"), found)
    data = program.decoded()
    (out,) = (t["name"] for t in data["tensors"] if t["role"] == "output")
    arrays = {t["name"]: np.zeros(t["shape"]) for t in data["tensors"]} | {"x": x, "y": y}
    for at in np.ndindex(*data["grid"]):
        (number,) = [n for n, one in enumerate(data["classes"]) if holds(one["region"], at)]
        found[f"class_{number}"](*at, *(arrays[t["name"]] for t in data["tensors"]))
    np.testing.assert_array_equal(arrays[out], x * y + x)


def test_imports_are_those_of_the_intermediate_language():
    """MA-078: arrays, loops and ends are those of `il`; functions of values stay the front end's."""
    text = mach_listing.listing.il(*mach_listing.problem())
    tree = ast.parse(text)
    imports = [one for one in tree.body if isinstance(one, ast.ImportFrom)]
    assert [(one.module, [name.name for name in one.names]) for one in imports] == [("cyclotron", ["il"])]
    used = {name: set() for name in ("il", "cy", "np")}
    for one in ast.walk(tree):
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id in used:
            used[one.value.id].add(one.attr)
    assert used["cy"] == {"sum"}
    assert not used["np"]
    assert {"program", "zeros", "loop", "stop", "term"} <= used["il"]
    assert "cy.zeros" in Path(mach_listing.__file__).read_text()


# Roles (section 3).


def blocks_of(code):
    """Of each instruction where the loop around it begins; -1 outside."""
    result, opened = [], [-1]
    for at, step in enumerate(code):
        if step["do"] == "end":
            opened.pop()
        result.append(next((one for one in reversed(opened) if one < 0 or code[one]["do"] == "loop"), -1))
        if step["do"] in ("loop", "if"):
            opened.append(at)
    return result


def sources_of(code, slot, around, seen=()):
    """Tell by which instructions a slot is written in a loop, through copies there."""
    blocks = blocks_of(code)
    result = set()
    for at, step in enumerate(code):
        if blocks[at] != around or step.get("destination", {}).get("slot") != slot or at in seen:
            continue
        source = step.get("source", {})
        if step["do"] == "move" and "slot" in source:
            if source["slot"] != slot:
                result |= sources_of(code, source["slot"], around, (*seen, at))
        else:
            result.add(step["do"])
    return result


@pytest.mark.parametrize("name", ["shrinks", "nested", "chooses", "normal", "running"])
def test_workers_end_loops_when_they_are_told(name):
    """MA-007: of the control system and the workers the executive alone computes what ends a loop."""
    kernel, arguments, (schedule, machine) = roles.KERNELS[name]
    control = dataclasses.replace(machine.control, global_data=True)
    program = kernel.compile(
        *arguments, schedule=schedule, machine=dataclasses.replace(machine, control=control)
    )
    told = computed = 0
    for pe_class in document_of(program)["classes"]:
        code = pe_class["code"]
        blocks = blocks_of(code)
        for at, step in enumerate(code):
            if step["do"] != "exit":
                continue
            found = sources_of(code, step["runs"]["slot"], blocks[at])
            if pe_class.get("executive"):
                assert "compute" in found
                computed += 1
            else:
                assert found == {"receive"}
                told += 1
    assert computed == len(program.core.endings)
    assert told > computed


def test_files_whose_workers_end_loops_by_themselves_are_refused():
    """MA-007: where a machine has a controller, no other PE ends a loop on its own."""

    @cy.kernel
    def each_alone(x, steps):
        for i in range(x.shape[0]):
            for _ in range(steps):
                x[i] = x[i] * 0.5
                if x[i] < 0.1:
                    break
        return x

    x = numbers(4)
    program = each_alone.compile(x, 30, schedule=cy.Schedule().space("i"), machine=cy.Machine(grid=(4,)))
    assert [ending["per_pe"] for ending in program.core.endings] == [True]
    np.testing.assert_array_equal(cy.run(program).output, each_alone.reference(x, 30))
    data = program.core.to_bytes()
    text, values = mutants.text_of(data)
    text["machine"]["control"] = document_of(roles.compiled("running"))["machine"]["control"]
    with pytest.raises(cy.ProgramError, match="the machine's controller ends loops for all PEs") as refused:
        mutants.read(mutants.changed_file(data, text, values))
    assert refused.value.code == "CYC614"


# Kernels of workers (Listing 7).

LENGTH = 5


@cy.kernel
def adds(x, y, g, most):
    z = cy.zeros_like(x)
    total = cy.zeros((1,))
    for value in g:
        total[0] = total[0] + value
        if total[0] > most:
            break
        z[1:3, 0:2, 1:6] += x[1:3, 0:2, 0:5] * y[1:3, 0:2, 2:7]
    return z, total


def added(arguments):
    x, y, g, most = arguments
    rounds = int(np.argmax(np.cumsum(g) > most))
    z = np.zeros_like(x)
    for _ in range(rounds):
        z[1:3, 0:2, 1:6] += x[1:3, 0:2, 0:5] * y[1:3, 0:2, 2:7]
    return z, rounds


def test_a_call_is_a_kernel_with_addresses():
    """MA-115: ar_ar_add: addresses of sources and destination are sent, at which all PEs have them.

    The filter and the length are in the classes: PEs outside have no instruction, the others a loop of it.
    """
    arguments = numbers(4, 4, 8), numbers(4, 4, 8) + 1, np.full(9, 0.5), 2.2
    program = adds.compile(*arguments, schedule=GRID, machine=cy.machines.wse2(4, 4))
    result = same_as_python(program, adds, *arguments)
    z, rounds = added(arguments)
    np.testing.assert_allclose(result.outputs["z"], z, rtol=1e-12)
    # A step more takes as many operations as elements of the PEs that take part.
    flops = []
    for steps in (rounds, rounds + 1):
        g = np.full(9, 2.2 / (steps + 0.5))
        flops.append(cy.run(program, *arguments[:2], g, backend="sim").stats["flops"])
    more = flops[1] - flops[0]
    inside = np.zeros((4, 4), bool)
    inside[1:3, 0:2] = True
    inside &= np.arange(16).reshape(4, 4) > 0
    assert (more[:4][inside] == 2 * LENGTH).all()
    assert np.count_nonzero(more) <= np.count_nonzero(inside) + 1  # and the PE that adds up g
    data = [held.blocks_of(one) for one in program.memory.classes]
    (call,) = {
        call for section in program.sections for call in section.calls if {"x", "y"} <= {*call.arguments}
    }
    addresses = {name: {one[name].address for one in data if name in one} for name in ("x", "y", "z")}
    assert all(len(own) == 1 for own in addresses.values())
    control = program.control_system
    flags = [np.ones(one["shape"], bool) for one in control.tensors if one["role"] == "input"]
    told = cy.run(control, *flags, backend="sim").outputs
    sent = [word for name in told if name.startswith("arguments") for word in told[name].tolist()]
    assert [name for name in call.arguments if name in addresses]
    assert all(min(own) // 2 in sent for own in addresses.values())


@cy.kernel
def power(x, y, least, steps):
    """A sum, work that does not need it, and what does."""
    r = cy.zeros((steps,))
    for t in range(steps):
        s = cy.sum(x)
        for _ in range(8):
            y = y * 1.01 + 0.5
        x = x * 0.5 + s * 0.001
        r[t] = s
        if s < least:
            break
    return x, y, r


def line_of(kernel, text):
    lines, first = inspect.getsourcelines(kernel.__wrapped__)
    return first + next(n for n, line in enumerate(lines) if text in line)


def test_a_sums_halves_are_calls_apart():
    """MA-116 to MA-118: one sends before work that does not need the sum, the other takes it after."""
    arguments = numbers(4, 4), numbers(4, 4) + 1, 0.5, 30
    program = power.compile(*arguments, schedule=GRID, machine=cy.machines.wse2(4, 4))
    same_as_python(program, power, *arguments)
    (section,) = (one for one in program.sections if one.loop == "t")
    first, second = section.calls
    lines = [{line for _, line in call.lines} for call in (first, second)]
    sums, work, uses = (line_of(power, one) for one in ("cy.sum(x)", "y * 1.01", "s * 0.001"))
    assert {sums, work} <= lines[0]
    assert uses in lines[1]
    assert uses not in lines[0]
    # In the code of each PE: the values that it adds up leave before the work, and the sum comes after it.
    document = document_of(program)
    real = {number for number, one in enumerate(document["channels"]) if one["dtype"] == "float64"}
    adds_up = 0
    for pe_class in document["classes"]:
        code = pe_class["code"]
        (end,) = [at for at, one in enumerate(code) if one["do"] == "exit"]
        begin = blocks_of(code)[end]
        (work,) = [at for at in range(begin + 1, end) if code[at]["do"] == "loop"]
        messages = [at for at in range(begin, end) if code[at].get("channel") in real]
        before = [code[at]["do"] for at in messages if at < work]
        after = [at for at in messages if at > work]
        if code[after[0]]["do"] == "receive":
            assert before[-1] == "send"
            slot = pe_class["slots"][code[after[0]]["destination"]["slot"]]
            assert slot["address"] >= 0  # the result is received into a place in memory
        else:
            assert {*before} == {"receive"}
            adds_up += 1
    assert adds_up == 1
