"""Energies of a machine: of operations, of words on their way, and of time; each number with its unit."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

from cyclotron import _core
from cyclotron.machine.parts import FrozenDict, code, unfit, wrong_type

__all__ = ["Energy"]

_NUMBERS = (
    "hop_picojoules_per_byte",
    "register_picojoules_per_byte",
    "sram_picojoules_per_byte",
    "leakage_picojoules_per_cycle",
)


@dataclasses.dataclass(frozen=True, repr=False)
class Energy:
    """The energies of a machine, from which `Result.energy` is reckoned; all in picojoules.

    Parameters
    ----------
    operation_picojoules : mapping of str to mapping of str to float
        Of one operation on numbers, by operator and dtype: ``{"add": {"int32": 0.1}, "multiply": {...}}``. A
        product of matrices, and a multiply-add, is as many multiplications as additions; other reductions
        are additions or comparisons. What only moves numbers, ``where`` or a conversion, is free unless it
        is named.
    hop_picojoules_per_byte : float
        Of a byte from PE to PE. A message over a link goes as many hops as its PEs are apart along the grid;
        of a broadcast each PE that receives it is a hop.
    register_picojoules_per_byte, sram_picojoules_per_byte : float
        Of a byte that an instruction reads from or writes to a PE's registers, or its memory.
    memory_picojoules_per_byte : mapping of str to float
        Of a byte that is loaded from or stored to a memory, by its name in `Machine.memories`; ``"default"``
        is of all others, and of what PEs load and store that no memory serves.
    leakage_picojoules_per_cycle : float
        Of each PE that has a program, for as long as the run takes.
    source : str
        Where the numbers are from.

    Raises
    ------
    ShapeError
        CYC402 if a field has the wrong type or no unit; CYC401 if an energy is negative or not finite.

    Examples
    --------
    >>> cy.Energy({"add": {"int32": 0.1}}, hop_picojoules_per_byte=0.5).operation_picojoules["add"]["int32"]
    0.1
    """

    operation_picojoules: Mapping[str, Mapping[str, float]] = dataclasses.field(default_factory=dict)
    hop_picojoules_per_byte: float = 0.0
    register_picojoules_per_byte: float = 0.0
    sram_picojoules_per_byte: float = 0.0
    memory_picojoules_per_byte: Mapping[str, float] = dataclasses.field(default_factory=dict)
    leakage_picojoules_per_cycle: float = 0.0
    source: str = ""

    def __post_init__(self) -> None:
        for field in _NUMBERS:
            object.__setattr__(self, field, _picojoules(field, getattr(self, field)))
        given = _mapping("operation_picojoules", self.operation_picojoules)
        operations = {
            str(name): FrozenDict(_numbers(f"operation_picojoules.{name}", entry))
            for name, entry in given.items()
        }
        _check_names("operator", operations, [operator.name for operator in _core.operators()])
        _check_names("dtype", {dtype for entry in operations.values() for dtype in entry}, _core.dtypes())
        object.__setattr__(self, "operation_picojoules", FrozenDict(operations))
        memories = _numbers("memory_picojoules_per_byte", self.memory_picojoules_per_byte)
        object.__setattr__(self, "memory_picojoules_per_byte", FrozenDict(memories))
        if not isinstance(self.source, str):
            raise wrong_type("machine `energy.source`", self.source, "a text")

    __repr__ = code

    def __str__(self) -> str:
        return f"energies of {self.source}" if self.source else "energies"


def _check_names(what: str, given: Iterable[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            raise unfit(
                f"machine `energy.operation_picojoules` has the {what} `{name}`, which there is not",
                f"did you mean `{close[0]}`?" if close else f"it is one of: {', '.join(known)}",
                code="CYC402",
            )


def _mapping(field: str, value: object) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise wrong_type(f"machine `energy.{field}`", value, "a mapping to picojoules")
    return value


def _numbers(field: str, value: object) -> dict[str, float]:
    return {str(name): _picojoules(f"{field}.{name}", one) for name, one in _mapping(field, value).items()}


def _picojoules(field: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise wrong_type(f"machine `energy.{field}`", value, "a number of picojoules, for example 0.1")
    number = float(value)
    if not 0 <= number < math.inf:
        raise unfit(f"machine `energy.{field}` is {value}", "give picojoules, 0 or more", code="CYC401")
    return number
