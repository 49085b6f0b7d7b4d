"""Early-exit flags: outputs by which programs tell that a `while` loop was left at its most steps."""

from __future__ import annotations

from cyclotron.language.trace.early_exit import is_ending, most_steps
from cyclotron.language.values.source_span import line_span
from cyclotron.runtime.result import Result
from cyclotron.support.errors import ExecutionError, Span


def pop_exit_flags(result: Result) -> Result:
    """Drop the early-exit flags from a result, and return it.

    Raises
    ------
    ExecutionError
        CYC719 if a loop was left at its most steps; its ``result`` has the outputs.
    """
    flags = {name: result.outputs.pop(name) for name in list(result.outputs) if is_ending(name)}
    for name, unfinished in flags.items():
        if unfinished:
            line, steps = most_steps(name)
            error = ExecutionError(
                f"a `while` of `{result.program.kernel_name}` has not ended after {steps:,} steps",
                code="CYC719",
                span=_line(result, line),
                help="allow it more by `@cy.kernel(max_steps=...)`; `.result` of this error has the outputs"
                " so far",
            )
            error.result = result
            raise error
    return result


def _line(result: Result, line: int) -> Span | None:
    kernel = result.program.kernel
    return None if kernel is None else line_span(kernel.file, line)
