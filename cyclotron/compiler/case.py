"""The last kernel that was compiled or run, by what it takes to do so again: for `cyclotron.save_repro`."""

from __future__ import annotations

import dataclasses
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from cyclotron.compiler.blocking import Tile
from cyclotron.language import Blocked, Kernel, Spec
from cyclotron.machine.machine import Machine
from cyclotron.schedule.schedule import Schedule


@dataclass(frozen=True)
class Case:
    """A call of a kernel that keeps neither it nor its arrays alive, but their shapes, dtypes and tiles.

    Attributes
    ----------
    kernel : weakref.ref of Kernel
    values : tuple
        From `Kernel.bind`.
    schedule : Schedule or None
    machine : Machine or None
    backend : str or None
        Of the run; None where it was only compiled.
    options : dict
        Of the run, those that are not the default.
    tile : int, "auto", mapping of str to int, or None
        The lengths of tiles that scalars were made into.
    """

    kernel: weakref.ref[Kernel]
    values: tuple[Any, ...]
    schedule: Schedule | None
    machine: Machine | None
    backend: str | None = None
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    tile: Tile = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(map(_spec_of, self.values)))


_LAST: list[Case] = []


def note(case: Case) -> None:
    """Make a case the last one."""
    _LAST[:] = [case]


def last_case() -> Case | None:
    """Return the last kernel that was compiled or run in this process."""
    return _LAST[-1] if _LAST else None


def _spec_of(value: Any) -> Any:
    if isinstance(value, Blocked):
        return Spec(tuple(value.array.shape), value.dtype.name, value.tile_shape)
    return Spec(value.shape, value.dtype.name, None) if isinstance(value, np.ndarray) else value
