"""Arrays that a loop assigns anew (`u = u + c * v`): each iteration starts with what the one before left."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from cyclotron.errors import ShapeError, TraceError
from cyclotron.language import broadcasting
from cyclotron.language.aliases import Carried, Keep
from cyclotron.language.array_names import ArrayNames
from cyclotron.language.elements import Element
from cyclotron.language.elementwise import operand
from cyclotron.language.expressions import call, located, name
from cyclotron.language.position import here
from cyclotron.language.regions import is_empty
from cyclotron.language.statements import new_array
from cyclotron.language.syntax import walk
from cyclotron.language.tensors import SymbolicTensor
from cyclotron.language.trace import Scope, active_trace
from cyclotron.language.whole import Whole


def kept(value: Any, *, name: str) -> SymbolicTensor:
    """``u_kept = il.kept(u, name="u")``: a new array for what a name holds from one iteration to the next.

    Raises
    ------
    TraceError
        CYC111 if the name holds no array.
    """
    if not isinstance(value, (Whole, Element)):
        raise TraceError(
            f"`{name}` carries its value from one iteration to the next",
            code="CYC111",
            span=here(),
            help="write a reduction, e.g. `sum(... for k in range(...))`; or make it an array before the"
            f" loop, e.g. `{name} = cy.full((), {name})`",
        )
    trace = active_trace()
    array, declared = operand(value), len(trace.tensors)
    tensor = new_array(array.copy(), name)
    trace.carried.append(Carried(name, tensor, _held(array), declared, len(trace.statements)))
    return tensor


def keep(**pairs: Any) -> None:
    """``il.keep(u=(u_kept, u))``: the values with which the next iteration starts, all at once.

    Raises
    ------
    ShapeError
        CYC122 if a name gets an array of another shape, CYC120 if of another dtype.
    """
    trace = active_trace()
    records = {one.tensor: one for one in trace.carried}
    own = [records[target] for target, _ in pairs.values()]
    loops = [scope for scope in trace.scopes if scope.index is not None]
    for record in own:
        record.end = len(trace.statements)
        record.first, record.declared = max(one.first for one in own), min(one.declared for one in own)
        record.around = tuple((scope.index, scope.tensors) for scope in loops if scope.index is not None)
        record.runs = _runs(loops[-1])
    keep_values(pairs)
    for record in own:
        record.last = len(trace.statements)


def keep_values(pairs: Mapping[str, tuple[SymbolicTensor, Any]]) -> None:
    """Assign to the arrays that names are kept in what the names hold, all at once."""
    values = {one: operand(value) for one, (_, value) in pairs.items()}
    for one, (target, _) in pairs.items():
        _check_same(one, target, values[one])
    trace = active_trace()
    records = {one.tensor: one for one in trace.carried}
    first = len(trace.statements)
    own = [(records[target], _held(values[one])) for one, (target, _) in pairs.items()]
    changed = {one: target for one, (target, value) in pairs.items() if value is not target}
    if len(changed) > 1:  # what one name keeps may be what another one had
        values |= {one: new_array(values[one].copy(), f"{one}_next") for one in changed}
    for one, target in changed.items():
        target[...] = values[one]
    for record, held in own:
        record.keeps.append(Keep(held, first, len(trace.statements)))


def _check_same(one: str, target: SymbolicTensor, value: Whole) -> None:
    """Check that a name holds after an iteration an array like the one before the loop."""
    same = len(value.shape) == target.ndim and all(map(broadcasting.same, value.shape, target.shape))
    if same and value.dtype_name == target.dtype_name:
        return
    shapes = broadcasting.text(target.whole().shape), broadcasting.text(value.shape)
    was, becomes = (f"shape {s}" for s in shapes) if not same else (target.dtype_name, value.dtype_name)
    raise ShapeError(
        f"`{one}` has {was} before the loop and {becomes} after an iteration",
        code="CYC120" if same else "CYC122",
        span=here(),
        notes=[(target.span, "the loop is here")],
        help="give what changes a name of its own, or assign to a slice",
    )


def _held(value: Whole) -> SymbolicTensor | None:
    """The tensor of which an array is all or a part; None for new arrays."""
    view = value.whole() if not isinstance(value, SymbolicTensor) else None
    return value if isinstance(value, SymbolicTensor) else view.tensor if view is not None else None


def _runs(loop: Scope) -> bool:
    """Whether a loop has iterations, wherever it stands."""
    forms = [c.form for conjunction in loop.region for c in conjunction]
    alone = all(index is loop.index for form in forms for index in form.terms)
    return alone and not all(map(is_empty, loop.region))


def carried_names(body: Sequence[ast.AST], arrays: ArrayNames, needed: Collection[str] = ()) -> list[str]:
    """The names that hold arrays before a loop and that what it repeats assigns anew.

    It reads them before it assigns them, or they are `needed` after the loop.
    """
    parts = [part for one in body for part in _in_order(one)]
    assigned = {part.id for part in parts if isinstance(part.ctx, ast.Store)}
    return sorted((read_first(parts) | set(needed)) & {one for one in assigned if one in arrays})


def names_after(function: ast.FunctionDef, line: int) -> set[str]:
    """The names that a function reads in the text after a line before it assigns them there."""
    after = [one for one in function.body if _end(one) > line]
    parts = [part for one in after for part in [*_updated(one), *_in_order(one)]]
    return read_first(part for part in parts if part.lineno > line)


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
    """What a loop reads in the text before a statement in it: after that in the next iteration."""
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


def read_first(parts: Iterable[ast.Name]) -> set[str]:
    """The names of which the first occurrence is a reading."""
    first: dict[str, bool] = {}
    for part in parts:
        first.setdefault(part.id, isinstance(part.ctx, ast.Load))
    return {one for one, reads in first.items() if reads}


def _end(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def before(il: str, names: Mapping[str, str], like: ast.AST) -> list[ast.stmt]:
    """`u_kept = u = il.kept(u, name="u")` for each name; `names` has both."""
    result: list[ast.stmt] = []
    for one, kept_one in names.items():
        word = ast.keyword(arg="name", value=ast.Constant(one))
        targets: list[ast.expr] = [name(kept_one, store=True), name(one, store=True)]
        result.append(located(ast.Assign(targets=targets, value=call(il, "kept", [name(one)], [word])), like))
    return result


def within(il: str, names: Mapping[str, str], body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """`il.keep(u=(u_kept, u))` at the end of the body, placed where it assigns one of the names last."""
    if not names:
        return []
    stores = [part for one in body for part in _in_order(one) if isinstance(part.ctx, ast.Store)]
    place = [part for part in stores if part.id in names][-1]
    words = [
        ast.keyword(arg=one, value=ast.Tuple(elts=[name(kept_one), name(one)], ctx=ast.Load()))
        for one, kept_one in names.items()
    ]
    return [located(ast.Expr(value=call(il, "keep", [], words)), place)]


def after(names: Mapping[str, str], like: ast.AST) -> list[ast.stmt]:
    """`u = u_kept` for each name."""
    return [
        located(ast.Assign(targets=[name(one, store=True)], value=name(kept_one)), like)
        for one, kept_one in names.items()
    ]


def _in_order(statement: ast.AST) -> list[ast.Name]:
    """The names of a statement, values before targets."""
    if isinstance(statement, (ast.Assign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        parts = [*walk(statement.value), *(part for target in targets for part in walk(target))]
        return [part for part in parts if isinstance(part, ast.Name)]
    if isinstance(statement, (ast.For, ast.While, ast.If, ast.With)):
        inner = [part for one in statement.body for part in _in_order(one)]
        rest = [part for one in getattr(statement, "orelse", []) for part in _in_order(one)]
        heads = [statement.iter, statement.target] if isinstance(statement, ast.For) else []
        heads += [statement.test] if isinstance(statement, (ast.If, ast.While)) else []
        found = [part for head in heads for part in walk(head) if isinstance(part, ast.Name)]
        return [*found, *inner, *rest]
    return [part for part in walk(statement) if isinstance(part, ast.Name)]
