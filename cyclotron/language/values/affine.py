"""Indices of loops, affine forms over them, and conditions on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, and_, mul, or_, sub
from operator import index as as_integer
from typing import Any, ClassVar, NoReturn, SupportsIndex, TypeGuard

import numpy as np

from cyclotron.errors import Span, TraceError
from cyclotron.language.expressions.arithmetic import Arithmetic
from cyclotron.language.expressions.position import here
from cyclotron.language.expressions.refusals import inverted


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

EVERYWHERE: Region = ((),)
NOWHERE: Region = ()


class Affine:
    """A constant plus integer multiples of indices: the value of an index inside a kernel.

    Arithmetic keeps the form affine or raises `TraceError`; comparisons give a `Condition`.
    """

    __slots__ = ("constant", "terms")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, terms: Mapping[Index, int], constant: int) -> None:
        self.terms = {index: factor for index, factor in terms.items() if factor}
        self.constant = constant

    def nonzero(self) -> Condition:
        """The condition that it is not 0."""
        return Condition(((Constraint(self, True),),)).negated()

    def same(self, other: Affine) -> bool:
        """Whether both are the same form (``==`` makes a condition)."""
        return self.constant == other.constant and self.terms == other.terms

    def substitute(self, values: Mapping[Index, Affine]) -> Affine:
        """Replace indices by affine forms."""
        result = Affine({}, self.constant)
        for index, factor in self.terms.items():
            result = result.plus(values.get(index, Affine({index: 1}, 0)).times(factor))
        return result

    def plus(self, other: Affine) -> Affine:
        """The sum of both."""
        terms = dict(self.terms)
        for index, factor in other.terms.items():
            terms[index] = terms.get(index, 0) + factor
        return Affine(terms, self.constant + other.constant)

    def times(self, factor: int) -> Affine:
        """The multiple by an integer."""
        return Affine({index: value * factor for index, value in self.terms.items()}, self.constant * factor)

    def __str__(self) -> str:
        text = ""
        for index, factor in self.terms.items():
            size = index.name if abs(factor) == 1 else f"{abs(factor)} * {index.name}"
            text += (" - " if factor < 0 else " + ") + size if text else ("-" if factor < 0 else "") + size
        if not text:
            return str(self.constant)
        if self.constant:
            text += f" {'-' if self.constant < 0 else '+'} {abs(self.constant)}"
        return text

    def __repr__(self) -> str:
        return f"<affine {self}>"

    def __add__(self, other: object) -> Any:
        form = affine(other)
        if isinstance(other, Extremum):
            return other + self
        return self._number("add", self, other) if form is None else self.plus(form)

    def __radd__(self, other: object) -> Any:
        form = affine(other)
        return self._number("add", other, self) if form is None else self.plus(form)

    def __sub__(self, other: object) -> Any:
        form = affine(other)
        return self._number("subtract", self, other) if form is None else self.plus(form.times(-1))

    def __rsub__(self, other: object) -> Any:
        form = affine(other)
        return self._number("subtract", other, self) if form is None else self.times(-1).plus(form)

    def __mul__(self, other: object) -> Any:
        form = affine(other)
        if form is not None and not form.terms:
            return self.times(form.constant)
        if form is not None and not self.terms:
            return form.times(self.constant)
        return self._number("multiply", self, other)

    def __rmul__(self, other: object) -> Any:
        form = affine(other)
        if form is not None and not form.terms:
            return self.times(form.constant)
        return self._number("multiply", other, self)

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
        """What an operator makes of this and of a number that is none of its forms: no form either."""
        for value in values:
            if not isinstance(value, (Affine, Rounded, Extremum, float, complex, np.generic)):
                return NotImplemented  # an element has operators of its own
        from cyclotron.language.expressions.elements import apply

        return apply(op, *values)

    def __mod__(self, modulus: object) -> Any:
        from cyclotron.language.expressions.rounding import Residue, divisor_of

        divisor = divisor_of(modulus)
        return self._by("remainder", self, modulus) if divisor is None else Residue(self, divisor)

    def __floordiv__(self, divisor: object) -> Any:
        from cyclotron.language.expressions.rounding import Quotient, divisor_of

        constant = divisor_of(divisor)
        return self._by("floor_divide", self, divisor) if constant is None else Quotient(self, constant)

    def _by(self, op: str, *values: object) -> Any:
        forms = [value if form is None else form for value in values for form in (affine(value),)]
        return self._number(op, *forms)

    def __truediv__(self, other: object) -> Any:
        return self._by("divide", self, other)

    def __rtruediv__(self, other: object) -> Any:
        return self._by("divide", other, self)

    def __rfloordiv__(self, other: object) -> Any:
        return self._by("floor_divide", other, self)

    def __rmod__(self, other: object) -> Any:
        return self._by("remainder", other, self)

    def __pow__(self, other: object) -> Any:
        return self._by("power", self, other)

    def __rpow__(self, other: object) -> Any:
        return self._by("power", other, self)

    def __and__(self, other: object) -> Any:
        return self._by("bit_and", self, other)

    def __or__(self, other: object) -> Any:
        return self._by("bit_or", self, other)

    def __xor__(self, other: object) -> Any:
        return self._by("bit_xor", self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def _not_affine(self, other: object) -> NoReturn:
        raise TraceError(
            f"`{self}` is shifted by bits or divided with remainder",
            code="CYC103",
            span=here(),
            help="write `i * 2**n`, or `//` and `%`",
        )

    def _compared(self, op: str, other: object) -> Any:
        """A comparison with what is no form: remainders and quotients know more, of others it is a number."""
        return NotImplemented if isinstance(other, Rounded) else self._by(op, self, other)

    __divmod__ = __rdivmod__ = __lshift__ = __rshift__ = __rlshift__ = __rrshift__ = _not_affine

    def __lt__(self, other: object) -> Any:
        form = _compared(other, math.ceil)
        if form is None:
            return self._compared("less", other)
        return _compare(form.plus(self.times(-1)), -1)

    def __le__(self, other: object) -> Any:
        form = _compared(other, math.floor)
        if form is None:
            return self._compared("less_equal", other)
        return _compare(form.plus(self.times(-1)), 0)

    def __gt__(self, other: object) -> Any:
        form = _compared(other, math.floor)
        if form is None:
            return self._compared("greater", other)
        return _compare(self.plus(form.times(-1)), -1)

    def __ge__(self, other: object) -> Any:
        form = _compared(other, math.ceil)
        if form is None:
            return self._compared("greater_equal", other)
        return _compare(self.plus(form.times(-1)), 0)

    def __eq__(self, other: object) -> Any:
        form = _compared(other)
        if form is None:
            return self._compared("equal", other)
        difference = self.plus(form.times(-1))
        if not difference.terms:
            return condition(difference.constant == 0)
        return Condition(((Constraint(difference, True),),))

    def __ne__(self, other: object) -> Any:
        form = _compared(other)
        return self._compared("not_equal", other) if form is None else (self == form).negated()

    def __index__(self) -> int:
        if not self.terms:
            return self.constant
        raise TraceError(
            f"`{self}` is used as a number, but a loop index has no single value: the loop is a domain",
            code="CYC110",
            span=here(),
            help="use it in subscripts, in range(), in conditions and in arithmetic; run other code"
            " in `with cy.host():`",
        )

    __int__ = __index__

    def __float__(self) -> float:
        if not self.terms:
            return float(self.constant)
        raise TraceError(
            f"`{self}` is made a floating number, but a loop index has no single value: the loop is a domain",
            code="CYC110",
            span=here(),
            help="write `float(i)` in the kernel itself; elsewhere multiply it, e.g. `i * 1.0`",
        )

    def __bool__(self) -> bool:
        return bool(self.__index__())

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise TraceError(
            f"index `{self}` is made an array, or subscripts one of the host outside of the kernel's text",
            code="CYC110",
            span=here(),
            help="pass the array to the function that the kernel calls, e.g. `helper(w, i)`",
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: object) -> Any:
        from cyclotron.language.arrays.numpy_functions import ufunc as of_ufunc

        operator = _OPERATORS.get(ufunc.__name__)
        if operator is not None and method == "__call__" and not options:
            values = [as_integer(one) if _is_integer_of_numpy(one) else one for one in inputs]
            if not any(isinstance(one, (np.generic, np.ndarray)) for one in values):
                return operator(*values)
        known = of_ufunc(ufunc)
        if known is None or method != "__call__" or options:
            self.__index__()
        assert known is not None
        return known(*inputs)


class OfIndices(Arithmetic):
    """What conditions, remainders and extrema have in common: in arithmetic they are numbers."""

    def nonzero(self) -> Condition:
        """The condition that it is not 0."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        return bool(self.nonzero())

    def __round__(self, digits: int | None = None) -> Any:
        from cyclotron.language.expressions.elements import element

        return self if digits is None or digits >= 0 else element(self).__round__(digits)

    __floor__ = __ceil__ = __trunc__ = Arithmetic.__pos__

    def operate(self, op: str, *values: object) -> Any:
        """Apply an operator to values of which this is one."""
        from cyclotron.language.expressions.elements import apply

        return apply(op, *values)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: object) -> Any:
        from cyclotron.language.expressions.elements import element

        return element(self).__array_ufunc__(ufunc, method, *inputs, **options)


class Condition(OfIndices):
    """A condition on indices: a union of conjunctions of affine constraints; in arithmetic it is 0 or 1."""

    __slots__ = ("region",)

    def __init__(self, region: Region) -> None:
        self.region = region

    def __and__(self, other: object) -> Condition:
        return Condition(intersection(self.region, condition(other).region))

    def __or__(self, other: object) -> Condition:
        return Condition(self.region + condition(other).region)

    def nonzero(self) -> Condition:
        """The condition itself."""
        return self

    def negated(self) -> Condition:
        """The condition that holds where this one does not."""
        from cyclotron.language.expressions.regions import subtract

        return Condition(subtract(EVERYWHERE, self.region))

    def __invert__(self) -> Condition:
        raise inverted("a condition on indices")

    __rand__ = __and__
    __ror__ = __or__

    def __bool__(self) -> bool:
        raise TraceError(
            "a condition on indices has no truth value here: the loop is a domain",
            code="CYC104",
            span=here(),
            help="use it in `if`, in `a if condition else b`, or in `sum(... if condition)`",
        )


@dataclass(frozen=True, eq=False)
class Rounded:
    """What `%` and `//` by a constant make of an affine form: compared it is a condition, else a number."""

    form: Affine
    divisor: int

    op: ClassVar[str]  # the operator of the registry


@dataclass(frozen=True, eq=False)
class Extremum(OfIndices):
    """The largest or smallest of affine forms: a bound of a range, else a number."""

    largest: bool
    forms: tuple[Affine, ...]

    def __str__(self) -> str:
        return f"{'max' if self.largest else 'min'}({', '.join(map(str, self.forms))})"

    __hash__ = None  # type: ignore[assignment]

    def nonzero(self) -> Condition:
        """The condition that it is not 0."""
        above = [condition(form > 0) for form in self.forms]
        below = [condition(form < 0) for form in self.forms]
        one, each = (above, below) if self.largest else (below, above)
        return reduce(or_, one) | reduce(and_, each)

    def __add__(self, other: object) -> Any:
        return super().__add__(other) if affine(other) is None else self._moved(lambda form: form + other)

    def __radd__(self, other: object) -> Any:
        return super().__radd__(other) if affine(other) is None else self._moved(lambda form: other + form)

    def __sub__(self, other: object) -> Any:
        return super().__sub__(other) if affine(other) is None else self._moved(lambda form: form - other)

    def _moved(self, by: Callable[[Affine], Affine]) -> Extremum:
        return Extremum(self.largest, tuple(by(form) for form in self.forms))

    def __index__(self) -> int:
        raise TraceError(
            f"`{self}` is not affine",
            code="CYC103",
            span=here(),
            help="max() and min() of indices can bound a range: `range(max(...), min(...))`",
        )


_EXACT = 1 << 24  # below which whole numbers are told apart in all floating dtypes
_OPERATORS = {"add": add, "subtract": sub, "multiply": mul}  # of which NumPy's numbers keep forms affine


def condition(value: object) -> Condition:
    """Return a condition as it is, and a host value by its truth."""
    if isinstance(value, Condition):
        return value
    return Condition(EVERYWHERE if value else NOWHERE)


def tested(value: object) -> object:
    """The condition that what indices make is not 0; other values as they are."""
    if isinstance(value, OfIndices) or (isinstance(value, Affine) and value.terms):
        return value.nonzero()
    return value


def intersection(left: Region, right: Region) -> Region:
    """The points in both regions."""
    return tuple(a + b for a in left for b in right)


def affine(value: object) -> Affine | None:
    """Return an affine form for an integer or affine form, else None."""
    if isinstance(value, Affine):
        return value
    return Affine({}, as_integer(value)) if _is_integer(value) else None


def _is_integer(value: object) -> TypeGuard[SupportsIndex]:
    """Whether a value is an integer on the host; its class tells, much faster than the protocol."""
    if isinstance(value, np.ndarray):
        return _is_integer_of_numpy(value)
    return hasattr(type(value), "__index__") and not isinstance(value, (Extremum, Arithmetic))


def _is_integer_of_numpy(value: object) -> bool:
    """Whether a value is a number of NumPy's integers, or an array without axes that holds one."""
    return isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0 and value.dtype.kind in "iu"


def _compared(value: object, rounded: Callable[[float], int] | None = None) -> Affine | None:
    """What an index is compared with, as a form, rounded where that says the same; None for others."""
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value.item()
    if isinstance(value, float) or (isinstance(value, np.floating) and abs(value) < _EXACT):
        number = float(value)
        if number.is_integer():
            return Affine({}, int(number))
        return Affine({}, rounded(number)) if rounded is not None and math.isfinite(number) else None
    return affine(value)


def _compare(difference: Affine, offset: int) -> Condition:
    form = difference.plus(Affine({}, offset))
    return Condition(((Constraint(form),),)) if form.terms else condition(form.constant >= 0)
