"""Cyclotron compiles recurrences, written as plain NumPy-style Python, into one small program for each
processing element of a spatial machine, and runs them on a simulator, on threads and on MPI ranks."""

from cyclotron import il, language
from cyclotron.compiler.program import Program, load, prove
from cyclotron.compiler.recurrences import Recurrences
from cyclotron.kernel import Kernel, kernel
from cyclotron.language import Blocked, Spec, blocked, fuse, host, ignore, spec
from cyclotron.language.functions.registry import PUBLIC
from cyclotron.machine import presets as machines
from cyclotron.machine.machine import PE, Chiplets, Control, Link, LinkMap, Machine, Memory, Unit
from cyclotron.mpi.distributed import Distributed
from cyclotron.mpi.layout import Layout
from cyclotron.runtime.check import Check, check
from cyclotron.runtime.result import Result
from cyclotron.runtime.run import run
from cyclotron.schedule import recipes as schedules
from cyclotron.schedule.schedule import Fold, Schedule, block, cyclic
from cyclotron.support.environment import VERSION, show_config
from cyclotron.support.errors import (
    BackendUnavailable,
    CapacityError,
    CyclotronError,
    DeadlockError,
    ExecutionError,
    InternalError,
    LegalityError,
    ProgramError,
    ScheduleError,
    ShapeError,
    TraceError,
)
from cyclotron.support.lazy import lazy_names
from cyclotron.support.tracebacks import trim_uncaught

__version__ = VERSION

globals().update(PUBLIC)  # type checkers read __init__.pyi
trim_uncaught(CyclotronError)

__all__ = [
    "PE",
    "BackendUnavailable",
    "Blocked",
    "Calibration",
    "CapacityError",
    "Check",
    "Chiplets",
    "Control",
    "CyclotronError",
    "Dataflow",
    "DeadlockError",
    "Depths",
    "Distributed",
    "ExecutionError",
    "Explanation",
    "Fold",
    "Graph",
    "InternalError",
    "Kernel",
    "Layout",
    "LegalityError",
    "Link",
    "LinkMap",
    "Machine",
    "Memory",
    "PeClass",
    "Prediction",
    "Program",
    "ProgramError",
    "Proof",
    "Recurrences",
    "Result",
    "ScaleSimReport",
    "Schedule",
    "ScheduleError",
    "ShapeError",
    "Spec",
    "Sweep",
    "SystolicArrays",
    "TraceError",
    "Unit",
    "block",
    "blocked",
    "calibrate",
    "check",
    "cyclic",
    "distribute",
    "fuse",
    "host",
    "ignore",
    "il",
    "kernel",
    "language",
    "linalg",
    "load",
    "machines",
    "predict",
    "prove",
    "run",
    "scale_sim",
    "schedules",
    "show_config",
    "spec",
    "sweep",
    "systolic_arrays",
    *PUBLIC,
]

# Imported when they are asked for: few programs need them. Type checkers read __init__.pyi.
_HOMES = {
    "calibrate": "explore.calibration",
    "Calibration": "explore.calibration",
    "Dataflow": "compiler.dataflow",
    "Depths": "compiler.proof",
    "distribute": "mpi.distribute",
    "Explanation": "compiler.explain",
    "Graph": "graph",
    "linalg": "linalg",
    "PeClass": "compiler.pe_class",
    "predict": "explore.prediction",
    "Prediction": "explore.prediction",
    "Proof": "compiler.proof",
    "scale_sim": "explore.scale_sim",
    "ScaleSimReport": "explore.scale_sim",
    "Sweep": "explore.sweep",
    "sweep": "explore.sweep",
    "systolic_arrays": "explore.systolic",
    "SystolicArrays": "explore.systolic",
}
__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
