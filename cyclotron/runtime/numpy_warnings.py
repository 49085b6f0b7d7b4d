"""The warnings that NumPy gives where a program divides by zero, overflows, or has no number for a result.

Processors keep flags of these, at no cost. A run that leaves one set which `np.errstate` does not ignore is
looked at again: the kernel's Python body runs on the same inputs, and NumPy warns, in its words, at the line,
and of no value that a condition leaves out. That takes at most about as long as the run itself.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from cyclotron.compiler.program import Program
from cyclotron.language.values.numpy_warnings import LOOK, StopLook
from cyclotron.mpi.distributed_array import Distributed
from cyclotron.runtime.backend import Options
from cyclotron.runtime.backends import numpy
from cyclotron.support.call_site import warn_at_call

# By NumPy's numbers, as programs return them.
_KINDS = {1: "divide", 2: "over", 4: "under", 8: "invalid"}
_SAYS = {"divide": "divide by zero", "over": "overflow"}
_LEAST_SECONDS = 0.5


def warn_as_numpy(program: Program, inputs: Mapping[str, Any], raised: int, seconds: float) -> None:
    """Give the warnings of a run, or what else `np.errstate` asks for.

    Parameters
    ----------
    program : Program
        One that has no kernel, from a file, gives none.
    inputs : dict of str to ndarray or Distributed
        Those of the run. Where one is distributed there are no warnings.
    raised : int
        The exceptions of IEEE 754 in the run.
    seconds : float
        That the run took.

    Raises
    ------
    FloatingPointError
        As NumPy, where `np.errstate` says so.
    """
    modes: dict[str, Any] = dict(np.geterr())
    kinds = [kind for bit, kind in _KINDS.items() if raised & bit and modes[kind] != "ignore"]
    if not kinds or program.kernel is None or any(isinstance(one, Distributed) for one in inputs.values()):
        return
    told: list[str] = []
    token = LOOK.set(told)
    try:
        with _time_limit(max(seconds, _LEAST_SECONDS)):
            numpy.run(program, inputs, Options())
    except (FloatingPointError, Warning):
        raise
    except (StopLook, Exception):  # it takes too long, or the body is none that plain Python can run
        # Flags of invalid operations are set by comparisons with NaN, too.
        for kind, text in _SAYS.items():
            if kind in kinds and modes[kind] == "warn" and not any(text in one for one in told):
                text = f"{text} encountered in `{program.kernel_name}`, or in values that it does not use"
                warn_at_call(RuntimeWarning(text))
    finally:
        LOOK.reset(token)


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise `StopLook` at the first line of a kernel, or of what it calls, after so many seconds."""
    ends = time.perf_counter() + seconds
    before = sys.gettrace()

    def at_line(frame: FrameType, event: str, argument: object) -> Any:
        if time.perf_counter() > ends:
            raise StopLook
        return at_line

    sys.settrace(at_line)
    try:
        yield
    finally:
        sys.settrace(before)
