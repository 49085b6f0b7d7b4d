"""Loops of a kernel's text that numbers of the host control, and whose bodies need those numbers as sizes."""

from __future__ import annotations

import ast
import builtins
import collections
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from cyclotron.language.functions.shifts import roll
from cyclotron.language.syntax.jumps import jumps
from cyclotron.language.syntax.names import assigned_names
from cyclotron.language.syntax.rewrite_state import RewriteState
from cyclotron.language.syntax.trees import name, walk

_CONSTANT = math.lcm(*range(1, 17))
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
}
_SIZED = {"reshape", "zeros", "ones", "empty", "full", "arange", "repeat", "tile"}
_FACTORS = (ast.Mult, ast.FloorDiv, ast.LShift, ast.RShift)
_POWERS = (ast.Pow, ast.LShift, ast.RShift)


def is_of_host(state: RewriteState, node: ast.While) -> bool:
    """Return whether Python runs a `while`, as it does `while n > 1: a[:n] = ...; n = n // 2` of a length.

    It does also where the test tells the shape of an array that the body makes anew, `while len(x) < n`,
    where such a number is a part of a shape, as in `x.reshape(n // m, m)`, and where one that
    the test has grows or falls by a factor and stands in subscripts, or in what names in them hold, as in
    `while s < n: ... x[i ^ s] ...; s *= 2`: such loops are short, and each distance is a constant then.
    Others, `while c < n: y[c] = ...; c += 1` too, are recorded once.
    """
    if state.indices or state.recorded or any(jumps(node.body)):
        return False
    stored = {one.id for one in assigned_names(node.body)} & _names(node.test)
    if any(map(state.arrays.may_be_array, map(name, stored))) and not state.arrays.reads_data(node.test):
        return True
    changed = _changed(state, node)
    scaled = changed & _names(node.test) & _scaled(node)
    parts = [part for one in node.body for part in walk(one)]
    subscripts = [part.slice for part in parts if isinstance(part, ast.Subscript)]
    if any(_names(one) & _computed_of(parts, scaled) for one in subscripts):
        return True
    return bool(changed) and any(_sizes(state, part, changed) for part in parts)


def _computed_of(parts: Sequence[ast.AST], names: set[str]) -> set[str]:
    """Some names, and those that a body computes of them."""
    found = set(names)
    assigns = [part for part in parts if isinstance(part, ast.Assign)]
    for _ in assigns:
        found |= {
            one.id
            for part in assigns
            if _names(part.value) & found
            for target in part.targets
            for one in _parts(target)
            if isinstance(one, ast.Name)
        }
    return found


def _scaled(node: ast.While) -> set[str]:
    """The names that an iteration multiplies or divides, once."""
    stores = collections.Counter(one.id for one in assigned_names(node.body))
    updates = {
        counter
        for counter, value in updates_of(node.body)
        if isinstance(value, ast.BinOp) and isinstance(value.op, _FACTORS) and counter in _names(value)
    }
    return {one for one in updates if stores[one] == 1}


def by_python(state: RewriteState, node: ast.For) -> bool | None:
    """Return whether Python runs a loop over a range, as it needs numbers: True where it is to be short.

    Strides, distances of `roll` from a table, and powers in subscripts are numbers: what is recorded once has
    forms of indices. None of other loops.
    """
    if not isinstance(node.target, ast.Name) or state.names.is_symbolic(node.iter):
        return None
    index = node.target.id
    parts = [part for one in node.body for part in walk(one)]
    if _has_strides(state, index, parts) or _has_powers(state, index, parts):
        return False
    return True if _has_uneven_slices(index, node, parts) else None


def _has_strides(state: RewriteState, index: str, parts: list[ast.AST]) -> bool:
    """Return whether strides are computed of an index, as in `for p in range(2, n): a[p * p :: p] = ...`."""
    numbers = [part.step for part in parts if isinstance(part, ast.Slice) and part.step]
    for part in parts:
        if isinstance(part, ast.Call) and state.source.meaning(part.func) in (np.roll, roll):
            shifts = [*part.args[1:2], *(word.value for word in part.keywords if word.arg == "shift")]
            numbers += [one for shift in shifts for one in walk(shift) if isinstance(one, ast.Subscript)]
    return any(index in _names(one) for one in numbers)


def _has_powers(state: RewriteState, index: str, parts: list[ast.AST]) -> bool:
    """Return whether an index is an exponent, or counts a shift, of what subscripts and ranges have.

    So it is in `for k in range(4): s = 2**k; y[s:] += x[:-s]`, and where the range of such a loop has it.
    """

    def has_power(one: ast.AST) -> bool:
        powers = [part for part in walk(one) if isinstance(part, ast.BinOp) and isinstance(part.op, _POWERS)]
        exponents = [ast.unparse(part.right) for part in powers if index in _names(part.right)]
        return any({*"%/&"}.isdisjoint(text) for text in exponents)  # with these, long loops have few powers

    assigns = [part for part in parts if isinstance(part, ast.Assign)]
    numbers = [part for part in assigns if _is_number(state, part.value, set(), {})]
    named = {one.id for part in numbers if has_power(part.value) for one in assigned_names([part])}
    powers = _computed_of(numbers, named)
    inner = [part for part in parts if isinstance(part, ast.For) and index in _names(part.iter)]
    places: list[ast.AST] = [part.slice for part in parts if isinstance(part, ast.Subscript)]
    places += [part for part in parts if _sizes(state, part, _names(part))]
    return any(by_python(state, one) is False for one in inner) or any(
        _names(one) & powers or (has_power(one) and not state.arrays.reads_data(one)) for one in places
    )


def _has_uneven_slices(index: str, node: ast.For, parts: list[ast.AST]) -> bool:
    """Return whether slices take numbers of elements that are not affine in an index.

    So does `for s in range(2): u[1 + s : -1 : 2] = ...`. What else the bounds have is taken for a constant.
    """
    stores = collections.Counter(one.id for one in assigned_names(node.body))
    assigns = [(part.targets[0], part.value) for part in parts if isinstance(part, ast.Assign)]
    values = {one.id: value for one, value in assigns if isinstance(one, ast.Name) and stores[one.id] == 1}
    slices = [part for part in parts if isinstance(part, ast.Slice)]
    return any(_is_uneven(part, index, values) for part in slices)


def _is_uneven(part: ast.Slice, index: str, values: dict[str, ast.expr]) -> bool:
    """Return whether the number of elements between a slice's bounds grows by no multiple of its step."""
    zero = ast.Constant(0)
    try:
        step = _number(part.step or zero, {}, {})
        lengths = [
            _number(part.upper or zero, {index: n}, values) - _number(part.lower or zero, {index: n}, values)
            for n in range(4)
        ]
    except (ValueError, ZeroDivisionError):
        return False
    growth = [later - length for length, later in itertools.pairwise(lengths)]
    return abs(step) > 1 and (len({*growth}) > 1 or growth[0] % step != 0)


def _number(node: ast.expr, known: dict[str, int], values: dict[str, ast.expr]) -> int:
    """A number that a text gives where some names are known and other parts, without those, any constant."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(node.operand, known, values)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = (_number(one, known, values) for one in (node.left, node.right))
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, ast.Name) and node.id in values:
        others = {name: value for name, value in values.items() if name != node.id}
        return _number(values[node.id], known, others)
    if not known or _names(node) & (known.keys() | values.keys()):
        raise ValueError(node)
    return _CONSTANT


def ends_at_data(state: RewriteState, node: ast.For) -> bool:
    """Return whether elements of arrays are bounds of a range, as in `for k in range(row[i], row[i + 1])`."""
    assert isinstance(node.iter, ast.Call)
    return any(map(state.arrays.reads_elements, node.iter.args))


def updates_of(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """The names that are assigned in every iteration, with what: `c + 1`."""
    for one in body:
        if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
            yield one.target.id, ast.BinOp(name(one.target.id), one.op, one.value)
        elif isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
            yield one.targets[0].id, one.value


def _changed(state: RewriteState, node: ast.While) -> set[str]:
    """The names that the body computes from numbers of the host alone; none where the test has others."""
    own: dict[str, list[ast.expr]] = {}
    for part in (part for one in node.body for part in walk(one)):
        if isinstance(part, ast.Assign) and len(part.targets) == 1:
            for one, given in zip(_parts(part.targets[0]), _parts(part.value), strict=False):
                if isinstance(one, ast.Name):
                    own.setdefault(one.id, []).append(given)
        elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            own.setdefault(part.target.id, []).append(ast.BinOp(name(part.target.id), part.op, part.value))
    stores = collections.Counter(one.id for one in assigned_names(node.body))
    hosts = {one for one, values in own.items() if len(values) == stores[one]}
    for part in (part for one in node.body for part in walk(one)):
        if not isinstance(part, (ast.If, ast.While, ast.For)):
            continue
        if isinstance(part, ast.For) or state.arrays.reads_data(part.test):  # recorded once, or by data
            hosts -= {one.id for one in assigned_names([part])}
    while True:
        wrong = {one for one in hosts if not all(_is_number(state, value, hosts, own) for value in own[one])}
        if not wrong:
            break
        hosts -= wrong
    return hosts if _is_number(state, node.test, hosts, own) and _names(node.test) & hosts else set()


def _is_number(state: RewriteState, value: ast.expr, hosts: set[str], own: dict[str, list[ast.expr]]) -> bool:
    """Return whether Python computes a value of what no array and no data are part of."""
    if state.arrays.reads_data(value) or state.arrays.may_be_array(value) or state.names.is_symbolic(value):
        return False
    return not (_names(value) & own.keys() - hosts)


def _parts(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in walk(node) if isinstance(part, ast.Name)}


def _sizes(state: RewriteState, part: ast.AST, names: set[str]) -> bool:
    """Return whether a slice or a range has one of some names as a bound, or an array as its shape."""
    called = part.func if isinstance(part, ast.Call) else None
    makes = called is not None and getattr(called, "attr", getattr(called, "id", "")) in _SIZED
    is_range = called is not None and state.source.meaning(called) is builtins.range
    return (isinstance(part, ast.Slice) or is_range or makes) and bool(_names(part) & names)
