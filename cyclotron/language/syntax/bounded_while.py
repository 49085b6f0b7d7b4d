"""A kernel's own body, which the reference runs, with `while` loops that end at its most steps."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import FunctionType
from typing import Any

from cyclotron.language.syntax.factories import factory_of, instantiate, strip_signature
from cyclotron.language.syntax.source import Source, closure_of
from cyclotron.language.syntax.trees import copied, walk
from cyclotron.language.values.source_span import line_span
from cyclotron.support.errors import ExecutionError


def bound_loops(source: Source, function: FunctionType, max_steps: int) -> Callable[..., Any] | None:
    """The function with bounded loops and without defaults; None where its text needs its class around it.

    Its loops raise `ExecutionError` CYC719 where they would go on after that many iterations.
    """
    file = function.__code__.co_filename
    names = {part.id for part in walk(source.node) if isinstance(part, ast.Name)}
    names |= {part.arg for part in walk(source.node) if isinstance(part, ast.arg)}
    attributes = {part.attr for part in walk(source.node) if isinstance(part, ast.Attribute)}
    if any(name.startswith("__") and not name.endswith("__") for name in names | attributes):
        return None
    counted = "steps_of_a_loop"
    while any(name.startswith(counted) for name in names):
        counted += "_"
    node = _Bounded(counted).visit(copied(source.node))
    free = closure_of(function)
    factory = factory_of(strip_signature(node, node.body), file, (counted, *free), source.owner)

    def entered(line: int) -> Callable[[object], bool]:
        taken = 0

        def goes_on(test: object) -> bool:
            nonlocal taken
            if not test:
                return False
            if taken == max_steps:
                raise ExecutionError(
                    f"a `while` of `{node.name}` has not ended after {max_steps:,} steps",
                    code="CYC719",
                    span=line_span(file, line),
                    help="allow it more by `@cy.kernel(max_steps=...)`",
                )
            taken += 1
            return True

        return goes_on

    return instantiate(factory, function, entered, *free.values())


class _Bounded(ast.NodeTransformer):
    """Has each `while` ask whether it goes on, with a count of its own each time that it is entered."""

    def __init__(self, counted: str) -> None:
        self._counted = counted
        self._loops = 0

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        self._loops += 1
        own = f"{self._counted}_{self._loops}"
        self.generic_visit(node)
        entry = ast.Call(ast.Name(self._counted, ast.Load()), [ast.Constant(node.test.lineno)], [])
        node.test = ast.copy_location(ast.Call(ast.Name(own, ast.Load()), [node.test], []), node.test)
        return [ast.copy_location(ast.Assign([ast.Name(own, ast.Store())], entry), node), node]
