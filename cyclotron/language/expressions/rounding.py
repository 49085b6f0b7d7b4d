"""`%` and `//` of affine forms by a constant, for conditions: a residue class, or a pair of bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cyclotron.errors import TraceError
from cyclotron.language.expressions.affine import (
    NOWHERE,
    Affine,
    Condition,
    Constraint,
    Extremum,
    OfIndices,
    Region,
    Rounded,
    affine,
    condition,
    intersection,
)
from cyclotron.language.expressions.position import here


class Remainder(Rounded, OfIndices):
    """What `Residue` and `Quotient` have in common: compared with indices they are conditions."""

    __hash__ = None  # type: ignore[assignment]


class Residue(Remainder):
    """``form % divisor``."""

    op = "remainder"

    def __str__(self) -> str:
        return f"{_operand_text(self.form)} % {self.divisor}"

    def nonzero(self) -> Condition:
        """The condition that it is not 0."""
        return self.where(lambda rest: rest != 0)

    def where(self, holds: Callable[[Affine], object]) -> Condition:
        """The condition that the residue is one for which `holds` holds."""
        region: Region = NOWHERE
        for rest in range(self.divisor):
            equal = Constraint(self.form.plus(Affine({}, -rest)), modulus=self.divisor)
            region += intersection(((equal,),), condition(holds(Affine({}, rest))).region)
        return Condition(region)

    def __lt__(self, other: object) -> Any:
        if _is_number(other):
            return self.operate("less", self, other)
        return self.where(lambda rest: rest < other)

    def __le__(self, other: object) -> Any:
        if _is_number(other):
            return self.operate("less_equal", self, other)
        return self.where(lambda rest: rest <= other)

    def __gt__(self, other: object) -> Any:
        if _is_number(other):
            return self.operate("greater", self, other)
        return self.where(lambda rest: rest > other)

    def __ge__(self, other: object) -> Any:
        if _is_number(other):
            return self.operate("greater_equal", self, other)
        return self.where(lambda rest: rest >= other)

    def __eq__(self, other: object) -> Any:
        if _is_number(other):
            return self.operate("equal", self, other)
        return self.where(lambda rest: rest == other)

    def __ne__(self, other: object) -> Any:
        if _is_number(other):
            return self.operate("not_equal", self, other)
        return self.where(lambda rest: rest != other)


class Quotient(Remainder):
    """``form // divisor``."""

    op = "floor_divide"

    def __str__(self) -> str:
        return f"{_operand_text(self.form)} // {self.divisor}"

    def nonzero(self) -> Condition:
        """The condition that it is not 0."""
        return condition(self == 0).negated()

    def _least(self, other: object, more: int) -> Affine:
        """The least form whose quotient is `other` + `more`."""
        value = affine(other)
        assert value is not None
        return value.plus(Affine({}, more)).times(self.divisor)

    def __lt__(self, other: object) -> Any:
        if _is_number(other):
            return self.operate("less", self, other)
        return self.form < self._least(other, 0)

    def __le__(self, other: object) -> Any:
        if _is_number(other):
            return self.operate("less_equal", self, other)
        return self.form < self._least(other, 1)

    def __gt__(self, other: object) -> Any:
        if _is_number(other):
            return self.operate("greater", self, other)
        return self.form >= self._least(other, 1)

    def __ge__(self, other: object) -> Any:
        if _is_number(other):
            return self.operate("greater_equal", self, other)
        return self.form >= self._least(other, 0)

    def __eq__(self, other: object) -> Any:
        if _is_number(other):
            return self.operate("equal", self, other)
        return (self <= other) & (self >= other)

    def __ne__(self, other: object) -> Any:
        if _is_number(other):
            return self.operate("not_equal", self, other)
        return ((self <= other) & (self >= other)).negated()


def _is_number(value: object) -> bool:
    """Whether what a remainder or quotient is compared with is no form, so that both are numbers."""
    return affine(value) is None


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
