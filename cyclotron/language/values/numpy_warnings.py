"""NumPy's warnings of numbers in plain runs of a kernel's body, at the user's lines."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

_NO_USERS = (str(Path(__file__).parents[2]) + os.sep, os.path.dirname(np.__file__) + os.sep)


class StopLook(BaseException):
    """The end of a run whose results nobody needs."""


# The warnings so far of a run that is made for these alone: it leaves out what is meant for the reference.
LOOK: ContextVar[list[str] | None] = ContextVar("cyclotron_look", default=None)


class _AtUserLine:
    """A log of what NumPy would warn of, which warns at the innermost line outside of Cyclotron and NumPy."""

    def write(self, text: str) -> None:
        message = text.removeprefix("Warning: ").strip()
        told = LOOK.get()
        if told is not None:
            told.append(message)
        frame = sys._getframe(1)
        while frame.f_code.co_filename.startswith(_NO_USERS) and frame.f_back is not None:
            frame = frame.f_back
        warnings.warn_explicit(
            message,
            RuntimeWarning,
            frame.f_code.co_filename,
            frame.f_lineno,
            frame.f_globals.get("__name__") or "<unknown>",  # None would be silent
            frame.f_globals.setdefault("__warningregistry__", {}),
        )


def at_user_lines() -> AbstractContextManager[None]:
    """Let NumPy warn at the user's line also where a function of Cyclotron calls it; `np.errstate` holds."""
    modes: dict[str, Any] = dict(np.geterr())
    if {"call", "log"} & set(modes.values()):  # there is a function of the user's already
        return nullcontext()
    return np.errstate(
        call=_AtUserLine(), **{kind: "log" if mode == "warn" else mode for kind, mode in modes.items()}
    )
