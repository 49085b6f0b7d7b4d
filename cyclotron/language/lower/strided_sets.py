"""Elements one stride apart, `a[4::2] = 0`, as a choice in all elements between them.

Assignments at several strides leave as many cases as their least common multiple has numbers. Where each
assigns all elements from its first to its last, most of them as they are, few cases are enough.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from cyclotron.language.trace.statement import Statement, unused
from cyclotron.language.trace.trace import Trace
from cyclotron.language.values.affine import Affine, Constraint, Index
from cyclotron.language.values.broadcasting import box
from cyclotron.language.values.nodes import (
    Access,
    Apply,
    AxisIndex,
    Constant,
    Element,
    FoldIndex,
    IndexValue,
    Reduce,
    walk,
)
from cyclotron.language.values.region import extent
from cyclotron.language.values.scalar_type import ScalarType, nothing_of
from cyclotron.language.values.scalars import explicit_cast
from cyclotron.support.errors import Span

_WHOLE = ScalarType("int64")


def filled(nest: Trace) -> Trace | None:
    """Return a recording whose statements assign no elements one stride apart; None where none of some does.

    Parameters
    ----------
    nest : Trace
        A recording whose equations run one after the other.
    """
    tensors = [*nest.tensors]
    result: list[Statement] = []
    changed = False
    # What keeps a right side between two statements has no other elements.
    kept = {one for one, count in Counter(one.target for one in nest.equations).items() if count == 1}
    kept -= set(nest.outputs.values())
    for statement in nest.equations:
        spaced = replace(statement, text=tuple(4 * place for place in statement.text))
        axis = _strided_axis(spaced)
        if axis is not None:
            *before, spaced = _looked_up(spaced, axis, {one.unique_name for one in tensors})
            tensors += [one.target for one in before]
            result += before
        result.append(_between(spaced, statement.target in kept))
        changed = changed or result[-1].region is not statement.region
    return replace(nest, tensors=tensors, equations=result) if changed else None


def _strided_axis(statement: Statement) -> int | None:
    """The axis along which a loop counts the steps of a slice, `4 + 2 * i`, where that is the only one."""
    loops = [loop for form in statement.index for loop in form.terms]
    found = [
        axis
        for axis, form in enumerate(statement.index)
        for loop, factor in form.terms.items()
        if isinstance(loop, AxisIndex) and abs(factor) > 1 == len(form.terms) == loops.count(loop)
    ]
    return found[0] if len(found) == len(statement.region) == 1 else None


def _looked_up(statement: Statement, axis: int, names: set[str]) -> list[Statement]:
    """Statements that keep values by their steps and number those, and one whose elements look them up."""
    target, span, form = statement.target, statement.span, statement.index[axis]
    ((loop, step),) = form.terms.items()
    at, own, fold = statement.index, Index(loop.name, span), FoldIndex("fold", span)
    depth = sum(not isinstance(one, AxisIndex) for one in statement.loops)

    def later(rank: int) -> tuple[int, ...]:
        return tuple(place + rank * (n == depth) for n, place in enumerate(statement.text))

    def along(index: Index) -> tuple[Affine, ...]:
        return (*at[:axis], Affine({index: 1}, 0), *at[axis + 1 :])

    size = (extent(statement.region, loop) or (0, 0))[1] + 1
    scalars = (*target.scalars[:axis], size, *target.scalars[axis + 1 :])
    kept = target.beside(unused(f"{target.unique_name}_apart", names, ""), scalars=scalars)
    length = target.scalars[axis : axis + 1]
    places = target.beside(unused(f"{target.unique_name}_step", names, ""), scalars=length, dtype="int64")
    number = Affine({own: 1}, -form.constant).times(1 if step > 0 else -1)
    steps = {loop: number.over(abs(step))}
    inside = [c.substitute(steps) for c in statement.region[0]]
    inside = [replace(c, form=c.form.times(c.form.divisor).over(1)) for c in inside]
    place = Apply("floor_divide", (_number(number, span), _number(abs(step), span)), span)
    place = Apply("normalize_index", (place, _number(size, span)), span)
    value: Element = Access(kept, along(fold), span)
    is_here = Apply("equal", (Access(places, (Affine({own: 1}, 0),), span), _number(fold, span)), span)
    nothing = explicit_cast(Constant(nothing_of(value.dtype), span), value.dtype)
    value = Apply("where", (is_here, value, nothing), span)
    found = replace(
        statement,
        target=target.beside(unused(f"{target.unique_name}_found", names, "")),
        index=along(own),
        loops=tuple(own if one is loop else one for one in statement.loops),
        inside=tuple(own if one is loop else one for one in statement.inside),
        region=(tuple(inside),),
        value=Reduce("sum", fold, (box([(fold, size)]),), value, span),
        text=later(2),
    )
    apart = Constraint(number, modulus=abs(step))
    taken = Access(found.target, found.index, span)
    return [
        replace(statement, target=kept, index=along(loop)),
        replace(found, target=places, index=(Affine({own: 1}, 0),), value=place, text=later(1)),
        found,
        replace(found, target=target, region=((*inside, apart),), value=taken, text=later(3)),
    ]


def _between(statement: Statement, is_kept: bool) -> Statement:
    """The statement with all elements between those that it assigns, as they are where they are anything."""
    value = statement.value
    if len(statement.region) != 1 or any(map(_needs_class, walk(value))):
        return statement
    apart = [c for c in statement.region[0] if c.modulus]
    if not apart:
        return statement
    own = Access(statement.target, statement.index, statement.span)
    chosen = explicit_cast(value, own.dtype)
    for one in () if is_kept else apart:
        number, modulus, zero = (_number(part, own.span) for part in (one.form, one.modulus, 0))
        holds = Apply("equal", (Apply("remainder", (number, modulus), own.span), zero), own.span)
        chosen = Apply("where", (holds, chosen, own), own.span)
    rest = tuple(c for c in statement.region[0] if c not in apart)
    return replace(statement, region=(rest,), value=chosen)


def _needs_class(part: Element) -> bool:
    """Return whether a part of a value may have none elsewhere: a quotient, or what may end the program."""
    is_quotient = isinstance(part, Access) and any(form.divisor > 1 for form in part.index)
    return is_quotient or (isinstance(part, Apply) and part.op == "normalize_index")


def _number(value: Affine | Index | int, span: Span) -> Element:
    if isinstance(value, int):
        return Constant(value, span, _WHOLE)
    return IndexValue(Affine({value: 1}, 0) if isinstance(value, Index) else value, _WHOLE, span)
