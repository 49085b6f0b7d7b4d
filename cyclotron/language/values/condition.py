"""Conditions on indices, and values of indices that are no affine forms: remainders, quotients, extrema.

Compared with forms such values are conditions, in arithmetic numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import Any, ClassVar

import numpy as np

from cyclotron.language.values import dispatch
from cyclotron.language.values.affine import (
    EVERYWHERE,
    LARGEST,
    NOWHERE,
    Affine,
    Constraint,
    Region,
    affine,
    intersection,
)
from cyclotron.language.values.dispatch import Arithmetic, Method
from cyclotron.language.values.refusals import inverted
from cyclotron.language.values.region import subtract
from cyclotron.language.values.source_span import here, trace_error
from cyclotron.support.errors import TraceError

_EXACT = 1 << 24  # below which whole numbers are told apart in all floating dtypes


class OfIndices(Arithmetic):
    """Base of conditions, remainders and extrema: in arithmetic they are numbers."""

    def nonzero(self) -> Condition:
        """The condition that it is not 0."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        return bool(self.nonzero())

    def __round__(self, digits: int | None = None) -> Any:
        return self if digits is None or digits >= 0 else dispatch.call("element", self).__round__(digits)

    __floor__ = __ceil__ = __trunc__ = Arithmetic.__pos__

    def operate(self, op: str, *values: object) -> Any:
        """Apply an operator to values of which this is one."""
        return dispatch.apply(op, *values)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: object) -> Any:
        return dispatch.call("element", self).__array_ufunc__(ufunc, method, *inputs, **options)

    def __array_function__(self, *call: Any) -> Any:
        return dispatch.call("element", self).__array_function__(*call)


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
        return Condition(subtract(EVERYWHERE, self.region))

    def __invert__(self) -> Condition:
        raise inverted("a condition on indices")

    __rand__ = __and__
    __ror__ = __or__

    def __bool__(self) -> bool:
        raise trace_error(
            "CYC104",
            "a condition on indices has no truth value here: the loop is a domain",
            help="use it in `if`, in `a if condition else b`, or in `sum(... if condition)`",
        )


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
        raise trace_error(
            "CYC103",
            f"`{self}` is not affine",
            help="max() and min() of indices can bound a range: `range(max(...), min(...))`",
        )


def _comparison(op: str) -> Method:
    """Return the method of a comparison: with forms a condition, with others of numbers."""
    return lambda self, other: (
        self.operate(op, self, other) if affine(other) is None else self.compare(op, other)
    )


@dataclass(frozen=True, eq=False)
class Rounded(OfIndices):
    """An affine form `%` or `//` a constant: compared it is a condition, else a number."""

    form: Affine
    divisor: int

    op: ClassVar[str]  # the operator of the registry

    __hash__ = None  # type: ignore[assignment]

    def compare(self, op: str, other: object) -> Condition:
        """The condition that a comparison with a form holds."""
        raise NotImplementedError

    __eq__, __ne__ = _comparison("equal"), _comparison("not_equal")
    __lt__, __le__ = _comparison("less"), _comparison("less_equal")
    __gt__, __ge__ = _comparison("greater"), _comparison("greater_equal")


class Residue(Rounded):
    """``form % divisor``."""

    op = "remainder"

    def __str__(self) -> str:
        return f"{_operand_text(self.form)} % {self.divisor}"

    def nonzero(self) -> Condition:
        """The condition that it is not 0."""
        return self._where(lambda rest: rest != 0)

    def _where(self, holds: Callable[[Affine], object]) -> Condition:
        """The condition that the residue is one for which `holds` holds."""
        region: Region = NOWHERE
        for rest in range(self.divisor):
            equal = Constraint(self.form.plus(Affine({}, -rest)), modulus=self.divisor)
            region += intersection(((equal,),), condition(holds(Affine({}, rest))).region)
        return Condition(region)

    def compare(self, op: str, other: object) -> Condition:
        return self._where(lambda rest: _COMPARE[op](rest, other))


class Quotient(Rounded):
    """``form // divisor``."""

    op = "floor_divide"

    def __str__(self) -> str:
        return f"{_operand_text(self.form)} // {self.divisor}"

    def nonzero(self) -> Condition:
        """The condition that it is not 0."""
        return condition(self == 0).negated()

    def compare(self, op: str, other: object) -> Condition:
        form = affine(other)
        assert form is not None
        least, above = (form.plus(Affine({}, more)).times(self.divisor) for more in (0, 1))
        if op in ("less", "less_equal"):
            return condition(self.form < (least if op == "less" else above))
        if op in ("greater", "greater_equal"):
            return condition(self.form >= (above if op == "greater" else least))
        equal: Condition = condition(self.form < above) & (self.form >= least)
        return equal if op == "equal" else equal.negated()


def divisor_of(value: object) -> int | None:
    """The positive constant by which an affine form is divided; None where it is none."""
    divisor = affine(value)
    return divisor.constant if divisor is not None and not divisor.terms and divisor.constant > 0 else None


def not_affine(value: object) -> TraceError:
    """The error for a number that indices make where subscripts and bounds of ranges are."""
    text = str(value) if isinstance(value, (Rounded, Extremum)) else getattr(value, "text", "")
    return TraceError(
        f"`{text}` is not affine" if text else "a number that indices make is not affine",
        code="CYC103",
        span=getattr(value, "span", None) or here(),
        help="subscripts and bounds are sums of integer multiples of indices, e.g. `2 * i - j + 1`: write"
        " loops over both parts instead of `i // 2` and `i % 2`, and an `if` for each case of a choice",
    )


def _operand_text(form: Affine) -> str:
    text = str(form)
    return text if len(form.terms) == 1 and not form.constant and "*" not in text else f"({text})"


def condition(value: object) -> Condition:
    """Return a condition as it is, and a host value by its truth."""
    if isinstance(value, Condition):
        return value
    return Condition(EVERYWHERE if value else NOWHERE)


def tested(value: object) -> object:
    """The condition that what indices make is not 0; other values as they are."""
    if isinstance(value, Affine):
        return nonzero(value) if value.terms else value
    return value.nonzero() if isinstance(value, OfIndices) else value


def nonzero(form: Affine) -> Condition:
    """The condition that a form is not 0."""
    return Condition(((Constraint(form, True),),)).negated()


def _compared(value: object, rounded: Callable[[float], int] | None = None) -> Affine | None:
    """Return what an index is compared with as a form, rounded where that says the same; None for others."""
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value.item()
    if isinstance(value, float) or (isinstance(value, np.floating) and abs(value) < _EXACT):
        number = float(value)
        if not number.is_integer():
            return Affine({}, rounded(number)) if rounded is not None and math.isfinite(number) else None
        value = int(number)
    if isinstance(value, (int, np.integer)):
        value = max(-LARGEST, min(int(value), LARGEST))  # which no index reaches
    return affine(value)


def _compare(difference: Affine, offset: int) -> Condition:
    form = difference.plus(Affine({}, offset))
    return Condition(((Constraint(form),),)) if form.terms else condition(form.constant >= 0)


def _operate(op: str, *values: object) -> Any:
    """An operator on forms and numbers that makes no form."""
    if op == "add" and isinstance(values[0], Affine) and isinstance(values[1], Extremum):
        return values[1] + values[0]
    if all(isinstance(value, (Affine, Rounded, Extremum, float, complex, np.generic)) for value in values):
        return dispatch.apply(op, *values)
    return NotImplemented  # an element has operators of its own


def _operate_on_integers(op: str, *values: object) -> Any:
    return _operate(op, *(value if form is None else form for value in values for form in (affine(value),)))


def _remainder(form: Affine, modulus: object) -> Any:
    divisor = divisor_of(modulus)
    return _operate_on_integers("remainder", form, modulus) if divisor is None else Residue(form, divisor)


def _quotient(form: Affine, by: object) -> Any:
    divisor = divisor_of(by)
    return _operate_on_integers("floor_divide", form, by) if divisor is None else Quotient(form, divisor)


def _compare_form(op: str, form: Affine, other: object) -> Any:
    """Compare a form with another or a number; of remainders and quotients that is for them to tell."""
    against = _compared(other, _ROUNDED.get(op))
    if against is None:
        return NotImplemented if isinstance(other, Rounded) else _operate_on_integers(op, form, other)
    if op in ("less", "less_equal"):
        return _compare(against.plus(form.times(-1)), -1 if op == "less" else 0)
    difference = form.plus(against.times(-1))
    if op in ("greater", "greater_equal"):
        return _compare(difference, -1 if op == "greater" else 0)
    if difference.terms:
        equal = Condition(((Constraint(difference, True),),))
    else:
        equal = condition(difference.constant == 0)
    return equal if op == "equal" else equal.negated()


_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "less": lt,
    "less_equal": le,
    "greater": gt,
    "greater_equal": ge,
    "equal": eq,
    "not_equal": ne,
}
_ROUNDED: dict[str, Callable[[float], int]] = {
    "less": math.ceil,
    "less_equal": math.floor,
    "greater": math.floor,
    "greater_equal": math.ceil,
}
dispatch.implement(
    operate_on_forms=_operate,
    remainder_of_form=_remainder,
    quotient_of_form=_quotient,
    compare_form=_compare_form,
)
