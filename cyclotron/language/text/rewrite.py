"""From a kernel's syntax tree to the intermediate language: the statements."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cyclotron.language.arrays.whole import Whole
from cyclotron.language.expressions.refusals import HOST_HELP, STATEMENTS
from cyclotron.language.functions import creation as arrays
from cyclotron.language.functions.einsum import einsum
from cyclotron.language.recording.markers import fuse, host, ignore
from cyclotron.language.text.annotations import resolved
from cyclotron.language.text.array_names import ArrayNames
from cyclotron.language.text.branch_statements import BranchStatements
from cyclotron.language.text.expressions import Expressions, call, located, lookup, name
from cyclotron.language.text.factories import bare
from cyclotron.language.text.loop_statements import Exit, with_
from cyclotron.language.text.names import Names, assigned_names
from cyclotron.language.text.outside import module_of
from cyclotron.language.text.returns import returned
from cyclotron.language.text.source import MISSING, Source, managers
from cyclotron.language.text.syntax import copied, walk

_DECLARATIONS: Mapping[object, str] = {
    np.einsum: "einsum",
} | {
    function: function.__name__
    for function in (
        einsum,
        arrays.empty,
        arrays.zeros,
        arrays.ones,
        arrays.ones_like,
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
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign)
_NAMED = (ast.Name, ast.Constant, ast.Tuple, ast.List, ast.Dict)  # what is returned as it is


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


def rewrite(source: Source, max_steps: int | None = None) -> Rewritten:
    """Rewrite a kernel into the intermediate language.

    Parameters
    ----------
    source : Source
        The kernel.
    max_steps : int, optional
        The most iterations of a `while`.

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
    return _Statements(source, max_steps).function()


class _Statements(BranchStatements):
    """Rewrites the statements of one kernel, in order."""

    def __init__(self, source: Source, max_steps: int | None) -> None:
        self._source = source
        self._max_steps = max_steps
        self._exits: list[Exit] = []
        self._guards: set[str] = set()
        self._of_host: set[str] = set()
        used: set[str] = set()
        for node in walk(source.node):
            if isinstance(node, ast.Name):
                used.add(node.id)
            elif isinstance(node, ast.arg):
                used.add(node.arg)
        self._used = used
        self._il = self._unused("il")
        self._names = Names(source)
        self._arrays = ArrayNames(source)
        self._indices: list[str] = []
        self._branches = 0
        self._recorded = 0
        self._form: str | None = None
        self._results: tuple[str, ...] = ()
        self._types: dict[str, ast.expr] = {}  # as names are declared, `total: float = ...`
        self._handlers: dict[type[ast.stmt], Callable[..., list[ast.stmt]]] = {
            ast.For: self._for,
            ast.While: self._while,
            ast.Break: self._break,
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
        return Rewritten(bare(original, body), self._il, self._form, self._results)

    def _unused(self, base: str) -> str:
        """A name like this that the kernel does not use, which it does from now on."""
        names = itertools.chain([base], (f"{base}{k}" for k in itertools.count(2)))
        found = next(one for one in names if one not in self._used)
        self._used.add(found)
        return found

    def _block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in body:
            for new in [*self._statement(statement), *self._checks_of_types(statement)]:
                result.append(located(new, statement))
        return result or [ast.copy_location(ast.Pass(), body[0])]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        handler = self._handlers.get(type(node))
        if handler is not None:
            return handler(node)
        message, help = STATEMENTS.get(
            type(node), (f"`{type(node).__name__.lower()}` is no recurrence", HOST_HELP)
        )
        raise self._source.error(_headline(node), "CYC101", message, help)

    def _rewrite(self, node: ast.expr) -> ast.expr:
        return Expressions(self._source, self._il, self._names, self._indices).rewrite(node)

    # Code of the host

    def _with(self, node: ast.With) -> list[ast.stmt]:
        blocks = managers(self._source, node)
        if len(blocks) > 1 and {fuse, host, ignore}.issuperset(blocks):
            raise self._source.error(
                node.items[1].context_expr,
                "CYC101",
                f"one `with` opens {len(blocks)} blocks",
                "write one `with` in the other",
            )
        if blocks == [ignore]:
            return []
        if blocks == [fuse]:
            call_of_user = node.items[0].context_expr
            assert isinstance(call_of_user, ast.Call)
            manager = call(self._il, "fuse", call_of_user.args, call_of_user.keywords)
            return [with_(located(manager, call_of_user), self._block(node.body))]
        if blocks == [host]:
            self._check_host(node.body)
            for target in assigned_names(node.body):
                self._names.store(target.id, symbolic=bool(self._indices))
                if self._indices:
                    self._of_host.add(target.id)
            return [
                *self._unconditional(node, "with cy.host()"),
                _Checked(lambda one: [*self._labels(one), *self._checks_of_types(one)]).visit(copied(node)),
            ]
        raise self._source.error(
            node.items[0].context_expr,
            "CYC101",
            f"`with {self._source.text_of(node.items[0].context_expr)}` is no recurrence",
            "use `with cy.host():` for code that Python runs while tracing, `with cy.ignore():` for code that"
            " only the reference runs, `with cy.fuse():` for statements that are one kernel",
        )

    def _labels(self, statement: ast.stmt) -> list[ast.stmt]:
        """`w = il.array(w, name="w")` where the host assigns what may be an array, so that it has a name."""
        if not isinstance(statement, ast.Assign) or not self._is_made(statement.value):
            return []
        names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
        return [
            ast.Assign([name(one, store=True)], self._new_array(located(name(one), statement), one))
            for one in names
        ]

    # Assignments

    def _assign(self, node: ast.Assign) -> list[ast.stmt]:
        symbolic = self._names.is_symbolic(node.value)
        declared = self._declaration(node)
        value = declared or self._computed(node.targets[0], node.value)
        targets = [self._target(target, symbolic) for target in node.targets]
        for target in node.targets:
            self._note_arrays(target, node.value, declared is not None)
        return [ast.Assign(targets=targets, value=value)]

    def _computed(self, target: ast.expr, value: ast.expr, *, apart: bool = False) -> ast.expr:
        """A value that a name gets; what may be a new array is computed here, under this name.

        Of values that are assigned together, `apart`, slices get such arrays too.
        """
        if (
            isinstance(target, ast.Tuple)
            and isinstance(value, ast.Tuple)
            and len(target.elts) == len(value.elts)
        ):
            values = [self._computed(*pair, apart=True) for pair in zip(target.elts, value.elts, strict=True)]
            return ast.copy_location(ast.Tuple(elts=values, ctx=ast.Load()), value)
        rewritten = self._rewrite(value)
        if isinstance(target, ast.Tuple):
            target = target.elts[0]
        if apart and isinstance(target, ast.Subscript):
            target = target.value
        named = target.id if isinstance(target, ast.Name) else ""
        may_be_array = not self._arrays.is_view(value) and self._arrays.may_be_array(value)
        return (
            self._new_array(rewritten, named)
            if named and (may_be_array or self._is_made(value))
            else rewritten
        )

    def _is_made(self, value: ast.expr) -> bool:
        """Whether a value comes from functions that may make an array of the host."""
        found = [self._source.meaning(part.func) for part in walk(value) if isinstance(part, ast.Call)]
        others = ("cyclotron", "builtins", "math", "cmath")
        return any(one is MISSING or module_of(one).partition(".")[0] not in others for one in found)

    def _new_array(self, value: ast.expr, named: str) -> ast.expr:
        tensor = ast.keyword(arg="name", value=ast.Constant(named))
        return located(call(self._il, "array", [value], [tensor]), value)

    def _note_arrays(self, target: ast.expr, value: ast.expr, declared: bool) -> None:
        """Note which of the names that are assigned may hold arrays."""
        if isinstance(target, ast.Name) and declared:
            self._arrays.declare(target.id)
        elif isinstance(target, ast.Name):
            self._arrays.store(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, ast.Tuple) else [value] * len(target.elts)
            for one, part in zip(target.elts, parts, strict=False):
                self._note_arrays(one, part, declared)

    def _annotated(self, node: ast.AnnAssign) -> list[ast.stmt]:
        if isinstance(node.target, ast.Name) and self._is_known(node.annotation):
            declared = self._types.setdefault(node.target.id, node.annotation)
            if ast.dump(declared) != ast.dump(node.annotation):
                raise self._source.error(
                    node.annotation,
                    "CYC124",
                    f"`{node.target.id}` is declared as `{ast.unparse(node.annotation)}`, and before as"
                    f" `{ast.unparse(declared)}`",
                    "give what has another type a name of its own",
                    notes=[(self._source.span(declared), "it is declared here")],
                )
        if node.value is None:
            return []
        plain = ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)
        return self._assign(plain)

    def _is_known(self, annotation: ast.expr) -> bool:
        """Whether an annotation, which Python does not evaluate, can be where the kernel is recorded."""
        parts = list(walk(annotation))
        names = [part for part in parts if isinstance(part, ast.Name)]
        if not names or any(isinstance(part, (ast.Call, ast.NamedExpr, ast.Lambda)) for part in parts):
            return False
        if any(self._source.meaning(part) is MISSING for part in names):
            return False
        outer = {**self._source.function.__globals__, **self._source.free}
        return resolved(ast.unparse(annotation), outer) is not Any

    def _checks_of_types(self, statement: ast.stmt) -> list[ast.stmt]:
        """`il.typed(total, float, name="total")` for each name with a declared type that is assigned."""
        if not self._types or not isinstance(statement, _ASSIGNMENTS):
            return []
        if isinstance(statement, ast.AnnAssign) and statement.value is None:
            return []
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        stored = [part for target in targets for part in walk(target) if isinstance(part, ast.Name)]
        checks: list[ast.stmt] = []
        for one in dict.fromkeys(part.id for part in stored if isinstance(part.ctx, ast.Store)):
            if one in self._types:
                word = ast.keyword(arg="name", value=ast.Constant(one))
                check = call(self._il, "typed", [name(one), copied(self._types[one])], [word])
                checks.append(ast.Expr(value=check))
        return checks

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
        if isinstance(target, ast.Subscript) and self._arrays.may_be_number(target):
            words = [ast.keyword(arg="name", value=ast.Constant(ast.unparse(target.value)))]
            target.value = call(self._il, "changed", [target.value], words)
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
            self._of_host.discard(node.id)
            return node
        if isinstance(node, (ast.Tuple, ast.List)):
            elements = [self._target(element, symbolic) for element in node.elts]
            return ast.copy_location(type(node)(elts=elements, ctx=ast.Store()), node)
        if isinstance(node, ast.Starred):
            self._target(node.value, symbolic)
            return node
        if isinstance(node, ast.Attribute) and not hasattr(Whole, node.attr):  # arrays refuse their own
            raise self._source.error(
                node,
                "CYC101",
                f"the attribute `{self._source.text_of(node)}` is assigned",
                "a kernel is recorded once and leaves objects alone: return the value, and assign it outside",
            )
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
                f"use `cy.{numpy}`, which means the same",
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
        before: list[ast.stmt] = []
        if isinstance(value, ast.Tuple) and not all(isinstance(item, _NAMED) for item in value.elts):
            value = copied(value)
            for number, item in enumerate(value.elts, 1):
                value.elts[number - 1] = self._named(item, f"result_{number}", before)
        elif value is not None:
            value = self._named(value, "result", before)
        form, pairs = returned(self._source, node, value)
        if self._form not in (None, form):
            raise self._source.error(
                node, "CYC114", "the kernel returns in two different forms", "return the same form everywhere"
            )
        self._form = form
        self._results = tuple(key for key, _ in pairs)
        keywords = [ast.keyword(arg=key, value=self._rewrite(item)) for key, item in pairs]
        return [*before, ast.Return(value=call(self._il, "outputs", [], keywords))]

    def _named(self, value: ast.expr, named: str, before: list[ast.stmt]) -> ast.expr:
        """What is returned, by a name: expressions are assigned to one before."""
        if isinstance(value, _NAMED):
            return value
        plain = ast.Assign(targets=[name(named, store=True)], value=value)
        before += self._assign(located(plain, value))
        return ast.copy_location(name(named), value)

    def _expression_statement(self, node: ast.Expr) -> list[ast.stmt]:
        if isinstance(node.value, ast.Constant):
            return []  # a docstring
        filled = self._filled(node.value)
        if filled is not None:
            return self._assign(filled)
        return self._host_statement(node)

    def _filled(self, node: ast.expr) -> ast.Assign | None:
        """`u.fill(c)` of an array as `u[...] = c`; None for other expressions."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or len(node.args) != 1:
            return None
        array, value = node.func.value, node.args[0]
        if node.func.attr != "fill" or node.keywords or not self._arrays.may_be_array(array):
            return None
        whole = ast.Subscript(value=array, slice=ast.Constant(...), ctx=ast.Store())
        return located(ast.Assign(targets=[located(whole, node)], value=value), node)

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
        return [*self._unconditional(node, ast.unparse(node).splitlines()[0]), copied(node)]

    def _unconditional(self, node: ast.stmt, text: str) -> list[ast.stmt]:
        """`il.unconditional(...)` before code of the host under a condition that may be of data."""
        if not self._recorded:
            return []
        made = call(self._il, "unconditional", [ast.Constant(text)])
        return [located(ast.Expr(value=made), _headline(node))]


class _Checked(ast.NodeTransformer):
    """Puts the checks of declared types behind assignments of the host, which may be conditional."""

    def __init__(self, checks: Callable[[ast.stmt], list[ast.stmt]]) -> None:
        self._checks = checks

    def generic_visit(self, node: ast.AST) -> Any:
        if isinstance(node, _ASSIGNMENTS):
            return [node, *(located(check, node) for check in self._checks(node))]
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return node  # with names of its own
        return super().generic_visit(node)


def _headline(node: ast.stmt) -> ast.AST:
    """What to mark of a statement that may be long."""
    if isinstance(node, ast.Try):
        return node.body[0]
    return node.value if isinstance(node, ast.Expr) else node
