"""Assignments of a kernel's text, in the intermediate language."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from cyclotron.language.functions.registry import DECLARATIONS, OF_NUMPY
from cyclotron.language.syntax.annotations import resolved
from cyclotron.language.syntax.globals import module_of
from cyclotron.language.syntax.rewrite_state import RewriteState
from cyclotron.language.syntax.source import MISSING, lookup
from cyclotron.language.syntax.trees import call, copied, located, name, walk, words
from cyclotron.language.values.array import SymbolicArray
from cyclotron.language.values.dispatch import SIGNS
from cyclotron.language.values.subscripts import is_array

_MAKERS = (np.array, np.arange, np.linspace, np.eye, np.identity, np.tri, np.tile, np.concatenate, np.sort)
ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign)
_OPERATORS = {type(ast.parse(f"a {sign}= b").body[0].op): op for op, sign in SIGNS.items()}  # type: ignore[attr-defined]


def assign(state: RewriteState, node: ast.Assign) -> list[ast.stmt]:
    """Rewrite an assignment; `C = cy.empty(...)` declares a tensor."""
    symbolic = state.names.is_symbolic(node.value)
    value = computed(state, node.targets[0], node.value)
    targets = [_target(state, target, symbolic) for target in node.targets]
    for target in node.targets:
        _note_arrays(state, target, node.value)
    return [ast.Assign(targets=targets, value=value)]


def computed(state: RewriteState, target: ast.expr, value: ast.expr, *, apart: bool = False) -> ast.expr:
    """A value that a name gets; a new array is computed here, under this name.

    Of values that are assigned together, `apart`, slices get such arrays too.
    """
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        values = [computed(state, *pair, apart=True) for pair in zip(target.elts, value.elts, strict=True)]
        return ast.copy_location(ast.Tuple(elts=values, ctx=ast.Load()), value)
    rewritten = state.rewrite(value)
    if isinstance(target, ast.Subscript) and isinstance(value, (ast.Tuple, ast.List)):
        return located(call(state.il, "row", [rewritten]), value)
    if isinstance(target, ast.Name) and _declares(state, value):
        return _declaration(state, target.id, value, rewritten)
    if isinstance(target, ast.Tuple):
        target = target.elts[0]
    if apart and isinstance(target, ast.Subscript):
        target = target.value
    named = target.id if isinstance(target, ast.Name) else ""
    whole = value.value if isinstance(value, ast.Subscript) else value  # a part of a new array may be one
    may_be_array = not state.arrays.is_view(value) and state.arrays.may_be_array(whole)
    parts = state.arrays.may_part(named, value)
    is_new = named and (may_be_array or parts or _is_of_places(state, value) or may_be_of_host(state, value))
    if named and state.arrays.is_filled(named) and _is_made_here(state, value):
        rewritten = located(call(state.il, "own", [rewritten], words(name=named)), value)
    if is_new:
        return new_array(state, rewritten, named)
    of_parts = any(isinstance(part, ast.Subscript) for part in walk(value)) and state.arrays.reads_data(value)
    if not named or not of_parts or state.arrays.is_view(value):
        return rewritten
    # The text does not tell that `A[0] + 1` is of a row, and an array.
    return located(call(state.il, "computed", [rewritten], words(name=named)), value)


def _is_made_here(state: RewriteState, value: ast.expr) -> bool:
    """Return whether NumPy makes a new array where it computes a value, if it is an array of the host."""
    if isinstance(value, ast.Call):
        is_copy = isinstance(value.func, ast.Attribute) and value.func.attr in ("copy", "astype")
        return is_copy or any(state.source.meaning(value.func) is one for one in _MAKERS)
    return isinstance(value, (ast.BinOp, ast.UnaryOp))


def _is_of_places(state: RewriteState, value: ast.expr) -> bool:
    """Return whether elements at places that data tell, or an array of the host, are part of a value."""
    slices = [part.slice for part in walk(value) if isinstance(part, ast.Subscript)]
    return any(state.arrays.reads_data(one) or _may_be_places(state, one) for one in slices)


def _may_be_places(state: RewriteState, node: ast.expr) -> bool:
    """Return whether a subscript may be an array or a list of the host."""
    for one in node.elts if isinstance(node, ast.Tuple) else [node]:
        named = [part for part in walk(one) if isinstance(part, ast.Name)]
        if isinstance(one, ast.List) or any(is_array(state.source.meaning(part)) for part in named):
            return True
        if isinstance(one, ast.Name) and state.source.meaning(one) is MISSING:
            is_index = state.arrays.is_number(one.id) or state.names.is_symbolic(one)
            if one.id in state.containers or not is_index:
                return True
    return False


def may_be_of_host(state: RewriteState, value: ast.expr) -> bool:
    """Return whether a value comes from functions that may make an array of the host."""
    functions = [state.source.meaning(part.func) for part in walk(value) if isinstance(part, ast.Call)]
    others = ("cyclotron", "builtins", "math", "cmath")
    return any(one is MISSING or module_of(one).partition(".")[0] not in others for one in functions)


def new_array(state: RewriteState, value: ast.expr, named: str) -> ast.expr:
    """`il.array(value, name="u")`: the value, in an array of its own where it is one."""
    return located(call(state.il, "array", [value], words(name=named)), value)


def _note_arrays(state: RewriteState, target: ast.expr, value: ast.expr) -> None:
    """Note which of the names that are assigned may hold arrays."""
    if isinstance(target, ast.Name) and _declares(state, value):
        state.arrays.declare(target.id)
    elif isinstance(target, ast.Name):
        state.arrays.store(target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = value.elts if isinstance(value, ast.Tuple) else [value] * len(target.elts)
        for one, part in zip(target.elts, parts, strict=False):
            _note_arrays(state, one, part)


def annotated(state: RewriteState, node: ast.AnnAssign) -> list[ast.stmt]:
    """Rewrite an assignment with a type, and note the type."""
    if isinstance(node.target, ast.Name) and _is_type(state, node.annotation):
        declared = state.types.setdefault(node.target.id, node.annotation)
        if ast.dump(declared) != ast.dump(node.annotation):
            raise state.source.error(
                node.annotation,
                "CYC124",
                f"`{node.target.id}` is declared as `{ast.unparse(node.annotation)}`, and before as"
                f" `{ast.unparse(declared)}`",
                "give what has another type a name of its own",
                notes=[(state.source.span(declared), "it is declared here")],
            )
    if node.value is None:
        return []
    plain = ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)
    return assign(state, plain)


def _is_type(state: RewriteState, annotation: ast.expr) -> bool:
    """Return whether an annotation, which Python does not evaluate, can be where the kernel is recorded."""
    parts = list(walk(annotation))
    names = [part for part in parts if isinstance(part, ast.Name)]
    if not names or any(isinstance(part, (ast.Call, ast.NamedExpr, ast.Lambda)) for part in parts):
        return False
    if any(state.source.meaning(part) is MISSING for part in names):
        return False
    outer = {**state.source.function.__globals__, **state.source.free}
    return resolved(ast.unparse(annotation), outer) is not Any


def type_checks(state: RewriteState, statement: ast.stmt) -> list[ast.stmt]:
    """`il.typed(total, float, name="total")` for each name with a declared type that is assigned."""
    if not state.types or not isinstance(statement, ASSIGNMENTS):
        return []
    if isinstance(statement, ast.AnnAssign) and statement.value is None:
        return []
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    stored = [part for target in targets for part in walk(target) if isinstance(part, ast.Name)]
    checks: list[ast.stmt] = []
    for one in dict.fromkeys(part.id for part in stored if isinstance(part.ctx, ast.Store)):
        if one in state.types:
            check = call(state.il, "typed", [name(one), copied(state.types[one])], words(name=one))
            checks.append(ast.Expr(value=check))
    return checks


def augmented(state: RewriteState, node: ast.AugAssign) -> list[ast.stmt]:
    """Rewrite an assignment as `C[i] += e`."""
    symbolic = state.names.is_symbolic(node.value)
    value = state.rewrite(node.value)
    if isinstance(node.target, ast.Name):
        state.names.load(node.target)
        symbolic = symbolic or state.names.is_symbolic(node.target)
    elif isinstance(node.op, (ast.Add, ast.Sub)):
        value = ast.copy_location(call(state.il, "term", [value]), node.value)
    elif isinstance(node.target, ast.Subscript) and state.arrays.reads_data(node.target.slice):
        taken = copied(node.target)
        taken.ctx = ast.Load()
        made = call(
            state.il, "updated", [ast.Constant(_OPERATORS[type(node.op)]), state.rewrite(taken), value]
        )
        target = _target(state, node.target, symbolic)
        return [ast.Assign(targets=[target], value=ast.copy_location(made, node.value))]
    target = _target(state, node.target, symbolic)
    assert isinstance(target, (ast.Name, ast.Attribute, ast.Subscript))
    if isinstance(target, ast.Subscript) and state.arrays.may_be_number(target):
        array = target.value
        target.value = call(state.il, "changed", [array], words(name=ast.unparse(array)))
    changed: list[ast.stmt] = [ast.AugAssign(target=target, op=node.op, value=value)]
    at_places = any(
        state.arrays.reads_data(part.slice) for part in walk(node.value) if isinstance(part, ast.Subscript)
    )
    if isinstance(target, ast.Name) and (at_places or state.arrays.may_be_array(node.value)):
        held = call(state.il, "computed", [name(target.id)], words(name=target.id))
        changed.append(ast.Assign(targets=[ast.Name(target.id, ast.Store())], value=held))
    return changed


def _target(state: RewriteState, node: ast.expr, symbolic: bool) -> ast.expr:
    """A target of an assignment, rewritten and noted."""
    if isinstance(node, ast.Name):
        if node.id in state.indices:
            raise state.source.error(
                node,
                "CYC109",
                f"index `{node.id}` is assigned inside its loop",
                "use a new name, e.g. `k = i + 1`",
            )
        state.names.store(node.id, symbolic)
        state.of_host.discard(node.id)
        return node
    if isinstance(node, (ast.Tuple, ast.List)):
        elements = [_target(state, element, symbolic) for element in node.elts]
        return ast.copy_location(type(node)(elts=elements, ctx=ast.Store()), node)
    if isinstance(node, ast.Starred):
        _target(state, node.value, symbolic)
        return node
    if isinstance(node, ast.Attribute) and not hasattr(SymbolicArray, node.attr):  # arrays refuse their own
        raise state.source.error(
            node,
            "CYC101",
            f"the attribute `{state.source.text_of(node)}` is assigned",
            "a kernel is recorded once and leaves objects alone: return the value, and assign it outside",
        )
    target = state.rewrite(node)
    if isinstance(target, ast.Subscript) and _may_be_of_host(state, node):
        target.value = located(call(state.il, "host_items", [target.value]), node)
    return target


def _may_be_of_host(state: RewriteState, node: ast.expr) -> bool:
    """Return whether a subscript in a loop or under a condition may be of a list or dict of Python's."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    in_branch = state.recorded or state.branches
    if not isinstance(node, ast.Name) or not (state.indices or in_branch):
        return False
    if not in_branch and node.id in state.loop_names[-1]:  # made in this iteration
        return False
    return node.id not in state.arrays or node.id in state.containers


def _declares(state: RewriteState, value: ast.expr) -> bool:
    """Return whether a value is a call that makes an array for the kernel to assign."""
    function = state.source.meaning(value.func) if isinstance(value, ast.Call) else None
    return lookup(DECLARATIONS, function) is not None or lookup(OF_NUMPY, function) is not None


def _declaration(state: RewriteState, target: str, value: ast.expr, rewritten: ast.expr) -> ast.expr:
    """`C = cy.empty(...)` gets the name of its tensor; of NumPy's functions too."""
    assert isinstance(value, ast.Call)
    assert isinstance(rewritten, ast.Call)
    function = state.source.meaning(value.func)
    declared, of_numpy = lookup(DECLARATIONS, function), lookup(OF_NUMPY, function)
    arguments = [ast.Constant(of_numpy), *rewritten.args] if of_numpy else rewritten.args
    named = [*rewritten.keywords, *words(name=target)]
    return located(call(state.il, declared or "made_by_numpy", arguments, named), value)
