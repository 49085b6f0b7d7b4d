"""Loops over elements and over tiles in random kernels."""

from __future__ import annotations

import random

import numpy as np
from numpy_values import DTYPES, LATER, UNARY, WEIGHTS, Expressions, Program, array_text, number


class Nest:
    """Loops over elements with assignments, conditions and folds; subscripts stay inside at every point."""

    def __init__(self, writer: Expressions) -> None:
        self.writer = writer
        self.rng = writer.rng
        self.points: list[dict[str, int]] = [{}]
        self.indices: list[str] = []
        self.tests: list[str] = []

    def write(self) -> bool:
        w, rng = self.writer, self.rng
        before = (list(w.lines), dict(w.env), set(w.assigned))
        self.target()
        heads: list[str] = []
        if w.chance(0.35):  # in place, again and again
            w.features and heads.append(self.head("s", self.range("s", [])))
        for name in ("i", "j")[: rng.choice([1, 1, 2])]:
            heads.append(self.head(name, self.range(name, self.indices)))
        lines = ["    " * depth + head for depth, head in enumerate(heads)]
        pad = "    " * len(heads)
        if w.on("index tests", 0.6):
            lines.append(pad + f"up = {self.index_test()}")
            self.tests.append("up")
        if w.on("accumulators", 0.4):
            kind = rng.choice(["0", "0.0", "1", "1.0"])
            told = self.told() if w.on("ranges of data", 0.7) else None
            head = self.head("k", self.range("k", self.indices))
            if told is not None:
                self.leave("k")
                self.head("k", "range(3)")
                head = f"for k in {told}:"
            lines += [pad + f"s0 = {kind}", pad + head]
            lines.append(pad + f"    s0 {rng.choice(['+=', '-='])} {self.element(1)}")
            self.leave("k")
            self.tests.append("s0 > 0")
        for _ in range(rng.choice([1, 1, 2])):
            lines += [pad + line for line in self.assignment()]
        if len(heads) and w.on("breaks", 0.15):
            lines += [pad + f"if {self.data_test()}:", pad + "    break"]
        if not w.add(*lines):
            w.lines, w.env, w.assigned = before
            return False
        w.hide({*before[1], self.assigned})
        return True

    def target(self) -> None:
        """Declare an array to assign, or take one."""
        w, rng = self.writer, self.rng
        known = [name for name in w.arrays() if w.env[name].size]
        if known and w.chance(0.45):
            self.assigned = rng.choice(known)
        else:
            like = rng.choice(w.arrays()) if w.arrays() else None
            self.assigned = w.fresh()
            dtype = rng.choices(DTYPES, WEIGHTS)[0]
            shape = (
                w.env[like].shape
                if like and w.chance(0.5)
                else (rng.choice([1, 2, 3]),) * rng.choice([1, 1, 2])
            )
            same = rng.choice(
                ["float64", dtype, getattr(w.env.get(like or ""), "dtype", np.dtype(float)).name]
            )
            made = [f"cy.zeros({shape}, dtype={same!r})", f"cy.full({shape}, 1, dtype={same!r})"]
            if like is not None and w.env[like].size:
                made += [f"cy.zeros_like({like})", f"{like}.copy()", f"cy.zeros_like({like})"]
            if w.on("arrays of NumPy", 0.5):
                made = [f"np.zeros({shape})", f"np.ones({shape}, dtype={same!r})", f"np.full({shape}, 2)"]
                if like is not None:
                    made += [f"np.zeros_like({like})", f"np.full_like({like}, 1)", f"np.array({like})"]
            w.add(f"{self.assigned} = {rng.choice(made)}")
        w.assigned.add(self.assigned)

    def head(self, index: str, text: str) -> str:
        points = []
        for point in self.points:
            points += [point | {index: n} for n in eval(text, {"range": range}, dict(point))]
        self.points = points
        self.indices.append(index)
        return f"for {index} in {text}:"

    def leave(self, index: str) -> None:
        self.indices.remove(index)
        for point in self.points:
            point.pop(index)
        self.points = [dict(one) for one in {tuple(point.items()) for point in self.points}]

    def range(self, index: str, outer: list[str]) -> str:
        rng, w = self.rng, self.writer
        n = rng.choice([1, 2, 2, 3, 3, 4])
        down = w.on("negative steps", 0.6)
        choices = (
            [f"range({n - 1}, -1, -1)", f"range({n}, 0, -1)"] if down else [f"range({n})", f"range(1, {n})"]
        )
        if down and n > 2:
            choices.append(f"range({n}, -1, -2)")
        if outer and w.chance(0.6 if index == "k" else 0.3):
            first = rng.choice(outer)
            choices += [] if index != "k" else [f"range(1, {first})", f"range(1, {first})", f"range({first})"]
            choices += [
                f"range({first})",
                f"range({first}, {n})",
                f"range({first}, -1, -1)",
                f"range(1, {first})",
            ]
        shaped = [name for name in w.vectors() if 0 < w.env[name].size < 5]
        if shaped and not down and w.chance(0.3):
            size = w.env[rng.choice(shaped)].size
            return f"range({size})"
        return rng.choice(choices)

    def told(self) -> str | None:
        """A range inside range(3) that data tell."""
        w, rng = self.writer, self.rng
        names = [name for name in w.arrays() if w.env[name].dtype.kind in "iu"]
        ends = [self.access(rng.choice(names)) for _ in range(2)] if names else [None]
        if None in ends:
            return None
        first, last = (f"{one} % {n}" for one, n in zip(ends, (3, 4), strict=True))
        return rng.choice([f"range({last})", f"range({first}, 3)", f"range({first}, {last})"])

    def affine(self) -> str:
        rng = self.rng
        if not self.indices or self.writer.chance(0.12):
            return str(rng.randint(0, 2))
        index = rng.choice(self.indices)
        forms = [
            index,
            index,
            index,
            f"{index} + 1",
            f"{index} - 1",
            f"2 - {index}",
            f"2 * {index}",
            f"3 - {index}",
        ]
        return rng.choice(forms)

    def access(self, name: str) -> str | None:
        shape = np.shape(self.writer.env[name])
        for _ in range(10):
            keys = [self.affine() for _ in shape]
            inside = all(
                0 <= eval(key, {}, dict(point)) < n
                for point in self.points
                for key, n in zip(keys, shape, strict=True)
            )
            if inside:
                return f"{name}[{', '.join(keys)}]"
        return None

    def placed(self, table: str | None = None) -> str | None:
        """An element, of some vector, at a place that data tell."""
        w, rng = self.writer, self.rng
        names = [name for name in w.arrays() if w.env[name].dtype.kind in "iu"]
        tables = [table] if table else [name for name in w.vectors() if w.env[name].size]
        place = self.access(rng.choice(names)) if names and tables else None
        if place is None:
            return None
        table = rng.choice(tables)
        return f"{table}[{place} % {w.env[table].size}]"

    def read(self) -> str:
        names = self.writer.arrays()
        for _ in range(4):
            text = self.access(self.rng.choice(names)) if names else None
            if text:
                return text
        return self.number()

    def number(self) -> str:
        w, rng = self.writer, self.rng
        if w.on("shape numbers", 0.4) and w.arrays():
            name = rng.choice(w.arrays())
            return rng.choice([f"{name}.shape[0]", f"len({name})", f"{name}.size"])
        if self.indices and w.chance(0.4):
            return rng.choice(self.indices)
        scalars = [name for name in w.scalars() if name in w.arguments]
        if scalars and w.chance(0.5):
            return rng.choice(scalars)
        return w.literal()

    def index_test(self) -> str:
        rng = self.rng
        if not self.indices:
            return "1 > 0"
        index = rng.choice(self.indices)
        other = rng.choice([*self.indices, "1", "0", "2"])
        forms = [
            f"{index} > {other}",
            f"({index} // 2) % 2 == 0",
            f"{index} % 2 == 0",
            f"2 * {index} > 2 * {other}",
        ]
        forms += [f"{index} != {other}", f"{index} <= {other}"]
        return rng.choice(forms)

    def data_test(self) -> str:
        operator = self.rng.choice(["<", ">", "<=", ">=", "!=", "=="])
        return f"{self.read()} {operator} {self.rng.choice(['0', '1', '0.5', self.number()])}"

    def condition(self) -> str:
        w, rng = self.writer, self.rng
        tests = [self.index_test] if "index tests" in w.features else []
        tests += [self.data_test] if "conditions" in w.features else []
        if self.tests and w.chance(0.5):
            return rng.choice(self.tests)
        one = rng.choice(tests or [self.index_test])()
        if w.chance(0.2):
            one = f"{one} {rng.choice(['and', 'or'])} {rng.choice(tests or [self.index_test])()}"
        return f"not ({one})" if w.chance(0.1) else one

    def fold(self) -> str:
        """sum, min, max, any, all or math.prod over one more index, which may be empty at some points."""
        w, rng = self.writer, self.rng
        if "k" in self.indices:
            return self.read()
        kind = rng.choice(["sum", "sum", "min", "max", "any", "all", "math.prod"])
        kept = [dict(point) for point in self.points]
        head = self.range("k", self.indices)
        self.head("k", head)
        if kind in ("any", "all"):
            term = rng.choice([self.index_test(), "k > 0", self.data_test()])
        else:
            term = rng.choice(
                [self.read(), self.read(), self.number(), f"{self.read()} * {self.read()}", "k"]
            )
        where = f" if {self.index_test() if w.chance(0.6) else self.data_test()}" if w.chance(0.3) else ""
        self.indices.remove("k")
        self.points = kept
        return f"{kind}({term} for k in {head}{where})"

    def element(self, depth: int) -> str:
        """A number at each point."""
        w, rng = self.writer, self.rng
        if depth == 0:
            return self.read() if w.chance(0.75) else self.number()
        kinds = ["binary", "binary", "binary", "leaf"]
        kinds += [
            name
            for name in ("generators", "python extrema", "conditions", "index tests")
            if name in w.features
        ]
        kinds += [
            name
            for name in ("functions", "rounding", "where", "sums of tests", "powers", "casts", *LATER[:2])
            if name in w.features
        ]
        kind = rng.choice(kinds)
        a = self.element(depth - 1)
        if kind == "binary":
            return f"({a} {rng.choice('+-*+-*/')} {self.element(depth - 1)})"
        if kind == "generators":
            fold = self.fold()
            forms = [fold, f"{a} + {fold}", f"5 * {fold}", f"5 * {fold}", f"-{fold}"]
            return rng.choice([*forms, f"cy.minimum({a}, {fold})", f"cy.minimum({a}, {fold})"])
        if kind == "python extrema":
            call = rng.choice(["min", "max", "cy.maximum", "cy.minimum"])
            return f"{call}({a}, {self.element(depth - 1)})"
        if kind in ("conditions", "index tests"):
            return f"({a} if {self.condition()} else {self.element(0)})"
        if kind == "functions":
            return rng.choice([f"cy.{rng.choice(UNARY)}({a})", f"abs({a})", f"(-{a})"])
        if kind == "rounding":
            return rng.choice(
                [f"cy.round({a})", f"cy.sign({a})", f"({a} // {self.element(0)})", f"({a} % 3)"]
            )
        if kind == "where":
            return f"cy.where({self.data_test()}, {a}, {self.element(0)})"
        if kind == "powers":
            return f"({a}) ** {rng.choice(['2', '3', '2.0', '0.5'])}"
        if kind == "bits":
            return f"({a} {rng.choice(['<<', '>>', '&', '|', '^'])} {self.element(0)})"
        if kind == "places by data":
            return self.placed() or a
        if kind == "casts":
            return f"cy.cast({a}, {rng.choice(DTYPES)!r})"
        if kind == "sums of tests":
            tests = [f"({self.data_test()})", f"(not {self.read()})"]
            if "generators" in w.features:
                tests += [f"any({self.data_test()} for k in range(2))"]
            return f"({rng.choice(tests)} + {rng.choice([*tests, 'True'])})"
        return a

    def assignment(self) -> list[str]:
        w, rng = self.writer, self.rng
        place = self.access(self.assigned)
        if place is None:
            place = self.assigned + "[" + ", ".join("0" * w.env[self.assigned].ndim) + "]"
        if w.env[self.assigned].ndim == 1 and w.on("places by data", 0.4):
            place = self.placed(self.assigned) or place
        if w.chance(0.25):
            return [f"{place} -= {self.read()}"]
        operator = rng.choice(["=", "=", "+=", "-=", "+=", "*="])
        lines = [f"{place} {operator} {self.element(rng.choice([0, 1, 1, 1, 2]))}"]
        if w.features & {"conditions", "index tests"} and w.chance(0.35):
            lines = [f"if {self.condition()}:", *("    " + line for line in lines)]
            if w.chance(0.35):
                lines += ["else:", f"    {place} = {self.element(1)}"]
        return lines


def tiled(rng: random.Random) -> Program:
    """Loops over tiles, elementwise on ragged ones too, products of square ones."""
    dtype = rng.choice(["float64", "float32", "int64", "complex128"])
    products = rng.random() < 0.5
    tile = rng.choice([(1, 1), (2, 2)]) if products else (rng.randint(1, 3), rng.randint(1, 3))
    count = rng.randint(1, 3)
    shape = (tile[0] * count, tile[1] * count) if products else (rng.randint(1, 5), rng.randint(1, 5))
    matrices = [f"Tiles({array_text(rng, shape, dtype, rng.random() < 0.2)}, {tile})" for _ in range(4)]

    def value(depth: int) -> str:
        if depth == 0:
            choices = ["A[i, j]", "B[i, j]", "a", "2"]
            return rng.choice(choices + ["A[j, i].T", "B[j, i]"] * products)
        a, b = value(depth - 1), value(depth - 1)
        choices = [f"({a} {rng.choice('+-*')} {b})", f"cy.maximum({a}, {b})"] * (dtype != "complex128")
        choices += [f"({a} {rng.choice('+-')} B[i, j])", f"cy.where(A[i, j] == {b}, {a}, B[i, j])"]
        choices += [f"cy.sqrt(cy.abs({a}))"] * (dtype == "float64")
        choices += ["sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))", "A[i, j] @ B[i, j].T"] * products
        return rng.choice(choices)

    operator = rng.choice(["=", "=", "+=", "-="])
    lines = ["@cy.kernel", "def kernel(A, B, a):", "    C = cy.zeros_like(A)"]
    lines += ["    for i in range(A.shape[0]):", "        for j in range(A.shape[1]):"]
    lines += [f"            C[i, j] {operator} {value(rng.choice([1, 2, 2]))}"]
    if rng.random() < 0.3:
        lines += [f"            C[i, j] += {value(1)}"]
    numbers = [number(rng, "int64" if dtype == "int64" else "float64", False) for _ in range(2)]
    text = "\n".join([*lines, "    return C", ""])
    return Program(text, (*matrices[:2], numbers[0]), (*matrices[2:], numbers[1]), ("tiles",))
