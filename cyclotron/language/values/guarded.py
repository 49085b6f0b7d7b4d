"""Operators that have no result for some values, where nothing uses the result: on values that suit.

A loop that has ended counts on, `and` makes tests that Python would not make, and `where` computes both of
its branches: what is dropped there may be the factor of a matrix that has none, the root of a negative
number, or a division by the 0 by which a loop ended. Of those that have no result the run would end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cyclotron.language.values import dispatch
from cyclotron.language.values.nodes import (
    Apply,
    Constant,
    Element,
    Reduce,
    rebuild,
    same_value,
    transform,
    walk,
)
from cyclotron.language.values.scalars import explicit_cast
from cyclotron.language.values.source_span import here
from cyclotron.support.dtypes import kind_of


@dataclass(frozen=True)
class Partial:
    """A demand of an operator on one of its operands.

    Attributes
    ----------
    operand : int
        Which operand.
    kinds : str
        NumPy's letters of the dtypes for which it matters.
    unless : str
        A flag with which it does not matter.
    only : str
        A flag with which alone it matters.
    safe_value : int
        A value that is safe for all of them.
    """

    operand: int
    kinds: str
    unless: str = ""
    only: str = ""
    safe_value: int = 1


_PARTIAL: Mapping[str, Partial] = {
    "divide": Partial(1, "fc", only="checked"),
    "log": Partial(0, "f", only="checked"),
    "floor_divide": Partial(1, "iu"),
    "remainder": Partial(1, "iu"),
    "power": Partial(1, "i"),
    "normalize_index": Partial(0, "i", safe_value=0),
    "sqrt": Partial(0, "f"),
    "cholesky": Partial(0, "fc"),
    "lu": Partial(0, "fc"),
    "ldl": Partial(0, "fc"),
    "solve_triangular": Partial(0, "fc", unless="unit_diagonal"),
    "inv_triangular": Partial(0, "fc", unless="unit_diagonal"),
}


def while_running(value: Element, running: Element) -> Element:
    """The same expression, whose partial operators have operands that suit where `running` is false."""
    return _guarded(value, lambda operand, safe_value: _where(running, operand, safe_value))


def guarded_where(test: Element, then: Element, other: Element) -> Element:
    """``where(test, then, other)``, each of which is computed on values that suit where it is not taken.

    What the test takes is computed for any values, and stays as it is.
    """
    if test.blocked or then.blocked or other.blocked:  # tiles have operators of other shapes in them
        return _where(test, then, other)
    known = [part for part in walk(test) if _needs(part) is not None]
    taken = _guarded(then, lambda operand, safe_value: _where(test, operand, safe_value), known)
    left = _guarded(other, lambda operand, safe_value: _where(test, safe_value, operand), known)
    return _where(test, taken, left)


def may_fail(value: Element) -> bool:
    """Return whether some operator of an expression has no result for some values."""
    return any(_needs(part) is not None for part in walk(value))


def _guarded(
    value: Element, choose: Callable[[Element, Element], Element], known: Sequence[Element] = ()
) -> Element:
    """The same expression; `choose` makes of an operand, and a safe value, what an operator takes.

    Operators that are known to be computed anyway stay as they are.
    """
    if not may_fail(value):
        return value

    def guarded(part: Element, operands: list[Element]) -> Element:
        needs = _needs(part)
        if needs is not None and not any(same_value(part, one) for one in known):
            operand = operands[needs.operand]
            safe = explicit_cast(Constant(needs.safe_value, here()), operand.dtype)
            operands[needs.operand] = choose(operand, safe)
        return rebuild(part, operands)

    return transform(value, guarded)


def _needs(part: Element) -> Partial | None:
    """Return a part's demand on an operand of any value; None for parts that always have a result."""
    needs = _PARTIAL.get(part.op) if isinstance(part, Apply) else None
    if needs is None or not isinstance(part, Apply) or needs.unless in part.flags:
        return None
    if needs.only and needs.only not in part.flags:
        return None
    operand = part.operands[needs.operand]
    if isinstance(operand, Constant):
        return None
    if kind_of(operand.dtype) not in needs.kinds or (part.op == "sqrt" and _has_real_root(operand)):
        return None
    return needs


def _has_real_root(value: Element) -> bool:
    """Return whether real numbers are sums of squares, absolute values and the like: not negative."""
    known: dict[int, bool] = {}

    def of(part: Element) -> bool:
        if id(part) not in known:
            known[id(part)] = find(part)
        return known[id(part)]

    def find(part: Element) -> bool:
        if isinstance(part, Constant):
            return isinstance(part.value, (int, float)) and part.value >= 0
        if isinstance(part, Reduce):
            return of(part.body)
        if not isinstance(part, Apply) or kind_of(part.dtype) != "f":
            return False
        if part.op in ("absolute", "sqrt", "exp"):
            return True
        if part.op == "multiply" and same_value(*part.operands):
            return True
        if part.op in ("maximum", "first_maximum"):
            return any(map(of, part.operands))
        if part.op in ("add", "multiply", "minimum", "first_minimum"):
            return all(map(of, part.operands))
        return part.op == "where" and all(map(of, part.operands[1:]))

    return of(value)


def _where(test: Element, then: Element, other: Element) -> Element:
    result: Element = dispatch.apply("where", test, then, other)
    return result
