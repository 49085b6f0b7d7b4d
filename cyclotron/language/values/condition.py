"""Conditions on indices, and values of indices that are no affine forms: quotients, bits, extrema and others.

Compared with forms such values are conditions, in subscripts cases, in arithmetic numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from operator import add, and_, eq, ge, gt, le, lt, mul, ne, neg, or_, sub
from typing import Any

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
from cyclotron.language.values.refusals import inverted, refusing
from cyclotron.language.values.region import is_empty, subtract
from cyclotron.language.values.source_span import here, trace_error
from cyclotron.support.errors import TraceError

Case = tuple[Region, Affine]
_MOST_OF_A_MASK = 1 << 16
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

    __slots__ = ("complement", "region")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, region: Region, complement: Region | None = None) -> None:
        self.region = region
        self.complement = (
            complement  # where it does not hold, as far as anybody asks; by default found if asked
        )

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, Condition):
            return self.operate("equal", self, other)
        return (self & other) | (self.negated() & other.negated())

    def __ne__(self, other: object) -> Any:
        if not isinstance(other, Condition):
            return self.operate("not_equal", self, other)
        return (self & other.negated()) | (self.negated() & other)

    def __and__(self, other: object) -> Condition:
        return Condition(intersection(self.region, condition(other).region))

    def __or__(self, other: object) -> Condition:
        return Condition(self.region + condition(other).region)

    def nonzero(self) -> Condition:
        """The condition itself."""
        return self

    def negated(self) -> Condition:
        """The condition that holds where this one does not."""
        return Condition(subtract(EVERYWHERE, self.region) if self.complement is None else self.complement)

    def __invert__(self) -> Condition:
        raise inverted("a condition on indices")

    __rand__ = __and__
    __ror__ = __or__

    __bool__ = refusing(
        "CYC104",
        "a condition on indices has no truth value here: the loop is a domain",
        "use it in `if`, in `a if condition else b`, or in `sum(... if condition)`",
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

    def __rsub__(self, other: object) -> Any:
        if affine(other) is None:
            return super().__rsub__(other)
        return Extremum(not self.largest, tuple(other - form for form in self.forms))

    def _moved(self, by: Callable[[Affine], Affine]) -> Extremum:
        return Extremum(self.largest, tuple(by(form) for form in self.forms))

    def __index__(self) -> int:
        raise trace_error(
            "CYC103",
            f"`{self}` is not affine",
            help="max() and min() of indices can bound a range: `range(max(...), min(...))`",
        )


@dataclass(frozen=True, eq=False)
class Clipped(Extremum):
    """A number of places: from the largest of `firsts`, one of them 0, to before the smallest of `ends`."""

    firsts: tuple[Affine, ...]
    ends: tuple[Affine, ...]

    @classmethod
    def between(cls, firsts: Sequence[Affine], ends: Sequence[Affine]) -> tuple[Affine, Affine | Clipped]:
        """One of the firsts, and the places counted from it: of those that differ by as much alike ones."""

        def counted(base: Affine) -> tuple[list[Affine], list[Affine]]:
            away = base.times(-1)
            return [one.plus(away) for one in firsts], [one.plus(away) for one in ends]

        base = min(firsts, key=lambda first: sorted(map(str, counted(first)[0])))
        firsts, ends = counted(base)
        counts = tuple(end.plus(first.times(-1)) for first in firsts for end in ends)
        return base, counts[0] if len(counts) == 1 else cls(False, counts, tuple(firsts), tuple(ends))

    def backwards(self) -> tuple[list[Affine], list[Affine]]:
        """The firsts and the ends of the places times -1."""
        firsts, ends = (
            [one.times(-1).plus(Affine({}, 1)) for one in forms] for forms in (self.ends, self.firsts)
        )
        return firsts, ends

    def same(self, other: Clipped) -> bool:
        """Return whether both are the same places."""
        return all(
            len(own) == len(others) and all(any(a.same(b) for b in others) for a in own)
            for own, others in ((self.firsts, other.firsts), (self.ends, other.ends))
        )


def _comparison(op: str) -> Method:
    """Return the method of a comparison: with forms a condition, with others of numbers."""
    return lambda self, other: (
        self.compare(op, other)
        if isinstance(other, Piecewise) or affine(other) is not None
        else self.operate(op, self, other)
    )


@dataclass(frozen=True, eq=False)
class Piecewise(OfIndices):
    """A whole number that is an affine form in each of a few cases: compared it is a condition."""

    __hash__ = None  # type: ignore[assignment]

    def cases(self) -> list[Case]:
        """The forms that it is, each with the region of indices where it is that one."""
        raise NotImplementedError

    def number(self) -> Any:
        """The number, as an element."""
        raise NotImplementedError

    def compare(self, op: str, other: object) -> Condition:
        """The condition that a comparison with a form or another such number holds."""
        found = (intersection(r, condition(_COMPARE[op](form, other)).region) for r, form in self.cases())
        return Condition(tuple(part for region in found for part in region))

    def nonzero(self) -> Condition:
        """The condition that it is not 0."""
        return self.compare("not_equal", 0)

    def operate(self, op: str, *values: object) -> Any:
        """Apply an operator to values of which this is one: sums and multiples of such numbers are such."""
        whole = [value for value in values if isinstance(value, Piecewise) or affine(value) is not None]
        factors = [value for value in whole if not isinstance(value, int | np.integer)]
        if len(whole) == len(values) and op in _OF_CASES and (op != "multiply" or len(factors) < 2):
            return Composed(op, tuple(whole))
        divisor = divisor_of(values[-1])
        if len(whole) == len(values) and values[0] is self and divisor is not None:
            divided = self.divided(op, divisor)
            if divided is not None:
                return divided
        return super().operate(op, *values)

    def divided(self, op: str, divisor: int) -> Piecewise | None:
        """The quotient or remainder by a constant, if that is such a number."""
        return None

    __eq__, __ne__ = _comparison("equal"), _comparison("not_equal")
    __lt__, __le__ = _comparison("less"), _comparison("less_equal")
    __gt__, __ge__ = _comparison("greater"), _comparison("greater_equal")


@dataclass(frozen=True, eq=False)
class Residue(Piecewise):
    """``form // unit % divisor``."""

    form: Affine
    divisor: int
    unit: int = 1

    def __str__(self) -> str:
        text = _operand_text(self.form)
        return f"{text} % {self.divisor}" if self.unit == 1 else f"({text} // {self.unit}) % {self.divisor}"

    def number(self) -> Any:
        first = self.form if self.unit == 1 else Quotient(self.form, self.unit)
        return dispatch.apply("remainder", first, self.divisor)

    def _where(self, holds: Callable[[Affine], object]) -> Condition:
        """The condition that the residue is one for which `holds` holds."""
        region: Region = NOWHERE
        for rest in range(self.divisor):
            equal = _residue_region(self.form, self.divisor, self.unit, rest)
            region += intersection(equal, condition(holds(Affine({}, rest))).region)
        return Condition(region)

    def compare(self, op: str, other: object) -> Condition:
        return self._where(lambda rest: _COMPARE[op](rest, other))

    def cases(self) -> list[Case]:
        low, high = dispatch.call("range_of_form", self.form)
        periods = range(low // self.divisor, high // self.divisor + 1)
        if self.unit > 1 or len(periods) > self.divisor:
            return [
                (_residue_region(self.form, self.divisor, self.unit, rest), Affine({}, rest))
                for rest in range(self.divisor)
            ]
        whole = Quotient(self.form, self.divisor)
        return [
            (whole.compare("equal", number).region, self.form.plus(Affine({}, -number * self.divisor)))
            for number in periods
        ]


@dataclass(frozen=True, eq=False)
class Quotient(Piecewise):
    """``form // divisor``."""

    form: Affine
    divisor: int

    def __str__(self) -> str:
        return f"{_operand_text(self.form)} // {self.divisor}"

    def number(self) -> Any:
        return dispatch.apply("floor_divide", self.form, self.divisor)

    def compare(self, op: str, other: object) -> Condition:
        form = affine(other)
        if form is None:
            return super().compare(op, other)
        least, above = (form.plus(Affine({}, more)).times(self.divisor) for more in (0, 1))
        if op in ("less", "less_equal"):
            return condition(self.form < (least if op == "less" else above))
        if op in ("greater", "greater_equal"):
            return condition(self.form >= (above if op == "greater" else least))
        equal: Condition = condition(self.form < above) & (self.form >= least)
        return equal if op == "equal" else equal.negated()

    def cases(self) -> list[Case]:
        low, high = dispatch.call("range_of_form", self.form)
        values = range(low // self.divisor, high // self.divisor + 1)
        if len(values) < self.divisor:
            return [(self.compare("equal", value).region, Affine({}, value)) for value in values]
        return [
            (_residue_region(self.form, self.divisor, 1, rest), form.over(self.divisor))
            for rest in range(self.divisor)
            for form in (self.form.plus(Affine({}, -rest)),)
        ]

    def divided(self, op: str, divisor: int) -> Piecewise | None:
        if op == "floor_divide":
            return Quotient(self.form, self.divisor * divisor)
        return Residue(self.form, divisor, self.divisor) if op == "remainder" else None


@dataclass(frozen=True, eq=False)
class Bits(Piecewise):
    """``form & mask``, ``form & ~mask``, ``form | mask`` or ``form ^ mask``: a bit makes two cases."""

    op: str
    form: Affine
    mask: int

    def __str__(self) -> str:
        return f"{_operand_text(self.form)} {dispatch.SIGNS[self.op]} {self.mask}"

    def number(self) -> Any:
        return dispatch.apply(self.op, self.form, self.mask)

    def cases(self) -> list[Case]:
        clears, takes = self.mask < 0, self.op == "bit_and" and self.mask >= 0
        mask = ~self.mask if clears else self.mask
        found: list[Case] = [(EVERYWHERE, Affine({}, 0) if takes else self.form)]
        for bit in (1 << n for n in range(mask.bit_length()) if mask >> n & 1):
            one = -bit if clears else bit
            steps = {"bit_and": (0, one), "bit_or": (one, 0), "bit_xor": (one, -one)}[self.op]
            found = [
                (intersection(region, _residue_region(self.form, 2, bit, rest)), form.plus(Affine({}, step)))
                for region, form in found
                for rest, step in enumerate(steps)
            ]
        return found


@dataclass(frozen=True, eq=False)
class Composed(Piecewise):
    """A sum, difference, multiple or the negative of such numbers and forms."""

    op: str
    operands: tuple[Any, ...]

    def __str__(self) -> str:
        operands = [f"({one})" if isinstance(one, Composed) else str(one) for one in self.operands]
        return f"-({operands[0]})" if len(operands) == 1 else f" {dispatch.SIGNS[self.op]} ".join(operands)

    def number(self) -> Any:
        return dispatch.apply(self.op, *self.operands)

    def cases(self) -> list[Case]:
        found = []
        for operands in product(*map(cases_of, self.operands)):
            region = reduce(intersection, (where for where, _ in operands))
            if any(not is_empty(part) for part in region):
                found.append((region, _OF_CASES[self.op](*(form for _, form in operands))))
        return found


def cases_of(value: object) -> list[Case]:
    """The forms that a whole number of indices is, each with the region where it is that one."""
    if isinstance(value, Piecewise):
        return value.cases()
    form = affine(value)
    assert form is not None
    return [(EVERYWHERE, form)]


def _residue_region(form: Affine, divisor: int, unit: int, rest: int) -> Region:
    """The points where ``form // unit % divisor`` is a number: residues, or periods where these are fewer."""
    period = divisor * unit
    if unit > 1:
        low, high = dispatch.call("range_of_form", form)
        first = range(low // period * period + rest * unit, high + 1, period)
        if len(first) < unit:
            return tuple(
                (Constraint(form.plus(Affine({}, -start))), Constraint(form.times(-1).plus(Affine({}, end))))
                for start in first
                for end in (start + unit - 1,)
            )
    equal = (form.plus(Affine({}, -rest * unit - least)) for least in range(unit))
    return tuple((Constraint(one, modulus=period),) for one in equal)


def divisor_of(value: object) -> int | None:
    """The positive number of Python's by which an affine form is divided; None where it is none."""
    divisor = affine(value)
    if divisor is None or divisor.terms or divisor.dtype or divisor.constant <= 0:
        return None
    return divisor.constant


def not_affine(value: object) -> TraceError:
    """The error for a number that indices make where subscripts and bounds of ranges are."""
    text = str(value) if isinstance(value, (Piecewise, Extremum)) else getattr(value, "text", "")
    return TraceError(
        f"`{text}` is not affine" if text else "a number that indices make is not affine",
        code="CYC103",
        span=getattr(value, "span", None) or here(),
        help="bounds of ranges are sums of integer multiples of indices, e.g. `2 * i - j + 1`, and so are"
        " subscripts, with quotients, remainders and bits by constants: write an `if` for each case of a"
        " choice",
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
    if isinstance(values[-1], Piecewise):
        return values[-1].operate(op, *values)
    if op in ("bit_and", "bit_or", "bit_xor"):
        forms = [value for value in values if isinstance(value, Affine) and value.terms]
        masks = [form for form in map(affine, values) if form is not None and not form.terms]
        least = -_MOST_OF_A_MASK if op == "bit_and" else 0  # `i & ~2` clears a bit
        if len(forms) == len(masks) == 1 and least <= masks[0].constant < _MOST_OF_A_MASK:
            form = None if wraps_around(forms[0]) else forms[0].beside(masks[0])
            if form is not None:
                return Bits(op, form, masks[0].constant)
    if all(isinstance(value, (Affine, Piecewise, Extremum, float, complex, np.generic)) for value in values):
        return dispatch.apply(op, *values)
    return NotImplemented  # an element has operators of its own


def _operate_on_integers(op: str, *values: object) -> Any:
    if op in ("add", "subtract") and isinstance(values[1], Extremum):
        return values[1].__radd__(values[0]) if op == "add" else values[1].__rsub__(values[0])
    return _operate(op, *(value if form is None else form for value in values for form in (affine(value),)))


def _remainder(form: Affine, modulus: object) -> Any:
    parts = _dividend_and_divisor(form, modulus)
    return _operate_on_integers("remainder", form, modulus) if parts is None else Residue(*parts)


def _quotient(form: Affine, by: object) -> Any:
    parts = _dividend_and_divisor(form, by)
    return _operate_on_integers("floor_divide", form, by) if parts is None else Quotient(*parts)


def _dividend_and_divisor(form: Affine, by: object) -> tuple[Affine, int] | None:
    """Return the form, in the dtype of the division, and a positive divisor; None where there are none."""
    number = affine(by)
    if number is None or number.terms or number.constant <= 0 or wraps_around(form):
        return None
    dividend = form.beside(number)
    return None if dividend is None else (dividend, number.constant)


def wraps_around(form: Affine) -> bool:
    """Return whether a form has numbers of NumPy in a dtype that may not hold it."""
    if not form.dtype:
        return False
    low, high = dispatch.call("range_of_form", form)
    limits = np.iinfo(form.dtype)
    return bool(low < limits.min or high > limits.max)


def _compare_form(op: str, form: Affine, other: object) -> Any:
    """Compare a form with another or a number; of remainders and quotients that is for them to tell."""
    against = _compared(other, _ROUNDED.get(op))
    if against is None or wraps_around(form) or wraps_around(against):
        return NotImplemented if isinstance(other, Piecewise) else _operate_on_integers(op, form, other)
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


_OF_CASES: Mapping[str, Callable[..., Any]] = {"add": add, "subtract": sub, "multiply": mul, "negative": neg}
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
    operate_on_forms=_operate_on_integers,
    remainder_of_form=_remainder,
    quotient_of_form=_quotient,
    compare_form=_compare_form,
)
