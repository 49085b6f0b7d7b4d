"""Warnings of what makes a program slow: refused placements, loops that run to their bound."""

from __future__ import annotations

from typing import Any

from cyclotron import _core
from cyclotron.compiler.ports import idle_memories
from cyclotron.language.trace.early_exit import is_loop_flag
from cyclotron.machine.machine import Machine
from cyclotron.support.errors import PerformanceWarning, Span


def _runs_to_its_bound(loop: dict[str, Any]) -> PerformanceWarning:
    """Return the warning for a loop that its flag does not end."""
    seen = loop["because"]
    if seen:
        why = f"what it does after its end may show in `{seen}`"
        name = f"`{seen}`" if seen.isidentifier() else "an array that this is computed from"
        help = (
            f"start {name} with zeros if the loop fills it, and give loops in it the same range in each of"
            f" its iterations, e.g. `range(n - 1)`; else change and read {name} outside the loop only"
        )
    elif loop["bounded_by"]:
        why = f"its range depends on `{loop['bounded_by']}`, the index of a loop around it"
        help = f"give it the same range in each iteration of `{loop['bounded_by']}`"
    else:
        why = "its flag does not reach all PEs in the iteration that it ends"
        help = "let fewer PEs have its data, e.g. by `fold`, or reduce by `inwards` or a tree"
    return PerformanceWarning(
        f"a loop goes through all of its {loop['steps']:,} iterations after its end: {why}",
        code="CYC331",
        span=Span(*loop["span"]),
        help=help,
    )


def performance_warnings(compiled: _core.Compiled, machine: Machine | None) -> list[PerformanceWarning]:
    """Return a warning for each reason for which a program is slower than it could be.

    Parameters
    ----------
    compiled : _core.Compiled
    machine : Machine or None
        As the user has it, with memories that serve none of the program's PEs.
    """
    warnings = [
        _runs_to_its_bound(loop)
        for loop in compiled.lost_loops
        # A flag takes some iterations to all PEs: a short loop would hardly end earlier.
        if is_loop_flag(loop["flag"]) and any((loop["because"], loop["bounded_by"], loop["steps"] >= 16))
    ]
    warnings.extend(idle_memories(compiled.program, machine) if machine else ())
    return warnings if compiled.warning is None else [*warnings, compiled.warning]
