"""What was made of kernels before, so that equal calls compile once."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cyclotron.language import Kernel
from cyclotron.language.arguments import TensorArgument

if TYPE_CHECKING:
    from cyclotron.compiler import Program
    from cyclotron.recurrences import Recurrences

_MOST = 64  # of a kernel


@dataclass(frozen=True)
class Known:
    """What was made of a kernel before, by all that it depends on."""

    systems: dict[Any, Recurrences] = dataclasses.field(default_factory=dict)
    programs: dict[Any, Program] = dataclasses.field(default_factory=dict)


def known_of(kernel: Kernel) -> Known:
    """Return what was made of a kernel."""
    known: Known = kernel.made.setdefault("programs", Known())
    return known


def keep(known: dict[Any, Any], key: Any, value: Any) -> None:
    """Keep what was made; of a kernel whose globals change from call to call only the last of it."""
    known[key] = value
    while len(known) > _MOST:
        del known[next(iter(known))]


def key_of(kernel: Kernel, values: tuple[Any, ...]) -> Any:
    """Return what the recurrences depend on; None where a host value cannot be compared.

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
    tensors: dict[str, TensorArgument] = kernel.tensor_arguments(values)
    parts: list[Any] = [read]
    for name, value in zip(kernel.signature.parameters, values, strict=True):
        parts.append(tensors.get(name, (type(value).__name__, value)))
    try:
        hash(tuple(parts))
    except TypeError:
        return None
    return tuple(parts)
