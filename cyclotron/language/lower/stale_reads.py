"""Names of elements: `t = x[0]` is what x[0] was, also where x[0] is assigned before t is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cyclotron.language.trace.statement import Statement
from cyclotron.language.values.affine import Affine, Constraint, Index
from cyclotron.language.values.nodes import Access, AxisIndex, accesses
from cyclotron.language.values.region import is_empty, substitute
from cyclotron.support.errors import TraceError


def check_stale_reads(statements: Sequence[Statement]) -> None:
    """Refuse statements that run one after the other and use an element which has been assigned since.

    A recorded expression reads its elements where it is used.

    Raises
    ------
    TraceError
        CYC107 where one of the statements between may assign the element.
    """
    for number, statement in enumerate(statements):
        for access in accesses(statement.value):
            for other in _between(statements, number, access):
                if other.target is access.tensor and _may_assign(other, statement, access):
                    raise TraceError(
                        f"`{access!r}` is assigned between where it is read and where that value is used",
                        code="CYC107",
                        span=access.span,
                        notes=[(other.span, "it is assigned here"), (statement.span, "and used here")],
                        help="keep the value in an array of its own, e.g. `kept = cy.empty((1,))` before the"
                        f" loops and `kept[0] = {access!r}` here",
                    )


def _between(statements: Sequence[Statement], number: int, access: Access) -> Iterator[Statement]:
    """The statements that run after an element is read and before the statement of that number uses it."""
    if access.made is None:
        return
    yield from statements[access.made : number]
    statement = statements[number]
    # Opened since, so that the statement and others run again; those of whole arrays read before they assign.
    loops = [one for one in statement.loops[access.depth :] if not isinstance(one, AxisIndex)]
    read_inside = any(index in loops for form in access.index for index in form.terms)
    if loops and not read_inside:
        for other in statements[number:]:
            if loops[0] not in other.loops:
                break
            yield other


def _may_assign(other: Statement, statement: Statement, access: Access) -> bool:
    """Return whether `other` assigns, in any iteration of loops of its own, what the statement uses."""
    own = {one: Affine({Index(one.name, one.span): 1}, 0) for one in other.loops[access.depth :]}
    same = tuple(
        Constraint(ours.substitute(own).plus(theirs.times(-1)), equality=True)
        for ours, theirs in zip(other.index, access.index, strict=True)
    )
    return any(
        not is_empty((*assigned, *used, *same))
        for assigned in substitute(other.region, own)
        for used in statement.region
    )
