"""Random programs with loops and branches on data: their control systems, and runs with a controller."""

from __future__ import annotations

import dataclasses
import importlib
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest
import test_random_endings as endings

import cyclotron as cy

sys.path.append(str(Path(__file__).resolve().parents[1] / "programs"))
system: Any = importlib.import_module("test_control_system")

RUNS = int(os.environ.get("CYCLOTRON_CONTROL_RUNS", "2" if os.environ.get("CYCLOTRON_QUICK") else "8"))
BATCHES = 10  # of RUNS programs: 50 RUNS are 500 in all
BRANCHES = ("u = u + {n}", "v = v - u", "u = u * 2", "w[...] = u - v", "s = s + {n}", "v[1:] += u[:-1]")


class Branches(endings.Loops):
    """Loops that end early, with branches by data in their iterations, and in branches of these."""

    def branch(self, depth: int) -> list[str]:
        lines = [f"if {self.filled(self.random.choice(endings.TESTS))}:"]
        for _ in range(self.random.randint(1, 2)):
            lines.append("    " + self.filled(self.random.choice(BRANCHES)))
        if depth and self.random.random() < 0.4:
            lines += ["    " + line for line in self.branch(0)]
        if self.random.random() < 0.6:
            lines += ["else:", "    " + self.filled(self.random.choice(BRANCHES))]
        return lines

    def body(self, depth: int, exits: int) -> list[str]:
        return [*self.branch(1), *super().body(depth, exits)]


def check_control(program: cy.Program) -> None:
    """Cycles, words, and how long PEs are held back: those of the control system message by message."""
    if not program.core.endings:
        return
    rng = random.Random(repr(program))
    for _ in range(3):
        costs = cy.Control(latency=rng.randrange(20), hop=rng.randrange(4), setup=rng.randrange(70))
        own = program.with_machine(dataclasses.replace(program.machine, control=costs))
        flags = system.random_flags(own.control_system, rng)
        system.assert_runs_as_the_reference(own, own.control_system, flags, 1000, 1000)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_programs_run_as_the_reference(batch: int, tmp_path: Path) -> None:
    """MA-014, MA-021 to MA-030: values on all backends, cycles of the control system and of whole runs."""
    seeds = range(batch * RUNS, (batch + 1) * RUNS)
    ended = 0
    for seed in seeds:
        backends = ["numpy", "local", "sim", *(["mpi"] if seed % 25 == 0 else [])]
        ended += bool(endings.check(seed, tmp_path, backends, Branches, check_control))
    assert ended > 0 or RUNS < 8
