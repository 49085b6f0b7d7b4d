"""Indices as numbers: what Python computes with them, and how kernels do."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cyclotron.errors import ShapeError, Span
from cyclotron.language.expressions.affine import (
    Affine,
    Condition,
    Constraint,
    Extremum,
    Index,
    Region,
    Rounded,
    intersection,
)
from cyclotron.language.expressions.elements import Constant, Element, Reduce, applied, cast
from cyclotron.language.expressions.operators import OPERATORS
from cyclotron.language.expressions.position import here
from cyclotron.language.expressions.regions import extent

Reach = tuple[int, int]
"""The least and the largest value, or a little beyond."""


class Reached(int):
    """A whole number that one made of indices may reach: what is refused for it says so."""


class IndexValue(Element):
    """The value of an affine form of indices, as a number of a dtype."""

    def __init__(self, form: Affine, dtype: str, span: Span) -> None:
        self.form = form
        self.span = span
        self._dtype = dtype

    @property
    def dtype(self) -> str:
        return self._dtype


class IndexNumber(Element):
    """A Python number that indices make: computed as Python does, it adopts the dtype of its neighbours.

    Attributes
    ----------
    value : Element
        What computes it, of dtype int64, float64, complex128 or bool.
    text : str
        How it is written, as far as that is short; else empty.
    reach : Reach or None
        Of integers.
    is_typed : bool
        Whether it is one of NumPy's, as `np.float32(i)`: then neighbours do not decide its dtype.
    """

    def __init__(
        self, value: Element, span: Span, reach: Reach | None, text: str = "", *, is_typed: bool = False
    ) -> None:
        self.value = value
        self._is_typed = is_typed
        self.span = span
        self.reach = reach if np.dtype(value.dtype).kind == "i" else None
        self.text = text

    @property
    def operands(self) -> tuple[Element, ...]:
        return (self.value,)

    @property
    def is_index(self) -> bool:
        return True

    @property
    def is_typed(self) -> bool:
        return self._is_typed

    @property
    def sample(self) -> list[complex]:
        """Numbers of its type, for integers the least and the largest."""
        if self.reach is not None:
            return [Reached(end) for end in self.reach]
        samples: dict[str, list[complex]] = {"b": [False, True], "f": [0.0], "c": [0j]}
        return samples.get(np.dtype(self.value.dtype).kind, [0])


def number(value: Affine | Rounded | Extremum) -> IndexNumber:
    """What an index, its remainder or quotient, or the largest or least of several is as a number."""
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
    """What a condition on indices is as a number: 0 or 1 in arithmetic."""
    from cyclotron.language.recording.conditions import as_element

    return IndexNumber(as_element(condition), here(), None)


def computed(op: str, operands: Sequence[Element], span: Span, flags: Sequence[str] = ()) -> Element:
    """An operator on numbers of which indices make some: of Python's a number, of others a value."""
    if op in _PYTHON or op == "where":
        return _python(op, operands, span)
    return _strong(op, operands, span, flags)


def extremum(op: str, *operands: Element) -> Element:
    """What Python's ``max`` or ``min`` gives of numbers of which indices make some.

    Raises
    ------
    ShapeError
        CYC120 if one of them is of a type of NumPy's, and another is not.
    """
    from cyclotron.language.expressions.dtypes import own_dtype

    types = {own_dtype(one) if one.is_typed else None for one in operands}
    typed = next(iter(types))
    if len(types) > 1:
        raise _of_several_types(op[:3], operands)
    chosen = _python(op, operands, here())
    if isinstance(chosen.value, Constant):
        return replace(chosen.value, typed=typed)
    made = IndexNumber(chosen.value, chosen.span, chosen.reach, is_typed=typed is not None)
    texts = [str(one.value) if isinstance(one, Constant) else one.text for one in operands]
    made.text = f"{op[:3]}({', '.join(texts)})" if all(texts) else ""
    return made


def is_of_indices(op: str, operands: Sequence[Element]) -> bool:
    """Whether all operands that count are numbers and indices make some of them."""
    entry = OPERATORS.get(op)
    counted = operands[int(entry is not None and entry.typing == "select") :]
    truth = entry is not None and entry.typing == "truth"  # which is one of Python's too
    plain = all(one.dtype is None and (truth or not one.is_typed) for one in counted)
    return plain and any(one.is_index for one in counted)


def reduced(kind: str, index: Index, region: Region, body: Element, span: Span) -> Element:
    """A reduction of numbers that indices make: a number too; of truth values it tells one."""
    made = Reduce(kind, index, region, strong(body), span)
    if made.dtype == "bool" and not body.is_typed:
        return made
    return IndexNumber(made, span, _reach_of_reduction(made, body), is_typed=body.is_typed)


def counted(value: Element) -> Element:
    """A number as a sum takes it: truth values are whole numbers."""
    inner = strong(value)
    if inner.dtype != "bool":
        return value
    return IndexNumber(_as_integer(inner), value.span, (0, 1), is_typed=value.is_typed)


def of_python(value: Element, dtype: str) -> Element:
    """A number as one of Python's, of the type whose dtype this is: it adopts that of its neighbours."""
    if isinstance(value, Constant):
        return Constant(np.dtype(dtype).type(value.value).item(), value.span)
    return IndexNumber(cast(strong(value), dtype), value.span, _reach(value), value.text)


def strong(value: Element) -> Element:
    """What computes a number, in the dtype of Python's."""
    from cyclotron.language.expressions.dtypes import adopted, own_dtype

    if isinstance(value, (IndexNumber, Constant)) or value.dtype is not None:
        return value.value if isinstance(value, IndexNumber) else value
    return adopted(value, own_dtype(value))


def _python(op: str, operands: Sequence[Element], span: Span) -> IndexNumber:
    return IndexNumber(_strong(op, operands, span, ()), span, _reach_after(op, operands), _text(op, operands))


def _strong(op: str, operands: Sequence[Element], span: Span, flags: Sequence[str]) -> Element:
    from cyclotron.language.expressions.dtypes import checked

    values = [strong(one) for one in operands]
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
    """Whether a whole number has a negative power, which is none; whether it does may not change."""
    from cyclotron.language.expressions.dtypes import own_dtype

    reach = _reach_of_exponent(exponent)
    if reach is None or reach[0] >= 0 or np.dtype(own_dtype(base)).kind != "i":
        return False
    if reach[1] < 0:
        return True
    text = exponent.text or "n"
    text = f"({text})" if text.startswith("-") or " " in text else text
    raise ShapeError(
        f"whole numbers are raised to powers between {reach[0]} and {reach[1]}: negative powers are float64,"
        " the others int64",
        code="CYC120",
        span=here(),
        help=f"make the base a floating number, e.g. `(i + 1.0)**{text}`, or write an `if` for one of both",
    )


def _reach_of_exponent(exponent: Element) -> Reach | None:
    """Of an index that may be negative exactly, where the value is taken."""
    from cyclotron.language.recording.trace import active_trace

    reach = _reach(exponent)
    inner = strong(exponent)
    if reach is None or reach[0] >= 0 or not isinstance(inner, IndexValue):
        return reach
    power = Index("power", here())
    equal = Constraint(inner.form.plus(Affine({power: -1}, 0)), equality=True)
    return extent(intersection(active_trace().taken(), ((equal,),)), power) or (0, 0)


def _reach_of(form: Affine) -> Reach:
    from cyclotron.language.recording.trace import active_trace

    low = high = form.constant
    region = active_trace().region()
    for index, factor in form.terms.items():
        ends = extent(region, index) or (0, 0)
        low += factor * ends[factor < 0]
        high += factor * ends[factor > 0]
    return _fitting(low, high)


def _reach(value: Element) -> Reach | None:
    from cyclotron.language.expressions.dtypes import numbers_of

    numbers = numbers_of(value)
    if not all(isinstance(one, int) for one in numbers):
        return None
    return min(map(int, numbers)), max(map(int, numbers))  # type: ignore[arg-type]  # whole numbers


def _reach_after(op: str, operands: Sequence[Element]) -> Reach | None:
    """What whole numbers become."""
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


def _reach_of_quotient(dividend: Reach, divisor: Reach) -> Reach:
    """Of what is divided by negative divisors and by positive ones, each at its ends."""
    parts = (divisor[0], min(divisor[1], -1)), (max(divisor[0], 1), divisor[1])
    divisors = [end for low, high in parts if low <= high for end in (low, high)]
    quotients = [end // by for end in dividend for by in divisors]
    return _fitting(min(quotients), max(quotients)) if quotients else (0, 0)


def _reach_of_bits(op: str, *operands: Reach) -> Reach:
    bits = max(end.bit_length() for reach in operands for end in reach)
    masks = [high for low, high in operands if low >= 0]
    if op == "bit_and" and masks:
        return 0, min(masks)
    return 0 if len(masks) == len(operands) else -(1 << bits), (1 << bits) - 1


def _reach_of_power(base: Reach, exponent: Reach) -> Reach | None:
    if exponent[0] < 0 and exponent[0] == exponent[1]:
        return None
    most = max(abs(end) for end in base)
    if most > 1 and exponent[1] > 63:
        raise _too_large(f"{most}**{exponent[1]}")
    largest = max(most, 1) ** max(exponent[1], 0)
    return _fitting(-largest if base[0] < 0 else 0, largest)


def _reach_of_reduction(value: Reduce, body: Element) -> Reach | None:
    reach = _reach(body)
    if reach is None or value.kind in ("maximum", "minimum"):
        return reach
    from cyclotron.language.recording.trace import active_trace

    ends = extent(intersection(active_trace().region(), value.region), value.index)
    count = 0 if ends is None else ends[1] - ends[0] + 1
    if value.kind == "sum":
        return _fitting(min(0, count * reach[0]), max(0, count * reach[1]))
    power = _reach_of_power((-max(map(abs, reach)), max(map(abs, reach))), (0, count))
    return power and (power[0], max(power[1], 1))


def _fitting(low: int, high: int) -> Reach:
    limits = np.iinfo(np.int64)
    if limits.min <= low and high <= limits.max:
        return low, high
    raise _too_large(str(low if low < limits.min else high))


def _of_several_types(function: str, operands: Sequence[Element]) -> ShapeError:
    from cyclotron.language.expressions.dtypes import own_dtype

    kinds = dict.fromkeys(f"NumPy's {own_dtype(one)}" if one.is_typed else "Python's" for one in operands)
    return ShapeError(
        f"`{function}` chooses between numbers of different types, {' and '.join(kinds)}, and which one it is"
        " decides the dtype",
        code="CYC120",
        span=here(),
        help=f"convert what is chosen to one type, e.g. `{function}(np.float32(i), np.float32(1))`",
    )


def _too_large(reached: str) -> ShapeError:
    return ShapeError(
        f"a number that indices make reaches {reached}, and int64 ends at {np.iinfo(np.int64).max}",
        code="CYC120",
        span=here(),
        help="compute with floating numbers, e.g. `float(n) * i`, or scale it down before",
    )


def _text(op: str, operands: Sequence[Element]) -> str:
    sign = _SIGNS.get(op)
    texts = [str(one.value) if isinstance(one, Constant) else one.text for one in operands]
    if sign is None or len(texts) != 2 or not all(texts):
        return ""
    left, right = (f"({text})" if " " in text else text for text in texts)
    return f"{left} {sign} {right}"


_SIGNS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "floor_divide": "//",
    "remainder": "%",
    "power": "**",
}
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
