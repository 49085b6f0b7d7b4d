"""The dtypes of expressions: what operators demand of them, and what numbers adopt."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cyclotron.language.values.nodes import (
    Apply,
    Choose,
    Constant,
    Element,
    IndexNumber,
    IndexValue,
    Reduce,
    rebuild,
)
from cyclotron.language.values.operators import OPERATORS, Operator
from cyclotron.language.values.promotion import Typed, check_fit, check_storable, converted, promoted
from cyclotron.support.errors import ShapeError, Span

_TYPES: Mapping[str, type[Any]] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def checked(op: str, operands: Sequence[Element], span: Span) -> tuple[Element, ...]:
    """The operands of an operator, in the dtype in which NumPy computes it.

    Raises `ShapeError` where there is none, and where those of tiles differ.
    """
    result = _typed(op, operands) if any(o.blocked for o in operands) else _in_one_dtype(op, operands)
    check_dtypes(op, result, span)
    return result


def stored(value: Element, dtype: str) -> Element:
    """A value as an array of a dtype holds it.

    Raises
    ------
    ShapeError
        CYC120 if NumPy does not store such values there, or a whole number is too large.
    """
    if value.dtype is not None:
        check_storable(value.dtype, dtype)
        return converted(value, dtype)
    if not isinstance(value, Constant):
        check_storable(own_dtype(value), dtype)
        return with_weak_dtype(value, dtype)
    number = value.value
    kind = np.dtype(dtype).kind
    check_storable(np.result_type(type(number)).name, dtype)
    if kind == "b":
        return Constant(bool(number), value.span)
    if kind == "i" and isinstance(number, float) and math.isfinite(number):
        number = int(number)
    check_fit([number], dtype)
    return Constant(number, value.span)


def _in_one_dtype(op: str, operands: Sequence[Element]) -> tuple[Element, ...]:
    """The operands in the dtype that NumPy promotes them to; numbers adopt it."""
    entry = OPERATORS.get(op)
    if entry is None or entry.typing == "cast":
        return _typed(op, operands)
    first = int(entry.typing == "select")
    values = operands[first:]
    known = {value.dtype for value in values if value.dtype is not None}
    if not known and not any(value.is_typed for value in values):
        return _typed(op, operands)
    given = [one_dtype(value) for value in values]
    numbers = [one for one in given if not isinstance(one, str)]
    same = len(known) == 1 and not numbers
    if same and np.dtype(next(iter(known))).kind in entry.kinds:
        return tuple(operands)
    whole = [isinstance(number, int) and number in (0, 1) for number in numbers]
    if first and known == {"bool"} and all(whole) and not any(value.is_index for value in values):
        return tuple(operands)  # a choice, which may be a truth value
    dtype, _ = promoted(op, [*(["bool"] * first), *given])
    return (
        *operands[:first],
        *(with_weak_dtype(converted(value, dtype) if value.dtype else value, dtype) for value in values),
    )


def check_dtypes(op: str, operands: Sequence[Element], span: Span) -> None:
    """Raise `ShapeError` where the dtypes of operands differ or do not have the operator."""
    entry = OPERATORS.get(op)
    if entry is not None and entry.typing == "select":
        condition, *operands = operands
        if condition.dtype != "bool":
            raise ShapeError(
                f"the condition of `{op}` has dtype {condition.dtype}",
                code="CYC120",
                span=span,
                help="the condition is bool: compare, e.g. `cy.where(A[i] != 0, ...)`",
            )
    known = [operand for operand in operands if operand.dtype is not None]
    if not known:
        return
    dtype = known[0].dtype
    for operand in known[1:]:
        if operand.dtype != dtype:
            raise ShapeError(
                f"`{op}` has operands of dtype {dtype} and {operand.dtype}",
                code="CYC120",
                span=span,
                help="convert the inputs to one dtype, e.g. with `.astype`",
            )
    kind = np.dtype(dtype).kind
    if entry is not None and kind not in entry.kinds:
        raise _undefined(op, entry, str(dtype), kind, span)
    for operand in operands:
        if isinstance(operand, Constant) and not _fits(operand.value, np.dtype(dtype)):
            raise ShapeError(
                f"the constant {operand.value!r} does not fit elements of dtype {dtype}",
                code="CYC120",
                span=operand.span,
                help="convert the inputs to a dtype that holds the constant",
            )


def _undefined(op: str, entry: Operator, dtype: str, kind: str, span: Span) -> ShapeError:
    if kind in "bi" and "f" in entry.kinds and "i" not in entry.kinds:
        return ShapeError(
            f"`{op}` of {dtype} elements does not give {dtype}",
            code="CYC121",
            span=span,
            help='convert the inputs to a floating dtype, e.g. `A.astype("float64")`',
        )
    names = {"b": "bool", "i": "integers", "f": "real numbers", "c": "complex numbers"}
    return ShapeError(
        f"`{op}` is not defined on {dtype} elements",
        code="CYC121",
        span=span,
        help=f"it is defined on {', '.join(names[letter] for letter in entry.kinds)}",
    )


def _fits(value: complex, dtype: np.dtype[Any]) -> bool:
    if dtype.kind == "i":
        return isinstance(value, int) and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
    if dtype.kind == "b":
        return isinstance(value, int)
    return dtype.kind == "c" or not isinstance(value, complex)


def _typed(op: str, operands: Sequence[Element]) -> tuple[Element, ...]:
    """The operands, choices between numbers among them in the dtype of the others."""
    if op not in OPERATORS:
        return tuple(operands)
    typing = OPERATORS[op].typing
    first = int(typing == "select")
    numbers = [o for o in operands[first:] if o.dtype is None and not isinstance(o, Constant)]
    if not numbers:
        return tuple(operands)
    dtype = next((operand.dtype for operand in operands[first:] if operand.dtype is not None), None)
    if dtype is None and typing in ("same", "select"):
        return tuple(operands)
    chosen = dtype or np.result_type(*map(own_dtype, operands[first:])).name
    return (*operands[:first], *(with_weak_dtype(operand, chosen) for operand in operands[first:]))


def one_dtype(value: Element) -> Typed:
    """The dtype of a value, or a number that promotes others as it does."""
    number = number_of(value)
    return str(value.dtype) if number is None else number


def number_of(value: Element) -> complex | np.generic | None:
    """A number that has no dtype; of a choice between several one that has theirs; None for others.

    It is one of NumPy's where the value is made of such.
    """
    if value.dtype is not None:
        return None
    own = np.dtype(own_dtype(value))
    kind = _TYPES[own.kind]
    number = max((one for one in numbers_of(value) if _type_of(one) is kind), key=abs, default=kind(0))
    if not value.is_typed:
        return number
    typed: np.generic = own.type(number)
    return typed


def typed_number(value: Element, dtype: str) -> Element:
    """A number without dtype as one of a type of NumPy's."""
    if isinstance(value, Constant):
        return replace(value, typed=dtype)
    if isinstance(value, IndexNumber):
        return IndexNumber(with_weak_dtype(value, dtype), value.span, value.reach, value.text, is_typed=True)
    if _is_choice(value):
        test = value.operands[: len(value.operands) - 2]
        return rebuild(value, [*test, *(typed_number(one, dtype) for one in _chosen(value))])
    return with_weak_dtype(value, dtype)


def of_numpy(value: Any) -> Any:
    """Return a result of NumPy's functions: a number as one of NumPy's types."""
    is_number = isinstance(value, Element) and value.dtype is None
    return typed_number(value, own_dtype(value)) if is_number else value


def keeps_dtype(number: Constant, other: Element) -> bool:
    """Return whether what a number is added to has the dtype of the sum."""
    if other.dtype is None or other.blocked:
        return other.dtype is not None
    return promoted("add", [one_dtype(number), other.dtype])[1] == other.dtype


def _type_of(number: complex) -> type[Any]:
    """Python's type of a number, also of sizes, which are whole numbers."""
    return next(kind for kind in _TYPES.values() if isinstance(number, kind))


def numbers_of(value: Element) -> list[complex]:
    """The numbers that a value without dtype is made of."""
    if isinstance(value, Constant):
        return [value.value]
    if isinstance(value, IndexNumber):
        return value.sample
    first = int(isinstance(value, Apply) and value.op == "where")
    return [number for operand in value.operands[first:] for number in numbers_of(operand)]


def own_dtype(value: Element) -> str:
    """The dtype that Python's numbers have in a value without one."""
    known: dict[int, str] = {}

    def of(part: Element) -> str:
        if id(part) not in known:
            known[id(part)] = find(part)
        return known[id(part)]

    def find(part: Element) -> str:
        if part.dtype is not None:
            return part.dtype
        if isinstance(part, IndexNumber):
            return of(part.value)
        if isinstance(part, Constant):
            return part.typed or _together(_type_of(part.value))
        if _is_choice(part) and part.is_typed:
            return promoted("where", ["bool", *map(one_dtype, _chosen(part))])[1]
        if _is_choice(part):
            return _together(*map(of, _chosen(part)))
        if part.is_typed and isinstance(part, Apply):
            return promoted(part.op, [one_dtype(one) for one in part.operands])[1]
        given = ["int64" if of(one) == "bool" else of(one) for one in part.operands]  # as Python adds them
        return promoted(part.op, given)[1] if isinstance(part, Apply) else given[0]

    return of(value)


def _together(*dtypes: str | type) -> str:
    """The dtype that holds values of several."""
    name: str = np.result_type(*dtypes).name
    return name


def _is_choice(value: Element) -> bool:
    return isinstance(value, Choose) or (isinstance(value, Apply) and value.op == "where")


def _chosen(value: Element) -> Sequence[Element]:
    """The values of a choice, less the test."""
    return value.operands[int(isinstance(value, Apply)) :]


def with_weak_dtype(value: Element, dtype: str) -> Element:
    """A choice between numbers, what is computed of some, or a number that indices make, in a dtype.

    Where that is narrower than Python's own, it is computed in this one, and converted.
    """
    if value.dtype is not None or isinstance(value, Constant):
        return value
    if isinstance(value, IndexNumber):
        return _converted(value, dtype)
    own = own_dtype(value)
    is_of_numpy = value.is_typed and not _is_of_numbers(value)
    if own != dtype and (
        is_of_numpy or not np.can_cast(own, dtype, "same_kind" if _is_of_numbers(value) else "safe")
    ):
        return converted(with_weak_dtype(value, own), dtype)
    if isinstance(value, Choose):
        return Choose(
            value.condition,
            with_weak_dtype(value.then, dtype),
            with_weak_dtype(value.other, dtype),
            value.span,
        )
    if isinstance(value, Reduce):
        body = with_weak_dtype(value.body, dtype)
        body = body if body.dtype is not None else Apply(f"to_{dtype}", (body,), value.span)
        return Reduce(value.kind, value.index, value.region, body, value.span)
    assert isinstance(value, Apply)
    operands = [with_weak_dtype(operand, dtype) for operand in value.operands]
    if value.op == "where" and all(operand.dtype is None for operand in operands[1:]):
        operands[1] = Apply(f"to_{dtype}", operands[1:2], value.span)
    check_dtypes(value.op, operands, value.span)
    return Apply(value.op, operands, value.span, value.flags)


def _is_of_numbers(value: Element) -> bool:
    """Return whether a value is a number, or a choice between some, of which nothing is computed."""
    return isinstance(value, (Constant, IndexNumber)) or (
        _is_choice(value) and all(map(_is_of_numbers, _chosen(value)))
    )


def _converted(number: IndexNumber, dtype: str) -> Element:
    """A number that indices make, in a dtype: an index by itself at once."""
    check_fit(number.sample, dtype)
    value = number.value
    if isinstance(value, IndexValue) and np.dtype(dtype).kind in "if":
        return IndexValue(value.form, dtype, value.span)
    return value if value.dtype == dtype else Apply(f"to_{dtype}", (value,), number.span)
