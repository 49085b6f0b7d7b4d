"""Functions that a kernel's text defines: `def` of assignments, `if` and `return` is what `lambda` is."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from cyclotron.language.syntax.trees import completed, walk


def with_lambdas(kernel: ast.FunctionDef) -> ast.FunctionDef:
    """The kernel itself; each function in its body that one expression computes is now assigned to its name.

    Others stay as they are, and are refused: in a kernel's text only its own statements are recorded.
    """
    for block in [
        kernel.body,
        *(body for part in walk(kernel) for body in _blocks(part) if part is not kernel),
    ]:
        block[:] = [_assigned(one) if isinstance(one, ast.FunctionDef) else one for one in block]
    return kernel


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    bodies = (getattr(node, field, None) for field in ("body", "orelse"))
    return [body for body in bodies if isinstance(body, list)]


def _assigned(function: ast.FunctionDef) -> ast.stmt:
    """`f = lambda x: ...` for a function of assignments, `if` and `return`; else the function itself."""
    parameters = {part.arg for part in walk(function.args) if isinstance(part, ast.arg)}
    parts = [part for one in function.body for part in walk(one)]
    targets = [one.target for part in parts for one in getattr(part, "generators", ())]
    stores = {name for one in function.body for name in _names(one, ast.Store)}
    stores -= {name for target in targets for name in _names(target, ast.Store)}
    value = None if function.decorator_list else _expression(function.body, stores - parameters)
    if value is None:
        return function
    for part in walk(function.args):
        if isinstance(part, ast.arg):
            part.annotation = None
    new = ast.Assign([ast.Name(function.name, ast.Store())], ast.Lambda(function.args, value))
    return completed(ast.copy_location(new, function))


def _returns(body: Sequence[ast.stmt]) -> bool:
    last = body[-1] if body else None
    return isinstance(last, ast.Return) or (
        isinstance(last, ast.If) and _returns(last.body) and _returns(last.orelse)
    )


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    return {part.id for part in walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, context)}


def _expression(body: Sequence[ast.stmt], unbound: set[str]) -> ast.expr | None:
    """The expression that statements return; None where they are others. What they assign are arguments.

    Names that they read before they assign them, the `unbound`, are an error in Python.
    """
    if not body:
        return ast.Constant(None)
    first, rest = body[0], body[1:]
    if isinstance(first, ast.FunctionDef):
        first = _assigned(first)
    if isinstance(first, ast.If):
        return None if _names(first.test, ast.Load) & unbound else _choice(first, rest, unbound)
    if _names(first, ast.Load) & unbound:
        return None
    if isinstance(first, ast.Return):
        return first.value or ast.Constant(None)
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):  # a docstring
        return _expression(rest, unbound)
    if isinstance(first, ast.Assign) and len(first.targets) == 1:
        target, value = first.targets[0], first.value
    elif isinstance(first, ast.AnnAssign) and first.value is not None:
        target, value = first.target, first.value
    else:
        return None
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    after = _expression(rest, unbound - {*names})
    if after is None or len(set(names)) < len(parts):
        return None
    arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    given: list[ast.expr] = [value] if parts == [target] else [ast.Starred(value, ast.Load())]
    return ast.copy_location(ast.Call(ast.Lambda(arguments, after), given, []), first)


def _choice(node: ast.If, rest: Sequence[ast.stmt], unbound: set[str]) -> ast.expr | None:
    both = [one[0] for one in (node.body, node.orelse) if len(one) == 1 and isinstance(one[0], ast.Assign)]
    if len(both) == 2 and ast.dump(both[0].targets[0]) == ast.dump(both[1].targets[0]):
        chosen = ast.copy_location(ast.IfExp(node.test, both[0].value, both[1].value), node)
        return _expression([ast.copy_location(ast.Assign(both[0].targets, chosen), node), *rest], unbound)
    if not _returns(node.body) and not _returns(node.orelse):
        return None  # what follows is of both
    branches = (one if _returns(one) else [*one, *rest] for one in (node.body, node.orelse))
    value, other = (_expression(branch, unbound) for branch in branches)
    return ast.copy_location(ast.IfExp(node.test, value, other), node) if value and other else None
