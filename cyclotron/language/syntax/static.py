"""The equations of a kernel as its text alone tells them; schedule recipes read index names from them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cyclotron.language.functions.attributes import dot
from cyclotron.language.functions.einsum import einsum, parse
from cyclotron.language.functions.matrices import matmul
from cyclotron.language.syntax.source import Source


@dataclass(frozen=True)
class AccessShape:
    """A read of a tensor: its name and the text of each subscript."""

    tensor: str
    subscripts: tuple[str, ...]


@dataclass(frozen=True)
class EquationShape:
    """One assignment to an element.

    Attributes
    ----------
    target : str
        The assigned tensor.
    subscripts : tuple of str
        The text of its subscripts.
    loops : tuple of str
        Indices of the loops around it, outermost first, less those that it reduces over.
    reductions : tuple of str
        Indices of its sums, and of loops that accumulate with ``+=``.
    operands : tuple of AccessShape
        The elements it reads, each once, in the order of the text.
    """

    target: str
    subscripts: tuple[str, ...]
    loops: tuple[str, ...]
    reductions: tuple[str, ...]
    operands: tuple[AccessShape, ...]


def equations_shape(source: Source) -> tuple[EquationShape, ...]:
    """Return the equations of a kernel, in the order of the text."""
    return tuple(_equations(source, source.node.body, (), {}))


def _equations(
    source: Source, body: list[ast.stmt], loops: tuple[str, ...], known: dict[str, ast.expr]
) -> Iterator[EquationShape]:
    for statement in body:
        if isinstance(statement, ast.For):
            inner = (*loops, *_index_of(source, statement))
            yield from _equations(source, statement.body, inner, known)
        elif isinstance(statement, (ast.If, ast.With, ast.While)):
            yield from _equations(source, statement.body, loops, known)
            yield from _equations(source, getattr(statement, "orelse", []), loops, known)
        elif isinstance(statement, ast.Return) and statement.value is not None:
            abbreviated = _of_arrays(source, ast.Name("result", ast.Store()), statement.value)
            if abbreviated is not None:
                yield abbreviated
        elif isinstance(statement, (ast.Assign, ast.AugAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                abbreviated = _of_arrays(source, target, statement.value)
                if abbreviated is not None:
                    yield abbreviated
                elif isinstance(target, ast.Name):
                    known[target.id] = _value(target.id, statement, loops, known)
                elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                    yield _equation(target, statement, loops, known)


def _index_of(source: Source, loop: ast.For) -> list[str]:
    """The index of a loop, none where Python unrolls it."""
    ranged = isinstance(loop.iter, ast.Call) and source.meaning(loop.iter.func) is range
    return [loop.target.id] if ranged and isinstance(loop.target, ast.Name) else []


def _of_arrays(source: Source, target: ast.expr, value: ast.expr) -> EquationShape | None:
    """The equation that `C = cy.einsum("ik,kj->ij", A, B)` abbreviates, or `A @ B` of two matrices."""
    if not isinstance(target, ast.Name):
        return None
    text, operands = "ik,kj->ij", _factors(source, value)
    if isinstance(value, ast.Call) and value.args and source.meaning(value.func) in (einsum, np.einsum):
        first, *operands = value.args
        text = str(first.value) if isinstance(first, ast.Constant) else ""
    if not operands or not text:
        return None
    parts = parse(text)
    reads = [
        AccessShape(access.id, tuple(letters[::step]))
        for operand, letters in zip(operands, parts.operands, strict=False)
        for access, step in [_transposed(operand)]
        if isinstance(access, ast.Name)
    ]
    result = tuple(parts.result)
    return EquationShape(target.id, result, result, tuple(parts.summed), tuple(dict.fromkeys(reads)))


def _factors(source: Source, value: ast.expr) -> list[ast.expr]:
    """The two factors of a product of whole matrices; none of other values."""
    factors: list[ast.expr] = []
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.MatMult):
        factors = [value.left, value.right]
    elif isinstance(value, ast.Call) and source.meaning(value.func) in (dot, matmul, np.dot, np.matmul):
        factors = value.args
    named = all(isinstance(_transposed(factor)[0], ast.Name) for factor in factors)
    return factors if named and len(factors) == 2 else []


def _transposed(operand: ast.expr) -> tuple[ast.expr, int]:
    """Return the array of which an operand is the transpose, and -1; or itself and 1."""
    if isinstance(operand, ast.Attribute) and operand.attr == "T":
        return operand.value, -1
    return operand, 1


def _value(
    name: str, statement: ast.Assign | ast.AugAssign, loops: tuple[str, ...], known: dict[str, ast.expr]
) -> ast.expr:
    """The value of a local variable; growing it in a loop is a sum over the loop."""
    if isinstance(statement, ast.Assign) or not loops:
        return statement.value
    index = ast.Name(loops[-1], ast.Store())
    over = ast.comprehension(index, ast.Tuple([], ast.Load()), [], 0)
    first = known.get(name, ast.Constant(0))
    return ast.BinOp(first, statement.op, ast.GeneratorExp(statement.value, [over]))


def _equation(
    target: ast.Subscript,
    statement: ast.Assign | ast.AugAssign,
    loops: tuple[str, ...],
    known: dict[str, ast.expr],
) -> EquationShape:
    subscripts = _subscripts(target)
    reductions: list[str] = []
    operands: list[AccessShape] = []
    for node in _nodes(statement.value, known):
        if isinstance(node, (ast.GeneratorExp, ast.ListComp)):
            reductions += [c.target.id for c in node.generators if isinstance(c.target, ast.Name)]
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            access = AccessShape(node.value.id, _subscripts(node))
            if access not in operands:
                operands.append(access)
    if isinstance(statement, ast.AugAssign):
        used = {node.id for node in ast.walk(target.slice) if isinstance(node, ast.Name)}
        reductions += [index for index in loops if index not in used]
        loops = tuple(index for index in loops if index in used)
    assert isinstance(target.value, ast.Name)
    return EquationShape(target.value.id, subscripts, loops, tuple(reductions), tuple(operands))


def _nodes(node: ast.AST, known: dict[str, ast.expr]) -> Iterator[ast.AST]:
    """The nodes of an expression in the order of the text, named subexpressions in their places."""
    yield node
    if isinstance(node, ast.Name) and node.id in known:
        yield from _nodes(known[node.id], {name: e for name, e in known.items() if name != node.id})
    for child in ast.iter_child_nodes(node):
        yield from _nodes(child, known)


def _subscripts(node: ast.Subscript) -> tuple[str, ...]:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return tuple(ast.unparse(part) for part in parts)
