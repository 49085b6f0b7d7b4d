"""Kinds of message that take turns on one channel leave it in the order in which they are received.

A program is compiled with as many channels as it likes, and with few. Both are the same but for the numbers
of the channels, so that the first tells of what kind each message of the second is.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import json
import os
import random
import runpy
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import random_kernels
import random_machines
import random_schedules
import reference_simulator
import test_random_endings
from random_search import SEED, Judge
from reference_simulator import Json, _holds, _walk

import cyclotron as cy
from cyclotron import _core

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from conjugate_gradient import conjugate_gradient
from pipelined_conjugate_gradient import pipelined

PROGRAMS = int(os.environ.get("CYCLOTRON_SHARED_CHANNELS", "25"))
IN_ORDER = cy.Schedule().space("i", "j").time("t")
HEADER = 24

Compile = Callable[
    [cy.Machine, cy.Schedule | None], cy.Program
]  # the schedule: where it is left to the compiler


def text_of(program: cy.Program) -> Json:
    return json.loads(program.core.to_bytes()[HEADER:])


def with_kinds(few: Json, many: Json) -> list[list[Json]]:
    """The code of each class with few channels; its messages have their channel among many as kind."""
    result = []
    for own, other in zip(few["classes"], many["classes"], strict=True):
        assert own["region"] == other["region"]
        for step, alone in zip(own["code"], other["code"], strict=True):
            assert {**step, "channel": 0} == {**alone, "channel": 0}
            if "channel" in step:
                step["kind"] = alone["channel"]
        result.append(own["code"])
    return result


def is_same_but_for_channels(few: cy.Program, many: cy.Program) -> bool:
    """Tell whether the compiler chose the same way for both; few channels may need another one."""
    codes = [[found["code"] for found in text_of(one)["classes"]] for one in (few, many)]
    plain = [[[{**step, "channel": 0} for step in code] for code in one] for one in codes]
    return plain[0] == plain[1]


def check_order(few: cy.Program, many: cy.Program) -> int:
    """The PE at the other end of a link receives what is sent, one by one; how many are shared."""
    text = text_of(few)
    codes = with_kinds(text, text_of(many))
    topology = text["machine"]["topology"]
    wraps = [topology in ("torus", "ring")] * len(text["grid"])
    sent: dict[Any, list[int]] = collections.defaultdict(list)
    received: dict[Any, list[int]] = collections.defaultdict(list)
    for pe in itertools.product(*map(range, text["grid"])):
        for found, code in zip(text["classes"], codes, strict=True):
            if not any(all(_holds(c, [*pe]) for c in conjunction) for conjunction in found["region"]):
                continue
            for step, _ in _walk(code, 0, [*pe]):
                if step["do"] not in ("send", "receive"):
                    continue
                channel = text["channels"][step["channel"]]
                if channel["kind"] == "network":
                    continue
                to = pe
                if step["do"] == "send":
                    scale = channel.get("scale") or [1] * len(pe)
                    moved = (
                        (x + dx) % n if wrap else (x + dx) // k
                        for x, dx, n, k, wrap in zip(
                            pe, channel["offset"], text["grid"], scale, wraps, strict=True
                        )
                    )
                    to = tuple(moved)
                queues = sent if step["do"] == "send" else received
                queues[step["channel"], to].append(step["kind"])
            break
    assert sent == received
    return sum(len(set(kinds)) > 1 for kinds in sent.values())


def most_used(program: cy.Program) -> int:
    """The channels of the class that has most, without those of a controller."""
    codes = (found["code"] for found in text_of(program)["classes"])
    return max((len({step["channel"] for step in code if "channel" in step}) for code in codes), default=0)


def with_few(compile_on: Compile, machine: cy.Machine, many: cy.Program) -> cy.Program | None:
    """With few channels, though it may not be as few as can be; none where it needs all that it uses."""
    result, used = None, most_used(many)
    for channels in (used - 1, used // 3):
        if channels < 1:
            break
        try:
            result = compile_on(dataclasses.replace(machine, pe=cy.PE(channels=channels)), many.schedule)
        except cy.CapacityError:
            break
        assert most_used(result) <= channels
    return result


def as_deep(machine: cy.Machine, depth: int) -> cy.Machine:
    """The machine with links that hold as much as those that a program was compiled for."""

    def deeper(link: cy.Link) -> cy.Link:
        return dataclasses.replace(link, depth=max(link.depth, depth))

    chiplets = machine.chiplets
    if chiplets is not None:
        chiplets = dataclasses.replace(chiplets, link=deeper(chiplets.link))
    return dataclasses.replace(
        machine,
        link=deeper(machine.link),
        links={hop: deeper(link) for hop, link in machine.links.items()},
        broadcast=deeper(machine.broadcast),
        broadcasts={axis: deeper(link) for axis, link in machine.broadcasts.items()},
        chiplets=chiplets,
    )


def judge(compile_on: Compile, machine: cy.Machine, rng: random.Random) -> int:
    """The number of shared links."""
    many = compile_on(machine, None)
    few = with_few(compile_on, machine, many)
    if few is None or not is_same_but_for_channels(few, many):
        return 0
    shared = check_order(few, many)
    assert few.machine is not None
    retimed = random_machines.retimed(
        rng, few.with_machine(dataclasses.replace(few.machine, pe=machine.pe)), with_memory=0
    )
    assert retimed.machine is not None
    retimed = few.with_machine(as_deep(retimed.machine, machine.link.depth))
    with_many = many.with_machine(retimed.machine)
    try:
        reference_simulator.simulate(with_many)
    except reference_simulator.Deadlock:
        return shared
    expected = reference_simulator.simulate(retimed)  # no deadlock
    for engine in ("auto", "general"):
        found = cy.run(retimed, backend="sim", functional=False, event_limit=0, engine=engine)
        assert random_machines.measured(found) == expected
    return shared


def random_compiles(folder: Path) -> Iterator[Compile]:
    rng, judged = random.Random(SEED), Judge(folder)
    for seed in itertools.count(SEED):
        kernel = random_kernels.draw(rng)
        function = judged.kernel(kernel.source)
        schedule = random_schedules.draw(rng, kernel)
        sizes = tuple(rng.randint(2, 5) for _ in random_kernels.SIZES)
        arguments = kernel.arguments(sizes, np.random.default_rng(0))
        yield lambda machine, found, f=function, a=arguments, s=schedule: f.compile(
            *a, schedule=s or found, machine=machine
        )
        loops = test_random_endings.Loops(seed)
        path = folder / f"endings_{seed}.py"
        path.write_text(loops.text())
        function = runpy.run_path(str(path))["loops"]
        values = [np.zeros(loops.size, loops.dtype)] * 2
        yield lambda machine, found, f=function, v=values: f.compile(*v, schedule=found, machine=machine)


@pytest.mark.timeout(1200)
def test_random_programs(tmp_path, capsys):
    rng = random.Random(SEED)
    count = shared = 0
    for compile_on in random_compiles(tmp_path):
        machine = cy.Machine(link=cy.Link(depth=rng.choice((1, 2, 2, 5))))
        try:
            found = judge(compile_on, machine, rng)
        except (cy.LegalityError, cy.ScheduleError, cy.TraceError):
            continue
        count, shared = count + 1, shared + (found > 0)
        if count == PROGRAMS:
            break
    with capsys.disabled():
        print(f"\nCYCLOTRON_SEED={SEED}: {shared} of {count} programs share channels")
    assert shared > count // 10


def solvers(shape: tuple[int, int]) -> dict[str, Compile]:
    b = np.arange(float(np.prod(shape))).reshape(shape) % 5 + 1

    def plain(machine: cy.Machine, _: cy.Schedule | None = None) -> cy.Program:
        return conjugate_gradient.compile(b, 1e-9, 12, schedule=IN_ORDER, machine=machine)

    def in_a_pipeline(machine: cy.Machine, _: cy.Schedule | None = None) -> cy.Program:
        return pipelined.compile(b, 5, schedule=IN_ORDER, machine=machine)

    def inwards(machine: cy.Machine, _: cy.Schedule | None = None) -> cy.Program:
        return pipelined.compile(b, 5, schedule=IN_ORDER.inwards("i", "j"), machine=machine)

    return {"plain": plain, "pipelined": in_a_pipeline, "inwards": inwards}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("solver", ["plain", "pipelined", "inwards"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (4, 3)])
def test_conjugate_gradients(solver, shape):
    compile_on = solvers(shape)[solver]
    shared = judge(compile_on, cy.Machine(), random.Random(7))
    assert shared > 0 or 1 in shape


@pytest.mark.sampled(4)
@pytest.mark.parametrize("solver", ["plain", "pipelined", "inwards"])
@pytest.mark.parametrize("backend", ["sim", "local"])
def test_conjugate_gradients_on_the_wafer(solver, backend):
    """24 channels are enough, the values are the same, and so is how many steps it takes."""
    compile_on = solvers((6, 7))[solver]
    few, many = (compile_on(cy.machines.wse2(7, 8, channels=channels)) for channels in (24, None))
    assert most_used(many) > 24 >= most_used(few)
    assert "take turns on" in " ".join(few.verify())
    results = [cy.run(program, backend=backend) for program in (few, many)]
    assert results[0].steps == results[1].steps
    for name, values in results[0].outputs.items():
        assert np.array_equal(values, results[1].outputs[name])


def joined(program: cy.Program, kept: int, other: int) -> cy.Program:
    """From a file in which the messages of one channel go by another."""
    data = program.core.to_bytes()
    text = json.loads(data[HEADER:])
    for found in text["classes"]:
        for step in found["code"]:
            if step.get("channel") == other:
                step["channel"] = kept
    body = json.dumps(text).encode()
    preamble = data[:8] + struct.pack("<QI", len(body), zlib.crc32(body)) + data[20:HEADER]
    return cy.Program(type(program.core).from_bytes(preamble + body))


@cy.kernel
def two_lags(x):
    """Values that neighbours use three steps later, and others that they use in the next step."""
    a, b = cy.empty_like(x), cy.empty_like(x)
    for i in range(x.shape[0]):
        for t in range(x.shape[1]):
            if i == 0 or t < 3:
                a[i, t] = x[i, t]
            else:
                a[i, t] = a[i - 1, t - 3] + x[i, t]
            if i == 0 or t < 1:
                b[i, t] = 2 * x[i, t]
            else:
                b[i, t] = b[i - 1, t - 1] + x[i, t]
    return a, b


def test_messages_that_would_overtake_others_share_no_channel():
    """Nor does a file of which they do pass the checker, or run."""
    x = np.arange(24.0).reshape(3, 8)
    schedule = cy.Schedule().space("i").time("t")
    link = cy.Link(depth=4)
    many = two_lags.compile(x, schedule=schedule, machine=cy.Machine(link=link))
    assert len(many.channels) == 2
    with pytest.raises(cy.CapacityError, match="uses 2 channels, but the machine has 1 a PE"):
        two_lags.compile(x, schedule=schedule, machine=cy.Machine(link=link, pe=cy.PE(channels=1)))
    wrong = joined(many, 0, 1)
    with pytest.raises(AssertionError):
        check_order(wrong, many)
    with pytest.raises(cy.LegalityError):
        _core.prove(wrong.core, many.recurrences.core, _core.PROOF_LIMIT, "")


def test_the_checker_accepts_what_the_compiler_shares():
    b = np.arange(6.0).reshape(2, 3)
    machine = cy.Machine(pe=cy.PE(channels=9))
    program = conjugate_gradient.compile(b, 1e-9, 5, schedule=IN_ORDER, machine=machine)
    assert "take turns on" in " ".join(program.verify())
    assert cy.prove(program).ok
