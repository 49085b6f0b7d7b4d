"""Loops that only add to local variables (`for k in range(n): acc += e`): sums."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cyclotron.errors import TraceError
from cyclotron.language.affine import Affine
from cyclotron.language.elementwise import operand
from cyclotron.language.position import here
from cyclotron.language.syntax import walk
from cyclotron.language.trace import accesses
from cyclotron.language.whole import Expression, Whole

if TYPE_CHECKING:
    from cyclotron.language.array_names import ArrayNames


def added(value: Any, total: Any, *, name: str, negative: bool = False) -> Any:
    """``r = il.added(r, il.sum(...), name="r")``: what a loop of `r += e` makes of a number or an array.

    Raises
    ------
    TraceError
        CYC113 if `e` reads the array: it may change between the iterations.
    """
    if not isinstance(value, Whole) or isinstance(value, Expression):
        return value - total if negative else value + total
    view = value.whole()
    assert view is not None
    array = operand(total)
    for access in accesses(array.at([Affine({}, 0)] * array.ndim)):
        if access.tensor is view.tensor:
            sign = "-=" if negative else "+="
            raise TraceError(
                f"a loop adds elements of `{view.tensor.name}` to `{name}`, which is a part of it",
                code="CYC113",
                span=here(),
                help=f"write `{name}[...] {sign} ...` in the loop, which changes the array in each iteration",
            )
    return value.grown(total, negative=negative)


def changed(value: Any, *, name: str) -> Any:
    """``il.changed(u, name="u")[...] += e``: an array that a loop changes in place.

    Raises
    ------
    TraceError
        CYC111 if it is a number.
    """
    if isinstance(value, Whole):
        return value
    raise TraceError(
        f"`{name}` is no array before the loop, which changes it by arrays",
        code="CYC111",
        span=here(),
        help=f"make it an array before the loop, e.g. `{name} = cy.full_like(x, {name})`",
    )


def additions(body: Sequence[ast.stmt], arrays: ArrayNames) -> dict[str, ast.AugAssign] | None:
    """The statements of a body by the names they add to; None where it does anything else.

    `acc = acc + e` is one too, unless `acc` is an array: that would be another one then.
    """
    grown: dict[str, ast.AugAssign] = {}
    for statement in (_in_place(one, arrays) for one in body):
        if not isinstance(statement, ast.AugAssign) or not isinstance(statement.target, ast.Name):
            return None
        if not isinstance(statement.op, (ast.Add, ast.Sub)) or statement.target.id in grown:
            return None
        grown[statement.target.id] = statement
    parts = [part for statement in grown.values() for part in walk(statement.value)]
    return None if any(isinstance(part, ast.Name) and part.id in grown for part in parts) else grown


def _in_place(statement: ast.stmt, arrays: ArrayNames) -> ast.stmt:
    """`acc = acc + e` of a number as `acc += e`."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.BinOp):
        return statement
    target, left = statement.targets[0], statement.value.left
    if len(statement.targets) > 1 or not isinstance(target, ast.Name) or not isinstance(left, ast.Name):
        return statement
    if left.id != target.id or target.id in arrays:
        return statement
    new = ast.AugAssign(target=target, op=statement.value.op, value=statement.value.right)
    return ast.copy_location(new, statement)
