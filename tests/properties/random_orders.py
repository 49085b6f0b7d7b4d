"""Uniform kernels under schedules that break a dependence or a link, each judged at all points."""

from __future__ import annotations

import functools
import itertools
import random
import re
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

import cyclotron as cy

Point = tuple[int, ...]
NAMES = ("i", "j", "k")


@dataclass(frozen=True)
class Uniform:
    """``X[p] = A[p] + sum of X[p - d]`` where all of these exist, else ``A[p]``."""

    sizes: Point
    offsets: tuple[Point, ...]

    @property
    def source(self) -> str:
        rank = len(self.sizes)
        indices = NAMES[:rank]
        lines = ["import cyclotron as cy", "", "", "@cy.kernel", "def kernel(A):", "    X = cy.empty_like(A)"]
        for depth, (index, size) in enumerate(zip(indices, self.sizes, strict=True)):
            lines.append("    " * (depth + 1) + f"for {index} in range({size}):")
        space = "    " * (rank + 1)
        own = ", ".join(indices)
        reads = " + ".join(
            f"X[{', '.join(_minus(index, d) for index, d in zip(indices, offset, strict=True))}]"
            for offset in self.offsets
        )
        needs = " and ".join(
            f"{_minus(index, o[axis])} >= 0 and {_minus(index, o[axis])} < {self.sizes[axis]}"
            for o in self.offsets
            for axis, index in enumerate(indices)
            if o[axis]
        )
        lines += [f"{space}if {needs}:", f"{space}    X[{own}] = {reads} + A[{own}]"]
        lines += [f"{space}else:", f"{space}    X[{own}] = A[{own}]", "    return X", ""]
        return "\n".join(lines)

    def points(self) -> list[Point]:
        return list(itertools.product(*map(range, self.sizes)))

    def needed(self, point: Point) -> list[Point]:
        """The points whose values this one needs."""
        sources = [tuple(p - d for p, d in zip(point, offset, strict=True)) for offset in self.offsets]
        inside = all(0 <= q < n for source in sources for q, n in zip(source, self.sizes, strict=True))
        return sources if inside else []


def _minus(index: str, offset: int) -> str:
    return index if offset == 0 else f"{index} {'-' if offset > 0 else '+'} {abs(offset)}"


@dataclass(frozen=True)
class Forms:
    """A schedule as affine forms: rows of coefficients."""

    space: tuple[Point, ...]
    time: tuple[Point, ...]

    @property
    def schedule(self) -> cy.Schedule:
        space, time = ([_text(row) for row in rows] for rows in (self.space, self.time))
        return cy.Schedule().space(*space).time(*time)

    def rows(self, names: list[str]) -> list[Point]:
        """The forms of the coordinates that a message names; steps that are no index are `t`, `t0`, `t1`."""
        known = {_text(row): row for row in (*self.space, *self.time)}
        steps = (row for row in self.time if _text(row) not in NAMES)
        return [known[name] if name in known else next(steps) for name in names]

    def point(self, names: list[str], coordinates: Point) -> Point | None:
        """The point with these coordinates."""
        matrix = np.array(self.rows(names))
        solved = np.rint(np.linalg.solve(matrix, np.array(coordinates))).astype(int)
        return tuple(map(int, solved)) if (matrix @ solved == coordinates).all() else None


def _text(row: Point) -> str:
    terms = [f"{'-' if c < 0 else '+'}{NAMES[axis]}" for axis, c in enumerate(row) if c]
    return "".join(terms).removeprefix("+")


def _at(rows: tuple[Point, ...], point: Point) -> Point:
    return tuple(sum(c * p for c, p in zip(row, point, strict=True)) for row in rows)


def draw_uniform(rng: random.Random, far: bool) -> Uniform:
    """A kernel whose text runs in order: offsets are lexicographically positive."""
    rank = rng.choice([1, 2, 2, 3])
    sizes = tuple(rng.randint(3, 6 - rank + 1) for _ in range(rank))
    offsets: set[Point] = set()
    for _ in range(rng.choice([1, 1, 2])):
        first = rng.randrange(rank)
        step = rng.choice([2, 2, 1]) if far else 1
        rest = (rng.choice([0, 0, 1, -1]) for _ in range(rank - first - 1))
        offsets.add((*(0,) * first, step, *rest))
    return Uniform(sizes, tuple(sorted(offsets)))


def draw_forms(rng: random.Random, rank: int) -> Forms:
    """A unimodular change of the indices: permuted, turned round and at times skewed."""
    rows = [[int(axis == place) for axis in range(rank)] for place in rng.sample(range(rank), rank)]
    rows = [[c * rng.choice([1, 1, -1]) for c in row] for row in rows]
    if rank > 1 and rng.random() < 0.3:
        a, b = rng.sample(range(rank), 2)
        sign = rng.choice([1, -1])
        rows[a] = [x + sign * y for x, y in zip(rows[a], rows[b], strict=True)]
    grid = rng.randint(0, rank)
    return Forms(tuple(map(tuple, rows[:grid])), tuple(map(tuple, rows[grid:])))


class Facts:
    """The verdict of brute force on a schedule of a kernel."""

    def __init__(self, kernel: Uniform, forms: Forms) -> None:
        self.kernel, self.forms = kernel, forms
        points = kernel.points()
        places = [_at(forms.space, p) for p in points]
        least = [min(along) for along in zip(*places, strict=True)]
        self.place = {
            p: tuple(x - o for x, o in zip(place, least, strict=True))
            for p, place in zip(points, places, strict=True)
        }
        self.step = {p: _at(forms.time, p) for p in points}
        self.edges = [(q, p) for p in points for q in kernel.needed(p)]
        # Accesses that read the same element hand it on to each other: such points are witnesses, too.
        users: dict[Point, list[Point]] = {}
        for q, p in self.edges:
            users.setdefault(q, []).append(p)
        pairs = {pair for readers in users.values() for pair in itertools.permutations(readers, 2)}
        self.related = pairs | set(self.edges)

    def hops(self, source: Point, point: Point) -> int:
        return sum(abs(a - b) for a, b in zip(self.place[source], self.place[point], strict=True))

    def on_a_way(self, source: Point, point: Point, made: bool) -> bool:
        """Tell whether a value's shortest way to its use goes from one point's PE to the other's."""
        between = self.hops(source, point)
        return between > 0 and any(
            self.hops(q, source) + between + self.hops(point, p) == self.hops(q, p)
            for q, p in self.edges
            if q == source or not made
        )

    @functools.cached_property
    def too_far(self) -> bool:
        return any(self.hops(q, p) > 1 for q, p in self.edges)

    @functools.cached_property
    def circular(self) -> bool:
        """Tell whether needs and orders of the PEs contradict each other: no machine could run it."""
        graph: dict[Point, set[Point]] = {p: set() for p in self.place}
        for q, p in self.edges:
            graph[p].add(q)
        by_place: dict[Point, list[Point]] = {}
        for p in sorted(self.place, key=lambda p: self.step[p]):
            by_place.setdefault(self.place[p], []).append(p)
        for line in by_place.values():
            for before, after in itertools.pairwise(line):
                graph[after].add(before)
        try:
            TopologicalSorter(graph).prepare()
        except CycleError:
            return True
        return False

    def confirms(self, error: cy.CyclotronError) -> bool:
        """Tell whether the two points or PEs of the message are what it says."""
        if error.code == "CYC220":
            return self._confirms_hop(error.message)
        return error.code == "CYC221" and self._confirms_order(error.message, error.notes[0][1])

    def _confirms_hop(self, message: str) -> bool:
        match = re.fullmatch(
            r"PE \((.*)\) needs `X` from PE \((.*)\), (\d+) hops away, and links join neighbours", message
        )
        if match is None:
            return False
        there, here = _numbers(match[2]), _numbers(match[1])
        hops = {self.hops(q, p) for q, p in self.related if (self.place[q], self.place[p]) == (there, here)}
        return hops == {int(match[3])} and int(match[3]) > 1

    def _confirms_order(self, message: str, note: str) -> bool:
        names = re.search(r"points are \((.*?)\), time order", note)
        match = re.fullmatch(
            r"`X` is needed at point \((.*?)\), (.*) of PE \((.*?)\), but (made at|passes) point \((.*?)\), "
            r"(.*) of PE \((.*?)\), which does not come before",
            message,
        )
        if match is None or names is None:
            return False
        at_point, at_source = (_numbers(match[n]) for n in (1, 5))
        point, source = (self.forms.point(names[1].split(", "), at) for at in (at_point, at_source))
        if point is None or source is None:
            return False
        related = (source, point) in self.related
        if not related and not self.on_a_way(source, point, made=match[4] == "made at"):
            return False
        for at, step, place in ((point, match[2], match[3]), (source, match[6], match[7])):
            steps = tuple(int(v) for v in re.findall(r"= (-?\d+)", step))
            # A schedule without space has a grid of one PE; one without time has one step.
            if steps != self.step[at] or _numbers(place) != (self.place[at] or (0,)):
                return False
        later = self.step[source] > self.step[point]
        return later or (self.step[source] == self.step[point] and len(self.forms.space) > 0)


def _numbers(text: str) -> Point:
    return tuple(int(number) for number in text.split(",")) if text else ()


def case(rng: random.Random, load: Any) -> list[tuple[str, str]]:
    """Judge illegal schedules of one kernel: for each the code, and what is wrong."""
    kernel = draw_uniform(rng, far=rng.random() < 0.5)
    compiled = load(kernel.source)
    argument = np.ones(kernel.sizes, "int64")
    found = []
    for _ in range(12):
        forms = draw_forms(rng, len(kernel.sizes))
        facts = Facts(kernel, forms)
        if not facts.too_far and not facts.circular:
            continue
        text = f"\n{kernel.source}\n# {forms.schedule!r}"
        try:
            program = compiled.compile(argument, schedule=forms.schedule)
        except cy.LegalityError as error:
            right = facts.confirms(error) and bool(error.help)
            wrong = "" if right else f"{error}\nis not confirmed: {facts.circular=} {facts.too_far=}{text}"
            found.append((error.code if right else "witness", wrong))
        except Exception as error:
            found.append((f"{type(error).__name__}", f"{error}{text}"))
        else:
            # PEs between pass a value on: far is illegal only where the result says so.
            result = cy.run(program, backend="sim").output
            if facts.circular or not np.array_equal(result, compiled.reference(argument)):
                found.append(("accepted", f"{facts.circular=} {facts.too_far=}{text}"))
    return found
