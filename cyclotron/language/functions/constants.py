"""Names of NumPy that are no functions: numbers, dtypes, and objects that are subscripted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cyclotron.language.functions.grids import c_, mgrid, ogrid, r_
from cyclotron.language.values.operators import USUAL_DTYPES

_NUMBERS = ("e", "euler_gamma", "inf", "nan", "newaxis", "pi")
_CLASSES = (*(f"{name}_" if name == "bool" else name for name in USUAL_DTYPES), "finfo", "iinfo")
CONSTANTS: Mapping[str, Any] = {
    **{name: getattr(np, name) for name in (*_NUMBERS, *_CLASSES)},
    "c_": c_,
    "mgrid": mgrid,
    "ogrid": ogrid,
    "r_": r_,
}
"""The values of `cyclotron` under NumPy's names, for kernels with ``import cyclotron as np``."""
