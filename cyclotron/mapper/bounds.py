"""Lower bounds on the cycles of partial mappings, from exact counts of operations by place."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cyclotron import _core
from cyclotron.machine.machine import Machine
from cyclotron.schedule.schedule import Fold, Schedule
from cyclotron.support.errors import CyclotronError

# Points that the longest chain of operators is followed through: a few tenths of a second.
_MOST_POINTS = 300_000
# Spaces whose coordinates are kept.
_MOST_SPACES = 32
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
    """A dimension of the grid before it is folded.

    Attributes
    ----------
    first : int
        The least coordinate of all points.
    extent : int
        Coordinates.
    is_reduced : bool
        By a reduction's index: its result may lie one before the first, or beyond the last.
    """

    first: int
    extent: int
    is_reduced: bool = False


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
        self.space, self._units = space, _units(machine)
        self._bounds = functools.cache(self._cycles)
        self.axes = tuple(found and Axis(*found) for found in _core.values_along(system, list(space)))
        self.total = sum(count.cycles * int(count.counts.sum()) for count in self.counts)

    def cycles(self, shares: Shares, most: Sequence[int]) -> int:
        """Return a lower bound on the cycles of the busiest PE.

        Parameters
        ----------
        shares : sequence of Fold or None
            Of the first dimensions, how they are folded; None: not at all. The rest is undecided.
        most : sequence of int
            PEs along each dimension at most.
        """
        return self._bounds(tuple(shares), tuple(most))

    def _cycles(self, shares: Shares, most: Sequence[int]) -> int:
        decided = range(len(shares))
        options = [self.alignments(d, shares[d]) for d in decided]
        return min(
            (self._busiest(alignments, shares, most) for alignments in itertools.product(*options)), default=0
        )

    def alignments(self, dimension: int, fold: Fold | None) -> list[Axis]:
        """Return what may lie along a dimension: all points, and a result before or beyond those of terms.

        Folds are counted from the first coordinate of anything, so that blocks may be wider than the points
        alone tell. The bound holds for each of these.
        """
        axis = self.axes[dimension] or Axis(0, 1)
        if fold is None or not axis.is_reduced:
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
                    best = max(best, -(-int(loads.max()) // (pes * self._units)))
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
        for count in self.counts:
            if not set(told) <= set(count.dimensions) or not count.counts.size:
                continue
            array = count.counts * count.cycles
            for at in reversed(range(array.ndim)):
                if count.dimensions[at] not in told:
                    array = array.sum(axis=at)
            kept = [(d, count.first[at]) for at, d in enumerate(count.dimensions) if d in told]
            for at, (d, first) in enumerate(kept):
                array = _folded(array, at, first, alignments[d], shares[d])
            total = array if total is None else total + array
        return total


def _folded(
    array: NDArray[np.int64], at: int, first: int, axis: Axis, fold: Fold | None
) -> NDArray[np.int64]:
    """Add up along one axis what a fold gives to one PE; a place for each PE."""
    owners = _owners(np.arange(first, first + array.shape[at]), axis, fold)
    parts = axis.extent if fold is None else min(axis.extent, fold.parts)
    swapped = array.swapaxes(at, 0)
    result = np.zeros((parts, *swapped.shape[1:]), np.int64)
    np.add.at(result, owners, swapped)
    folded: NDArray[np.int64] = result.swapaxes(0, at)
    return folded


def _owners(coordinates: NDArray[np.int64], axis: Axis, fold: Fold | None) -> NDArray[np.int64]:
    """The coordinate of the PE that each coordinate is folded onto."""
    own = coordinates - axis.first
    if fold is None or axis.extent <= fold.parts:
        return own
    return own % fold.parts if fold.kind == "cyclic" else own // -(-axis.extent // fold.parts)


def _units(machine: Machine) -> int:
    """Operators that a PE works on at once, at most."""
    pe = machine.pe
    return max(1, sum(unit is not None for unit in (pe.matrix, pe.vector, pe.scalar))) if pe.overlap else 1


class LeastTime:
    """The least time of operators in their PEs, each of which waits for the values that it reads.

    A PE runs its operators one after the other, not before what they wait for, and what waits for them comes
    later: fill, work and drain in one bound. A value that another PE computes comes over links, so many hops
    as they are apart at least, or over a network. Of a PE alone the least time is that of the preemptive
    schedule by the longest way to the end (Jackson 1955; Carlier 1982), which no order of its program beats.
    What a memory serves loads each element of an input at least once, in a PE that uses it or at an end of a
    line of the grid, behind the one that uses it, and stores those of outputs: latency, words through ports,
    and loads under way count. Where `Machine.io` has words passed on, they come and go through any port.

    Parameters
    ----------
    system : _core.System
    machine : Machine
    fix : Schedule
        Where it gives inputs a place, or says how one moves, loads are not counted.
    kernel : _core.System
        The system in the kernel's own order.
    """

    def __init__(self, system: _core.System, machine: Machine, fix: Schedule, kernel: _core.System) -> None:
        self._lowered = _core.equations_to_lower(system, kernel)
        self.graph = _core.operation_graph(self._lowered or system, machine.to_core(), most=_MOST_POINTS)
        self._times = functools.cache(self._cycles)
        self._places = functools.lru_cache(_MOST_SPACES)(self._find_places)
        self._overlap = machine.pe.overlap
        known = {frozenset({"mesh"}): "manhattan", frozenset({"hexagonal"}): "largest"}
        self._distance = known.get(frozenset(machine.topologies), "any")
        maps = [one.link for one in machine.link_maps if one.link]
        chips = [machine.chiplets.link] if machine.chiplets else []
        links = [machine.link, *machine.links.values(), *maps, *chips]
        networks = [machine.broadcast, *machine.broadcasts.values()]
        self._memories = None if fix.places or fix.movements else machine.to_core()
        self._passed_on = machine.io != "everywhere"
        self._grid = grid = machine.grid or ()
        self._columns = grid[1] if machine.memories and len(grid) == 2 else None
        self._handed_onwards = all(map(str.isidentifier, fix.time_indices))
        self._words_per_cycle = max(
            *(link.words_per_cycle for link in (*links, *networks)),
            *(memory.bandwidth for memory in machine.memories.values()),
            1,
        )
        self._hop = min(link.latency for link in links)
        self._at_most = min(
            *(network.latency for network in networks),
            *(2 * memory.latency for memory in machine.memories.values()),
            1 << 30,
        )

    @property
    def chain(self) -> int:
        """Cycles of the longest chain of operators, wherever they run; 0 where it is not known."""
        return 0 if self.graph is None else self._least(np.zeros((len(self.graph), 0), np.int64))

    def cycles(self, space: tuple[str, ...], shares: Shares, rotated: tuple[str, ...] | None = None) -> int:
        """Return a lower bound on the cycles of all mappings with this placement; 0 where none is known.

        Parameters
        ----------
        space : tuple of str
        shares : sequence of Fold or None
            Of all dimensions of the grid.
        rotated : tuple of str or None
            None: the terms of sums come in the kernel's order. Else no operator waits for another, and inputs
            may come from any PE along these dimensions of the grid.
        """
        return self._times(space, tuple(shares), rotated)

    def _cycles(self, space: tuple[str, ...], shares: Shares, rotated: tuple[str, ...] | None) -> int:
        found = []
        for pes, axes in self._places(space):
            folds = self._on_grid(axes, shares)
            onwards = self._onwards(pes, space, axes, folds, rotated or ())
            found.append(self._least(self._folded(pes, axes, folds), rotated is None, onwards))
        return min(found, default=0)

    def _find_places(self, space: tuple[str, ...]) -> list[tuple[NDArray[np.int64], Sequence[Axis]]]:
        """Return the coordinates of operators before folds, and the axes that they lie on, as they may be.

        There are none where they depend on the schedule, or the compiler refuses them.
        """
        plain = all(form == "0" or form.isidentifier() for form in space)
        if self.graph is None or self._lowered is None or self._overlap or not plain:
            return []
        with contextlib.suppress(CyclotronError):
            return [
                (one["pes"], [Axis(a, b - a + 1) for a, b in zip(one["first"], one["last"], strict=True)])
                for one in _core.operator_places(self._lowered, self.graph, list(space))
            ]
        return []

    def _on_grid(self, axes: Sequence[Axis], shares: Shares) -> Shares:
        """The folds, with those that the compiler chooses where there are more coordinates than PEs."""
        grid = self._grid if len(self._grid) == len(shares) else (math.prod(self._grid),)
        if not self._grid or len(grid) != len(shares):
            return shares
        return [
            Fold("block", most) if share is None and axis.extent > most else share
            for axis, share, most in zip(axes, shares, grid, strict=True)
        ]

    def _onwards(
        self,
        coordinates: NDArray[np.int64],
        space: Sequence[str],
        axes: Sequence[Axis],
        shares: Shares,
        rotated: tuple[str, ...],
    ) -> list[int]:
        """A bit for each dimension along which a node's inputs come from PEs of no greater coordinate.

        An element is loaded at the first points of lines of its users, or before them. Where nothing turns
        them round, so it is with PEs, but for folds that deal points out: with the first that each PE has.
        """
        if not self._handed_onwards:
            return []
        bits = np.zeros(len(coordinates), np.int64)
        for d, (form, axis, share) in enumerate(zip(space, axes, shares, strict=True)):
            if form not in rotated:
                dealt = math.inf if share is None or share.kind == "block" else share.parts
                own = coordinates[:, d]
                bits += ((own != _core.ANYWHERE) & (own - axis.first < dealt)) << d
        return [int(bit) for bit in bits]

    def _folded(
        self, coordinates: NDArray[np.int64], axes: Sequence[Axis], shares: Shares
    ) -> NDArray[np.int64]:
        columns = [_owners(coordinates[:, d], *one) for d, one in enumerate(zip(axes, shares, strict=True))]
        pes = np.where(coordinates == _core.ANYWHERE, _core.ANYWHERE, np.array(columns).T)
        if len(shares) == 1 and self._columns is not None:  # a line, and memories serve by row and column
            rows, along = np.divmod(pes, self._columns)
            wound = np.where(rows % 2, self._columns - 1 - along, along)
            return np.where(pes == _core.ANYWHERE, pes, np.hstack([rows, wound]))
        return pes

    def _least(self, pes: NDArray[np.int64], ordered: bool = True, onwards: Sequence[int] = ()) -> int:
        assert self.graph is not None
        return int(
            self.graph.least_time(
                pes,
                distance=self._distance,
                hop=self._hop,
                at_most=self._at_most,
                words_per_cycle=self._words_per_cycle,
                memories_of=self._memories,
                passed_on=self._passed_on,
                ordered=ordered,
                onwards=list(onwards),
            )
        )


def reordered(system: _core.System, fix: Schedule, machine: Machine) -> _core.System:
    """Return a system with the order of its reductions as a schedule says, and the indices that this adds.

    Trees are left out: they depend on the folds, too.
    """
    if not dataclasses.replace(fix, reductions=()).reorders_reductions:
        return system
    return _core.reorder_reductions(
        system, dataclasses.replace(fix, reductions=()).to_core(), machine.to_core()
    )


class Bounds:
    """Lower bounds for one system on one machine; counts of a placement are made once.

    Parameters
    ----------
    system : _core.System
        As `reordered` gives it.
    machine : Machine
    fix : Schedule
        What all mappings have in common.
    kernel : _core.System, optional
        The system in the kernel's own order; by default `system` is.
    """

    def __init__(
        self, system: _core.System, machine: Machine, fix: Schedule, kernel: _core.System | None = None
    ) -> None:
        self._system, self._machine, self.kernel = system, machine, kernel or system
        self._placed: dict[tuple[str, ...], PlacedWork] = {}
        self.time = LeastTime(system, machine, fix, self.kernel)
        self.chain = self.time.chain
        self.total = -(-self.placed(()).total // _units(machine))

    def placed(self, space: tuple[str, ...]) -> PlacedWork:
        """Return the operations by their place."""
        if space not in self._placed:
            self._placed[space] = PlacedWork(self._system, self._machine, space)
        return self._placed[space]

    @property
    def operators(self) -> int:
        """Operators that the least time of a placement is computed of."""
        return 0 if self.time.graph is None else len(self.time.graph)

    def anywhere(self, pes: int) -> int:
        """Return a bound by work for all placements on so many PEs."""
        return -(-self.total // max(pes, 1))

    def cycles(self, space: tuple[str, ...], shares: Shares, most: Sequence[int]) -> int:
        """Return a bound by work for all mappings with this space, and its first dimensions shared out so."""
        return self.placed(space).cycles(shares, most)

    def least_time(self, space: tuple[str, ...], shares: Shares) -> int:
        """Return a bound for all mappings with this space and these folds, whose sums are in order."""
        return self.time.cycles(space, shares)
