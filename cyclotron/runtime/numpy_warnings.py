"""The warnings that NumPy gives where a program divides by zero, overflows, or has no number for a result.

Processors keep flags of these, at no cost. A run that leaves one set which `np.errstate` does not ignore is
looked at again: the kernel's Python body runs on the same inputs, and NumPy warns, in its words, at the line,
and of no value that a condition leaves out. That takes at most about as long as the run itself.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
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
        Of one that has no kernel, from a file, NumPy's line is not known.
    inputs : dict of str to ndarray or Distributed
        Those of the run. Where one is distributed NumPy's line is not looked for.
    raised : int
        The exceptions of IEEE 754 in the run.
    seconds : float
        That the run took.

    Raises
    ------
    FloatingPointError
        As NumPy, where `np.errstate` says so.
    """
    kinds = _kinds(raised)
    if not kinds:
        return None
    if program.kernel is None or any(isinstance(one, Distributed) for one in inputs.values()):
        return warn_of(program, raised)
    told: list[str] = []
    token = LOOK.set(told)
    try:
        with _time_limit(max(seconds, _LEAST_SECONDS)):
            numpy.run(program, inputs, Options())
    except (FloatingPointError, Warning):
        raise
    except (StopLook, Exception):  # it takes too long, or the body is none that plain Python can run
        warn_of(program, raised, told)
    finally:
        LOOK.reset(token)


def warn_of(program: Program, raised: int, told: Iterable[str] = ()) -> None:
    """Warn of divisions by zero and overflows where the kernel's body cannot say at which line they are.

    Nothing is said of invalid operations: comparisons with NaN set their flag, too.

    Parameters
    ----------
    program : Program
    raised : int
        The exceptions of IEEE 754 in the run.
    told : iterable of str
        Warnings that were given.

    Raises
    ------
    FloatingPointError
        As NumPy, where `np.errstate` says so.
    """
    modes: dict[str, Any] = dict(np.geterr())
    kinds = _kinds(raised)
    for kind, text in _SAYS.items():
        if kind not in kinds or any(text in one for one in told):
            continue
        text = f"{text} encountered in `{program.kernel_name}`, or in values that it does not use"
        if modes[kind] == "raise":
            raise FloatingPointError(text)
        if modes[kind] == "warn":
            warn_at_call(RuntimeWarning(text))


def _kinds(raised: int) -> list[str]:
    modes: dict[str, Any] = dict(np.geterr())
    return [kind for bit, kind in _KINDS.items() if raised & bit and modes[kind] != "ignore"]


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
