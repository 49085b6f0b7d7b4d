"""What elements of tensors refuse while a kernel is traced, with the reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from cyclotron.errors import Span, TraceError
from cyclotron.language.position import here

OPERATORS = (
    "+ - * / // % @ ** .T, comparisons, & | ^ ~, cy.where, cy.maximum, cy.minimum, cy.linalg.*"
    " and the elementwise functions cy.exp, cy.sqrt, cy.abs, ..."
)


def not_an_operator(what: str) -> TraceError:
    """The error for a function or operator that elements do not have."""
    return TraceError(
        f"{what} is no operator on elements",
        code="CYC105",
        span=here(),
        help=f"the operators are {OPERATORS}",
    )


def _refuse(operator: str) -> Callable[..., NoReturn]:
    """A method that says that elements do not have an operator."""

    def method(self: object, *_: object) -> NoReturn:
        raise not_an_operator(operator)

    return method


class Refusals:
    """The operators and conversions of Python that elements do not have."""

    span: Span

    def _data_dependent(self, *_: object) -> NoReturn:
        raise TraceError(
            "a condition depends on the data of a tensor",
            code="CYC104",
            span=self.span,
            help="conditions may use indices and sizes only; choose between values with"
            " cy.where(condition, a, b), and combine conditions on data with & | ~",
        )

    __bool__ = _data_dependent
    __divmod__ = _refuse("`divmod`")
    __lshift__ = __rshift__ = _refuse("a shift of bits")

    def __getitem__(self, key: object) -> NoReturn:
        raise TraceError(
            "an element of a tensor is subscripted again",
            code="CYC108",
            span=here(),
            help="give all subscripts at once, e.g. `A[i, k]`; a tile is used as a whole",
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise not_an_operator(f"`.{name}`")

    def __float__(self) -> float:
        raise not_an_operator("a function of Python numbers")

    __int__ = __complex__ = __float__

    def __iter__(self) -> Iterator[Any]:
        raise not_an_operator("iteration")

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise not_an_operator("conversion to an array")
