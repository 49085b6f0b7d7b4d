"""Loops that end because a divisor is 0: what they compute after that is dropped, and is no error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel(max_steps=20)
def gcd(a, b):
    while b[0] != 0:
        a, b = b, a % b
    return a, b


@cy.kernel
def gcds(a, b, steps):
    """New arrays, accumulations and sums that divide, of several pairs."""
    left = cy.zeros((steps,), dtype="int64")
    for t in range(steps):
        if cy.min(b) == 0:
            break
        q = a // b
        a, b = b, a - q * b
        left[t] += cy.sum(a) % cy.max(q)
    return a, b, left


@cy.kernel(max_steps=20)
def short_circuits(a, b):
    """Tests that divide only where those before them hold, or do not."""
    n = cy.zeros((1,), dtype="int64")
    while b[0] != 0 and a[0] // b[0] > 1:
        b -= 1
        n += 1
        if b[0] == 0 or a[0] % b[0] == 1:
            break
    return b, n


@cy.kernel(max_steps=9)
def broken_out(a, b):
    """The test of the `while` is not made again."""
    while a[0] // b[0] > 0:
        b -= 1
        if b[0] == 0:
            break
    return b


CASES: list[tuple[cy.Kernel, tuple[Any, ...]]] = [
    (gcd, (np.array([48]), np.array([36]))),
    (gcd, (np.array([7], "int32"), np.array([0], "int32"))),
    (gcds, (np.array([48, 36]), np.array([36, 21]), 9)),
    (gcds, (np.array([7, 9], "int32"), np.array([5, 2], "int32"), 1)),
    (gcds, (np.array([7]), np.array([0]), 2)),
    (short_circuits, (np.array([9]), np.array([4]))),
    (short_circuits, (np.array([8]), np.array([2]))),
    (short_circuits, (np.array([8]), np.array([0]))),
    (short_circuits, (np.array([3]), np.array([1]))),
    (broken_out, (np.array([5]), np.array([3]))),
]


@pytest.mark.parametrize(
    ("kernel", "arguments"), CASES, ids=[f"{k.name}-{n}" for n, (k, _) in enumerate(CASES)]
)
def test_what_loops_leave(kernel: cy.Kernel, arguments: tuple[Any, ...]) -> None:
    program = kernel.compile(*arguments)
    expected = kernel.reference(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for backend in ("sim", "local"):
        outputs = cy.run(program, backend=backend).outputs.values()
        for found, wanted in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert found.dtype == wanted.dtype


def test_a_divisor_of_a_loop_that_runs_gives_what_numpy_gives() -> None:
    @cy.kernel
    def divided(a, b):
        for _ in range(2):
            a = 12 // b
            if a[0] > 100:
                break
        return a

    np.testing.assert_array_equal(divided(np.array([3]), np.array([0])), [0])


@cy.kernel
def divided_choice(u, w):
    z = cy.zeros(2, dtype="float32")
    for t in range(2):
        z[t] = cy.where(t, 0, u[0]) / w.size
    return z


def test_a_number_that_an_index_chooses_is_numpys() -> None:
    """Of Python 0 divided by 0 was an error of compiling, without a place."""
    with np.errstate(all="ignore"):
        found = cy.run(divided_choice.compile(np.ones(1, "float32"), np.ones(0))).outputs["z"]
    np.testing.assert_array_equal(found, [np.inf, np.nan])
