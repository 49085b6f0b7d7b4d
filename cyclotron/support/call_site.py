"""The place in the user's code that a call came from, for errors that have no place in a kernel."""

from __future__ import annotations

import linecache
import sys
import warnings
from pathlib import Path
from types import TracebackType

from cyclotron.support.errors import CyclotronError, Span

_PACKAGE = str(Path(__file__).parents[1])


def call_site() -> Span | None:
    """The innermost line on the stack that is not Cyclotron's own; None where there is no such line."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_PACKAGE, "<")):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    file, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(file, line).rstrip("\n")
    if not text.strip():
        return None
    return Span(file, line, len(text) - len(text.lstrip()), line, len(text))


def warn_at_call(warning: Warning) -> None:
    """Give a warning at the user's line that made the call.

    Parameters
    ----------
    warning : Warning
    """
    site = call_site()
    if site is None:
        warnings.warn(warning, stacklevel=2)
    else:
        warnings.warn_explicit(warning, type(warning), site.file, site.line)


class errors_at_call:  # noqa: N801 - used like a function
    """Give errors without a place the user's line that made the call (a schedule, a machine, an input)."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, traceback: TracebackType | None) -> None:
        span = call_site() if isinstance(error, CyclotronError) and error.span is None else None
        if span is None:
            return
        assert isinstance(error, CyclotronError)
        raise type(error)(
            error.message, code=error.code, span=span, notes=error.notes, help=error.help
        ).with_traceback(traceback) from None
