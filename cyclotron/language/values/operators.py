"""The operators of elements: what each is in NumPy and which dtypes have it, by the core's registry."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from cyclotron import _core
from cyclotron.language.values.source_span import shape_error
from cyclotron.support.dtypes import ADDED, HAS_ADDED, advice, load_added

USUAL_DTYPES = tuple(name for name in _core.dtypes() if name not in ADDED)
"""Those that messages list, the same wherever `ml_dtypes` is installed."""
DTYPES = tuple(_core.dtypes()) if HAS_ADDED else USUAL_DTYPES
Typing = Literal["same", "truth", "select", "part", "cast"]


@dataclass(frozen=True)
class Operator:
    """One operator.

    Attributes
    ----------
    numpy : callable
        The function of NumPy that it is on scalars.
    kinds : str
        NumPy's letters of the dtypes that have it: b(ool), i(nt), u(int), f(loat), c(omplex).
    typing : {"same", "truth", "select", "part", "cast"}
        The result has the dtype of the operands; is bool; has the dtype of all operands but the first, which
        is bool; is real where the operand is complex; has the dtype in the operator's name.
    """

    numpy: Callable[..., Any]
    kinds: str
    typing: Typing = "same"


def _normalized_index(index: Any, size: Any) -> Any:
    outside = (np.asarray(index) < -size) | (np.asarray(index) >= size)
    if np.any(outside):
        raise ValueError("an index is outside of its axis")
    return np.where(np.asarray(index) < 0, index + size, index)


def _itself(a: Any) -> Any:
    return a


# Where NumPy has another name for it, and what operators on tiles do to scalars.
_ON_SCALARS: Mapping[str, Callable[..., Any]] = {
    "normalize_index": _normalized_index,
    "first_maximum": lambda a, b: np.where(b > a, b, a),
    "first_minimum": lambda a, b: np.where(b < a, b, a),
    "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or,
    "bit_xor": np.bitwise_xor,
    "bit_not": np.invert,
    "matmul": np.multiply,
    "syrk": np.square,
    "solve_triangular": lambda a, b: np.true_divide(b, a),
    "inv_triangular": np.reciprocal,
    "cholesky": np.sqrt,
    "lu": _itself,
    "ldl": np.real,
}


def _numpy_function(entry: _core.Operator) -> Callable[..., Any]:
    """Return the function that the core's entry names, on scalars."""
    if entry.name in _ON_SCALARS:
        return _ON_SCALARS[entry.name]
    if entry.typing == "cast":
        return lambda a: np.asarray(a).astype(entry.name.removeprefix("to_"))
    if entry.family == "reduction":
        return _itself
    called = re.match(r"np\.(\w+)\(", entry.numpy)
    function: Callable[..., Any] = getattr(np, called[1] if called else entry.name)
    return function


OPERATORS: Mapping[str, Operator] = {
    entry.name: Operator(_numpy_function(entry), entry.kinds, cast(Typing, entry.typing))
    for entry in _core.operators()
    if not entry.accumulating and (entry.typing != "cast" or entry.name.removeprefix("to_") in DTYPES)
}


def result_dtype(op: str, dtype: str) -> str:
    """The dtype of the result of an operator on operands of one dtype, by NumPy's name."""
    typing = OPERATORS[op].typing
    if typing == "truth":
        return "bool"
    if typing == "cast":
        return op.removeprefix("to_")
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype) if typing == "part" else dtype


def named_dtype(dtype: object) -> str:
    """NumPy's name of what a user gives as a dtype.

    Raises
    ------
    ShapeError
        CYC120 if NumPy has no such dtype.
    """
    load_added(dtype)
    try:
        return np.dtype(dtype).name  # type: ignore[call-overload, no-any-return]
    except TypeError:
        help = advice(dtype, f"use {', '.join(USUAL_DTYPES)}")
        raise shape_error("CYC120", f"there is no dtype {dtype!r}", help=help) from None


def evaluate(op: str, constants: Sequence[complex], dtype: str | None) -> complex:
    """An operator on numbers in a dtype; where that is None in Python's arithmetic, if Python has it."""
    if dtype is None and op in _PYTHON:
        return _PYTHON[op](*constants)
    first = int(op == "where")
    values = [constant if dtype is None else np.dtype(dtype).type(constant) for constant in constants[first:]]
    with np.errstate(all="ignore"):  # as programs
        value: complex = np.asarray(OPERATORS[op].numpy(*constants[:first], *values)).item()
    return value


_PYTHON: Mapping[str, Callable[..., complex]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "maximum": max,
    "minimum": min,
    "first_maximum": max,
    "first_minimum": min,
    "negative": operator.neg,
    "absolute": abs,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
}
