"""The input language: kernels, blocked arrays, and the functions that one calls in them.

Examples
--------
>>> from cyclotron import language
>>> language.sqrt is cy.sqrt
True
"""

from __future__ import annotations

from cyclotron.language import il
from cyclotron.language.functions import linalg
from cyclotron.language.functions.registry import PUBLIC
from cyclotron.language.kernel import Kernel
from cyclotron.language.members import typed
from cyclotron.language.trace.with_blocks import fuse, host, ignore
from cyclotron.language.values.blocked import Blocked, Extent, Spec, blocked, spec
from cyclotron.language.values.numpy_functions import NAMES

globals().update(PUBLIC)  # type checkers read __init__.pyi
NAMES.update(("blocked", "fuse", "ignore", "linalg", "spec"))

__all__ = [
    "Blocked",
    "Extent",
    "Kernel",
    "Spec",
    "blocked",
    "fuse",
    "host",
    "ignore",
    "il",
    "linalg",
    "spec",
    "typed",
    *PUBLIC,
]


def __dir__() -> list[str]:
    return __all__
