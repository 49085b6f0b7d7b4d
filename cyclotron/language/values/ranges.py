"""Ranges of whole numbers that indices make: whether int64, and the dtype that they adopt, hold them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from cyclotron.language.values import dispatch
from cyclotron.language.values.affine import Affine, Index, Region, intersection
from cyclotron.language.values.context import active_recorder
from cyclotron.language.values.region import extent
from cyclotron.language.values.source_span import shape_error
from cyclotron.support.errors import ShapeError

ValueRange = tuple[int, int]
"""The least and the largest value, or a little beyond."""


def range_of_form(form: Affine) -> ValueRange:
    """The range of an affine form of the open loops.

    Raises
    ------
    ShapeError
        As all functions here: CYC120 if int64 does not hold it.
    """
    low = high = form.constant
    region = active_recorder().region()
    for index, factor in form.terms.items():
        ends = extent(region, index) or (0, 0)
        low += factor * ends[factor < 0]
        high += factor * ends[factor > 0]
    return _within_int64(low, high)


def range_of_operator(op: str, given: Sequence[ValueRange | None]) -> ValueRange | None:
    """The range of an operator's results on whole numbers; None where they are none."""
    ranges = [one for one in given if one is not None]
    if len(ranges) < len(given):
        return None
    ends = [end for one in ranges for end in one]
    if op in ("where", "maximum", "minimum", "real"):
        return min(ends), max(ends)
    if op == "power":
        return _range_of_power(*ranges)
    if op == "floor_divide":
        return _range_of_quotient(*ranges)
    if op == "remainder":
        return min(ranges[1][0] + 1, 0), max(ranges[1][1] - 1, 0)  # it has the divisor's sign
    if op.startswith("bit_") and op != "bit_not":
        return _range_of_bits(op, *ranges)
    if op == "absolute":
        return 0, max(map(abs, ends))
    if op not in _EXACT:
        return None
    pairs = [(a,) for a in ranges[0]] if len(ranges) == 1 else [(a, b) for a in ranges[0] for b in ranges[1]]
    results = [_EXACT[op](*pair) for pair in pairs]
    return _within_int64(min(results), max(results))


def range_of_reduction(kind: str, index: Index, region: Region, body: ValueRange | None) -> ValueRange | None:
    """The range of a reduction of whole numbers."""
    if body is None or kind in ("maximum", "minimum"):
        return body
    ends = extent(intersection(active_recorder().region(), region), index)
    count = 0 if ends is None else max(ends[1] - ends[0] + 1, 0)
    if kind == "sum":
        return _within_int64(min(0, count * body[0]), max(0, count * body[1]))
    most = max(map(abs, body))
    power = _range_of_power((-most if body[0] < 0 else 0, most), (0, count))
    return power and (power[0], max(power[1], 1))


def _range_of_quotient(dividend: ValueRange, divisor: ValueRange) -> ValueRange:
    """Of what is divided by negative divisors and by positive ones, each at its ends."""
    parts = (divisor[0], min(divisor[1], -1)), (max(divisor[0], 1), divisor[1])
    divisors = [end for low, high in parts if low <= high for end in (low, high)]
    quotients = [end // by for end in dividend for by in divisors]
    return _within_int64(min(quotients), max(quotients)) if quotients else (0, 0)


def _range_of_bits(op: str, *operands: ValueRange) -> ValueRange:
    bits = max(end.bit_length() for operand in operands for end in operand)
    masks = [high for low, high in operands if low >= 0]
    if op == "bit_and" and masks:
        return 0, min(masks)
    return 0 if len(masks) == len(operands) else -(1 << bits), (1 << bits) - 1


def _range_of_power(base: ValueRange, exponent: ValueRange) -> ValueRange | None:
    if exponent[0] < 0 and exponent[0] == exponent[1]:
        return None
    most = max(abs(end) for end in base)
    if most > 1 and exponent[1] > 63:
        raise _too_large(f"{most}**{exponent[1]}")
    largest = max(most, 1) ** max(exponent[1], 0)
    return _within_int64(-largest if base[0] < 0 else 0, largest)


def _within_int64(low: int, high: int) -> ValueRange:
    limits = np.iinfo(np.int64)
    if limits.min <= low and high <= limits.max:
        return low, high
    raise _too_large(str(low if low < limits.min else high))


def _too_large(reached: str) -> ShapeError:
    return shape_error(
        "CYC120",
        f"a number that indices make reaches {reached}, and int64 ends at {np.iinfo(np.int64).max}",
        help="compute with floating numbers, e.g. `float(n) * i`, or scale it down before",
    )


_EXACT: Mapping[str, Callable[..., int]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "negative": operator.neg,
    "bit_not": operator.invert,
    "left_shift": lambda a, b: a << min(max(b, 0), 64),
    "right_shift": lambda a, b: a >> max(b, 0),
}


dispatch.implement(range_of_form=range_of_form)
