"""Recurrences and programs of kernels, so that equal calls compile once."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, TypeVar

from cyclotron.compiler.defaults import Placements
from cyclotron.compiler.program import Program
from cyclotron.compiler.recurrences import Recurrences
from cyclotron.language import Kernel
from cyclotron.language.values.scalar_type import identity

_CAPACITY = 64  # entries of a kernel, of each kind
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class KernelCache:
    """Recurrences and programs of one kernel, by all that they depend on."""

    systems: dict[Any, Recurrences] = dataclasses.field(default_factory=dict)
    programs: dict[Any, Program] = dataclasses.field(default_factory=dict)
    placements: dict[Any, Placements[Program]] = dataclasses.field(default_factory=dict)
    tiled: dict[Any, Program | None] = dataclasses.field(default_factory=dict)  # for threads or ranks


def cache_of(kernel: Kernel) -> KernelCache:
    """Return the cache of a kernel, which lives as long as the kernel does."""
    cache: KernelCache = kernel.cache.setdefault("compiler", KernelCache())
    return cache


def insert(entries: dict[Any, _Value], key: Any, value: _Value) -> _Value:
    """Add an entry, and return it; the oldest make room: globals of a kernel may change from call to call."""
    entries[key] = value
    while len(entries) > _CAPACITY:
        del entries[next(iter(entries))]
    return value


def cache_key(kernel: Kernel, values: tuple[Any, ...]) -> Any:
    """Return all that the recurrences depend on; None where a host value cannot be compared.

    A kernel that reads variables of a function around it, or globals that may change inside, is traced anew
    each time; arrays among globals are compared by their values.

    Parameters
    ----------
    kernel : Kernel
    values : tuple
        From `Kernel.bind`.
    """
    read = kernel.globals_read()
    if kernel.closes_over_variables or read is None:
        return None
    tensors = kernel.tensor_arguments(values)
    parts: list[Any] = [read]
    for name, value in zip(kernel.signature.parameters, values, strict=True):
        parts.append(tensors.get(name, (type(value), identity(value))))
    try:
        hash(tuple(parts))
    except TypeError:
        return None
    return tuple(parts)
