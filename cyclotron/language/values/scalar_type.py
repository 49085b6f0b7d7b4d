"""Types of scalars, and how operators promote them: as NumPy does, with Python's numbers weak (NEP 50)."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cyclotron.language.values.blocked import Extent
from cyclotron.language.values.context import recorder_or_none
from cyclotron.language.values.dispatch import SIGNS
from cyclotron.language.values.operators import OPERATORS, result_dtype
from cyclotron.language.values.ranges import ValueRange, range_of_operator
from cyclotron.language.values.source_span import shape_error
from cyclotron.support.dtypes import ADDED, is_castable, is_whole, kind_of
from cyclotron.support.errors import ShapeError

_PARTS = frozenset(["real", "imag"])
_ARITHMETIC = (frozenset([*SIGNS, "negative", "absolute", "bit_not"]) | _PARTS) - {
    "bit_and",
    "bit_or",
    "bit_xor",
}
_COMPARISONS = frozenset(["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
_EXTREMA = frozenset(["maximum", "minimum", "first_maximum", "first_minimum"])
_LOGIC = frozenset(["where", "logical_and", "logical_or", "logical_not"]) | _EXTREMA
_PYTHON = _COMPARISONS | _LOGIC | _ARITHMETIC | SIGNS.keys()
"""Operators that are Python's, too: of its numbers they make such."""
_WEAK = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
_PYTHONS = (*_WEAK, Extent)
_SAMPLES = {"b": True, "i": 1, "u": 1, "f": 1.0, "c": 1j}


class DTypeName(str):
    """NumPy's name of a dtype, with the dtype's attributes; equal to whatever names it in a kernel."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str.__eq__(self, other)
        try:
            return bool(np.dtype(str(self)) == other)
        except TypeError:
            return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __getattr__(self, name: str) -> Any:
        return getattr(np.dtype(str(self)), name)


dtype_name = functools.lru_cache(None)(DTypeName)


@dataclass(frozen=True)
class ScalarType:
    """The type of an element, of a number, or of the elements of an array.

    Attributes
    ----------
    dtype : str
        NumPy's name of the dtype in which it is computed.
    weak : bool
        Whether it is a number of Python's, which adopts the dtype of its neighbours.
    range : ValueRange or None
        Of weak whole numbers and truth values the least and the largest.
    """

    dtype: str
    weak: bool = False
    range: ValueRange | None = None

    @property
    def kind(self) -> str:
        """NumPy's letter of the dtype: b(ool), i(nt), u(int), f(loat) or c(omplex)."""
        return kind_of(self.dtype)


def literal(value: object) -> tuple[complex, ScalarType] | None:
    """A number of the host as one of Python, and its type; None of other values.

    Sizes, which remember tiles, are numbers of Python; of other classes of numbers, as of enumerations, NumPy
    makes numbers of its own. Masked ones are no numbers.
    """
    if isinstance(value, (int, float, complex)) and type(value) not in _PYTHONS:
        value = np.asarray(value)
    if isinstance(value, (np.generic, np.ndarray)) and not isinstance(value, np.ma.MaskedArray):
        is_number = value.ndim == 0 and kind_of(value.dtype) in "biufc" and value.dtype.char not in "gG"
        return (value.item(), ScalarType(value.dtype.name)) if is_number else None
    for kind, dtype in _WEAK.items():
        if isinstance(value, kind):
            number = kind(value)
            return number, ScalarType(dtype, True, (number, number) if isinstance(number, int) else None)
    return None


def identity(value: Any) -> Any:
    """Return what tells host values of one type apart: of floating numbers the bits, as -0.0 equals 0.0."""
    return np.asarray(value).tobytes() if isinstance(value, (float, complex, np.generic)) else value


def sum_dtype(dtype: str) -> str:
    """The dtype in which sums and products of whole arrays are kept: at least single precision (MA-044)."""
    return "float32" if dtype == "float16" or dtype in ADDED else dtype


def counted_dtype(dtype: str) -> str:
    """The dtype of NumPy's sums and products along axes: of whole numbers and bool one of 64 bits."""
    kind = kind_of(dtype)
    return "uint64" if kind == "u" else "int64" if kind in "bi" else dtype


def check_accumulator(terms: str, dtype: str) -> None:
    """Raise `ShapeError` (CYC120) where a declared accumulator does not hold its whole terms."""
    if kind_of(terms) in "iu" and kind_of(dtype) in "biu" and not is_castable(terms, dtype):
        raise shape_error(
            "CYC120",
            f"sums are kept in {dtype}, which does not hold their terms, of {terms}",
            help=f'give a dtype that does, e.g. dtype="{counted_dtype(terms)}", or convert the terms first,'
            f' `x.astype("{dtype}")`, where they are known to fit',
        )


def note_mixed(types: Iterable[ScalarType]) -> None:
    """Note in the recording the dtypes that an operator mixes."""
    met = {one.dtype for one in types if not one.weak}
    recorder = recorder_or_none() if len(met) > 1 else None
    if recorder is not None:
        recorder.mixed |= met


def promote(op: str, *types: ScalarType) -> tuple[str, ScalarType]:
    """The dtype in which NumPy computes an operator, and the type of the result.

    Of a selection's operands all but the first have that dtype. Of Python's numbers alone operators that
    Python has make such, truth values in arithmetic as whole numbers; NumPy's functions make NumPy's.

    Raises
    ------
    ShapeError
        CYC121 if the operator is not defined on them, CYC120 if a number does not fit the others' dtype.
    """
    note_mixed(types[OPERATORS[op].typing == "select" :])
    return _promoted(op, *types)


@functools.lru_cache(1024)
def _promoted(op: str, *types: ScalarType) -> tuple[str, ScalarType]:
    entry = OPERATORS[op]
    if entry.typing == "cast":
        if types[0].kind not in entry.kinds:
            raise undefined(op, types[0].dtype)
        return types[0].dtype, ScalarType(op.removeprefix("to_"))
    values = types[entry.typing == "select" :]
    first = values[0]
    if all(one == first for one in values) and not first.weak and first.kind in entry.kinds:
        return first.dtype, ScalarType(result_dtype(op, first.dtype))
    weak = all(one.weak for one in values)
    samples = [sample(one, as_integer=weak and op in _ARITHMETIC) for one in values]
    try:
        result = common = np.result_type(
            *(one.dtype if isinstance(one, np.ndarray) else one for one in samples)
        )
    except TypeError:  # floats of 8 or 16 bits and others, which operators convert all the same
        if entry.typing not in ("same", "truth"):
            raise mixed(op, [one.dtype for one in values]) from None
        result = common = np.asarray((np.add if entry.typing == "truth" else entry.numpy)(*samples)).dtype
    if entry.typing != "select":
        try:
            result = np.asarray(entry.numpy(*samples)).dtype
        except TypeError:
            raise undefined(op, common.name) from None
    inner = common if entry.typing in ("truth", "part") else result
    if op in _COMPARISONS and inner.kind in "iu" and inner != np.uint64 and not _fit(values, inner.name):
        inner = np.dtype("int64")  # NumPy compares such numbers as they are
    check_fit(values, inner.name)
    if kind_of(inner) not in entry.kinds:
        raise undefined(op, common.name)
    if f"to_{inner.name}" not in OPERATORS:
        raise unsupported(op, next((one.dtype for one in values if not one.weak), inner.name), inner.name)
    if not weak or op not in _PYTHON:
        return inner.name, ScalarType(result.name)
    ranges = [(0, 1) if one.kind == "b" else one.range for one in values]
    known = (0, 1) if result.kind == "b" else range_of_operator(op, ranges)
    return inner.name, ScalarType(result.name, True, known if result.kind in "bi" else None)


def unsupported(op: str, operand: str, dtype: str) -> ShapeError:
    """The error for an operator that NumPy computes in a dtype that arrays do not have."""
    return shape_error(
        "CYC121",
        f"`{op}` of {operand} arrays is {dtype} in NumPy, which arrays in kernels do not have",
        help='convert them first, e.g. `x.astype("float64")`',
    )


def mixed(op: str, dtypes: Sequence[str]) -> ShapeError:
    """The error for an operator on dtypes of which NumPy knows no common one."""
    return shape_error(
        "CYC121",
        f"`{op}` has operands of {' and '.join(dict.fromkeys(dtypes))}, which NumPy does not promote",
        help='convert them first, e.g. `x.astype("float32")`',
    )


def undefined(op: str, dtype: str) -> ShapeError:
    """The error for an operator that is not defined on a dtype."""
    truth = {"negative": "write `~x`, which is not", "subtract": "write `x ^ y`, which differ"}.get(op)
    floating = "f" in OPERATORS[op].kinds and kind_of(dtype) in "biu"
    return shape_error(
        "CYC121",
        f"`{op}` is not defined on {dtype} arrays",
        help=truth
        if truth and dtype == "bool"
        else 'convert them, e.g. `x.astype("float64")`'
        if floating
        else "convert them, or use an operator that is defined",
    )


def check_fit(types: Iterable[ScalarType], dtype: str) -> None:
    """Raise `ShapeError` (CYC120) where a weak whole number does not fit arrays of a dtype."""
    ranges = _ranges(types)
    if not is_whole(dtype):
        if any(max(map(abs, ends)) > sys.float_info.max for ends in ranges):
            raise shape_error(
                "CYC120", "a whole number is larger than all floating ones", help="make it smaller"
            )
        return
    limits = np.iinfo(dtype)
    for low, high in ranges:
        number = low if low < limits.min else high
        if limits.min <= number <= limits.max:
            continue
        wider = "int64" if np.iinfo("int64").min <= number <= np.iinfo("int64").max else "float64"
        text = (
            f"the constant {number} does not fit"
            if low == high
            else f"a number that indices make may reach {number}, which does not fit"
        )
        raise shape_error(
            "CYC120",
            f"{text} arrays of dtype {dtype}, which end at {limits.max if number > 0 else limits.min}",
            help=f'convert the array, e.g. `x.astype("{wider}")`',
        )


def _fit(types: Iterable[ScalarType], dtype: str) -> bool:
    """Return whether integers of a dtype hold all weak whole numbers."""
    limits = np.iinfo(dtype)
    return all(limits.min <= low and high <= limits.max for low, high in _ranges(types))


def _ranges(types: Iterable[ScalarType]) -> list[ValueRange]:
    """The ranges of weak whole numbers and truth values."""
    known = (one.range or ((0, 1) if one.weak and one.kind == "b" else None) for one in types)
    return [one for one in known if one is not None]


def check_storable(dtype: str, target: str, *, in_place: str | None = None) -> None:
    """Raise `ShapeError` (CYC120) where NumPy does not store values of a dtype in an array of another."""
    allowed = is_castable(dtype, target, "same_kind" if in_place else "unsafe")
    if allowed and not (kind_of(dtype) == "c" and kind_of(target) not in "bc"):
        return
    what = f"`{in_place}` gives" if in_place else "the value has"
    raise shape_error(
        "CYC120",
        f"{what} dtype {dtype}, and the array that keeps it has {target}",
        help=f'convert it, e.g. with `.astype("{target}")`, or take `cy.real` of it'
        if kind_of(dtype) == "c"
        else f'convert it with `.astype("{target}")`, or declare the array with dtype="{dtype}"',
    )


def sample(one: ScalarType, *, as_integer: bool = False) -> Any:
    """Return a value that NumPy promotes as a type; Python's truth values are whole numbers in arithmetic."""
    if not one.weak:
        return np.empty(0, one.dtype)
    return _SAMPLES["i" if one.kind == "b" and as_integer else one.kind]


def nothing_of(dtype: str) -> complex:
    """The number that changes none it is added to, in any bit."""
    return {"f": -0.0, "c": complex(-0.0, -0.0), "b": False}.get(kind_of(dtype), 0)
