"""`break` and `continue` in the body of a loop, and loops without `continue`."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from typing import TypeVar

_Loop = TypeVar("_Loop", ast.For, ast.While)


def is_break(body: Sequence[ast.stmt]) -> bool:
    """Whether a body is `break` alone."""
    return len(body) == 1 and isinstance(body[0], ast.Break)


def jumps(body: Sequence[ast.stmt]) -> Iterator[ast.Break | ast.Continue]:
    """The statements that end the loop, or an iteration of it, of which this is the body."""
    for one in body:
        if isinstance(one, (ast.Break, ast.Continue)):
            yield one
        elif isinstance(one, (ast.If, ast.With, ast.Try)):
            for inner in ("body", "handlers", "orelse", "finalbody"):
                yield from jumps(getattr(one, inner, []))
        elif isinstance(one, (ast.For, ast.While)):
            yield from jumps(one.orelse)
        elif isinstance(one, ast.ExceptHandler):
            yield from jumps(one.body)


def without_continue(node: _Loop) -> _Loop:
    """A loop in which what follows a condition with `continue` stands under the condition, or its `else`.

    Others, as in `with`, are left where they are.
    """
    if not any(isinstance(one, ast.Continue) for one in jumps(node.body)):
        return node
    new = copy.copy(node)
    new.body = _structured(node.body) or [ast.copy_location(ast.Pass(), node.body[0])]
    return new


def _structured(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The body of a loop without `continue` in conditions: what follows stands under `else`."""
    for number, one in enumerate(body):
        if isinstance(one, ast.Continue):
            return list(body[:number])
        if isinstance(one, ast.If) and any(isinstance(jump, ast.Continue) for jump in jumps([one])):
            return [*body[:number], _spread(one, body[number + 1 :])]
    return list(body)


def _spread(node: ast.If, rest: Sequence[ast.stmt]) -> ast.stmt:
    """A condition with what follows it, in the branches that go on."""
    then, other = (_structured(arm if _continues(arm) else [*arm, *rest]) for arm in (node.body, node.orelse))
    test = node.test
    if not then:
        test, then, other = ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=test), test), other, []
    then = then or [ast.copy_location(ast.Pass(), node)]
    new = ast.copy_location(ast.If(test=test, body=then, orelse=other), node)
    new.end_lineno = max(one.end_lineno or 0 for one in (node, *rest))
    return new


def _continues(body: Sequence[ast.stmt]) -> bool:
    """Whether a branch goes on with the next iteration, whatever else it does."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return _continues(last.body) and _continues(last.orelse)
    return isinstance(last, ast.Continue)
