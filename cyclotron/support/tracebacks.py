"""Tracebacks of Cyclotron's errors: the user's frames only, or all where CYCLOTRON_FULL_TRACEBACK=1."""

from __future__ import annotations

import functools
import os
import sys
import threading
from pathlib import Path
from traceback import TracebackException
from types import TracebackType
from typing import Any

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_FULL = "CYCLOTRON_FULL_TRACEBACK"
_GLUE = ("contextlib", "dataclasses", "functools")  # of Python, between frames of the package


def trimmed(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of the package, and of the shell of a notebook.

    Parameters
    ----------
    traceback : traceback or None
        It stays as it is, and is returned where all frames are wanted, or where no other would be left.
    """
    if os.environ.get(_FULL, "") not in ("", "0"):
        return traceback
    entries = []
    entry = traceback
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    rest, is_hidden = None, False
    for number, entry in reversed(list(enumerate(entries))):
        is_hidden = _is_own(entry) or (_is_glue(entry) and (is_hidden or _is_called_by_own(entries[:number])))
        if not is_hidden:
            rest = TracebackType(rest, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rest or traceback


def trim_shown(errors: type[BaseException]) -> None:
    """Let Python show errors of a class with the user's frames only.

    Those that nobody catches, and those that `traceback` formats, for `logging` too.

    Parameters
    ----------
    errors : type
        Others are shown as before.
    """
    show, show_in_thread, read = sys.excepthook, threading.excepthook, TracebackException.__init__

    def trim(error: BaseException | None, traceback: TracebackType | None) -> TracebackType | None:
        if not isinstance(error, errors):
            return traceback
        error.__traceback__ = trimmed(traceback)
        return error.__traceback__

    @functools.wraps(read)
    def read_trimmed(
        self: TracebackException,
        kind: type[BaseException],
        error: BaseException,
        traceback: TracebackType | None,
        **options: Any,
    ) -> None:
        read(self, kind, error, trimmed(traceback) if isinstance(error, errors) else traceback, **options)

    def show_trimmed(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        show(kind, error, trim(error, traceback))

    def show_trimmed_in_thread(args: threading.ExceptHookArgs, /) -> None:
        traceback = trim(args.exc_value, args.exc_traceback)
        fields = (args.exc_type, args.exc_value, traceback, args.thread)
        show_in_thread(threading.ExceptHookArgs(fields))

    sys.excepthook, threading.excepthook = show_trimmed, show_trimmed_in_thread
    setattr(TracebackException, "__init__", read_trimmed)  # noqa: B010 (mypy refuses to assign a method)


def _is_own(entry: TracebackType) -> bool:
    """Tell frames of the package, methods that `dataclasses` writes for it included, and of IPython."""
    frame = entry.tb_frame
    package = _module(entry).partition(".")[0]
    return frame.f_code.co_filename.startswith(_PACKAGE) or package in ("cyclotron", "IPython")


def _is_glue(entry: TracebackType) -> bool:
    return _module(entry) in _GLUE


def _is_called_by_own(callers: list[TracebackType]) -> bool:
    caller = next((entry for entry in reversed(callers) if not _is_glue(entry)), None)
    return caller is not None and _is_own(caller)


def _module(entry: TracebackType) -> str:
    return str(entry.tb_frame.f_globals.get("__name__", ""))
