"""Random loop nests: the programs of their recurrences give what plain Python gives."""

from __future__ import annotations

import random
import runpy
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import cyclotron as cy

SIZE = 4  # loops run over 0 .. SIZE - 1, and subscripts shift by up to 2
PLANES = {"A": 1, "B": 1, "M": 2, "w": 0}  # tensors, and how many subscripts are no constants


class Nest:
    """Writes one kernel: loops in both directions, triangular ones too, and assignments at any depth."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.loops = 0

    def text(self) -> str:
        lines = ["import cyclotron as cy", "", "@cy.kernel", "def nest(A, M):"]
        lines += [f"    B = cy.full({SIZE + 2}, 3)", "    w = cy.zeros(1)"]
        for _ in range(self.random.randint(1, 3)):
            lines += self.block([], 1)
        return "\n".join([*lines, *self.assignments(), "    return A, B, M, w", ""])

    def assignments(self) -> Iterator[str]:
        """Each tensor is assigned at least once."""
        for tensor, axes in PLANES.items():
            yield f"    {tensor}[{', '.join('0' * max(axes, 1))}] += 1"

    def block(self, indices: list[str], depth: int) -> Iterator[str]:
        kind = self.random.random()
        pad = "    " * depth
        if kind < 0.65 and len(indices) < 3:
            index = self.random.choice([name for name in "ijk" if name not in indices])
            yield f"{pad}for {index} in {self.range(indices)}:"
            for _ in range(self.random.choice([1, 1, 2, 3])):
                yield from self.block([*indices, index], depth + 1)
        elif kind < 0.75 and len(indices) > 1:
            yield f"{pad}if {indices[0]} {self.random.choice(['<', '!=', '>='])} {indices[-1]}:"
            yield from self.assignment(indices, depth + 1)
        else:
            yield from self.assignment(indices, depth)

    def assignment(self, indices: list[str], depth: int) -> Iterator[str]:
        operator = self.random.choice(["=", "=", "+=", "-="])
        pad = "    " * depth
        yield f"{pad}{self.element(indices)} {operator} {self.value(indices)}"

    def range(self, indices: list[str]) -> str:
        choices = [f"range({SIZE})", f"range(1, {SIZE})", f"range({SIZE - 1}, -1, -1)"]
        if indices:
            outer = self.random.choice(indices)
            choices += [f"range({outer})", f"range({outer}, {SIZE})", f"range({outer}, -1, -1)"]
        return self.random.choice(choices)

    def element(self, indices: list[str]) -> str:
        tensor = self.random.choice(list(PLANES))
        if PLANES[tensor] == 0:
            return f"{tensor}[0]"
        return f"{tensor}[{', '.join(self.subscript(indices) for _ in range(PLANES[tensor]))}]"

    def subscript(self, indices: list[str]) -> str:
        if not indices or self.random.random() < 0.1:
            return str(self.random.randint(0, SIZE + 1))
        index = self.random.choice(indices)
        shift = self.random.randint(0, 2)
        return f"{index} + {shift}" if self.random.random() < 0.8 else f"{SIZE + shift - 1} - {index}"

    def value(self, indices: list[str]) -> str:
        one, other = self.element(indices), self.element(indices)
        return self.random.choice(
            [one, f"{one} - {other}", f"cy.maximum({one}, {other})", f"{one} + 2 * {other}", "1"]
        )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(40))
def test_random_nests(seed: int, tmp_path: Path) -> None:
    file = tmp_path / "nest.py"
    file.write_text(Nest(seed).text())
    kernel = runpy.run_path(str(file))["nest"]
    rng = np.random.default_rng(seed)
    A, M = rng.integers(-9, 10, SIZE + 2), rng.integers(-9, 10, (SIZE + 2, SIZE + 2))
    expected = kernel.reference(A, M)
    program = kernel.compile(A, M, schedule=cy.Schedule())
    runs = [cy.run(program, backend=backend).outputs for backend in ("sim", "local")]
    for found in (*runs, program.graph.evaluate()):
        for one, other in zip(found.values(), expected, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=file.read_text())
