"""`break` and `continue` in the body of a loop, and loops without `continue`."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

_Loop = TypeVar("_Loop", ast.For, ast.While)


def is_break(body: Sequence[ast.stmt]) -> bool:
    """Return whether a body is `break` alone."""
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


def without_continue(node: _Loop, name: Callable[[], str], enters: Callable[[ast.With], bool]) -> _Loop:
    """A loop in which what follows a condition with `continue` stands under the condition, or its `else`.

    Where several branches go on, it stands once, under a variable that says whether they do. `continue` in
    other statements is left where it is.

    Parameters
    ----------
    node : ast.For or ast.While
        The loop.
    name : callable
        Makes the name of such a variable.
    enters : callable
        Whether the body of a `with` is of the loop's.
    """
    if not _has_continue(node.body):
        return node
    new = copy.copy(node)
    new.body = _Structure(name, enters).of(node.body) or [ast.copy_location(ast.Pass(), node.body[0])]
    return new


class _Structure:
    """Bodies of a loop without `continue` in conditions.

    Parameters
    ----------
    name : callable
        Makes the name of a new variable.
    enters : callable
        Whether the body of a `with` is structured too.
    goes_on : str, optional
        The variable that `continue` sets to False; where nothing follows, it does nothing.
    """

    def __init__(
        self, name: Callable[[], str], enters: Callable[[ast.With], bool], goes_on: str | None = None
    ) -> None:
        self._name = name
        self._enters = enters
        self._goes_on = goes_on

    def of(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements of a body."""
        for number, one in enumerate(body):
            if isinstance(one, ast.Continue):
                return [*body[:number], *self._ends(one)]
            if isinstance(one, ast.If) and _has_continue([one]):
                return [*body[:number], *self._condition(one, body[number + 1 :])]
            if isinstance(one, ast.With) and _has_continue([one]) and self._enters(one):
                return [*body[:number], *self._block(one, body[number + 1 :])]
        return list(body)

    def _ends(self, node: ast.Continue) -> list[ast.stmt]:
        return [] if self._goes_on is None else [_assigned(self._goes_on, False, node)]

    def _condition(self, node: ast.If, rest: Sequence[ast.stmt]) -> list[ast.stmt]:
        """A condition and what follows it."""
        arms = [node.body, node.orelse]
        if rest and not any(map(_continues, arms)):
            return self._apart(node, rest)
        then, other = (self.of(arm if _continues(arm) else [*arm, *rest]) for arm in arms)
        test = node.test
        if not then:
            test, then, other = ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=test), test), other, []
        return [_if(node, test, then, other, rest)]

    def _block(self, node: ast.With, rest: Sequence[ast.stmt]) -> list[ast.stmt]:
        """A block, and what follows it under a condition."""

        def block(inner: _Structure) -> ast.stmt:
            new = copy.copy(node)
            new.body = inner.of(node.body) or [ast.copy_location(ast.Pass(), node)]
            return new

        return self._before(node, block, rest) if rest else [block(self)]

    def _apart(self, node: ast.If, rest: Sequence[ast.stmt]) -> list[ast.stmt]:
        """A condition with branches that may go on both, and what follows under another condition."""
        return self._before(
            node, lambda inner: _if(node, node.test, inner.of(node.body), inner.of(node.orelse), ()), rest
        )

    def _before(
        self, node: ast.stmt, made: Callable[[_Structure], ast.stmt], rest: Sequence[ast.stmt]
    ) -> list[ast.stmt]:
        """A statement that sets a variable, and the rest of the body under that."""
        goes_on = self._goes_on or self._name()
        changed = made(_Structure(self._name, self._enters, goes_on))
        first = [] if self._goes_on else [_assigned(goes_on, True, node)]
        test = ast.copy_location(ast.Name(goes_on, ast.Load()), rest[0])
        return [*first, changed, _if(rest[0], test, self.of(rest), [], rest)]


def _if(
    like: ast.stmt, test: ast.expr, then: list[ast.stmt], other: list[ast.stmt], rest: Sequence[ast.stmt]
) -> ast.stmt:
    """A condition in the place of a statement, and of the rest that stands in it."""
    new = ast.copy_location(ast.If(test, then or [ast.copy_location(ast.Pass(), like)], other), like)
    new.end_lineno = max(one.end_lineno or 0 for one in (like, *rest))
    return new


def _assigned(name: str, value: bool, like: ast.stmt) -> ast.stmt:
    """`name = value` in the place of a statement."""
    target, constant = (
        ast.copy_location(part, like) for part in (ast.Name(name, ast.Store()), ast.Constant(value))
    )
    return ast.copy_location(ast.Assign(targets=[target], value=constant), like)


def _has_continue(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(jump, ast.Continue) for jump in jumps(body))


def _continues(body: Sequence[ast.stmt]) -> bool:
    """Return whether a branch goes on with the next iteration, whatever else it does."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return _continues(last.body) and _continues(last.orelse)
    return isinstance(last, ast.Continue)
