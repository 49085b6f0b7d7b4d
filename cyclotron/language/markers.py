"""Blocks of a kernel that are not traced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def host() -> Iterator[None]:
    """``with cy.host():`` runs its body in Python, once, while tracing (and in the reference)."""
    yield


@contextmanager
def ignore() -> Iterator[None]:
    """``with cy.ignore():`` runs its body in the reference only; the tracer skips it."""
    yield
