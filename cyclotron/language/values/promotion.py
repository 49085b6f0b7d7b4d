"""The dtypes of expressions of whole arrays, which are NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cyclotron.language.values import dispatch
from cyclotron.language.values.nodes import Apply, Constant, Element, RangeBound
from cyclotron.language.values.operators import OPERATORS
from cyclotron.language.values.source_span import shape_error
from cyclotron.support.errors import ShapeError

Typed = str | complex | np.generic
"""The dtype of an operand, or a number: Python's adopts its neighbour's."""


def sum_dtype(dtype: str) -> str:
    """The dtype in which sums and products of whole arrays are kept: of half precision single (MA-044)."""
    return "float32" if dtype == "float16" else dtype


def promoted(op: str, operands: Sequence[Typed]) -> tuple[str, str]:
    """The dtype in which NumPy computes an operator, and that of the result.

    Parameters
    ----------
    op : str
        The name of an operator.
    operands : sequence of str or number
        Dtypes by NumPy's name, and numbers as they are.

    Returns
    -------
    tuple of str
        Of a selection's operands all but the first have it.

    Raises
    ------
    ShapeError
        CYC121 if the operator is not defined on them, CYC120 if a number does not fit the others' dtype.
    """
    entry = OPERATORS[op]
    samples: list[Any] = [_sample(one) for one in operands]
    if entry.typing == "select":
        dtype = np.result_type(*_sampled(samples[1:])).name
        check_fit(operands[1:], dtype)
        return _supported(op, dtype, operands[1:]), dtype
    if entry.typing == "cast":
        return str(operands[0]), op.removeprefix("to_")
    common = np.result_type(*_sampled(samples))
    try:
        result = entry.numpy(*samples).dtype
    except TypeError:
        raise _undefined(op, common.name) from None
    except OverflowError:
        check_fit(operands, common.name)
        raise
    inner = result if entry.typing == "same" else common
    check_fit(operands, inner.name)
    if inner.kind not in entry.kinds:
        raise _undefined(op, common.name)
    return _supported(op, inner.name, operands), result.name


def _supported(op: str, dtype: str, operands: Sequence[Typed]) -> str:
    """A dtype that arrays have, for an operator on operands."""
    if f"to_{dtype}" not in OPERATORS:
        raise unsupported(op, next((one for one in operands if isinstance(one, str)), dtype), dtype)
    return dtype


def unsupported(op: str, operand: str, dtype: str) -> ShapeError:
    """The error for an operator that NumPy computes in a dtype that arrays do not have."""
    return shape_error(
        "CYC121",
        f"`{op}` of {operand} arrays is {dtype} in NumPy, which arrays in kernels do not have",
        help='convert them first, e.g. `x.astype("float64")`',
    )


def check_fit(operands: Sequence[Typed], dtype: str) -> None:
    """Raise `ShapeError` (CYC120) where a whole number does not fit arrays of integers."""
    if np.dtype(dtype).kind != "i":
        return
    limits = np.iinfo(dtype)
    for number in operands:
        if isinstance(number, (int, np.integer)) and not limits.min <= number <= limits.max:
            what = (
                "a number that indices make may reach" if isinstance(number, RangeBound) else "the constant"
            )
            fits = (
                f"{number}, which does not fit"
                if isinstance(number, RangeBound)
                else f"{number} does not fit"
            )
            raise shape_error(
                "CYC120",
                f"{what} {fits} arrays of dtype {dtype}, which end at"
                f" {limits.max if number > 0 else limits.min}",
                help='convert the array, e.g. `x.astype("int64")`',
            )


def converted(value: Element, dtype: str) -> Element:
    """An element in a dtype; a number as it is, since it adopts its neighbour's."""
    if isinstance(value, Constant) or value.dtype == dtype:
        return value
    result: Element = dispatch.apply(f"to_{dtype}", value)
    return result


def explicit_cast(value: Element, dtype: str) -> Element:
    """An element in a dtype, a number too."""
    if isinstance(value, Constant):
        return Apply(f"to_{dtype}", (value,), value.span)
    return converted(value, dtype)


def check_storable(dtype: str, target: str, *, in_place: str | None = None) -> None:
    """Raise `ShapeError` (CYC120) where NumPy does not store values of a dtype in an array of another."""
    allowed = np.can_cast(dtype, target, "same_kind" if in_place else "unsafe")
    if allowed and not (np.dtype(dtype).kind == "c" and np.dtype(target).kind not in "bc"):
        return
    what = f"`{in_place}` gives" if in_place else "the value has"
    raise shape_error(
        "CYC120",
        f"{what} dtype {dtype}, and the array that keeps it has {target}",
        help=f'convert it, e.g. with `.astype("{target}")`, or take `cy.real` of it'
        if np.dtype(dtype).kind == "c"
        else f'convert it with `.astype("{target}")`, or declare the array with dtype="{dtype}"',
    )


def python_number(value: object) -> complex | None:
    """A number of Python as that: sizes, which remember tiles, and those of enumerations too; else None."""
    for kind in (bool, int, float, complex):
        if isinstance(value, kind):
            return kind(value)
    return None


def _sample(operand: Typed) -> Any:
    """Return a value that NumPy promotes as an operand; only `int` itself does it know as Python's."""
    if isinstance(operand, (str, np.generic)):
        return np.empty(0, operand if isinstance(operand, str) else operand.dtype)
    return int(operand) if isinstance(operand, RangeBound) else operand


def _sampled(samples: Sequence[Any]) -> list[Any]:
    """Operands for NumPy's promotion: of numbers alone that of Python's types."""
    return [sample.dtype if isinstance(sample, np.ndarray) else sample for sample in samples]


def _undefined(op: str, dtype: str) -> ShapeError:
    floating = "f" in OPERATORS[op].kinds and np.dtype(dtype).kind in "bi"
    return shape_error(
        "CYC121",
        f"`{op}` is not defined on {dtype} arrays",
        help='convert them, e.g. `x.astype("float64")`'
        if floating
        else "convert them, or use an operator that is defined",
    )
