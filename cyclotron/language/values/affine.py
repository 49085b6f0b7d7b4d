"""Indices of loops, affine forms over them, and regions: unions of conjunctions of constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import gcd
from operator import add, mul, sub
from operator import index as as_integer
from typing import Any, NoReturn, SupportsIndex, TypeGuard

import numpy as np

from cyclotron.language.values import dispatch
from cyclotron.language.values.dispatch import Arithmetic, Method, binary, reflected
from cyclotron.language.values.source_span import shape_error, trace_error
from cyclotron.support.dtypes import kind_of
from cyclotron.support.errors import Span


class Index:
    """One index of a loop or reduction; compared by identity, so two loops may share a name."""

    __slots__ = ("name", "span")

    def __init__(self, name: str, span: Span) -> None:
        self.name = name
        self.span = span

    def __repr__(self) -> str:
        return f"Index({self.name!r})"


@dataclass(frozen=True, eq=False)
class Constraint:
    """``form >= 0``, or ``form == 0`` where `equality`, or ``form % modulus == 0`` where that is not 0."""

    form: Affine
    equality: bool = False
    modulus: int = 0

    def substitute(self, values: Mapping[Index, Affine]) -> Constraint:
        """Replace indices by affine forms."""
        return replace(self, form=self.form.substitute(values))

    def outside(self) -> Region:
        """The points where it does not hold."""
        if self.modulus:
            shifted = (self.form.plus(Affine({}, rest)) for rest in range(1, self.modulus))
            return tuple((replace(self, form=form),) for form in shifted)
        below: Region = ((Constraint(self.form.times(-1).plus(Affine({}, -1))),),)
        above: Region = ((Constraint(self.form.plus(Affine({}, -1))),),)
        return below + above if self.equality else below


Region = tuple[tuple[Constraint, ...], ...]
"""Any of (all of constraints). Empty: no point; one empty conjunction: every point."""

LARGEST = 2**62 - 1
"""The end of the core's arithmetic on indices."""
EVERYWHERE: Region = ((),)
NOWHERE: Region = ()


def _comparison(op: str) -> Method:
    return lambda self, other: dispatch.call("compare_form", op, self, other)


class Affine:
    """A constant plus integer multiples of indices: the value of an index inside a kernel.

    Arithmetic keeps the form affine or raises `TraceError`; comparisons give a `Condition`.

    Parameters
    ----------
    terms : mapping of Index to int
        The multiples.
    constant : int
        What is added.
    divisor : int
        What the sum is divided by, in subscripts of cases where that leaves no remainder.
    dtype : str
        That of the numbers of NumPy among its parts, which it has as a number; empty where all are Python's.
    """

    __slots__ = ("constant", "divisor", "dtype", "terms")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, terms: Mapping[Index, int], constant: int, divisor: int = 1, dtype: str = "") -> None:
        self.terms = {index: factor for index, factor in terms.items() if factor}
        self.constant = constant
        self.divisor = divisor
        self.dtype = dtype

    def same(self, other: Affine) -> bool:
        """Return whether both are the same form (``==`` makes a condition)."""
        numbers = self.constant == other.constant and self.divisor == other.divisor
        return numbers and self.terms == other.terms

    def substitute(self, values: Mapping[Index, Affine]) -> Affine:
        """Replace indices by affine forms."""
        result = Affine({}, self.constant)
        for index, factor in self.terms.items():
            result = result.plus(values.get(index, Affine({index: 1}, 0)).times(factor))
        return result.over(self.divisor)

    def plus(self, other: Affine) -> Affine:
        """The sum of both."""
        if self.divisor != other.divisor:
            one, two = self.times(other.divisor), other.times(self.divisor)
            whole = Affine(one.terms, one.constant).plus(Affine(two.terms, two.constant))
            return whole.over(self.divisor * other.divisor)
        terms = dict(self.terms)
        for index, factor in other.terms.items():
            terms[index] = terms.get(index, 0) + factor
        return Affine(terms, self.constant + other.constant, self.divisor, self.dtype or other.dtype)

    def times(self, factor: int) -> Affine:
        """The multiple by an integer."""
        terms = {index: value * factor for index, value in self.terms.items()}
        return Affine(terms, self.constant * factor, self.divisor, self.dtype)

    def beside(self, other: Affine) -> Affine | None:
        """Return this in the dtype that the other's numbers of NumPy give it; None where it has another."""
        if other.dtype in ("", self.dtype):
            return self
        return None if self.dtype else Affine(self.terms, self.constant, self.divisor, other.dtype)

    def over(self, divisor: int) -> Affine:
        """The quotient by an integer, where it is known to leave no remainder."""
        divisor *= self.divisor
        common = gcd(divisor, self.constant, *self.terms.values())
        terms = {index: value // common for index, value in self.terms.items()}
        return Affine(terms, self.constant // common, divisor // common, self.dtype)

    def __str__(self) -> str:
        text = ""
        for index, factor in self.terms.items():
            size = index.name if abs(factor) == 1 else f"{abs(factor)} * {index.name}"
            text += (" - " if factor < 0 else " + ") + size if text else ("-" if factor < 0 else "") + size
        if not text:
            return str(self.constant)
        if self.constant:
            text += f" {'-' if self.constant < 0 else '+'} {abs(self.constant)}"
        return text if self.divisor == 1 else f"({text}) / {self.divisor}"

    def __repr__(self) -> str:
        return f"<affine {self}>"

    def __add__(self, other: object) -> Any:
        form = self._partner(other)
        return self._number("add", self, other) if form is None else self.plus(form)

    def __radd__(self, other: object) -> Any:
        form = self._partner(other)
        return self._number("add", other, self) if form is None else self.plus(form)

    def __sub__(self, other: object) -> Any:
        form = self._partner(other)
        return self._number("subtract", self, other) if form is None else self.plus(form.times(-1))

    def __rsub__(self, other: object) -> Any:
        form = self._partner(other)
        return self._number("subtract", other, self) if form is None else self.times(-1).plus(form)

    def __mul__(self, other: object) -> Any:
        form = self._partner(other)
        if form is not None and not form.terms:
            return self.times(form.constant).beside(form)
        if form is not None and not self.terms:
            return form.times(self.constant).beside(self)
        return self._number("multiply", self, other)

    def __rmul__(self, other: object) -> Any:
        form = self._partner(other)
        if form is not None and not form.terms:
            return self.times(form.constant).beside(form)
        return self._number("multiply", other, self)

    def _partner(self, other: object) -> Affine | None:
        """Return the other as a form; None where it is none, or both have numbers of NumPy, of two dtypes."""
        form = affine(other)
        return form if form is None or self.beside(form) is not None else None

    def __neg__(self) -> Affine:
        return self.times(-1)

    def __pos__(self) -> Affine:
        return self

    __floor__ = __ceil__ = __trunc__ = __pos__

    def __round__(self, digits: int | None = None) -> Affine:
        if digits is not None and digits < 0:
            self.__index__()
        return self

    def __invert__(self) -> Affine:
        return self.times(-1).plus(Affine({}, -1))

    def __abs__(self) -> Any:
        return abs(self.constant) if not self.terms else self._number("absolute", self)

    def _number(self, op: str, *values: object) -> Any:
        """Apply an operator to this and a number that is no form: the result is none either."""
        return dispatch.call("operate_on_forms", op, *values)

    def __mod__(self, modulus: object) -> Any:
        return dispatch.call("remainder_of_form", self, modulus)

    def __floordiv__(self, divisor: object) -> Any:
        return dispatch.call("quotient_of_form", self, divisor)

    def operate(self, op: str, *values: object) -> Any:
        """Apply an operator to values of which this is one, and that makes no form."""
        return self._number(op, *values)

    __truediv__, __rtruediv__ = binary("divide"), reflected("divide")
    __pow__, __rpow__ = binary("power"), reflected("power")
    __rfloordiv__, __rmod__ = reflected("floor_divide"), reflected("remainder")
    __and__ = __rand__ = binary("bit_and")
    __or__ = __ror__ = binary("bit_or")
    __xor__ = __rxor__ = binary("bit_xor")

    def __lshift__(self, bits: object) -> Any:
        return self * (1 << bits) if _is_shift(bits) else self._number("left_shift", self, bits)

    def __rshift__(self, bits: object) -> Any:
        return self // (1 << bits) if _is_shift(bits) else self._number("right_shift", self, bits)

    __rlshift__, __rrshift__ = reflected("left_shift"), reflected("right_shift")

    def _not_affine(self, other: object) -> NoReturn:
        raise trace_error("CYC103", f"`{self}` is divided with remainder", help="write `//` and `%`")

    __divmod__ = __rdivmod__ = _not_affine

    __eq__, __ne__ = _comparison("equal"), _comparison("not_equal")
    __lt__, __le__ = _comparison("less"), _comparison("less_equal")
    __gt__, __ge__ = _comparison("greater"), _comparison("greater_equal")

    def __index__(self) -> int:
        if not self.terms:
            return self.constant
        raise trace_error(
            "CYC110",
            f"`{self}` is used as a number, but a loop index has no single value: the loop is a domain",
            help="use it in subscripts of arrays, in range(), in conditions, in arithmetic; make a list an"
            " array, or loop over it: `for i, v in enumerate(w)`; run other code in `with cy.host():`",
        )

    __int__ = __index__

    def __float__(self) -> float:
        if not self.terms:
            return float(self.constant)
        raise trace_error(
            "CYC110",
            f"`{self}` is made a floating number, but a loop index has no single value: the loop is a domain",
            help="write `float(i)` in the kernel itself; elsewhere multiply it, e.g. `i * 1.0`",
        )

    def __bool__(self) -> bool:
        return bool(self.__index__())

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise trace_error(
            "CYC110",
            f"index `{self}` is made an array, or subscripts one of the host outside of the kernel's text",
            help="pass the array to the function that the kernel calls, e.g. `helper(w, i)`",
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: object) -> Any:
        operator = _OPERATORS.get(ufunc.__name__)
        if operator is not None and method == "__call__" and not options:
            values = [affine(one) if _is_integer_of_numpy(one) else one for one in inputs]
            if not any(isinstance(value, (np.generic, np.ndarray)) for value in values):
                return operator(*values)
        known = dispatch.call("ufunc", ufunc)
        if known is None or method != "__call__" or options:
            self.__index__()
        assert known is not None
        return known(*inputs)

    def __array_function__(self, *call: Any) -> Any:
        return dispatch.call("element", self).__array_function__(*call)


_OPERATORS = {"add": add, "subtract": sub, "multiply": mul}  # of which NumPy's numbers keep forms affine


def intersection(left: Region, right: Region) -> Region:
    """The points in both regions."""
    return tuple(a + b for a in left for b in right)


def affine(value: object) -> Affine | None:
    """Return an affine form for an integer or affine form, else None.

    Raises
    ------
    ShapeError
        CYC120 for an integer beyond those of indices.
    """
    if isinstance(value, Affine):
        return value
    if not _is_integer(value):
        return None
    number = as_integer(value)
    if abs(number) > LARGEST:
        raise shape_error(
            "CYC120",
            f"the whole number {number} stands beside indices, which end at 2^62",
            help="make it smaller, or a floating number, e.g. `float(n)`",
        )
    return Affine({}, number, dtype=value.dtype.name if isinstance(value, (np.generic, np.ndarray)) else "")


def _is_shift(bits: object) -> TypeGuard[int]:
    """Return whether a shift by so many bits makes an affine form of another, or a quotient."""
    return type(bits) is int and 0 <= bits < 62


def _is_integer(value: object) -> TypeGuard[SupportsIndex]:
    """Return whether a value is an integer on the host; its class tells, much faster than the protocol."""
    if isinstance(value, np.ndarray):
        return _is_integer_of_numpy(value)
    return hasattr(type(value), "__index__") and not isinstance(value, Arithmetic)


def _is_integer_of_numpy(value: object) -> bool:
    """Return whether a value is a number of NumPy's integers, or an array without axes that holds one."""
    return isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0 and kind_of(value.dtype) in "iu"
