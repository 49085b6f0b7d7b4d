"""Random loops that end early, on machines whose executive has global data: values and cycles."""

from __future__ import annotations

import dataclasses
import os
import random
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import random_machines
import test_random_control as branches
import test_random_endings as endings

import cyclotron as cy

PROGRAMS = int(os.environ.get("CYCLOTRON_GLOBAL_DATA", "30" if os.environ.get("CYCLOTRON_QUICK") else "120"))
BATCH = 15


class Long(endings.Loops):
    """Enough iterations to end early, on several PEs."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.steps, self.dtype = endings.LONG, "int64"
        self.size = self.random.choice([2, 3, 4])
        self.updates = [one for one in endings.UPDATES if "[t]" not in one]


class Branches(Long, branches.Branches):
    """With branches by data."""


def beside(rng: random.Random) -> dict[str, Any]:
    """Parts of a machine that the executive's row and its ways have nothing to do with."""
    outside = cy.Memory(rng.randrange(1, 3), rng.randrange(1, 9), serves=rng.choice([":", "-1", "1:", ":-1"]))
    chips = cy.Chiplets(shape=(rng.randrange(1, 4),), link=cy.Link(latency=rng.randrange(1, 9), depth=9))
    maps = (
        cy.LinkMap("(i) -> (i + 1)", cy.Link(latency=rng.randrange(1, 9))),
        cy.LinkMap("(i) -> (i - 1)"),
    )
    beside = [{}, {"memories": {"outside": outside}}, {"chiplets": chips}, {"grid": (2, 2)}]
    return rng.choice([*beside, {"topology": "torus"}, {"topology": maps}])


def check(seed: int, folder: Path) -> bool | None:
    """Tell whether the executive of a program has global data; None where it does not compile."""
    rng = random.Random(seed)
    loops = Branches(seed) if seed % 3 == 0 else Long(seed)
    path = folder / f"global_{seed}.py"
    path.write_text(loops.text())
    kernel = runpy.run_path(str(path))["loops"]
    values = np.random.default_rng(seed)
    given = [values.integers(-3, 4, loops.size).astype(loops.dtype) for _ in range(2)]
    expected = [np.asarray(one) for one in kernel.__wrapped__(*(one.copy() for one in given))]
    control = cy.Control(rng.randrange(9), rng.randrange(4), rng.randrange(20), global_data=True)
    machine = dataclasses.replace(endings.MACHINE, control=control, **beside(rng))
    schedule = cy.Schedule().space("i")
    try:
        program = kernel.compile(
            *given, schedule=schedule.serpentine() if machine.grid else schedule, machine=machine
        )
    except cy.CyclotronError:
        return None
    backends = ["local", "sim", *(["mpi"] if seed % 25 == 0 else [])]
    results = [cy.run(program, backend=backend) for backend in backends]
    for result in results:
        for found, right in zip(result.outputs.values(), expected, strict=True):
            assert found.dtype == right.dtype, loops.text()
            np.testing.assert_array_equal(found, right, err_msg=f"{seed}\n{loops.text()}")
        assert result.steps == results[0].steps
    simulated = cy.run(program, backend="sim")
    ends = []
    if all(ending["runs"] == 1 for ending in program.core.endings):
        for ending, steps in zip(program.core.endings, simulated.steps.values(), strict=True):
            skipped = ending["steps"] - steps
            ends.append((ending["last"] - skipped, skipped))
    else:
        simulated = cy.run(program, backend="sim", functional=False)
    for limit in (200_000, 0):
        options = {} if ends else {"functional": False}
        result = cy.run(program, backend="sim", event_limit=limit, **options)
        assert random_machines.measured(result) == endings.expected_of(program, ends, result), loops.text()
    return any(one.role == "executive" for one in program.core.classes)


@pytest.mark.parametrize("batch", range(0, PROGRAMS, BATCH))
def test_random_loops_with_global_data(batch: int, tmp_path: Path) -> None:
    """MA-008, MA-051: bits of NumPy on all backends, and cycles of the reference."""
    found = [check(seed, tmp_path) for seed in range(batch, min(batch + BATCH, PROGRAMS))]
    assert sum(one is True for one in found) > 2, found
