"""The axes of a sweep, from what the user gave for them."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from cyclotron.machine.link_map import LinkMap
from cyclotron.machine.machine import Machine
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.errors import ExecutionError

_MACHINE = "a cy.Machine, or a mapping of names to machines"
_SCHEDULE = "a cy.Schedule, several, or a mapping of names to schedules; None is the compiler's choice"
_TOPOLOGY = 'its name, for example "torus", or a tuple with a name for each dimension'


class Named(NamedTuple):
    """Meanings of the names of an axis, and the machine where it is no axis."""

    schedules: Mapping[str, Schedule | None]
    machines: Mapping[str, Machine]
    machine: Machine | None

    @classmethod
    def of(cls, schedule: Any, machine: Any) -> Named:
        """Of the arguments of a sweep; ExecutionError where one is something else."""
        schedules = schedule if isinstance(schedule, Mapping) else {}
        _require("`schedule`", schedules.values(), (Schedule, type(None)), _SCHEDULE)
        if not isinstance(machine, Mapping):
            _require("`machine`", [machine], (Machine, type(None)), _MACHINE)
            return cls(schedules, {}, machine)
        if not machine:
            raise no_value("machine")
        _require("`machine`", machine.values(), (Machine,), _MACHINE)
        return cls(schedules, machine, None)


def several(value: Any, kind: type | tuple[type, ...] = ()) -> list[Any] | None:
    """Return the values of an axis, one of them where no sequence is given; None where it is left out."""
    if value is None:
        return None
    return list(value) if isinstance(value, Iterable) and not isinstance(value, kind) else [value]


def schedules_of(schedule: Any) -> list[Any] | None:
    """Return the schedules of an axis, or their names."""
    schedules = several(schedule, (Schedule, str))
    if not isinstance(schedule, Mapping):
        _require("`schedule`", schedules or (), (Schedule, type(None)), _SCHEDULE)
    return schedules


def topologies_of(topology: Any) -> list[Any] | None:
    """Return the topologies of an axis; `Machine` knows their names."""
    topologies = several(topology, (str, LinkMap))
    _require("`topology`", topologies or (), (str, tuple, list, LinkMap), _TOPOLOGY)
    return topologies and [tuple(one) if isinstance(one, list) else one for one in topologies]


def grids_of(grid: Any) -> list[Any] | None:
    """Return the grids of an axis; integers are one grid."""
    grids = several(grid)
    if grids and all(isinstance(extent, numbers.Integral) for extent in grids):
        return [tuple(grids)]
    return grids and [tuple(one) if isinstance(one, Iterable) else one for one in grids]


def unfit(message: str, help: str) -> ExecutionError:
    """Return the error of a sweep that cannot be."""
    return ExecutionError(message, code="CYC716", help=help)


def no_value(name: str) -> ExecutionError:
    """Return the error of an axis without a value (CYC716)."""
    return unfit(f"`{name}` has no value", "give one or more, or leave it out")


def invalid(what: str, value: object, wanted: str) -> ExecutionError:
    """Return the error of an argument of another type (CYC716)."""
    return unfit(f"{what} of a sweep is {value!r}, of type {type(value).__name__}", f"give {wanted}")


def _require(what: str, values: Iterable[Any], kinds: tuple[type, ...], wanted: str) -> None:
    for value in values:
        if not isinstance(value, kinds):
            raise invalid(what, value, wanted)
