"""Syntax trees: walks, copies and completes them, faster than `ast` and `copy` do, and makes their nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

_Node = TypeVar("_Node", bound=ast.AST)

# They carry no position, and the parser itself shares one object of each class. Tools give them attributes,
# such as parents: all here goes by `_fields`, not from a shared `ast.Lt()` into other trees of the process.
_SHARED = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
# What most fields hold that are no parts of the tree.
_LEAVES = frozenset((str, int, type(None), *(leaf for kind in _SHARED for leaf in kind.__subclasses__())))
_POSITION = ("lineno", "col_offset", "end_lineno", "end_col_offset")


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree, level by level, as `ast.walk` does, but for contexts and operators."""
    level = [node]
    while level:
        yield from level
        below: list[ast.AST] = []
        for parent in level:
            for field in parent._fields:
                value = getattr(parent, field, None)
                if type(value) in _LEAVES:
                    continue
                if isinstance(value, list):
                    below += [part for part in value if isinstance(part, ast.AST)]
                elif isinstance(value, ast.AST):
                    below.append(value)
        level = below


def copied(node: _Node) -> _Node:
    """A copy of a tree, to be changed in its place; positions are kept."""
    if isinstance(node, _SHARED):
        return node
    new = type(node)()
    state = vars(node)
    for name in (*node._fields, *node._attributes):
        if name not in state:
            continue
        value = state[name]
        if type(value) not in _LEAVES:
            if isinstance(value, list):
                value = [copied(part) if isinstance(part, ast.AST) else part for part in value]
            elif isinstance(value, ast.AST):
                value = copied(value)
        setattr(new, name, value)
    return new


def completed(node: _Node) -> _Node:
    """The tree itself; parts without a position get that around them, as of `ast.fix_missing_locations`."""
    todo: list[tuple[ast.AST, dict[str, Any]]] = [(node, dict(zip(_POSITION, (1, 0, 1, 0), strict=True)))]
    for part, around in todo:  # which grows
        state = vars(part)
        if "lineno" in part._attributes:
            if state.get("lineno") is None or state.get("end_lineno") is None:
                for field in _POSITION:
                    if state.get(field) is None:
                        state[field] = around[field]
            around = state
        for value in map(state.get, part._fields):
            if type(value) in _LEAVES:
                continue
            if isinstance(value, list):
                todo += [(child, around) for child in value if isinstance(child, ast.AST)]
            elif isinstance(value, ast.AST):
                todo.append((value, around))
    return node


def located(new: _Node, like: ast.AST) -> _Node:
    """Give a new node, where it has no position, that of another, and so its parts.

    Parts with a position are complete, so that what is nested deeply is not visited again and again.
    """
    if getattr(new, "lineno", None) is None:
        ast.copy_location(new, like)
    todo: list[ast.AST] = list(ast.iter_child_nodes(new))
    while todo:
        part = todo.pop()
        if "lineno" in part._attributes:
            if getattr(part, "lineno", None) is not None:
                continue
            ast.copy_location(part, like)
        todo += ast.iter_child_nodes(part)
    return new


def name(identifier: str, *, store: bool = False) -> ast.Name:
    """The node of a name."""
    return ast.Name(id=identifier, ctx=ast.Store() if store else ast.Load())


def words(**values: ast.expr | str | bool) -> list[ast.keyword]:
    """The nodes of `name=value`, of values that are no nodes as constants."""
    nodes = {one: v if isinstance(v, ast.expr) else ast.Constant(v) for one, v in values.items()}
    return [ast.keyword(arg=one, value=node) for one, node in nodes.items()]


def pairs(names: Mapping[str, str]) -> list[ast.keyword]:
    """The nodes of `u=(u_kept, u)` for each name and the one that goes with it."""
    return words(
        **{one: ast.Tuple(elts=[name(other), name(one)], ctx=ast.Load()) for one, other in names.items()}
    )


def call(
    module: str, function: str, arguments: list[ast.expr], keywords: Sequence[ast.keyword] = ()
) -> ast.Call:
    """The node of `module.function(...)`."""
    callee = ast.Attribute(value=name(module), attr=function, ctx=ast.Load())
    return ast.Call(func=callee, args=arguments, keywords=list(keywords))


def function_of(parameters: Sequence[str], body: ast.expr) -> ast.Lambda:
    """The node of `lambda *parameters: body`."""
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(arg=parameter) for parameter in parameters],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    return ast.copy_location(ast.Lambda(args=arguments, body=body), body)


def with_node(manager: ast.expr, body: list[ast.stmt], target: ast.expr | None = None) -> ast.With:
    """The node of `with manager as target: body`."""
    return ast.With(items=[ast.withitem(context_expr=manager, optional_vars=target)], body=body)


class Replaced(ast.NodeTransformer):
    """Puts expressions where names are read."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self._values or not isinstance(node.ctx, ast.Load):
            return node
        return located(copied(self._values[node.id]), node)
