"""Conversions by Python's and NumPy's types in kernels: `float(i)`, `np.float32(x[i])`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cyclotron.language.trace.conditions import truth
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import SymbolicArray
from cyclotron.language.values.condition import Condition, Extremum, Rounded
from cyclotron.language.values.dispatch import Arithmetic
from cyclotron.language.values.dtypes import own_dtype, typed_number
from cyclotron.language.values.index_numbers import as_python_scalar, counted, of_python, truth_number
from cyclotron.language.values.nodes import Constant, Element, IndexNumber
from cyclotron.language.values.operations import cast, element
from cyclotron.language.values.source_span import here, trace_error

_DTYPES = {float: "float64", complex: "complex128"}


def converted(kind: type[Any], value: Any) -> Any:
    """``il.converted(float, i)``: what a type makes of an index, of data, or of a value of the host.

    Python's numbers adopt the dtypes of their neighbours; those of NumPy's types have their own.

    Raises
    ------
    TraceError
        CYC105 where Python makes a whole number of a floating one, or of data.
    ShapeError
        CYC120 for types that arrays do not have, and whole numbers that do not fit them.
    """
    if not isinstance(value, (Affine, Arithmetic, Condition, Extremum, Rounded)):
        return kind(value)
    if issubclass(kind, np.generic):
        return _of_numpy(value, np.dtype(kind).name)
    if kind is bool:
        known = truth(value)
        return IndexNumber(known, here(), None) if isinstance(known, Element) else known
    if kind is int:
        return _whole(value)
    if isinstance(value, SymbolicArray) and value.shape:
        return kind(value)  # which arrays refuse
    one = element(value)
    if isinstance(one, Constant):
        return kind(one.value)
    return IndexNumber(cast(as_python_scalar(one), _DTYPES[kind]), here(), None)


def _of_numpy(value: Any, dtype: str) -> Any:
    if isinstance(value, SymbolicArray):
        return value.astype(dtype)
    one = element(value)
    made = cast(one, dtype)  # which refuses dtypes that arrays do not have
    return made if one.dtype is not None else typed_number(one, dtype)


def _whole(value: Any) -> Any:
    if isinstance(value, (Affine, Extremum, Rounded)):
        return value
    one = truth_number(value) if isinstance(value, Condition) else element(value)
    if one.dtype is None and np.dtype(own_dtype(one)).kind in "bi":
        return of_python(one, "int64") if one.is_typed else counted(one)
    if one.dtype is None:
        raise trace_error(
            "CYC105",
            "`int` is applied to a floating number that indices make",
            help="divide by `//`, which gives whole numbers, e.g. `i // 2`, or use `cy.floor`",
        )
    return int(one)  # which data refuse
