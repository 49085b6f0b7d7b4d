"""Early-exit flags: outputs by which programs tell that a loop was left too late, or not begun."""

from __future__ import annotations

import numpy as np

from cyclotron.language.trace.early_exit import ending_error, is_ending
from cyclotron.runtime.result import Result


def pop_exit_flags(result: Result) -> Result:
    """Drop the early-exit flags from a result, and return it.

    Raises
    ------
    ExecutionError
        CYC719 if a loop was left at its most steps, CYC723 if one has left a name that is read after it
        without a value; its ``result`` has the outputs.
    """
    flags = {name: result.outputs.pop(name) for name in list(result.outputs) if is_ending(name)}
    for name, is_set in flags.items():
        if np.any(is_set):
            kernel = result.program.kernel
            so_far = "; `.result` of this error has the outputs so far"
            file = None if kernel is None else kernel.file
            error = ending_error(name, result.program.kernel_name, file, so_far)
            error.result = result
            raise error
    return result
