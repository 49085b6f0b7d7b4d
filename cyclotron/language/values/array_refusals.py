"""Operators and conversions that whole arrays refuse while a kernel is traced, with the reasons."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from cyclotron.language.values.dispatch import SIGNS
from cyclotron.language.values.numpy_functions import method, refused
from cyclotron.language.values.refusals import DATA_HELP
from cyclotron.language.values.source_span import trace_error

_ATTRIBUTES = frozenset({"T", "shape", "dtype", "real", "imag", "ndim", "size"})


def _refuse(operator: str, help: str) -> Callable[..., Any]:
    """A method that says that arrays do not have an operator."""

    def method(self: object, *_: object) -> NoReturn:
        raise trace_error("CYC105", f"{operator} is not known of arrays while a kernel is traced", help=help)

    return method


def refused_in_place(op: str) -> Callable[..., Any]:
    """A method that says that an expression is no array that an operator could change."""
    sign = SIGNS[op]

    def method(self: object, _: object) -> NoReturn:
        raise trace_error(
            "CYC107",
            f"an expression is changed in place by `{sign}=`, and no array holds it yet",
            help=f"write `b = b {sign} c`; or give the expression a name of its own in the kernel, where it"
            " is an array, and change that",
        )

    return method


class ArrayRefusals:
    """The operators and conversions of Python that whole arrays do not have."""

    name: str

    __lshift__ = __rshift__ = __rlshift__ = __rrshift__ = _refuse(
        "a shift of bits", "multiply by a power of two, or divide by one with `//`"
    )
    __divmod__ = __rdivmod__ = _refuse("`divmod`", "write `x // y` and `x % y`")
    __round__ = _refuse("`round`", "write `cy.round(x)`")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        known = method(name)
        if known is not None:
            return functools.partial(known, self)
        raise refused(f"{self.name}.{name}" if self.name.isidentifier() else f".{name}")

    def __setattr__(self, name: str, value: object) -> None:
        if name in _ATTRIBUTES:
            raise trace_error(
                "CYC107",
                f"`.{name}` of an array is assigned",
                help="assign to elements, e.g. `x[...] = y` or `x.T[...] = y`; arrays keep shape and dtype",
            )
        object.__setattr__(self, name, value)

    def __bool__(self) -> bool:
        raise trace_error("CYC104", "a condition depends on the data of an array", help=DATA_HELP)

    def _as_number(self, *_: object, **__: object) -> NoReturn:
        raise trace_error(
            "CYC107",
            "an array is converted to what Python computes with, and it has no values yet",
            help="use the operators of arrays, cy.sum and the like; run other code in `with cy.host():`",
        )

    __float__ = __int__ = __complex__ = __index__ = __array__ = _as_number

    def __iter__(self) -> Iterator[Any]:
        raise trace_error(
            "CYC107",
            "an array is taken apart by iteration",
            help="write `for i in range(len(x)): ...` with x[i], or cy.sum and the like for Python's sum",
        )
