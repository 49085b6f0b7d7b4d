"""Memory plans of random programs: no value is lost, and little more is taken than what lives at once.

The plans are judged by `reference_liveness`, which knows their addresses and the instructions that PEs run.
"""

from __future__ import annotations

import itertools
import json
import os
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import random_machines
import test_random_arrays
import test_random_endings
from random_search import SEED
from reference_liveness import Plan, plans

import cyclotron as cy

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from conjugate_gradient import conjugate_gradient

PROGRAMS = int(os.environ.get("CYCLOTRON_MEMORY_PLANS", "90"))


def data_of(program: cy.Program) -> dict:
    return json.loads(program.core.to_bytes()[24:])


def array_programs(folder: Path) -> Iterator[cy.Program]:
    """Whole-array statements on numbers of every size."""
    for seed in itertools.count():
        drawn = test_random_arrays.Program(seed)
        path = folder / f"arrays_{seed}.py"
        path.write_text(drawn.text().replace("KIND", drawn.dtype))
        kernel = runpy.run_path(str(path))["arrays"]
        try:
            yield kernel.compile(*test_random_arrays.data(drawn, seed))
        except cy.LegalityError as error:
            if error.code != "CYC216":  # elements of one stride assigned, those of another read
                raise


def loop_programs(folder: Path) -> Iterator[cy.Program]:
    """Time loops that end early."""
    for seed in itertools.count():
        loops = test_random_endings.Loops(seed)
        path = folder / f"endings_{seed}.py"
        path.write_text(loops.text())
        kernel = runpy.run_path(str(path))["loops"]
        try:
            yield kernel.compile(np.zeros(loops.size, loops.dtype), np.zeros(loops.size, loops.dtype))
        except cy.TraceError as error:
            if error.code != "CYC111":  # two names of one array, of which one changes
                raise


def random_programs(folder: Path) -> Iterator[tuple[str, cy.Program]]:
    """Of each kind in turn."""
    kinds = {
        "recurrences": random_machines.programs(SEED, folder),
        "arrays": array_programs(folder),
        "loops": loop_programs(folder),
    }
    while True:
        for kind, programs in kinds.items():
            yield kind, next(programs)


def distribution(ratios: list[float]) -> str:
    mean, tenth, worst = np.mean(ratios), np.quantile(ratios, 0.9), max(ratios)
    return f"mean {mean:.3f}, 90 % below {tenth:.3f}, worst {worst:.2f}"


@pytest.mark.timeout(3600)
def test_plans_of_random_programs(tmp_path, capsys):
    """Of the PE that needs most, within 10 % of the most that its live slots take, on average.

    The worst ones have slots of one byte, which take words of two, and arrays that loops fill and read by
    element: such a slot lives as a whole, over the loop. Against live elements arrays count twice: one of
    720 bytes, of which two elements are read once more after it is stored, is a slot as a whole because the
    storage of values is chosen before.
    """
    found: dict[str, list[Plan]] = {}
    for kind, program in itertools.islice(random_programs(tmp_path), PROGRAMS):
        judged = max(plans(data_of(program)), key=lambda plan: plan.peak, default=Plan(0, 0, 0, 0))
        assert judged.peak == program.memory_bytes
        if judged.live_elements:
            found.setdefault(kind, []).append(judged)
    everything = [plan for of_kind in found.values() for plan in of_kind]
    with capsys.disabled():
        print(f"\nCYCLOTRON_SEED={SEED}: {len(everything)} plans")
        for kind, of_kind in [("all", everything), *found.items()]:
            print(f"  {kind} over live slots: {distribution([p.peak / p.live_slots for p in of_kind])}")
            print(f"  {kind} over live elements: {distribution([p.peak / p.live_elements for p in of_kind])}")
        print(f"  without reuse: {distribution([p.without_reuse / p.peak for p in everything])}")
    assert np.mean([plan.peak / plan.live_slots for plan in everything]) < 1.1


def test_plans_of_conjugate_gradients_reuse_memory():
    """A vector's element a PE; the scalars of a step and what the sums pass on come and go."""
    program = conjugate_gradient.compile(np.ones((6, 7)), 1e-16, 8)
    for plan in plans(data_of(program)):
        assert plan.without_reuse >= 2 * plan.peak
