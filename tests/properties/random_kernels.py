"""Random systems of affine recurrences as Python source: right by construction, whatever the sizes.

A kernel is a value that prints itself, so that a failing one can be taken apart term by term. Every term
carries the conditions under which its accesses exist; a branch is guarded by those of its terms. An own
tensor is read only at elements that the loops have passed, so the undecorated function is the reference.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

INDICES = ("i", "j", "k")
SIZES = ("n", "m", "p")


@dataclass(frozen=True)
class Term:
    """A summand and the conditions under which it may be evaluated."""

    sign: str
    text: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Statement:
    """``target[subscripts] =`` the terms of the first branch whose conditions hold; the last has none."""

    target: str
    subscripts: str
    branches: tuple[tuple[Term, ...], ...]
    form: str = "if"  # or "inline" for conditional expressions, "+=" for one accumulated branch

    def lines(self) -> list[str]:
        place = f"{self.target}[{self.subscripts}]"
        if self.form == "+=":
            return [f"{place} += {summands(self.branches[-1])}"]
        cases = [(condition(terms), summands(terms)) for terms in self.branches]
        guarded = [case for case in cases[:-1] if case[0]]
        if self.form == "inline" and guarded:
            choice = "".join(f"({text}) if {needs} else " for needs, text in guarded)
            return [f"{place} = {choice}({cases[-1][1]})"]
        lines = []
        for word, (needs, text) in zip(["if", *["elif"] * len(guarded)], guarded, strict=False):
            lines += [f"{word} {needs}:", f"    {place} = {text}"]
        if not lines:
            return [f"{place} = {cases[-1][1]}"]
        return [*lines, "else:", f"    {place} = {cases[-1][1]}"]


@dataclass(frozen=True)
class Loops:
    """Loops over all elements of some tensors; each inner part covers its share of the last index."""

    heads: tuple[str, ...]
    parts: tuple[tuple[str, tuple[Statement, ...]], ...]  # (innermost head or "", statements)

    def lines(self) -> list[str]:
        lines = ["    " * depth + head for depth, head in enumerate(self.heads)]
        for head, statements in self.parts:
            if not statements:
                continue
            depth = len(self.heads)
            if head:
                lines.append("    " * depth + head)
                depth += 1
            lines += ["    " * depth + line for statement in statements for line in statement.lines()]
        return lines


@dataclass(frozen=True)
class Kernel:
    """A kernel: inputs and tensors with the texts of their shapes, and the loops in order."""

    inputs: tuple[tuple[str, tuple[str, ...]], ...]
    tensors: tuple[tuple[str, tuple[str, ...], str], ...]  # name, shape, "empty" or "zeros"
    loops: tuple[Loops, ...]
    outputs: tuple[str, ...]
    dtype: str

    @property
    def source(self) -> str:
        names = [name for name, _ in self.inputs]
        lines = ["@cy.kernel", f"def kernel({', '.join([*names, *SIZES])}):"]
        for name, shape, maker in self.tensors:
            extents = ", ".join(shape) + ("," if len(shape) == 1 else "")
            lines.append(f'    {name} = cy.{maker}(({extents}), dtype="{self.dtype}")')
        lines += ["    " + line for loops in self.loops for line in loops.lines()]
        lines.append(f"    return {', '.join(self.outputs)}")
        return "import cyclotron as cy\n\n\n" + "\n".join(lines) + "\n"

    def arguments(self, sizes: tuple[int, ...], rng: np.random.Generator) -> list[Any]:
        named = dict(zip(SIZES, sizes, strict=True))
        shapes = [tuple(eval(text, {}, named) for text in shape) for _, shape in self.inputs]
        return [*(rng.integers(-2, 3, shape).astype(self.dtype) for shape in shapes), *sizes]


def condition(terms: tuple[Term, ...]) -> str:
    return " and ".join(dict.fromkeys(need for term in terms for need in term.needs))


def summands(terms: tuple[Term, ...]) -> str:
    first, *rest = terms
    text = f"-{first.text}" if first.sign == "-" else first.text
    return text + "".join(f" {term.sign} {term.text}" for term in rest)


@dataclass
class Axis:
    """One loop: its index, extent, direction, and how the tensors of the nest store it."""

    index: str
    size: str
    backwards: bool

    def at(self, offset: int) -> str:
        return shifted(self.index, offset)

    def needs(self, offset: int) -> tuple[str, ...]:
        if offset < 0:
            return (f"{self.index} >= {-offset}",)
        return (f"{shifted(self.index, offset)} < {self.size}",) if offset else ()


def shifted(text: str, offset: int) -> str:
    return text if offset == 0 else f"{text} {'+' if offset > 0 else '-'} {abs(offset)}"


@dataclass
class Storage:
    """The layout of a tensor in memory: the order of its axes and which of them are turned round."""

    order: tuple[int, ...]
    flipped: tuple[bool, ...]
    sizes: tuple[str, ...]

    def subscripts(self, logical: list[str]) -> str:
        turned = [turn(x, n) if f else x for x, n, f in zip(logical, self.sizes, self.flipped, strict=True)]
        return ", ".join(turned[axis] for axis in self.order)

    @property
    def shape(self) -> tuple[str, ...]:
        return tuple(self.sizes[axis] for axis in self.order)


def turn(text: str, size: str) -> str:
    """``size - 1 - (text)`` without brackets."""
    swapped = text.replace("-", "~").replace("+", "-").replace("~", "+")
    return f"{size} - 1 - {swapped}"


class Generator:
    """Draws one kernel."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.square = rng.random() < 0.4
        self.names = ("n", "n", "p") if self.square else SIZES
        self.inputs: list[tuple[str, tuple[str, ...]]] = []
        self.tensors: list[tuple[str, tuple[str, ...], str]] = []
        self.storage: dict[str, Storage] = {}
        self.axes: list[Axis] = []

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def kernel(self) -> Kernel:
        loops = []
        for _ in range(self.rng.choice([1, 1, 1, 1, 1, 2, 2, 3])):
            loops.append(self.accumulation() if self.chance(0.12) else self.nest())
        names = [name for name, _, _ in self.tensors]
        outputs = [name for name in names[:-1] if self.chance(0.6)] + [names[-1]]
        dtype = self.rng.choice(["int64", "float64"])
        return Kernel(tuple(self.inputs), tuple(self.tensors), tuple(loops), tuple(outputs), dtype)

    def draw_axes(self, rank: int, backwards: float) -> None:
        self.axes = [Axis(INDICES[axis], self.names[axis], self.chance(backwards)) for axis in range(rank)]

    def head(self, axis: Axis) -> str:
        span = f"{axis.size} - 1, -1, -1" if axis.backwards else axis.size
        return f"for {axis.index} in range({span}):"

    def new_tensor(self, maker: str) -> str:
        name = "XYZUVW"[len(self.tensors)]
        sizes = tuple(axis.size for axis in self.axes)
        order = tuple(self.rng.sample(range(len(sizes)), len(sizes))) if self.chance(0.3) else (0, 1, 2)
        flipped = tuple(self.chance(0.12) for _ in sizes)
        self.storage[name] = Storage(order[: len(sizes)] if order == (0, 1, 2) else order, flipped, sizes)
        self.tensors.append((name, self.storage[name].shape, maker))
        return name

    def nest(self) -> Loops:
        """Loops with one or two tensors that read each other, over a rectangle or two triangles."""
        earlier = list(self.storage)
        self.draw_axes(self.rng.choice([1, 2, 2, 2, 3]), 0.15)
        made = [self.new_tensor("empty") for _ in range(self.rng.choice([1, 1, 1, 2]))]
        last = self.axes[-1]
        if not (self.square and len(self.axes) == 2 and self.chance(0.6)):
            heads = tuple(self.head(axis) for axis in self.axes)
            return Loops(heads, (("", self.statements(made, earlier, made)),))
        spans = [("i + 1", "0"), (last.size, "i + 1")] if self.chance(0.5) else [("i", "0"), (last.size, "i")]
        last.backwards = False
        below, above = (
            (f"for j in range({start}, {stop}):" if start != "0" else f"for j in range({stop}):")
            for stop, start in spans
        )
        parts = tuple((head, self.statements(made, earlier, made)) for head in (below, above))
        return Loops(tuple(self.head(axis) for axis in self.axes[:-1]), parts)

    def accumulation(self) -> Loops:
        """``C[i, j] += A[i, k] * B[k, j]`` over declared zeros."""
        self.draw_axes(self.rng.choice([1, 2, 2]), 0.0)
        name = self.new_tensor("zeros")
        heads = [self.head(axis) for axis in self.axes] + ["for k in range(p):"]
        subscripts = self.storage[name].subscripts([axis.index for axis in self.axes])
        statement = Statement(name, subscripts, ((Term("+", self.product("k", "p")),),), "+=")
        return Loops(tuple(heads), (("", (statement,)),))

    def statements(self, made: list[str], earlier: list[str], all_made: list[str]) -> tuple[Statement, ...]:
        result = []
        for position, name in enumerate(made):
            ready = all_made[:position]
            branches = [
                tuple(self.term(all_made, earlier, ready) for _ in range(self.rng.choice([1, 2, 2, 3])))
                for _ in range(self.rng.choice([0, 1, 1, 1, 2]))
            ]
            base = tuple(self.input_term() for _ in range(self.rng.choice([1, 1, 2])))
            subscripts = self.storage[name].subscripts([axis.index for axis in self.axes])
            result.append(
                Statement(name, subscripts, (*branches, base), "inline" if self.chance(0.3) else "if")
            )
        return tuple(result)

    def sign(self) -> str:
        return "-" if self.chance(0.25) else "+"

    def term(self, made: list[str], earlier: list[str], ready: list[str]) -> Term:
        kind = self.rng.random()
        if kind < 0.45:
            return self.own_term(self.rng.choice(made))
        if kind < 0.55 and earlier:
            return self.earlier_term(self.rng.choice(earlier))
        if kind < 0.62 and ready:
            name = self.rng.choice(ready)
            return Term(self.sign(), self.access(name, [axis.index for axis in self.axes]))
        if kind < 0.85:
            return self.reduction(made, earlier)
        return self.input_term()

    def access(self, name: str, logical: list[str]) -> str:
        return f"{name}[{self.storage[name].subscripts(logical)}]"

    def own_term(self, name: str) -> Term:
        """A read at an element that the loops have passed: the first offset that is not 0 goes back."""
        first = self.rng.randrange(len(self.axes))
        offsets = [0] * len(self.axes)
        back = self.rng.choice([1, 1, 1, 1, 2])
        offsets[first] = back if self.axes[first].backwards else -back
        for axis in range(first + 1, len(self.axes)):
            offsets[axis] = self.rng.choice([0, 0, 0, 1, -1])
        needs = tuple(need for axis, o in zip(self.axes, offsets, strict=True) for need in axis.needs(o))
        text = self.access(name, [axis.at(o) for axis, o in zip(self.axes, offsets, strict=True)])
        return self.modified(Term(self.sign(), text, needs))

    def modified(self, term: Term) -> Term:
        other = self.input_access({axis.index: axis.size for axis in self.axes})
        form = self.rng.choice(
            ["{0}"] * 5 + ["cy.maximum({0}, {1})", "cy.minimum({0}, {1})", "max({0}, {1})"]
        )
        return dataclasses.replace(term, text=form.format(term.text, other) if "{1}" in form else term.text)

    def earlier_term(self, name: str) -> Term:
        """A read of a finished tensor, shifted; where this nest lacks an index, a corner of it."""
        storage, here = self.storage[name], {axis.size: axis for axis in self.axes}
        logical, needs = [], []
        for position, size in enumerate(storage.sizes):
            same = [axis for axis in self.axes if axis.index == INDICES[position] and axis.size == size]
            axis = same[0] if same and not self.chance(0.15) else here.get(size)
            if axis is None:
                needs.append(f"{size} > 0")
                logical.append(self.rng.choice(["0", f"{size} - 1"]))
                continue
            offset = self.rng.choice([0, 0, 0, -1, 1])
            logical.append(axis.at(offset))
            needs += axis.needs(offset)
        if any(need.endswith("> 0") for need in needs):
            return self.input_term()  # conditions on sizes alone are Python's; avoided to keep one form
        return Term(self.sign(), self.access(name, logical), tuple(needs))

    def input_term(self) -> Term:
        spans = {axis.index: axis.size for axis in self.axes}
        text = self.input_access(spans)
        kind = self.rng.random()
        if kind < 0.15:
            text += f" * {self.input_access(spans)}"
        elif kind < 0.25:
            text += f" * {self.rng.choice([2, 3])}"
        return Term(self.sign(), text)

    def input_access(self, spans: dict[str, str], every: bool = False) -> str:
        """An access to a new input, or to one that has such axes; it uses some or all of the indices."""
        names = list(spans)
        chosen = self.rng.sample(names, len(names) if every else self.rng.randint(1, min(len(names), 2)))
        axes = [self.input_axis(name, spans) for name in chosen]
        shape = tuple(extent for extent, _ in axes)
        same = [name for name, other in self.inputs if other == shape]
        if same and (len(self.inputs) >= 4 or self.chance(0.5)):
            name = self.rng.choice(same)
        else:
            name = f"{'ABCDEFGHKLMNPQRST'[len(self.inputs) % 17]}{len(self.inputs) // 17 or ''}"
            self.inputs.append((name, shape))
        return f"{name}[{', '.join(text for _, text in axes)}]"

    def input_axis(self, index: str, spans: dict[str, str]) -> tuple[str, str]:
        """The extent of an input's axis and a subscript that stays inside."""
        size = spans[index]
        others = [name for name in spans if name != index]
        kind = self.rng.random()
        if kind < 0.6:
            return size, index
        if kind < 0.7:
            return f"{size} + 2", shifted(index, self.rng.randint(0, 2))
        if kind < 0.78:
            return size, f"{size} - 1 - {index}"
        if kind < 0.83:
            return f"2 * {size} + 1", f"2 * {index} + {self.rng.randint(0, 1)}"
        if others and kind < 0.93:
            other = self.rng.choice(others)
            if self.chance(0.5):
                return f"{size} + {spans[other]}", f"{index} + {other}"
            return f"{size} + {spans[other]}", f"{index} - {other} + {spans[other]}"
        return size, index

    def product(self, index: str, size: str) -> str:
        """A product of which one factor varies with `index`, and mostly the other."""
        spans = {index: size} | {axis.index: axis.size for axis in self.axes}
        first = self.input_access({index: size})
        if len(self.axes) > 1 or self.chance(0.5):
            first = self.input_access({index: size, self.axes[0].index: self.axes[0].size}, every=True)
        return first if self.chance(0.2) else f"{first} * {self.input_access(spans)}"

    def reduction(self, made: list[str], earlier: list[str]) -> Term:
        """``sum(... for r in range(...))`` over inputs, finished tensors or passed elements."""
        axes = self.axes
        spans = {axis.index: axis.size for axis in axes}
        name = "k" if len(axes) < 3 else "r"
        kind = self.rng.random()
        along = self.rng.randrange(len(axes))
        axis = axes[along]
        fold = self.rng.choice(["sum", "sum", "sum", "max", "min"])
        if kind < 0.4:  # passed elements: X[k, j] for k before i, at this place of the other indices
            logical = [a.index for a in axes]
            logical[along] = name
            body = self.access(self.rng.choice(made), logical)
            if self.chance(0.6):
                body += f" * {self.input_access({name: axis.size, **spans})}"
            span = f"{axis.index} + 1, {axis.size}" if axis.backwards else axis.index
            needs = axis.needs(1 if axis.backwards else -1) if fold != "sum" else ()
            return Term(self.sign(), f"{fold}({body} for {name} in range({span}))", needs)
        if kind < 0.55 and earlier:  # a whole line of a finished tensor
            storage = self.storage[other := self.rng.choice(earlier)]
            line = self.rng.randrange(len(storage.sizes))
            size = storage.sizes[line]
            here = {a.size: a.index for a in axes}
            if all(n in here for x, n in enumerate(storage.sizes) if x != line):
                logical = [name if x == line else here[n] for x, n in enumerate(storage.sizes)]
                body = f"{self.access(other, logical)} * {self.input_access({name: size, **spans})}"
                return Term(self.sign(), f"sum({body} for {name} in range({size}))")
        if kind < 0.75:  # inputs over a range that an index bounds; never empty
            body = self.bounded_body(name, axis.size, spans)
            span = self.rng.choice([f"{axis.index} + 1", f"{axis.index}, {axis.size}"])
            return Term(self.sign(), f"{fold}({body} for {name} in range({span}))")
        body = self.bounded_body(name, "p", spans)
        return Term(self.sign(), f"sum({body} for {name} in range(p))")

    def bounded_body(self, name: str, size: str, spans: dict[str, str]) -> str:
        first = self.input_access({name: size})
        return first if self.chance(0.3) else f"{first} * {self.input_access({**spans, name: size})}"


def draw(rng: random.Random) -> Kernel:
    """One kernel."""
    kernel = Generator(rng).kernel()
    return dataclasses.replace(kernel, inputs=used(kernel))


def used(kernel: Kernel) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The inputs that are read."""
    text = "\n".join(line for loops in kernel.loops for line in loops.lines())
    return tuple(item for item in kernel.inputs if re.search(rf"\b{item[0]}\[", text))


def smaller(kernel: Kernel) -> Iterator[Kernel]:
    """Kernels with one part less: loops, a part of them, a statement, a branch or a term."""
    for n, loops in enumerate(kernel.loops):
        yield _with_loops(kernel, n, [])
        for p, (head, statements) in enumerate(loops.parts):
            for s, statement in enumerate(statements):
                for fewer in _smaller_statements(statement):
                    changed = (*statements[:s], *fewer, *statements[s + 1 :])
                    parts = (*loops.parts[:p], (head, changed), *loops.parts[p + 1 :])
                    yield _with_loops(kernel, n, [Loops(loops.heads, parts)])
    for output in kernel.outputs[1:]:
        yield dataclasses.replace(kernel, outputs=tuple(name for name in kernel.outputs if name != output))


def _smaller_statements(statement: Statement) -> Iterator[list[Statement]]:
    yield []
    for b, terms in enumerate(statement.branches):
        if b + 1 < len(statement.branches):
            branches = (*statement.branches[:b], *statement.branches[b + 1 :])
            yield [dataclasses.replace(statement, branches=branches)]
        for t in range(len(terms) if len(terms) > 1 else 0):
            fewer = (*terms[:t], *terms[t + 1 :])
            branches = (*statement.branches[:b], fewer, *statement.branches[b + 1 :])
            yield [dataclasses.replace(statement, branches=branches)]


def _with_loops(kernel: Kernel, place: int, instead: list[Loops]) -> Kernel:
    loops = (*kernel.loops[:place], *instead, *kernel.loops[place + 1 :])
    targets = {s.target for item in loops for _, statements in item.parts for s in statements}
    tensors = tuple(item for item in kernel.tensors if item[0] in targets)
    outputs = tuple(name for name in kernel.outputs if name in targets) or tuple(sorted(targets))[-1:]
    result = dataclasses.replace(kernel, loops=loops, tensors=tensors, outputs=outputs)
    return dataclasses.replace(result, inputs=used(result))
