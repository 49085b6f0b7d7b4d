"""Operators that have no result for some values, where nothing uses the result: on values that suit.

A loop that has ended counts on, `and` makes tests that Python would not make, and `where` computes both of
its branches: what is dropped there may be the root of a negative number, or a division by the 0 by which a
loop ended. NumPy warns of these; here they would end the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from cyclotron.language.expressions.elements import Access, Apply, Constant, Element, Reduce, apply, rebuild
from cyclotron.language.expressions.index_numbers import IndexNumber, IndexValue
from cyclotron.language.expressions.position import here
from cyclotron.language.expressions.promotion import typed


@dataclass(frozen=True)
class Partial:
    """What an operator needs of one of its operands.

    Attributes
    ----------
    operand : int
        Which operand.
    kinds : str
        NumPy's letters of the dtypes for which it matters.
    unless : str
        A flag with which it does not matter.
    suits : int
        A value that suits all of them.
    """

    operand: int
    kinds: str
    unless: str = ""
    suits: int = 1


_PARTIAL: Mapping[str, Partial] = {
    "floor_divide": Partial(1, "i"),
    "remainder": Partial(1, "i"),
    "power": Partial(1, "i"),
    "normalize_index": Partial(0, "i", suits=0),
    "sqrt": Partial(0, "f"),
    "cholesky": Partial(0, "fc"),
    "lu": Partial(0, "fc"),
    "ldl": Partial(0, "fc"),
    "solve_triangular": Partial(0, "fc", unless="unit_diagonal"),
    "inv_triangular": Partial(0, "fc", unless="unit_diagonal"),
}


def while_running(value: Element, running: Element) -> Element:
    """The same expression, whose partial operators have operands that suit where `running` is false."""
    return _guarded(value, lambda operand, suits: apply("where", running, operand, suits))


def chosen(test: Element, then: Element, other: Element) -> Element:
    """``where(test, then, other)``, each of which is computed on values that suit where it is not taken."""
    if test.blocked or then.blocked or other.blocked:
        return apply("where", test, then, other)  # tiles have operators of other shapes in them
    taken = _guarded(then, lambda operand, suits: apply("where", test, operand, suits))
    left = _guarded(other, lambda operand, suits: apply("where", test, suits, operand))
    return apply("where", test, taken, left)


def may_fail(value: Element) -> bool:
    """Whether some operator of an expression has no result for some values."""
    seen: set[int] = set()
    pending = [value]
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if _needs(part) is not None:
            return True
        pending += part.operands
    return False


def _guarded(value: Element, choose: Callable[[Element, Element], Element]) -> Element:
    """The same expression; `choose` makes of an operand, and a value that suits, what an operator takes."""
    if not may_fail(value):
        return value
    known: dict[int, tuple[Element, Element]] = {}  # with the original, so that its id stays its

    def of(part: Element) -> Element:
        if id(part) not in known:
            known[id(part)] = (part, new(part))
        return known[id(part)][1]

    def new(part: Element) -> Element:
        operands = [of(operand) for operand in part.operands]
        needs = _needs(part)
        if needs is not None:
            operand = operands[needs.operand]
            assert operand.dtype is not None
            operands[needs.operand] = choose(operand, typed(Constant(needs.suits, here()), operand.dtype))
        return rebuild(part, operands)

    return of(value)


def _needs(part: Element) -> Partial | None:
    """What a part needs of an operand that may be of any value; None for parts that always have a result."""
    needs = _PARTIAL.get(part.op) if isinstance(part, Apply) else None
    if needs is None or not isinstance(part, Apply) or needs.unless in part.flags:
        return None
    operand = part.operands[needs.operand]
    if isinstance(operand, Constant) or operand.dtype is None:
        return None
    if np.dtype(operand.dtype).kind not in needs.kinds or (part.op == "sqrt" and _has_real_root(operand)):
        return None
    return needs


def _has_real_root(value: Element) -> bool:
    """Whether real numbers are not negative by what they are made of: sums of squares, absolute values."""
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
        if not isinstance(part, Apply) or part.dtype is None or np.dtype(part.dtype).kind != "f":
            return False
        if part.op in ("absolute", "sqrt", "exp"):
            return True
        if part.op == "multiply" and same_value(*part.operands):
            return True
        if part.op == "maximum":
            return any(map(of, part.operands))
        if part.op in ("add", "multiply", "minimum"):
            return all(map(of, part.operands))
        return part.op == "where" and all(map(of, part.operands[1:]))

    return of(value)


def same_value(one: Element, other: Element) -> bool:
    """Whether two expressions are the same by their text."""
    pairs, seen = [(one, other)], set()
    while pairs:
        a, b = pairs.pop()
        if a is b or (id(a), id(b)) in seen:
            continue
        seen.add((id(a), id(b)))
        if isinstance(a, Access) and isinstance(b, Access):
            if a.tensor is not b.tensor or not all(x.same(y) for x, y in zip(a.index, b.index, strict=True)):
                return False
        elif isinstance(a, IndexValue) and isinstance(b, IndexValue):
            if a.dtype != b.dtype or not a.form.same(b.form):
                return False
        elif isinstance(a, Constant) and isinstance(b, Constant):
            if a.value != b.value:
                return False
        elif isinstance(a, IndexNumber) and isinstance(b, IndexNumber):
            pairs.append((a.value, b.value))
        elif isinstance(a, Apply) and isinstance(b, Apply) and (a.op, a.flags) == (b.op, b.flags):
            pairs += zip(a.operands, b.operands, strict=True)
        else:
            return False
    return True
