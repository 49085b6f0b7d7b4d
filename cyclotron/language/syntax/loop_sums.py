"""Loops that only add to local variables (`for k in range(n): acc += e`): which they are."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cyclotron.language.syntax.trees import walk

if TYPE_CHECKING:
    from cyclotron.language.syntax.array_names import ArrayNames


class Renewed(ast.AugAssign):
    """`acc = acc + e` as `acc += e`: of an array, which the text may not tell, the name gets another one."""

    renews: bool | None = True  # None: in one of two branches


def loop_sums(body: Sequence[ast.stmt], arrays: ArrayNames) -> dict[str, ast.AugAssign] | None:
    """The statements of a body by the names they add to; None where it does anything else.

    `acc = acc + e` is one too, unless `acc` is an array: that would be another one then. Of numbers, so are
    conditions with such branches: they add one of two values, or 0.
    """
    addends = _addends(body, arrays)
    parts = [part for statement in (addends or {}).values() for part in walk(statement.value)]
    read = {part.id for part in parts if isinstance(part, ast.Name)}
    return None if addends is None or not read.isdisjoint(addends) else addends


def _addends(body: Sequence[ast.stmt], arrays: ArrayNames) -> dict[str, ast.AugAssign] | None:
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
            adds = isinstance(one.op, (ast.Add, ast.Sub)) and not arrays.may_be_element(one.target.id)
            new = {one.target.id: one} if adds else None
        if new is None or not found.keys().isdisjoint(new):
            return None
        found |= new
    return found


def _chosen(node: ast.If, arrays: ArrayNames) -> dict[str, ast.AugAssign] | None:
    """The addend of a condition for each name: a value by its test, or 0."""
    then, other = _addends(node.body, arrays), _addends(node.orelse, arrays)
    if then is None or other is None or any(one in arrays for one in (*then, *other)):
        return None
    return {one: _either(node, then.get(one), other.get(one)) for one in (then | other)}


def _either(node: ast.If, then: ast.AugAssign | None, other: ast.AugAssign | None) -> ast.AugAssign:
    values = [_term(one, node) for one in (then, other)]
    like = then or other
    assert like is not None
    value = ast.copy_location(ast.IfExp(node.test, *values), like)
    kinds = {getattr(one, "renews", False) for one in (then, other) if one}
    new = Renewed(target=like.target, op=ast.Add(), value=value)
    new.renews = kinds.pop() if len(kinds) == 1 else None
    return ast.copy_location(new, like)


def _term(statement: ast.AugAssign | None, like: ast.AST) -> ast.expr:
    """The addend of a statement; 0 where there is none."""
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
    new = Renewed(target=target, op=statement.value.op, value=statement.value.right)
    return ast.copy_location(new, statement)
