"""Blocks of a kernel: some are not traced, some are one procedure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cyclotron.language.trace.trace import Trace
from cyclotron.language.values.context import ACTIVE
from cyclotron.language.values.numpy_warnings import LOOK, StopLook
from cyclotron.language.values.source_span import block, open_block


@contextmanager
def host() -> Iterator[None]:
    """``with cy.host():`` runs its body in Python, once, while tracing (and in the reference).

    In a loop it also runs once, where the reference runs it in each iteration: it may not count there.

    Raises
    ------
    TraceError
        CYC104 if the body decides by data of the kernel.

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     with cy.host():
    ...         factor = len(x)
    ...     return factor * x
    >>> f(np.array([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """
    yield


@contextmanager
def ignore() -> Iterator[None]:
    """``with cy.ignore():`` runs its body in the reference only; the tracer skips it.

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     with cy.ignore():
    ...         print("only in the reference")
    ...     return 2 * x
    >>> f(np.array([1.0])).tolist()
    [2.0]
    >>> f.reference(np.array([1.0])).tolist()
    only in the reference
    [2.0]
    """
    if LOOK.get() is not None:
        raise StopLook
    yield


@contextmanager
def fuse() -> Iterator[None]:
    """``with cy.fuse():`` makes one kernel of its statements, with one call and one set-up where it can be.

    Without, each statement whose loops the compiler keeps apart from those of the one before it pays for a
    set-up of its own (`Control.setup`; MA-140, section 8.3 of MACH). What is computed is the same. Only
    machines with a controller, and loops whose ends depend on data, have set-ups. Code of a block that
    other code stands between, such as the choice of what the loop's last iteration keeps, takes a call of
    its own. A block within another one is a part of that. In plain Python it does nothing.

    Raises
    ------
    TraceError
        CYC104 if a loop in or around the block ends by data there: the controller decides between kernels.

    Examples
    --------
    >>> @cy.kernel
    ... def descend(x, b, tolerance):
    ...     for _ in range(100):
    ...         with cy.fuse():
    ...             r = b - 2.0 * x
    ...             x = x + 0.25 * r
    ...         if cy.max(cy.abs(r)) < tolerance:
    ...             break
    ...     return x
    >>> float(descend(np.zeros(2), np.ones(2), 1e-3)[0]) - 0.5 < 1e-3
    True
    """
    trace = ACTIVE.get()
    if not isinstance(trace, Trace) or open_block():
        yield
        return
    trace.blocks += 1
    with block(trace.blocks):
        yield
