"""Blocks of a kernel that are not traced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def host() -> Iterator[None]:
    """``with cy.host():`` runs its body in Python, once, while tracing (and in the reference).

    In a loop it also runs once, where the reference runs it in each iteration: it may not count there.
    """
    yield


@contextmanager
def ignore() -> Iterator[None]:
    """``with cy.ignore():`` runs its body in the reference only; the tracer skips it."""
    yield
