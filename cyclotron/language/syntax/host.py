"""Statements of a kernel's text that Python runs, while tracing or in the reference, and `with` blocks."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cyclotron.language.functions import debug
from cyclotron.language.syntax.array_names import changed_at
from cyclotron.language.syntax.assignments import ASSIGNMENTS, assign, may_be_of_host, new_array, type_checks
from cyclotron.language.syntax.jumps import jumps
from cyclotron.language.syntax.names import assigned_names
from cyclotron.language.syntax.purity import impure_calls, impure_error, read_before_assigned
from cyclotron.language.syntax.rewrite_state import RewriteState
from cyclotron.language.syntax.source import managers
from cyclotron.language.syntax.trees import call, copied, located, name, walk, with_node
from cyclotron.language.trace.with_blocks import fuse, host, ignore

_CHANGES = (np.add, np.subtract, np.multiply, np.maximum, np.minimum)


def with_block(state: RewriteState, node: ast.With) -> list[ast.stmt]:
    """Rewrite `with cy.fuse():`, `with cy.host():` or `with cy.ignore():`."""
    blocks = managers(state.source, node)
    if len(blocks) > 1 and {fuse, host, ignore}.issuperset(blocks):
        raise state.source.error(
            node.items[1].context_expr,
            "CYC101",
            f"one `with` opens {len(blocks)} blocks",
            "write one `with` in the other",
        )
    if blocks == [ignore]:
        return []
    if blocks == [fuse]:
        call_of_user = node.items[0].context_expr
        assert isinstance(call_of_user, ast.Call)
        manager = call(state.il, "fuse", call_of_user.args, call_of_user.keywords)
        return [with_node(located(manager, call_of_user), state.block(node.body))]
    if blocks == [host]:
        _check_host(state, node.body)
        for target in assigned_names(node.body):
            state.names.store(target.id, symbolic=bool(state.indices))
            if state.indices:
                state.of_host.add(target.id)
        return [
            *_unconditional(state, node, "with cy.host()"),
            _Checked(state.il, lambda one: [*_labels(state, one), *type_checks(state, one)]).visit(
                copied(node)
            ),
        ]
    raise state.source.error(
        node.items[0].context_expr,
        "CYC101",
        f"`with {state.source.text_of(node.items[0].context_expr)}` is no recurrence",
        "open it where the kernel is called; in kernels there are `with cy.host():` for code that Python runs"
        " while tracing, `with cy.ignore():` for code that only the reference runs, `with cy.fuse():` for"
        " statements that are one kernel",
    )


def _check_host(state: RewriteState, body: Sequence[ast.stmt]) -> None:
    """Refuse code of the host, in a loop, that Python would run otherwise: the loop is recorded once."""
    for jump in jumps(body):
        raise state.source.error(
            jump,
            "CYC104",
            f"`{ast.unparse(jump)}` in `with cy.host()` is about a loop outside it",
            "code of the host runs once, while the loop is recorded; write `if ...: break` in the loop",
        )
    if not state.indices:
        return
    for statement in body:
        for call_of_host in impure_calls(state.source, statement):
            where = "`with cy.host()` in a loop runs once, while the loop is recorded"
            raise impure_error(state.source, call_of_host, where)
    for part in read_before_assigned(body):
        state.names.load(part)


def _labels(state: RewriteState, statement: ast.stmt) -> list[ast.stmt]:
    """`w = il.array(w, name="w")` where the host assigns what may be an array, so that it has a name."""
    if not isinstance(statement, ast.Assign) or not may_be_of_host(state, statement.value):
        return []
    names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return [
        ast.Assign([name(one, store=True)], new_array(state, located(name(one), statement), one))
        for one in names
    ]


def expression_statement(state: RewriteState, node: ast.Expr) -> list[ast.stmt]:
    """Rewrite an expression that stands alone: a docstring, `u.fill(c)`, or a call that Python makes."""
    if isinstance(node.value, ast.Constant):
        return []  # a docstring
    if isinstance(node.value, ast.Call) and state.source.meaning(node.value.func) is debug.print:
        return [located(ast.Expr(value=state.rewrite(node.value)), node)]
    changed = _changed_at(state, node)
    if changed is not None:
        return changed
    filled = _filled(state, node.value)
    if filled is not None:
        return assign(state, filled)
    return host_statement(state, node)


def _changed_at(state: RewriteState, node: ast.Expr) -> list[ast.stmt] | None:
    """`np.add.at(y, n, v)` as `il.change_at("add", y, n, v)`; None for other expressions."""
    if changed_at(node) is None:
        return None
    assert isinstance(node.value, ast.Call)
    assert isinstance(node.value.func, ast.Attribute)
    ufunc = state.source.meaning(node.value.func.value)
    op = next((one.__name__ for one in _CHANGES if getattr(ufunc, "at", None) == one.at), "")
    if not op:
        return None
    made = call(state.il, "change_at", [ast.Constant(op), *map(state.rewrite, node.value.args)])
    return [located(ast.Expr(value=made), node)]


def _filled(state: RewriteState, node: ast.expr) -> ast.Assign | None:
    """`u.fill(c)` of an array as `u[...] = c`; None for other expressions."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or len(node.args) != 1:
        return None
    array, value = node.func.value, node.args[0]
    if node.func.attr != "fill" or node.keywords or not state.arrays.may_be_array(array):
        return None
    whole = ast.Subscript(value=array, slice=ast.Constant(...), ctx=ast.Store())
    return located(ast.Assign(targets=[located(whole, node)], value=value), node)


def host_statement(state: RewriteState, node: ast.stmt) -> list[ast.stmt]:
    """Rewrite a statement that Python runs while tracing."""
    if state.indices or state.branches:
        raise state.source.error(
            headline(node),
            "CYC101",
            f"`{state.source.text_of(headline(node))}` in a loop is no equation",
            "print values by `cy.debug.print`; put other code into `with cy.ignore():` (only the reference"
            " runs it) or `with cy.host():` (it runs once, while tracing)",
        )
    for child in ast.iter_child_nodes(node):
        for part in walk(child):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                state.names.load(part)
    return [*_unconditional(state, node, ast.unparse(node).splitlines()[0]), copied(node)]


def _unconditional(state: RewriteState, node: ast.stmt, text: str) -> list[ast.stmt]:
    """`il.unconditional(...)` before code of the host under a condition that may be of data."""
    if not state.recorded:
        return []
    check = call(state.il, "unconditional", [ast.Constant(text)])
    return [located(ast.Expr(value=check), headline(node))]


class _Checked(ast.NodeTransformer):
    """Puts checks of declared types behind assignments, which may be conditional, and bounds loops."""

    def __init__(self, il: str, checks: Callable[[ast.stmt], list[ast.stmt]]) -> None:
        self._il = il
        self._checks = checks

    def generic_visit(self, node: ast.AST) -> Any:
        if isinstance(node, ASSIGNMENTS):
            return [node, *(located(check, node) for check in self._checks(node))]
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return node  # with names of its own
        visited = super().generic_visit(node)
        if isinstance(visited, ast.While | ast.For):
            step = ast.Expr(value=call(self._il, "host_step", []))
            visited.body.insert(0, located(step, visited.body[0]))
        return visited


def headline(node: ast.stmt) -> ast.AST:
    """The part of a statement, which may be long, that messages mark."""
    if isinstance(node, ast.Try):
        return node.body[0]
    return node.value if isinstance(node, ast.Expr) else node
