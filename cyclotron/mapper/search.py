"""Best-first branch and bound over the space of mappings; the simulator decides among what bounds leave."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import heapq
import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from cyclotron import _core
from cyclotron.machine.machine import Machine
from cyclotron.mapper.evaluate import Measured, Refused, evaluate
from cyclotron.mapper.measure_cache import MeasureCache
from cyclotron.mapper.orders import needed, orders
from cyclotron.mapper.space import Operand, Partial, Space, space_of
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.errors import CyclotronError

__all__ = ["Limits", "Outcome", "Problem", "search"]

# Nodes of the least bounds that are looked into beside each promising one, and operators of these together,
# at most: about as long as a mapping takes to compile.
_TIGHTENED, _MOST_OPERATORS = 64, 60_000
# Operators whose least time is found while one is read from the equations, as for each order that they have.
_OF_GRAPHS = 30


@dataclass(frozen=True)
class Problem:
    """One system to map, for one choice of tiles and one order of its reductions.

    Attributes
    ----------
    system : _core.System
    machine : Machine
    fix : Schedule
        What all mappings have in common.
    tile : tuple of int
    order : Schedule or None
        The same with the order of reductions; None: as in `fix`.
    like : Problem or None
        One without the trees of that order.
    default : callable or None
        Returns the schedule that is compiled for without one.
    """

    system: _core.System
    machine: Machine
    fix: Schedule
    tile: tuple[int, ...] = ()
    order: Schedule | None = None
    like: Problem | None = None
    default: Callable[[], Schedule] | None = None

    @functools.cached_property
    def space(self) -> Space:
        """The mappings."""
        order = self.order or self.fix
        within = needed(self.fix, order)
        if self.like is not None:
            return self.like.space.in_trees(order, within)
        return space_of(self.system, self.machine, order, within)

    def in_orders(self) -> list[Problem]:
        """The problem with its reductions in each order, the kernel's first."""
        result = {self.fix: self}
        for order in orders(self.system, self.machine, self.fix)[1:]:
            like = result.get(dataclasses.replace(order, reductions=())) if order.reductions else None
            result[order] = dataclasses.replace(self, order=order, like=like)
        return list(result.values())


@dataclass(frozen=True)
class Limits:
    """The ends of a search before the space is exhausted.

    Attributes
    ----------
    seconds : float or None
    candidates : int or None
        Mappings that are compiled.
    gap : float
        Share of the best by which another may be better.
    """

    seconds: float | None
    candidates: int | None
    gap: float


@dataclass
class Outcome:
    """The findings of a search.

    Attributes
    ----------
    measured : list of Measured
        All that compiled, in the order they were tried.
    refused : list of Refused
    pruned : Counter
        By reason, how many subtrees were not looked into.
    bound : int or float
        No mapping of the space has fewer cycles, or less of the first objective.
    ended : str
        Why: ``"exhausted"``, ``"gap"``, ``"time"``, ``"candidates"`` or ``"interrupted"``.
    seconds : float
        Of processor time.
    """

    measured: list[Measured] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    pruned: Counter[str] = field(default_factory=Counter)
    bound: float = 0
    ended: str = "exhausted"
    seconds: float = 0.0

    @property
    def tried(self) -> int:
        """Mappings that were compiled."""
        return len(self.measured) + len(self.refused)


@dataclass(order=True)
class _Node:
    """A partial mapping on the heap, in the order of its key; `guess` is no bound."""

    key: tuple[float, ...]
    bound: int = field(compare=False)
    guess: float = field(compare=False)
    problem: Problem = field(compare=False)
    partial: Partial = field(compare=False)
    proven: bool = field(default=False, compare=False)  # the bound is the best that is known

    @property
    def number(self) -> int:
        """Of the node, in the order of pushes."""
        return int(self.key[-1])


class Search:
    """One search.

    What is tried first is a guess, and what is proven is not: an estimate of the placement, then, where space
    and folds are chosen, what they take with the compiler's own movements and order, and for each other
    choice what it may save. Movements that were refused in a placement come later than others.

    Parameters
    ----------
    problems : sequence of Problem
        One a choice of tiles.
    objectives : sequence of str
        The first decides; the others among those that are equal in it.
    limits : Limits
    progress : callable
        Told the share of the time or of the candidates that is used.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        objectives: Sequence[str],
        limits: Limits,
        progress: Callable[[float], object],
    ) -> None:
        self.objectives, self.limits, self.progress = tuple(objectives), limits, progress
        self.outcome = Outcome()
        self._numbers = itertools.count()
        self._seen: dict[tuple[tuple[int, ...], Schedule], Measured | Refused] = {}
        self._best: float | None = None
        # The same nodes twice: by what they promise, and by what is proven. Placements, choices beyond
        # space and folds, and orders of reductions take turns, so that none waits for others' promises.
        self._promising: tuple[list[_Node], ...] = ([], [], [])
        self._turn = self._tightened = 0
        self._open: list[tuple[int, int]] = []
        self._nodes: dict[int, _Node] = {}
        self._refusals: Counter[tuple[object, ...]] = Counter()
        self._caches = {problem.tile: MeasureCache(problem.system, problem.machine) for problem in problems}
        self._problems = problems
        for problem in problems:
            for one in problem.in_orders():
                self._push(one, Partial(), least=problem.space.work)

    def run(self) -> Outcome:
        """Search until a limit is met; Ctrl-C is one, and keeps what was found."""
        started, clock = time.process_time(), time.monotonic()
        try:
            for problem in self._problems:
                self._try_default(problem)
            while not (ended := self._ended(clock)):
                self._step()
            self._prove_rest(clock)
        except KeyboardInterrupt:
            ended = "interrupted"
        finally:
            for cache in self._caches.values():
                cache.write()
        self.outcome.ended = ended
        self.outcome.bound = self._bound()
        self.outcome.seconds = time.process_time() - started
        return self.outcome

    def _try_default(self, problem: Problem) -> None:
        """Try what is compiled for without a schedule: what is found is not to be slower."""
        with contextlib.suppress(CyclotronError):
            if problem.fix == Schedule() and problem.default is not None:
                self._try(problem, problem.default(), ())

    def _step(self) -> None:
        """Look into the most promising node; closed at the end, it stays open where that is interrupted."""
        if self.outcome.tried != self._tightened:
            self._tightened = self.outcome.tried
            self._tighten_some(_MOST_OPERATORS, itertools.chain([False] * _TIGHTENED, [True]).__next__)
        if not (promising := self._next()):
            return
        node = heapq.heappop(promising)
        if node.number not in self._nodes:
            return
        self._prove(node)
        space = node.problem.space
        if self._is_beaten(node.bound):
            self.outcome.pruned["bound"] += 1
        elif node.bound > node.key[0]:  # less promising than it seemed
            node.key = (node.bound, *node.key[1:])
            heapq.heappush(promising, node)
            return
        elif space.is_leaf(node.partial):
            self._try_partial(node.problem, node.partial)
        else:
            guess = self._refined(node)
            for child in space.children(node.partial):
                self._push(node.problem, child, node, guess)
        del self._nodes[node.number]

    def _next(self) -> list[_Node]:
        """The nodes whose turn it is: of kinds that promise less than the best, where there are some."""
        self._turn += 1
        turns = self._promising[self._turn % 3 :] + self._promising[: self._turn % 3]
        best = math.inf if self._best is None else self._best
        return max(turns, key=lambda nodes: (bool(nodes), bool(nodes) and nodes[0].key[0] < best))

    def _prove_rest(self, clock: float) -> None:
        """Prove more of what is left, for as much work as the search did, or a tenth of its time."""
        seconds = self.limits.seconds
        self._tighten_some(
            _MOST_OPERATORS * self.outcome.tried,
            lambda: seconds is not None and time.monotonic() - clock >= 1.1 * seconds,
        )

    def _has_small_gap(self) -> bool:
        return self._best is not None and self._best - self._bound() <= self.limits.gap * self._best

    def _tighten_some(self, most: int, is_over: Callable[[], bool]) -> None:
        """Prove more of what is open until so many operators were looked into."""
        while most > 0 and not self._has_small_gap() and not is_over() and (work := self._tighten()):
            most -= work

    def _tighten(self) -> int:
        """Prove more of what is open with the least bound, uncompiled.

        Returns the operators that were looked into, by their work, and 0 where there is no more.
        """
        node = self._least_open()
        if node is None or node.proven:
            return 0
        space, problem = node.problem.space, node.problem
        graphs = space.graphs
        if not space.is_placed(node.partial):
            for child in space.children(node.partial):
                self._push(problem, child, node, node.guess)
            del self._nodes[node.number]
        else:
            self._prove(node)
            if self._is_beaten(node.bound):
                self.outcome.pruned["bound"] += 1
                del self._nodes[node.number]
        return space.bounds.operators * (1 + _OF_GRAPHS * (space.graphs - graphs)) + 1

    def _prove(self, node: _Node) -> None:
        if node.proven or not node.problem.space.is_placed(node.partial):
            return
        node.proven = True
        if self.objectives[0] == "cycles":
            node.bound = max(node.bound, node.problem.space.proven(node.partial))

    def _least_open(self) -> _Node | None:
        while self._open:
            bound, number = self._open[0]
            node = self._nodes.get(number)
            if node is not None and node.bound == bound:
                return node
            heapq.heappop(self._open)
            if node is not None:
                heapq.heappush(self._open, (node.bound, number))
        return None

    def _refined(self, node: _Node) -> float:
        """Return the guess; where space and folds are chosen, by what the compiler makes of them."""
        problem, partial = node.problem, node.partial
        if partial.movements or not problem.space.is_placed(partial):
            return node.guess
        found = self._try_partial(problem, problem.space.completed(partial))
        return node.guess if isinstance(found, Refused) else (found.cycles + node.bound) / 2

    def _push(
        self,
        problem: Problem,
        partial: Partial,
        parent: _Node | None = None,
        guess: float = 0.0,
        least: int | None = None,
    ) -> None:
        """Push a node; where its bound is given, its space is not looked into before it is taken."""
        bound = 0
        if self.objectives[0] == "cycles":
            bound = problem.space.bound(partial) if least is None else least
        bound = max(bound, parent.bound if parent is not None else 0)
        if self._is_beaten(bound):
            self.outcome.pruned["bound"] += 1
            return
        if (
            partial.space is not None
            and len(partial.shares) < len(partial.space) + 1
            and not partial.movements
        ):
            guess = problem.space.estimate(partial.space)
            guess *= bound / max(1, problem.space.bound(Partial(partial.space)))
        number = next(self._numbers)
        hope = max(bound, guess) + _delay(problem, partial) + self._penalty(problem, partial, bound)
        proven = parent is not None and parent.proven
        node = _Node((hope, -_depth(partial), number), bound, guess, problem, partial, proven)
        self._nodes[number] = node
        kind = 2 if partial.space is None else 1 if partial.movements or partial.time is not None else 0
        heapq.heappush(self._promising[kind], node)
        heapq.heappush(self._open, (bound, number))

    def _penalty(self, problem: Problem, partial: Partial, bound: int) -> float:
        """Later what was refused before: of this placement, each movement."""
        refused = sum(self._refusals[problem.tile, partial.space, one] for one in partial.movements if one)
        return 0.3 * bound * min(refused, 20)

    def _try_partial(self, problem: Problem, partial: Partial) -> Measured | Refused:
        moved = [(problem.tile, partial.space, one) for one in partial.movements if one]
        return self._try(problem, problem.space.schedule(partial), moved)

    def _try(
        self, problem: Problem, schedule: Schedule, choices: Iterable[tuple[object, ...]]
    ) -> Measured | Refused:
        """Compile a mapping, if it is new; where it is refused, so are its choices once more."""
        known = self._seen.get((problem.tile, schedule))
        if known is not None:
            self.outcome.pruned["the same as another"] += 1
            return known
        cache = self._caches[problem.tile]
        found = cache.get(schedule, problem.tile) or self._evaluate(problem, schedule)
        self._seen[problem.tile, schedule] = found
        if isinstance(found, Refused):
            self.outcome.refused.append(found)
            self._refusals.update(choices)
            return found
        self._seen[problem.tile, _in_that_order(found)] = found
        self.outcome.measured.append(found)
        value = found.value(self.objectives[0])
        self._best = value if self._best is None else min(self._best, value)
        return found

    def _evaluate(self, problem: Problem, schedule: Schedule) -> Measured | Refused:
        found = evaluate(problem.system, schedule, problem.machine, problem.tile)
        if isinstance(found, Measured):
            self._caches[problem.tile].put(found)
        return found

    def _is_beaten(self, bound: int) -> bool:
        """Not where it is equal: that may be better in another objective, as long as there is one."""
        if self._best is None:
            return False
        return bound > self._best or (bound == self._best and len(self.objectives) == 1)

    def _bound(self) -> float:
        node = self._least_open()
        least = None if node is None else node.bound
        if self._best is None:
            return least or 0
        return self._best if least is None else min(self._best, least)

    def _ended(self, clock: float) -> str:
        limits = self.limits
        if not self._nodes:
            return "exhausted"
        several = len(self.objectives) > 1  # the others may be better among equals
        if not several and self._has_small_gap():
            return "gap"
        used = [0.0]
        if limits.candidates is not None:
            used.append(self.outcome.tried / limits.candidates)
            if used[-1] >= 1:
                return "candidates"
        if limits.seconds is not None:
            used.append((time.monotonic() - clock) / limits.seconds if limits.seconds else 1.0)
            if used[-1] >= 1:
                return "time"
        self.progress(max(used))
        return ""


def search(
    problems: Sequence[Problem],
    objectives: Sequence[str],
    limits: Limits,
    progress: Callable[[float], object] = lambda _: None,
) -> Outcome:
    """Search the spaces of some problems together; see `Search`."""
    return Search(problems, objectives, limits, progress).run()


def _in_that_order(found: Measured) -> Schedule:
    """The schedule with the order of time that the compiler chose for it: the same mapping."""
    return found.schedule.time(*found.complete.time_indices)


def _depth(partial: Partial) -> int:
    """The number of choices made: of equal promise, the further one goes on."""
    return (
        (partial.space is not None)
        + len(partial.shares)
        + len(partial.movements)
        + (partial.rotation is not None)
        + (partial.time is not None)
    )


def _delay(problem: Problem, partial: Partial) -> float:
    """A guess, no bound, at the cycles until the last PE has its first values: what to try first."""
    machine = problem.machine
    result = 0.0
    operands = problem.space.operands if partial.movements else ()
    for operand, movement in zip(operands, partial.movements, strict=False):
        if movement is None or movement.kind == "stream":
            result += _stream_delay(problem, partial, operand)
        elif movement.kind == "broadcast":
            result += machine.broadcast.latency * max(1, len(movement.along))
    if partial.time:
        result += 0.5  # the compiler's own order first
    return result


def _stream_delay(problem: Problem, partial: Partial, operand: Operand) -> float:
    """The hops to the last PE, along the dimensions that the operand does not vary with."""
    free = operand.free(partial.space or ()) or ()
    return sum(problem.machine.link.latency * (_pes(problem, partial, index) - 1) for index in free)


def _pes(problem: Problem, partial: Partial, index: str) -> int:
    """PEs along an index in space."""
    space = partial.space or ()
    if index not in space or space.index(index) >= len(partial.shares):
        return 1
    d = space.index(index)
    share, axis = partial.shares[d], problem.space.axis(partial, d)
    return share.parts if share else axis.extent if axis else 1
