"""Arrays with two names of which a loop carries one: what is assigned in place is seen under both.

A name that a loop assigns anew has an array of its own while the loop runs (`loop_carried`): a copy of
what the name holds when an iteration begins. In Python that may be an array which has another name too. The
copy means the same unless one of the two is assigned in place and the other is read then: that is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from cyclotron.language.trace.aliases import END, Carried, Selected
from cyclotron.language.trace.statement import Arm
from cyclotron.language.trace.trace import Trace
from cyclotron.language.values.affine import Index
from cyclotron.language.values.nodes import AxisIndex, Tensor, accesses
from cyclotron.support.errors import Span, TraceError


@dataclass(frozen=True)
class _Use:
    """A statement that reads an array or assigns it in place."""

    number: int
    loops: frozenset[Index]
    arms: tuple[Arm, ...]
    span: Span

    def is_beside(self, other: _Use) -> bool:
        """Return whether they stand in different branches of a condition, of which one is taken at a time."""
        return any((condition, not first) in other.arms for condition, first in self.arms)


def check_aliases(trace: Trace) -> None:
    """Check a finished recording.

    Raises
    ------
    TraceError
        CYC111 if an array with two names, one of which a loop carries or a condition chooses, is assigned
        under one of them and read under the other.
    """
    if trace.carried or trace.joined:
        _Aliases(trace).check()


class _Aliases:
    """The arrays that the carried names of a recording may share."""

    def __init__(self, trace: Trace) -> None:
        self._carried: list[Carried] = trace.carried
        self._joined = trace.joined
        self._by_tensor = {one.tensor: one for one in self._carried}
        self._order = {tensor: number for number, tensor in enumerate(trace.tensors)}
        self._reads: dict[Tensor, list[_Use]] = {}
        self._writes: dict[Tensor, list[_Use]] = {}
        self._made: dict[Tensor, _Use] = {}  # the statements that choose
        for number, statement in enumerate(trace.statements):
            loops = frozenset(loop for loop in statement.loops if not isinstance(loop, AxisIndex))
            use = _Use(number, loops, statement.arms, statement.span)
            own = self._by_tensor.get(statement.target)
            choice = self._joined.get(statement.target)
            makes = choice is not None and number < choice.first
            if makes:
                self._made[statement.target] = use
            elif own is None or (number >= own.first and not own.is_kept_by(number)):
                self._writes.setdefault(statement.target, []).append(use)
            for tensor in {access.tensor for access in accesses(statement.value)}:
                arm = choice.chosen.arm_of(tensor) if choice is not None and makes else ()
                self._reads.setdefault(tensor, []).append(replace(use, arms=(*use.arms, *arm)))
        for tensor in trace.outputs.values():
            self._reads.setdefault(tensor, []).append(_Use(END, frozenset(), (), tensor.span))
        for one in self._carried:
            if any(keep.given is one.tensor for keep in one.keeps):  # it stays what it is
                self._reads.setdefault(one.tensor, []).append(_Use(one.end, frozenset(), (), one.tensor.span))
        self._first: dict[Tensor, set[Tensor]] = {t: set() for t in self._by_tensor}
        self._later: dict[Tensor, set[Tensor]] = {t: set() for t in self._by_tensor}
        self._shared: set[frozenset[Tensor]] = set()
        self._shared_later: set[frozenset[Tensor]] = set()

    def check(self) -> None:
        self._close()
        for one in self._carried:
            for other in sorted(
                self._first[one.tensor] | self._later[one.tensor], key=self._order.__getitem__
            ):
                after = other in self._later[one.tensor] or not one.runs
                self._check_older(one, other, after=after)
        chosen = {tensor: self._chosen_from(choice) for tensor, choice in self._joined.items()}
        for tensor, choice in self._joined.items():
            for source in sorted(chosen[tensor], key=self._order.__getitem__):
                self._check_joined(tensor, choice, source)
        for one, two in self._pairs():
            both = frozenset((one.tensor, two.tensor))
            if both in self._shared | self._shared_later:
                after = both in self._shared_later or not one.runs
                self._check_both(one, two, after=after)
                self._check_both(two, one, after=after)
        for carried in self._carried:
            later = self._later[carried.tensor]
            chosen[carried.tensor] = later if carried.runs else later | self._first[carried.tensor]
        for tensor in (one for one in chosen if one in self._writes):
            for other in chosen:
                apart = tensor is not other and tensor not in chosen[other] and other not in chosen[tensor]
                if apart and not chosen[tensor].isdisjoint(chosen[other]):
                    self._check_copies(tensor, other)

    def _pairs(self) -> Iterator[tuple[Carried, Carried]]:
        """The names that one loop carries, by two."""
        for one, two in combinations(self._carried, 2):
            if one.first == two.first and one.end == two.end:
                yield one, two

    def _close(self) -> None:
        """Find the older arrays that each name may hold, and the names that may hold the same."""
        size = -1
        while size != (size := self._size()):
            for one in self._carried:
                if one.start is not None:
                    self._first[one.tensor] |= {one.start} | self._held(one.start, one)
                for given in (keep.given for keep in one.keeps if keep.given is not None):
                    found = self._held(given, one)
                    if self._order[given] < one.declared and given not in self._by_tensor:
                        found |= {given}
                    self._later[one.tensor] |= {
                        t for t in found if self._order[t] < one.declared and t is not one.tensor
                    }
            for one, two in self._pairs():
                both = frozenset((one.tensor, two.tensor))
                if self._may_be_same(one.start, two.start):
                    self._shared.add(both)
                if any(
                    a.first == b.first and self._may_be_same(a.given, b.given)
                    for a in one.keeps
                    for b in two.keeps
                ):
                    self._shared_later.add(both)

    def _size(self) -> int:
        held = sum(len(found) for found in (*self._first.values(), *self._later.values()))
        return held + len(self._shared) + len(self._shared_later)

    def _held(self, tensor: Tensor, where: Carried) -> set[Tensor]:
        """The older arrays that a carried name may hold where another one gets what it holds."""
        choice = self._joined.get(tensor)
        if choice is not None:
            sources = choice.chosen.sources
            return set(sources).union(*(self._held(source, where) for source in sources))
        one = self._by_tensor.get(tensor)
        if one is None:
            return set()
        inside = one.around[-1][0] in {index for index, _ in where.around}
        return self._later[tensor] | (self._first[tensor] if inside or not one.runs else set())

    def _may_be_same(self, one: Tensor | None, two: Tensor | None) -> bool:
        if one is None or two is None:
            return False
        if one is two or frozenset((one, two)) in self._shared | self._shared_later:
            return True
        return any(
            a in self._first.get(b, ()) or a in self._later.get(b, ()) for a, b in ((one, two), (two, one))
        )

    def _check_older(self, one: Carried, other: Tensor, *, after: bool) -> None:
        """Check a name against an array that was there before its loop."""
        around = {index for index, _ in one.around}
        anew = {index for index, tensors in one.around if self._order[other] >= tensors}
        outer = self._by_tensor.get(other)
        until = END + 1
        if outer is not None:
            anew |= around
            inside = outer.around[-1][0] in around
            until = outer.last if inside else until  # the other one is assigned anew then

        def copy_is_old(write: _Use, read: _Use) -> bool:
            if max(write.number, read.number) >= until:
                return False
            within = one.first <= write.number < one.last and one.first <= read.number < one.last
            later = after and min(write.number, read.number) >= one.last
            return (within or later) and _may_follow(write, read, around)

        def original_is_old(write: _Use, read: _Use) -> bool:
            if max(write.number, read.number) >= until:
                return False
            within = one.first <= write.number < one.last
            if within and one.first <= read.number < one.last:
                return True
            return (within or (after and write.number >= one.last)) and _may_follow(write, read, anew)

        self._refuse(one, other, self._writes.get(other, []), self._reads.get(one.tensor, []), copy_is_old)
        self._refuse(
            one, other, self._writes.get(one.tensor, []), self._reads.get(other, []), original_is_old
        )

    def _chosen_from(self, choice: Selected) -> set[Tensor]:
        """The arrays that a condition may have chosen, also by other conditions and carried names."""
        found: set[Tensor] = set()
        more = set(choice.chosen.sources)
        while more - found:
            source = (more - found).pop()
            found.add(source)
            more |= self._first.get(source, set()) | self._later.get(source, set())
            if source in self._joined:
                more |= set(self._joined[source].chosen.sources)
        return found

    def _check_joined(self, tensor: Tensor, choice: Selected, source: Tensor) -> None:
        """Check what a condition chose against an array that it may have chosen."""
        outer = self._by_tensor.get(source)
        carried = outer is not None and outer.first <= choice.first <= outer.end
        until = outer.end if outer is not None and carried else END + 1  # it is assigned anew then
        writes = self._writes.get(source)
        made = self._made.get(source)
        if made is None and source.complete and outer is None and writes:
            made = writes[0]
        anew = set(made.loops) if made is not None else set()  # each iteration makes another array

        def is_old(write: _Use, read: _Use) -> bool:
            if carried:
                return choice.first <= write.number < read.number < until and not write.is_beside(read)
            later = write.number >= choice.first or bool((write.loops & read.loops) - anew)
            return write is not made and later and _may_follow(write, read, anew)

        known = self._joined.get(source)
        name = known.name if known is not None else source.name.removesuffix("_local")
        for changed, other in ((tensor, source), (source, tensor)):
            for write in self._writes.get(changed, []):
                for read in self._reads.get(other, []):
                    if read.number >= choice.first and is_old(write, read):
                        raise TraceError(
                            f"`{choice.name}`, which a condition chooses, may hold the array that was"
                            f" `{name}` before, or a part of it; one of them is changed in place and the"
                            " other read",
                            code="CYC111",
                            span=write.span,
                            notes=[(read.span, "the other is read here")],
                            help=f"give `{choice.name}` an array of its own in each branch, by `.copy()`",
                        )

    def _check_copies(self, changed: Tensor, other: Tensor) -> None:
        """Check what is changed in place against what may be another copy of one array."""
        known: list[Selected | Carried] = [
            self._joined.get(tensor) or self._by_tensor[tensor] for tensor in (changed, other)
        ]
        first = max(one.first if isinstance(one, Selected) else one.last for one in known)
        made = [self._made[tensor].loops for tensor in (changed, other) if tensor in self._made]
        anew = set(frozenset.intersection(*made)) if len(made) == 2 else set()
        for write in self._writes[changed]:
            for read in self._reads.get(other, []):
                if min(write.number, read.number) >= first and _may_follow(write, read, anew):
                    raise TraceError(
                        f"`{known[0].name}` and `{known[1].name}` may hold one array; it is changed in place"
                        " under one of the names and read under the other",
                        code="CYC111",
                        span=write.span,
                        notes=[(read.span, "the other is read here")],
                        help=f"give one of them an array of its own, e.g. `{known[0].name} ="
                        f" {known[0].name}.copy()`",
                    )

    def _check_both(self, one: Carried, two: Carried, *, after: bool) -> None:
        """Check two names of one loop: what is assigned under the first is read under the second."""
        around = {index for index, _ in one.around}

        def is_old(write: _Use, read: _Use) -> bool:
            within = one.first <= write.number < one.last and one.first <= read.number < one.last
            later = after and min(write.number, read.number) >= one.last
            return (within or later) and _may_follow(write, read, around)

        writes, reads = self._writes.get(one.tensor, []), self._reads.get(two.tensor, [])
        self._refuse(one, two.tensor, writes, reads, is_old)

    def _refuse(
        self,
        one: Carried,
        other: Tensor,
        writes: list[_Use],
        reads: list[_Use],
        bad: Callable[[_Use, _Use], bool],
    ) -> None:
        known = self._by_tensor.get(other)
        name = known.name if known else other.name.removesuffix("_local")
        held = f"`{name}` is" if name != one.name else "it was before"
        for write in writes:
            for read in reads:
                if bad(write, read):
                    raise TraceError(
                        f"`{one.name}`, which a loop assigns anew, may hold the array that {held}, or a part"
                        " of it; one of them is changed in place and the other read",
                        code="CYC111",
                        span=write.span,
                        notes=[
                            (one.tensor.span, f"the loop that assigns `{one.name}` is here"),
                            (read.span, "the other is read here"),
                        ],
                        help=f"give `{one.name}` an array of its own where it gets that one, e.g."
                        f" `{one.name} = {name}.copy()`; or write e.g. `{name} = {name} + ...` for what"
                        " changes the array in place",
                    )


def _may_follow(write: _Use, read: _Use, outside: set[Index]) -> bool:
    """Return whether a statement may be read after another, later in the text or in a loop around both."""
    follows = read.number > write.number and not write.is_beside(read)
    return follows or bool((write.loops & read.loops) - outside)
