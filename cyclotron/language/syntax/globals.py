"""Fingerprints of the globals that a kernel reads, by which it is known whether they change."""

from __future__ import annotations

import inspect
from types import FunctionType, ModuleType
from typing import Any, Protocol, runtime_checkable

import numpy as np

from cyclotron.language.values.blocked import Blocked


@runtime_checkable
class ReadsGlobals(Protocol):
    """A kernel, as far as others that name it need to know it."""

    number: int

    @property
    def closes_over_variables(self) -> bool:
        """Return whether it reads variables of a function around it, which may change."""

    def globals_read(self, *, within: tuple[Any, ...] = ()) -> tuple[tuple[str, str], ...] | None:
        """Return the fingerprints of the globals that it reads; None where one may change inside."""


def fingerprint(value: Any, around: tuple[ReadsGlobals, ...]) -> str:
    """Return a text of a value that changes where the value does; empty where it may change unseen."""
    if isinstance(value, ReadsGlobals) and hasattr(type(value), "globals_read"):  # not by `__getattr__`
        read = () if value in around else value.globals_read(within=around)
        return "" if read is None or value.closes_over_variables else f"kernel {value.number} {read}"
    if isinstance(value, ModuleType):
        return value.__name__ if _is_library(value.__name__) else ""
    if isinstance(value, type | FunctionType | np.ufunc) or inspect.isbuiltin(value):
        module = module_of(value) or "numpy"  # a ufunc names none
        return f"{module}.{getattr(value, '__qualname__', value)}" if _is_library(module) else ""
    if type(value) is tuple:
        parts = [fingerprint(part, around) for part in value]
        return f"({', '.join(parts)},)" if all(parts) else ""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        import hashlib  # few kernels read arrays of the host

        digest = hashlib.sha256(value.tobytes()).hexdigest()
        return f"{type(value).__qualname__} {value.dtype.str} {value.shape} {digest}"
    if isinstance(value, Blocked):
        return f"blocked {value.tile_shape} {fingerprint(value.array, around)}"
    if value is None or isinstance(value, bool | int | float | complex | str | np.generic | np.dtype):
        return f"{type(value).__qualname__} {value!r}"
    return ""


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in ("cyclotron", "numpy", "builtins", "math", "cmath")


def module_of(value: object) -> str:
    """The name of the module that defines a function or class, or an empty text."""
    name = getattr(value, "__module__", None)
    return name if isinstance(name, str) else ""
