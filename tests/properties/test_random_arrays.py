"""Random programs of whole-array statements: every backend gives what NumPy gives for the same text."""

from __future__ import annotations

import os
import random
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

PROGRAMS = int(os.environ.get("CYCLOTRON_ARRAYS", "60"))  # how many; the seeds count from 0
BATCH = 10
SIZES = (0, 1, 2, 2, 3, 3, 5)
DTYPES = ("int64", "int64", "float64", "float64", "float32", "int32", "complex128", "bool")
Shape = tuple[int, ...]


class Program:
    """Writes one kernel of array statements, with the shapes of its variables."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.dtype = self.random.choice(DTYPES)
        self.shapes: dict[str, Shape] = {}
        self.locals = 0
        self.shapes["A"] = self.shape(2)
        self.shapes["B"] = self.shape(2) if self.chance(0.6) else self.shapes["A"]
        self.shapes["C"] = self.shape(3) if self.chance(0.3) else self.shape(1)
        self.inputs = dict(self.shapes)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def shape(self, rank: int) -> Shape:
        return tuple(self.random.choice(SIZES) for _ in range(rank))

    def text(self) -> str:
        lines = ["import cyclotron as cy", "", "@cy.kernel", "def arrays(A, B, C):"]
        for _ in range(self.random.randint(1, 3)):
            if self.chance(0.4):
                lines.append(f"    for t in range({self.random.randint(1, 3)}):")
                before = dict(self.shapes)
                for _ in range(self.random.randint(1, 3)):
                    lines.append(f"        {self.statement()}")
                self.shapes = before  # names of a loop end with it
            else:
                lines.append(f"    {self.statement()}")
        named = [name for name in self.shapes if name not in self.inputs]
        results = [*self.inputs, *named, self.value(self.shape(self.random.randint(1, 2)), 2)]
        # Inputs are results only where they are assigned.
        lines += (
            ["    A += 0", "    B += 0", "    C += 0"]
            if self.dtype != "bool"
            else ["    A |= False", "    B |= False", "    C |= False"]
        )
        return "\n".join([*lines, f"    return {', '.join(results)}", ""])

    def statement(self) -> str:
        kind = self.random.random()
        if kind < 0.25:
            shape = self.shape(self.random.randint(1, 2))
            value = self.value(shape, 3)
            self.locals += 1
            name = f"y{self.locals}"
            self.shapes[name] = shape
            return f"{name} = {self.stored(f'{value} | False' if self.dtype == 'bool' else f'{value} + 0')}"
        name = self.random.choice(list(self.shapes))
        subscripts, shape = self.part(name)
        value = self.value(self.thinned(shape), 3)
        if kind < 0.65 or self.dtype == "bool":
            operator = self.random.choice(["=", "=", "&=", "|=", "^="]) if self.dtype == "bool" else "="
            return f"{name}[{subscripts}] {operator} {self.stored(value)}"
        return f"{name}[{subscripts}] {self.random.choice(['+=', '-=', '+=', '*='])} {self.stored(value)}"

    def thinned(self, shape: Shape) -> Shape:
        """A shape that broadcasts to another."""
        thin = tuple(1 if self.chance(0.1) else n for n in shape)
        return thin[1:] if thin and self.chance(0.15) else thin

    def stored(self, value: str) -> str:
        """Small numbers, of which all sums are exact."""
        return value if self.dtype in ("bool", "complex128") else f"cy.maximum(cy.minimum({value}, 9), -9)"

    def part(self, name: str) -> tuple[str, Shape]:
        """Subscripts of a variable, and the shape of what they take."""
        keys, shape = [], []
        for n in self.shapes[name]:
            if n and self.chance(0.2):
                keys.append(str(self.random.randrange(-n, n)))
                continue
            key = self.slice(n)
            keys.append(key)
            shape.append(len(range(n)[_slice(key)]))
        if not shape or self.chance(0.1):
            return "...", self.shapes[name]
        return ", ".join(keys), tuple(shape)

    def slice(self, n: int) -> str:
        bounds = ["", "", *map(str, range(-2, n + 2))]
        start, stop = self.random.choice(bounds), self.random.choice(bounds)
        step = self.random.choice(["", "", "", ":2", ":-1", ":3", ":-2"])
        return f"{start}:{stop}{step}"

    def value(self, shape: Shape, depth: int) -> str:
        """An expression of this shape."""
        if depth == 0 or self.chance(0.2):
            return self.read(shape)
        kind = self.random.randrange(9)
        if kind < 3:
            operator = self.random.choice("&|^") if self.dtype == "bool" else self.random.choice("+-+-*")
            pair = [self.value(shape, depth - 1), self.value(self.thinned(shape), depth - 1)]
            self.random.shuffle(pair)
            return f"({pair[0]} {operator} {pair[1]})"
        if kind == 3:
            return (
                f"cy.abs({self.value(shape, depth - 1)})"
                if self.dtype in ("int64", "float64")
                else f"(({self.value(shape, depth - 1)}))"
            )
        if kind == 4:
            test = f"{self.value(shape, depth - 1)} {self.random.choice(['!=', '=='])} {self.thin(shape)}"
            return f"cy.where({test}, {self.value(shape, depth - 1)}, {self.thin(shape)})"
        if kind == 5 and shape:
            axis = self.random.randrange(len(shape))
            return f"cy.roll({self.value(shape, depth - 1)}, {self.random.randint(-4, 4)}, {axis})"
        if kind == 6 and shape:
            axis = self.random.randrange(len(shape))
            boundaries = ["zero", "periodic", "edge", *["reflect"] * (shape[axis] > 1)]
            by = self.random.choice([-1, 1])
            return (
                f"cy.shift({self.value(shape, depth - 1)}, {by}, {axis}, {self.random.choice(boundaries)!r})"
            )
        if kind == 7 and len(shape) < 2:
            axis = self.random.randint(0, len(shape))
            inner = (*shape[:axis], self.random.choice(SIZES[1:]), *shape[axis:])
            fold = (
                self.random.choice(["any", "all"])
                if self.dtype == "bool"
                else "sum"
                if self.dtype == "complex128"
                else self.random.choice(["sum", "max", "min"])
            )
            return f"cy.{fold}({self.value(inner, depth - 1)}, axis={axis})"
        if kind == 8 and shape and self.dtype != "bool":
            inner = self.random.choice(SIZES[1:])
            left = (*shape[:-1], inner) if len(shape) < 3 else (shape[1], inner)
            product = f"({self.value(left, 0)} @ {self.value((inner, shape[-1]), 0)})"
            return product if len(shape) < 3 else f"({product} + {self.read(shape)})"
        return self.read(shape)

    def thin(self, shape: Shape) -> str:
        """A part of a variable that broadcasts to a shape."""
        return self.read(self.thinned(shape))

    def read(self, shape: Shape) -> str:
        """A part of a variable that has this shape, or a number."""
        fitting = [name for name, own in self.shapes.items() if len(own) >= len(shape)]
        for _ in range(6):
            name = self.random.choice(fitting) if fitting else "A"
            found = self.fitted(name, shape)
            if found:
                return found
        text = {"bool": "False", "complex128": "(1+2j)"}.get(self.dtype, str(self.random.randint(-3, 3)))
        return f"cy.full({shape}, {text}, 'KIND')" if shape else text

    def fitted(self, name: str, shape: Shape) -> str | None:
        own = self.shapes[name]
        if len(own) < len(shape):
            return None
        transposed = len(own) == 2 and self.chance(0.3)
        sizes = own[::-1] if transposed else own
        extra = len(sizes) - len(shape)
        keys = []
        for n in sizes[:extra]:
            if not n:
                return None
            keys.append(str(self.random.randrange(-n, n)))
        for n, wanted in zip(sizes[extra:], shape, strict=True):
            ways = [(a, s) for s in (1, 1, 2, -1, -2) for a in range(n) if 0 <= a + s * (wanted - 1) < n]
            if wanted == 0:
                keys.append(":0")
            elif wanted == 1 and n and self.chance(0.2):
                keys.append(f"{self.random.randrange(n)}, None")
            elif ways:
                start, step = self.random.choice(ways)
                stop = start + step * wanted
                keys.append(f"{start}:{stop if stop >= 0 else ''}:{step}")
            else:
                return None
        return f"{name}{'.T' if transposed else ''}[{', '.join(keys)}]"


def _slice(text: str) -> slice:
    return slice(*(int(part) if part else None for part in text.split(":")))


def data(program: Program, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    result = []
    for shape in program.inputs.values():
        values = rng.integers(-3, 4, shape)
        result.append(values > 0 if program.dtype == "bool" else values.astype(program.dtype))
    return result


def check(seed: int, folder: Path) -> bool:
    """Tell whether a program compiles; all backends agree where it does."""
    program = Program(seed)
    text = program.text().replace("KIND", program.dtype)
    path = folder / f"arrays_{seed}.py"
    path.write_text(text)
    kernel = runpy.run_path(str(path))["arrays"]
    given = data(program, seed)
    expected = [np.asarray(one) for one in kernel.__wrapped__(*(one.copy() for one in given))]
    try:
        compiled = kernel.compile(*given)
    except cy.LegalityError as error:
        if error.code == "CYC216":  # elements of one stride assigned, those of another read
            return False
        raise
    runs = {backend: cy.run(compiled, backend=backend).outputs for backend in ("numpy", "local", "sim")}
    runs["graph"] = compiled.graph.evaluate()
    for name, outputs in runs.items():
        for result, right in zip(outputs.values(), expected, strict=True):
            assert result.dtype == right.dtype, (name, text)
            np.testing.assert_array_equal(result, right, err_msg=f"{name}\n{text}")
    return True


@pytest.mark.parametrize("batch", range(0, PROGRAMS, BATCH))
def test_random_programs(batch: int, tmp_path: Path) -> None:
    seeds = range(batch, min(batch + BATCH, PROGRAMS))
    compiled = sum(check(seed, tmp_path) for seed in seeds)
    assert compiled > 0.6 * len(seeds)
