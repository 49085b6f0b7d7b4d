"""Loops of a kernel's text, in the intermediate language, and their early exits."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Collection, Sequence
from typing import TypeVar

from cyclotron.language.syntax import carried_names
from cyclotron.language.syntax.assignments import computed
from cyclotron.language.syntax.host_loops import by_python, ends_at_data, is_of_host, updates_of
from cyclotron.language.syntax.items import Items, is_container, items_of, strictness
from cyclotron.language.syntax.jumps import is_break, jumps, without_continue
from cyclotron.language.syntax.loop_extremes import Extreme, Taken, extremes_of, without
from cyclotron.language.syntax.loop_sums import loop_sums
from cyclotron.language.syntax.names import assigned_names
from cyclotron.language.syntax.ranges_of_data import over_places
from cyclotron.language.syntax.rewrite_state import EarlyExit, RewriteState
from cyclotron.language.syntax.source import MISSING, managers
from cyclotron.language.syntax.trees import (
    Replaced,
    call,
    copied,
    function_of,
    located,
    name,
    pairs,
    walk,
    with_node,
    words,
)
from cyclotron.language.trace.with_blocks import fuse

_Loop = TypeVar("_Loop", ast.For, ast.While)


def for_loop(state: RewriteState, node: ast.For) -> list[ast.stmt]:
    """Rewrite a loop over a range, the items of an array, or values of the host."""
    extremes = extremes_of(state, node)
    if extremes:
        return _with_extremes(state, node, extremes)
    node = _apart(state, _structured(state, node))
    function = state.source.meaning(node.iter.func) if isinstance(node.iter, ast.Call) else MISSING
    if function is builtins.range:
        if (few := by_python(state, node)) is not None:
            return _unrolled(state, node, few=few)
        recorded = _between_data if ends_at_data(state, node) else _over_range
        with state.arrays.in_loop(node):
            return recorded(state, node)
    _check_no_else(state, node)
    taken = items_of(state.source, node.target, node.iter)
    if state.of_items(node.iter) and taken is not None:
        return _over_arrays(state, node, taken)
    if function is builtins.enumerate and state.names.is_symbolic(node.iter):
        raise state.source.error(
            node.iter,
            "CYC102",
            f"the loop counts `{state.source.text_of(node.iter)}`, whose bounds depend on indices",
            "write `for j in range(...)`, and what is counted by its index, e.g. `k = j - start`",
        )
    if is_container(state.source, node.iter) or not state.arrays.may_be_array(node.iter):
        return _unrolled(state, node)
    if taken is not None:
        return _over_arrays(state, node, taken)
    raise state.source.error(
        node.iter,
        "CYC102",
        f"the loop runs over `{state.source.text_of(node.iter)}`, not over a range or an array",
        "write `for i in range(len(x))` with `x[i]` for what it takes of an array, one loop an index",
    )


def _with_extremes(state: RewriteState, node: ast.For, extremes: dict[ast.stmt, Extreme]) -> list[ast.stmt]:
    """A loop that takes the numbers of which a name keeps an extreme, which is found behind it."""
    places = {one: state.unused(f"{extreme.name.id}_of") for one, extreme in extremes.items()}
    before: list[ast.stmt] = []
    after: list[ast.stmt] = []
    for one, extreme in extremes.items():
        target, place = extreme.name, name(places[one])
        options = words(name=target.id, largest=extreme.largest)
        first = state.rewrite(ast.copy_location(name(target.id), target))
        before.append(
            located(ast.Assign([name(place.id, store=True)], call(state.il, "extreme", [], options)), one)
        )
        joined = call(place.id, "joined", [first])
        after.append(located(ast.Assign([name(target.id, store=True)], joined), one))
    loop = for_loop(state, without(node, places, extremes))
    for extreme in extremes.values():
        state.names.store(extreme.name.id, symbolic=True)
        state.arrays.declare_data({extreme.name.id})
    return [*before, *loop, *after]


def taken(state: RewriteState, node: Taken) -> list[ast.stmt]:
    """`best_of.take(e)`: a number that a loop computes and takes."""
    return [ast.Expr(call(node.place, "take", [state.rewrite(node.value)]))]


def while_loop(state: RewriteState, node: ast.While) -> list[ast.stmt]:
    """Rewrite a `while` as a loop over as many steps as there may be, which ends where the test fails."""
    node = _structured(state, node)
    _check_no_else(state, node)
    index = state.unused("iteration")
    if is_of_host(state, node):
        steps = call(state.il, "going_on", [function_of([], node.test)])
        return _unrolled(
            state, ast.copy_location(ast.For(name(index, store=True), steps, node.body, []), node)
        )
    most, before = _steps(state, node, index)
    node = state.arrays.with_updates(node)
    early_exit = _early_exit(state, node, [node.test, *node.body], state.unused(f"{index}_runs"))
    goes_on = state.test(node.test)
    body = _body(state, node.body, index, early_exit, test=node.test)
    result = _loop(state, node.test, node, index, [most], early_exit, body, goes_on)
    arguments = [name(early_exit.flag), function_of([], state.test(node.test)), copied(most)]
    arguments += [ast.Constant(state.max_steps)] if before else []
    result.append(located(ast.Expr(value=call(state.il, "unfinished", arguments)), node.test))
    return [*before, *result]


def break_loop(state: RewriteState, node: ast.Break) -> list[ast.stmt]:
    """Rewrite a `break` that stands alone, or under conditions."""
    unrolled = state.exits[-1].unrolled
    if unrolled is not None:
        if state.branches > unrolled:
            raise state.source.error(
                node,
                "CYC104",
                "a loop over values of the host ends by a condition on indices",
                "Python runs such a loop while tracing, once for all indices; write a loop over a range",
            )
        return [node]
    return [_break_where(state, ast.copy_location(ast.Constant(True), node))]


def break_if(state: RewriteState, node: ast.If) -> list[ast.stmt] | None:
    """Rewrite `if test: break ...` and `if test: ... else: break`; None for other conditions."""
    if state.in_python_loop():
        return None
    if is_break(node.body):
        stop, rest = _break_where(state, node.test), node.orelse
    elif is_break(node.orelse):
        stop, rest = _break_where(state, node.test, negated=True), node.body
    else:
        return None
    return [located(stop, node), *(state.block(rest) if rest else [])]


def _apart(state: RewriteState, node: ast.For) -> ast.For:
    """A loop with an index of its own, where nothing reads the one that a loop around it has too: `_`."""
    index = node.target
    if not isinstance(index, ast.Name) or index.id not in state.indices:
        return node
    names = [part for part in walk(state.source.node) if isinstance(part, ast.Name)]
    if any(part.id == index.id and isinstance(part.ctx, ast.Load) for part in names):
        return node
    new = copy.copy(node)
    new.target = ast.copy_location(name(state.unused(index.id), store=True), index)
    return new


def _structured(state: RewriteState, node: _Loop) -> _Loop:
    """The loop without `continue`."""

    def guard() -> str:
        name = state.unused("goes_on")
        state.guards.add(name)
        return name

    return without_continue(node, guard, lambda block: managers(state.source, block) == [fuse])


def _unrolled(state: RewriteState, node: ast.For, few: bool | None = None) -> list[ast.stmt]:
    """A loop over values of the host, which Python runs while tracing; `few` as of `il.host_range`."""
    iterated = state.rewrite(located(node.iter, node))
    if few is not None and isinstance(iterated, ast.Call):
        iterated = call(state.il, "host_range", iterated.args, [*iterated.keywords, *words(few=few)])
    values = call(state.il, "unrolled", [iterated])
    parts = node.iter.elts if isinstance(node.iter, (ast.Tuple, ast.List)) else []
    for part in walk(node.target):
        if isinstance(part, ast.Name):
            _check_new_index(state, part)
            state.names.store(part.id, symbolic=any(map(state.names.is_symbolic, parts)))
            if any(map(state.arrays.may_be_array, parts)):
                state.arrays.declare(part.id)
    state.exits.append(EarlyExit("", {}, unrolled=state.branches, loop=node))
    body = state.block(node.body)
    state.exits.pop()
    return [ast.For(target=copied(node.target), iter=located(values, node.iter), body=body, orelse=[])]


def _over_arrays(state: RewriteState, node: ast.For, taken: Sequence[Items]) -> list[ast.stmt]:
    """`for v in x` as `for v_at in range(il.rows(x))`, where v is x[v_at]."""
    targets = [one.target for one in taken]
    for target in targets:
        _check_new_index(state, target)
    counter = next((one.target for one in taken if one.is_index), None)
    index = counter.id if counter is not None else state.unused(f"{targets[0].id}_at")
    first: list[ast.stmt] = []
    lengths: list[ast.expr] = []
    items = {}
    for one in taken:
        target = one.target
        array = name(state.unused(f"{target.id}_of"))
        if one.values is not None and one.first is None:
            found = call(state.il, "items", [computed(state, array, one.values)])
            first.append(located(ast.Assign([name(array.id, store=True)], found), one.values))
            state.arrays.store(array.id, one.values)
            lengths.append(array)
        elif one.values is not None:
            lengths.append(state.rewrite(one.values))
        items[target.id] = one.at(index, array)
    state.items |= items.keys()
    rows = name(state.unused(f"{index}_rows"))
    length = call(state.il, "rows", lengths, strictness(node.iter))
    first.append(located(ast.Assign([name(rows.id, store=True)], length), node.iter))
    ranged = copied(node)
    ranged.target = ast.copy_location(name(index, store=True), node.target)
    ranged.iter = located(ast.Call(func=name("range"), args=[rows], keywords=[]), node.iter)
    summed = Replaced(items).visit(copied(state.arrays.with_updates(ranged)))
    # An item that is itself added to is no sum.
    assigned = {part.id for part in assigned_names(node.body)}
    sums = None if assigned & items.keys() else _local_sums(state, summed, index, [rows])
    if sums is not None:  # nothing else is assigned, so that an item stays what it is
        state.names.leave_loop(targets)
        return [*first, *sums]
    own = [target for target in targets if target.id != index]
    assigns = [ast.Assign(targets=[copied(target)], value=items[target.id]) for target in own]
    ranged.body[:0] = [located(assign, node.target) for assign in assigns]
    return [*first, *_over_range(state, ranged)]


def _over_range(state: RewriteState, node: ast.For, *, sums_apart: bool = True) -> list[ast.stmt]:
    """A loop over a range, or the sums that it is."""
    index, bounds = _range_of(state, node)
    node = state.arrays.with_updates(node)
    sums = _local_sums(state, node, index, bounds) if sums_apart else None
    if sums is not None:
        state.names.leave_loop([ast.copy_location(name(index), node.target)])
        return sums
    new_bounds = [state.rewrite(bound) for bound in bounds]
    breaks = any(isinstance(jump, ast.Break) for jump in jumps(node.body))
    flag = state.unused(f"{index}_runs") if breaks else ""
    early_exit = _early_exit(state, node, node.body, flag)
    body = _body(state, node.body, index, early_exit)
    return _loop(state, node.iter, node, index, new_bounds, early_exit, body)


def _between_data(state: RewriteState, node: ast.For) -> list[ast.stmt]:
    """A loop over a range with bounds that data tell, `for k in range(row[i], row[i + 1])`, as a `while`."""
    index, bounds = _range_of(state, node)
    step = _literal(bounds[2]) if len(bounds) == 3 else 1
    if not step:
        return _over_range(state, node)  # which refuses it
    start = bounds[0] if len(bounds) > 1 else ast.Constant(0)
    stop = bounds[0] if len(bounds) == 1 else bounds[1]
    bounded = over_places(state, node, start, stop) if step == 1 else None
    if bounded is not None:
        return [*state.block([bounded[0]]), *_over_range(state, bounded[1], sums_apart=False)]
    at, end = state.unused(f"{index}_at"), state.unused(f"{index}_end")
    first = [
        ast.Assign([name(one, store=True)], call(state.il, "bound", [copied(bound)]))
        for one, bound in ((at, start), (end, stop))
    ]
    test = ast.Compare(name(at), [ast.Lt() if step > 0 else ast.Gt()], [name(end)])
    begins = [
        ast.Assign([name(index, store=True)], name(at)),
        ast.Assign([name(at, store=True)], ast.BinOp(name(index), ast.Add(), ast.Constant(step))),
    ]
    loop = ast.While(
        located(test, node.iter), [*(located(begin, node.target) for begin in begins), *node.body], []
    )
    loop = ast.copy_location(loop, node)
    return state.block([*(located(one, node.iter) for one in first), loop])


def _literal(node: ast.expr) -> int:
    """The whole number that a text is; 0 of any other."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return 0
    return value if type(value) is int else 0


def _early_exit(
    state: RewriteState, node: ast.For | ast.While, repeated: Sequence[ast.AST], flag: str
) -> EarlyExit:
    """The names that a loop carries, with those of the arrays that keep them.

    A loop that may end early, which has a flag, keeps also what those around it carry: only what is kept
    stands still.
    """
    after = carried_names.names_after(state.source.node, node.end_lineno or node.lineno)
    around = {one for early_exit in state.exits for one in early_exit.carried}
    outer = around if flag else set()
    numbers = carried_names.carried_numbers(repeated, state.arrays, after | around)
    numbers = {number for number in numbers if not state.names.is_stale(number)}
    needed = after
    if flag:
        needed = carried_names.names_perhaps_after(state.source.node, node, state.unrolled_loops())
        _check_read_again(state, node, numbers)
    found = carried_names.carried_names(repeated, state.arrays, needed | outer)
    state.arrays.declare_data(numbers)
    in_place = {one for one in numbers & carried_names.updated_in_place(repeated) if one in state.arrays}
    kept = {one: state.unused(f"{one}_kept") for one in sorted({*found, *numbers})}
    read = carried_names.next_readings(state.source.node, node).keys()
    assigned = carried_names.certain_names(node.body)
    first = (assigned.keys() & read) - kept.keys() - state.of_host
    later = {one: state.unused(f"{one}_kept") for one in sorted(first)}
    return EarlyExit(flag, kept, numbers, in_place, later, assigned)


def _check_read_again(state: RewriteState, node: ast.stmt, numbers: Collection[str]) -> None:
    """Refuse a reading in the next iteration of a loop over values of the host, where no array keeps it.

    Its value would be of an iteration after the end.
    """
    assigned = {part.id for part in assigned_names([node])}
    for part in (part for loop in state.unrolled_loops() for part in carried_names.read_again(loop, node)):
        if part.id in assigned and part.id not in state.arrays and part.id not in numbers:
            raise state.source.error(
                part,
                "CYC111",
                f"`{part.id}` is what a loop that may end early assigned in the iteration before",
                f"give `{part.id}` an array before the loops, e.g. `{part.id} = cy.zeros_like(...)`",
            )


def _body(
    state: RewriteState, body: list[ast.stmt], index: str, early_exit: EarlyExit, test: ast.expr | None = None
) -> list[ast.stmt]:
    """The body of a loop over an index, which goes on while a test holds."""
    assigned = [one for one in assigned_names(body) if one.id not in early_exit.carried]
    state.names.enter_loop(assigned)
    state.names.store(index, symbolic=True)
    state.indices.append(index)
    state.exits.append(early_exit)
    state.loop_names.append({part.id for part in assigned_names(body)})
    numbers = {number: early_exit.carried[number] for number in sorted(early_exit.numbers)}
    copied_by = state.il if early_exit.flag else ""
    first = carried_names.after(numbers, test or body[0], early_exit.numbers, copied_by)
    if numbers:  # the body may be recorded twice: arrays are again what keeps them
        arrays = {one: kept for one, kept in early_exit.carried.items() if one not in numbers}
        first += carried_names.after(arrays, test or body[0])
    if test is not None:
        first.append(located(_break_where(state, test, negated=True), test))
    kept = {**early_exit.carried, **early_exit.later}
    result = [*first, *state.block(body), *carried_names.within(state.il, kept, body)]
    state.exits.pop()
    state.loop_names.pop()
    state.indices.pop()
    state.names.leave_loop(assigned)
    for one in early_exit.later:
        state.names.store(one, symbolic=True)
        state.arrays.declare_perhaps(one)
    return result


def _steps(state: RewriteState, node: ast.While, index: str) -> tuple[ast.expr, list[ast.stmt]]:
    """The most steps of a `while`, and before it what finds fewer where it counts: `while c < n: c += 1`."""
    most = ast.Constant(state.max_steps)
    changed = [part for one in node.body for part in walk(one) if isinstance(part, ast.Name)]
    assigned = [part.id for part in changed if isinstance(part.ctx, ast.Store)]
    test = node.test
    tests = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    for test in tests:
        for counter, value in updates_of(node.body):
            parts = [*walk(test), *walk(value)]
            names = {part.id for part in parts if isinstance(part, ast.Name)}
            counts = assigned.count(counter) == 1 and names & set(assigned) == {counter}
            if counts and all(_is_of_host(state, part) for part in parts):
                steps = state.unused(f"{index}_steps")
                functions = [function_of([counter], copied(one)) for one in (test, value)]
                found = call(state.il, "counted", [most, name(counter), *functions])
                return name(steps), [located(ast.Assign([name(steps, store=True)], found), node.test)]
    return most, []


def _is_of_host(state: RewriteState, part: ast.AST) -> bool:
    """Return whether a part of an expression means the same in a loop that assigns none of its names."""
    if isinstance(part, ast.Subscript):  # of arrays and lists, which the loop may change
        return isinstance(part.value, ast.Attribute) and part.value.attr == "shape"
    if isinstance(part, ast.Call):
        arrays = [one for one in part.args if isinstance(one, ast.Name) and one.id in state.arrays]
        return state.source.meaning(part.func) is builtins.len and len(arrays) == len(part.args) == 1
    return not isinstance(part, (ast.NamedExpr, ast.Lambda, ast.comprehension))


def _loop(
    state: RewriteState,
    head: ast.expr,
    node: ast.stmt,
    index: str,
    bounds: list[ast.expr],
    early_exit: EarlyExit,
    body: list[ast.stmt],
    test: ast.expr | None = None,
) -> list[ast.stmt]:
    """`with il.loop(...)`, and what comes before and after it.

    With numbers `for part in il.parts(...): with part`, as its first iteration may be recorded apart.
    """
    numbers, kept = early_exit.numbers, early_exit.carried
    before = carried_names.before(state.il, kept, head, numbers, early_exit.in_place)
    before += [_last_value(state, head, node, early_exit, one, test) for one in early_exit.later]
    options: list[ast.keyword] = []
    if early_exit.flag:
        running = call(state.il, "running", [], words(name=index))
        before.append(located(ast.Assign(targets=[name(early_exit.flag, store=True)], value=running), head))
        options = words(running=name(early_exit.flag))
    if numbers:
        places: list[ast.expr] = [name(kept[number]) for number in sorted(numbers)]
        options += words(numbers=ast.List(elts=places, ctx=ast.Load()))
        options += words(test=function_of([], test)) if test is not None else []
    opened = call(state.il, "parts" if numbers else "loop", [ast.Constant(index), *bounds], options)
    opened = ast.copy_location(opened, head)
    at = ast.copy_location(name(index, store=True), node)
    block: ast.stmt = with_node(opened, body, at)
    if numbers:
        part = state.unused(f"{index}_part")
        each = with_node(ast.copy_location(name(part), head), body, at)
        block = ast.For(target=name(part, store=True), iter=opened, body=[each], orelse=[])
        block = located(block, head)
    rest = carried_names.after(kept, head, numbers)
    for one, place in early_exit.later.items():
        read = carried_names.next_readings(state.source.node, node)[one]
        rest += carried_names.after({one: place}, read, early_exit.later)
    return [*before, block, *rest]


def _last_value(
    state: RewriteState,
    head: ast.expr,
    node: ast.stmt,
    early_exit: EarlyExit,
    one: str,
    test: ast.expr | None,
) -> ast.stmt:
    """`t_kept = il.later(name="t")`, with what is true of a loop that assigns it in its first iteration."""
    options = words(name=one)
    if early_exit.flag:
        options += words(ends=True)
        ends = [(part.lineno, part.col_offset) for part in walk(node) if isinstance(part, ast.Break)]
        of_data = any(isinstance(part, ast.Call) for part in walk(test or head))
        if not any(end < early_exit.assigned[one] for end in ends) and (test is None or not of_data):
            options += words(begins=function_of([], copied(test) if test else ast.Constant(True)))
    later = call(state.il, "later", [], options)
    return located(ast.Assign(targets=[name(early_exit.later[one], store=True)], value=later), head)


def _break_where(state: RewriteState, test: ast.expr, *, negated: bool = False) -> ast.stmt:
    """`il.stop(t_runs, test, u=(u_kept, u))`."""
    for part in walk(test):
        if isinstance(part, ast.Name) and part.id in state.of_host:
            raise state.source.error(
                part,
                "CYC104",
                f"a loop ends by `{part.id}`, which `with cy.host()` assigns in a loop",
                "code of the host runs once, while the loop is recorded; count in an array, e.g."
                ' `n = cy.zeros((1,), dtype="int64")` before the loop and `n += 1` in it',
            )
    early_exit = state.exits[-1]
    condition = state.test(test)
    if negated:
        condition = located(call(state.il, "no", [condition]), test)
    at = test.lineno, test.col_offset
    kept = {one: place for one, place in early_exit.later.items() if early_exit.assigned[one] <= at}
    stop = call(state.il, "stop", [name(early_exit.flag), condition], pairs({**early_exit.carried, **kept}))
    return located(ast.Expr(value=located(stop, test)), test)


def _check_no_else(state: RewriteState, node: ast.For | ast.While) -> None:
    if node.orelse:
        raise state.source.error(
            node.orelse[0],
            "CYC101",
            "`else` of a loop is no recurrence",
            "note where the loop breaks that it does, as in `found = True`, and test that after it",
        )


def _range_of(state: RewriteState, node: ast.For) -> tuple[str, list[ast.expr]]:
    """The index and the bounds of a loop over a range."""
    source = state.source
    _check_no_else(state, node)
    assert isinstance(node.iter, ast.Call)
    if node.iter.keywords:
        raise source.error(
            node.iter,
            "CYC102",
            f"`{source.text_of(node.iter)}` has a bound by name",
            "write `range(start, stop, step)`",
        )
    if not isinstance(node.target, ast.Name):
        raise source.error(
            node.target, "CYC102", "the loop has no single index", "write `for i in range(...)`"
        )
    if any(isinstance(bound, ast.Starred) for bound in node.iter.args):
        raise source.error(node.iter, "CYC102", "the bounds are unpacked", "write each bound on its own")
    _check_new_index(state, node.target)
    return node.target.id, node.iter.args


def _check_new_index(state: RewriteState, target: ast.Name) -> None:
    if target.id in state.indices:
        raise state.source.error(
            target,
            "CYC109",
            f"the name `{target.id}` is used for two nested indices",
            "give the inner index another name",
        )


def _local_sums(
    state: RewriteState, node: ast.For, index: str, bounds: list[ast.expr]
) -> list[ast.stmt] | None:
    """`for k in range(...): acc += e` over a local variable is a sum; None for any other loop."""
    body, tests = node.body, []
    while len(body) == 1 and isinstance(body[0], ast.If) and not body[0].orelse:
        tests.append(body[0].test)
        body = body[0].body
    addends = loop_sums(body, state.arrays)
    read = {part.id for one in (*tests, node.iter) for part in walk(one) if isinstance(part, ast.Name)}
    if addends is None or not read.isdisjoint(addends):
        return None
    totals = {}
    for target, statement in addends.items():
        comprehension = ast.comprehension(
            target=name(index, store=True),
            iter=copied(node.iter),
            ifs=[copied(test) for test in tests],
            is_async=0,
        )
        first = state.rewrite(ast.copy_location(name(target), statement.target))
        total = state.expressions().reduction(statement, "sum", statement.value, [comprehension])
        totals[target] = [first, total]
    result: list[ast.stmt] = []
    for target, statement in addends.items():
        beside = [copied(part) for other, both in totals.items() if other != target for part in both]
        named = words(name=target)
        if isinstance(statement.op, ast.Sub):
            named += words(negative=True)
        renews = getattr(statement, "renews", False)
        named += [] if renews is False else words(renews=renews)
        named += words(beside=function_of([], ast.List(beside, ast.Load()))) if beside else []
        value = call(state.il, "added", totals[target], named)
        state.names.store(target, symbolic=True)
        new = ast.Assign(targets=[name(target, store=True)], value=value)
        result.append(located(new, statement))
    return result
