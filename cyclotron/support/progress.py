"""A progress bar for long runs, on terminals and in notebooks, without a dependency."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_FIRST_SHOWN_SECONDS = 0.5
_REFRESH_SECONDS = 0.2
_WIDTH = 30


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[float], bool]]:
    """Yield a function to be called with the fraction done (0 to 1, or -1 if unknown); it returns True.

    The bar appears after half a second, on standard error, and only where somebody looks at it.

    Parameters
    ----------
    title : str
        What is going on.
    """
    started = time.monotonic()
    stream = sys.stderr
    visible = stream is not None and stream.isatty()
    shown = 0.0

    def update(fraction: float) -> bool:
        nonlocal shown
        now = time.monotonic()
        elapsed = now - started
        if not visible or elapsed < _FIRST_SHOWN_SECONDS or now - shown < _REFRESH_SECONDS:
            return True
        shown = now
        if fraction > 0:
            done = int(_WIDTH * min(fraction, 1.0))
            left = elapsed / fraction - elapsed
            text = f"[{'#' * done}{'.' * (_WIDTH - done)}] {fraction:4.0%}, {left:.0f} s left"
        else:
            text = f"{elapsed:.0f} s"
        stream.write(f"\r{title} {text}  ")
        stream.flush()
        return True

    try:
        yield update
    finally:
        if shown:
            stream.write("\r\x1b[K")
            stream.flush()
