"""The names of the indices of whole-array statements, which have no loops in the text.

Names follow the data: an index that runs along an axis alone (`u[2 * i + 1]`, not `u[i + j]`) is called
like that axis, so that what is made along a line of PEs is used along it. Axes of one array, and indices of
one statement, have different names, but for sums beside each other over the same data. Arrays that are made
of elements at their places have the names of these, then transposes (not in `u = u.T + 1`), then vectors in
one dot product. Inputs are loaded where they are used and decide nothing.

An axis that a loop of the kernel subscripts elsewhere (`U[t + 1, 1:-1]`) is called like that loop, unless
it is sliced within the loop. The others are called i, j, k, l, ... in their order, without the names of
loops: of statements in more loops before those in fewer. In a statement sums over what is computed take the
names that it has, then come the letters of what is assigned, then those of the other sums: in `C = A @ B`
i and j, summed over k; in `y = A @ x; z = B @ y` `y[i]`, summed over j, and `z[j]`, summed over i.

An axis of one element that a reduction leaves has no name: `m = x.sum(axis=1, keepdims=True)` is `m[i, 0]`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cyclotron.language.trace.statement import Statement
from cyclotron.language.trace.trace import Trace
from cyclotron.language.values.affine import Affine, Index
from cyclotron.language.values.nodes import (
    Access,
    AxisIndex,
    Element,
    FoldIndex,
    Reduce,
    SearchIndex,
    Tensor,
    accesses,
    substitute_indices,
    walk,
)
from cyclotron.language.values.region import substitute

LETTERS = "ijklmnpqrs"


def name_axes(trace: Trace) -> None:
    """Name all indices of whole-array statements of a finished recording."""
    if all(_is_written(i) for s in trace.statements for i in (*s.loops, *_reduced(s.value))):
        return
    for statement in (*trace.statements, *trace.equations):
        if _reduced(statement.value):
            _leave_out_single(statement)
    _name_alike(trace)


def _is_single(index: Index) -> bool:
    return isinstance(index, AxisIndex) and index.tensor.shape[index.axis] == 1


def _leave_out_single(statement: Statement) -> None:
    """Take indices of the axes of one element that reductions leave as the number that they are."""
    single = {
        index: Affine({}, -form.constant // form.terms[index])  # the subscript is 0
        for index in statement.loops
        for d, form in enumerate(statement.index)
        if _is_single(index) and [*form.terms] == [index] and _is_left(statement, d)
    }
    if single:
        inside = [True, *(index not in single for index in statement.loops)]
        statement.text = tuple(itertools.compress(statement.text, inside))
        statement.loops = tuple(index for index in statement.loops if index not in single)
        statement.inside = tuple(index for index in statement.inside if index not in single)
        statement.index = tuple(form.substitute(single) for form in statement.index)
        statement.region = substitute(statement.region, single)
        statement.value = substitute_indices(statement.value, single)


def _is_left(statement: Statement, axis: int) -> bool:
    """Return whether a reduction with as many axes runs along this one, from the last, of all it reads."""
    axes = len(statement.index)
    for part in walk(statement.value):
        if isinstance(part, Reduce):
            read = [access.index for access in accesses(part)]
            along = {d - len(i) for i in read for d, form in enumerate(i) if part.index in form.terms}
            if along == {axis - axes} and max(map(len, read)) == axes:
                return True
    return False


Axis = tuple[Tensor, int]
Owner = Tensor | frozenset[Index]  # no two of whose axes or indices have one name


@dataclass(eq=False)
class _Alike:
    """Axes and indices of one name: who has some of them, the loops around these, and the name once known."""

    members: list[Axis | Index]
    owners: set[Owner] = field(default_factory=set)
    loops: set[str] = field(default_factory=set)
    name: str = ""
    summed: str = ""  # the name of the first sum along them


def _join(one: _Alike, other: _Alike, sets: dict[Axis | Index, _Alike]) -> None:
    """Give two sets one name, if they can have one."""
    names, loops = {one.name, other.name} - {""}, one.loops | other.loops
    if one is other or one.owners & other.owners or len(names) > 1 or names & loops:
        return
    few, many = sorted((one, other), key=lambda each: len(each.members))
    many.members += few.members
    many.owners |= few.owners
    many.loops, many.name = loops, "".join(names)
    sets.update(dict.fromkeys(few.members, many))


def _name_alike(trace: Trace) -> None:
    """Give indices that run along the same data one name."""
    sets, written = _sets(trace)
    _join_along(trace, sets)
    beside: dict[Owner, list[_Alike]] = {}
    for one in dict.fromkeys(sets.values()):
        for owner in one.owners:
            beside.setdefault(owner, []).append(one)
    for statement in sorted(trace.statements, key=lambda one: (not _searches(one), -len(one.loops))):
        _name_indices(statement, sets, beside, written)


def _sets(trace: Trace) -> tuple[dict[Axis | Index, _Alike], set[str]]:
    """Each axis and unnamed index by itself, named like the loop alone on it; the names of all loops."""
    sets: dict[Axis | Index, _Alike] = {}
    written: set[str] = set()

    def add(member: Axis | Index, owner: Owner, loops: Iterable[str]) -> None:
        one = sets.setdefault(member, _Alike([member]))
        one.owners.add(owner)
        one.loops.update(loops)

    for statement in trace.statements:
        own = [index.name for index in (*statement.loops, *_reduced(statement.value)) if _is_written(index)]
        written.update(own)
        for pair in _in_one_scope(statement):
            for index in itertools.filterfalse(_is_written, pair):
                add(index, pair, own)
        for access in _accesses(statement):
            for d, form in enumerate(access.index):
                free = all(_is_written(i) or isinstance(i, SearchIndex) for i in form.terms)
                add((access.tensor, d), access.tensor, () if free else own)
    reads = itertools.chain.from_iterable(map(_alone, trace.statements))
    for access, d, index in sorted(reads, key=lambda each: _indices(each[0]) < len(each[0].index)):
        axis = sets[access.tensor, d]
        others = {sets[access.tensor, other].name for other in range(len(access.index)) if other != d}
        if _is_written(index) and index.name not in axis.loops | others:
            axis.name = axis.name or index.name
    return sets, written


def _indices(access: Access) -> int:
    """Return the number of different indices in its subscripts: fewer than these in `M[j, j]`."""
    return len({term for form in access.index for term in form.terms})


def _join_along(trace: Trace, sets: dict[Axis | Index, _Alike]) -> None:
    """Join what runs along what is computed: at its place, then in transposes, then in dot products."""
    for transposed in (False, True):
        for statement in trace.statements:
            for access, d, index in _alone(statement):
                axis = sets[access.tensor, d]
                follows = isinstance(index, AxisIndex) and _is_transposed(access, statement) == transposed
                searched = isinstance(index, SearchIndex) and transposed
                if (follows or searched) and (axis.name or not access.tensor.is_input):
                    _join(sets[index], axis, sets)
    for statement in trace.statements:
        for axes in _summed(statement).values():
            computed = [axis for axis in axes if not axis[0].is_input]
            for one, other in itertools.combinations(computed, 2):
                if one[1] - len(one[0].shape) == other[1] - len(other[0].shape):
                    _join(sets[one], sets[other], sets)


def _name_indices(
    statement: Statement,
    sets: dict[Axis | Index, _Alike],
    beside: dict[Owner, list[_Alike]],
    written: set[str],
) -> None:
    """Name a statement's indices: sums along what is computed, then its loops, then the other sums."""
    loops = [index for index in statement.loops if isinstance(index, AxisIndex)]
    sums = _summed(statement)
    here = [sets[index] for index in (*loops, *sums)]

    def taken(one: _Alike) -> set[str]:
        return one.loops | {other.name for owner in one.owners for other in beside[owner]} - {""}

    def letter(one: _Alike) -> str:
        return one.name or next(_letters(written | taken(one) | {other.name for other in here}))

    def follow(index: Index, names: Iterable[str]) -> None:
        """Name a sum by the first name that no index around it has, and no sum beside it along other data."""
        data = {sets[axis] for axis in sums[index]}
        apart = {sets[i].name for i, axes in sums.items() if data.isdisjoint(sets[axis] for axis in axes)}
        one = sets[index]
        one.name = one.name or next((n for n in names if n and n not in taken(one) | apart), "")

    def follow_data() -> None:
        for index, axes in sums.items():
            data = [sets[axis] for axis in sorted(axes, key=lambda axis: axis[0].is_input)]
            follow(index, [name for one in data for name in (one.name, one.summed)])

    for index, axes in sums.items():
        for axis in axes:
            if not axis[0].is_input and not isinstance(index, SearchIndex):
                sets[axis].name = letter(sets[axis])
                follow(index, [sets[axis].name])
    if any(sets[index].name for index in sums):
        follow_data()
    for index in loops:
        sets[index].name = letter(sets[index])
    follow_data()
    for index, axes in sums.items():
        sets[index].name = letter(sets[index])
        for axis in axes:
            sets[axis].summed = sets[axis].summed or sets[index].name
    for index in (*loops, *sums):
        index.name = sets[index].name


def _searches(statement: Statement) -> bool:
    """Return whether a statement looks for elements of what is computed, at places that data tell."""
    sums = _summed(statement).items()
    return any(isinstance(i, SearchIndex) and not tensor.is_input for i, axes in sums for tensor, _ in axes)


def _summed(statement: Statement) -> dict[Index, list[Axis]]:
    """The sums without a name in the text, and the axes along which each runs alone."""
    sums: dict[Index, list[Axis]] = {i: [] for i in _reduced(statement.value) if not _is_written(i)}
    for access, d, index in _alone(statement):
        if index in sums:
            sums[index].append((access.tensor, d))
    return sums


def _is_transposed(access: Access, statement: Statement) -> bool:
    """Return whether loops of the statement stand in another order in the access."""
    own = [term for form in access.index for term in form.terms if term in statement.loops]
    return own != sorted(own, key=statement.loops.index)


def _accesses(statement: Statement) -> Iterator[Access]:
    yield Access(statement.target, statement.index, statement.span)
    yield from accesses(statement.value)


def _alone(statement: Statement) -> Iterator[tuple[Access, int, Index]]:
    """Axes of tensors, and the one index that each subscript names."""
    for access in _accesses(statement):
        for d, form in enumerate(access.index):
            if len(form.terms) == 1:
                yield access, d, next(iter(form.terms))


def _reduced(value: Element) -> list[Index]:
    """The indices of the reductions of an expression, outermost first."""
    return [part.index for part in walk(value) if isinstance(part, Reduce)]


def _in_one_scope(statement: Statement) -> Iterator[frozenset[Index]]:
    """Pairs of indices of which one is in the scope of the other, and each with itself."""
    scopes: list[tuple[Index, Iterable[Index]]] = [(index, statement.loops) for index in statement.loops]
    for part in walk(statement.value):
        if isinstance(part, Reduce):
            scopes.append((part.index, (part.index, *statement.loops, *_reduced(part.body))))
    for index, others in scopes:
        yield from (frozenset((index, other)) for other in others)


def _is_written(index: Index) -> bool:
    """Return whether the index stands in the kernel's text."""
    return not isinstance(index, (AxisIndex, FoldIndex))


def _letters(taken: Iterable[str]) -> Iterator[str]:
    """Names in alphabetical order that are free."""
    taken = set(taken)
    yield from (letter for letter in LETTERS if letter not in taken)
    number = 1
    while True:
        if f"i{number}" not in taken:
            yield f"i{number}"
        number += 1
