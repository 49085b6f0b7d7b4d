"""A progress bar for long runs, on terminals and in notebooks, without a dependency."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_FIRST_SHOWN_SECONDS = 0.5
_REFRESH_SECONDS = 0.2
_WIDTH = 30


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[float], bool]]:
    """Yield a function to be called with the fraction done (0 to 1, or -1 if unknown); it returns True.

    The bar appears after half a second, and only where somebody looks at it: on a terminal in standard error,
    in a notebook below the cell, where it ends as the time that it took.

    Parameters
    ----------
    title : str
        What is going on.
    """
    started = time.monotonic()
    bar = _Notebook() if _in_notebook() else _Terminal() if _on_terminal() else None
    shown = 0.0

    def update(fraction: float) -> bool:
        nonlocal shown
        now = time.monotonic()
        elapsed = now - started
        if bar is None or elapsed < _FIRST_SHOWN_SECONDS or now - shown < _REFRESH_SECONDS:
            return True
        shown = now
        left = (
            f"{fraction:.0%}, {elapsed / fraction - elapsed:.0f} s left"
            if fraction > 0
            else f"{elapsed:.0f} s"
        )
        bar.show(title, min(fraction, 1.0), left)
        return True

    try:
        yield update
    finally:
        if bar is not None and shown:
            bar.close(title, time.monotonic() - started)


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _in_notebook() -> bool:
    """Tell if this is a kernel of Jupyter, which displays what is no text."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    return getattr(shell, "kernel", None) is not None


class _Terminal:
    """A line of standard error, written over and over."""

    def show(self, title: str, fraction: float, text: str) -> None:
        done = int(_WIDTH * fraction)
        bar = f"[{'#' * done}{'.' * (_WIDTH - done)}] " if fraction > 0 else ""
        sys.stderr.write(f"\r{title} {bar}{text}  ")
        sys.stderr.flush()

    def close(self, title: str, seconds: float) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


class _Notebook:
    """An output of the cell, replaced again and again."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, title: str, fraction: float, text: str) -> None:
        value = f' value="{fraction:.3f}"' if fraction > 0 else ""
        self._display(f"{title} {text}", f'<progress max="1"{value}></progress> ')

    def close(self, title: str, seconds: float) -> None:
        self._display(f"{title} took {seconds:.1f} s", "")

    def _display(self, text: str, bar: str) -> None:
        display: Any = sys.modules["IPython"].display.display
        data = {"text/plain": text, "text/html": f"{bar}<small>{html.escape(text)}</small>"}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)
