"""Kernels that kernels call: recorded where they are called, as if their text stood there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cyclotron.language.trace.trace import Trace
from cyclotron.language.values.source_span import trace_error

DEEPEST = 50


def inlined(trace: Trace, name: str, form: str, record: Callable[[], Mapping[str, Any]]) -> Any:
    """Record a kernel that is called by the one that is recorded.

    Parameters
    ----------
    trace : Trace
        The recording.
    name : str
        Of the kernel that is called.
    form : {"single", "tuple", "dict"}
        How it returns its results.
    record : callable
        Records it and returns its results by name.

    Returns
    -------
    object
        The results as the function returns them: arrays and elements that the caller computes with.

    Raises
    ------
    TraceError
        CYC116 if calls are nested too deeply, as those of a kernel that calls itself without an end.
    """
    if len(trace.calls) >= DEEPEST:
        chain = " calls ".join(f"`{one}`" for one in dict.fromkeys([*trace.calls, name]))
        what = f"{chain} calls itself" if len(set(trace.calls)) == 1 and name in trace.calls else chain
        raise trace_error(
            "CYC116",
            f"{what}, {len(trace.calls)} calls deep",
            help="what a kernel calls is recorded where it calls it: write a loop instead of the recursion",
        )
    trace.count_repeat("calls of kernels")
    trace.calls.append(name)
    outer, trace.entered = trace.entered, len(trace.scopes)
    try:
        results = record()
    finally:
        trace.calls.pop()
        trace.entered = outer
    if form == "single":
        return next(iter(results.values()))
    return tuple(results.values()) if form == "tuple" else dict(results)
