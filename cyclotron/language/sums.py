"""Loops that only add to local variables (`for k in range(n): acc += e`): sums."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cyclotron.errors import TraceError
from cyclotron.language.affine import Affine
from cyclotron.language.dtypes import number_of
from cyclotron.language.elements import Element, Reduce, element
from cyclotron.language.elementwise import operand
from cyclotron.language.position import here
from cyclotron.language.promotion import converted, promoted
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
        total = _as_added(total, value)
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


def _as_added(total: Any, value: Any) -> Any:
    """A sum in the dtype in which Python adds its terms to the value, one by one."""
    if not isinstance(total, Reduce) or total.dtype is None:
        return total
    if not isinstance(value, (Element, int, float, complex, np.generic)):
        return total
    first = element(value)
    number = number_of(first)
    given = first.dtype if number is None else number
    assert given is not None
    dtype, _ = promoted("add", [given, total.dtype])
    return total if dtype == total.dtype else _summed_in(total, dtype)


def _summed_in(total: Reduce, dtype: str) -> Reduce:
    body = total.body
    body = _summed_in(body, dtype) if isinstance(body, Reduce) else converted(body, dtype)
    return Reduce(total.kind, total.index, total.region, body, total.span)


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

    `acc = acc + e` is one too, unless `acc` is an array: that would be another one then. Of numbers, so are
    conditions with such branches: they add one of two values, or 0.
    """
    grown = _grown(body, arrays)
    parts = [part for statement in (grown or {}).values() for part in walk(statement.value)]
    read = {part.id for part in parts if isinstance(part, ast.Name)}
    return None if grown is None or not read.isdisjoint(grown) else grown


def _grown(body: Sequence[ast.stmt], arrays: ArrayNames) -> dict[str, ast.AugAssign] | None:
    found: dict[str, ast.AugAssign] = {}
    for statement in body:
        if isinstance(statement, ast.Pass):
            continue
        if isinstance(statement, ast.If):
            new = _chosen(statement, arrays)
        else:
            one = _in_place(statement, arrays)
            if not isinstance(one, ast.AugAssign) or not isinstance(one.target, ast.Name):
                return None
            new = {one.target.id: one} if isinstance(one.op, (ast.Add, ast.Sub)) else None
        if new is None or not found.keys().isdisjoint(new):
            return None
        found |= new
    return found


def _chosen(node: ast.If, arrays: ArrayNames) -> dict[str, ast.AugAssign] | None:
    """What a condition adds to each name: a value by its test, or 0."""
    then, other = _grown(node.body, arrays), _grown(node.orelse, arrays)
    if then is None or other is None or any(one in arrays for one in (*then, *other)):
        return None
    return {one: _either(node, then.get(one), other.get(one)) for one in (then | other)}


def _either(node: ast.If, then: ast.AugAssign | None, other: ast.AugAssign | None) -> ast.AugAssign:
    values = [_term(one, node) for one in (then, other)]
    like = then or other
    assert like is not None
    value = ast.copy_location(ast.IfExp(node.test, *values), like)
    return ast.copy_location(ast.AugAssign(target=like.target, op=ast.Add(), value=value), like)


def _term(statement: ast.AugAssign | None, like: ast.AST) -> ast.expr:
    """What a statement adds; 0 where there is none."""
    if statement is None:
        return ast.copy_location(ast.Constant(0), like)
    if isinstance(statement.op, ast.Add):
        return statement.value
    # Truth values have no negative, and count as numbers where they are taken from one.
    nothing = ast.copy_location(ast.Constant(0), statement.value)
    return ast.copy_location(ast.BinOp(nothing, ast.Sub(), statement.value), statement.value)


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
