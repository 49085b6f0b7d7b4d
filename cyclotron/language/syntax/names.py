"""Local variables of a kernel: which hold symbolic values, and which must not be read any more.

A loop body and an `if` on indices run once while tracing, so a local variable cannot carry a value from one
iteration to the next, out of a loop, or out of a branch. This table notices such uses.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from cyclotron.language.syntax.source import Source
from cyclotron.language.syntax.trees import walk
from cyclotron.support.errors import Span, TraceError

_CARRIED = "carries its value from one iteration to the next"
_AFTER_LOOP = "is assigned in a loop and read after it"
_AFTER_BRANCH = "is assigned under a condition on indices and read after it"
_HELP = {
    _CARRIED: "write a reduction, e.g. `sum(... for k in range(...))`; or make `{name}` an array before the"
    " loop, a scalar by `{name} = cy.full((), value, dtype=...)`",
    _AFTER_LOOP: "a loop is a domain without a last iteration; make `{name}` a tensor, or use it in the loop",
    _AFTER_BRANCH: "write `{name} = a if condition else b`, of arrays two new ones (`a.copy()`)",
}


class Names:
    """The state of local variables at one point of the kernel's text."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._symbolic: set[str] = set()
        self._stale: dict[str, tuple[str, Span]] = {}

    def is_symbolic(self, node: ast.AST) -> bool:
        """Return whether an expression mentions an index or what was computed from one."""
        return any(isinstance(part, ast.Name) and part.id in self._symbolic for part in walk(node))

    def store(self, name: str, symbolic: bool) -> None:
        """Note an assignment."""
        self._stale.pop(name, None)
        if symbolic:
            self._symbolic.add(name)
        else:
            self._symbolic.discard(name)

    def load(self, node: ast.Name) -> None:
        """Check a use."""
        if node.id not in self._stale:
            return
        reason, where = self._stale[node.id]
        raise TraceError(
            f"`{node.id}` {reason}",
            code="CYC111",
            span=self._source.span(node),
            notes=[(where, "it is assigned here")] if where != self._source.span(node) else [],
            help=_HELP[reason].format(name=node.id),
        )

    def is_stale(self, name: str) -> bool:
        """Return whether a use of a name would be an error."""
        return name in self._stale

    def enter_loop(self, assigned: Sequence[ast.Name]) -> None:
        """Note that the names which the body assigns have no value yet when an iteration begins."""
        for name in assigned:
            self._stale[name.id] = (_CARRIED, self._source.span(name))

    def leave_loop(self, assigned: Sequence[ast.Name]) -> None:
        """Note that the names which the body assigned have no last value."""
        for name in assigned:
            self._stale[name.id] = (_AFTER_LOOP, self._source.span(name))

    def leave_branches(self, bodies: Iterable[Sequence[ast.stmt]]) -> None:
        """Note that the values of names which branches on indices assigned depend on the branch."""
        for body in bodies:
            for name in assigned_names(body):
                self._stale[name.id] = (_AFTER_BRANCH, self._source.span(name))

    def copy(self) -> Names:
        """The same state, to go on with in one branch."""
        other = Names(self._source)
        other._symbolic = set(self._symbolic)
        other._stale = dict(self._stale)
        return other

    def merge(self, branches: Iterable[Names]) -> None:
        """The state after branches on host values: bad where one of them is."""
        branches = list(branches)
        self._symbolic = set().union(*(branch._symbolic for branch in branches))
        self._stale = {}
        for branch in branches:
            self._stale.update(branch._stale)


def assigned_names(body: Sequence[ast.stmt]) -> list[ast.Name]:
    """The local variables that statements assign, but neither indices of loops nor names of functions."""
    found: list[ast.Name] = []
    others: set[int] = set()
    for statement in body:
        for node in walk(statement):
            if isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Store):
                    found.append(node)
            elif isinstance(node, (ast.For, ast.comprehension)):
                others.update(id(part) for part in walk(node.target))
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner = list(walk(node))
                if not any(isinstance(part, ast.Nonlocal) for part in inner):
                    others.update(map(id, inner))
    return [node for node in found if id(node) not in others]
