"""Loops over ranges between elements of arrays, `for k in range(row[i], row[i + 1])`, by their places."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Sequence

from cyclotron.language.syntax.array_names import stores
from cyclotron.language.syntax.carried_names import certain_names, next_readings
from cyclotron.language.syntax.jumps import jumps
from cyclotron.language.syntax.names import assigned_names
from cyclotron.language.syntax.rewrite_state import RewriteState
from cyclotron.language.syntax.trees import call, copied, located, name, walk

_LOOPS = (ast.For, ast.While, ast.With, ast.Return)
_OTHERS = (ast.Lambda, ast.ListComp, ast.GeneratorExp)  # whose parts are computed for values of their own


def over_places(
    state: RewriteState, node: ast.For, start: ast.expr, stop: ast.expr
) -> tuple[ast.stmt, ast.For] | None:
    """The loop as one over all places of an axis that every iteration reads, of which the range selects some.

    PEs go through those selected alone (`codegen/bound_iterations`), each through its own. None where no axis
    is read in every iteration, or the loop is more than that: it may break off, has loops inside, reads at
    other places than the index itself, needs its last index or the last value of a name, or counts from a
    number that was computed, which may be negative: places from an axis's end on.
    """
    assert isinstance(node.target, ast.Name)
    index = node.target.id
    if any(jumps(node.body)) or any(isinstance(part, _LOOPS) for one in node.body for part in walk(one)):
        return None
    if index in {part.id for part in assigned_names(node.body)} or _is_read_elsewhere(state, index):
        return None
    if not _is_from_the_first(state, start):
        return None
    read = certain_names(node.body).keys() & next_readings(state.source.node, node).keys()
    if any(one not in state.arrays and not state.arrays.is_number(one) for one in read):
        return None
    axes = {(array.id, axis): array for array, axis in _axes(state, node, index)}
    if not axes or not all(_stays_inside(part, index, axes) for one in node.body for part in walk(one)):
        return None
    first, last, places = (state.unused(f"{index}_{one}") for one in ("first", "last", "places"))
    given = [ast.Tuple([copied(array), ast.Constant(axis)], ast.Load()) for (_, axis), array in axes.items()]
    within = call(state.il, "places", [ast.Constant(index), copied(start), copied(stop), *given])
    targets: list[ast.expr] = [name(one, store=True) for one in (first, last, places)]
    tests = ((first, ast.LtE(), index), (index, ast.Lt(), last))
    chosen = ast.BoolOp(ast.And(), [ast.Compare(name(a), [op], [name(b)]) for a, op, b in tests])
    loop = copied(node)
    loop.body = [located(ast.If(located(chosen, node.iter), node.body, []), node.iter)]
    loop.iter = located(ast.Call(name("range"), [name(places)], []), node.iter)
    before = located(ast.Assign([ast.Tuple(targets, ast.Store())], within), node.iter)
    return before, loop


def _is_from_the_first(state: RewriteState, start: ast.expr) -> bool:
    """Return whether a range begins at an element of an array as it is, or a number from 0 on."""
    if isinstance(start, ast.Constant):
        return type(start.value) is int and start.value >= 0
    if not isinstance(start, ast.Name):
        return isinstance(start, ast.Subscript)
    given = [
        None if isinstance(node, ast.AugAssign) else value
        for node in walk(state.source.node)
        for assigned, value in stores(node)
        if assigned == start.id
    ]
    return bool(given) and all(isinstance(value, ast.Subscript) for value in given)


def _is_read_elsewhere(state: RewriteState, index: str) -> bool:
    """Return whether the name of an index is read outside of loops over it."""
    parts = [*walk(state.source.node)]
    own = {id(part) for loop in parts if index in _indices(loop) for part in walk(loop)}
    return any(isinstance(part, ast.Name) and part.id == index and id(part) not in own for part in parts)


def _indices(loop: ast.AST) -> set[str]:
    """The names that a loop, or a comprehension, counts by."""
    generators = [loop] if isinstance(loop, ast.For) else getattr(loop, "generators", [])
    return {part.id for one in generators for part in walk(one.target) if isinstance(part, ast.Name)}


def _axes(state: RewriteState, node: ast.For, index: str) -> Iterator[tuple[ast.Name, int]]:
    """The arrays, each with an axis, that every iteration reads or assigns at the index itself."""
    assigned = {part.id for part in assigned_names(node.body)}
    for part in (part for one in node.body for part in _certain(one)):
        if not isinstance(part, ast.Subscript) or not isinstance(part.value, ast.Name):
            continue
        array, keys = part.value.id, _keys(part.slice)
        axis = next((n for n, key in enumerate(keys) if isinstance(key, ast.Name) and key.id == index), None)
        if axis is None or array in assigned or array not in state.arrays:
            continue
        if all(_takes_one_axis(state, key) for key in keys[:axis]):
            yield part.value, axis


def _stays_inside(part: ast.AST, index: str, axes: Container[tuple[str, int]]) -> bool:
    """Return whether a subscript has the index nowhere, or for axes that it cannot leave."""
    if not isinstance(part, ast.Subscript):
        return True
    array = part.value.id if isinstance(part.value, ast.Name) else ""
    return all(
        (array, axis) in axes if isinstance(key, ast.Name) else not _has_outside_subscripts(key, index)
        for axis, key in enumerate(_keys(part.slice))
        if not isinstance(key, ast.Name) or key.id == index
    )


def _has_outside_subscripts(node: ast.AST, index: str) -> bool:
    if isinstance(node, ast.Subscript):
        return False  # which has its own
    if isinstance(node, ast.Name):
        return node.id == index
    return any(_has_outside_subscripts(part, index) for part in ast.iter_child_nodes(node))


def _keys(key: ast.expr) -> Sequence[ast.expr]:
    return key.elts if isinstance(key, ast.Tuple) else [key]


def _takes_one_axis(state: RewriteState, key: ast.expr) -> bool:
    """Return whether a subscript is a number or a slice, and no new axis, no ellipsis, no mask."""
    if isinstance(key, (ast.Constant, ast.Starred)):
        return isinstance(key, ast.Constant) and type(key.value) is int
    return not state.arrays.may_be_array(key)


def _certain(node: ast.AST) -> Iterator[ast.AST]:
    """A statement or expression with its parts, but those that a condition may leave out."""
    yield node
    if isinstance(node, (ast.If, ast.IfExp)):
        parts: list[ast.AST] = [node.test]
    elif isinstance(node, ast.BoolOp):
        parts = [node.values[0]]
    elif isinstance(node, ast.Compare):
        parts = [node.left, node.comparators[0]]
    else:
        parts = [] if isinstance(node, _OTHERS) else [*ast.iter_child_nodes(node)]
    for part in parts:
        yield from _certain(part)
