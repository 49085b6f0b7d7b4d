"""``backend="local"``: threads of this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cyclotron import _core
from cyclotron.compiler.program import Program
from cyclotron.runtime.backend import Backend, Execution, Options, arrays_of, empty_outputs
from cyclotron.support.progress import progress_bar


def run(program: Program, inputs: Mapping[str, Any], options: Options, /) -> Execution:
    """Run a program on threads, which share its PEs."""
    outputs = empty_outputs(program)
    arrays = arrays_of(program, inputs, outputs)
    with progress_bar(f"running {program.kernel_name}") as progress:
        skipped, raised = _core.run_local(program.core, arrays, threads=options.threads, progress=progress)
    return Execution(outputs, skipped=skipped, raised=raised)


BACKEND = Backend("local", run, options=("threads",))
