"""Placements where neither a schedule nor a machine is given: what runs on threads and on ranks.

The simulator keeps the array that the compiler finds, a PE for each element. A thread or a rank is worth some
thousand elements: there a program of scalars is one PE, or one for each worker, in an order that adds in the
order of the equations: those of the array, where that reduces from both ends, which few orders of one PE do.
All these programs have the same bits. A kernel that takes long, and whose tiles tile operators compute, may
run in tiles instead (`tile_lengths`), in the order of sums over tiles.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from cyclotron import _core
from cyclotron.compiler.blocking import Blocking
from cyclotron.compiler.recurrences import Recurrences
from cyclotron.language.lower.recorded import RecordedSystem
from cyclotron.machine.machine import Machine
from cyclotron.machine.parts import PE, UNBOUNDED, Link
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.errors import CyclotronError, ExecutionError


class _Compiled(Protocol):
    """The part of a program that `Placements` looks at."""

    core: _core.Program
    grid: tuple[int, ...]
    schedule: Schedule | None
    tensors: list[dict[str, Any]]

    @property
    def channel_flows(self) -> list[str]:
        """The flows that each channel moves."""


_Program = TypeVar("_Program", bound=_Compiled)

# The machine where none is given: as large as the program needs, unit costs.
_DEEP = Link(depth=UNBOUNDED)
_UNLIMITED = Machine(link=_DEEP, broadcast=_DEEP, pe=PE(memory=1 << 40))

_SECONDS_A_CYCLE = 1e-9  # of an operation on scalars, in vectors
_SECONDS_A_COPY = 3e-9  # of a scalar of an input, into the memory of a PE
# Operations of one PE from which on another order of its loops is compiled, and an array of workers is.
_LONG, _VERY_LONG = 100_000, 100_000_000
# That an array of workers takes to be found, for each instruction of one PE's program.
_SECONDS_AN_INSTRUCTION = 5e-3
# An array of so few PEs runs as it is: to compile again takes longer than a run gains.
_FEW_PES = 64
# Operations from which on tiles are worth to be looked for: one PE takes some hundredths of a second then.
_WORTH_TILES = 10_000_000
_SHORTEST_TILE, _LONGEST_TILE, _LONGEST_PRODUCT = 64, 256, 1024
_MOST_WORK = 1 << 21  # instructions that are followed to tell a time: a few hundredths of a second
_FEW_WORKERS = 4  # so many share each side of a product
_FEW_STEPS = 8  # of loops whose end is a matter of data
_GAIN = 0.8  # an array of workers takes at most this share of one PE's time,
_CUT = 1.5  # with this factor for its loops, which are shorter


def unlimited(schedule: Schedule | None) -> Machine:
    """Return the machine that is compiled for where none is given: ample, with rings for a rotation.

    Parameters
    ----------
    schedule : Schedule or None
    """
    rings = schedule is not None and schedule.rotations
    return dataclasses.replace(_UNLIMITED, topology="torus") if rings else _UNLIMITED


@dataclass(frozen=True)
class Workers:
    """The threads or ranks of a run.

    Attributes
    ----------
    count : int
    seconds_per_message : float
        What a scalar takes from one to the next.
    """

    count: int
    seconds_per_message: float


class Placements(Generic[_Program]):
    """The programs of one kernel's equations for threads and ranks; each is chosen and compiled once.

    Parameters
    ----------
    recurrences : Recurrences
        As the kernel has them.
    compile : callable
        Takes a schedule and a machine; returns the program of the equations.
    """

    def __init__(
        self, recurrences: Recurrences, compile: Callable[[Schedule | None, Machine], _Program]
    ) -> None:
        self.recurrences = recurrences
        self._compile = compile
        self._chosen: dict[Workers, _Program | None] = {}
        self._times: dict[Workers, float] = {}

    def on(self, workers: Workers) -> _Program | None:
        """Return the program for so many threads or ranks.

        None where a program of the default array serves them as it is: its elements are tiles, or no order of
        the loops is that of one PE or an array of workers.
        """
        if workers not in self._chosen:
            self._chosen[workers] = self._choose(workers)
        return self._chosen[workers]

    def _choose(self, workers: Workers) -> _Program | None:
        alone = self._alone
        if alone is not None and _has_tiles(alone):
            return None
        seconds = math.inf if alone is None else self._seconds(workers)
        if seconds < _LONG * _SECONDS_A_CYCLE:
            return alone
        # Loops that numbers end are short as long as they are innermost.
        if alone is not None and not alone.core.is_bounded_by_numbers and (order := self._vector_order()):
            other = self._attempt(order, unlimited(None))
            # Where an order reads all elements for the one that a number tells, it takes many times as long.
            if other and _simulated(other, workers) <= 2 * _simulated(alone, workers):
                alone = other
        search = 0 if alone is None else alone.core.classes[0].instructions * _SECONDS_AN_INSTRUCTION
        if workers.count == 1 or seconds < max(_VERY_LONG * _SECONDS_A_CYCLE, search):
            return alone
        machine = dataclasses.replace(_UNLIMITED, grid=(workers.count,))
        array = self._attempt(None, machine)
        if alone is None or array is None:
            return array if alone is None else alone
        passed = {flow.partition("^")[0] for flow in array.channel_flows if "^" in flow}
        sizes = {t["name"]: math.prod(t["shape"]) for t in array.tensors if t["role"] != "output"}
        if not passed <= sizes.keys():
            together = _simulated(array, workers)
            return array if together < math.inf and _CUT * together < _GAIN * seconds else alone
        # Nothing that a worker computes is another's: each loads the inputs that it needs for itself.
        assert array.schedule is not None
        copied = sum(sizes[name] for name in passed) * _SECONDS_A_COPY
        apart = self._attempt(self._array_order(array.schedule.space_indices, passed), machine)
        pays = seconds / workers.count + copied < _GAIN * seconds
        return apart if pays and apart is not None and "^" not in "".join(apart.channel_flows) else alone

    def tiles_pay(self, workers: Workers) -> bool:
        """Tell if the kernel is one of scalars that takes so long that tiles of them are worth to be tried.

        Parameters
        ----------
        workers : Workers
        """
        return self._seconds(workers) >= _WORTH_TILES * _SECONDS_A_CYCLE

    def array_pays(self, workers: Workers) -> bool:
        """Tell if its tiles are worth to be shared out to several threads or ranks.

        Parameters
        ----------
        workers : Workers
        """
        return workers.count > 1 and self._seconds(workers) >= _VERY_LONG * _SECONDS_A_CYCLE

    @functools.cached_property
    def _alone(self) -> _Program | None:
        return self._attempt(Schedule(), unlimited(None))

    def _seconds(self, workers: Workers) -> float:
        """The time of one PE for the kernel on scalars: 0 in tiles; of operations where that is all."""
        if workers not in self._times:
            alone = self._alone
            seconds = math.inf if alone is None else 0.0 if _has_tiles(alone) else _simulated(alone, workers)
            if seconds == math.inf:
                all_of = _core.operations_by_place(self.recurrences.core, unlimited(None).to_core(), [])
                seconds = sum(int(o["cycles"] * o["counts"]) for o in all_of) * _SECONDS_A_CYCLE
            self._times[workers] = seconds
        return self._times[workers]

    def _attempt(self, schedule: Schedule | None, machine: Machine) -> _Program | None:
        """The program, or None where it is refused."""
        try:
            return self._compile(schedule, machine)
        except CyclotronError:
            return None

    def _indices(self) -> tuple[list[str], list[str]]:
        """All indices in the order of the nest, and those of sums."""
        system = self.recurrences.core
        names = _core.index_names(system)
        sums = system.reduction_indices if isinstance(system, RecordedSystem) else set()
        return names, [name for name in names if name in sums]

    def _vector_order(self) -> Schedule | None:
        """An order of loops whose innermost has elements that are apart, so that it runs in vectors.

        Terms are added in the same order for each element; sums of several elements take turns.
        """
        order = _core.vector_order(self.recurrences.core, set(self._indices()[1]))
        return Schedule().time(*order) if order else None

    def _array_order(self, space: tuple[str, ...], inputs: set[str]) -> Schedule:
        """A row of workers that load inputs for themselves; the elements of each are the innermost loop."""
        names, sums = self._indices()
        rest = [name for name in names if name not in (*space, *sums)]
        schedule = Schedule().space(*space).time(*(name for name in sums if name not in space), *rest)
        for name in sorted(inputs):
            schedule = schedule.prefetch(name)
        return schedule


def tile_lengths(blocking: Blocking, workers: int) -> dict[str, int]:
    """Return the lengths of tiles that fit threads or ranks, by index.

    Tiles of products alone are as large as the shares of the workers; those of others so small that each
    worker has several of a row, since some wait for others.

    Parameters
    ----------
    blocking : Blocking
        In tiles of any lengths.
    workers : int
    """
    side = math.isqrt(workers - 1) + 1  # of a square of workers
    products = all(set(item.operators) <= {"gemm"} for item in blocking.classes)
    lengths: dict[str, int] = {}
    for names, extent in blocking.extents * len(blocking.extents):  # loops of one name have one length
        if products:
            share = 1 if workers == 1 else workers if workers <= _FEW_WORKERS else 2 * side
            length = -(-extent // max(share, -(-extent // _LONGEST_PRODUCT)))
        else:
            share = -(-extent // max(8, 4 * side))
            length = min(max(-(-share // 32) * 32, _SHORTEST_TILE), _LONGEST_TILE)
        length = max(length, min(extent, _SHORTEST_TILE), 1, *(lengths.get(name, 0) for name in names))
        lengths.update(dict.fromkeys(names, length))
    return lengths


def is_small(program: _Compiled) -> bool:
    """Tell if the array of a program has so few PEs that threads and ranks run it as it is.

    Parameters
    ----------
    program : Program
    """
    return math.prod(program.grid) <= _FEW_PES


def _has_tiles(program: _Compiled) -> bool:
    """Tell if a tensor's elements are more than scalars."""
    return any(math.prod(tensor["tile"]) > 1 for tensor in program.tensors)


def _simulated(program: _Compiled, workers: Workers) -> float:
    """The time that a run should take; infinite where it takes long to tell."""
    steps = [min(_FEW_STEPS, ending["steps"]) for ending in program.core.endings]
    try:
        timing = _core.simulate(
            program.core, [], functional=False, event_limit=0, steps=steps, most_work=_MOST_WORK
        )
    except ExecutionError:
        return math.inf
    words = sum(int(channel["words"]) for channel in timing["channels"])
    return float(timing["cycles"]) * _SECONDS_A_CYCLE + words * workers.seconds_per_message
