"""The energy of a design that was simulated for its time alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cyclotron.compiler.program import Program
from cyclotron.runtime.backend import Execution
from cyclotron.runtime.result import Result


def energy_picojoules(program: Program, timing: Mapping[str, Any]) -> float | None:
    """Return the energy of a simulated run; None where the machine has no energies.

    Parameters
    ----------
    program : Program
    timing : mapping
        As the core's simulator returns it.

    Raises
    ------
    ExecutionError
        CYC712 if the machine has no energy for something that the run did.
    """
    if program.machine is None or program.machine.energy is None:
        return None
    return Result(program, "sim", Execution({}, timing), 0.0).energy.total
