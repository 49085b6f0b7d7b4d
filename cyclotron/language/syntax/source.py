"""The text of a kernel: its syntax tree with absolute positions, and what its names mean."""

from __future__ import annotations
import __future__

import ast
import builtins
import functools
import inspect
import linecache
import operator
import os
import time
from collections.abc import Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

from cyclotron.language.syntax.nested_functions import with_lambdas
from cyclotron.language.syntax.reversed_ranges import with_descending_ranges
from cyclotron.language.syntax.trees import walk
from cyclotron.language.values.source_span import line_span, span_of
from cyclotron.support.dtypes import load_added
from cyclotron.support.errors import Span, TraceError

# The features of `from __future__ import ...` that a function may be compiled with.
_FEATURES = functools.reduce(
    operator.or_, (getattr(__future__, one).compiler_flag for one in __future__.all_feature_names)
)

_IMPORTED = time.time()


class _Missing:
    """The meaning of a name that is local or unknown."""


MISSING = _Missing()


class Source:
    """The source of one function.

    Parameters
    ----------
    function : function
        A function made by ``def``, whose text Python can find (a file, or a notebook cell).
    """

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.file = function.__code__.co_filename
        self.first_line = function.__code__.co_firstlineno
        self.free = closure_of(function)
        self._local_names = set(function.__code__.co_varnames) | set(function.__code__.co_cellvars)
        self.node = with_descending_ranges(with_lambdas(self._find()), self.meaning)

    @property
    def text(self) -> str:
        """The lines of the function, with decorators, as written."""
        lines = linecache.getlines(self.file)[self.first_line - 1 : self.node.end_lineno]
        return inspect.cleandoc("\n" + "".join(lines))

    @property
    def owner_name(self) -> str | None:
        """The name that a method gives its object; None of functions."""
        arguments = [*self.node.args.posonlyargs, *self.node.args.args]
        return arguments[0].arg if self.owner and arguments else None

    @property
    def owner(self) -> str:
        """The name of the class in which a function is defined; empty of others."""
        around = self.function.__qualname__.rpartition(".")[0].rpartition(".")[2]
        return "" if around == "<locals>" else around

    @functools.cached_property
    def attributes_read(self) -> dict[str, Span]:
        """The attributes that a method reads of its object, and where first."""
        found: dict[str, Span] = {}
        for node in walk(self.node) if self.owner_name else ():
            owner = node.value if isinstance(node, ast.Attribute) else None
            if (
                isinstance(node, ast.Attribute)
                and isinstance(owner, ast.Name)
                and owner.id == self.owner_name
            ):
                found.setdefault(node.attr, self.span(node))
        return found

    def span(self, node: ast.AST) -> Span:
        """The place of a node."""
        return span_of(
            self.file,
            getattr(node, "lineno", self.first_line),
            getattr(node, "col_offset", 0),
            getattr(node, "end_lineno", self.first_line),
            getattr(node, "end_col_offset", 0),
        )

    def argument_span(self, name: str) -> Span:
        """The place of a parameter in the signature."""
        arguments = self.node.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if argument.arg == name:
                return self.span(argument)
        return line_span(self.file, self.first_line)

    def text_of(self, node: ast.AST, limit: int = 40) -> str:
        """The text of a node for messages, shortened."""
        text = ast.unparse(node)
        return text if len(text) <= limit else text[: limit - 3] + "..."

    def meaning(self, node: ast.expr) -> object:
        """Return the object that a name or dotted name means outside the function, or MISSING."""
        if isinstance(node, ast.Attribute):
            owner = self.meaning(node.value)
            if not isinstance(owner, (ModuleType, type)):
                return MISSING  # objects may compute their attributes
            return getattr(owner, node.attr, MISSING)
        if not isinstance(node, ast.Name) or node.id in self._local_names:
            return MISSING
        for names in (self.free, self.function.__globals__, vars(builtins)):
            if node.id in names:
                found: object = names[node.id]
                return found
        return MISSING

    def error(self, node: ast.AST, code: str, message: str, help: str, **rest: Any) -> TraceError:
        """A `TraceError` at a node."""
        return TraceError(message, code=code, span=self.span(node), help=help, **rest)

    def too_deep(self, line: int | None) -> TraceError:
        """The error for conditions and loops that stand deeper in each other than Python compiles."""
        return TraceError(
            "conditions and loops stand too deep in each other",
            code="CYC101",
            span=line_span(self.file, line or self.first_line),
            help="each `elif`, and what follows `continue`, stands one deeper: choose values with cy.where,"
            " or split the kernel into several",
        )

    def _find(self) -> ast.FunctionDef:
        """The function's syntax tree: of the text of which Python made it, where the file has it still."""
        if not _is_made_of(self.function.__code__, "".join(linecache.getlines(self.file))):
            linecache.checkcache(self.file)  # the module was edited, and loaded anew
            text = "".join(linecache.getlines(self.file))
            if _is_new(self.file) and not _is_made_of(self.function.__code__, text):
                raise self._changed()
        return self._found()

    def _changed(self, why: str = "") -> TraceError:
        return TraceError(
            f"the source of `{self.function.__name__}` has changed since it was defined{why}",
            code="CYC100",
            span=line_span(self.file, self.first_line),
            help="run the definition again",
        )

    def _found(self) -> ast.FunctionDef:
        lines = linecache.getlines(self.file)
        name = self.function.__name__
        if not lines:
            raise TraceError(
                f"the source of `{name}` cannot be found",
                code="CYC100",
                help="define the kernel in a file or a notebook cell",
            )
        try:
            load_added("".join(lines))
            tree = ast.parse("".join(lines), self.file)
        except SyntaxError as error:
            raise self._changed(f": {error.msg}") from None
        for node in walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                if first == self.first_line:
                    return node
        what = "is a lambda" if name == "<lambda>" else "is not where it was when it was defined"
        raise TraceError(
            f"`{name}` {what}",
            code="CYC100",
            span=line_span(self.file, self.first_line),
            help="write the kernel with `def`, and run its definition again after a change",
        )


def _is_new(file: str) -> bool:
    """Return whether a file was written after this module was imported: others may differ by import hooks."""
    try:
        return os.stat(file).st_mtime > _IMPORTED
    except OSError:
        return False


def _is_made_of(code: CodeType, text: str) -> bool:
    """Return whether a file's text has a function with this code; test runners make others of `assert`."""
    try:
        known = _codes(text, code.co_flags & _FEATURES)
    except (SyntaxError, ValueError):
        return False
    return _parts(code) in known


@functools.lru_cache(16)
def _codes(text: str, features: int) -> frozenset[object]:
    """The functions of a file's text, by what tells them apart."""
    pending = [compile(text, "", "exec", flags=features, dont_inherit=True)]
    for code in pending:  # which grows
        pending += [const for const in code.co_consts if isinstance(const, CodeType)]
    return frozenset(map(_parts, pending))


def _parts(code: CodeType) -> object:
    consts = [_parts(const) if isinstance(const, CodeType) else const for const in code.co_consts]
    return code.co_firstlineno, code.co_code, code.co_names, code.co_varnames, repr(consts)


def closure_of(function: FunctionType) -> dict[str, Any]:
    """The values of the variables that a function takes from the functions around it."""
    result = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            result[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return result


def managers(source: Source, node: ast.With) -> list[object]:
    """The functions whose calls a `with` opens; MISSING for those that are no calls."""
    opened = (item.context_expr for item in node.items)
    return [source.meaning(one.func) if isinstance(one, ast.Call) else MISSING for one in opened]


def lookup(table: Mapping[object, str], function: object) -> str | None:
    """The entry of a function in a table; the function may be an object that cannot be hashed."""
    try:
        return table.get(function)
    except TypeError:
        return None
