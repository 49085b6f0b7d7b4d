"""``backend="sim"``: the cycle-accurate simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cyclotron import _core
from cyclotron.compiler.program import Program
from cyclotron.runtime.backend import Backend, Execution, Options, arrays_of, empty_outputs
from cyclotron.support.progress import progress_bar

_EVENT_LIMIT = 200_000


def run(program: Program, inputs: Mapping[str, Any], options: Options, /) -> Execution:
    """Simulate a program, its time and, where it is functional, its numbers."""
    outputs = empty_outputs(program) if options.functional else {}
    arrays = arrays_of(program, inputs, outputs) if options.functional else []
    with progress_bar(f"simulating {program.kernel_name}") as progress:
        timing = _core.simulate(
            program.core,
            arrays,
            functional=options.functional,
            event_limit=_EVENT_LIMIT if options.event_limit is None else options.event_limit,
            engine=options.engine,
            threads=options.threads,
            steps=options.steps,
            progress=progress,
        )
    raised = timing["raised"] if options.functional else 0
    return Execution(outputs, timing, skipped=timing["skipped"], raised=raised)


BACKEND = Backend("sim", run, options=("functional", "threads", "event_limit", "engine"))
