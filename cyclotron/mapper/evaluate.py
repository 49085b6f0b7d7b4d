"""The cost of one schedule: compiled, and simulated for its time alone; or the reason of its refusal."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cyclotron import _core
from cyclotron.compiler.ports import through_ports
from cyclotron.compiler.program import Program
from cyclotron.explore.energy import energy_picojoules
from cyclotron.machine.machine import Machine
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.errors import CyclotronError

OBJECTIVES = ("cycles", "memory", "pes", "energy")


@dataclass(frozen=True)
class Measured:
    """The measures of a mapping that compiles.

    Attributes
    ----------
    schedule : Schedule
        As it was tried.
    complete : Schedule
        With all indices in space or time.
    cycles : int
        Simulated clock cycles.
    memory : int
        Bytes that the fullest PE needs.
    pes : int
        PEs of the array.
    tile : tuple of int
        What the arguments were made with; empty where there was no choice.
    energy : float or None
        Of the run, in picojoules; None where the machine has no energies.
    """

    schedule: Schedule
    complete: Schedule
    cycles: int
    memory: int
    pes: int
    tile: tuple[int, ...] = ()
    energy: float | None = None

    def value(self, objective: str) -> float:
        """Return the measure of an objective; 0 of one that the machine does not have."""
        return getattr(self, objective) or 0


@dataclass(frozen=True)
class Refused:
    """The refusal of a mapping.

    Attributes
    ----------
    schedule : Schedule
    error : CyclotronError
        Of the compiler or of the simulator.
    tile : tuple of int
    """

    schedule: Schedule
    error: CyclotronError
    tile: tuple[int, ...] = ()

    @property
    def reason(self) -> str:
        """The code of the error."""
        return self.error.code or type(self.error).__name__


def evaluate(
    system: _core.System, schedule: Schedule, machine: Machine, tile: tuple[int, ...] = ()
) -> Measured | Refused:
    """Compile a system for a schedule and simulate its time.

    Parameters
    ----------
    system : _core.System
    schedule : Schedule
    machine : Machine
    tile : tuple of int
        Kept with the result.

    Returns
    -------
    Measured or Refused
    """
    try:
        compiled = _core.compile(system, schedule.to_core(), machine.to_core())
        program = through_ports(compiled, system, schedule, machine).program
        timing = _core.simulate(program, [], functional=False, event_limit=0, engine="auto")
        energy = energy_picojoules(Program(program, machine=machine), timing)
    except CyclotronError as error:
        return Refused(schedule, error, tile)
    return Measured(
        schedule,
        Schedule.from_core(compiled.schedule),
        int(timing["cycles"]),
        max((int(one.memory_bytes) for one in program.classes), default=0),
        math.prod(program.grid),
        tile,
        energy,
    )
