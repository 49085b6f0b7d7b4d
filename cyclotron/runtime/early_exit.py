"""Whether the `while` loops of a run have ended: programs say so in outputs of their own."""

from __future__ import annotations

from cyclotron.errors import ExecutionError, Span
from cyclotron.language.expressions.position import line_span
from cyclotron.language.recording.exits import is_ending, most_steps
from cyclotron.results import Result


def ended(result: Result) -> Result:
    """Return a result without what tells of the ends of loops.

    Raises
    ------
    ExecutionError
        CYC719 if a loop was left at its most steps; its ``result`` has the outputs.
    """
    found = {name: result.outputs.pop(name) for name in list(result.outputs) if is_ending(name)}
    for name, unfinished in found.items():
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
