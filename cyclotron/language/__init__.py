"""The input language: kernels, blocked arrays, and what one writes in them."""

from __future__ import annotations

from cyclotron.language import il, linalg
from cyclotron.language.arrays import (
    abs,
    empty,
    empty_like,
    exp,
    full,
    full_like,
    log,
    maximum,
    minimum,
    row_max,
    row_sum,
    sqrt,
    zeros,
    zeros_like,
)
from cyclotron.language.blocked import Blocked, Extent, Spec, blocked, spec
from cyclotron.language.kernel import Kernel, kernel
from cyclotron.language.markers import host, ignore

__all__ = [
    "Blocked",
    "Extent",
    "Kernel",
    "Spec",
    "abs",
    "blocked",
    "empty",
    "empty_like",
    "exp",
    "full",
    "full_like",
    "host",
    "ignore",
    "il",
    "kernel",
    "linalg",
    "log",
    "maximum",
    "minimum",
    "row_max",
    "row_sum",
    "spec",
    "sqrt",
    "zeros",
    "zeros_like",
]
