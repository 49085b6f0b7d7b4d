"""The reference, with a refusal where a result is not finite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.compiler.program import Program
from cyclotron.runtime.backend import Backend, Execution, Options
from cyclotron.support.errors import ExecutionError


def run(program: Program, inputs: Mapping[str, NDArray[Any]], options: Options, /) -> Execution:
    """Evaluate the program's graph."""
    outputs = program.graph.evaluate(**inputs)
    for name, array in outputs.items():
        if not np.isfinite(array).all():
            raise ExecutionError(f"`{name}` is not finite", code="CYC701", help="look at the inputs")
    return Execution(outputs)


BACKEND = Backend("finite", run)
