"""Loops over what arrays hold: `for v in x`, `for a, b in zip(x, y)`, `for i, v in enumerate(x)`."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass

from cyclotron.language.syntax.source import MISSING, Source
from cyclotron.language.syntax.trees import copied, located, name, walk

_DISPLAYS = (ast.Tuple, ast.List, ast.Dict, ast.ListComp, ast.DictComp)


@dataclass(frozen=True)
class Items:
    """One part of a loop's target, which takes items of an array, or numbers one after the other.

    Attributes
    ----------
    target : ast.Name
        The part of the target.
    values : ast.expr or None
        The array, or the range of the numbers; None where they go on as long as the rest does.
    first : ast.expr or None
        The first number; None for items of an array.
    step : ast.expr or None
        From one number to the next, where it is not 1.
    """

    target: ast.Name
    values: ast.expr | None
    first: ast.expr | None = None
    step: ast.expr | None = None

    @property
    def is_index(self) -> bool:
        """True where it counts the iterations from 0."""
        return isinstance(self.first, ast.Constant) and self.first.value == 0 and self.step is None

    def at(self, index: str, array: ast.expr | None) -> ast.expr:
        """Its value in the iteration of an index, of this array or of the numbers."""
        if self.first is None:
            assert array is not None
            item: ast.expr = ast.Subscript(value=array, slice=name(index), ctx=ast.Load())
        elif self.is_index:
            item = name(index)
        else:
            ahead: ast.expr = name(index)
            if self.step is not None:
                ahead = ast.BinOp(copied(self.step), ast.Mult(), ahead)
            item = ast.BinOp(copied(self.first), ast.Add(), ahead)
        return located(item, self.target)


def items_of(source: Source, target: ast.expr, values: ast.expr) -> list[Items] | None:
    """The parts of a loop's target, from left to right; None for loops of another form."""
    if is_container(source, values):
        return None
    function = source.meaning(values.func) if isinstance(values, ast.Call) else MISSING
    given = values.args if isinstance(values, ast.Call) else []
    words = values.keywords if isinstance(values, ast.Call) else []
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
    if any(isinstance(part, ast.Starred) for part in (*given, *parts)):
        return None
    if function is builtins.range:
        return _numbers(target, values, given) if isinstance(target, ast.Name) and not words else None
    if function is builtins.enumerate and len(parts) == 2 and len(given) + len(words) in (1, 2) and given:
        start = [*given[1:], *(word.value for word in words if word.arg == "start")]
        inner = items_of(source, parts[1], given[0])
        counter = parts[0]
        if inner is None or not isinstance(counter, ast.Name) or len(start) != len(given) + len(words) - 1:
            return None
        return [Items(counter, None, first=(start or [ast.Constant(0)])[0]), *inner]
    if function is builtins.zip and given and len(parts) == len(given):
        if any(word.arg != "strict" for word in words):
            return None
        found = [items_of(source, *pair) for pair in zip(parts, given, strict=True)]
        return [item for items in found if items for item in items] if all(found) else None
    if function is builtins.reversed and len(given) == 1:
        backwards = ast.Slice(None, None, ast.Constant(-1))
        values = located(ast.Subscript(given[0], backwards, ast.Load()), values)
    return [Items(target, values)] if isinstance(target, ast.Name) else None


def is_container(source: Source, values: ast.expr) -> bool:
    """Return whether they are a list, tuple or dict of the text, counted, zipped or held by a name."""
    if isinstance(values, ast.Name):
        parts = [*walk(source.node)]
        assigns = [one for one in parts if isinstance(one, ast.Assign)]
        kept = [assign.targets for assign in assigns if isinstance(assign.value, _DISPLAYS)]
        stores = [one for one in parts if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
        given = [one.arg for one in parts if isinstance(one, ast.arg)]
        own = [store for store in stores if store.id == values.id and store.id not in given]
        return bool(own) and all([one] in kept for one in own)
    if not isinstance(values, ast.Call):
        return isinstance(values, _DISPLAYS)
    if isinstance(values.func, ast.Attribute) and values.func.attr in ("values", "items", "keys"):
        return is_container(source, values.func.value)
    of_parts = source.meaning(values.func) in (builtins.enumerate, builtins.zip, builtins.reversed)
    return of_parts and any(is_container(source, part) for part in values.args)


def _numbers(target: ast.Name, values: ast.expr, bounds: list[ast.expr]) -> list[Items] | None:
    if len(bounds) not in (1, 2, 3):
        return None
    first = ast.Constant(0) if len(bounds) == 1 else bounds[0]
    return [Items(target, values, first=first, step=bounds[2] if len(bounds) == 3 else None)]


def strictness(values: ast.expr) -> list[ast.keyword]:
    """The keyword `strict` of a `zip` in what a loop runs over."""
    calls = [part for part in walk(values) if isinstance(part, ast.Call)]
    return [copied(word) for part in calls for word in part.keywords if word.arg == "strict"]
