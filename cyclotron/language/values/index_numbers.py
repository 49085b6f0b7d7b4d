"""Indices as numbers: what Python computes with them, and how kernels do."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cyclotron.language.values import dispatch
from cyclotron.language.values.affine import Affine, Constraint, Index, Region, intersection
from cyclotron.language.values.condition import Condition, Extremum, Rounded
from cyclotron.language.values.context import active_recorder
from cyclotron.language.values.dispatch import SIGNS
from cyclotron.language.values.dtypes import checked, numbers_of, own_dtype, with_weak_dtype
from cyclotron.language.values.nodes import (
    Choose,
    Constant,
    Element,
    IndexNumber,
    IndexValue,
    Reduce,
    ValueRange,
    applied,
)
from cyclotron.language.values.operators import OPERATORS
from cyclotron.language.values.promotion import explicit_cast
from cyclotron.language.values.region import extent
from cyclotron.language.values.source_span import here, shape_error
from cyclotron.support.errors import ShapeError, Span


def number(value: Affine | Rounded | Extremum) -> IndexNumber:
    """Return an index, its remainder or quotient, or the largest or least of several as a number."""
    if isinstance(value, Affine):
        return IndexNumber(IndexValue(value, "int64", here()), here(), _reach_of(value), str(value))
    if isinstance(value, Rounded):
        made = _python(value.op, (number(value.form), Constant(value.divisor, here())), here())
    else:
        made = number(value.forms[0])
        for form in value.forms[1:]:
            made = _python("maximum" if value.largest else "minimum", (made, number(form)), here())
    made.text = str(value)
    return made


def truth_number(condition: Condition) -> IndexNumber:
    """Return a condition on indices as a number: 0 or 1 in arithmetic."""
    return IndexNumber(truth_element(condition), here(), None)


def truth_element(condition: Condition) -> Element:
    """Return a condition on indices as a bool of the kernel."""
    true, false = (explicit_cast(Constant(value, here()), "bool") for value in (True, False))
    return Choose(condition, true, false, here())


def computed(op: str, operands: Sequence[Element], span: Span, flags: Sequence[str] = ()) -> Element:
    """An operator on numbers of which indices make some: of Python's a number, of others a value."""
    if op in _PYTHON or op == "where":
        return _python(op, operands, span)
    return _strong(op, operands, span, flags)


def extremum(op: str, *operands: Element) -> Element:
    """Return Python's ``max`` or ``min`` of numbers of which indices make some.

    Raises
    ------
    ShapeError
        CYC120 if one of them is of a type of NumPy's, and another is not.
    """
    types = {own_dtype(one) if one.is_typed else None for one in operands}
    explicit_cast = next(iter(types))
    if len(types) > 1:
        raise _of_several_types(op[:3], operands)
    chosen = _python(op, operands, here())
    if isinstance(chosen.value, Constant):
        return replace(chosen.value, typed=explicit_cast)
    made = IndexNumber(chosen.value, chosen.span, chosen.reach, is_typed=explicit_cast is not None)
    texts = [str(one.value) if isinstance(one, Constant) else one.text for one in operands]
    made.text = f"{op[:3]}({', '.join(texts)})" if all(texts) else ""
    return made


def is_of_indices(op: str, operands: Sequence[Element]) -> bool:
    """Return whether all operands that count are numbers and indices make some of them."""
    entry = OPERATORS.get(op)
    counted = operands[int(entry is not None and entry.typing == "select") :]
    truth = entry is not None and entry.typing == "truth"  # which is one of Python's too
    plain = all(one.dtype is None and (truth or not one.is_typed) for one in counted)
    return plain and any(one.is_index for one in counted)


def reduced(kind: str, index: Index, region: Region, body: Element, span: Span) -> Element:
    """A reduction of numbers that indices make: a number too; of truth values it tells one."""
    made = Reduce(kind, index, region, as_python_scalar(body), span)
    if made.dtype == "bool" and not body.is_typed:
        return made
    return IndexNumber(made, span, _reach_of_reduction(made, body), is_typed=body.is_typed)


def counted(value: Element) -> Element:
    """A number as a sum takes it: truth values are whole numbers."""
    inner = as_python_scalar(value)
    if inner.dtype != "bool":
        return value
    return IndexNumber(_as_integer(inner), value.span, (0, 1), is_typed=value.is_typed)


def of_python(value: Element, dtype: str) -> Element:
    """A number as one of Python's, of the type whose dtype this is: it adopts that of its neighbours."""
    if isinstance(value, Constant):
        return Constant(np.dtype(dtype).type(value.value).item(), value.span)
    return IndexNumber(
        dispatch.call("cast", as_python_scalar(value), dtype), value.span, _reach(value), value.text
    )


def as_python_scalar(value: Element) -> Element:
    """Return the expression that computes a number, in the dtype of Python's."""
    if isinstance(value, (IndexNumber, Constant)) or value.dtype is not None:
        return value.value if isinstance(value, IndexNumber) else value
    return with_weak_dtype(value, own_dtype(value))


def _python(op: str, operands: Sequence[Element], span: Span) -> IndexNumber:
    return IndexNumber(_strong(op, operands, span, ()), span, _reach_after(op, operands), _text(op, operands))


def _strong(op: str, operands: Sequence[Element], span: Span, flags: Sequence[str]) -> Element:
    values = [as_python_scalar(one) for one in operands]
    if op in _ARITHMETIC:
        values = [_as_integer(one) for one in values]
    if OPERATORS[op].typing == "cast" and f"to_{values[0].dtype}" == op:
        return values[0]
    if op == "power" and _is_negative(values[0], operands[1]):
        values[0] = applied("to_float64", (values[0],), span, ())  # as Python's, of whole numbers too
    return applied(op, checked(op, values, span), span, flags)


def _as_integer(value: Element) -> Element:
    """Python's truth values are whole numbers in arithmetic."""
    return applied("to_int64", (value,), value.span, ()) if value.dtype == "bool" else value


def _is_negative(base: Element, exponent: Element) -> bool:
    """Return whether a whole number has a negative power, which is none; whether it does may not change."""
    reach = _reach_of_exponent(exponent)
    if reach is None or reach[0] >= 0 or np.dtype(own_dtype(base)).kind != "i":
        return False
    if reach[1] < 0:
        return True
    text = exponent.text or "n"
    text = f"({text})" if text.startswith("-") or " " in text else text
    raise shape_error(
        "CYC120",
        f"whole numbers are raised to powers between {reach[0]} and {reach[1]}: negative powers are float64,"
        " the others int64",
        help=f"make the base a floating number, e.g. `(i + 1.0)**{text}`, or write an `if` for one of both",
    )


def _reach_of_exponent(exponent: Element) -> ValueRange | None:
    """Of an index that may be negative exactly, where the value is taken."""
    reach = _reach(exponent)
    inner = as_python_scalar(exponent)
    if reach is None or reach[0] >= 0 or not isinstance(inner, IndexValue):
        return reach
    power = Index("power", here())
    equal = Constraint(inner.form.plus(Affine({power: -1}, 0)), equality=True)
    return extent(intersection(active_recorder().taken(), ((equal,),)), power) or (0, 0)


def _reach_of(form: Affine) -> ValueRange:
    low = high = form.constant
    region = active_recorder().region()
    for index, factor in form.terms.items():
        ends = extent(region, index) or (0, 0)
        low += factor * ends[factor < 0]
        high += factor * ends[factor > 0]
    return _fitting(low, high)


def _reach(value: Element) -> ValueRange | None:
    numbers = numbers_of(value)
    if not all(isinstance(one, int) for one in numbers):
        return None
    return min(map(int, numbers)), max(map(int, numbers))  # type: ignore[arg-type]  # whole numbers


def _reach_after(op: str, operands: Sequence[Element]) -> ValueRange | None:
    """Return the range of an operator's results on whole numbers."""
    reaches = [_reach(one) for one in operands[int(op == "where") :]]
    known = [one for one in reaches if one is not None]
    if len(known) < len(reaches) or (OPERATORS[op].typing == "truth") or op == "divide":
        return None
    ends = [end for reach in known for end in reach]
    if op in ("where", "maximum", "minimum"):
        return min(ends), max(ends)
    if op == "power":
        return _reach_of_power(*known)
    if op == "floor_divide":
        return _reach_of_quotient(*known)
    if op == "remainder":
        return min(known[1][0] + 1, 0), max(known[1][1] - 1, 0)  # it has the divisor's sign
    if op in _BITS:
        return _reach_of_bits(op, *known)
    if op == "absolute":
        return 0, max(map(abs, ends))
    combine = _EXACT[op]
    pairs = [(a,) for a in known[0]] if len(known) == 1 else [(a, b) for a in known[0] for b in known[1]]
    results = [combine(*pair) for pair in pairs]
    return _fitting(min(results), max(results))


def _reach_of_quotient(dividend: ValueRange, divisor: ValueRange) -> ValueRange:
    """Of what is divided by negative divisors and by positive ones, each at its ends."""
    parts = (divisor[0], min(divisor[1], -1)), (max(divisor[0], 1), divisor[1])
    divisors = [end for low, high in parts if low <= high for end in (low, high)]
    quotients = [end // by for end in dividend for by in divisors]
    return _fitting(min(quotients), max(quotients)) if quotients else (0, 0)


def _reach_of_bits(op: str, *operands: ValueRange) -> ValueRange:
    bits = max(end.bit_length() for reach in operands for end in reach)
    masks = [high for low, high in operands if low >= 0]
    if op == "bit_and" and masks:
        return 0, min(masks)
    return 0 if len(masks) == len(operands) else -(1 << bits), (1 << bits) - 1


def _reach_of_power(base: ValueRange, exponent: ValueRange) -> ValueRange | None:
    if exponent[0] < 0 and exponent[0] == exponent[1]:
        return None
    most = max(abs(end) for end in base)
    if most > 1 and exponent[1] > 63:
        raise _too_large(f"{most}**{exponent[1]}")
    largest = max(most, 1) ** max(exponent[1], 0)
    return _fitting(-largest if base[0] < 0 else 0, largest)


def _reach_of_reduction(value: Reduce, body: Element) -> ValueRange | None:
    reach = _reach(body)
    if reach is None or value.kind in ("maximum", "minimum"):
        return reach
    ends = extent(intersection(active_recorder().region(), value.region), value.index)
    count = 0 if ends is None else ends[1] - ends[0] + 1
    if value.kind == "sum":
        return _fitting(min(0, count * reach[0]), max(0, count * reach[1]))
    power = _reach_of_power((-max(map(abs, reach)), max(map(abs, reach))), (0, count))
    return power and (power[0], max(power[1], 1))


def _fitting(low: int, high: int) -> ValueRange:
    limits = np.iinfo(np.int64)
    if limits.min <= low and high <= limits.max:
        return low, high
    raise _too_large(str(low if low < limits.min else high))


def _of_several_types(function: str, operands: Sequence[Element]) -> ShapeError:
    kinds = dict.fromkeys(f"NumPy's {own_dtype(one)}" if one.is_typed else "Python's" for one in operands)
    return shape_error(
        "CYC120",
        f"`{function}` chooses between numbers of different types, {' and '.join(kinds)}, and which one it is"
        " decides the dtype",
        help=f"convert what is chosen to one type, e.g. `{function}(np.float32(i), np.float32(1))`",
    )


def _too_large(reached: str) -> ShapeError:
    return shape_error(
        "CYC120",
        f"a number that indices make reaches {reached}, and int64 ends at {np.iinfo(np.int64).max}",
        help="compute with floating numbers, e.g. `float(n) * i`, or scale it down before",
    )


def _text(op: str, operands: Sequence[Element]) -> str:
    sign = _SIGNS.get(op)
    texts = [str(one.value) if isinstance(one, Constant) else one.text for one in operands]
    if sign is None or len(texts) != 2 or not all(texts):
        return ""
    left, right = (f"({text})" if " " in text else text for text in texts)
    return f"{left} {sign} {right}"


_SIGNS = {op: sign for op, sign in SIGNS.items() if op != "matmul" and not op.startswith("bit")}
_EXACT: Mapping[str, Callable[..., int]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "negative": operator.neg,
    "bit_not": operator.invert,
}
_ARITHMETIC = frozenset([*_SIGNS, "negative", "absolute", "bit_not"])
_COMPARISONS = frozenset(["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
_BITS = frozenset(["bit_and", "bit_or", "bit_xor"])
_PYTHON = _ARITHMETIC | _COMPARISONS | _BITS
