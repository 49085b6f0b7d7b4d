"""Operators that have no result for some values, where Python would not compute them: on values that suit."""

from __future__ import annotations

from cyclotron.language.elements import Apply, Constant, Element, apply, rebuild
from cyclotron.language.position import here
from cyclotron.language.promotion import typed

_DIVISORS = ("floor_divide", "remainder")
_WHOLE = ("int", "uint", "bool")


def while_running(value: Element, running: Element) -> Element:
    """The same expression, whose integer divisors are 1 where it is not used: where `running` is false.

    A loop that has ended counts on, and what it computes then is dropped; a divisor may be the 0 by which it
    ended. So may one in a test after `b != 0 and`.
    """
    known: dict[int, tuple[Element, Element]] = {}  # with the original, so that its id stays its

    def of(part: Element) -> Element:
        if id(part) not in known:
            known[id(part)] = (part, new(part))
        return known[id(part)][1]

    def new(part: Element) -> Element:
        operands = [of(operand) for operand in part.operands]
        if _divides(part):
            divisor = operands[1]
            assert divisor.dtype is not None
            one = typed(Constant(1, here()), divisor.dtype)
            operands[1] = apply("where", running, divisor, one)
        return rebuild(part, operands)

    return of(value)


def _divides(part: Element) -> bool:
    """Whether a part divides whole numbers by one that may be 0."""
    if not isinstance(part, Apply) or part.op not in _DIVISORS or part.dtype is None:
        return False
    divisor = part.operands[1]
    return not isinstance(divisor, Constant) and divisor.dtype is not None and part.dtype.startswith(_WHOLE)
