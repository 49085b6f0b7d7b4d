"""Statements of Python that kernels refuse, and operators that elements and arrays refuse while traced."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from cyclotron.language.values.dispatch import SIGNS
from cyclotron.language.values.hints import MEANINGS
from cyclotron.language.values.source_span import trace_error
from cyclotron.support.errors import TraceError

OPERATORS = (
    "+ - * / // % @ ** .T, comparisons, & | ^ ~ << >>, cy.where, cy.maximum, cy.minimum, cy.linalg.*"
    " and the elementwise functions cy.exp, cy.sqrt, cy.abs, ..."
)
HOST_HELP = "put code that Python should run once, while tracing, into `with cy.host():`"
STATEMENTS: Mapping[type[ast.stmt], tuple[str, str]] = {
    ast.Try: ("`try` is no recurrence", HOST_HELP),
    ast.Delete: ("`del` is no recurrence", HOST_HELP),
    ast.Global: ("`global` is no recurrence", "pass the value as an argument"),
    ast.Nonlocal: ("`nonlocal` is no recurrence", "pass the value as an argument"),
    ast.FunctionDef: (
        "a nested function has other statements than assignments of names, `if` and `return`",
        "define it outside the kernel and call it",
    ),
    ast.ClassDef: ("a class is no recurrence", HOST_HELP),
    ast.AsyncFor: ("`async for` is no recurrence", "write `for i in range(...)`"),
    ast.AsyncWith: ("`async with` is no recurrence", HOST_HELP),
    ast.AsyncFunctionDef: ("a nested function is not supported", "define it outside the kernel and call it"),
}


def not_an_operator(what: str, help: str = "") -> TraceError:
    """The error for a function or operator that elements do not have."""
    meaning = MEANINGS.get(what.strip("`").rpartition(".")[2], f"the operators are {OPERATORS}")
    return trace_error("CYC105", f"{what} is no operator on elements", help=help or meaning)


def inverted(what: str) -> TraceError:
    """The error for `~` where Python has a bool, whose inverse is -1 or -2 and holds always."""
    return trace_error(
        "CYC104",
        f"`~` is applied to {what}, and in Python `~True` is -2",
        help="write `not`, or `cy.logical_not` of a value",
    )


def refusing(code: str, message: str, help: str) -> Callable[..., Any]:
    """A method that says that values of a kernel do not have it."""

    def method(self: object, *_: object, **__: object) -> NoReturn:
        raise trace_error(code, message, help=help)

    return method


def refuse_rounding(function: str, help: str) -> Callable[..., Any]:
    """A method that says that a function of Python makes no whole number of an element."""
    what = f"{function} is applied to a number that is known only when the program runs"
    return refusing("CYC105", what, help)


DATA_HELP = (
    "data are known only when the program runs: write the condition in an `if`, `while` or `a if condition"
    " else b` of the kernel itself; elsewhere combine conditions with & | ~, and choose with"
    " cy.where(condition, a, b)"
)


def refuse_of_arrays(operator: str, help: str) -> Callable[..., Any]:
    """A method that says that arrays do not have an operator."""
    return refusing("CYC105", f"{operator} is not known of arrays while a kernel is traced", help)


def refused_in_place(op: str) -> Callable[..., Any]:
    """A method that says that an expression is no array that an operator could change."""
    sign = SIGNS[op]
    return refusing(
        "CYC107",
        f"an expression is changed in place by `{sign}=`, and no array holds it yet",
        f"write `b = b {sign} c`; or give the expression a name of its own in the kernel, where it is an"
        " array, and change that",
    )
