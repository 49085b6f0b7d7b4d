"""Elements in the dtypes that operators demand, and indices as numbers: all conversions of scalars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cyclotron.language.values.affine import Affine, Constraint, Index, intersection
from cyclotron.language.values.condition import Condition, Extremum, Piecewise
from cyclotron.language.values.context import active_recorder, recorder_or_none
from cyclotron.language.values.dispatch import SIGNS
from cyclotron.language.values.nodes import (
    Access,
    Apply,
    Choose,
    Constant,
    Element,
    IndexValue,
    Reduce,
    Tensor,
    accesses,
    applied,
    retyped,
)
from cyclotron.language.values.operators import OPERATORS, result_dtype
from cyclotron.language.values.ranges import ValueRange, range_of_form
from cyclotron.language.values.region import extent
from cyclotron.language.values.scalar_type import (
    ScalarType,
    check_fit,
    check_storable,
    literal,
    promote,
    undefined,
    unsupported,
)
from cyclotron.language.values.source_span import here, shape_error
from cyclotron.support.dtypes import is_castable, is_whole, kind_of
from cyclotron.support.errors import ShapeError, Span

_MIRRORED = {
    "less": "greater", "greater": "less", "less_equal": "greater_equal", "greater_equal": "less_equal",
    "equal": "equal", "not_equal": "not_equal",
}  # fmt: skip
_DIVISIONS = ("divide", "floor_divide", "remainder")  # of Python's numbers by 0 they are errors


def number(value: Affine | Piecewise | Extremum) -> Element:
    """Return an index, its remainder or quotient, or the largest or least of several as a number."""
    if isinstance(value, Affine):
        made: Element = IndexValue(value, ScalarType("int64", True, range_of_form(value)), here())
        for dtype in ("int64", value.dtype) if value.dtype else ():  # of NumPy's numbers it wraps around
            made = computed(f"to_{dtype}", (made,), here())
    elif isinstance(value, Piecewise):
        made = value.number()
    else:
        made = number(value.forms[0])
        for form in value.forms[1:]:
            made = computed("maximum" if value.largest else "minimum", (made, number(form)), here())
    made.text = str(value)
    return made


def truth_number(condition: Condition) -> Element:
    """Return a condition on indices as a truth value of Python's."""
    type = ScalarType("bool", True, (0, 1))
    true, false = (Apply("to_bool", (Constant(value, here()),), here()) for value in (True, False))
    return Choose(condition, true, false, here(), type)


def computed(op: str, operands: Sequence[Element], span: Span, flags: Sequence[str] = ()) -> Element:
    """An operator on elements and numbers, in the dtype in which NumPy or Python computes it.

    Raises
    ------
    ShapeError
        CYC120 or CYC121 where there is none.
    """
    if op not in OPERATORS:
        return Apply(op, operands, span, flags)
    if any(operand.blocked for operand in operands):
        return _on_tiles(op, operands, span, flags)
    if compares_two_signs(op, [one.type for one in operands]):
        return _compared(op, operands, span)
    first = int(OPERATORS[op].typing == "select")
    if first:
        _check_condition(op, operands[0], span)
    if op == "power":
        _check_real(*operands)
        if _is_negative(*operands):
            operands = (as_python(operands[0], "float64"), operands[1])
    dtype, type = promote(op, *(operand.type for operand in operands))
    if type.weak and op in _DIVISIONS and not _is_nonzero(operands[1]):
        flags = ("checked",)
        recorder = recorder_or_none()
        divisor = operands[1].tensor if isinstance(operands[1], Access) else None
        # A divisor that begins as no 0 divides in the first iteration of a loop as NumPy's would. Once others
        # are taken for NumPy's, it is no more certain that numbers are so from the second iteration on.
        if recorder is not None and (recorder.settled or divisor not in recorder.nonzero):
            recorder.divided |= {part.tensor for one in operands for part in accesses(one)}
    values = [converted(operand, dtype) for operand in operands[first:]]
    if OPERATORS[op].typing == "cast" and (operands[0].type.weak or dtype == type.dtype):
        values[0] = converted(values[0], type.dtype)
        if not isinstance(values[0], Constant) or dtype == type.dtype:
            return retyped(values[0], type)
    if first and all(isinstance(value, Constant) for value in values):
        values[0] = retyped(explicit_cast(values[0], dtype), values[0].type if type.weak else type)
    result = applied(op, (*operands[:first], *values), span, flags, type)
    if isinstance(result, Constant) and type.weak:
        result = Constant(result.value, span)
    elif type.weak:
        result.text = _text(op, operands)
    return result


def within_dtype(op: str, values: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """A comparison with a number of Python's beyond all of a whole dtype, as one with the end of that.

    Below the least number all are greater, as those that are at least the least.
    """
    if op not in _MIRRORED or len(values) != 2 or type(values[0]) is type(values[1]) is int:
        return op, values
    if type(values[0]) is int:
        mirrored, (right, left) = within_dtype(_MIRRORED[op], (values[1], values[0]))
        return (op, values) if mirrored == _MIRRORED[op] else (_MIRRORED[mirrored], (left, right))
    left, number = values
    dtype = getattr(left, "dtype", None) or "bool"
    if type(number) is not int or not is_whole(dtype):
        return op, values
    ends = np.iinfo(np.dtype(str(dtype)))
    if ends.min <= number <= ends.max:
        return op, values
    below = number < ends.min
    holds = op == "not_equal" or op in (("greater", "greater_equal") if below else ("less", "less_equal"))
    end = int(ends.min if below else ends.max)
    if below:
        return "greater_equal" if holds else "less", (left, end)
    return "less_equal" if holds else "greater", (left, end)


def compares_two_signs(op: str, types: Sequence[ScalarType]) -> bool:
    """Return whether a uint64 is compared with a signed whole number: no whole dtype holds both."""
    names = {one.dtype for one in types if op in _MIRRORED and not one.weak}
    return "uint64" in names and "i" in map(kind_of, names)


def _compared(op: str, operands: Sequence[Element], span: Span) -> Element:
    """NumPy's exact comparison of numbers of two signs."""
    if operands[0].dtype == "uint64":
        return _compared(_MIRRORED[op], operands[::-1], span)
    signed, unsigned = operands
    negative = computed("less", (signed, Constant(0, span)), span)
    exact = computed(op, (explicit_cast(signed, "uint64"), unsigned), span)
    if op in ("less", "less_equal", "not_equal"):
        return computed("logical_or", (negative, exact), span)
    return computed("logical_and", (computed("logical_not", (negative,), span), exact), span)


def converted(value: Element, dtype: str) -> Element:
    """An element in a dtype; a constant of Python as it is, since it adopts its neighbour's.

    Choices between numbers, and sums of such, are made in the dtype that they adopt.

    Raises
    ------
    ShapeError
        CYC120 where a whole number of Python's does not fit.
    """
    if isinstance(value, Constant) and not value.type.weak and is_castable(value.dtype, dtype):
        return Constant(np.dtype(dtype).type(value.value).item(), value.span, ScalarType(dtype))
    if isinstance(value, Constant) or value.dtype == dtype:
        return value
    if not value.type.weak:
        return Apply(f"to_{dtype}", (value,), here())
    check_fit([value.type], dtype)
    if isinstance(value, IndexValue) and kind_of(dtype) in "iuf":
        return IndexValue(value.form, ScalarType(dtype), value.span)
    if isinstance(value, Apply) and value.op.startswith("to_") and isinstance(value.operands[0], Constant):
        return explicit_cast(value.operands[0], dtype)
    if _is_choice(value) and is_castable(value.dtype, dtype, "same_kind"):
        *test, then, other = value.operands
        then, other = converted(then, dtype), converted(other, dtype)
        if isinstance(value, Choose):
            return Choose(value.condition, then, other, value.span, ScalarType(dtype))
        return Apply("where", (*test, then, other), value.span, (), ScalarType(dtype))
    wider = is_castable(value.dtype, dtype) and value.type.kind != "b"  # of which sums are others
    if isinstance(value, Reduce) and wider and _is_of_constants(value.body):
        body = converted(value.body, dtype)
        return Reduce(value.kind, value.index, value.region, body, value.span)
    return Apply(f"to_{dtype}", (value,), value.span)


def explicit_cast(value: Element, dtype: str) -> Element:
    """An element in a dtype, a number too."""
    if not isinstance(value, Constant):
        return converted(value, dtype)
    if f"to_{dtype}" not in OPERATORS:
        raise unsupported("sum", dtype, dtype)
    return Apply(f"to_{dtype}", (value,), value.span)


def as_python(value: Element, dtype: str) -> Element:
    """A number as one of Python's, of the type whose dtype this is: it adopts that of its neighbours."""
    if isinstance(value, Constant):
        return Constant(np.dtype(dtype).type(value.value).item(), value.span)
    known = value.type.range if kind_of(dtype) in "biu" else None
    result = retyped(converted(value, dtype), ScalarType(dtype, True, known))
    if value.text:
        result.text = value.text
    return result


def of_numpy(value: object) -> object:
    """Return a result of NumPy's functions: a number as one of NumPy's types."""
    return retyped(value, ScalarType(value.dtype)) if isinstance(value, Element) else value


def stored(value: Element, dtype: str) -> Element:
    """A value as an array of a dtype holds it.

    Raises
    ------
    ShapeError
        CYC120 if NumPy does not store such values there, or a whole number is too large.
    """
    check_storable(value.dtype, dtype)
    if not isinstance(value, Constant):
        result = converted(value, dtype)
        return retyped(result, ScalarType(dtype)) if result.type.weak else result
    number = value.value
    kind = kind_of(dtype)
    if kind == "b":
        number = bool(number)
    elif kind in "iu" and isinstance(number, float) and math.isfinite(number):
        number = int(number)
    check_fit([Constant(number, value.span).type], dtype)
    return Constant(number, value.span, ScalarType(dtype))


def check_numbers(value: object, dtype: str) -> None:
    """Raise `ShapeError` (CYC120) for numbers of Python or a list that a whole dtype does not hold."""
    if not is_whole(dtype):
        return
    for one in value if isinstance(value, (list, tuple)) else ():
        check_numbers(one, dtype)
    known = literal(value)
    if known is None or not known[1].weak:
        return
    number = known[0]
    if isinstance(number, float) and not math.isfinite(number):
        raise shape_error(
            "CYC120",
            f"the constant {number!r} does not fit elements of dtype {dtype}",
            help="convert the array to a floating dtype before",
        )
    if isinstance(number, (int, float)):
        check_fit([Constant(int(number), here()).type], dtype)


def check_adopted(value: Element | str, target: Tensor) -> None:
    """Refuse numbers with fractions in arrays that hold whole ones only since the inputs do (CYC120)."""
    given = np.dtype(value if isinstance(value, str) else value.dtype)
    held = np.dtype(target.dtype_name)
    whole = isinstance(value, Constant) and float(np.real(value.value)).is_integer()
    if not target.adopts_dtype or kind_of(held) not in "biu" or kind_of(given) not in "fc" or whole:
        return
    raise shape_error(
        "CYC120",
        f"a value of dtype {given} is stored in `{target.name}`, which is declared without a dtype and has"
        f" that of the inputs, {held}: fractions would be lost",
        help=f'declare `{target.name}` with dtype="{given}", or with dtype="{held}" to store whole numbers',
    )


def choose_by_indices(condition: Condition, then: Element, other: Element) -> Element:
    """``then`` where a condition on indices holds, else ``other``, as NumPy promotes both."""
    tile = next((one for one in (then, other) if one.blocked), None)
    if tile is not None:
        then, other = (converted(one, tile.dtype) if one.type.weak else one for one in (then, other))
        return Choose(condition, then, other, here(), tile.type)
    dtype, type = promote("where", ScalarType("bool"), then.type, other.type)
    return Choose(condition, converted(then, dtype), converted(other, dtype), here(), type)


def check_dtypes(op: str, operands: Sequence[Element], span: Span) -> None:
    """Raise `ShapeError` where the dtypes of operands differ or do not have the operator."""
    entry = OPERATORS.get(op)
    if entry is not None and entry.typing == "select":
        _check_condition(op, operands[0], span)
        operands = operands[1:]
    given = [operand for operand in operands if not (isinstance(operand, Constant) or operand.type.weak)]
    if not given:
        return
    dtype = given[0].dtype
    for operand in given[1:]:
        if operand.dtype != dtype:
            raise ShapeError(
                f"`{op}` has operands of dtype {dtype} and {operand.dtype}",
                code="CYC120",
                span=span,
                help="convert the inputs to one dtype, e.g. with `.astype`",
            )
    if entry is not None and kind_of(dtype) not in entry.kinds:
        raise undefined(op, dtype)
    for operand in operands:
        if isinstance(operand, Constant) and not _fits(operand.value, np.dtype(dtype)):
            raise ShapeError(
                f"the constant {operand.value!r} does not fit elements of dtype {dtype}",
                code="CYC120",
                span=operand.span,
                help="convert the inputs to a dtype that holds the constant",
            )


def _check_condition(op: str, condition: Element, span: Span) -> None:
    if condition.dtype != "bool":
        raise ShapeError(
            f"the condition of `{op}` has dtype {condition.dtype}",
            code="CYC120",
            span=span,
            help="the condition is bool: compare, e.g. `cy.where(A[i] != 0, ...)`",
        )


def _fits(value: complex, dtype: np.dtype[Any]) -> bool:
    if is_whole(dtype):
        return isinstance(value, int) and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
    if dtype.kind == "b":
        return isinstance(value, int)
    return kind_of(dtype) == "c" or not isinstance(value, complex)


def _on_tiles(op: str, operands: Sequence[Element], span: Span, flags: Sequence[str]) -> Element:
    """An operator some of whose operands are tiles, whose dtype numbers adopt."""
    first = int(OPERATORS[op].typing == "select")
    values = operands[first:]
    dtype = next(one for one in (*values, *operands) if one.blocked).dtype
    if not any(value.blocked for value in values):
        dtype = next((value for value in values if not value.type.weak), values[0]).dtype
    values = [value if value.blocked or accesses(value) else converted(value, dtype) for value in values]
    operands = (*operands[:first], *values)
    check_dtypes(op, operands, span)
    return applied(op, operands, span, flags, ScalarType(result_dtype(op, dtype)))


def _is_choice(value: Element) -> bool:
    return isinstance(value, Choose) or (isinstance(value, Apply) and value.op == "where")


def _is_of_constants(value: Element) -> bool:
    """Return whether a value is a constant, or a choice between some, or a sum of those."""
    if _is_choice(value):
        return all(map(_is_of_constants, value.operands[-2:]))
    explicit = isinstance(value, Apply) and value.op.startswith("to_")
    return isinstance(value, Constant) or (
        (explicit or isinstance(value, Reduce)) and _is_of_constants(value.operands[0])
    )


def _is_nonzero(divisor: Element) -> bool:
    """Return whether a number of Python's is known not to be 0."""
    if isinstance(divisor, Constant):
        return divisor.value != 0
    known = divisor.type.range
    return known is not None and not known[0] <= 0 <= known[1]


def _is_negative(base: Element, exponent: Element) -> bool:
    """Return whether a whole number has a negative power, which is none; whether it does may not change."""
    known = _exact_range(exponent)
    if known is None or known[0] >= 0 or not base.type.weak or base.type.kind not in "bi":
        return False
    if known[1] < 0:
        return True
    text = exponent.text or "n"
    text = f"({text})" if text.startswith("-") or " " in text else text
    raise shape_error(
        "CYC120",
        f"whole numbers are raised to powers between {known[0]} and {known[1]}: negative powers are float64,"
        " the others int64",
        help=f"make the base a floating number, e.g. `(i + 1.0)**{text}`, or write an `if` for one of both",
    )


def _check_real(base: Element, exponent: Element) -> None:
    """Raise `ShapeError` (CYC120) where a whole number of Python's may be negative, and has complex roots."""
    fraction = exponent.value if isinstance(exponent, Constant) and exponent.type.weak else 0
    if not isinstance(fraction, float) or not math.isfinite(fraction) or fraction == int(fraction):
        return
    known = _exact_range(base) if base.type.weak and base.type.kind in "bi" else None
    if known is None or known[0] >= 0:
        return
    raise shape_error(
        "CYC120",
        f"numbers between {known[0]} and {known[1]}, which indices make, are raised to the power"
        f" {fraction}: Python's powers of negative numbers are complex",
        help="take `abs(...)` of them, or their values from an array, where such powers are NaN",
    )


def _exact_range(number: Element) -> ValueRange | None:
    """Of an index that may be negative exactly, where the value is taken."""
    known = number.type.range
    if known is None or known[0] >= 0 or not isinstance(number, IndexValue):
        return known
    same = Index("number", here())
    equal = Constraint(number.form.plus(Affine({same: -1}, 0)), equality=True)
    return extent(intersection(active_recorder().taken(), ((equal,),)), same) or (0, 0)


def _text(op: str, operands: Sequence[Element]) -> str:
    """The text of a number that indices make, as far as that is short."""
    sign = SIGNS.get(op)
    texts = [str(operand.value) if isinstance(operand, Constant) else operand.text for operand in operands]
    if sign is None or op.startswith("bit") or len(texts) != 2 or not all(texts):
        return ""
    left, right = (f"({text})" if " " in text else text for text in texts)
    return f"{left} {sign} {right}"
