"""Readings whose meaning depends on the order of Python's loops.

A recurrence has no order: a reading means the one value that an element has in the end. Python's loops read
what is there at the time. Where the two can differ without the verifier noticing (an accumulation that is not
complete, a constant filling that is not yet replaced), the kernel is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cyclotron.language.trace.statement import Statement
from cyclotron.language.values.affine import Affine, Constraint, Index, Region, intersection
from cyclotron.language.values.nodes import Access, Choose, Element, Reduce
from cyclotron.language.values.region import is_empty, substitute
from cyclotron.support.errors import Span, TraceError


def find_early_read(statements: Sequence[Sequence[Statement]]) -> TraceError | None:
    """Return a reading of an incomplete accumulation, or of a filling that is replaced later, as an error.

    Parameters
    ----------
    statements : sequence of sequence of Statement
        The equations of each statement, in the order of the text, without conditional expressions.
    """
    for position, parts in enumerate(statements):
        for reader in parts:
            for access, region in readings(reader.value, reader.region):
                for other, writers in enumerate(statements):
                    for writer in writers:
                        if writer.target is access.tensor:
                            obstacle = _early(reader, access, region, writer, other - position)
                            if obstacle is not None:
                                return obstacle
    return None


def readings(value: Element, region: Region) -> Iterator[tuple[Access, Region]]:
    """All readings of an expression, each with the points where it happens."""
    pending = [(value, region)]
    seen: dict[tuple[int, int], Region] = {}  # keeps the regions, so that their ids stay theirs
    while pending:
        part, where = pending.pop()
        if (id(part), id(where)) in seen:
            continue
        seen[id(part), id(where)] = where
        if isinstance(part, Access):
            yield part, where
        if isinstance(part, Reduce):
            where = intersection(where, part.region)
        if isinstance(part, Choose):
            pending.append((part.then, intersection(where, part.condition.region)))
            pending.append((part.other, intersection(where, part.condition.negated().region)))
            continue
        pending += [(operand, where) for operand in part.operands]


def _early(
    reader: Statement, access: Access, region: Region, writer: Statement, later: int
) -> TraceError | None:
    """Check one reading against one equation of its tensor; `later` > 0 where the equation is below it."""
    folded = later == 0 and writer.folded  # e.g. `X[i] -= L[i, k] * X[k]`, of other elements
    if writer.reduced is not None and writer.reduced in reader.inside and not folded:
        return TraceError(
            f"`{access!r}` is read while it is accumulated over `{writer.reduced.name}`",
            code="CYC113",
            span=access.span,
            notes=[(writer.span, "it is accumulated here")],
            help=f"read it after the loop over `{writer.reduced.name}`",
        )
    if access.tensor.initial is None:
        return None  # before its assignment an element has no value that Python could read
    renamed = {loop: Index(loop.name, loop.span) for loop in writer.loops}
    values = {loop: Affine({new: 1}, 0) for loop, new in renamed.items()}
    same_element = tuple(
        Constraint(read.plus(written.substitute(values).times(-1)), True)
        for read, written in zip(access.index, writer.index, strict=True)
    )
    both = intersection(region, substitute(writer.region, values))
    for order in _orders(reader, writer, values, later):
        if any(not is_empty((*same_element, *order, *points)) for points in both):
            return _read_too_early(access, writer.span)
    return None


def _orders(
    reader: Statement, writer: Statement, values: dict[Index, Affine], later: int
) -> Iterator[tuple[Constraint, ...]]:
    """The ways in which Python runs the writer after the reader, as constraints on both points."""
    equal: tuple[Constraint, ...] = ()
    for mine, its in zip(reader.inside, writer.inside, strict=False):
        if mine is not its:
            break
        if mine not in values:
            continue  # the loop of an accumulation that both are in
        ahead = values[mine].plus(Affine({mine: -1}, 0))
        yield (*equal, Constraint(ahead.plus(Affine({}, -1))))
        equal += (Constraint(ahead, True),)
    if later >= 0:  # a statement reads before it assigns
        yield equal


def _read_too_early(access: Access, assigned: Span) -> TraceError:
    fill = access.tensor.initial
    return TraceError(
        f"`{access!r}` is read before it is assigned, where Python still finds {fill}",
        code="CYC113",
        span=access.span,
        notes=[(assigned, "it is assigned here")],
        help="let the loops assign elements before they read them, or use another tensor",
    )
