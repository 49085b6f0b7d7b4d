"""Cyclotron compiles recurrences, written as plain NumPy-style Python, into one small program for each
processing element of a spatial machine, and runs them on a simulator, on threads and on MPI ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as _numpy

from cyclotron import il
from cyclotron.kernel import SEARCHES, Kernel, kernel
from cyclotron.language.functions import debug, random
from cyclotron.language.functions.constants import CONSTANTS
from cyclotron.language.functions.registry import PUBLIC
from cyclotron.machine import energies, fabric
from cyclotron.machine import presets as machines
from cyclotron.schedule import recipes as schedules
from cyclotron.support.environment import VERSION
from cyclotron.support.errors import CyclotronError
from cyclotron.support.lazy import lazy_names
from cyclotron.support.tracebacks import trim_shown

if TYPE_CHECKING:
    from cyclotron.schedule.schedule import Schedule

__version__ = VERSION

globals().update(PUBLIC, **CONSTANTS)  # type checkers read __init__.pyi
trim_shown(CyclotronError)


def _best_schedule(*args: Any) -> Schedule:
    """Search with the mapper, which few users need: it is imported here."""
    from cyclotron.mapper.map import best_schedule

    return best_schedule(*args)


SEARCHES["best"] = _best_schedule

_HOMES = {
    "cache": ["cache"],
    "compiler.dataflow": ["Dataflow"],
    "compiler.explain": ["Explanation"],
    "compiler.pe_class": ["PeClass"],
    "compiler.program": ["Program", "load", "prove"],
    "compiler.proof": ["Depths", "Proof"],
    "compiler.recurrences": ["Recurrences"],
    "explore.calibration": ["Calibration", "calibrate"],
    "explore.prediction": ["Prediction", "predict"],
    "explore.scale_sim": ["ScaleSimReport", "scale_sim"],
    "explore.sweep": ["Sweep", "sweep"],
    "explore.systolic": ["SystolicArrays", "systolic_arrays"],
    "graph": ["Graph"],
    "interop.network": ["NeuralNetwork"],
    "interop.timeloop": ["from_timeloop"],
    "interop.onnx": ["from_onnx"],
    "interop.torch": ["from_torch"],
    "language": ["Blocked", "Spec", "blocked", "fuse", "host", "ignore", "language", "spec", "typed"],
    "linalg": ["linalg"],
    "machine.link_map": ["LinkMap"],
    "machine.machine": ["Machine"],
    "machine.memory": ["Dram", "Memory"],
    "machine.energy": ["Energy"],
    "machine.network": ["Network", "Traffic"],
    "machine.parts": ["PE", "Chiplets", "Control", "Link", "Unit"],
    "mapper.map": ["map"],
    "mapper.mappings": ["Mappings"],
    "mpi.distribute": ["distribute"],
    "mpi.distributed_array": ["Distributed"],
    "mpi.layout": ["Layout"],
    "repro": ["save_repro"],
    "runtime.check": ["Check", "check"],
    "runtime.resident": ["Resident", "resident"],
    "runtime.result": ["Result"],
    "runtime.run": ["run"],
    "schedule.schedule": ["Fold", "Schedule", "block", "cyclic"],
    "support.environment": ["show_config"],
    "support.errors": [
        "BackendUnavailable",
        "CapacityError",
        "DeadlockError",
        "ExecutionError",
        "InternalError",
        "LegalityError",
        "PerformanceWarning",
        "ProgramError",
        "ScheduleError",
        "ShapeError",
        "TraceError",
    ],
}
# Kernels with `import cyclotron as np` have NumPy's other names too: those they know, and advice on the rest.
__getattr__, _, _lazy = lazy_names(__name__, _HOMES, others=_numpy)
__all__ = [
    "CyclotronError",
    "Kernel",
    "debug",
    "energies",
    "fabric",
    "il",
    "kernel",
    "machines",
    "random",
    "schedules",
    *PUBLIC,
    *CONSTANTS,
    *_lazy,
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
