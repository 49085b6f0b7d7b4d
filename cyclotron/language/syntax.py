"""Walks and copies syntax trees several times as fast as `ast.walk` and `copy.deepcopy` do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeVar

_Node = TypeVar("_Node", bound=ast.AST)

# They carry no position and no state, and the parser itself shares one object of each class.
_SHARED = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree, level by level, as `ast.walk` does, but for contexts and operators."""
    level = [node]
    while level:
        yield from level
        below: list[ast.AST] = []
        for parent in level:
            for field in parent._fields:
                value = getattr(parent, field, None)
                if isinstance(value, list):
                    below += [part for part in value if isinstance(part, ast.AST)]
                elif isinstance(value, ast.AST) and not isinstance(value, _SHARED):
                    below.append(value)
        level = below


def copied(node: _Node) -> _Node:
    """A copy of a tree, to be changed in its place; positions are kept."""
    if isinstance(node, _SHARED):
        return node
    new = type(node)()
    for name, value in vars(node).items():
        if isinstance(value, list):
            value = [copied(part) if isinstance(part, ast.AST) else part for part in value]
        elif isinstance(value, ast.AST):
            value = copied(value)
        setattr(new, name, value)
    return new
