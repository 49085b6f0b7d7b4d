"""Names of NumPy that are no functions: numbers, dtypes, and objects that are subscripted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cyclotron.language.functions.grids import c_, mgrid, ogrid, r_
from cyclotron.language.values.operators import USUAL_DTYPES

_NUMBERS = ("e", "euler_gamma", "inf", "nan", "newaxis", "pi")
_CLASSES = (
    "bool_",
    "complex64",
    "complex128",
    "finfo",
    "float16",
    "float32",
    "float64",
    "iinfo",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
)
CONSTANTS: Mapping[str, Any] = {
    **{name: getattr(np, name) for name in (*_NUMBERS, *_CLASSES)},
    "c_": c_,
    "mgrid": mgrid,
    "ogrid": ogrid,
    "r_": r_,
}
"""The values of `cyclotron` under NumPy's names, for kernels with ``import cyclotron as np``."""
assert {f"{name}_" if name == "bool" else name for name in USUAL_DTYPES} <= {*_CLASSES}
