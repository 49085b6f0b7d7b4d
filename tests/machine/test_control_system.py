"""The control system as programs of its PEs: cycles and words beside a reference, message by message."""

import dataclasses
import json
import random

import numpy as np
import pytest
from reference_control_system import ControlSystem, Costs, Loop

import cyclotron as cy


@cy.kernel
def halved(x, least, steps):
    for _ in range(steps):
        x = x / 2
        if cy.sum(x) < least:
            break
    return x


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


KERNELS = {
    "halved": (halved, (0.1, 30)),
    "twice": (twice, (0.1, 9)),
    "nested": (nested, (0.1, 6, 5)),
    "around": (around, (0.1, 5, 6)),
    "many_calls": (many_calls, (0.1, 12)),
}


def compiled(name, memory=49152):
    kernel, arguments = KERNELS[name]
    x = np.ones((4, 4))
    arrays = (x, x) if name == "many_calls" else (x,)
    machine = cy.Machine(grid=(2, 2), control=cy.Control(), pe=cy.PE(memory=memory))
    schedule = cy.Schedule().space("i", "j").fold(i=cy.block(2), j=cy.block(2))
    return kernel.compile(*arrays, *arguments, schedule=schedule, machine=machine)


def flow_of(document, flags):
    """The control flow of the workers, from the code of the class that has most of it in the program's file.

    Sections are numbered as they are opened: at the start, in each loop that ends by data or has such loops
    in it, and after it.
    """
    most = max(document["classes"], key=lambda one: sum(step["do"] == "exit" for step in one["code"]))
    count = iter(range(1000))
    given = iter(flags)

    def block(code):
        body = [next(count)]
        at = 0
        while at < len(code):
            end, depth = at, 0
            while True:
                depth += (code[end]["do"] in ("loop", "if")) - (code[end]["do"] == "end")
                end += 1
                if depth == 0:
                    break
            exits = [step for step in code[at:end] if step["do"] == "exit"]
            if code[at]["do"] == "loop" and exits:
                limits = [bound["form"][0] for bound in (code[at]["lower"][0], code[at]["upper"][0])]
                loop = Loop(range(limits[0], limits[1] + 1), block(code[at + 1 : end - 1]))
                if code[end - 2]["do"] == "exit":
                    plan = document["endings"][code[end - 2]["ending"]]
                    loop.ending = plan["first"], plan["last"], plan["period"]
                    loop.flags = next(given)
                body += [loop, next(count)]
            at = end
        return body

    return block(most["code"])


def inputs_of(control):
    return [tensor for tensor in control.tensors if tensor["role"] == "input"]


def words_of(program, control):
    """What each section sends: calls are numbered in order, and have the numbers of their tensors."""
    numbers = {tensor["name"]: number for number, tensor in enumerate(program.tensors)}
    sent = [int(t["name"].split("_")[1]) for t in control.tensors if t["name"].startswith("calls_")]
    words = {number: ([], []) for number in range(max(sent) + 1)}
    calls = 0
    for number, section in zip(sent, program.sections, strict=True):
        for call in section.calls:
            words[number][0].append(calls)
            words[number][1].extend(numbers[name] for name in call.arguments)
            calls += 1
    return [words[number] if number in words else ([], []) for number in range(100)]


def document_of(program):
    return json.loads(program.core.to_bytes()[24:])


def reference(program, control, flags):
    costs = program.machine.control
    flow = flow_of(document_of(program), flags)
    responses = len(program.roles["response"])
    system = ControlSystem(flow, words_of(program, control), responses, Costs(costs.latency, costs.hop))
    return system, system.run()


def random_flags(control, rng):
    """Runs that end at once, after some iterations, never, or now and then."""
    often = rng.choice([0.0, 0.2, 0.7, 0.95, 1.0])
    return [np.array([rng.random() < often for _ in range(int(np.prod(t["shape"])))]).reshape(t["shape"])
            for t in inputs_of(control)]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("memory", [49152, 512])
def test_cycles_and_words_are_those_of_the_reference(name, memory):
    """MA-021 to MA-028: 500 runs of controllers of any costs, with 2 response PEs and more."""
    rng = random.Random(f"{name} {memory}")
    program = compiled(name, memory)
    for _ in range(50):
        costs = cy.Control(latency=rng.randrange(20), hop=rng.randrange(4))
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
