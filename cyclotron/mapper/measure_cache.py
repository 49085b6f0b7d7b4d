"""The measures of mappings, on disk: a search of a system on a machine goes on where another ended."""

from __future__ import annotations

import dataclasses
import json
import time
from typing import Any

from cyclotron import _core, cache
from cyclotron.language.lower.recorded import RecordedSystem
from cyclotron.machine.machine import Machine
from cyclotron.mapper.evaluate import Measured
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.errors import CyclotronError

_SECONDS = 5.0  # between writes, of which a killed search loses one


class MeasureCache:
    """The measures of a system on a machine, beside the programs of `cyclotron.cache`; none if that is off.

    Parameters
    ----------
    system : _core.System
    machine : Machine
    """

    def __init__(self, system: _core.System, machine: Machine) -> None:
        self._store: cache.ProgramCache | None = None
        self._key = ""
        if isinstance(system, RecordedSystem):
            self._store = cache.programs()
            self._key = cache.entry_key("measures", system.digest, repr(machine.to_dict()))
        self._entries = self._read()
        self._written = time.monotonic()
        self._is_changed = False

    def get(self, schedule: Schedule, tile: tuple[int, ...]) -> Measured | None:
        """Return what a schedule took; None where it was not tried, or refused."""
        entry = self._entries.get(_name(schedule))
        if entry is None:
            return None
        try:
            complete = Schedule.from_dict(entry["complete"])
            return Measured(schedule, complete, tile=tile, **entry["measures"])
        except (TypeError, KeyError, ValueError, CyclotronError):  # of another layout
            return None

    def put(self, found: Measured) -> None:
        """Keep what a schedule took; with others, after some seconds."""
        complete = found.complete.to_dict()
        if Schedule.from_dict(complete) != found.complete:
            return
        measures = {name: getattr(found, name) for name in _MEASURES}
        self._entries[_name(found.schedule)] = {"complete": complete, "measures": measures}
        self._is_changed = True
        if time.monotonic() > self._written + _SECONDS:
            self.write()

    def write(self) -> None:
        """Write what is new, with what another process has written in the meantime."""
        if self._store is None or not self._is_changed:
            return
        self._entries = self._read() | self._entries
        self._store.put(self._key, json.dumps(self._entries).encode())
        self._written, self._is_changed = time.monotonic(), False

    def _read(self) -> dict[str, Any]:
        content = None if self._store is None else self._store.get(self._key)
        try:
            return dict(json.loads(content)) if content else {}
        except (TypeError, ValueError):
            return {}


_MEASURES = [
    field.name for field in dataclasses.fields(Measured) if field.name not in ("schedule", "complete", "tile")
]


def _name(schedule: Schedule) -> str:
    return repr(schedule.to_dict())
