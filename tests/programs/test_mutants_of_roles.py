"""Each instruction of each role matters: without it cycles, values or steps differ, or a run stops.

Programs of kernels with loops and branches on data, and those of their control systems, lose one instruction
at a time, of a block the head and the end. Kernels return all that they sum, so that no value is only
compared, and inputs of many sizes end loops early, late and never. CYCLOTRON_ROLE_MUTANTS=100000 tries all.

A few instructions of workers may be lacking, since an iteration is compiled as if others might follow that
change nothing, which the `exit` at its end leaves out: `is_of_an_end` tells which.
"""

import ast
import itertools
import json
import os
import random
from pathlib import Path

import mutants
import numpy as np
import pytest
from control_kernels import tree_total

import cyclotron as cy

MOST = int(os.environ.get("CYCLOTRON_ROLE_MUTANTS", "12" if os.environ.get("CYCLOTRON_QUICK") else "60"))
SIZES = (0.01, 0.5, 1.5, 1e2, 1e4)  # of the first input; the second has some of them
CONTROL = cy.Control(latency=3, hop=1, setup=5)


@cy.kernel(max_steps=60)
def shrinks(x, y, least):
    """A `while` loop, and a number that counts its iterations."""
    n, s = 0, cy.sum(x * x)
    while s > least:
        x = x / (2 + y)
        s = cy.sum(x * x)
        n = n + 1
    return x, s, n


@cy.kernel
def nested(x, least, steps, inner):
    y = x * 3
    s, r = cy.zeros((steps,)), cy.zeros((steps, inner))
    for t in range(steps):
        x = x * 0.5
        for k in range(inner):
            y = y * 0.25
            r[t, k] = cy.sum(y)
            if r[t, k] < least:
                break
        x = x + y
        s[t] = cy.sum(x)
        if s[t] < least:
            break
    return x * y, s, r


@cy.kernel
def chooses(x, y, least, steps):
    """Branches by data."""
    s, r = cy.zeros((steps,)), cy.zeros((steps,))
    for t in range(steps):
        s[t], r[t] = cy.sum(x), cy.sum(y)
        if s[t] > r[t]:
            x = x * 0.5
        else:
            y = y * 0.25
        if s[t] + r[t] < least:
            break
    return x, y, s, r


@cy.kernel
def normal(x, A, least, steps):
    """A sum decides and scales: power iteration."""
    sizes = cy.zeros((steps,))
    first = cy.sum(x)
    old = first
    for t in range(steps):
        z = A @ x
        size = cy.sum(z * z)
        sizes[t] = size
        x = z / cy.sqrt(size + old)
        if cy.abs(size - old) < least * size:
            break
        old = size
    return x, sizes, first, old


@cy.kernel
def running(x, g, most):
    """A global scalar, by which a loop over a global array ends, and slices: as Listing 1 of MACH's paper."""
    total = cy.zeros((1,))
    for value in g:
        total[0] = total[0] + value
        if total[0] > most:
            break
        x[1:3, 0:2] += x[1:3, 2:4]
    return x, total, cy.sum(x)


@cy.kernel
def masked(x, y, least, steps):
    """Elements that take part by their values, and a slice."""
    m = cy.zeros((steps,))
    for t in range(steps):
        x = cy.where(x > y, x * 0.5, x)
        x[0:2, 1:3] -= y[0:2, 1:3] * 0.125
        m[t] = cy.sum(x)
        if m[t] < least:
            break
    return x, m


def numbers(*shape):
    return np.random.default_rng(0).random(shape) * 1.6


GRID = (
    cy.Schedule().space("i", "j").fold(i=cy.block(2), j=cy.block(2)),
    cy.Machine(grid=(2, 2), control=CONTROL),
)
ROW = cy.Schedule().space("i").fold(i=cy.block(2)), cy.Machine(grid=(2,), control=CONTROL)
SQUARE = numbers(4, 4)
KERNELS = {
    "shrinks": (shrinks, (SQUARE, SQUARE / 2, 3.5), GRID),
    "nested": (nested, (SQUARE, 0.1, 4, 3), GRID),
    "chooses": (chooses, (SQUARE, SQUARE.T, 3.6, 6), GRID),
    "normal": (normal, (SQUARE[0], SQUARE, 0.001, 6), ROW),
    "running": (running, (SQUARE, numbers(6), 4.0), GRID),
    "masked": (masked, (SQUARE * 3, SQUARE.T, 12.0, 6), GRID),
    "tree_total": (tree_total, (SQUARE[0],), (cy.Schedule().space("-p"), cy.machines.tree(4))),
}


def compiled(name):
    kernel, arguments, (schedule, machine) = KERNELS[name]
    return kernel.compile(*arguments, schedule=schedule, machine=machine)


def inputs_of(program):
    """Inputs of many sizes, of those that are alike several."""
    generator = np.random.default_rng(1)
    arrays = mutants.inputs(program)
    sizes = [*itertools.product(SIZES, SIZES[:3]), *[(3, 1.5), (3, 1), (1, 1), (0.5, 0.5)] * 4]
    return [
        [generator.random(array.shape) * 1.6 * size for array, size in zip(arrays, own, strict=False)]
        for own in sizes
    ]


def flags_of(control):
    """Loops that end after so many iterations, and in any: inner ones not as outer ones do."""
    generator = np.random.default_rng(2)
    shapes = [one["shape"] for one in control.tensors if one["role"] == "input"]
    steady = [[np.broadcast_to(np.arange(shape[-1]) < n, shape) for shape in shapes] for n in (0, 2, 50)]
    return [*steady, *([generator.random(shape) < 0.8 for shape in shapes] for _ in range(5))]


def outcome(program, inputs):
    result = cy.run(program, *inputs, backend="sim")
    return result.cycles, {name: value.tobytes() for name, value in result.outputs.items()}, result.steps


def without(document, pe_class, at):
    """A copy of a program's text that lacks an instruction, of a block the head and the end."""
    changed = json.loads(json.dumps(document))
    code = changed["classes"][pe_class]["code"]
    depth = 0
    for end in range(at, len(code)):
        depth += (code[end]["do"] in ("loop", "if")) - (code[end]["do"] == "end")
        if depth == 0:
            break
    del code[at : end + 1 if end == at else at + 1]
    if end > at:
        del code[end - 1]
    return changed


def classes_of(program):
    return mutants.text_of(program.core.to_bytes())[0]["classes"]


def places_of(program, seed):
    """Instructions, as class and place: some of them."""
    places = [
        (number, at)
        for number, one in enumerate(classes_of(program))
        for at, instruction in enumerate(one["code"])
        if instruction["do"] != "end"
    ]
    return random.Random(seed).sample(places, min(MOST, len(places)))


def survivors(program, inputs, places):
    """The instructions that may be lacking unnoticed."""
    data = program.core.to_bytes()
    document, values = mutants.text_of(data)
    right = [outcome(program, one) for one in inputs]
    found = []
    for number, at in places:
        file = mutants.changed_file(data, without(document, number, at), values)
        try:
            mutant = mutants.read(file)
            if all(outcome(mutant, one) == known for one, known in zip(inputs, right, strict=True)):
                mutant.verify()
                found.append((number, at))
        except cy.CyclotronError:
            continue
    return found


def lines_of_ends():
    """Of tests by which loops in this file end."""
    nodes = list(ast.walk(ast.parse(Path(__file__).read_text())))
    ends = [one for one in nodes if isinstance(one, ast.If) and isinstance(one.body[0], ast.Break)]
    return {one.lineno for one in [*ends, *(one for one in nodes if isinstance(one, ast.While))]}


def is_of_an_end(pe_class, instruction):
    """Tell whether an iteration's end by data makes an instruction needless.

    Where the first iteration ends the loop, names have their new values, else those from before the loop,
    which the next statement replaces by the new ones: PEs load inputs for it. And a flag that is passed on
    holds in each iteration that is begun, and tells after the last one of none that follows.
    """
    if instruction["do"] == "load":
        return instruction["at"][1] in lines_of_ends()
    name = pe_class["slots"][instruction["destination"]["slot"]]["name"]
    return name.startswith("whether_the_loop") and name.endswith("goes_on")


@pytest.mark.filterwarnings(
    "ignore::RuntimeWarning"
)  # of values that a run does not use, or without a division
@pytest.mark.parametrize("name", KERNELS)
def test_every_instruction_of_workers_and_reduction_pes_matters(name):
    """MA-109: workers, and in `tree_total` reduction PEs."""
    program = compiled(name)
    if name == "tree_total":
        assert program.roles.count("reduction") > 0
    classes = classes_of(program)
    left = survivors(program, inputs_of(program), places_of(program, name))
    texts = [(classes[number], classes[number]["code"][at]) for number, at in left]
    assert [one for pe_class, one in texts if not is_of_an_end(pe_class, one)] == []


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "tree_total"])
def test_every_instruction_of_the_control_system_matters(name):
    """MA-109: executive, response PEs, merge PE, and the worker that stands for all."""
    control = compiled(name).control_system
    assert survivors(control, flags_of(control), places_of(control, name)) == []


def test_a_needless_instruction_is_found():
    """A move that is made twice: without either the other does it."""
    program = compiled("running")
    document, values = mutants.text_of(program.core.to_bytes())
    code = document["classes"][0]["code"]
    at = next(n for n, one in enumerate(code) if one["do"] == "move")
    code.insert(at, code[at])
    slower = mutants.read(mutants.changed_file(program.core.to_bytes(), document, values))
    places = [(0, at), (0, at + 1)]
    assert survivors(slower, inputs_of(program), places) == places
