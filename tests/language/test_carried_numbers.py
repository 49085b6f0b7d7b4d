"""Names that hold numbers before a loop, and in it what data make of them: scalars, as in Python."""

from __future__ import annotations

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel(max_steps=40)
def converged(x):
    change = 1.0
    while change > 0.1:
        y = x * 0.5
        change = cy.max(cy.abs(y - x))
        x = y
    return x


@cy.kernel(max_steps=40)
def flagged_and_counted(x):
    done = False
    steps = 0
    while not done:
        y = 0.5 * (x + 2 / x)
        done = cy.max(cy.abs(x - y)) < 1e-9
        x = y
        steps = steps + 1
    return x, steps * x


@cy.kernel
def other_names(x):
    """Scalars are values: `old` stays what it is."""
    y = cy.zeros_like(x)
    s = 0.0
    for i in range(len(x)):
        old = s
        s += x[i]
        if x[i] > 2:
            s = s - 1
        y[i] = old + s
    r = s
    s += 3
    return y, y * s, y * r


@cy.kernel
def largest(x):
    best = -1.0
    place = 0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
            place = i
    return x * best, x + place


@cy.kernel
def stopped(x):
    """Two loops, of which the inner one may end early."""
    total = 0.0
    for _t in range(3):
        for i in range(len(x)):
            total = total * 0.5 + x[i]
            if total > 6:
                break
        x = x + total
    return x, x * total


@cy.kernel
def locals_again(x):
    """A name that an iteration assigns before it reads it is a local one."""
    y = cy.zeros_like(x)
    t = 0.0
    for i in range(len(x)):
        t = x[i] * 2
        y[i] = t
    for i in range(len(x)):
        t = x[i] + 1
        y[i] += t
    return y


@cy.kernel(max_steps=40)
def in_place(x):
    """The text does not tell whether `x` is an array."""
    largest = cy.max(x)
    while largest > 1:
        x -= 1
        largest = cy.max(x)
    return largest * cy.ones(3)


KERNELS = (in_place, converged, flagged_and_counted, other_names, largest, stopped, locals_again)


@pytest.mark.parametrize("kernel", KERNELS, ids=[one.name for one in KERNELS])
def test_as_in_python(kernel: cy.Kernel) -> None:
    for seed in range(4):
        x = np.random.default_rng(seed).integers(1, 6, 4).astype(float)
        wanted = kernel.__wrapped__(x.copy())
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        program = kernel.compile(x)
        for backend in ("sim", "local"):
            outputs = cy.run(program, backend=backend).outputs.values()
            for found, expected in zip(outputs, wanted, strict=True):
                np.testing.assert_array_equal(found, expected)
                assert found.dtype == expected.dtype
        reference = kernel.reference(x)
        for found, expected in zip(reference if len(wanted) > 1 else (reference,), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_other_dtypes_are_refused() -> None:
    """A number adopts the dtype of arrays in the first iteration; what follows it may have another one."""
    with pytest.raises(cy.TraceError, match="carries its value") as error:
        converged.compile(np.ones(4, dtype="float32"))
    assert error.value.code == "CYC111"


def test_numbers_of_other_types_are_refused() -> None:
    @cy.kernel
    def whole_to_floating(x):
        total = 0
        for i in range(len(x)):
            total = total * 2 + x[i]
        return x * total

    with pytest.raises(cy.ShapeError, match="`total` has int64 before the loop and float64 after") as error:
        whole_to_floating.compile(np.ones(4))
    assert "`total = 0.0` instead of 0" in str(error.value)
