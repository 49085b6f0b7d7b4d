"""Statements of Python that kernels refuse, and operators that elements refuse while a kernel is traced."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from cyclotron.language.values.source_span import trace_error
from cyclotron.support.errors import Span, TraceError

OPERATORS = (
    "+ - * / // % @ ** .T, comparisons, & | ^ ~, cy.where, cy.maximum, cy.minimum, cy.linalg.*"
    " and the elementwise functions cy.exp, cy.sqrt, cy.abs, ..."
)
HOST_HELP = "put code that Python should run once, while tracing, into `with cy.host():`"
STATEMENTS: Mapping[type[ast.stmt], tuple[str, str]] = {
    ast.Try: ("`try` is no recurrence", HOST_HELP),
    ast.Delete: ("`del` is no recurrence", HOST_HELP),
    ast.Global: ("`global` is no recurrence", "pass the value as an argument"),
    ast.Nonlocal: ("`nonlocal` is no recurrence", "pass the value as an argument"),
    ast.FunctionDef: ("a nested function is not supported", "define it outside the kernel and call it"),
    ast.ClassDef: ("a class is no recurrence", HOST_HELP),
    ast.AsyncFor: ("`async for` is no recurrence", "write `for i in range(...)`"),
    ast.AsyncWith: ("`async with` is no recurrence", HOST_HELP),
    ast.AsyncFunctionDef: ("a nested function is not supported", "define it outside the kernel and call it"),
}


def not_an_operator(what: str) -> TraceError:
    """The error for a function or operator that elements do not have."""
    return trace_error("CYC105", f"{what} is no operator on elements", help=f"the operators are {OPERATORS}")


def inverted(what: str) -> TraceError:
    """The error for `~` where Python has a bool, whose inverse is -1 or -2 and holds always."""
    return trace_error(
        "CYC104",
        f"`~` is applied to {what}, and in Python `~True` is -2",
        help="write `not`, or `cy.logical_not` of a value",
    )


def _refuse(operator: str) -> Callable[..., NoReturn]:
    """A method that says that elements do not have an operator."""

    def method(self: object, *_: object) -> NoReturn:
        raise not_an_operator(operator)

    return method


def _refuse_rounding(function: str, help: str) -> Callable[..., NoReturn]:
    """A method that says that a function of Python makes no whole number of an element."""

    def method(self: object, *_: object) -> NoReturn:
        raise trace_error(
            "CYC105", f"{function} is applied to a number that is known only when the program runs", help=help
        )

    return method


DATA_HELP = (
    "data are known only when the program runs: write the condition in an `if`, `while` or `a if condition"
    " else b` of the kernel itself; elsewhere combine conditions with & | ~, and choose with"
    " cy.where(condition, a, b)"
)


class Refusals:
    """The operators and conversions of Python that elements do not have."""

    span: Span

    def _data_dependent(self, *_: object) -> NoReturn:
        raise TraceError(
            "a condition depends on the data of a tensor",
            code="CYC104",
            span=self.span,
            help=DATA_HELP,
        )

    __bool__ = _data_dependent
    __divmod__ = _refuse("`divmod`")
    __lshift__ = __rshift__ = _refuse("a shift of bits")

    def __getitem__(self, key: object) -> NoReturn:
        raise trace_error(
            "CYC108",
            "an element of a tensor is subscripted again",
            help="give all subscripts at once, e.g. `A[i, k]`; a tile is used as a whole",
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise not_an_operator(f"`.{name}`")

    def __float__(self) -> float:
        raise not_an_operator("a function of Python numbers")

    __complex__ = __float__

    __round__ = _refuse_rounding("Python's `round`", "write `cy.round` of it")
    __floor__ = _refuse_rounding("`math.floor`", "write `cy.floor` of it, or divide by `//`")
    __ceil__ = _refuse_rounding("`math.ceil`", "write `cy.ceil` of it, or divide by `//`: `-(-i // 2)`")
    __trunc__ = _refuse_rounding("`math.trunc`", "write `cy.floor` or `cy.ceil` of it, or divide by `//`")

    def __int__(self) -> int:
        raise trace_error(
            "CYC105",
            "a number is made of an element, whose value is known only when the program runs",
            help="sizes, bounds and shapes are those of arguments, or host values that are passed; data are"
            ' converted by `.astype("int64")`',
        )

    def __iter__(self) -> Iterator[Any]:
        raise not_an_operator("iteration")

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise not_an_operator("conversion to an array")
