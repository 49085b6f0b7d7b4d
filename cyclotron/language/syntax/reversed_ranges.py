"""Loops over ranges from their ends, `for i in reversed(range(n))`, as loops over ranges that descend."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable

from cyclotron.language.syntax.trees import Replaced, walk

_ONE = ast.Constant(1)
_BY_ONE = "range(stop - step, start - step, -step)"
_BY_MORE = "range(start + (stop - start - (step > 0) + (step < 0)) // step * step, start - step, -step)"


def with_descending_ranges(kernel: ast.FunctionDef, meaning: Callable[[ast.expr], object]) -> ast.FunctionDef:
    """The kernel itself; its loops over `reversed(range(n))` and `range(n)[::-1]` now descend.

    So do those of comprehensions. Ranges with bounds by name or unpacked stay as they are.
    """

    class Descending(ast.NodeTransformer):
        def generic_visit(self, node: ast.AST) -> ast.AST:
            super().generic_visit(node)
            if isinstance(node, ast.Subscript) and ast.unparse(node.slice) == "::-1":
                return descending(node, node.value)
            if isinstance(node, ast.Call) and meaning(node.func) is builtins.reversed and len(node.args) == 1:
                return descending(node, node.args[0])
            return node

    def descending(node: ast.expr, values: ast.expr) -> ast.AST:
        if not isinstance(values, ast.Call) or meaning(values.func) is not builtins.range:
            return node
        given = [values.func, *([ast.Constant(0)] if len(values.args) == 1 else []), *values.args, _ONE]
        if len(given) < 4 or values.keywords or any(isinstance(one, ast.Starred) for one in given):
            return node
        parts = dict(zip(("range", "start", "stop", "step"), given, strict=False))
        by_one = ast.unparse(parts["step"]) in ("1", "-1")
        made = ast.parse(_BY_ONE if by_one else _BY_MORE, mode="eval").body
        for part in walk(made):
            ast.copy_location(part, node)
        result: ast.AST = Replaced(parts).visit(made)
        return result

    for node in [*walk(kernel)]:
        if isinstance(node, (ast.For, ast.comprehension)):
            node.iter = Descending().visit(node.iter)
    return kernel
