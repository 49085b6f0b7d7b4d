"""Compilations whose program was on disk: the other stages are compiled when they are asked for."""

from __future__ import annotations

import functools
import json
from typing import Any

from cyclotron import _core, cache
from cyclotron.compiler.recurrences import Recurrences
from cyclotron.language.lower.recorded import RecordedSystem
from cyclotron.machine.machine import Machine
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.errors import CyclotronError


class Deferred:
    """A result of `_core.compile`, of which only the program and the schedule are there from the start."""

    def __init__(
        self, program: _core.Program, schedule: _core.Schedule, chosen: bool, arguments: tuple[Any, ...]
    ) -> None:
        self.program = program
        self.schedule = schedule
        self.schedule_chosen = chosen
        self._arguments = arguments

    @property
    def system(self) -> _core.System:
        """The equations of the program."""
        system, _, machine = self._arguments
        return _core.reorder_reductions(system, self.schedule, machine)

    @functools.cached_property
    def _compiled(self) -> _core.Compiled:
        return _core.compile(*self._arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)


def deferred(recurrences: Recurrences, schedule: Schedule | None, machine: Machine) -> Deferred | None:
    """Return the compilation whose program is on disk; None where there is none, or it cannot be read.

    Parameters
    ----------
    recurrences : Recurrences
    schedule : Schedule or None
    machine : Machine
    """
    store, key = cache.programs(), _key(recurrences, schedule, machine)
    content = None if store is None or key is None else store.get(key)
    if content is None:
        return None
    head, _, data = content.partition(b"\n")
    try:
        stated = json.loads(head)
        program = _core.Program.from_bytes(data)
        complete = Schedule.from_dict(stated["schedule"]).to_core()
    except (ValueError, KeyError, CyclotronError):  # of another layout
        return None
    arguments = (recurrences.core, schedule.to_core() if schedule else None, machine.to_core())
    return Deferred(program, complete, stated["chosen"], arguments)


def store_program(
    recurrences: Recurrences, schedule: Schedule | None, machine: Machine, compiled: _core.Compiled
) -> None:
    """Put the program of a compilation on disk, unless its schedule would not be read as it is.

    Parameters
    ----------
    recurrences : Recurrences
    schedule : Schedule or None
    machine : Machine
    compiled : _core.Compiled
    """
    store, key = cache.programs(), _key(recurrences, schedule, machine)
    if store is None or key is None:
        return
    complete = Schedule.from_core(compiled.schedule)
    stated: dict[str, Any] = {"schedule": complete.to_dict(), "chosen": compiled.schedule_chosen}
    if Schedule.from_dict(stated["schedule"]) == complete:
        store.put(key, json.dumps(stated).encode() + b"\n" + compiled.program.to_bytes())


def _key(recurrences: Recurrences, schedule: Schedule | None, machine: Machine) -> str | None:
    """The entry of a compilation; None where no equations are recorded."""
    system = recurrences.core
    if not isinstance(system, RecordedSystem):
        return None
    chosen = None if schedule is None else schedule.to_dict()
    return cache.entry_key(system.digest, repr(chosen), repr(machine.to_dict()))
