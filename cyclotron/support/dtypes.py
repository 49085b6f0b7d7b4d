"""Kinds of NumPy's dtypes, and of those that the package `ml_dtypes` adds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

ADDED = ("float8_e4m3", "float8_e4m3fn", "float8_e5m2", "bfloat16")
"""Dtypes that the core has and kernels do not offer yet: NumPy has them with `ml_dtypes` only."""


def kind_of(dtype: DTypeLike) -> str:
    """NumPy's letter of a dtype: b(ool), i(nt), u(int), f(loat) or c(omplex); added floats are floats.

    >>> kind_of("uint8")
    'u'
    """
    found: np.dtype[Any] = np.dtype(dtype)
    return "f" if found.name in ADDED else found.kind


def is_whole(dtype: DTypeLike) -> bool:
    """Tell whether elements are integers, with or without sign.

    >>> is_whole("uint8"), is_whole("bool")
    (True, False)
    """
    return kind_of(dtype) in "iu"
