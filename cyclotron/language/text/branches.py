"""Branches on indices that assign whole arrays: one choice for each name instead."""

from __future__ import annotations

import ast
from collections.abc import Callable

from cyclotron.language.text.array_names import ArrayNames
from cyclotron.language.text.syntax import copied, walk


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


def paired_elements(node: ast.If) -> list[ast.Assign] | None:
    """`if test: y[i] = a else: y[i] = b` as `y[i] = a if test else b`; None for other conditions.

    The test is made for each of the assignments, so that it reads nothing that they assign.
    """
    if len(node.body) != len(node.orelse):
        return None
    read = {part.id for part in walk(node.test) if isinstance(part, ast.Name)}
    result = []
    for one, other in zip(node.body, node.orelse, strict=True):
        if not isinstance(one, ast.Assign) or not isinstance(other, ast.Assign) or len(one.targets) > 1:
            return None
        target = one.targets[0]
        if not isinstance(target, ast.Subscript) or list(map(ast.dump, other.targets)) != [ast.dump(target)]:
            return None
        if not isinstance(target.value, ast.Name) or target.value.id in read:
            return None
        value = ast.copy_location(ast.IfExp(copied(node.test), one.value, other.value), one.value)
        result.append(ast.copy_location(ast.Assign(targets=one.targets, value=value), one))
    return result


def makes_numbers(test: ast.expr, is_symbolic: Callable[[ast.expr], bool]) -> bool:
    """Whether a test of indices makes numbers of them that are no affine forms, and so is one of data."""

    def makes(part: ast.AST) -> bool:
        if isinstance(part, ast.Compare):
            return any(_is_fraction(one) for one in (part.left, *part.comparators))
        if isinstance(part, ast.Call):
            return is_symbolic(part)
        if not isinstance(part, ast.BinOp) or not is_symbolic(part):
            return False
        both = part.left, part.right
        if isinstance(part.op, (ast.Div, ast.Pow)) or any(_is_division(o) and is_symbolic(o) for o in both):
            return True
        if isinstance(part.op, (ast.Mod, ast.FloorDiv)):
            return is_symbolic(part.right)
        if isinstance(part.op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
            return any(isinstance(one, ast.Constant) for one in both)
        return any(map(_is_fraction, both)) or (isinstance(part.op, ast.Mult) and all(map(is_symbolic, both)))

    return any(map(makes, ast.walk(test)))


def _is_division(value: ast.expr) -> bool:
    return isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mod, ast.FloorDiv))


def _is_fraction(value: ast.expr) -> bool:
    number = value.value if isinstance(value, ast.Constant) else None
    return isinstance(number, float) and not number.is_integer()
