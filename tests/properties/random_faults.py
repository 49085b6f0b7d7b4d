"""Kernels broken on purpose, one place at a time, and whether the diagnostic's witness is a violation."""

from __future__ import annotations

import itertools
import random
import re
from typing import Any

import numpy as np
import random_kernels
from random_shadow import Faults

import cyclotron as cy


def broken(rng: random.Random, source: str) -> str:
    """The source with one change that often breaks it."""
    lines = source.split("\n")
    body = next(n for n, line in enumerate(lines) if line.startswith("    for "))
    changes = [
        _other_range,
        _weaker_guard,
        _shifted_read,
        _shifted_target,
        _lost_index,
        _shorter_fold,
        _repeat,
    ]
    change = rng.choice(changes)
    return change(rng, lines, body)


def _edit(rng: random.Random, lines: list[str], body: int, pattern: str, replacement: Any) -> str:
    """Replace one of the places that match."""
    places = [(n, m) for n in range(body, len(lines)) for m in re.finditer(pattern, lines[n])]
    if not places:
        return "\n".join(lines)
    number, match = rng.choice(places)
    text = replacement(match)
    lines[number] = lines[number][: match.start()] + text + lines[number][match.end() :]
    return "\n".join(lines)


def _other_range(rng: random.Random, lines: list[str], body: int) -> str:
    spans = [lambda m: f"{m[1]}range(1, {m[2]}):", lambda m: f"{m[1]}range({m[2]} - 1):"]
    spans.append(lambda m: f"{m[1]}range({m[2]} + 1):")
    return _edit(rng, lines, body, r"^( +for \w in )range\(([nmpij][ +1]*)\):", rng.choice(spans))


def _weaker_guard(rng: random.Random, lines: list[str], body: int) -> str:
    if rng.random() < 0.5:
        return _edit(rng, lines, body, r">= (\d)", lambda m: f">= {int(m[1]) - 1}")
    return _edit(rng, lines, body, r"\+ 1 < ", lambda m: "+ 1 <= ")


def _shifted_read(rng: random.Random, lines: list[str], body: int) -> str:
    shift = rng.choice([" + 1", " - 1"])
    return _edit(rng, lines, body, r"(?<== )(.*\[[^\]]*?)(\])", lambda m: m[1] + shift + m[2])


def _shifted_target(rng: random.Random, lines: list[str], body: int) -> str:
    shift = rng.choice([" + 1", " - 1"])
    return _edit(rng, lines, body, r"^( +\w\[[^\]]*)\](?= = )", lambda m: m[1] + shift + "]")


def _lost_index(rng: random.Random, lines: list[str], body: int) -> str:
    return _edit(rng, lines, body, r"^( +\w\[)\w(?=[,\]].* = )", lambda m: m[1] + "0")


def _shorter_fold(rng: random.Random, lines: list[str], body: int) -> str:
    if rng.random() < 0.5:
        return _edit(rng, lines, body, r"((?:max|min)\(.* in range\()(\w) \+ 1\)", lambda m: f"{m[1]}{m[2]})")
    return _edit(
        rng, lines, body, r"((?:max|min)\(.* in range\()(\w), (\w)\)", lambda m: f"{m[1]}{m[2]} + 1, {m[3]})"
    )


def _repeat(rng: random.Random, lines: list[str], body: int) -> str:
    end = next(n for n, line in enumerate(lines) if line.startswith("    return"))
    starts = [n for n in range(body, end) if lines[n].startswith("    for ")] + [end]
    n = rng.randrange(len(starts) - 1)
    return "\n".join([*lines[:end], *lines[starts[n] : starts[n + 1]], *lines[end:]])


class Confirm:
    """Checks the witness of CYC201 to CYC205 and CYC215 with the shadows."""

    def __init__(self, faults: Faults, sizes: dict[str, int]) -> None:
        self.faults, self.sizes = faults, sizes

    def __call__(self, error: cy.CyclotronError) -> bool:
        check = getattr(self, f"check_{error.code.lower()}", None)
        return isinstance(error, cy.LegalityError) and check is not None and bool(check(error.message))

    def element_at(self, access: str, point: str) -> tuple[str, tuple[int, ...]]:
        """The tensor and element of an access text at a point text such as ``i = 1, j = 0``."""
        values = dict(re.findall(r"(\w+) = (-?\d+)", point))
        name, subscripts = re.fullmatch(r"(\w+)\[(.*)\]", access).groups()  # type: ignore[union-attr]
        subscripts = re.sub(r"(\d)([a-z])", r"\1 * \2", subscripts)
        element = eval(f"({subscripts},)", {}, {index: int(value) for index, value in values.items()})
        return name, element

    def check_cyc201(self, message: str) -> bool:
        match = re.fullmatch(r"`(\w+)\[(.*)\]` is assigned twice, by two equations", message)
        if match:
            return _numbers(match[2]) in self.faults.twice(match[1])
        match = re.fullmatch(r"`(.+)` is assigned twice: at (.+) and at (.+)", message)
        if not match:
            return False
        name, element = self.element_at(match[1], match[2])
        same = self.element_at(match[1], match[3]) == (name, element) and match[2] != match[3]
        return same and element in self.faults.twice(name)

    def check_cyc202(self, message: str) -> bool:
        match = re.fullmatch(r"`(\w+)\[(.*)\]` is never assigned, and `\1` is returned", message)
        return match is not None and _numbers(match[2]) in self.faults.missing(match[1])

    def check_cyc203(self, message: str) -> bool:
        match = re.fullmatch(r"`(.+)` is `(\w+)\[(.*)\]` at (.*), but `\2` has shape \((.*)\)", message)
        if not match:
            return False
        element = _numbers(match[3])
        shadow = self.faults.arrays[match[2]]
        return (
            self.element_at(match[1], match[4]) == (match[2], element)
            and element in shadow.outside
            and _numbers(match[5]) == shadow.shape
        )

    def check_cyc204(self, message: str) -> bool:
        match = re.fullmatch(r"`(.+)` reads `(\w+)\[(.*)\]` at (.*), which no equation assigns", message)
        if not match:
            return False
        element = _numbers(match[3])
        agrees = self.element_at(match[1], match[4]) == (match[2], element)
        return agrees and element in self.faults.undefined(match[2])

    def check_cyc215(self, message: str) -> bool:
        pattern = r"`(.+)` reads `(\w+)\[(.*)\]` at (.*), to which nothing is assigned yet"
        match = re.fullmatch(pattern, message)
        if not match:
            return False
        element = _numbers(match[3])
        agrees = self.element_at(match[1], match[4]) == (match[2], element)
        return agrees and element in self.faults.tensors[match[2]].early

    def check_cyc205(self, message: str) -> bool:
        match = re.fullmatch(r"the maximum or minimum over `\w` is empty at (.*)", message)
        if not match:
            return False
        point = {index: int(value) for index, value in re.findall(r"(\w) = (-?\d+)", match[1])}
        # In a loop that runs backwards the message counts from its first index (n - 1 is 0).
        turned = itertools.product(*({v, *(n - 1 - v for n in self.sizes.values())} for v in point.values()))
        # The body's other variables are left over from loops before.
        empty = {tuple(place.get(index) for index in point) for place in self.faults.empty}
        return any(values in empty for values in turned)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(",")) if text else ()


def small_kernel(rng: random.Random) -> random_kernels.Kernel:
    """A kernel of the generator without accumulation, with one or two nests."""
    while True:
        kernel = random_kernels.draw(rng)
        if len(kernel.loops) <= 2 and all(maker == "empty" for _, _, maker in kernel.tensors):
            return kernel


def copied(kernel: random_kernels.Kernel) -> str:
    """The kernel's source with a copy of its last tensor returned: what that lacks is then read."""
    name, shape, _ = kernel.tensors[-1]
    indices = ", ".join("ijk"[: len(shape)])
    declared = f'    R = cy.empty(({", ".join(shape)},), dtype="{kernel.dtype}")\n'
    lines = ["    " * (n + 1) + f"for {'ijk'[n]} in range({extent}):" for n, extent in enumerate(shape)]
    lines += ["    " * (len(shape) + 1) + f"R[{indices}] = {name}[{indices}]", "    return R", ""]
    loops = kernel.source.index("\n    for ") + 1
    source = kernel.source[:loops] + declared + kernel.source[loops:]
    return re.sub(r"    return .*\n", lambda _: "\n".join(lines), source)


def case(rng: random.Random, load: Any) -> list[tuple[str, str]]:
    """Judge changes of one kernel that break it: for each the code, and what is wrong."""
    kernel = small_kernel(rng)
    targets = [name for name, _, _ in kernel.tensors]
    sizes = dict(zip(random_kernels.SIZES, (rng.randint(1, 4) for _ in range(3)), strict=True))
    shapes = {n: tuple(eval(t, {}, sizes) for t in shape) for n, shape in kernel.inputs}
    arguments = [*(np.ones(shape, kernel.dtype) for shape in shapes.values()), *sizes.values()]
    found = []
    right = kernel.source
    if rng.random() < 0.4 and "R" not in shapes:
        right, targets = copied(kernel), [*targets, "R"]
    for source in {broken(rng, right): None for _ in range(4)}:
        faults = Faults(source, shapes, targets, sizes)
        possible = faults.codes()
        if "CYC201" in possible:
            continue  # assigned twice: a loop nest, judged by test_random_nests.py
        error = _verdict(load(source), arguments)
        told = f"there is {sorted(possible)} in\n{source}\n# {sizes}"
        if error is None:
            if possible:
                found.append(("accepted", told))
        elif error.code == "CYC113" and isinstance(error, cy.TraceError):
            continue  # the change made a statement read its own target
        # In a loop nest that updates its array, text order counts (CYC215); elsewhere it does not.
        elif error.code in {*possible, "CYC215"} and Confirm(faults, sizes)(error) and error.help:
            found.append((error.code, ""))
        else:
            found.append(("witness", f"{error}\nis not confirmed; {told}"))
    return found


def _verdict(kernel: Any, arguments: list[Any]) -> cy.CyclotronError | None:
    try:
        kernel.recurrences(*arguments).verify()
    except cy.CyclotronError as error:
        return error
    return None
