"""Loops over arrays, which machines run, and over values of the host, which Python unrolls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cyclotron as cy

WEIGHTS = (0.25, 0.5, 2.0)


@cy.kernel
def listing_1(myLA, myGA):
    """Listing 1 of MACH's paper."""
    myGS = cy.zeros((1,))
    # A loop on the device over the elements of a global array
    for gs in myGA:
        # Keep a running sum of the elements
        myGS[0] = myGS[0] + gs

        # Break if the running sum is over 100.0
        if myGS[0] > 100.0:
            break

        # Do a tensor addition
        myLA[1:4, 3:5, 1:2] += myLA[1:4, 3:5, 8:9]

    mySum = cy.sum(myLA[:, :, :])
    return myLA, myGS, mySum


@cy.kernel
def unrolled(x):
    y = x * 0
    for w in WEIGHTS:
        y = y + w * x
        if w == 0.5:
            break
    for a, b in zip(WEIGHTS, (1, 2, 4), strict=True):
        y += a * b
    for t in range(2):
        for s in (-1, 1):
            y = y + cy.roll(x, s)
        for v in (x, y):
            v += 1
    return x, y


@cy.kernel
def sums_and_rows(x, A):
    total = 0.0
    for v in x:
        total += v
    m = cy.zeros_like(A[0])
    for row in A:
        m += row * total
        m[0] += row[-1]
    for column in A.T:
        m[-1] += column[0]
    return m


@cy.kernel
def of_an_expression(x):
    """A loop over an expression runs over its value before the loop."""
    y, s = cy.zeros_like(x), cy.zeros((1,))
    for v in x * 2:
        x[0] = 7
        s[0] = s[0] + v
        if s[0] > 9:
            break
        y += s[0]
    return y, x


@cy.kernel
def assigned_anew(x):
    """The loop goes on over the array that had the name before."""
    for v in x:
        x = x + v
    return x


@cy.kernel
def counted_by_nothing(x, n):
    """Loops within each other have one index, which nothing reads."""
    for _ in range(n):
        for _ in range(2):
            x = x + 1.0
            for _ in WEIGHTS:
                x = x * 1.5
        for _ in range(3):
            x[1:] = x[:-1] - 0.5
        if cy.max(x) > 90:
            break
    return x


CUBE = np.arange(250.0).reshape(5, 5, 10)
CASES: list[tuple[cy.Kernel, tuple[Any, ...]]] = [
    *((listing_1, (CUBE, np.arange(10.0) * scale)) for scale in (0, 1, 5, 50)),
    (listing_1, (CUBE, np.full(3, np.nan))),
    (listing_1, (CUBE, np.zeros(0))),
    *((unrolled, (np.arange(float(n)),)) for n in (1, 5)),
    (sums_and_rows, (np.arange(5.0), np.arange(6.0).reshape(2, 3))),
    (sums_and_rows, (np.zeros(0), np.ones((1, 1)))),
    *((of_an_expression, (np.arange(float(n)) + 1,)) for n in (1, 5)),
    (assigned_anew, (np.arange(3.0) + 1,)),
    *((counted_by_nothing, (np.arange(5.0), n)) for n in (0, 1, 4)),
]


@pytest.mark.parametrize(("kernel", "arguments"), CASES, ids=lambda value: getattr(value, "name", None))
def test_gives_what_python_gives(kernel: cy.Kernel, arguments: tuple[Any, ...]) -> None:
    reference = kernel.reference(*arguments)
    expected = reference if isinstance(reference, tuple) else (reference,)
    program = kernel.compile(*arguments)
    for backend in ("local", "sim"):
        found = cy.run(program, backend=backend).outputs
        for (name, array), wanted in zip(found.items(), expected, strict=True):
            np.testing.assert_array_equal(array, wanted, err_msg=f"{name} on {backend}")


def test_a_tuple_given_to_a_parameter_is_an_array() -> None:
    @cy.kernel
    def scaled(x, weights):
        for w in weights:
            x = x * w
        return x

    np.testing.assert_array_equal(scaled(np.ones(2), WEIGHTS), [0.25, 0.25])
    with pytest.raises(cy.TraceError) as caught:
        scaled.compile(np.ones(2), "ab")
    assert caught.value.code == "CYC102"
    assert "a `str`" in str(caught.value)


def test_schedules_name_the_index_of_an_array() -> None:
    program = assigned_anew.compile(np.arange(3.0), schedule=cy.Schedule().space("i").time("v_at"))
    np.testing.assert_array_equal(
        cy.run(program, backend="sim").output, assigned_anew.reference(np.arange(3.0))
    )
