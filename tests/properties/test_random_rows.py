"""Random loops over rows, each of which ends the loops inside by itself: all backends agree with NumPy."""

from __future__ import annotations

import random
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

PROGRAMS, BATCH = 30, 10
UPDATES = (  # small whole numbers, of which all results are exact
    "v = v * 2 - {n}",
    "v = v + a[{at}]",
    "w = v - w",
    "w += {n}",
    "v, w = w, v + 1",
    "v = cy.where(v > {big}, v - {big}, v + 1)",
    "w = w + b[{last}]",
)
TESTS = ("v > {big}", "w >= {n}", "v - w > {n}", "count == {few}", "v + b[{last}] > {big}")


class Rows:
    """Writes one kernel of loops over rows with loops inside that end early."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rank = self.random.choice([1, 1, 2])
        self.sizes = [self.random.randint(1, 11) for _ in range(self.rank)]
        self.names = ["i", "j"][: self.rank]
        grid = [self.random.randint(1, 5) for _ in range(self.random.choice([self.rank, 2]))]
        self.machine = cy.Machine(grid=tuple(grid)) if self.random.random() < 0.7 else None

    def filled(self, text: str) -> str:
        pick = self.random.randint
        at, last = ", ".join(self.names), self.names[-1]
        return text.format(n=pick(-3, 3), big=pick(4, 40), few=pick(1, 9), at=at, last=last)

    def loop(self, depth: int) -> list[str]:
        """A loop that ends by what a row has."""
        head, test = self.random.choice(["for", "while"]), self.filled(self.random.choice(TESTS))
        body = [self.filled(one) for one in self.random.choices(UPDATES, k=self.random.randint(1, 3))]
        if depth and self.random.random() < 0.3:
            body += self.loop(0)
        body.append("count += 1")
        if head == "while":
            first = f"while not {test} and count < 20:"
            if self.random.random() < 0.3:
                body += [f"if {self.filled(self.random.choice(TESTS))}:", "    break"]
        else:
            first = f"for t{depth} in range({self.random.choice([3, 9, 24])}):"
            at = self.random.choice([0, len(body)])
            body[at:at] = [f"if {test}:", "    break"]
        return [first, *(f"    {line}" for line in body)]

    def text(self) -> str:
        at, before = ", ".join(self.names), self.random.random() < 0.3
        row = [
            f"v = a[{at}]",
            self.random.choice(["w = 0", f"w = b[{self.names[-1]}]", "w = v + 1"]),
            "count = 0",
            *self.loop(1),
            *(self.loop(0) if self.random.random() < 0.3 else []),
            f"x[{at}] = v * 100 + w" + (f" + x[{at}]" if before else ""),
            f"y[{at}] = count",
        ]
        lines = [
            "import cyclotron as cy",
            "",
            "@cy.kernel(max_steps=24)",
            "def rows(a, b):",
            "    x, y = cy.zeros_like(a), cy.zeros_like(a)",
        ]
        loops = [f"for {name} in range({size}):" for name, size in zip(self.names, self.sizes, strict=True)]
        if self.random.random() < 0.3:
            loops.insert(0, "for step in range(3):")
        for depth, loop in enumerate(loops):
            lines.append("    " * (depth + 1) + loop)
        lines += ["    " * (len(loops) + 1) + line for line in row]
        return "\n".join([*lines, "    return x, y"]) + "\n"


def check(seed: int, folder: Path, backends: tuple[Any, ...]) -> bool:
    """Tell if some PEs of a program end loops on their own; all backends agree, in steps too."""
    rows = Rows(seed)
    text = rows.text()
    path = folder / f"rows_{seed}.py"
    path.write_text(text)
    kernel = runpy.run_path(str(path))["rows"]
    rng = np.random.default_rng(seed)
    given = [rng.integers(-3, 9, size) for size in (rows.sizes, rows.sizes[-1])]
    expected = kernel.__wrapped__(*given)
    program = kernel.compile(*given, machine=rows.machine)
    results = {backend: cy.run(program, backend=backend) for backend in backends}
    for backend, result in results.items():
        for output, right in zip(result.outputs.values(), expected, strict=True):
            np.testing.assert_array_equal(output, right, err_msg=f"{backend} {seed}\n{text}")
    steps = [result.steps for backend, result in results.items() if backend != "numpy"]
    assert all(one == steps[0] for one in steps), (seed, steps, text)
    assert cy.prove(program).ok, text
    return any(ending["per_pe"] for ending in program.core.endings)


@pytest.mark.parametrize("batch", range(0, PROGRAMS, BATCH))
def test_random_rows(batch: int, tmp_path: Path) -> None:
    alone = [check(seed, tmp_path, ("numpy", "local", "sim")) for seed in range(batch, batch + BATCH)]
    assert sum(alone) >= 3


def test_random_rows_by_mpi(tmp_path: Path) -> None:
    pytest.importorskip("cyclotron._mpi", reason="Cyclotron was built without MPI")
    alone = [check(seed, tmp_path, ("mpi", "local")) for seed in range(6)]
    assert any(alone)
