"""Arrays that conditions on indices choose: as statements, and as expressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def alternating(u, n):
    for t in range(n):
        if t % 2 == 0:
            u = u + 1
        else:
            u = u * 2
    return u


@cy.kernel
def pairs(u, v, n):
    """The second assignment of a branch reads values of the same branch."""
    for t in range(n):
        if 0 < t < 3:
            u = u + v
            v = u * 2
        else:
            u = u - 1
            v = cy.where(u > v, u, v[::-1])
    return u, v


@cy.kernel
def expressions(u, n):
    total = cy.zeros_like(u)
    for t in range(n):
        v = u * 2 if t > 0 else u.copy()
        u = v + (cy.sqrt(v[1:]).sum() if t == 1 else 0.5)
        total += v
    return u, total


CASES: list[tuple[cy.Kernel, tuple[Any, ...]]] = [
    (alternating, (np.arange(3.0), 5)),
    (alternating, (np.arange(1), 1)),
    (alternating, (np.arange(3.0), 0)),
    (alternating, (np.arange(6, dtype="float32").reshape(2, 3), 2)),
    (pairs, (np.arange(4), np.array([3, -1, 2, 0]), 5)),
    (expressions, (np.arange(4.0), 3)),
]


@pytest.mark.parametrize(
    ("kernel", "arguments"), CASES, ids=[f"{k.name}-{n}" for n, (k, _) in enumerate(CASES)]
)
def test_choices(kernel: cy.Kernel, arguments: tuple[Any, ...]) -> None:
    program = kernel.compile(*arguments)
    expected = kernel.reference(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for backend in ("sim", "local"):
        for found, wanted in zip(cy.run(program, backend=backend).outputs.values(), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert found.dtype == wanted.dtype
