"""Names that a loop assigns anew (`u = u + c * v`): which, and the calls that keep what they hold."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence

from cyclotron.language.syntax.array_names import ArrayNames
from cyclotron.language.syntax.trees import call, located, name, pairs, walk, words


def carried_names(body: Sequence[ast.AST], arrays: ArrayNames, needed: Collection[str] = ()) -> list[str]:
    """The names that hold arrays before a loop and that what it repeats assigns anew.

    It reads them before it assigns them, or they are `needed` after the loop.
    """
    parts = [part for one in body for part in [*_updated(one), *_in_order(one)]]
    assigned = {part.id for part in parts if isinstance(part.ctx, ast.Store)}
    return sorted((read_first(body) | set(needed)) & {one for one in assigned if one in arrays})


def carried_numbers(body: Sequence[ast.AST], arrays: ArrayNames, needed: Collection[str]) -> set[str]:
    """The names that hold numbers before a loop, as `carried_names`, and that no code of the host assigns."""
    parts = [part for one in body for part in [*_updated(one), *_in_order(one)]]
    blocks = (block for one in body for block in walk(one) if isinstance(block, ast.With))
    hosts = {part.id for block in blocks for part in walk(block) if isinstance(part, ast.Name)}
    assigned = {part.id for part in parts if isinstance(part.ctx, ast.Store)} - hosts
    carried = assigned & (read_first(body) | set(needed))
    tests = (arrays.is_number, arrays.may_be_element, arrays.is_either)
    return {one for one in carried if any(test(one) for test in tests)}


def updated_in_place(body: Sequence[ast.AST]) -> set[str]:
    """The names that a body assigns by operators in place only."""
    parts = [part for one in body for part in walk(one)]
    updated = [part.target for part in parts if isinstance(part, ast.AugAssign)]
    own = set(map(id, updated))
    stored = (part for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
    names = {part.id for part in updated if isinstance(part, ast.Name)}
    return names.difference(part.id for part in stored if id(part) not in own)


def certain_names(body: Sequence[ast.stmt]) -> dict[str, tuple[int, int]]:
    """The names that each iteration assigns, where loops in it over ranges have iterations, and by where."""
    found: dict[str, tuple[int, int]] = {}
    for one in body:
        names: Iterable[str] = ()
        if isinstance(one, (ast.Assign, ast.AnnAssign)) and one.value is not None:
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            parts = [part for target in targets for part in walk(target)]
            names = [
                part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            ]
        elif isinstance(one, ast.For) and not any(isinstance(part, ast.Break) for part in walk(one)):
            names = certain_names(one.body)
        for name_of_one in names:
            found.setdefault(name_of_one, (_end(one), one.end_col_offset or 0))
    return found


def names_after(function: ast.FunctionDef, line: int) -> set[str]:
    """The names that a function reads in the text after a line before it assigns them there."""
    return read_first([one for one in function.body if _end(one) > line], line)


def next_readings(function: ast.FunctionDef, node: ast.stmt) -> dict[str, ast.Name]:
    """The names that a function reads in the text after a statement before it assigns them, and where."""
    first: dict[str, ast.Name] = {}
    for part in (part for one in function.body if _end(one) > _end(node) for part in _in_order(one)):
        if part.lineno > _end(node):
            first.setdefault(part.id, part)
    return {one: part for one, part in first.items() if isinstance(part.ctx, ast.Load)}


def names_perhaps_after(function: ast.FunctionDef, node: ast.stmt, around: Sequence[ast.stmt]) -> set[str]:
    """The names that a function may read after a statement, where not all statements in the text run.

    What is assigned in branches and loops may not be assigned; loops `around` it read in their next
    iterations what comes earlier in the text.
    """
    line = _end(node)
    found: dict[str, bool] = {}
    for statement in function.body:
        if _end(statement) <= line:
            continue
        compound = isinstance(statement, (ast.For, ast.While, ast.If, ast.With))
        for part in [*_updated(statement), *_in_order(statement)]:
            reads = isinstance(part.ctx, ast.Load)
            if part.lineno > line and (reads or not compound):
                found.setdefault(part.id, reads)
    again = {part.id for loop in around for part in read_again(loop, node)}
    return again | {one for one, reads in found.items() if reads}


def read_again(loop: ast.stmt, node: ast.stmt) -> list[ast.Name]:
    """Readings of a loop in the text before a statement in it: after that in the next iteration."""
    parts = [*_updated(loop), *_in_order(loop)]
    return [part for part in parts if isinstance(part.ctx, ast.Load) and part.lineno < node.lineno]


def _updated(statement: ast.AST) -> list[ast.Name]:
    """The names that `x += ...` in a statement reads."""
    targets = [part.target for part in walk(statement) if isinstance(part, ast.AugAssign)]
    return [
        ast.copy_location(ast.Name(part.id, ast.Load()), part)
        for part in targets
        if isinstance(part, ast.Name)
    ]


def read_first(body: Sequence[ast.AST], line: int = 0) -> set[str]:
    """The names that statements may read, after a line, before all branches there have assigned them."""
    read: set[str] = set()
    _read_first(body, line, read, set())
    return read


def _read_first(body: Sequence[ast.AST], line: int, read: set[str], assigned: set[str]) -> None:
    """Add to the names that are read first, and to those that are assigned after the statements."""
    for one in body:
        if isinstance(one, ast.If):
            _add(_names_of(one.test), line, read, assigned)
            branches = assigned.copy(), assigned.copy()
            _read_first(one.body, line, read, branches[0])
            _read_first(one.orelse, line, read, branches[1])
            assigned |= branches[0] & branches[1]
        elif isinstance(one, (ast.For, ast.While, ast.With)):
            heads = [one.iter, one.target] if isinstance(one, ast.For) else []
            heads += [one.test] if isinstance(one, ast.While) else []
            _add(
                [*_updated(one), *(part for head in heads for part in _names_of(head))], line, read, assigned
            )
            _read_first([*one.body, *getattr(one, "orelse", [])], line, read, assigned)
        else:
            _add([*_updated(one), *_in_order(one)], line, read, assigned)


def _add(parts: Iterable[ast.Name], line: int, read: set[str], assigned: set[str]) -> None:
    for part in parts:
        if part.lineno > line and part.id not in assigned:
            (read if isinstance(part.ctx, ast.Load) else assigned).add(part.id)


def _names_of(node: ast.AST) -> list[ast.Name]:
    return [part for part in walk(node) if isinstance(part, ast.Name)]


def _end(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def before(
    il: str,
    names: Mapping[str, str],
    like: ast.AST,
    numbers: Collection[str] = (),
    in_place: Collection[str] = (),
) -> list[ast.stmt]:
    """`u_kept = u = il.kept(u, name="u")` for each name; `names` has both. Numbers stay what they are."""
    result: list[ast.stmt] = []
    for one, kept_one in names.items():
        targets: list[ast.expr] = [name(kept_one, store=True)]
        options = {"is_number": True} if one in numbers else {}
        if one in in_place:
            options["in_place"] = True
        if one not in numbers:
            targets.append(name(one, store=True))
        kept = call(il, "kept", [name(one)], words(name=one, **options))
        result.append(located(ast.Assign(targets=targets, value=kept), like))
    return result


def within(il: str, names: Mapping[str, str], body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """`il.keep(u=(u_kept, u))` at the end of the body, placed where it assigns one of the names last."""
    if not names:
        return []
    stores = [part for one in body for part in _in_order(one) if isinstance(part.ctx, ast.Store)]
    place = [part for part in stores if part.id in names][-1]
    return [located(ast.Expr(value=call(il, "keep", [], pairs(names))), place)]


def after(
    names: Mapping[str, str], like: ast.AST, numbers: Collection[str] = (), il: str = ""
) -> list[ast.stmt]:
    """`u = u_kept` for each name; `s = s_kept[()]`, the element, for those that held numbers.

    With `il` as `il.as_it_was(s_kept, name="s")`, which stays what it is where the loop ends early.
    """
    result: list[ast.stmt] = []
    for one, kept_one in names.items():
        value: ast.expr = name(kept_one)
        if il:
            value = call(il, "as_it_was", [value], words(name=one))
        elif one in numbers:
            value = ast.Subscript(value=value, slice=ast.Tuple(elts=[], ctx=ast.Load()), ctx=ast.Load())
        result.append(located(ast.Assign(targets=[name(one, store=True)], value=value), like))
    return result


def _in_order(statement: ast.AST) -> list[ast.Name]:
    """The names of a statement, values before targets."""
    if isinstance(statement, (ast.Assign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        updated = _updated(statement)
        parts = [*walk(statement.value), *updated, *(part for target in targets for part in walk(target))]
        return [part for part in parts if isinstance(part, ast.Name)]
    if isinstance(statement, (ast.For, ast.While, ast.If, ast.With)):
        inner = [part for one in statement.body for part in _in_order(one)]
        rest = [part for one in getattr(statement, "orelse", []) for part in _in_order(one)]
        heads = [statement.iter, statement.target] if isinstance(statement, ast.For) else []
        heads += [statement.test] if isinstance(statement, (ast.If, ast.While)) else []
        found = [part for head in heads for part in _names_of(head)]
        return [*found, *inner, *rest]
    return _names_of(statement)
