"""Schedules, machines and arrays that do not fit a matrix product, each wrong in one random way."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import cyclotron as cy

SOURCE = """import cyclotron as cy


@cy.kernel
def kernel(A, B):
    C = cy.empty((A.shape[0], B.shape[1]), dtype=A.dtype)
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C
"""
INDICES = ("i", "j", "k")
TENSORS = ("A", "B", "C")
STRANGERS = ("z", "n", "ii", "k2", "D", "a", "X1")
DTYPES = ("int64", "float64", "float32", "int32")


@dataclass
class Wrong:
    """An action to be refused, the class and code of the refusal, and what its text must name."""

    action: Callable[[], Any]
    kind: type[cy.CyclotronError]
    code: str
    named: tuple[str, ...]
    offered: tuple[str, ...] = ()

    def fault(self) -> str:
        """Faults of the refusal; empty where there is none."""
        try:
            self.action()
        except cy.CyclotronError as error:
            if type(error) is not self.kind or error.code != self.code or not error.help:
                return f"not {self.kind.__name__} {self.code} with help:\n{error}"
            lacking = [text for text in self.named if text not in error.message]
            lacking += [text for text in self.offered if text not in error.help]
            return f"does not name {lacking}:\n{error}" if lacking else ""
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return "accepted"


class Product:
    """Draws wrong uses of one matrix product."""

    def __init__(self, rng: random.Random, load: Any) -> None:
        self.rng, self.kernel = rng, load(SOURCE)
        self.sizes = {name: rng.randint(2, 6) for name in INDICES}
        self.dtype = rng.choice(DTYPES)
        self.shapes = {"A": self.shape("i", "k"), "B": self.shape("k", "j")}
        self.arrays = [np.ones(shape, self.dtype) for shape in self.shapes.values()]
        self.program: cy.Program | None = None

    def shape(self, *names: str) -> tuple[int, ...]:
        return tuple(self.sizes[name] for name in names)

    def compile(self, schedule: cy.Schedule, machine: cy.Machine | None = None) -> Callable[[], Any]:
        return lambda: self.kernel.compile(*self.arrays, schedule=schedule, machine=machine)

    def draw(self) -> Wrong:
        kinds = (
            self.unknown_index,
            self.unknown_tensor,
            self.folded_time,
            self.prefetched_result,
            self.wrong_rotation,
            self.wrong_blocks,
            self.repeated_index,
            self.same_form,
            self.wrong_grid,
            self.wrong_shape,
            self.wrong_dtype,
            self.wrong_count,
            self.wrong_machine,
        )
        return self.rng.choice(kinds)()

    def order(self) -> list[str]:
        return self.rng.sample(INDICES, 3)

    def unknown_index(self) -> Wrong:
        stranger = self.rng.choice(STRANGERS)
        a, b, c = self.order()
        schedule = self.rng.choice(
            [
                cy.Schedule().space(a, stranger),
                cy.Schedule().space(f"{a}-{stranger}", b),
                cy.Schedule().space(a).time(b, f"-{stranger}"),
                cy.Schedule().space(a, b).time(f"{a}+{stranger}"),
                cy.Schedule().space(a, b).stream("A", along=stranger),
                cy.Schedule().space(a, b).broadcast("B", along=[a, f"-{stranger}"]),
                cy.Schedule().space(a, b).rotate(stranger, by=a),
                cy.Schedule().space(a, b).rotate(c, by=(a, stranger)),
            ]
        )
        return Wrong(self.compile(schedule), cy.ScheduleError, "CYC310", (f"index `{stranger}`",), INDICES)

    def unknown_tensor(self) -> Wrong:
        stranger = self.rng.choice(STRANGERS)
        move = self.rng.choice([cy.Schedule.stream, cy.Schedule.broadcast, cy.Schedule.prefetch])
        a, b, _ = self.order()
        schedule = move(cy.Schedule().space(a, b), stranger)
        return Wrong(self.compile(schedule), cy.ScheduleError, "CYC310", (f"tensor `{stranger}`",), TENSORS)

    def folded_time(self) -> Wrong:
        a, b, c = self.order()
        count = self.rng.randint(1, 5)
        schedule = cy.Schedule().space(a, b).fold({c: self.rng.choice([cy.block, cy.cyclic])(count)})
        return Wrong(self.compile(schedule), cy.ScheduleError, "CYC315", (f"folds `{c}`",), (a, b))

    def prefetched_result(self) -> Wrong:
        schedule = cy.Schedule().space(*self.order()[: self.rng.randint(0, 3)]).prefetch("C")
        return Wrong(self.compile(schedule), cy.ScheduleError, "CYC312", ("`C`", "cannot be prefetched"))

    def wrong_rotation(self) -> Wrong:
        """Of a space index, of no reduction, or by what is not space."""
        by, turned, other = self.rng.choice(
            [(("i",), "j", "k"), (("i",), "k", "k"), (("j",), "i", "k"), (("k",), "k", "i")]
        )
        space = {turned, *by} if other == "k" else {other}
        schedule = cy.Schedule().space(*sorted(space)).rotate(turned, by=by)
        return Wrong(self.compile(schedule), cy.ScheduleError, "CYC317", (f"rotates `{turned}`",), ("space",))

    def wrong_blocks(self) -> Wrong:
        """Of what no reduction is over, or numbered by a name that is taken."""
        index = self.rng.choice(["i", "j", self.rng.choice(STRANGERS)])
        taken = self.rng.choice([*INDICES, *TENSORS])
        parts, start = self.rng.randint(1, 9), cy.Schedule().space(*self.order()[:1])
        if self.rng.random() < 0.5:
            schedule, words, known = start.reassociate(index, parts, "l"), f"reassociates `{index}`", ("k",)
        else:
            schedule, words, known = start.reassociate("k", parts, taken), f"into `{taken}`", INDICES
        return Wrong(self.compile(schedule), cy.ScheduleError, "CYC318", (words,), known)

    def repeated_index(self) -> Wrong:
        a, b, _ = self.order()
        both, once = cy.Schedule().space(a, b), cy.Schedule()
        kind = self.rng.randrange(3)
        if kind == 0:
            return Wrong(lambda: both.time(a), cy.ScheduleError, "CYC302", (f"`{a}`",))
        if kind == 1:
            return Wrong(lambda: once.space(a, b, a), cy.ScheduleError, "CYC303", (f"`{a}` is named twice",))
        return Wrong(lambda: both.stream("A", [b, b]), cy.ScheduleError, "CYC303", (f"`{b}` is named twice",))

    def same_form(self) -> Wrong:
        a, b, _ = self.order()
        schedule = cy.Schedule().space(f"{a}+{b}").time(f"{b}+{a}")
        return Wrong(self.compile(schedule), cy.ScheduleError, "CYC311", ("is mapped twice",))

    def wrong_grid(self) -> Wrong:
        """More or fewer dimensions than the machine has."""
        space = self.order()[: self.rng.randint(1, 3)]
        rank = self.rng.choice([n for n in (1, 2, 3) if n != len(space)])
        grid = tuple(self.rng.randint(1, 9) for _ in range(rank))
        needs = "x".join(str(self.sizes[name]) for name in space)
        action = self.compile(cy.Schedule().space(*space), cy.Machine(grid=grid))
        has = "x".join(map(str, grid))
        return Wrong(action, cy.CapacityError, "CYC502", (f"grid of {needs} PEs", f"has {has}"), (str(rank),))

    def run(self, *arrays: Any) -> Callable[[], Any]:
        if self.program is None:
            self.program = self.kernel.compile(*self.arrays)
        backend: Any = self.rng.choice(["sim", "local"])
        return lambda: cy.run(self.program, *arrays, backend=backend)  # type: ignore[arg-type]

    def wrong_shape(self) -> Wrong:
        place = self.rng.randrange(2)
        right = self.arrays[place].shape
        shape = list(right)
        kind = self.rng.randrange(3)
        if kind == 0:
            shape[self.rng.randrange(2)] += self.rng.choice([1, 2, -1])
        elif kind == 1:
            shape.append(self.rng.randint(1, 3))
        else:
            shape.pop()
        arrays = [*self.arrays]
        arrays[place] = np.ones(shape, self.dtype)
        named = (f"input `{'AB'[place]}`", str(tuple(shape)), str(right))
        return Wrong(self.run(*arrays), cy.ShapeError, "CYC710", named)

    def wrong_dtype(self) -> Wrong:
        place = self.rng.randrange(2)
        other = self.rng.choice([d for d in (*DTYPES, "bool", "int8", "complex128") if d != self.dtype])
        arrays = [*self.arrays]
        arrays[place] = arrays[place].astype(other)
        named = (f"input `{'AB'[place]}`", f"dtype {other} ", f"for {self.dtype}")
        return Wrong(self.run(*arrays), cy.ShapeError, "CYC710", named, (f"'{self.dtype}'",))

    def wrong_count(self) -> Wrong:
        count = self.rng.choice([1, 3, 4])
        action = self.run(*(self.arrays * 2)[:count])
        return Wrong(action, cy.ShapeError, "CYC710", (f"{count} inputs", "has 2: A, B"))

    def wrong_machine(self) -> Wrong:
        field, least = self.rng.choice([("depth", 1), ("latency", 0), ("words_per_cycle", 1)])
        value = self.rng.choice([least - 1, -self.rng.randint(1, 99), 2**41 + self.rng.randrange(99)])
        return Wrong(lambda: cy.Link(**{field: value}), cy.ShapeError, "CYC401", (field, str(value)))


def case(rng: random.Random, load: Any) -> list[tuple[str, str]]:
    """Judge some wrong uses: for each the code, and what is wrong with its refusal."""
    product = Product(rng, load)
    found = []
    for _ in range(12):
        wrong = product.draw()
        fault = wrong.fault()
        found.append((wrong.code, f"{product.sizes} {product.dtype}: {fault}" if fault else ""))
    return found
