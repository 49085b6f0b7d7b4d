"""Branches on indices that assign whole arrays: one choice for each name instead."""

from __future__ import annotations

import ast

from cyclotron.language.array_names import ArrayNames
from cyclotron.language.syntax import copied


def paired(node: ast.If, arrays: ArrayNames) -> list[ast.Assign] | None:
    """`if test: u = a else: u = b`, of new arrays, as `u = a if test else b`; None for other conditions.

    Both branches assign the same names in the same order, so that a later assignment that reads an earlier
    one gets what that is in its own branch.
    """
    if len(node.body) != len(node.orelse):
        return None
    result = []
    for one, other in zip(node.body, node.orelse, strict=True):
        if not isinstance(one, ast.Assign) or not isinstance(other, ast.Assign) or len(one.targets) > 1:
            return None
        target = one.targets[0]
        if not isinstance(target, ast.Name) or list(map(ast.dump, other.targets)) != [ast.dump(target)]:
            return None
        if target.id not in arrays or not all(map(arrays.may_be_array, (one.value, other.value))):
            return None
        value = ast.copy_location(ast.IfExp(copied(node.test), one.value, other.value), one.value)
        result.append(ast.copy_location(ast.Assign(targets=one.targets, value=value), one))
    return result
