"""Random loops that end early: reference, sim, local and MPI ranks leave them with the same values."""

from __future__ import annotations

import dataclasses
import math
import os
import random
import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import random_machines
import reference_simulator

import cyclotron as cy

PROGRAMS = int(os.environ.get("CYCLOTRON_ENDINGS", "60"))  # how many; the seeds count from 0
BATCH = 10
MOST_STEPS = 12
LONG = 24  # steps enough to leave some out; whole numbers wrap around then
MACHINE = cy.Machine(link=cy.Link(latency=2, depth=9), pe=cy.PE(scalar=cy.Unit(cycles=3)))
CONTROL = cy.Control(latency=4, hop=2, setup=7)
UPDATES = (  # small whole numbers, of which all results are exact
    "u = v + {n}",
    "v = u * 2 - v",
    "u, v = v, u",
    "u += v",
    "v[1:] -= u[:-1]",
    "u = cy.where(u > {n}, u - v, u + 1)",
    "w[...] = u + v",
    "w[{i}] += {n}",
    "w[t] = cy.sum(u)",
    "s = cy.sum(u * u)",
    "s = s + cy.max(v)",
    "d = u - v; v = d + {n}",
    "d = cy.zeros_like(v); d[1:] = v[:-1]; u = d",
    "count += 1",
    "u = cy.minimum(cy.maximum(u, -50), 50); v = cy.minimum(cy.maximum(v, -50), 50)",
)
TESTS = (
    "s > {big}",
    "cy.max(u) > {small}",
    "cy.any(v > {small})",
    "not cy.sum(u) < {big}",
    "w[{i}] > {small} or count[0] > {n}",
    "{n} < v[0] < {big} and u[0] != {i}",
    "count[0] == {i}",
    "u[0] - v[0]",
    "s != s",
)


class Loops:
    """Writes one kernel with loops that end early."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.steps = self.random.choice([0, 1, 2, 4, LONG, LONG])
        long = self.steps == LONG
        self.size = max(0 if long else self.steps, self.random.choice([1, 2, 4]))
        self.dtype = "int64" if long else self.random.choice(["float64", "int64", "float32"])
        self.updates = [one for one in UPDATES if not (long and "[t]" in one)]

    def schedule(self) -> cy.Schedule | None:
        """By itself a loop of many steps over a small array is space."""
        return cy.Schedule().space("i") if self.steps == LONG else None

    def filled(self, text: str) -> str:
        pick = self.random.randint
        return text.format(n=pick(-3, 3), i=pick(0, self.size - 1), small=pick(-5, 30), big=pick(-20, 900))

    def body(self, depth: int, exits: int) -> list[str]:
        """Statements of a loop over t or, inside it, over k or with a `while`."""
        lines: list[str] = []
        for _ in range(self.random.randint(2, 4)):
            text = self.filled(self.random.choice(self.updates))
            lines += text.split("; ")
        for _ in range(exits):
            at = self.random.randint(0, len(lines))
            while at < len(lines) and lines[at - 1 : at] and lines[at - 1].startswith(("d = ", "d[", "if ")):
                at += 1
            lines[at:at] = [f"if {self.filled(self.random.choice(TESTS))}:", "    break"]
        if depth and self.random.random() < 0.35:
            head = (
                self.random.choice(["for k in range(2):", "for k in range(2, 0, -1):"])
                if self.random.random() < 0.5
                else f"while {self.filled(self.random.choice(TESTS))} and count[0] < {MOST_STEPS - 4}:"
            )
            inner = self.body(0, self.random.randint(0, 1))
            if head.startswith("while"):
                inner.append("count += 1")
            lines += [head, *(f"    {line}" for line in inner)]
        return lines

    def text(self) -> str:
        body = self.body(1, self.random.choice([0, 1, 1, 2]))
        bounds, number = self.random.choice(
            [("0, {0}", "t"), ("1, {0} + 1", "t - 1"), ("{0} - 1, -1, -1", f"{self.steps - 1} - t")]
        )
        body = [line.replace("[t]", f"[{number}]") for line in body]
        lines = [
            "import cyclotron as cy",
            "",
            f"@cy.kernel(max_steps={MOST_STEPS})",
            "def loops(u, v):",
            '    count = cy.zeros((1,), dtype="int64")',
            "    w = cy.zeros_like(u)",
            "    s = cy.sum(v)",
            f"    for t in range({bounds.format(self.steps)}):",
            *(f"        {line}" for line in body),
            "    u = u + 0",
            "    v = v + 0",
            "    return u, v, w, s + 0, count",
        ]
        return "\n".join(lines) + "\n"


def check(
    seed: int, folder: Path, backends: Sequence[Any], kind: type[Loops] = Loops, also: Any = None
) -> dict[str, int] | None:
    """The steps that loops took which may leave some out; None where a program does not compile.

    All backends agree where it does, and `also` is called with it.
    """
    loops = kind(seed)
    text = loops.text()
    path = folder / f"endings_{seed}.py"
    path.write_text(text)
    kernel = runpy.run_path(str(path))["loops"]
    rng = np.random.default_rng(seed)
    given = [rng.integers(-3, 4, loops.size).astype(loops.dtype) for _ in range(2)]
    expected = [np.asarray(one) for one in kernel.__wrapped__(*(one.copy() for one in given))]
    try:
        compiled = kernel.compile(*given, schedule=loops.schedule())
    except cy.TraceError as error:
        if error.code == "CYC111":  # two names of one array, of which one changes
            return None
        raise
    results = {backend: cy.run(compiled, backend=backend) for backend in backends}
    runs = {backend: result.outputs for backend, result in results.items()}
    runs["graph"] = compiled.graph.evaluate()
    for name, outputs in runs.items():
        for result, right in zip(outputs.values(), expected, strict=True):
            assert result.dtype == right.dtype, (name, text)
            np.testing.assert_array_equal(result, right, err_msg=f"{name} {seed}\n{text}")
    steps = [result.steps for backend, result in results.items() if backend != "numpy"]
    assert all(one == steps[0] for one in steps), (seed, steps, text)
    if "sim" in results:
        check_time(compiled, text)
    if also is not None:
        also(compiled)
    return steps[0]


def check_time(program: cy.Program, text: str) -> None:
    """Each engine tells the time of the steps that were taken, and a slow one tells the same.

    The slow one knows of one end a loop: those inside others end once in each iteration of these, and all
    their iterations are timed.
    """
    ends = []
    result = cy.run(program.with_machine(MACHINE), backend="sim")
    if any(ending["runs"] > 1 for ending in program.core.endings):
        for control in (None, CONTROL):
            timed = program.with_machine(dataclasses.replace(MACHINE, control=control))
            first, second = (
                random_machines.measured(cy.run(timed, backend="sim", event_limit=limit))
                for limit in (200_000, 0)
            )
            assert first == second, text
            unended = cy.run(timed, backend="sim", functional=False)
            assert random_machines.measured(unended) == expected_of(timed, (), unended), text
        return
    for ending, steps in zip(program.core.endings, result.steps.values(), strict=True):
        skipped = ending["steps"] - steps
        assert skipped % ending["period"] == 0, text
        ends.append((ending["last"] - skipped, skipped))
    for control in (None, CONTROL):
        timed = program.with_machine(dataclasses.replace(MACHINE, control=control))
        for limit in (200_000, 0):
            result = cy.run(timed, backend="sim", event_limit=limit)
            assert random_machines.measured(result) == expected_of(timed, ends, result), text


def expected_of(program: cy.Program, ends: Any, result: cy.Result) -> Any:
    """Measurements of the slow one; the result where a class has calls in a loop that others lack."""
    try:
        return reference_simulator.simulate(program, ends)
    except NotImplementedError:
        return random_machines.measured(result)


@pytest.mark.parametrize("batch", range(0, PROGRAMS, BATCH))
def test_random_loops(batch: int, tmp_path: Path) -> None:
    seeds = range(batch, min(batch + BATCH, PROGRAMS))
    steps = [check(seed, tmp_path, ("numpy", "local", "sim")) for seed in seeds]
    assert sum(one is not None for one in steps) > 0.5 * len(seeds)


def test_some_random_loops_leave_steps_out(tmp_path: Path) -> None:
    steps = [check(seed, tmp_path, ("local",)) for seed in (5, 10, 17, 24)]
    assert any(one and min(one.values()) < LONG for one in steps)


@cy.kernel
def stages(u, v, least, steps):
    """Of several procedures a step where a PE has a block, with sums between them."""
    for _ in range(steps):
        u = u - cy.shift(u, 1, 0) * 0.25
        s = cy.sum(u)
        v[1:, :] += s * u[:-1, :]
        if cy.sum(v * v) - s < least:
            break
    return u, v


@pytest.mark.parametrize(
    ("shape", "grid"), [((3, 4), (3, 4)), ((4, 6), (2, 2)), ((5, 3), (2, 1)), ((6, 5), (1, 1))], ids=str
)
@pytest.mark.parametrize("least", [-1e300, 2.5e3, 1e300], ids=["no-end", "some", "at-once"])
def test_procedures_are_set_up_one_by_one(
    shape: tuple[int, int], grid: tuple[int, int], least: float
) -> None:
    u = np.arange(1.0, 1 + math.prod(shape)).reshape(shape)
    schedule = cy.Schedule().space("i", "j").time("_")
    if shape != grid:
        schedule = schedule.fold(i=cy.block(grid[0]), j=cy.block(grid[1]))
    program = stages.compile(u, u.copy(), least, LONG, schedule=schedule, machine=cy.Machine(grid=grid))
    check_time(program, str(program))
    assert program.core.endings
    if shape != grid:
        assert len(program.sections[1].calls) > 1


def test_random_loops_by_mpi(tmp_path: Path) -> None:
    pytest.importorskip("cyclotron._mpi", reason="Cyclotron was built without MPI")
    steps = [check(seed, tmp_path, ("mpi", "local")) for seed in range(6)]
    assert any(one is not None for one in steps)
