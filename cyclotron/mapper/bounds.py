"""Lower bounds on the cycles of partial mappings, from exact counts of operations by place."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron import _core
from cyclotron.machine.machine import Machine
from cyclotron.schedule.schedule import Fold, Schedule

# Points that the longest chain of operators is followed through: a few tenths of a second.
_MOST_POINTS = 300_000
# What a dimension of the grid is shared out over: a fold, no fold, or not yet decided.
Shares = Sequence[Fold | None]


@dataclass(frozen=True)
class Count:
    """Operations by place, as `_core.operations_by_place` tells.

    Attributes
    ----------
    cycles : int
        Of each, at least.
    dimensions : tuple of int
        Of the grid, those that tell the place.
    first : tuple of int
        The least coordinate in each of these.
    counts : ndarray, int64
        Over these dimensions.
    """

    cycles: int
    dimensions: tuple[int, ...]
    first: tuple[int, ...]
    counts: NDArray[np.int64]


@dataclass(frozen=True)
class Axis:
    """A dimension of the grid before it is folded: its least coordinate, and how many there are."""

    first: int
    extent: int


class PlacedWork:
    """The operations of a kernel where its grid dimensions are some forms of its indices.

    Whatever else a schedule says, each operation runs in the PE that its place is folded onto, and takes its
    cycles there: the busiest PE's are a bound. Where a dimension is not yet shared out, no more PEs share it
    than there are.

    Parameters
    ----------
    system : _core.System
    machine : Machine
    space : tuple of str
        Forms of the indices, one a dimension.
    """

    def __init__(self, system: _core.System, machine: Machine, space: tuple[str, ...]) -> None:
        found = _core.operations_by_place(system, machine.to_core(), list(space))
        self.counts = [
            Count(one["cycles"], tuple(one["dimensions"]), tuple(one["first"]), np.asarray(one["counts"]))
            for one in found
        ]
        self.space = space
        self._bounds: dict[tuple[Any, ...], int] = {}
        self.axes = tuple(self._axis(d) for d in range(len(space)))
        self.total = sum(one.cycles * int(one.counts.sum()) for one in self.counts)

    def _axis(self, dimension: int) -> Axis | None:
        """The coordinates of all operations along a dimension; None where it has none of its own."""
        ends = [
            (one.first[at], one.first[at] + one.counts.shape[at])
            for one in self.counts
            for at, own in enumerate(one.dimensions)
            if own == dimension and one.counts.size
        ]
        if not ends:
            return None
        first = min(low for low, _ in ends)
        return Axis(first, max(high for _, high in ends) - first)

    def cycles(self, shares: Shares, most: Sequence[int]) -> int:
        """Return a lower bound on the cycles of the busiest PE.

        Parameters
        ----------
        shares : sequence of Fold or None
            Of the first dimensions, how they are folded; None: not at all. The rest is undecided.
        most : sequence of int
            PEs along each dimension at most.
        """
        key = (tuple(shares), tuple(most))
        if key not in self._bounds:
            self._bounds[key] = self._cycles(shares, most)
        return self._bounds[key]

    def _cycles(self, shares: Shares, most: Sequence[int]) -> int:
        decided = range(len(shares))
        options = [self._alignments(d, shares[d]) for d in decided]
        return min(
            (self._busiest(alignments, shares, most) for alignments in itertools.product(*options)), default=0
        )

    def _alignments(self, dimension: int, fold: Fold | None) -> list[Axis]:
        """Return what may lie along a dimension: operations, and a result beyond the first or the last term.

        Blocks are counted from the first coordinate of anything, so that they may be wider than the
        operations alone tell. The bound holds for each of these.
        """
        axis = self.axes[dimension] or Axis(0, 1)
        if fold is None or fold.kind == "cyclic":
            return [axis]
        return [axis, Axis(axis.first, axis.extent + 1), Axis(axis.first - 1, axis.extent + 1)]

    def _busiest(self, alignments: Sequence[Axis], shares: Shares, most: Sequence[int]) -> int:
        decided = len(shares)
        best = 0
        for size in range(decided + 1):
            for told in itertools.combinations(range(decided), size):
                pes = math.prod(
                    self._parts(d, shares[d] if d < decided else None, most)
                    for d in range(len(self.space))
                    if d not in told
                )
                loads = self._loads(told, alignments, shares)
                if loads is not None:
                    best = max(best, -(-int(loads.max()) // pes))
        return best

    def _parts(self, dimension: int, fold: Fold | None, most: Sequence[int]) -> int:
        if fold is not None:
            return fold.parts
        axis = self.axes[dimension]
        # One more for a result beyond the last term, which may compute, too.
        return max(1, min(most[dimension], axis.extent + 1 if axis else most[dimension]))

    def _loads(
        self, told: tuple[int, ...], alignments: Sequence[Axis], shares: Shares
    ) -> NDArray[np.int64] | None:
        """Cycles by a PE's coordinates in some dimensions, of the operations that these tell the place of."""
        total: NDArray[np.int64] | None = None
        for one in self.counts:
            if not set(told) <= set(one.dimensions) or not one.counts.size:
                continue
            array = one.counts * one.cycles
            for at in reversed(range(array.ndim)):
                if one.dimensions[at] not in told:
                    array = array.sum(axis=at)
            kept = [(d, one.first[at]) for at, d in enumerate(one.dimensions) if d in told]
            for at, (d, first) in enumerate(kept):
                array = _folded(array, at, first, alignments[d], shares[d])
            total = array if total is None else total + array
        return total


def _folded(
    array: NDArray[np.int64], at: int, first: int, axis: Axis, fold: Fold | None
) -> NDArray[np.int64]:
    """Add up along one axis what a fold gives to one PE; a place for each PE."""
    coordinates = np.arange(first, first + array.shape[at]) - axis.first
    if fold is None or axis.extent <= fold.parts:
        owners, parts = coordinates, axis.extent
    elif fold.kind == "cyclic":
        owners, parts = coordinates % fold.parts, fold.parts
    else:
        owners, parts = coordinates // -(-axis.extent // fold.parts), fold.parts
    moved = np.moveaxis(array, at, 0)
    result = np.zeros((parts, *moved.shape[1:]), np.int64)
    np.add.at(result, owners, moved)
    return np.moveaxis(result, 0, at)


class Bounds:
    """Lower bounds for one system on one machine; counts of a placement are made once.

    Parameters
    ----------
    system : _core.System
    machine : Machine
    fix : Schedule
        What all mappings have in common. Where it changes the order of reductions, chains are not counted on.
    """

    def __init__(self, system: _core.System, machine: Machine, fix: Schedule) -> None:
        self._system, self._machine = system, machine
        self._placed: dict[tuple[str, ...], PlacedWork] = {}
        self.chain = 0
        if not fix.reorders_reductions:
            self.chain = int(_core.longest_chain(system, machine.to_core(), most=_MOST_POINTS) or 0)
        self.total = self.placed(()).total

    def placed(self, space: tuple[str, ...]) -> PlacedWork:
        """Return the operations by their place."""
        if space not in self._placed:
            self._placed[space] = PlacedWork(self._system, self._machine, space)
        return self._placed[space]

    def anywhere(self, pes: int) -> int:
        """Return a bound for all placements on so many PEs."""
        return max(self.chain, -(-self.total // max(pes, 1)))

    def cycles(self, space: tuple[str, ...], shares: Shares, most: Sequence[int]) -> int:
        """Return a bound for all mappings with this space, and its first dimensions shared out so."""
        return max(self.chain, self.placed(space).cycles(shares, most))
