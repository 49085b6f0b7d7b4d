"""Kinds of NumPy's dtypes, and of those that the package `ml_dtypes` adds."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

ADDED = ("float8_e4m3", "float8_e4m3fn", "float8_e5m2", "bfloat16")
"""Floats that NumPy has with `ml_dtypes` only."""
HAS_ADDED = importlib.util.find_spec("ml_dtypes") is not None


def load_added(text: object) -> None:
    """Have NumPy know the added floats, if a name or a text has one: it takes some tenths of a second."""
    if HAS_ADDED and isinstance(text, str) and any(name in text for name in ADDED):
        importlib.import_module("ml_dtypes")


def dtype_of(name: str) -> np.dtype[Any]:
    """Return NumPy's dtype of a name."""
    load_added(name)
    return np.dtype(name)


def advice(dtype: object, others: str) -> str:
    """Say what to give instead of what NumPy, or a kernel, has no dtype for."""
    if byte := {"int4": "int8", "uint4": "uint8"}.get(str(dtype)):
        packed = f'`(p << 4).astype("{byte}") >> 4` and `p.astype("{byte}") >> 4`'
        return f'give `x.astype("{byte}")`, also a byte a number, or two in each of a uint8 `p`: {packed}'
    is_added = isinstance(dtype, str) and dtype in ADDED
    return "install `ml_dtypes`, which has it: `pip install ml_dtypes`" if is_added else others


def kind_of(dtype: DTypeLike) -> str:
    """NumPy's letter of a dtype: b(ool), i(nt), u(int), f(loat) or c(omplex); added floats are floats.

    >>> kind_of("uint8")
    'u'
    """
    load_added(dtype)
    return "f" if (found := np.dtype(dtype)).name in ADDED else found.kind


# It remembers: where NumPy takes a name, an interrupt at that moment would become its `TypeError`.
@functools.cache
def is_castable(source: str, target: str, casting: Any = "safe") -> bool:
    """Tell whether NumPy converts elements of one dtype to another by a cast that is ``safe`` or the like.

    >>> is_castable("int32", "float64"), is_castable("float64", "int32", "same_kind")
    (True, False)
    """
    load_added(f"{source} {target}")
    with contextlib.suppress(TypeError):  # of a dtype that NumPy does not have here
        return bool(np.can_cast(np.dtype(source), np.dtype(target), casting))
    return False


def is_whole(dtype: DTypeLike) -> bool:
    """Tell whether elements are integers, with or without sign.

    >>> is_whole("uint8"), is_whole("bool")
    (True, False)
    """
    return kind_of(dtype) in "iu"
