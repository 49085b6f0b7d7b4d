"""Names of elements: `t = x[0]` is what x[0] was, also where x[0] is assigned before t is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cyclotron.language.lower.read_order import readings
from cyclotron.language.trace.statement import Statement
from cyclotron.language.trace.trace import Trace
from cyclotron.language.values.affine import Affine, Constraint, Index, Region
from cyclotron.language.values.nodes import (
    Access,
    AxisIndex,
    Element,
    Reduce,
    Tensor,
    accesses,
    rebuild,
    transform,
    walk,
)
from cyclotron.language.values.region import is_empty, substitute


@dataclass(frozen=True)
class _Copy:
    """The statement that keeps what an element is, and the number of the one before which it stands."""

    statement: Statement
    before: int


def with_kept_reads(trace: Trace) -> Trace:
    """Return a recording that uses what elements were when the kernel read them.

    A recorded expression reads its elements where it is used; where another statement may assign one in
    between, an array of its own keeps it.
    """
    statements = list(trace.statements)
    copies: dict[tuple[int, tuple[Index, ...]], _Copy] = {}  # by the identity of the reading
    for number, statement in enumerate(trace.statements):
        stale = [a for a in accesses(statement.value) if _is_stale(trace.statements, number, a)]
        kept_in = {}
        for access in stale:
            # A part of a loop that is recorded apart has sums of its own.
            loops = _loops(statement, access)
            key = id(access), loops
            if key not in copies:
                made = _copy(trace, statement, access, loops, len(copies))
                copies[key] = _Copy(made, access.made or 0)
            kept = copies[key].statement
            kept.region = tuple(dict.fromkeys((*kept.region, *_uses(statement, access, kept.loops))))
            kept_in[id(access)] = kept.target
        if stale:
            statements[number] = replace(statement, value=_replaced(statement.value, kept_in))
    return _with_copies(trace, statements, list(copies.values())) if copies else trace


def _with_copies(trace: Trace, statements: Sequence[Statement], copies: Sequence[_Copy]) -> Trace:
    """The recording with copies where they belong, and all places in the text counted anew."""
    scale = len(copies) + 1
    result = [replace(one, text=tuple((place + 1) * scale for place in one.text)) for one in statements]
    for rank, copy in enumerate(copies, 1):
        kept = copy.statement
        depth = len(kept.text)
        around = kept.text
        following = next(s for s in statements[copy.before :] if s.text[:depth] == around)
        place = (following.text[depth] + 1) * scale - rank
        inner = (0,) * (len(kept.loops) - depth)
        kept.text = (*((outer + 1) * scale for outer in around), place, *inner)
        result.append(kept)
    result.sort(key=lambda one: one.text)
    targets = (copy.statement.target for copy in copies)
    return replace(trace, statements=result, tensors=[*trace.tensors, *targets])


def _loops(statement: Statement, access: Access) -> tuple[Index, ...]:
    """The loops that were open, and the sums by which the element, or its use, depends on those."""
    found = [index for index in statement.loops if index in access.loops]
    limits = [{*c.form.terms} for conjunction in _domain(statement, access) for c in conjunction]
    bound = {*found, *(index for form in access.index for index in form.terms)}
    size = -1
    while size != (size := len(bound)):
        bound |= {index for indices in limits if not bound.isdisjoint(indices) for index in indices}
    folded = dict.fromkeys(part.index for part in walk(statement.value) if isinstance(part, Reduce))
    return (*found, *(index for index in folded if index in bound))


def _copy(
    trace: Trace, statement: Statement, access: Access, loops: tuple[Index, ...], number: int
) -> Statement:
    """The assignment that keeps an element in the loops that were open; `text` has their places only."""
    name = f"{access.tensor.unique_name}_kept{number or ''}"
    tensor = access.tensor.beside(name, owner=trace, tile=None, span=access.span)
    depth = sum(index in access.loops for index in statement.loops)
    return Statement(tensor, access.index, loops, (), access, access.span, loops, text=statement.text[:depth])


def _uses(statement: Statement, access: Access, loops: Sequence[Index]) -> Region:
    """The points of loops where a statement uses an element, or where the kernel reads it more often."""
    inside = set(loops)
    return tuple(
        tuple(c for c in conjunction if inside.issuperset(c.form.terms))
        for conjunction in _domain(statement, access)
    )


def _domain(statement: Statement, access: Access) -> Region:
    found = (region for one, region in readings(statement.value, statement.region) if one is access)
    return tuple(conjunction for region in found for conjunction in region)


def _replaced(value: Element, kept: dict[int, Tensor]) -> Element:
    """An expression that reads the arrays in which elements are kept."""

    def changed(part: Element, operands: list[Element]) -> Element:
        if isinstance(part, Access) and id(part) in kept:
            return replace(part, tensor=kept[id(part)], made=None)
        return rebuild(part, operands)

    return transform(value, changed)


def _is_stale(statements: Sequence[Statement], number: int, access: Access) -> bool:
    """Return whether an element may be assigned after it is read and before the statement uses it."""
    return any(
        other.target is access.tensor and _may_assign(other, statements[number], access)
        for other in _between(statements, number, access)
    )


def _between(statements: Sequence[Statement], number: int, access: Access) -> Iterator[Statement]:
    """The statements that run after an element is read and before the statement of that number uses it."""
    if access.made is None:
        return
    yield from statements[access.made : number]
    statement = statements[number]
    # Opened since, so that the statement and others run again; those of whole arrays read before they assign.
    loops = [one for one in statement.loops if not (one in access.loops or isinstance(one, AxisIndex))]
    read_inside = any(index in loops for form in access.index for index in form.terms)
    if loops and not read_inside:
        for other in statements[number:]:
            if loops[0] not in other.loops:
                break
            yield other


def _may_assign(other: Statement, statement: Statement, access: Access) -> bool:
    """Return whether `other` assigns, in any iteration of loops of its own, what the statement uses."""
    own = {one: Affine({Index(one.name, one.span): 1}, 0) for one in other.loops if one not in access.loops}
    same = tuple(
        Constraint(ours.substitute(own).plus(theirs.times(-1)), equality=True)
        for ours, theirs in zip(other.index, access.index, strict=True)
    )
    return any(
        not is_empty((*assigned, *used, *same))
        for assigned in substitute(other.region, own)
        for used in statement.region
    )
