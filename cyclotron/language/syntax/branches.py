"""Conditions of a kernel's text, in the intermediate language."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence

from cyclotron.language.syntax import carried_names
from cyclotron.language.syntax.array_names import ArrayNames
from cyclotron.language.syntax.assignments import assign
from cyclotron.language.syntax.jumps import jumps
from cyclotron.language.syntax.loops import break_if
from cyclotron.language.syntax.names import assigned_names
from cyclotron.language.syntax.rewrite_state import RewriteState
from cyclotron.language.syntax.trees import call, copied, function_of, located, name, walk, with_node, words


def condition(state: RewriteState, node: ast.If) -> list[ast.stmt]:
    """Rewrite a condition on values of the host, on indices or on data."""
    ended = break_if(state, node)
    if ended is not None:
        return ended
    if _reads_data(state, node.test) and not _ends_python_loop(state, node):
        return _recorded_if(state, node)
    if not state.names.is_symbolic(node.test):
        test = state.rewrite(node.test)
        body, orelse = _branches_apart(state, node)
        return [ast.If(test=test, body=body, orelse=orelse)]
    chosen = _merged(node, lambda *parts: _is_new_array(state.arrays, *parts))
    if chosen is not None:
        return [new for one in chosen for new in assign(state, one)]
    numbers = _makes_numbers(node.test, state.names.is_symbolic) or _reads_locals(state, node.test)
    if (
        numbers or _joined(state, node) or _left_alone(node) or _assigns_and_ends(node)
    ) and not _ends_python_loop(state, node):
        return _recorded_if(state, node)
    return _of_indices(state, node)


def _reads_data(state: RewriteState, test: ast.expr) -> bool:
    """Return whether a test may be of data: of arrays, also of the host's where an index subscripts them."""
    parts = [part.slice for part in ast.walk(test) if isinstance(part, ast.Subscript)]
    return state.arrays.reads_data(test) or any(map(state.names.is_symbolic, parts))


def _reads_locals(state: RewriteState, test: ast.expr) -> bool:
    """Return whether a test has names of what is computed of indices: only its value tells what that is."""
    names = {part.id for part in walk(test) if isinstance(part, ast.Name) and state.names.is_symbolic(part)}
    return bool(names.difference(state.indices))


def _of_indices(state: RewriteState, node: ast.If) -> list[ast.stmt]:
    """`with il.where(test)` and `with il.otherwise()`."""
    test = state.rewrite(node.test)
    state.branches += 1
    before, arrays = state.names, state.arrays.copy()
    state.names = before.copy()
    opened = ast.copy_location(call(state.il, "where", [test]), node.test)
    result: list[ast.stmt] = [with_node(opened, state.block(node.body))]
    if node.orelse:
        state.names = before.copy()
        arrays, state.arrays = state.arrays, arrays
        rest = ast.copy_location(call(state.il, "otherwise", []), node.orelse[0])
        result.append(with_node(rest, state.block(node.orelse)))
    state.names = before
    state.arrays.merge(arrays)
    before.leave_branches([node.body, node.orelse])
    state.branches -= 1
    return result


def _branches_apart(state: RewriteState, node: ast.If) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The statements of both branches, each with the names as they are before."""
    before, arrays = state.names, state.arrays.copy()
    state.names = before.copy()
    body = state.block(node.body)
    taken, state.names = state.names, before.copy()
    arrays, state.arrays = state.arrays, arrays
    orelse = state.block(node.orelse) if node.orelse else []
    before.merge([taken, state.names])
    state.names = before
    state.arrays.merge(arrays)
    return body, orelse


def _ends_python_loop(state: RewriteState, node: ast.If) -> bool:
    """Return whether a condition ends a loop that Python runs while tracing, or an iteration of it."""
    return state.in_python_loop() and any(jumps([*node.body, *node.orelse]))


def _recorded_if(state: RewriteState, node: ast.If) -> list[ast.stmt]:
    """`branch = il.branches(test, u=lambda: u)`, and after each branch `(u,) = branch.leave(...)`."""
    read = {part.id for part in walk(node.test) if isinstance(part, ast.Name)}
    alike = _merged(node, lambda target, *_: _is_element(target, read))
    if alike is not None:
        return [new for one in _tested_once(state, node, alike) for new in assign(state, one)]
    test = located(state.test(node.test), node.test)
    branch = state.unused("branch")
    state.recorded += 1
    body, orelse = _branches_apart(state, node)
    state.recorded -= 1
    joined = [one for one in _joined(state, node) if not state.names.is_stale(one)]
    restored = sorted(_left_alone(node).difference(joined))
    names = [*joined, *restored]
    leaving: list[ast.stmt] = []
    if names:
        only = ast.List(elts=[ast.Constant(one) for one in restored], ctx=ast.Load())
        left = ast.Call(func=_attribute(branch, "leave"), args=[only], keywords=_values(names))
        targets = ast.Tuple(elts=[name(one, store=True) for one in names], ctx=ast.Store())
        assigned = ast.Assign(targets=[targets], value=left)
        leaving = [ast.If(test=_attribute(branch, "recorded"), body=[assigned], orelse=[])]
    for one in joined:
        state.arrays.declare_perhaps(one)
    if _assigns_and_ends(node):
        test = located(call(state.il, "as_data", [test]), node.test)
    opened = call(state.il, "branches", [test], _values(names))
    result: list[ast.stmt] = [
        ast.Assign(targets=[name(branch, store=True)], value=located(opened, node.test)),
        ast.If(test=_called(branch, "then"), body=[*body, *map(copied, leaving)], orelse=[]),
    ]
    if orelse or leaving:
        result.append(ast.If(test=_called(branch, "otherwise"), body=[*orelse, *leaving], orelse=[]))
    result.append(ast.Expr(value=_called(branch, "end")))
    return [located(one, node.test) for one in result]


def _assigns_and_ends(node: ast.If) -> bool:
    """Return whether a condition assigns names beside ending the loop around it."""
    ends = any(isinstance(part, ast.Break) for part in jumps([*node.body, *node.orelse]))
    return ends and bool(assigned_names([*node.body, *node.orelse]))


def _joined(state: RewriteState, node: ast.If) -> list[str]:
    """The names that the branches assign and that may be read after them, also by loops around them."""
    assigned = {part.id for part in assigned_names([*node.body, *node.orelse])}
    after = carried_names.names_perhaps_after(state.source.node, node, state.unrolled_loops())
    return sorted(assigned & after.union(state.guards, *(outer.carried for outer in state.exits)))


def _left_alone(node: ast.If) -> set[str]:
    """The names that the first branch assigns and the other may read: as they are before the condition."""
    read = set()
    for part in (part for one in node.orelse for part in ast.walk(one)):
        if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            read.add(part.target.id)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            read.add(part.id)
    return read.intersection(part.id for part in assigned_names(node.body))


def _called(of: str, method: str) -> ast.expr:
    return ast.Call(func=_attribute(of, method), args=[], keywords=[])


def _attribute(of: str, attribute: str) -> ast.expr:
    return ast.Attribute(value=name(of), attr=attribute, ctx=ast.Load())


def _values(names: Sequence[str]) -> list[ast.keyword]:
    """`u=lambda: u` for each name, which may not be assigned."""
    return words(**{one: function_of([], name(one)) for one in names})


def _merged(node: ast.If, suits: Callable[[ast.expr, ast.expr, ast.expr], bool]) -> list[ast.Assign] | None:
    """`if test: u = a else: u = b` as `u = a if test else b`; None for other conditions.

    Both branches assign the same targets in the same order, so that a later assignment that reads an earlier
    one gets what that is in its own branch. `suits` is asked about each target and its two values.
    """
    if len(node.body) != len(node.orelse):
        return None
    result = []
    for one, other in zip(node.body, node.orelse, strict=True):
        if not isinstance(one, ast.Assign) or not isinstance(other, ast.Assign) or len(one.targets) > 1:
            return None
        target = one.targets[0]
        if list(map(ast.dump, other.targets)) != [ast.dump(target)]:
            return None
        if not suits(target, one.value, other.value):
            return None
        value = ast.copy_location(ast.IfExp(copied(node.test), one.value, other.value), one.value)
        result.append(ast.copy_location(ast.Assign(targets=one.targets, value=value), one))
    return result


def _tested_once(state: RewriteState, node: ast.If, alike: list[ast.Assign]) -> list[ast.Assign]:
    """The merged assignments, after the test where the first of several may change what it reads."""
    if len(alike) == 1:
        return alike
    kept = state.unused("test")
    for one in alike:
        assert isinstance(one.value, ast.IfExp)
        one.value.test = ast.copy_location(name(kept), node.test)
    target = ast.copy_location(name(kept, store=True), node.test)
    return [ast.copy_location(ast.Assign(targets=[target], value=copied(node.test)), node.test), *alike]


def _is_new_array(arrays: ArrayNames, target: ast.expr, *values: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id in arrays and all(map(arrays.may_be_array, values))


def _is_element(target: ast.expr, read: Collection[str]) -> bool:
    """Return whether a target is an element of an array other than those that are read."""
    array = target.value if isinstance(target, ast.Subscript) else None
    return isinstance(array, ast.Name) and array.id not in read


def _makes_numbers(test: ast.expr, is_symbolic: Callable[[ast.expr], bool]) -> bool:
    """Return whether a test of indices makes numbers that are no affine forms, and so is one of data."""

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
            return any(isinstance(one, ast.Constant) for one in both) or all(map(is_symbolic, both))
        return any(map(_is_fraction, both)) or (isinstance(part.op, ast.Mult) and all(map(is_symbolic, both)))

    return any(map(makes, ast.walk(test)))


def _is_division(value: ast.expr) -> bool:
    return isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mod, ast.FloorDiv))


def _is_fraction(value: ast.expr) -> bool:
    number = value.value if isinstance(value, ast.Constant) else None
    return isinstance(number, float) and not number.is_integer()
