"""What a kernel reads of the module around it: which names, and whether what they mean may change."""

from __future__ import annotations

import hashlib
import inspect
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from cyclotron.language.arrays.blocked import Blocked

if TYPE_CHECKING:
    from cyclotron.language.kernel import Kernel


def fixed(value: Any, around: tuple[Kernel, ...]) -> str:
    """The text of a value that does not change while it has this text, or nothing."""
    from cyclotron.language.kernel import Kernel

    if isinstance(value, Kernel):
        read = () if value in around else value.globals_read(within=around)
        return "" if read is None or value.closes_over_variables else f"kernel {value.number} {read}"
    if isinstance(value, ModuleType):
        return value.__name__ if _is_library(value.__name__) else ""
    if isinstance(value, type | FunctionType | np.ufunc) or inspect.isbuiltin(value):
        module = module_of(value) or "numpy"  # a ufunc names none
        return f"{module}.{getattr(value, '__qualname__', value)}" if _is_library(module) else ""
    if type(value) is tuple:
        parts = [fixed(part, around) for part in value]
        return f"({', '.join(parts)},)" if all(parts) else ""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        digest = hashlib.sha256(value.tobytes()).hexdigest()
        return f"{type(value).__qualname__} {value.dtype.str} {value.shape} {digest}"
    if isinstance(value, Blocked):
        return f"blocked {value.tile_shape} {fixed(value.array, around)}"
    if value is None or isinstance(value, bool | int | float | complex | str | np.generic | np.dtype):
        return f"{type(value).__qualname__} {value!r}"
    return ""


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in ("cyclotron", "numpy", "builtins", "math", "cmath")


def module_of(value: object) -> str:
    """The name of the module that defines a function or class, or an empty text."""
    name = getattr(value, "__module__", None)
    return name if isinstance(name, str) else ""
