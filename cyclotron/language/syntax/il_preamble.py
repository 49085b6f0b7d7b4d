"""The lines before a kernel in the intermediate language with which its text runs."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from cyclotron.language.syntax.globals import module_of
from cyclotron.language.syntax.source import closure_of
from cyclotron.language.syntax.trees import walk

if TYPE_CHECKING:
    from cyclotron.language.syntax.rewrite import Rewritten


def preamble(function: FunctionType, rewritten: Rewritten) -> list[str]:
    """The imports and constants that a kernel's text needs; of arrays a comment."""
    lines = ["from cyclotron import il" + (f" as {rewritten.il}" if rewritten.il != "il" else "")]
    names = {node.id for node in walk(rewritten.node) if isinstance(node, ast.Name)}
    outer: Mapping[str, Any] = {**function.__globals__, **closure_of(function)}
    for name in sorted(names - set(function.__code__.co_varnames) - {rewritten.il}):
        value = outer.get(name)
        if isinstance(value, ModuleType):
            suffix = "" if value.__name__ == name else f" as {name}"
            lines.append(f"import {value.__name__}{suffix}")
        elif name in outer and isinstance(value, (bool, int, float, complex, str)):
            lines.append(f"{name} = {value!r}")
        elif isinstance(value, np.ndarray):
            lines.append(f"# {name}: the array of the host, of shape {value.shape} and dtype {value.dtype}")
        elif value is not None and getattr(sys.modules.get(module_of(value)), name, None) is value:
            lines.append(f"from {module_of(value)} import {name}")
    return lines
