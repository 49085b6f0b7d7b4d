"""Loops that keep the largest or the smallest number of those they compute (`best = max(best, e)`)."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterator
from dataclasses import dataclass

from cyclotron.language.syntax.jumps import jumps
from cyclotron.language.syntax.names import assigned_names
from cyclotron.language.syntax.rewrite_state import RewriteState
from cyclotron.language.syntax.trees import walk

_LARGEST: dict[type[ast.cmpop], bool] = {ast.Gt: True, ast.GtE: True, ast.Lt: False, ast.LtE: False}


class Taken(ast.Expr):
    """A number that a loop computes, and the name of what takes it."""

    _fields = ("value", "place")
    place: str


@dataclass(frozen=True)
class Extreme:
    """A name that a loop only gives the larger, or the smaller, of what it is and what an iteration computes.

    Attributes
    ----------
    name : ast.Name
        Where it is assigned.
    largest : bool
        Which of both.
    value : ast.expr
        What is computed.
    """

    name: ast.Name
    largest: bool
    value: ast.expr


def extremes_of(state: RewriteState, node: ast.For) -> dict[ast.stmt, Extreme]:
    """The statements, in a loop and those in it, of names that nothing else in them reads or assigns.

    A PE goes as well through those of one iteration of a loop around, where loops do nothing else, and of
    one loop that carries others.
    """
    if state.arrays.reads_data(node.iter):
        return {}
    statements = list(_statements(node, {part.id for part in assigned_names(node.body)}))
    alike = {one: extreme for one, _ in statements for extreme in (_extreme(state, one),) if extreme}
    names = [part.id for part in walk(node) if isinstance(part, ast.Name)] if alike else []
    found = {
        one: extreme
        for one, extreme in alike.items()
        if names.count(extreme.name.id) == 2 and extreme.name.id not in state.arrays
    }
    does_more, carries, depths = len(found) < len(statements), len(found) < len(alike), dict(statements)

    def is_of_one_pe(one: ast.stmt) -> bool:
        if does_more:
            return carries and depths[one] == 1
        return bool(state.indices) and (depths[one] == 1 or bool(_names(found[one].value) & {*state.indices}))

    return {one: extreme for one, extreme in found.items() if not is_of_one_pe(one)}


def _names(node: ast.expr) -> set[str]:
    return {part.id for part in walk(node) if isinstance(part, ast.Name)}


def without(node: ast.For, places: dict[ast.stmt, str], extremes: dict[ast.stmt, Extreme]) -> ast.For:
    """The loop with the numbers taken, each by what has the name of its place."""
    new = copy.copy(node)
    new.body = []
    for one in node.body:
        if one in extremes:
            taken = ast.copy_location(Taken(extremes[one].value), one)
            taken.place = places[one]
            new.body.append(taken)
        else:
            new.body.append(without(one, places, extremes) if isinstance(one, ast.For) else one)
    return new


def _statements(node: ast.For, assigned: set[str], depth: int = 1) -> Iterator[tuple[ast.stmt, int]]:
    """The statements that run in each iteration of a loop and those in it, with the number of these loops.

    Of loops whose bounds data may tell, elements or names that the outermost one assigns, there are none.
    """
    of_data = depth > 1 and (_names(node.iter) & assigned or not all(map(_is_of_host, walk(node.iter))))
    if node.orelse or any(jumps(node.body)) or of_data:
        yield node, depth
        return
    for one in node.body:
        if isinstance(one, ast.For):
            yield from _statements(one, assigned, depth + 1)
        else:
            yield one, depth


def _is_of_host(part: ast.AST) -> bool:
    """Return whether a part of what a loop runs over is no element, but for a size, and no slice."""
    if not isinstance(part, ast.Subscript):
        return True
    return isinstance(part.value, ast.Attribute) and part.value.attr == "shape"


def _extreme(state: RewriteState, node: ast.stmt) -> Extreme | None:
    """`best = max(best, e)`, or `if e > best: best = e`."""
    test: ast.expr | None = None
    if isinstance(node, ast.If) and len(node.body) == 1 and not node.orelse:
        test, node = node.test, node.body[0]
    if (
        not isinstance(node, ast.Assign)
        or len(node.targets) != 1
        or not isinstance(node.targets[0], ast.Name)
    ):
        return None
    target, value = node.targets[0], node.value
    if test is not None:
        return _chosen(target, value, test)
    if not isinstance(value, ast.Call) or len(value.args) != 2 or value.keywords:
        return None
    function, (first, second) = state.source.meaning(value.func), value.args
    if function not in (builtins.max, builtins.min) or not _is(first, target):
        return None
    return None if isinstance(second, ast.Starred) else Extreme(target, function is builtins.max, second)


def _chosen(target: ast.Name, value: ast.expr, test: ast.expr) -> Extreme | None:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or type(test.ops[0]) not in _LARGEST:
        return None
    left, right = test.left, test.comparators[0]
    for one, other, turned in ((left, right, False), (right, left, True)):
        if _is(other, target) and ast.dump(one) == ast.dump(value):
            return Extreme(target, _LARGEST[type(test.ops[0])] is not turned, value)
    return None


def _is(node: ast.expr, target: ast.Name) -> bool:
    return isinstance(node, ast.Name) and node.id == target.id
