"""Tracebacks of Cyclotron's errors: the user's frames only, or all where CYCLOTRON_FULL_TRACEBACK=1."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_FULL = "CYCLOTRON_FULL_TRACEBACK"


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
        if not _is_hidden(entry):
            entries.append(entry)
        entry = entry.tb_next
    rest = None
    for entry in reversed(entries):
        rest = TracebackType(rest, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rest or traceback


def trim_uncaught(errors: type[BaseException]) -> None:
    """Let Python show uncaught errors of a class with the user's frames only.

    Parameters
    ----------
    errors : type
        Others are shown as before.
    """
    show = sys.excepthook

    def show_trimmed(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, errors):
            traceback = trimmed(traceback)
            error = error.with_traceback(traceback)
        show(kind, error, traceback)

    sys.excepthook = show_trimmed


def _is_hidden(entry: TracebackType) -> bool:
    frame = entry.tb_frame
    module = str(frame.f_globals.get("__name__", ""))
    return frame.f_code.co_filename.startswith(_PACKAGE) or module.partition(".")[0] == "IPython"
