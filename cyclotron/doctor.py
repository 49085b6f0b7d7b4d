"""A check of the installed parts: a small run of each, and what to install where a part is missing."""

from __future__ import annotations

import io
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import cyclotron as cy
from cyclotron.runtime.backend import Backend
from cyclotron.runtime.backends import registered
from cyclotron.support.environment import show_config
from cyclotron.support.errors import BackendUnavailable

_RANKS = 2


@cy.kernel
def _matmul(A, B):  # type: ignore[no-untyped-def]
    n, m = A.shape[0], B.shape[1]
    C = cy.empty((n, m))
    for i in range(n):
        for j in range(m):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


def doctor() -> int:
    """Print versions, run a small product on every backend, draw a picture.

    Returns
    -------
    int
        0 if all that is installed works, else 1.
    """
    show_config()
    print()
    checks = {backend.name: partial(_run, backend) for backend in registered()} | {"pictures": _draw}
    return max([_report(name, check) for name, check in checks.items()])


def _report(name: str, check: Callable[[], None]) -> int:
    start = time.perf_counter()
    try:
        check()
    except BackendUnavailable as error:
        print(f"{name:9} not installed: {error.message}")
        if error.help:
            print(f"{'':9} to have it: {error.help}")
        return 0
    except Exception:
        print(f"{name:9} FAILED")
        traceback.print_exc()
        return 1
    print(f"{name:9} works ({time.perf_counter() - start:.2f} s)")
    return 0


def _program() -> tuple[Any, np.ndarray[Any, Any]]:
    left = np.arange(6.0).reshape(2, 3)
    right = np.arange(12.0).reshape(3, 4)
    return _matmul.compile(left, right), left @ right


def _run(backend: Backend) -> None:
    program, expected = _program()
    ranks = _RANKS if "ranks" in backend.options else None
    found = cy.run(program, backend=backend.name, ranks=ranks).output
    if not np.array_equal(found, expected):
        raise AssertionError(f"the product is\n{found}\nand not\n{expected}")


def _draw() -> None:
    program, _ = _program()
    plots = cy.run(program, backend="sim").plot
    for draw in (plots.utilization, plots.timeline, plots.occupancy):
        draw().savefig(io.BytesIO(), format="png")
