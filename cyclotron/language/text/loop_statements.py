"""From a kernel's syntax tree to the intermediate language: loops, and how they end."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Sequence
from dataclasses import dataclass

from cyclotron.language.recording.markers import fuse
from cyclotron.language.text import carried_names
from cyclotron.language.text.additions import additions
from cyclotron.language.text.array_names import ArrayNames
from cyclotron.language.text.drawn import drawing_calls, drawn_once, read_before_assigned
from cyclotron.language.text.expressions import Expressions, call, located, name
from cyclotron.language.text.jumps import is_break, jumps, without_continue
from cyclotron.language.text.names import Names, assigned_names
from cyclotron.language.text.source import MISSING, Source, managers
from cyclotron.language.text.syntax import copied, walk


@dataclass(frozen=True)
class Exit:
    """How an open loop ends early.

    Attributes
    ----------
    flag : str
        The name of its flag in the intermediate language.
    kept : dict of str to str
        For each name that it assigns anew the one of the array that keeps it.
    unrolled : int or None
        Of a loop that Python runs while tracing, under how many conditions on indices it stands.
    loop : ast.For or None
        That loop.
    """

    flag: str
    kept: dict[str, str]
    unrolled: int | None = None
    loop: ast.For | None = None


class LoopStatements:
    """Rewrites the loops of one kernel; `_Statements` in `rewrite.py` does the rest."""

    _source: Source
    _il: str
    _names: Names
    _arrays: ArrayNames
    _indices: list[str]
    _max_steps: int | None
    _exits: list[Exit]  # of the open loops
    _guards: set[str]  # names that no text has, which say whether iterations go on
    _of_host: set[str]  # names that `with cy.host()` assigns in a loop
    _branches: int

    def _block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        raise NotImplementedError

    def _unused(self, base: str) -> str:
        raise NotImplementedError

    def _computed(self, target: ast.expr, value: ast.expr, *, apart: bool = False) -> ast.expr:
        raise NotImplementedError

    def _guard(self) -> str:
        """The name of a variable that says whether an iteration goes on."""
        made = self._unused("goes_on")
        self._guards.add(made)
        return made

    def _is_fused(self, node: ast.With) -> bool:
        """Whether a `with` is one `with cy.fuse():`."""
        return managers(self._source, node) == [fuse]

    def _rewrite(self, node: ast.expr) -> ast.expr:
        return self._expressions().rewrite(node)

    def _test(self, node: ast.expr) -> ast.expr:
        """A test that may be of data."""
        return self._expressions().test(node)

    def _expressions(self) -> Expressions:
        return Expressions(self._source, self._il, self._names, self._indices)

    def _for(self, node: ast.For) -> list[ast.stmt]:
        node = self._apart(without_continue(node, self._guard, self._is_fused))
        function = self._source.meaning(node.iter.func) if isinstance(node.iter, ast.Call) else MISSING
        if function is builtins.range:
            return self._over_range(node)
        self._check_no_else(node)
        if function is builtins.enumerate and self._names.is_symbolic(node.iter):
            raise self._source.error(
                node.iter,
                "CYC102",
                f"the loop counts `{self._source.text_of(node.iter)}`, whose bounds depend on indices",
                "write `for j in range(...)`, and what is counted by its index, e.g. `k = j - start`",
            )
        if isinstance(node.iter, (ast.Tuple, ast.List)) or not self._arrays.may_be_array(node.iter):
            return self._unrolled(node)
        if isinstance(node.target, ast.Name):
            return self._over_array(node, node.target)
        raise self._source.error(
            node.iter,
            "CYC102",
            f"the loop runs over `{self._source.text_of(node.iter)}`, not over a range or an array",
            "write `for i in range(len(x))` with `x[i]` for what it takes of an array, one loop an index",
        )

    def _apart(self, node: ast.For) -> ast.For:
        """The loop with another index, where nothing reads the one that a loop around it has too: `_`."""
        index = node.target
        if not isinstance(index, ast.Name) or index.id not in self._indices:
            return node
        names = [part for part in walk(self._source.node) if isinstance(part, ast.Name)]
        if any(part.id == index.id and isinstance(part.ctx, ast.Load) for part in names):
            return node
        new = copy.copy(node)
        new.target = ast.copy_location(name(self._unused(index.id), store=True), index)
        return new

    def _unrolled(self, node: ast.For) -> list[ast.stmt]:
        """A loop over values of the host, which Python runs while tracing."""
        values = call(self._il, "unrolled", [self._rewrite(node.iter)])
        parts = node.iter.elts if isinstance(node.iter, (ast.Tuple, ast.List)) else []
        for part in walk(node.target):
            if isinstance(part, ast.Name):
                self._check_new_index(part)
                self._names.store(part.id, symbolic=any(map(self._names.is_symbolic, parts)))
                if any(map(self._arrays.may_be_array, parts)):
                    self._arrays.declare(part.id)
        self._exits.append(Exit("", {}, self._branches, node))
        body = self._block(node.body)
        self._exits.pop()
        return [ast.For(target=copied(node.target), iter=located(values, node.iter), body=body, orelse=[])]

    def _over_array(self, node: ast.For, target: ast.Name) -> list[ast.stmt]:
        """`for v in x` as `for v_at in range(x.shape[0])`, where v is x[v_at]."""
        self._check_new_index(target)
        array, index = self._unused(f"{target.id}_of"), self._unused(f"{target.id}_at")
        items = call(self._il, "items", [self._computed(name(array, store=True), node.iter)])
        first = located(ast.Assign(targets=[name(array, store=True)], value=items), node.iter)
        self._arrays.store(array, node.iter)
        rows = ast.Subscript(
            value=ast.Attribute(value=name(array), attr="shape", ctx=ast.Load()),
            slice=ast.Constant(0),
            ctx=ast.Load(),
        )
        item = ast.Subscript(value=name(array), slice=name(index), ctx=ast.Load())
        ranged = copied(node)
        ranged.target = ast.copy_location(name(index, store=True), target)
        ranged.iter = located(ast.Call(func=name("range"), args=[rows], keywords=[]), node.iter)
        summed = _Replaced(target.id, item).visit(copied(self._arrays.with_updates(ranged)))
        # An item that is itself added to is no sum.
        itself = target.id in {part.id for part in assigned_names(node.body)}
        sums = None if itself else self._local_sums(summed, index, [rows])
        if sums is not None:  # nothing else is assigned, so that an item stays what it is
            self._names.leave_loop([target])
            return [first, *sums]
        taken = ast.Assign(targets=[copied(target)], value=item)
        ranged.body.insert(0, located(taken, target))
        return [first, *self._over_range(ranged)]

    def _over_range(self, node: ast.For) -> list[ast.stmt]:
        index, bounds = self._range_of(node)
        node = self._arrays.with_updates(node)
        sums = self._local_sums(node, index, bounds)
        if sums is not None:
            return sums
        new_bounds = [self._rewrite(bound) for bound in bounds]
        ends = any(isinstance(one, ast.Break) for one in jumps(node.body))
        flag = self._unused(f"{index}_runs") if ends else ""
        ending = Exit(flag, self._kept(node, node.body, early=bool(flag)))
        body = self._body(node.body, index, ending)
        return self._loop(node.iter, node, index, new_bounds, ending, body)

    def _while(self, node: ast.While) -> list[ast.stmt]:
        """A loop over as many steps as there may be at most, which ends where the test fails."""
        node = without_continue(node, self._guard, self._is_fused)
        self._check_no_else(node)
        if self._max_steps is None:
            raise self._source.error(
                node.test,
                "CYC101",
                "`while` has no bound on its steps",
                "give the kernel one, e.g. `@cy.kernel(max_steps=1000)`; or write `for t in range(steps):`"
                " and `if ...: break` in it",
            )
        index = self._unused("step")
        node = self._arrays.with_updates(node)
        kept = self._kept(node, [node.test, *node.body], early=True)
        ending = Exit(self._unused(f"{index}_runs"), kept)
        body = self._body(node.body, index, ending, test=node.test)
        steps = ast.Constant(self._max_steps)
        result = self._loop(node.test, node, index, [steps], ending, body)
        arguments = [name(ending.flag), self._test(node.test), copied(steps)]
        return [*result, located(ast.Expr(value=call(self._il, "unfinished", arguments)), node.test)]

    def _kept(self, node: ast.stmt, repeated: Sequence[ast.AST], *, early: bool) -> dict[str, str]:
        """The names that a loop carries, with those of the arrays that keep them.

        A loop that may end early keeps also what those around it carry: only what is kept stands still.
        """
        if early:
            needed = carried_names.names_perhaps_after(self._source.node, node, self._unrolled_loops())
            self._check_read_again(node)
        else:
            needed = carried_names.names_after(self._source.node, node.end_lineno or node.lineno)
        for outer in self._exits if early else ():
            needed |= outer.kept.keys()
        found = carried_names.carried_names(repeated, self._arrays, needed)
        return {one: self._unused(f"{one}_kept") for one in found}

    def _unrolled_loops(self) -> list[ast.stmt]:
        return [one.loop for one in self._exits if one.loop is not None]

    def _check_read_again(self, node: ast.stmt) -> None:
        """Refuse what the next iteration of a loop over values of the host reads, where no array keeps it.

        It would be of an iteration after the end.
        """
        assigned = {part.id for part in assigned_names([node])}
        for part in (
            part for loop in self._unrolled_loops() for part in carried_names.read_again(loop, node)
        ):
            if part.id in assigned and part.id not in self._arrays:
                raise self._source.error(
                    part,
                    "CYC111",
                    f"`{part.id}` is what a loop that may end early assigned in the iteration before",
                    f"give `{part.id}` an array before the loops, e.g. `{part.id} = cy.zeros_like(...)`",
                )

    def _body(
        self, body: list[ast.stmt], index: str, ending: Exit, test: ast.expr | None = None
    ) -> list[ast.stmt]:
        """The body of a loop over an index, which goes on while a test holds."""
        assigned = [one for one in assigned_names(body) if one.id not in ending.kept]
        self._names.enter_loop(assigned)
        self._names.store(index, symbolic=True)
        self._indices.append(index)
        self._exits.append(ending)
        first = [] if test is None else [located(self._stop(test, negated=True), test)]
        result = [*first, *self._block(body), *carried_names.within(self._il, ending.kept, body)]
        self._exits.pop()
        self._indices.pop()
        self._names.leave_loop(assigned)
        return result

    def _loop(
        self,
        head: ast.expr,
        node: ast.stmt,
        index: str,
        bounds: list[ast.expr],
        ending: Exit,
        body: list[ast.stmt],
    ) -> list[ast.stmt]:
        """`with il.loop(...)`, and what comes before and after it."""
        before = carried_names.before(self._il, ending.kept, head)
        words = []
        if ending.flag:
            word = ast.keyword(arg="name", value=ast.Constant(index))
            made = ast.Assign(
                targets=[name(ending.flag, store=True)], value=call(self._il, "running", [], [word])
            )
            before.append(located(made, head))
            words.append(ast.keyword(arg="running", value=name(ending.flag)))
        opened = ast.copy_location(call(self._il, "loop", [ast.Constant(index), *bounds], words), head)
        block = with_(opened, body, ast.copy_location(name(index, store=True), node))
        return [*before, block, *carried_names.after(ending.kept, head)]

    # Ends

    def _break(self, node: ast.Break) -> list[ast.stmt]:
        if self._exits[-1].unrolled is not None:
            if self._branches > self._exits[-1].unrolled:
                raise self._source.error(
                    node,
                    "CYC104",
                    "a loop over values of the host ends by a condition on indices",
                    "Python runs such a loop while tracing, once for all indices; write a loop over a range",
                )
            return [node]
        return [self._stop(ast.copy_location(ast.Constant(True), node))]

    def _ended_by(self, node: ast.If) -> list[ast.stmt] | None:
        """`if test: break`, also with `else`, and `if test: ... else: break`; None for other conditions."""
        if self._exits and self._exits[-1].unrolled is not None:
            return None
        if is_break(node.body):
            stop, rest = self._stop(node.test), node.orelse
        elif is_break(node.orelse):
            stop, rest = self._stop(node.test, negated=True), node.body
        else:
            return None
        return [located(stop, node), *(self._block(rest) if rest else [])]

    def _stop(self, test: ast.expr, *, negated: bool = False) -> ast.stmt:
        """`il.stop(t_runs, test, u=(u_kept, u))`."""
        for part in walk(test):
            if isinstance(part, ast.Name) and part.id in self._of_host:
                raise self._source.error(
                    part,
                    "CYC104",
                    f"a loop ends by `{part.id}`, which `with cy.host()` assigns in a loop",
                    "code of the host runs once, while the loop is recorded; count in an array, e.g."
                    ' `n = cy.zeros((1,), dtype="int64")` before the loop and `n += 1` in it',
                )
        ending = self._exits[-1]
        condition = self._test(test)
        if negated:
            condition = located(call(self._il, "no", [condition]), test)
        words = [
            ast.keyword(arg=one, value=ast.Tuple(elts=[name(kept), name(one)], ctx=ast.Load()))
            for one, kept in ending.kept.items()
        ]
        made = call(self._il, "stop", [name(ending.flag), condition], words)
        return located(ast.Expr(value=located(made, test)), test)

    def _check_host(self, body: Sequence[ast.stmt]) -> None:
        """Refuse code of the host, in a loop, that Python would run otherwise: the loop is recorded once."""
        for one in jumps(body):
            raise self._source.error(
                one,
                "CYC104",
                f"`{ast.unparse(one)}` in `with cy.host()` is about a loop outside it",
                "code of the host runs once, while the loop is recorded; write `if ...: break` in the loop",
            )
        if not self._indices:
            return
        for statement in body:
            for drawn in drawing_calls(self._source, statement):
                where = "`with cy.host()` in a loop runs once, while the loop is recorded"
                raise drawn_once(self._source, drawn, where)
        for part in read_before_assigned(body):
            self._names.load(part)

    def _check_no_else(self, node: ast.For | ast.While) -> None:
        if node.orelse:
            raise self._source.error(
                node.orelse[0], "CYC101", "`else` of a loop is no recurrence", "write it after the loop"
            )

    # Ranges and sums

    def _range_of(self, node: ast.For) -> tuple[str, list[ast.expr]]:
        source = self._source
        self._check_no_else(node)
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
        self._check_new_index(node.target)
        return node.target.id, node.iter.args

    def _check_new_index(self, target: ast.Name) -> None:
        if target.id in self._indices:
            raise self._source.error(
                target,
                "CYC109",
                f"the name `{target.id}` is used for two nested indices",
                "give the inner index another name",
            )

    def _local_sums(self, node: ast.For, index: str, bounds: list[ast.expr]) -> list[ast.stmt] | None:
        """`for k in range(...): acc += e` over a local variable is a sum; None for any other loop."""
        body, tests = node.body, []
        while len(body) == 1 and isinstance(body[0], ast.If) and not body[0].orelse:
            tests.append(body[0].test)
            body = body[0].body
        grown = additions(body, self._arrays)
        if grown is None:
            return None
        result: list[ast.stmt] = []
        for target, statement in grown.items():
            comprehension = ast.comprehension(
                target=name(index, store=True),
                iter=copied(node.iter),
                ifs=[copied(test) for test in tests],
                is_async=0,
            )
            rewriter = Expressions(self._source, self._il, self._names, self._indices)
            total = rewriter.reduction(statement, "sum", statement.value, [comprehension])
            first = self._rewrite(ast.copy_location(name(target), statement.target))
            value: ast.expr = ast.BinOp(left=first, op=statement.op, right=total)
            if self._arrays.may_be_part(target):
                words = [ast.keyword(arg="name", value=ast.Constant(target))]
                if isinstance(statement.op, ast.Sub):
                    words.append(ast.keyword(arg="negative", value=ast.Constant(True)))
                value = call(self._il, "added", [first, total], words)
            self._names.store(target, symbolic=True)
            new = ast.Assign(targets=[name(target, store=True)], value=value)
            result.append(located(new, statement))
        return result


def with_(manager: ast.expr, body: list[ast.stmt], target: ast.expr | None = None) -> ast.With:
    """The node of `with manager as target: body`."""
    return ast.With(items=[ast.withitem(context_expr=manager, optional_vars=target)], body=body)


class _Replaced(ast.NodeTransformer):
    """Puts an expression where a name is read."""

    def __init__(self, identifier: str, value: ast.expr) -> None:
        self._identifier = identifier
        self._value = value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != self._identifier or not isinstance(node.ctx, ast.Load):
            return node
        return located(copied(self._value), node)
