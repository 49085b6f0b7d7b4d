"""The space of mappings: what a search chooses, in which order, and from what."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import itertools
import math
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from cyclotron import _core
from cyclotron.compiler.recurrences import Recurrences
from cyclotron.machine.machine import Machine
from cyclotron.mapper.bounds import Axis, Bounds, LeastTime, reordered
from cyclotron.mapper.orders import radixes
from cyclotron.schedule.parts import Movement
from cyclotron.schedule.schedule import Fold, Schedule
from cyclotron.support.errors import CyclotronError

# Orders of time are all tried of so many indices; of more, those that begin as the compiler's own order does.
_MOST_ORDERED = 4
# PEs along a dimension where the machine sets no limit.
_UNLIMITED = 1 << 30
_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Operand:
    """A tensor that points read.

    Attributes
    ----------
    name : str
    computed : bool
        Whether the kernel computes it.
    accesses : tuple of frozenset of str
        Of each access, the indices in its subscripts.
    around : tuple of frozenset of str
        Of each access, the indices of its statement.
    """

    name: str
    computed: bool
    accesses: tuple[frozenset[str], ...]
    around: tuple[frozenset[str], ...]

    def free(self, space: Sequence[str]) -> tuple[str, ...] | None:
        """Return the indices in space that no access varies with; None where accesses differ."""
        found = {
            tuple(index for index in space if index in around and index not in own)
            for own, around in zip(self.accesses, self.around, strict=True)
        }
        return found.pop() if len(found) == 1 else None


@dataclass(frozen=True)
class Partial:
    """A mapping in which some choices are made, in this order: space, folds, rotation, movements, time.

    Attributes
    ----------
    space : tuple of str or None
        None: nothing is chosen.
    shares : tuple of Fold or None
        Of the first grid dimensions, None where they are not folded.
    movements : tuple of Movement or None
        Of the first operands, None where the compiler chooses.
    rotation : tuple of (str, tuple of str) or None
        None: not chosen yet; with an empty name, none.
    time : tuple of str or None
        None: not chosen yet; empty: the compiler's own order.
    """

    space: tuple[str, ...] | None = None
    shares: tuple[Fold | None, ...] = ()
    movements: tuple[Movement | None, ...] = ()
    rotation: tuple[str, tuple[str, ...]] | None = None
    time: tuple[str, ...] | None = None


class Space:
    """All mappings of a kernel on a machine that are searched.

    * **Space**: as many indices as the grid has dimensions, or fewer, in each order; dimensions that stay
      free are one PE wide. On a grid of equal dimensions that nothing tells apart, arrays and their
      transposes are one. On a hexagonal grid differences of two indices with a third (``i-k``, ``j-k``), too.
      An index in a line through all rows, where it has more PEs that need not take turns than any of these.
    * **Folds**: of each dimension onto every number of PEs that there are, in blocks and cyclic; numbers
      that make the same blocks are one. Where PEs reduce what they have, in blocks; where each has one term
      of a reduction from both ends, in none.
    * **Movements**: as the compiler chooses, which is from neighbour to neighbour; broadcast or streamed
      along the dimensions that the tensor does not vary with, in each order of these; an input also
      prefetched, and one that varies with all of them handed down a dimension.
    * **Rotation**: on rings, or where memories serve PEs, of a sum's index by the indices in space that have
      as many values, where all such sums have all terms. On a mesh without memories each PE may load all that
      it needs at once, and nothing is gained.
    * **Time**: the other indices in each order, of up to four; of more, the compiler's order.

    Reductions are in the order that `fix` says: those that may have another one are spaces of their own.

    What `fix` says is the same in all of them.

    Parameters
    ----------
    recurrences : Recurrences
    machine : Machine
    bounds : Bounds
    fix : Schedule
    needed : set of str
        Indices that are in space in all mappings.
    """

    def __init__(
        self,
        recurrences: Recurrences,
        machine: Machine,
        bounds: Bounds,
        fix: Schedule,
        needed: Set[str] = frozenset(),
    ) -> None:
        self.machine, self.bounds, self.fix, self._needed = machine, bounds, fix, needed
        self._core, self._times = recurrences.core, dict[Any, LeastTime | None]()
        self.indices = tuple(name for name in recurrences.indices if self._extent(name) != 1)
        self.operands = _operands(recurrences)
        self.sums = _sums(recurrences)
        wraps = {"torus", "ring"} & set(machine.topologies)
        self._rotates = bool(self.sums and not fix.rotations and (wraps or machine.memories))
        self._full: dict[str, bool] = {}
        self.rank = self._rank()
        self.most = (*(machine.grid or ()), *[_UNLIMITED] * self.rank)[: self.rank]
        if fix.is_serpentine and machine.grid is not None:
            self.most = (math.prod(machine.grid),)
        self.symmetric = _is_symmetric(machine)
        found = _core.placements(recurrences.core, list(machine.grid or ()))
        self._estimates = {_plain(space): cycles for space, cycles, _, _ in reversed(found)}
        self._lines = self._lines_beside(found, recurrences.core)
        self.transposed = 0  # placements left out, since their transposes are in

    def _rank(self) -> int:
        """Dimensions of the grid."""
        if self.fix.space_indices:
            return len(self.fix.space_indices)
        if self.machine.grid is not None:
            return len(self.machine.grid)
        return 1 if "ring" in self.machine.topologies else min(2, max(1, len(self.indices)))

    def _lines_beside(
        self, found: Sequence[tuple[list[str], float, float, bool]], system: _core.System
    ) -> list[str]:
        """The indices in a line through the grid's rows, where they have more PEs than placements on it."""
        grid = self.machine.grid or ()
        if (
            self.fix.space_indices
            or self.rank != 2
            or len(grid) != 2
            or min(grid) == 1
            or self.machine.link_maps
        ):
            return []
        most = max((pes for _, _, pes, in_turn in found if not in_turn), default=1)
        wider = [one for one in _core.placements(system, [math.prod(grid)]) if one[0] and one[2] > most]
        self._estimates.update({("serpentine", *space): cycles for space, cycles, _, _ in wider})
        return [space[0] for space, *_ in wider]

    def most_along(self, space: tuple[str, ...]) -> tuple[int, ...]:
        """Return the PEs along each dimension of a placement, at most: along a line, all."""
        return self.most if len(space) == len(self.most) else (math.prod(self.most),)

    def _extent(self, name: str) -> int:
        axis = self.bounds.placed((name,)).axes[0]
        return axis.extent if axis else 0

    def axis(self, partial: Partial, dimension: int) -> Axis | None:
        """The coordinates along a dimension of the grid."""
        assert partial.space is not None
        return self.bounds.placed(partial.space).axes[dimension]

    def children(self, partial: Partial) -> Iterator[Partial]:
        """Return what the next choice may be, the most promising first."""
        if partial.space is None:
            yield from (dataclasses.replace(partial, space=space) for space in self._spaces())
        elif len(partial.shares) < len(partial.space):
            for share in self._shares(partial, len(partial.shares)):
                yield dataclasses.replace(partial, shares=(*partial.shares, share))
        elif partial.rotation is None and not self._is_repeated(partial.space, partial.shares):
            yield from (dataclasses.replace(partial, rotation=one) for one in self._rotations(partial))
        elif partial.rotation is not None and len(partial.movements) < len(self.operands):
            for movement in self._movements(partial, self.operands[len(partial.movements)]):
                yield dataclasses.replace(partial, movements=(*partial.movements, movement))
        elif partial.rotation is not None and partial.time is None:
            yield from (dataclasses.replace(partial, time=order) for order in self._orders(partial))

    def is_leaf(self, partial: Partial) -> bool:
        """True where all is chosen."""
        return partial.time is not None

    @property
    def work(self) -> int:
        """A lower bound on the cycles of all mappings: no order of reductions saves operators."""
        return self.bounds.anywhere(math.prod(self.most[: self.rank]))

    def bound(self, partial: Partial) -> int:
        """Return a lower bound on the cycles of all mappings that make these choices."""
        work = self.work
        if partial.space is not None:
            work = self.bounds.cycles(partial.space, self._shared(partial), self.most_along(partial.space))
        return work if self.fix.reductions or self._may_rotate(partial) else max(work, self.bounds.chain)

    @property
    def graphs(self) -> int:
        """The number of orders of operators that were looked into, by the PEs that reduce in trees."""
        return len(self._times)

    def in_trees(self, order: Schedule, needed: Set[str]) -> Space:
        """Return the same with trees of reductions fixed as well."""
        result = copy.copy(self)
        result.fix, result._needed, result._times = order, needed, {}
        return result

    def _time_in_trees(self, space: tuple[str, ...], shares: Sequence[Fold | None]) -> LeastTime | None:
        """The least time with the trees of PEs that share terms so; None where they are illegal."""
        trees, pes = self.fix.reductions, self.most_along(space)
        indices = {tree.index for tree in trees}
        parts = [_parts(share, most) for share, most in zip(shares, pes, strict=True)]
        key = tuple(sorted((form, n) for form, n in zip(space, parts, strict=True) if form in indices))
        if key not in self._times:
            folds = {form: share for form, share in zip(space, shares, strict=True) if share}
            winds = len(space) < self.rank or self.fix.is_serpentine
            placed = Schedule(reductions=trees).space(*space).serpentine(winds).fold(folds)
            self._times[key] = None
            with contextlib.suppress(CyclotronError):
                own = _core.reorder_reductions(self._core, placed.to_core(), self.machine.to_core())
                self._times[key] = LeastTime(own, self.machine, self.fix, self.bounds.kernel)
        return self._times[key]

    def _is_repeated(self, space: tuple[str, ...], shares: Sequence[Fold | None]) -> bool:
        """True where a tree joins all PEs at once, and so does one of a smaller radix, which is tried."""
        indices = {*self.fix.inward_indices, *(tree.index for tree in self.fix.reductions)}
        if not self._needed or not self.fix.reductions or len(indices) > 1:
            return False
        ((index, radix),) = ((tree.index, tree.radix) for tree in self.fix.reductions)
        d = space.index(index)
        pes = _parts(shares[d], self.most_along(space)[d])
        return pes > 0 and any(pes <= smaller < radix for smaller in radixes(self.machine))

    def _shared(self, partial: Partial) -> list[Fold | None]:
        """The folds, with that which the compiler chooses where a result may be one too many for the PEs."""
        space, result = partial.space or (), list(partial.shares)
        axes = zip(self.bounds.placed(space).axes, self.most_along(space), result, strict=False)
        for d, (axis, most, share) in enumerate(axes):
            if share is None and axis and axis.is_reduced and axis.extent == most:
                result[d] = Fold("block", most)
        return result

    def _may_rotate(self, partial: Partial) -> bool:
        """True where a sum may be added up in another order than the kernel's: its chains are others then."""
        return self._rotates_by(partial) is not None

    def _rotates_by(self, partial: Partial) -> tuple[str, ...] | None:
        """The dimensions by which sums may be rotated; None where none is.

        What `fix` rotates is rotated in all mappings, on grids without rings, too.
        """
        fixed = [by for _, by in self.fix.rotations]
        if partial.rotation is not None:
            mine = [partial.rotation[1]] if partial.rotation[0] else []
        elif partial.space is None:
            mine = [()] if self._rotates else []
        else:
            mine = [by for name, by in self._rotations(partial) if name]
        found = [*fixed, *mine]
        return tuple(dict.fromkeys(itertools.chain(*found))) if found else None

    def is_placed(self, partial: Partial) -> bool:
        """True where space, folds and rotation are chosen."""
        return partial.rotation is not None

    def proven(self, partial: Partial) -> int:
        """Return the bound with the least time of the operators in their PEs, where these are chosen.

        Rotations change the order of sums: of a placement that has some, nothing waits.
        """
        bound = self.bound(partial)
        if not self.is_placed(partial):
            return bound
        assert partial.space is not None
        rotated = self._rotates_by(partial)
        time: LeastTime | None = self.bounds.time
        if self.fix.reductions:
            if not {tree.index for tree in self.fix.reductions} <= set(partial.space):
                return bound
            time = self._time_in_trees(partial.space, partial.shares)
        if time is None:  # the compiler refuses it
            return bound
        return max(bound, time.cycles(partial.space, partial.shares, rotated))

    def completed(self, partial: Partial) -> Partial:
        """Return the mapping with the rest left to the compiler; space, folds and rotation are chosen."""
        pinned = tuple(self.fix.movement(operand.name) for operand in self.operands)
        return dataclasses.replace(partial, movements=pinned, time=())

    def estimate(self, space: tuple[str, ...]) -> float:
        """Return what the compiler's default search estimates for a placement, in cycles: no bound."""
        key = _plain(space) if len(space) == self.rank else ("serpentine", *space)
        return self._estimates.get(key, 0.0)

    def schedule(self, partial: Partial) -> Schedule:
        """Return the schedule that makes these choices."""
        result = self.fix
        if partial.space is not None:
            result = result.space(*partial.space).serpentine(
                self.fix.is_serpentine or len(partial.space) < self.rank
            )
        for index, share in zip(partial.space or (), partial.shares, strict=False):
            if share is not None:
                result = result.fold({index: share})
        given = tuple(one for one in partial.movements if one is not None)
        kept = tuple(one for one in self.fix.movements if one.tensor not in {m.tensor for m in given})
        result = dataclasses.replace(result, movements=(*kept, *given))
        if partial.rotation is not None and partial.rotation[0]:
            result = result.rotate(partial.rotation[0], by=partial.rotation[1])
        return result.time(*partial.time) if partial.time else result

    # Space --------------------------------------------------------------------------------------------------

    def _spaces(self) -> Iterator[tuple[str, ...]]:
        if self.fix.space_indices:
            yield from [self.fix.space_indices] if self._needed <= {*self.fix.space_indices} else []
            return
        cut = {one.index for one in self.fix.reassociations if self._needed}
        usable = [name for name in self.indices if name not in {*self.fix.time_indices, *cut}]
        seen: set[tuple[str, ...]] = set()
        for count in range(min(self.rank, len(usable)), -1, -1):
            for chosen in itertools.permutations(usable, count):
                for dims in itertools.combinations(range(self.rank), count):
                    space = ["0"] * self.rank
                    for d, name in zip(dims, chosen, strict=True):
                        space[d] = name
                    if self._needed <= set(chosen):
                        yield from self._unless_transposed(tuple(space), seen)
        if "hexagonal" in self.machine.topologies and self.rank == 2 and not self._needed:
            for i, j, k in itertools.permutations(usable, 3):
                if i < j:
                    yield (f"{i}-{k}", f"{j}-{k}")
        yield from ((name,) for name in self._lines if name in usable and self._needed <= {name})

    def _unless_transposed(
        self, space: tuple[str, ...], seen: set[tuple[str, ...]]
    ) -> Iterator[tuple[str, ...]]:
        key = tuple(sorted(space)) if self.symmetric else space
        if key in seen:
            self.transposed += 1
        else:
            seen.add(key)
            yield space

    # Folds --------------------------------------------------------------------------------------------------

    def _shares(self, partial: Partial, dimension: int) -> Iterator[Fold | None]:
        assert partial.space is not None
        form = partial.space[dimension]
        pinned = dict(self.fix.folds).get(form)
        axis = self.axis(partial, dimension)
        if form == "0" or pinned is not None or axis is None:
            yield pinned
            return
        pes = self.most_along(partial.space)[dimension]
        extent, most = axis.extent, min(pes, axis.extent)
        if self.machine.grid is None or extent <= pes:
            yield None
        joined = {tree.index for tree in self.fix.reductions}
        if self.machine.grid is None or form in self._needed & {*self.fix.inward_indices} - joined:
            return
        widths: set[tuple[int, int]] = set()
        for parts in range(most, 0, -1):
            width = (-(-extent // parts), -(-(extent + 1) // parts))
            if parts < extent and width not in widths:
                widths.add(width)
                yield Fold("block", self._fewest(parts, width, extent))
            if 1 < parts < extent and form not in self._needed:
                yield Fold("cyclic", parts)

    @staticmethod
    def _fewest(parts: int, width: tuple[int, int], extent: int) -> int:
        """The fewest PEs whose blocks are as wide."""
        while parts > 1 and (-(-extent // (parts - 1)), -(-(extent + 1) // (parts - 1))) == width:
            parts -= 1
        return parts

    # Movements ----------------------------------------------------------------------------------------------

    def _movements(self, partial: Partial, operand: Operand) -> Iterator[Movement | None]:
        pinned = self.fix.movement(operand.name)
        if pinned is not None:
            yield pinned
            return
        assert partial.space is not None
        space = [form for form in partial.space if form != "0"]
        if not space:
            yield None
            return
        plain = all(_NAME.fullmatch(form) for form in space)
        free = operand.free(space) if plain else None
        orders = list(itertools.permutations(free)) if free else [()]
        yield None
        if free != ():
            yield from (Movement(operand.name, "broadcast", order) for order in orders)
        if not operand.computed:
            yield Movement(operand.name, "prefetch")
        if free == ():
            yield from (Movement(operand.name, "stream", (index,)) for index in space)
        elif len(orders) > 1 or free is None:
            yield from (Movement(operand.name, "stream", order) for order in orders)

    # Rotation -----------------------------------------------------------------------------------------------

    def _rotations(self, partial: Partial) -> Iterator[tuple[str, tuple[str, ...]]]:
        assert partial.space is not None
        yield "", ()
        if not self._rotates or any(partial.shares) or len(partial.space) < self.rank:
            return
        for name in self.sums:
            if name in partial.space or not self._is_full(name):
                continue
            extent = self._extent(name)
            names = filter(_NAME.fullmatch, partial.space)
            by = tuple(index for index in names if self._extent(index) == extent)
            for count in range(1, len(by) + 1):
                yield from ((name, chosen) for chosen in itertools.combinations(by, count))

    def _is_full(self, name: str) -> bool:
        """False where a sum over an index has other terms than another: it cannot begin with any of them."""
        if name not in self._full:
            pairs = (self.bounds.placed((name, other)).counts for other in self.indices if other != name)
            tables = [one.counts for counts in pairs for one in counts if one.dimensions == (0, 1)]
            self._full[name] = all((one.all(axis=0) == one.any(axis=0)).all() for one in tables)
        return self._full[name]

    # Time ---------------------------------------------------------------------------------------------------

    def _orders(self, partial: Partial) -> Iterator[tuple[str, ...]]:
        yield ()
        if self.fix.time_indices:
            return
        assert partial.space is not None
        rest = [name for name in self.indices if name not in partial.space]
        if (
            all(_NAME.fullmatch(form) or form == "0" for form in partial.space)
            and 1 < len(rest) <= _MOST_ORDERED
        ):
            yield from itertools.permutations(rest)


def space_of(system: _core.System, machine: Machine, fix: Schedule, needed: Set[str] = frozenset()) -> Space:
    """Return the mappings of a system that have what `fix` says in common: its order of reductions, too."""
    own = reordered(system, fix, machine)
    space = Space(Recurrences(own), machine, Bounds(own, machine, fix, system), fix, needed)
    if own is not system:  # no schedule names the tensors that are parts of sums
        names = {access.tensor for one in Recurrences(system).statements for access in one.reads}
        space.operands = tuple(operand for operand in space.operands if operand.name in names)
    return space


def _parts(share: Fold | None, pes: int) -> int:
    """PEs in which neighbours are joined first; 0: in none."""
    if share is None:
        return pes if pes < _UNLIMITED else 0
    return share.parts if share.kind == "block" else 0


def _plain(space: Sequence[str]) -> tuple[str, ...]:
    """A placement's forms, in the order of their names."""
    return tuple(sorted(form for form in space if form != "0"))


def _operands(recurrences: Recurrences) -> tuple[Operand, ...]:
    """The tensors that are read, inputs last: what is chosen last varies first."""
    written = {access.tensor for one in recurrences.statements for access in one.writes}
    found: dict[str, tuple[list[frozenset[str]], list[frozenset[str]]]] = {}
    for one in recurrences.statements:
        for access in one.reads:
            if access.tensor in {write.tensor for write in one.writes} and one.kind != "assign":
                continue  # the sum itself
            subscripts = access.text[len(access.tensor) :]
            own, around = found.setdefault(access.tensor, ([], []))
            own.append(frozenset(_NAME.findall(subscripts)))
            around.append(frozenset(one.indices))
    names = sorted(found, key=lambda name: name not in written)
    return tuple(
        Operand(name, name in written, tuple(found[name][0]), tuple(found[name][1])) for name in names
    )


def _sums(recurrences: Recurrences) -> tuple[str, ...]:
    """The indices of reductions."""
    starts = {index for one in recurrences.statements if one.kind == "start" for index in one.indices}
    found = dict.fromkeys(
        index for one in recurrences.statements if one.kind == "accumulate" for index in one.indices[-1:]
    )
    return tuple(index for index in found if index not in starts)


def _is_symmetric(machine: Machine) -> bool:
    """True where transposing the grid changes nothing."""
    grid = machine.grid
    return (
        (grid is None or len(set(grid)) == 1)
        and not machine.links
        and not machine.memories
        and not machine.broadcasts
        and machine.chiplets is None
        and machine.control is None
        and isinstance(machine.topology, str)
    )
