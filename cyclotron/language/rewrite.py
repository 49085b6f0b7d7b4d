"""From a kernel's syntax tree to the intermediate language: the statements."""

from __future__ import annotations

import ast
import builtins
import copy
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cyclotron.language import arrays
from cyclotron.language.einsum import einsum
from cyclotron.language.expressions import Expressions, call, located, lookup, name
from cyclotron.language.markers import host, ignore
from cyclotron.language.names import Names, assigned_names
from cyclotron.language.source import MISSING, Source
from cyclotron.language.syntax import completed, copied, walk

_DECLARATIONS: Mapping[object, str] = {
    np.einsum: "einsum",
} | {
    function: function.__name__
    for function in (
        einsum,
        arrays.empty,
        arrays.zeros,
        arrays.full,
        arrays.empty_like,
        arrays.zeros_like,
        arrays.full_like,
    )
}
_NUMPY_DECLARATIONS: Mapping[object, str] = {
    getattr(np, name): name
    for name in ("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like")
}
_HOST_HELP = "put code that Python should run once, while tracing, into `with cy.host():`"
_REFUSED: dict[type[ast.stmt], tuple[str, str]] = {
    ast.While: ("`while` is no recurrence", "write `for i in range(...)` with affine bounds"),
    ast.Try: ("`try` is no recurrence", _HOST_HELP),
    ast.Break: ("`break` is no recurrence", "restrict the loop's range, or write `if` on indices"),
    ast.Continue: ("`continue` is no recurrence", "write the rest of the loop under `if` on indices"),
    ast.Delete: ("`del` is no recurrence", _HOST_HELP),
    ast.Global: ("`global` is no recurrence", "pass the value as an argument"),
    ast.Nonlocal: ("`nonlocal` is no recurrence", "pass the value as an argument"),
    ast.FunctionDef: ("a nested function is not supported", "define it outside the kernel and call it"),
    ast.ClassDef: ("a class is no recurrence", _HOST_HELP),
    ast.AsyncFor: ("`async for` is no recurrence", "write `for i in range(...)`"),
    ast.AsyncWith: ("`async with` is no recurrence", _HOST_HELP),
    ast.AsyncFunctionDef: ("a nested function is not supported", "define it outside the kernel and call it"),
}


@dataclass(frozen=True)
class Rewritten:
    """A kernel in the intermediate language.

    Attributes
    ----------
    node : ast.FunctionDef
        The function, with the positions of the user's text.
    il : str
        The name under which the module `il` is used in it.
    form : {"single", "tuple", "dict"}
        How the results are returned.
    results : tuple of str
        The names they are returned under.
    """

    node: ast.FunctionDef
    il: str
    form: str
    results: tuple[str, ...]


def rewrite(source: Source) -> Rewritten:
    """Rewrite a kernel into the intermediate language.

    Parameters
    ----------
    source : Source
        The kernel.

    Returns
    -------
    Rewritten
        Independent of shapes and of argument values.

    Raises
    ------
    TraceError
        If a statement or expression is no recurrence.
    """
    arguments = source.node.args
    extra = arguments.vararg or arguments.kwarg
    if extra is not None:
        raise source.error(
            extra, "CYC116", f"`{extra.arg}` takes any number of arguments", "name each tensor as a parameter"
        )
    return _Statements(source).function()


class _Statements:
    """Rewrites the statements of one kernel, in order."""

    def __init__(self, source: Source) -> None:
        self._source = source
        used: set[str] = set()
        for node in walk(source.node):
            if isinstance(node, ast.Name):
                used.add(node.id)
            elif isinstance(node, ast.arg):
                used.add(node.arg)
        self._il = next(
            n for n in itertools.chain(["il"], (f"il{k}" for k in itertools.count(2))) if n not in used
        )
        self._names = Names(source)
        self._indices: list[str] = []
        self._branches = 0
        self._form: str | None = None
        self._results: tuple[str, ...] = ()
        self._handlers: dict[type[ast.stmt], Callable[..., list[ast.stmt]]] = {
            ast.For: self._for,
            ast.If: self._if,
            ast.With: self._with,
            ast.Assign: self._assign,
            ast.AnnAssign: self._annotated,
            ast.AugAssign: self._augmented,
            ast.Return: self._return,
            ast.Expr: self._expression_statement,
            ast.Assert: self._host_statement,
            ast.Raise: self._host_statement,
            ast.Import: self._host_statement,
            ast.ImportFrom: self._host_statement,
            ast.Pass: lambda node: [node],
        }

    def function(self) -> Rewritten:
        original = self._source.node
        body = self._block(original.body)
        if self._form is None:
            raise self._source.error(
                original.body[-1],
                "CYC114",
                f"`{original.name}` returns nothing",
                "end it with `return X`, where X is a tensor that it computes",
            )
        arguments = copied(original.args)
        arguments.defaults = []
        arguments.kw_defaults = [None] * len(arguments.kwonlyargs)
        for argument in walk(arguments):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        node = copy.copy(original)  # keeps fields that only newer Pythons have
        node.args, node.body, node.decorator_list, node.returns = arguments, body, [], None
        return Rewritten(completed(node), self._il, self._form, self._results)

    def _block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in body:
            for new in self._statement(statement):
                result.append(located(new, statement))
        return result or [ast.copy_location(ast.Pass(), body[0])]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        handler = self._handlers.get(type(node))
        if handler is not None:
            return handler(node)
        message, help = _REFUSED.get(
            type(node), (f"`{type(node).__name__.lower()}` is no recurrence", _HOST_HELP)
        )
        raise self._source.error(_headline(node), "CYC101", message, help)

    def _rewrite(self, node: ast.expr) -> ast.expr:
        return Expressions(self._source, self._il, self._names, self._indices).rewrite(node)

    # Loops and conditions

    def _for(self, node: ast.For) -> list[ast.stmt]:
        index, bounds = self._range_of(node)
        sums = self._local_sums(node, index, bounds)
        if sums is not None:
            return sums
        new_bounds = [self._rewrite(bound) for bound in bounds]
        assigned = assigned_names(node.body)
        self._names.enter_loop(assigned)
        self._names.store(index, symbolic=True)
        self._indices.append(index)
        body = self._block(node.body)
        self._indices.pop()
        self._names.leave_loop(assigned)
        opened = call(self._il, "loop", [ast.Constant(index), *new_bounds])
        return [
            _with(
                ast.copy_location(opened, node.iter), body, ast.copy_location(name(index, store=True), node)
            )
        ]

    def _range_of(self, node: ast.For) -> tuple[str, list[ast.expr]]:
        source = self._source
        if node.orelse:
            raise source.error(
                node.orelse[0], "CYC101", "`else` of a loop is no recurrence", "write it after the loop"
            )
        function = source.meaning(node.iter.func) if isinstance(node.iter, ast.Call) else MISSING
        if not isinstance(node.iter, ast.Call) or function is not builtins.range or node.iter.keywords:
            raise source.error(
                node.iter,
                "CYC102",
                f"the loop runs over `{source.text_of(node.iter)}`, not over a range",
                "write `for i in range(...)` with affine bounds, one loop for each index",
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
        grown: list[tuple[str, ast.AugAssign]] = []
        for statement in body:
            if not isinstance(statement, ast.AugAssign) or not isinstance(statement.target, ast.Name):
                return None
            if not isinstance(statement.op, (ast.Add, ast.Sub)):
                return None
            grown.append((statement.target.id, statement))
        names = {target for target, _ in grown}
        parts = [part for _, statement in grown for part in walk(statement.value)]
        if len(names) != len(grown) or any(isinstance(part, ast.Name) and part.id in names for part in parts):
            return None
        result: list[ast.stmt] = []
        for target, statement in grown:
            comprehension = ast.comprehension(
                target=name(index, store=True),
                iter=copied(node.iter),
                ifs=[copied(test) for test in tests],
                is_async=0,
            )
            rewriter = Expressions(self._source, self._il, self._names, self._indices)
            total = rewriter.reduction(statement, "sum", statement.value, [comprehension])
            first = self._rewrite(ast.copy_location(name(target), statement.target))
            value = ast.BinOp(left=first, op=statement.op, right=total)
            self._names.store(target, symbolic=True)
            new = ast.Assign(targets=[name(target, store=True)], value=value)
            result.append(located(new, statement))
        return result

    def _if(self, node: ast.If) -> list[ast.stmt]:
        if not self._names.is_symbolic(node.test):
            test = self._rewrite(node.test)
            before = self._names
            self._names = before.copy()
            body = self._block(node.body)
            taken, self._names = self._names, before.copy()
            orelse = self._block(node.orelse) if node.orelse else []
            before.merge([taken, self._names])
            self._names = before
            return [ast.If(test=test, body=body, orelse=orelse)]
        test = self._rewrite(node.test)
        self._branches += 1
        before = self._names
        self._names = before.copy()
        opened = ast.copy_location(call(self._il, "where", [test]), node.test)
        result: list[ast.stmt] = [_with(opened, self._block(node.body))]
        if node.orelse:
            self._names = before.copy()
            rest = ast.copy_location(call(self._il, "otherwise", []), node.orelse[0])
            result.append(_with(rest, self._block(node.orelse)))
        self._names = before
        before.leave_branches([node.body, node.orelse])
        self._branches -= 1
        return result

    def _with(self, node: ast.With) -> list[ast.stmt]:
        managers = [
            self._source.meaning(item.context_expr.func)
            if isinstance(item.context_expr, ast.Call)
            else MISSING
            for item in node.items
        ]
        if managers == [ignore]:
            return []
        if managers == [host]:
            for target in assigned_names(node.body):
                self._names.store(target.id, symbolic=bool(self._indices))
            return [copied(node)]
        raise self._source.error(
            node.items[0].context_expr,
            "CYC101",
            f"`with {self._source.text_of(node.items[0].context_expr)}` is no recurrence",
            "use `with cy.host():` for code that Python runs while tracing, `with cy.ignore():` for code that"
            " only the reference runs",
        )

    # Assignments

    def _assign(self, node: ast.Assign) -> list[ast.stmt]:
        symbolic = self._names.is_symbolic(node.value)
        value = self._declaration(node) or self._rewrite(node.value)
        targets = [self._target(target, symbolic) for target in node.targets]
        return [ast.Assign(targets=targets, value=value)]

    def _annotated(self, node: ast.AnnAssign) -> list[ast.stmt]:
        if node.value is None:
            return []
        plain = ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)
        return self._assign(plain)

    def _augmented(self, node: ast.AugAssign) -> list[ast.stmt]:
        symbolic = self._names.is_symbolic(node.value)
        value = self._rewrite(node.value)
        if isinstance(node.target, ast.Name):
            self._names.load(node.target)
            symbolic = symbolic or self._names.is_symbolic(node.target)
        elif isinstance(node.op, (ast.Add, ast.Sub)):
            value = ast.copy_location(call(self._il, "term", [value]), node.value)
        target = self._target(node.target, symbolic)
        assert isinstance(target, (ast.Name, ast.Attribute, ast.Subscript))
        return [ast.AugAssign(target=target, op=node.op, value=value)]

    def _target(self, node: ast.expr, symbolic: bool) -> ast.expr:
        if isinstance(node, ast.Name):
            if node.id in self._indices:
                raise self._source.error(
                    node,
                    "CYC109",
                    f"index `{node.id}` is assigned inside its loop",
                    "use a new name, e.g. `k = i + 1`",
                )
            self._names.store(node.id, symbolic)
            return node
        if isinstance(node, (ast.Tuple, ast.List)):
            elements = [self._target(element, symbolic) for element in node.elts]
            return ast.copy_location(type(node)(elts=elements, ctx=ast.Store()), node)
        if isinstance(node, ast.Starred):
            self._target(node.value, symbolic)
            return node
        return self._rewrite(node)

    def _declaration(self, node: ast.Assign) -> ast.expr | None:
        """`C = cy.empty(...)` gets the name of its tensor."""
        value = node.value
        if not isinstance(value, ast.Call):
            return None
        function = self._source.meaning(value.func)
        declared, numpy = lookup(_DECLARATIONS, function), lookup(_NUMPY_DECLARATIONS, function)
        if numpy is not None:
            raise self._source.error(
                value,
                "CYC115",
                f"`np.{numpy}` makes an array that the compiler cannot see",
                f"use `cy.{'full' if 'ones' in numpy else numpy}`, which means the same",
            )
        if declared is None or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
            return None
        rewritten = self._rewrite(value)
        assert isinstance(rewritten, ast.Call)
        tensor = ast.keyword(arg="name", value=ast.Constant(node.targets[0].id))
        new = call(self._il, declared, rewritten.args, [*rewritten.keywords, tensor])
        return located(new, value)

    # Other statements

    def _return(self, node: ast.Return) -> list[ast.stmt]:
        if self._indices or self._branches:
            raise self._source.error(
                node,
                "CYC101",
                "`return` inside a loop or condition is no recurrence",
                "return the results at the end of the kernel",
            )
        value = node.value
        pairs: list[tuple[str, ast.expr]] = []
        form = "single"
        before: list[ast.stmt] = []
        if isinstance(value, ast.Call) and self._source.meaning(value.func) in (einsum, np.einsum):
            # What is returned has a name.
            plain = ast.Assign(targets=[name("result", store=True)], value=value)
            before = self._assign(located(plain, value))
            value = ast.copy_location(name("result"), value)
        if isinstance(value, ast.Name):
            pairs = [(value.id, value)]
        elif isinstance(value, (ast.Tuple, ast.List)):
            form = "tuple"
            pairs = [(item.id, item) for item in value.elts if isinstance(item, ast.Name)]
            pairs = pairs if len(pairs) == len(value.elts) else []
        elif isinstance(value, ast.Dict):
            form = "dict"
            for key, item in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value.isidentifier():
                    pairs.append((key.value, item))
            pairs = pairs if len(pairs) == len(value.values) else []
        if len({key for key, _ in pairs}) != len(pairs) or not pairs:
            raise self._source.error(
                value or node,
                "CYC114",
                f"`{self._source.text_of(node)}` does not return distinct tensors by name",
                'write `return X`, `return X, Y` or `return {"X": X}` with tensors that the kernel computes',
            )
        if self._form not in (None, form):
            raise self._source.error(
                node, "CYC114", "the kernel returns in two different forms", "return the same form everywhere"
            )
        self._form = form
        self._results = tuple(key for key, _ in pairs)
        keywords = [ast.keyword(arg=key, value=self._rewrite(item)) for key, item in pairs]
        return [*before, ast.Return(value=call(self._il, "outputs", [], keywords))]

    def _expression_statement(self, node: ast.Expr) -> list[ast.stmt]:
        if isinstance(node.value, ast.Constant):
            return []  # a docstring
        return self._host_statement(node)

    def _host_statement(self, node: ast.stmt) -> list[ast.stmt]:
        if self._indices or self._branches:
            raise self._source.error(
                _headline(node),
                "CYC101",
                f"`{self._source.text_of(_headline(node))}` in a loop is no equation",
                "put it into `with cy.ignore():` (only the reference runs it) or `with cy.host():` (it runs"
                " once, while tracing)",
            )
        for child in ast.iter_child_nodes(node):
            for part in walk(child):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                    self._names.load(part)
        return [copied(node)]


def _with(manager: ast.expr, body: list[ast.stmt], target: ast.expr | None = None) -> ast.With:
    return ast.With(items=[ast.withitem(context_expr=manager, optional_vars=target)], body=body)


def _headline(node: ast.stmt) -> ast.AST:
    """What to mark of a statement that may be long."""
    if isinstance(node, ast.While):
        return node.test
    if isinstance(node, ast.Try):
        return node.body[0]
    return node.value if isinstance(node, ast.Expr) else node
