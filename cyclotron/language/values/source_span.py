"""The place of the running code in the user's source: the span of the expression under evaluation."""

from __future__ import annotations

import functools
import linecache
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType, FrameType

import numpy as np

from cyclotron.support.errors import NO_SPAN, ShapeError, Span, TraceError

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The code that runs while a kernel is recorded; the package's own kernels (`linalg`, `explore`) are source.
_OURS = tuple(
    os.path.join(_PACKAGE, *path)
    for path in (("language", ""), ("support", ""), ("kernel.py",), ("linalg", "__init__.py"))
)

_NUMPY = os.path.dirname(np.__file__) + os.sep

_BLOCK: ContextVar[int] = ContextVar("fused block", default=0)


class _SpanInBlock(Span):
    """A span that was taken in a block that is one kernel."""

    block: int


@contextmanager
def block(number: int) -> Iterator[None]:
    """Have the spans that are taken in the body know that they are of this block, from 1."""
    token = _BLOCK.set(number)
    try:
        yield
    finally:
        _BLOCK.reset(token)


def open_block() -> int:
    """The number of the block that is open; 0: none."""
    return _BLOCK.get()


def block_of(span: Span) -> int:
    """The number of the block that a span was taken in; 0: none."""
    return span.block if isinstance(span, _SpanInBlock) else 0


def here() -> Span:
    """Return the span of the innermost expression that is being evaluated outside of Cyclotron.

    The intermediate language keeps the positions of the kernel's text, so this is the user's own source, both
    for rewritten kernels and for hand-written ones. Python 3.10 knows only the line.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((*_OURS, _NUMPY)):
        frame = frame.f_back
    if frame is None:
        return NO_SPAN
    span = _span_at(frame.f_code, frame.f_lasti, frame.f_lineno)
    number = open_block()
    if number == 0:
        return span
    found = _SpanInBlock(*span)
    found.block = number
    return found


def trace_error(
    code: str, message: str, *, help: str | None = None, notes: Iterable[tuple[Span, str]] = ()
) -> TraceError:
    """Return the error for a text that is no recurrence, at the expression under evaluation."""
    return TraceError(message, code=code, span=here(), notes=notes, help=help)


def shape_error(
    code: str, message: str, *, help: str | None = None, notes: Iterable[tuple[Span, str]] = ()
) -> ShapeError:
    """Return the error for shapes or dtypes that do not fit, at the expression under evaluation."""
    return ShapeError(message, code=code, span=here(), notes=notes, help=help)


def user_frame(error: BaseException) -> tuple[CodeType, Span] | None:
    """The innermost code of the user that an exception went through, and where; None without any."""
    found = None
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith((*_OURS, _NUMPY)):
            found = code, _span_at(code, trace.tb_lasti, trace.tb_lineno)
        trace = trace.tb_next
    return found


def ours_raise(error: BaseException) -> bool:
    """Return whether an exception comes from code of Cyclotron that a kernel calls, or what that calls."""
    ours, trace = False, error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(_OURS) or not file.startswith(_NUMPY):
            ours = file.startswith(_OURS)
        trace = trace.tb_next
    return ours


def _span_at(code: CodeType, instruction: int, at_line: int) -> Span:
    line, end_line, column, end_column = _positions(code)[instruction // 2]
    if line is None or column is None or end_line is None or end_column is None:
        return line_span(code.co_filename, line or at_line)
    return span_of(code.co_filename, line, column, end_line, end_column)


def span_of(file: str, line: int, column: int, end_line: int, end_column: int) -> Span:
    """Return a span from positions whose columns count UTF-8 bytes, as the ones of Python do."""
    return Span(
        file, line, _characters(file, line, column), end_line, _characters(file, end_line, end_column)
    )


def line_span(file: str, line: int) -> Span:
    """Return the span of a whole line without its indentation."""
    text = linecache.getline(file, line).rstrip()
    return Span(file, line, len(text) - len(text.lstrip()), line, len(text))


def _characters(file: str, line: int, column: int) -> int:
    text = linecache.getline(file, line)
    if text.isascii():
        return column
    return len(text.encode()[:column].decode(errors="replace"))


@functools.lru_cache(maxsize=256)
def _positions(code: CodeType) -> tuple[tuple[int | None, int | None, int | None, int | None], ...]:
    if sys.version_info >= (3, 11):
        return tuple(code.co_positions())
    return ((None, None, None, None),) * (len(code.co_code) // 2)
