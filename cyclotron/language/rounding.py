"""`%` and `//` of affine forms by a constant, for conditions: a residue class, or a pair of bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from cyclotron.errors import TraceError
from cyclotron.language.affine import (
    NOWHERE,
    Affine,
    Condition,
    Constraint,
    Region,
    Rounded,
    affine,
    condition,
    intersection,
)
from cyclotron.language.position import here


class Remainder(Rounded):
    """What `Residue` and `Quotient` have in common: the refusal of everything but comparisons."""

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self.nonzero())

    def nonzero(self) -> Condition:
        """The condition that it is not 0."""
        raise NotImplementedError

    def _not_affine(self, *_: object) -> NoReturn:
        raise not_affine(self)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = _not_affine
    __floordiv__ = __mod__ = __truediv__ = __pow__ = _not_affine


class Residue(Remainder):
    """``form % divisor``."""

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

    def __lt__(self, other: object) -> Condition:
        return self.where(lambda rest: rest < other)

    def __le__(self, other: object) -> Condition:
        return self.where(lambda rest: rest <= other)

    def __gt__(self, other: object) -> Condition:
        return self.where(lambda rest: rest > other)

    def __ge__(self, other: object) -> Condition:
        return self.where(lambda rest: rest >= other)

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return self.where(lambda rest: rest == other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return self.where(lambda rest: rest != other)


class Quotient(Remainder):
    """``form // divisor``."""

    def __str__(self) -> str:
        return f"{_operand_text(self.form)} // {self.divisor}"

    def nonzero(self) -> Condition:
        """The condition that it is not 0."""
        return ((self <= 0) & (self >= 0)).negated()

    def _least(self, other: object, more: int) -> Affine:
        """The least form whose quotient is `other` + `more`."""
        value = affine(other)
        if value is None:
            raise not_affine(self)
        return value.plus(Affine({}, more)).times(self.divisor)

    def __lt__(self, other: object) -> Condition:
        return self.form < self._least(other, 0)

    def __le__(self, other: object) -> Condition:
        return self.form < self._least(other, 1)

    def __gt__(self, other: object) -> Condition:
        return self.form >= self._least(other, 1)

    def __ge__(self, other: object) -> Condition:
        return self.form >= self._least(other, 0)

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return (self <= other) & (self >= other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return ((self <= other) & (self >= other)).negated()


def divisor_of(form: Affine, value: object, operator: str) -> int:
    """Check that an affine form is divided by a positive constant, and return that."""
    divisor = affine(value)
    if divisor is not None and not divisor.terms and divisor.constant > 0:
        return divisor.constant
    raise TraceError(
        f"`{form}` is divided by `{value}`, which is no positive constant",
        code="CYC103",
        span=here(),
        help=f"write e.g. `{_operand_text(form)} {operator} 2` in a condition",
    )


def not_affine(value: Rounded) -> TraceError:
    """The error for a use of `%` or `//` that is no comparison."""
    return TraceError(
        f"`{value}` is not affine",
        code="CYC103",
        span=here(),
        help="compare it in a condition, e.g. `if i % 2 == 0`; in subscripts write `2 * k` with a loop over"
        " half as many values",
    )


def _operand_text(form: Affine) -> str:
    text = str(form)
    return text if len(form.terms) == 1 and not form.constant and "*" not in text else f"({text})"
