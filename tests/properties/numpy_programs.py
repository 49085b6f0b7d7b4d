"""Random kernels whose meaning is NumPy's: each is grown by running it: its shapes and dtypes are known.

A program is text only: the kernel, and its arguments as expressions of NumPy. Each draws which of FEATURES
its text may have: programs of few features show the faults that those of many hide.
"""

from __future__ import annotations

import random
import re
import warnings
from typing import Any

import numpy as np
from numpy_nests import Nest, tiled
from numpy_values import HELPERS, Expressions, Program, base, fits


def draw(seed: str, without: frozenset[str] = frozenset()) -> Program:
    """The program of a seed, which NumPy may refuse at times."""
    rng = random.Random(seed)
    if rng.random() < 0.06 and "tiles" not in without:
        return tiled(rng)
    while True:
        writer = Writer(rng, without)
        program = writer.program()
        if program is not None:
            return program


class Writer(Expressions):
    """Writes one program line by line, and runs what it has written."""

    # Statements of whole arrays.

    def statement(self) -> bool:
        rng = self.rng
        arrays = self.arrays()
        kind = rng.random()
        if arrays and self.on("masked stores", 0.3):
            return self.masked(rng.choice(arrays))
        if arrays and self.on("places by data", 0.3):
            return self.scattered(rng.choice(arrays))
        often = ("helpers", "containers", "norms", "joined", "rounding")
        calls = [name for name in often if self.on(name, 0.25)]
        if arrays and calls:
            name = rng.choice(arrays)
            return self.assign_name(self.makers()[rng.choice(calls)](name, self.env[name].shape))
        if arrays and self.on("views", 0.35):
            return self.named_view(rng.choice(arrays), "views")
        if arrays and self.on("views by functions", 0.35):
            return self.named_view(rng.choice(arrays), "views by functions")
        if arrays and self.on("aliases", 0.15):
            return self.assign_name(rng.choice(arrays))
        vectors = [name for name in self.vectors() if self.env[name].size > 1]
        if vectors and self.on("interleaved", 0.3):
            return self.interleaved(rng.choice(vectors))
        if kind < 0.35 or not arrays:
            return self.assign_name(self.whole(rng.choice([1, 2, 2, 3])))
        name = rng.choice(arrays)
        if kind < 0.55:
            self.assigned.add(name)
            operator = rng.choice(["+=", "-=", "*=", "+=", "/=", "&=", "|=", *self.in_place()])
            target = name if self.chance(0.4) else self.target(name)
            return self.add(f"{target} {operator} {self.fitted(np.shape(self.value(target)))}")
        target = self.target(name)
        found = self.value(target)
        if not isinstance(found, np.ndarray):
            return False
        self.assigned.add(name)
        text = self.whole(2) if self.chance(0.5) else self.fitted(found.shape)
        if not fits(np.shape(self.value(text)), found.shape):
            text = self.fitted(found.shape)
        if np.iscomplexobj(self.value(text)) and not np.iscomplexobj(found):
            text = f"cy.real({text})"
        if text == name:
            text = f"{name}.copy()"
        return self.add(f"{target} = {text}")

    def in_place(self) -> list[str]:
        return ["**=", "//=", "%="] if "exponents" in self.features else []

    def masked(self, name: str) -> bool:
        """A number for the elements that a test chooses."""
        self.assigned.add(name)
        test = self.rng.choice([f"{name} > 0", f"cy.isnan({name})", f"{name} == {self.scalar()}"])
        return self.add(f"{name}[{test}] = {self.scalar()}")

    def scattered(self, name: str) -> bool:
        """Elements or rows of an array are assigned, or added to, at the places that data tell."""
        places = self.places(self.env[name].shape[0])
        if places is None:
            return False
        target = f"{name}[{places}]"
        value = self.fitted(np.shape(self.value(target)))
        self.assigned.add(name)
        if self.chance(0.4):
            return self.add(f"np.add.at({name}, {places}, {value})")
        return self.add(f"{target} {self.rng.choice(['=', '=', '+=', '*='])} {value}")

    def target(self, name: str) -> str:
        part = self.part_of(name)
        return part if ".T" not in part and "None" not in part else f"{name}[...]"

    def assign_name(self, text: str) -> bool:
        known = [name for name in self.env if name.startswith("y")]
        name = self.rng.choice(known) if known and self.chance(0.25) else self.fresh()
        before = self.env.get(name)
        found = self.value(text)
        if (
            name in known
            and self.loops
            and (np.shape(before) != np.shape(found) or not self.same_kind(before, found))
        ):
            name = self.fresh()  # a name that a loop carries keeps its shape and dtype
        if not self.add(f"{name} = {text}"):
            return False
        self.assigned.add(name)
        return True

    @staticmethod
    def same_kind(a: Any, b: Any) -> bool:
        return getattr(a, "dtype", type(a)) == getattr(b, "dtype", type(b))

    def named_view(self, name: str, feature: str) -> bool:
        """A view that keeps a name; it or its base changes, and both are read."""
        found = self.env[name]
        text = self.part_of(name) if feature == "views" else self.view_by_function(name, found.shape)
        if feature == "views" and found.ndim > 1 and self.chance(0.25):
            text = f"{name}.T"
        view = self.fresh()
        if not isinstance(self.value(text), np.ndarray) or not self.add(f"{view} = {text}"):
            return False
        self.assigned |= {view, name}
        changed = self.rng.choice([view, name])
        what = self.rng.choice([changed, f"{changed}[...]", self.target(changed)])
        operator = self.rng.choice(["+=", "*=", "="] if what != changed else ["+=", "*="])
        self.add(f"{what} {operator} {self.fitted(np.shape(self.value(what)))}")
        if self.chance(0.4):
            self.assign_name(f"({view} + 1)")
        return True

    def interleaved(self, name: str) -> bool:
        self.assigned.add(name)
        if self.chance(0.5):
            parts = [f"{name}[::2]", f"{name}[1::2]"]
            return all(self.add(f"{part} = {self.fitted(np.shape(self.value(part)))}") for part in parts)
        part = self.rng.choice([f"{name}[::2]", f"{name}[1::2]", f"{name}[::-2]"])
        if not self.add(f"{part} = {self.fitted(np.shape(self.value(part)))}"):
            return False
        return self.assign_name(f"({name} + 1)")

    def block(self) -> bool:
        """A statement, or a loop or branch of some."""
        rng = self.rng
        if self.on("nests", 0.5):
            return Nest(self).write()
        if self.on("accumulators", 0.3):
            return self.accumulator()
        if self.on("carried numbers", 0.4):
            return self.carried()
        if not self.loops and self.on("whiles", 0.35):
            return self.while_loop()
        if len(self.loops) < 2 and self.on("time loops", 0.4):
            steps = rng.randint(1, 3)
            head = f"for t{len(self.loops)} in range({steps}):"
            if self.on("negative steps", 0.6):
                head = f"for t{len(self.loops)} in range({steps}, 0, -1):"
            return self.inside(head, [f"t{len(self.loops)}"])
        if self.on("conditions", 0.25):
            return self.inside(f"if {self.test()}:", [], branch=True)
        return self.statement()

    def inside(self, head: str, indices: list[str], branch: bool = False) -> bool:
        kept = (list(self.lines), self.pad, list(self.loops), dict(self.env))
        self.lines.append(self.pad + head)
        self.pad += "    "
        self.loops += indices
        start = len(self.lines)
        for _ in range(self.rng.choice([1, 2, 2, 3])):
            if branch:
                self.branch_statement()
            else:
                self.block() if self.chance(0.3) else self.statement()
        if self.loops and not branch and self.on("breaks", 0.4):
            self.add(f"if {self.test()}:", "    break")
        empty = len(self.lines) == start
        lines = list(self.lines)
        _, self.pad, self.loops, env = kept
        self.lines = kept[0] if empty else lines
        if not self.add():  # a second iteration is refused
            self.lines, self.env = kept[0], env
            return False
        if empty:
            return False
        self.hide(env)
        return True

    def hide(self, known: Any) -> None:
        """Names that only a loop has end with it."""
        self.hidden |= set(self.env) - set(known)
        self.env = {name: one for name, one in self.env.items() if name not in self.hidden}

    def branch_statement(self) -> None:
        """An assignment to an array that there is."""
        arrays = self.arrays()
        if not arrays:
            return
        name = self.rng.choice(arrays)
        target = self.target(name)
        found = self.value(target)
        if isinstance(found, np.ndarray):
            operator = self.rng.choice(["=", "+=", "-=", "*="])
            if self.add(f"{target} {operator} {self.fitted(found.shape)}"):
                self.assigned.add(name)

    def while_loop(self) -> bool:
        """At most some steps, counted; the condition is of data, or of a number at the start."""
        rng = self.rng
        arrays = [name for name in self.arrays() if self.env[name].size and self.env[name].dtype.kind in "if"]
        if not arrays:
            return False
        name, change = rng.choice(arrays), self.fresh()
        before = (list(self.lines), dict(self.env))
        started = rng.choice(["1.0", *[f"cy.max(cy.abs({name}))"] * 3])
        halved = rng.choice([f"{name}[...] = {name} / 2", f"{name} -= 1", f"{name}[...] = {name} * 0.5"])
        self.assigned |= {name, change}
        steps = self.fresh()
        ok = self.add(f"{change} = {started}", f"{steps} = cy.zeros((1,), dtype='int64')")
        if not ok:
            return False
        body = [f"while {change} > {rng.choice(['0.5', '1', '0'])} and {steps}[0] < 4:", f"    {halved}"]
        body += [f"    {change} = cy.max(cy.abs({name}))", f"    {steps} += 1"]
        if not self.add(*body):
            self.lines, self.env = before
            return False
        return True

    def accumulator(self) -> bool:
        """A number that a loop adds to, of another dtype at the start perhaps."""
        vectors = self.vectors()
        if not vectors:
            return False
        rng = self.rng
        name, total, index = rng.choice(vectors), self.fresh(), "k"
        size = self.env[name].shape[0]
        start = rng.choice(["0", "0.0", "1.0", "1", "-0.0", f"{name}[0]" if size else "0", "False"])
        update = rng.choice([f"+= {name}[k]", f"-= {name}[k]", f"+= {name}[k] * k", "+= 1"])
        if self.on("python extrema", 0.4):
            start = f"cy.full((1,), {rng.choice(['0', '2.0', '-1'])}, dtype={self.env[name].dtype.name!r})"
            update = f"[0] {rng.choice(['*=', '-='])} {rng.choice(['max', 'min'])}({total}[0], {name}[k])"
        elif self.on("sums of tests", 0.4):
            update = f"+= {name}[k] > 0"
        update = total + (update if update[0] == "[" else f" {update}")
        body = [f"    {update}"]
        if self.on("conditions", 0.4):
            body = [f"    if {name}[k] > 0:", f"        {update}"]
        heads = [f"range({size})", f"range({size - 1}, -1, -1)"]
        head = heads[self.on("negative steps", 0.6)]
        self.assigned.add(total)
        self.hidden.add(index)
        return self.add(f"{total} = {start}", f"for {index} in {head}:", *body)

    def carried(self) -> bool:
        """Numbers that a loop carries, which meet those of other types; a count or they end it."""
        rng = self.rng
        names = [self.fresh(), self.fresh()]
        elements = [
            f"{name}[{rng.randrange(len(self.env[name]))}]" for name in self.vectors() if len(self.env[name])
        ]

        def step() -> str:
            name = rng.choice(names)
            operand = rng.choice([*names, *self.scalars(), *elements, self.literal()])
            operator = rng.choice(["+", "+", "-", "*", "/"])
            forms = [f"{name} {operator} {operand}", f"{rng.choice(['max', 'min'])}({name}, {operand})"]
            in_place = [f"{name} {operator}= {operand}"] if operator != "/" else []
            return rng.choice([*in_place, f"{name} = {forms[0]}", f"{name} = {rng.choice(forms)}"])

        starts = [
            f"{name} = {rng.choice(['0', '1', '0.0', '1.0', '-1.5', self.literal()])}" for name in names
        ]
        count = rng.choice(["i", "j", "k", self.fresh()])
        steps = [f"    {step()}" for _ in range(rng.choice([1, 1, 2]))]
        ends = [
            f"    if {rng.choice(names)} {rng.choice(['>', '<'])} {rng.choice([*elements, '3', '-1'])}:",
            "        break",
        ]
        body = rng.choice([steps, [*steps, *ends], [*ends, *steps]])
        n = rng.choice([1, 2, 3, 3, 4])
        if self.chance(0.3):
            body = [f"for {count} in range({n}):", *body]
        else:
            more = rng.choice(["", "", f" and {names[0]} < 9"])
            body = [f"{count} = 0", f"while {count} < {n}{more}:", *body, f"    {count} += 1"]
        if not self.add(*starts, *body):
            return False
        self.assigned |= {*names}
        self.hidden.add(count)
        self.env.pop(count, None)
        return True

    def program(self) -> Program | None:
        self.draw_arguments()
        features = tuple(sorted(self.features))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.given = Program("", tuple(self.arguments.values())).values()
        if not self.add():
            return None
        wanted = self.rng.randint(1, 5)
        for _ in range(3 * wanted):
            wanted -= self.block()
            if wanted <= 0:
                break
        # Numbers of Python are no results.
        outputs = [
            name
            for name, one in self.env.items()
            if name in self.assigned and isinstance(one, np.ndarray | np.generic)
        ]
        results = [self.result(name) for name in self.rng.sample(outputs, min(len(outputs), 4))]
        last = self.whole(2)
        if isinstance(self.value(last), np.ndarray | np.generic) and (not results or self.chance(0.4)):
            results += [] if last in self.env else [last]
        if self.on("generators", 0.3) and self.vectors():
            text = f"({self.fold_of(self.rng.choice(self.vectors()))} + {self.rng.choice(self.arrays())})"
            results += [text] if self.value(text) is not None else []
        for name in [one for one in ("a", "b") if one in self.others]:
            pair = {self.others[name], self.arguments[name]}
            if pair == {"0.0", "-0.0"} and self.arrays():
                results.append(f"({self.rng.choice(self.arrays())} * {name})")
        if not results:
            return None
        self.lines.append(f"    return {', '.join(results)}")
        head = ["@cy.kernel(max_steps=8)", f"def kernel({', '.join(self.arguments)}):"]
        text = "\n".join([*head, *self.lines, ""])
        called = {head: body for head, body in HELPERS.items() if f"{head.split('(')[0]}(" in text}
        if any(head.startswith("fourfold") for head in called):
            called["scaled(x, by=2)"] = HELPERS["scaled(x, by=2)"]
        text += "".join(f"\n\ndef {head}:\n{body}\n" for head, body in called.items())
        return Program(text, tuple(self.arguments.values()), tuple(self.others.values()), features)

    def result(self, name: str) -> str:
        """The text of a name's value: each array is one result, and inputs are where they are assigned."""
        if not isinstance(self.env[name], np.ndarray):
            return name if name not in self.arguments else f"{name} + 0"
        own = id(base(self.env[name]))
        inputs = {id(base(one)) for one in map(self.env.get, self.arguments)}
        changed = any(re.match(rf"    {name}(\[.*\])? \S?= ", line) for line in self.lines)
        if own in self.returned or (own in inputs and not (changed and name in self.arguments)):
            return f"{name}.copy()"
        self.returned.add(own)
        return name
