"""From a kernel's syntax tree to the intermediate language: conditions."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from cyclotron.language.text import carried_names
from cyclotron.language.text.branches import makes_numbers, paired, paired_elements
from cyclotron.language.text.expressions import call, located, name
from cyclotron.language.text.jumps import jumps
from cyclotron.language.text.loop_statements import LoopStatements, with_
from cyclotron.language.text.names import assigned_names
from cyclotron.language.text.syntax import copied


class BranchStatements(LoopStatements):
    """Rewrites the conditions of one kernel; `_Statements` in `rewrite.py` does the rest."""

    _recorded: int  # how many conditions around may be of data

    def _assign(self, node: ast.Assign) -> list[ast.stmt]:
        raise NotImplementedError

    def _if(self, node: ast.If) -> list[ast.stmt]:
        ended = self._ended_by(node)
        if ended is not None:
            return ended
        if self._reads_data(node.test) and not self._ends_python_loop(node):
            return self._recorded_if(node)
        if not self._names.is_symbolic(node.test):
            test = self._rewrite(node.test)
            body, orelse = self._branches_apart(node)
            return [ast.If(test=test, body=body, orelse=orelse)]
        chosen = paired(node, self._arrays)
        if chosen is not None:
            return [new for one in chosen for new in self._assign(one)]
        numbers = makes_numbers(node.test, self._names.is_symbolic)
        if (numbers or self._joined(node) or _left_alone(node)) and not self._ends_python_loop(node):
            return self._recorded_if(node)
        return self._of_indices(node)

    def _reads_data(self, test: ast.expr) -> bool:
        """Whether a test may be of data: of arrays, also those of the host where an index subscripts them."""
        parts = [part.slice for part in ast.walk(test) if isinstance(part, ast.Subscript)]
        return self._arrays.reads_data(test) or any(map(self._names.is_symbolic, parts))

    def _of_indices(self, node: ast.If) -> list[ast.stmt]:
        """`with il.where(test)` and `with il.otherwise()`."""
        test = self._rewrite(node.test)
        self._branches += 1
        before, arrays = self._names, self._arrays.copy()
        self._names = before.copy()
        opened = ast.copy_location(call(self._il, "where", [test]), node.test)
        result: list[ast.stmt] = [with_(opened, self._block(node.body))]
        if node.orelse:
            self._names = before.copy()
            arrays, self._arrays = self._arrays, arrays
            rest = ast.copy_location(call(self._il, "otherwise", []), node.orelse[0])
            result.append(with_(rest, self._block(node.orelse)))
        self._names = before
        self._arrays.merge(arrays)
        before.leave_branches([node.body, node.orelse])
        self._branches -= 1
        return result

    def _branches_apart(self, node: ast.If) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The statements of both branches, each with the names as they are before."""
        before, arrays = self._names, self._arrays.copy()
        self._names = before.copy()
        body = self._block(node.body)
        taken, self._names = self._names, before.copy()
        arrays, self._arrays = self._arrays, arrays
        orelse = self._block(node.orelse) if node.orelse else []
        before.merge([taken, self._names])
        self._names = before
        self._arrays.merge(arrays)
        return body, orelse

    # Conditions that may be of data, which is known while tracing, or that assign names

    def _ends_python_loop(self, node: ast.If) -> bool:
        """Whether a condition ends a loop that Python runs while tracing, or an iteration of it."""
        unrolled = bool(self._exits) and self._exits[-1].unrolled is not None
        return unrolled and any(jumps([*node.body, *node.orelse]))

    def _recorded_if(self, node: ast.If) -> list[ast.stmt]:
        """`branch = il.branches(test, u=lambda: u)`, and after each branch `(u,) = branch.leave(...)`."""
        alike = paired_elements(node)
        if alike is not None:
            return [new for one in alike for new in self._assign(one)]
        test = located(self._test(node.test), node.test)
        branch = self._unused("branch")
        self._recorded += 1
        body, orelse = self._branches_apart(node)
        self._recorded -= 1
        joined = [one for one in self._joined(node) if not self._names.is_stale(one)]
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
            self._arrays.declare_perhaps(one)
        opened = call(self._il, "branches", [test], _values(names))
        result: list[ast.stmt] = [
            ast.Assign(targets=[name(branch, store=True)], value=located(opened, node.test)),
            ast.If(test=_called(branch, "then"), body=[*body, *map(copied, leaving)], orelse=[]),
        ]
        if orelse or leaving:
            result.append(ast.If(test=_called(branch, "otherwise"), body=[*orelse, *leaving], orelse=[]))
        result.append(ast.Expr(value=_called(branch, "end")))
        return [located(one, node.test) for one in result]

    def _joined(self, node: ast.If) -> list[str]:
        """The names that the branches assign and that may be read after them, also by loops around them."""
        assigned = {part.id for part in assigned_names([*node.body, *node.orelse])}
        after = carried_names.names_perhaps_after(self._source.node, node, self._unrolled_loops())
        return sorted(assigned & after.union(self._guards, *(outer.kept for outer in self._exits)))


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
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return [ast.keyword(arg=one, value=ast.Lambda(args=empty, body=name(one))) for one in names]
