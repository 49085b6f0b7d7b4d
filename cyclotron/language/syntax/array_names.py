"""The names of a kernel that may hold whole arrays, as far as its text tells."""

from __future__ import annotations

import ast
import builtins
import collections
import contextlib
import copy
from collections.abc import Collection, Iterator
from typing import TypeGuard, TypeVar

import numpy as np

from cyclotron.language.functions.registry import NEW_ARRAYS, OF_WHOLE_ARRAYS
from cyclotron.language.syntax.source import Source, lookup
from cyclotron.language.syntax.trees import copied, located, walk

_OF_HOST = (builtins.len, builtins.range, builtins.isinstance, builtins.int, builtins.float, builtins.print)
_MEASURES = (builtins.len, builtins.isinstance, np.shape, np.ndim, np.size)
_Loop = TypeVar("_Loop", ast.For, ast.While)
_PROPERTIES = frozenset({"shape", "ndim", "size", "dtype"})
_TOTALS = frozenset([
    "sum", "prod", "max", "min", "mean", "std", "var", "any", "all", "argmax", "argmin", "count_nonzero",
    "dot", "vdot", "inner", "trace", "norm", "item",
])  # fmt: skip


class ArrayNames:
    """The names that may hold arrays at one point of the text; `numbers` are parameters that hold none."""

    def __init__(self, source: Source, numbers: frozenset[str] = frozenset()) -> None:
        self._source = source
        self._given_numbers = set(numbers)
        subscripts = [node for node in walk(source.node) if isinstance(node, ast.Subscript)]
        self._subscripted = {node.value.id for node in subscripts if isinstance(node.value, ast.Name)}
        hosts = {part.id for node in walk(source.node) for part in self._used_as_numbers(node)}
        arguments = source.node.args
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        self._names = {argument.arg for argument in parameters} - hosts
        taken_apart = {
            node.value.id
            for node in walk(source.node)
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.value, ast.Name)
        }
        self._perhaps = self._names - taken_apart  # may be numbers as well
        self._updated = {
            node.target.id
            for node in walk(source.node)
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
        }
        self._rows = any(map(self._is_of_arrays, walk(source.node)))  # whether `A[i]` may be a row
        self._numbers: set[str] = set()  # hold something else, as numbers
        self._totals: set[str] = set()  # hold what reductions of arrays make
        self._elements: set[str] = set()  # hold elements, parts of arrays, or what is computed of those alone
        self._data: set[str] = set()  # are assigned somewhere what may be of data
        self._index_names: dict[str, str] = {}  # of the open loops
        tree = _with_own_indices(source.node)
        assigned = [pair for node in walk(tree) for pair in stores(node)]
        size = -1
        while size != (size := len(self._data)):
            self._data |= {name for name, value in assigned if value is None or self.reads_data(value)}
        self._counts = self._told_by_data(tree)  # are computed of elements of arrays
        size = -1
        while size != (size := len(self._counts)):
            self._counts |= {
                name for name, value in assigned if value is not None and self.reads_elements(value)
            }
        self._filled = {name for node in walk(source.node) for name in self._filled_by(node)}
        recorded = [node for node in walk(source.node) if isinstance(node, (ast.For, ast.While, ast.If))]
        by_python = [node for node in walk(source.node) if isinstance(node, ast.With) or _is_over_list(node)]
        others = {id(part) for node in by_python for part in walk(node)}
        inside = [part for node in recorded if id(node) not in others for part in walk(node)]
        self._filled |= {name for node in inside for name in _changed_by(node)} - hosts

    def _told_by_data(self, tree: ast.AST) -> set[str]:
        """The names that loops take of arrays, and those of which conditions on data choose the value."""
        names: set[str] = set()
        assigned = collections.Counter(
            name for node in walk(tree) if isinstance(node, ast.Assign) for name, _ in stores(node)
        )
        for node in walk(tree):
            if isinstance(node, (ast.If, ast.While)) and self.reads_data(node.test):
                parts = [*walk(node)]
                names |= {
                    name for part in parts if isinstance(part, ast.AugAssign) for name, _ in stores(part)
                }
                own = [name for part in parts if isinstance(part, ast.Assign) for name, _ in stores(part)]
                names |= {name for name in own if isinstance(node, ast.If) and assigned[name] > 1}
            elif isinstance(node, ast.For) and self.reads_data(node.iter):
                function = self._source.meaning(node.iter.func) if isinstance(node.iter, ast.Call) else None
                targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
                taken = [] if function is builtins.range else targets[function is builtins.enumerate :]
                names |= {part.id for one in taken for part in walk(one) if isinstance(part, ast.Name)}
        return names - self._names

    @contextlib.contextmanager
    def in_loop(self, node: ast.For) -> Iterator[None]:
        """While the body of a loop is looked at: its index is no other variable of that name."""
        before = self._index_names.copy()
        self._index_names.update(_own_index(node))
        yield
        self._index_names.clear()
        self._index_names.update(before)

    def _filled_by(self, node: ast.AST) -> list[str]:
        """The names of arrays that a statement changes, all or in part, to data."""
        is_of_data = isinstance(node, (ast.Assign, ast.AugAssign)) and self.reads_data(node.value)
        return _changed_by(node) if is_of_data else []

    def is_filled(self, name: str) -> bool:
        """Return whether what a name holds is changed to data, or in what is recorded once."""
        return name in self._filled

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def store(self, name: str, value: ast.expr) -> None:
        """Note what a name is assigned."""
        self._given_numbers.discard(name)
        is_array = self.may_be_array(value)
        is_element = is_array and not self._has_axes(value)
        (self._names if is_array else self._numbers).add(name)
        (self._numbers if is_array else self._names).discard(name)
        is_total = is_array and self._is_of_totals(value)
        for names in (self._perhaps, self._totals):
            (names.add if is_total else names.discard)(name)
        (self._elements.add if is_element else self._elements.discard)(name)

    def is_number(self, name: str) -> bool:
        """Return whether a name holds no array but what Python computes, as a number."""
        return name in self._numbers

    def may_part(self, name: str, value: ast.expr) -> bool:
        """Return whether two names of one number may get different ones, by operators in place."""
        if not isinstance(value, ast.Name) or value.id not in self._names:
            return False
        return not self._updated.isdisjoint((name, value.id))

    def declare(self, name: str) -> None:
        """Note that a name holds a new array."""
        self._names.add(name)
        self._numbers.discard(name)
        self._perhaps.discard(name)
        self._elements.discard(name)

    def is_either(self, name: str) -> bool:
        """Return whether a name may hold an array, or a number as well."""
        return name in self._perhaps

    def declare_data(self, names: Collection[str]) -> None:
        """Note that names hold numbers that loops carry, which the program computes."""
        self._data |= {*names}
        self._counts |= {*names}

    def may_be_element(self, name: str) -> bool:
        """Return whether a name was assigned what is an element of an array or a part of one."""
        return name in self._elements

    def declare_perhaps(self, name: str) -> None:
        """Note that a name may hold an array, a part of one, or a number."""
        self._names.add(name)
        self._perhaps.add(name)
        self._numbers.discard(name)

    def reads_data(self, node: ast.AST) -> bool:
        """Return whether an expression may read elements of arrays, not only shapes."""
        if isinstance(node, ast.Name):
            name = self._index_names.get(node.id, node.id)
            return name in self._names or name in self._data
        return not self._measures(node) and any(map(self.reads_data, ast.iter_child_nodes(node)))

    def reads_elements(self, node: ast.AST) -> bool:
        """Return whether an expression computes with elements or totals of arrays, or names of such."""
        if isinstance(node, ast.Name):
            return self._index_names.get(node.id, node.id) in self._counts
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            return self.reads_data(node.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TOTALS:
            return self.reads_data(node)
        return not self._measures(node) and any(map(self.reads_elements, ast.iter_child_nodes(node)))

    def _measures(self, node: ast.AST) -> bool:
        """Return whether an expression tells the shape or the dtype of an array."""
        if isinstance(node, ast.Attribute):
            return node.attr in _PROPERTIES
        return isinstance(node, ast.Call) and self._source.meaning(node.func) in _MEASURES

    def may_be_number(self, node: ast.Subscript) -> bool:
        """Return whether `with_updates` made this of a name that may hold a number."""
        return isinstance(node.value, ast.Name) and node.value.id in self._perhaps and _takes_several(node)

    def copy(self) -> ArrayNames:
        """The same names, to go on with in one branch."""
        other = copy.copy(self)
        other._names, other._perhaps = set(self._names), set(self._perhaps)
        other._numbers, other._elements = set(self._numbers), set(self._elements)
        other._totals, other._given_numbers = set(self._totals), set(self._given_numbers)
        return other

    def merge(self, other: ArrayNames) -> None:
        """The names after another branch: what is an array in one of them may be one."""
        in_one = self._names ^ other._names
        self._perhaps |= other._perhaps | in_one
        self._names |= other._names
        self._numbers &= other._numbers
        self._given_numbers &= other._given_numbers
        self._elements |= other._elements
        self._totals |= other._totals

    def with_updates(self, node: _Loop) -> _Loop:
        """A loop with `u += e` of arrays written as `u[...] += e`: the name keeps its array."""
        names, places = self.copy(), set()
        for part in (part for statement in node.body for part in walk(statement)):
            if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
                names.store(part.targets[0].id, part.value)
            elif names._is_update(part):
                places.add((part.lineno, part.col_offset))
        if not places:
            return node
        new = copied(node)
        for part in walk(new):
            if isinstance(part, ast.AugAssign) and (part.lineno, part.col_offset) in places:
                assert isinstance(part.target, ast.Name)
                array = ast.Name(id=part.target.id, ctx=ast.Load())
                whole = ast.Subscript(value=array, slice=ast.Constant(...), ctx=ast.Store())
                part.target = located(whole, part.target)
        return new

    def _is_update(self, node: ast.AST) -> TypeGuard[ast.AugAssign]:
        """Return whether a statement is `name += value` that changes an array in place."""
        if not isinstance(node, ast.AugAssign) or not isinstance(node.target, ast.Name):
            return False
        name = node.target.id
        if name in self._elements | self._given_numbers:
            return False
        return name in self._names and (name not in self._perhaps or self.may_be_array(node.value))

    def may_be_array(self, node: ast.AST) -> bool:
        """Return whether an expression may be a whole array, a part of one, or computed from one."""
        if isinstance(node, ast.Name):
            return node.id in self._names
        if isinstance(node, ast.Attribute):
            return node.attr not in _PROPERTIES and self.may_be_array(node.value)
        if isinstance(node, ast.Subscript):
            return self.may_be_array(node.value) and (self._rows or _takes_several(node))
        if isinstance(node, ast.Call):
            function = self._source.meaning(node.func)
            if function in _OF_HOST:
                return False
            if lookup(NEW_ARRAYS, function) is not None:
                return True
            parts = [node.func, *node.args, *(word.value for word in node.keywords)]
            return any(map(self.may_be_array, parts))
        if isinstance(node, (ast.Lambda, ast.Constant)):
            return False
        return any(map(self.may_be_array, ast.iter_child_nodes(node)))

    def _is_of_totals(self, node: ast.AST) -> bool:
        """Return whether all arrays in an expression are in reductions, which may make numbers."""
        if isinstance(node, ast.Name):
            return node.id in self._totals
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in _TOTALS:
                return True
            if lookup(NEW_ARRAYS, self._source.meaning(node.func)) is not None:
                return False
        parts = [part for part in ast.iter_child_nodes(node) if self.may_be_array(part)]
        return bool(parts) and all(map(self._is_of_totals, parts))

    def _has_axes(self, node: ast.AST) -> bool:
        """Return whether an expression that may be an array is no element, nor computed of elements alone."""
        if isinstance(node, ast.Name):
            return node.id in self._names - self._elements - self._perhaps
        if isinstance(node, ast.Subscript):
            return _takes_several(node) and self._has_axes(node.value)
        if isinstance(node, ast.Call) and lookup(NEW_ARRAYS, self._source.meaning(node.func)) is not None:
            return True
        return any(map(self._has_axes, ast.iter_child_nodes(node)))

    def is_view(self, node: ast.AST) -> bool:
        """Return whether an expression is a name or a part of an array, which stays a part of it."""
        if isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr == "T"):
            return self.is_view(node.value)
        return isinstance(node, ast.Name)

    def _is_of_arrays(self, node: ast.AST) -> bool:
        """Return whether only a kernel with whole-array statements has this in its text."""
        if isinstance(node, ast.Subscript):
            return _takes_several(node) or _is_mask(node.slice)
        called = self._source.meaning(node.func) if isinstance(node, ast.Call) else None
        return lookup(OF_WHOLE_ARRAYS, called) is not None

    def _used_as_numbers(self, node: ast.AST) -> list[ast.Name]:
        """The names in ranges, subscripts and shapes."""
        inside: list[ast.AST] = []
        function = self._source.meaning(node.func) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and (function is builtins.range or _is_of_shape(function)):
            inside = list(node.args if function is builtins.range else node.args[:1])
        elif isinstance(node, ast.Subscript) and not _is_mask(node.slice):
            is_array = isinstance(node.slice, ast.Name) and node.slice.id in self._subscripted
            inside = [] if is_array else [node.slice]
        return [
            part
            for one in inside
            for part in walk(one)
            if isinstance(part, ast.Name) and not self._is_measured(one, part)
            if not isinstance(node, ast.Subscript) or part.id not in self._subscripted
        ]

    def _is_measured(self, whole: ast.AST, name: ast.Name) -> bool:
        """Return whether a name stands in an expression as `len(x)`, `x.shape[0]` or `x[i]`."""
        for part in walk(whole):
            if isinstance(part, ast.Attribute | ast.Subscript) and part.value is name:
                return True
            if isinstance(part, ast.Call) and name in part.args:
                function = self._source.meaning(part.func)
                return getattr(function, "__module__", "") != "math" and function is not builtins.int
        return False


def _is_of_shape(function: object) -> bool:
    """Return whether a function makes an array of the shape that its first argument is."""
    named = getattr(function, "__name__", "") in ("zeros", "ones", "empty", "full")
    return named and lookup(NEW_ARRAYS, function) is not None


def _own_index(node: ast.For) -> dict[str, str]:
    """The name of a loop's index, with one for this loop alone, unless its body assigns it too."""
    stores = (part for one in node.body for part in walk(one) if isinstance(part, ast.Name))
    assigned = {part.id for part in stores if isinstance(part.ctx, ast.Store)}
    if not isinstance(node.target, ast.Name) or node.target.id in assigned:
        return {}
    return {node.target.id: f"{node.target.id} at {node.lineno}"}


def _with_own_indices(function: ast.FunctionDef) -> ast.FunctionDef:
    """A kernel's text to be analysed: in loops their indices have names that no other variables have."""
    tree = copied(function)
    for node in (node for node in walk(tree) if isinstance(node, ast.For)):
        names = _own_index(node)
        for part in (part for one in node.body for part in walk(one) if isinstance(part, ast.Name)):
            part.id = names.get(part.id, part.id)
        own = [ast.Name(name, ast.Store()) for name in names.values()]
        node.target = ast.Tuple([node.target, *own], ast.Store()) if own else node.target
    return tree


def stores(node: ast.AST) -> list[tuple[str, ast.expr | None]]:
    """The names that a statement assigns, each with the value; None for arrays of which it assigns a part."""
    if isinstance(node, ast.Assign):
        targets, value = node.targets, node.value
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)) and node.value is not None:
        targets, value = [node.target], node.value
    elif isinstance(node, ast.For):
        targets, value = [node.target], node.iter
    elif (changed := changed_at(node)) is not None:
        targets, value = [changed], None
    else:
        return []
    tuples = [one.elts for one in targets if isinstance(one, ast.Tuple)]
    if isinstance(value, ast.Tuple) and [*map(len, tuples)] == [len(value.elts)] * len(targets):
        each = [pair for elements in tuples for pair in zip(elements, value.elts, strict=True)]
        return [found for one, part in each for found in stores(ast.Assign([one], part))]
    parts = [part for target in targets for part in walk(target)]
    names = [part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
    arrays = [
        part.value.id
        for part in parts
        if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name)
    ]
    return [*((name, value) for name in names), *((name, None) for name in arrays)]


def changed_at(node: ast.AST) -> ast.Subscript | None:
    """The elements that a statement `np.add.at(y, n, v)` changes, as `y[n]`, as far as its text tells."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "at":
        return None
    if len(call.args) != 3 or call.keywords:
        return None
    return located(ast.Subscript(call.args[0], call.args[1], ast.Store()), node)


def _changed_by(node: ast.AST) -> list[str]:
    """The names of arrays that a statement changes, all or in part."""
    if not isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)):
        return []
    return [name for name, value in stores(node) if value is None or isinstance(node, ast.AugAssign)]


def _is_over_list(node: ast.AST) -> bool:
    """Return whether Python runs a loop, over values in the text."""
    return isinstance(node, ast.For) and isinstance(node.iter, (ast.List, ast.Tuple))


def _is_mask(key: ast.AST) -> bool:
    """Return whether a subscript is a test, as in `u[(u > 0) & ~(v == 1)]`, no number."""
    if isinstance(key, ast.UnaryOp):
        return isinstance(key.op, ast.Invert) and _is_mask(key.operand)
    if isinstance(key, ast.BinOp):
        return isinstance(key.op, (ast.BitAnd, ast.BitOr, ast.BitXor)) and _is_mask(key.left)
    return isinstance(key, ast.Compare)


def _takes_several(node: ast.Subscript) -> bool:
    """Return whether subscripts have a slice, `...` or `None`."""
    keys = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(
        isinstance(key, ast.Slice) or (isinstance(key, ast.Constant) and key.value in (..., None))
        for key in keys
    )
