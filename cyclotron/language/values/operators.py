"""The operators of elements: what each is in NumPy and which dtypes have it; the core has the same table."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cyclotron.errors import ShapeError
from cyclotron.language.expressions.position import here

DTYPES = ("bool", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128")
Typing = Literal["same", "truth", "select", "part", "cast"]


@dataclass(frozen=True)
class Operator:
    """One operator.

    Attributes
    ----------
    numpy : callable
        The function of NumPy that it is on scalars.
    kinds : str
        NumPy's letters of the dtypes that have it: b(ool), i(nt), f(loat), c(omplex).
    typing : {"same", "truth", "select", "part", "cast"}
        The result has the dtype of the operands; is bool; has the dtype of all operands but the first, which
        is bool; is real where the operand is complex; has the dtype in the operator's name.
    """

    numpy: Callable[..., Any]
    kinds: str
    typing: Typing = "same"


def _cast(dtype: str) -> Callable[[Any], Any]:
    return lambda a: np.asarray(a).astype(dtype)


def _normalized_index(index: Any, size: Any) -> Any:
    outside = (np.asarray(index) < -size) | (np.asarray(index) >= size)
    if np.any(outside):
        raise ValueError("an index is outside of its axis")
    return np.where(np.asarray(index) < 0, index + size, index)


def _itself(a: Any) -> Any:
    return a


OPERATORS: Mapping[str, Operator] = {
    "add": Operator(np.add, "bifc"),
    "subtract": Operator(np.subtract, "ifc"),
    "multiply": Operator(np.multiply, "bifc"),
    "divide": Operator(np.true_divide, "fc"),
    "maximum": Operator(np.maximum, "bifc"),
    "minimum": Operator(np.minimum, "bifc"),
    "power": Operator(np.power, "ifc"),
    "floor_divide": Operator(np.floor_divide, "if"),
    "remainder": Operator(np.remainder, "if"),
    "arctan2": Operator(np.arctan2, "f"),
    "hypot": Operator(np.hypot, "f"),
    "normalize_index": Operator(_normalized_index, "i"),
    "negative": Operator(np.negative, "ifc"),
    "sqrt": Operator(np.sqrt, "fc"),
    "exp": Operator(np.exp, "fc"),
    "log": Operator(np.log, "fc"),
    "absolute": Operator(np.absolute, "bifc", "part"),
    "sign": Operator(np.sign, "if"),
    "floor": Operator(np.floor, "f"),
    "ceil": Operator(np.ceil, "f"),
    "sin": Operator(np.sin, "fc"),
    "cos": Operator(np.cos, "fc"),
    "sinh": Operator(np.sinh, "fc"),
    "cosh": Operator(np.cosh, "fc"),
    "tanh": Operator(np.tanh, "fc"),
    "log1p": Operator(np.log1p, "f"),
    "expm1": Operator(np.expm1, "f"),
    "conj": Operator(np.conjugate, "ifc"),
    "real": Operator(np.real, "bifc", "part"),
    "imag": Operator(np.imag, "bifc", "part"),
    "copy": Operator(np.copy, "bifc"),
    "equal": Operator(np.equal, "bifc", "truth"),
    "not_equal": Operator(np.not_equal, "bifc", "truth"),
    "less": Operator(np.less, "bifc", "truth"),
    "less_equal": Operator(np.less_equal, "bifc", "truth"),
    "greater": Operator(np.greater, "bifc", "truth"),
    "greater_equal": Operator(np.greater_equal, "bifc", "truth"),
    "is_nan": Operator(np.isnan, "bifc", "truth"),
    "is_finite": Operator(np.isfinite, "bifc", "truth"),
    "logical_and": Operator(np.logical_and, "bifc", "truth"),
    "logical_or": Operator(np.logical_or, "bifc", "truth"),
    "logical_xor": Operator(np.logical_xor, "bifc", "truth"),
    "logical_not": Operator(np.logical_not, "bifc", "truth"),
    "bit_and": Operator(np.bitwise_and, "bi"),
    "bit_or": Operator(np.bitwise_or, "bi"),
    "bit_xor": Operator(np.bitwise_xor, "bi"),
    "bit_not": Operator(np.invert, "bi"),
    "where": Operator(np.where, "bifc", "select"),
    "to_bool": Operator(_cast("bool"), "bifc", "cast"),
    "to_int32": Operator(_cast("int32"), "bif", "cast"),
    "to_int64": Operator(_cast("int64"), "bif", "cast"),
    "to_float16": Operator(_cast("float16"), "bif", "cast"),
    "to_float32": Operator(_cast("float32"), "bif", "cast"),
    "to_float64": Operator(_cast("float64"), "bif", "cast"),
    "to_complex64": Operator(_cast("complex64"), "bifc", "cast"),
    "to_complex128": Operator(_cast("complex128"), "bifc", "cast"),
    "transpose": Operator(np.transpose, "bifc"),
    "matmul": Operator(np.multiply, "bifc"),
    "syrk": Operator(np.square, "bifc"),
    "solve_triangular": Operator(lambda a, b: np.true_divide(b, a), "fc"),
    "inv_triangular": Operator(np.reciprocal, "fc"),
    "cholesky": Operator(np.sqrt, "fc"),
    "lu": Operator(_itself, "fc"),
    "ldl": Operator(np.real, "fc"),
    "row_sum": Operator(_itself, "bifc"),
    "row_max": Operator(_itself, "bifc"),
    "row_min": Operator(_itself, "bifc"),
    "column_sum": Operator(_itself, "bifc"),
    "column_max": Operator(_itself, "bifc"),
    "column_min": Operator(_itself, "bifc"),
}


def result_dtype(op: str, dtypes: Sequence[str | None]) -> str | None:
    """The dtype of a result; None where that is for a neighbour to say, as for numbers alone.

    Parameters
    ----------
    op : str
        The name of an operator.
    dtypes : sequence of str or None
        Those of the operands, which agree; None for numbers.

    Returns
    -------
    str or None
        NumPy's name.
    """
    typing = OPERATORS[op].typing
    if typing == "truth":
        return "bool"
    if typing == "cast":
        return op.removeprefix("to_")
    common = next((dtype for dtype in dtypes[typing == "select" :] if dtype is not None), None)
    if typing == "part" and common is not None:
        return {"complex64": "float32", "complex128": "float64"}.get(common, common)
    return common


def named_dtype(dtype: object) -> str:
    """NumPy's name of what a user gives as a dtype.

    Raises
    ------
    ShapeError
        CYC120 if NumPy has no such dtype.
    """
    try:
        return np.dtype(dtype).name  # type: ignore[call-overload, no-any-return]
    except TypeError:
        raise ShapeError(
            f"there is no dtype {dtype!r}", code="CYC120", span=here(), help=f"use {', '.join(DTYPES)}"
        ) from None


def evaluate(op: str, constants: Sequence[complex]) -> complex:
    """An operator on numbers, in Python's arithmetic where Python has it."""
    if op in _PYTHON:
        return _PYTHON[op](*constants)
    value: complex = np.asarray(OPERATORS[op].numpy(*constants)).item()
    return value


_PYTHON: Mapping[str, Callable[..., complex]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "maximum": max,
    "minimum": min,
    "negative": operator.neg,
    "absolute": abs,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
}
