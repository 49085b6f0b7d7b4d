"""`continue` in conditions that may go on: what follows stands once, and does as the same text in Python."""

from typing import Any

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def of_data(x, w):
    y, z = cy.zeros_like(x), cy.zeros_like(x)
    for i in range(x.shape[0]):
        v = x[i]
        if x[i] > 0:
            v = v * 2
            y[i] += 0.5
            if w[i] > 0:
                y[i] += v
                continue
            z[i] = v
        elif w[i] > 2:
            if x[i] < -2:
                continue
            v = v - 1
        y[i] += v
        if v > 1:
            if z[i] > 1:
                z[i] -= 1
                continue
            z[i] = 7
        y[i] += 100
    return y, z


@cy.kernel
def of_indices(x, w):
    y = cy.zeros_like(x)
    n = x.shape[0]
    for i in range(n):
        if i > 0:
            y[i] = x[i - 1]
            if i % 2 == 0:
                continue
            y[i] -= w[i]
        else:
            if n == 1:
                continue
            y[i] = w[i]
        y[i] += 10
        if i < n - 1:
            if i > 2:
                continue
            y[i] += x[i + 1]
        y[i] += 100
    return y


@cy.kernel
def of_both(x, w):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        if i > 0:
            if x[i - 1] > 0:
                continue
            y[i] = x[i - 1]
        if w[i] > 0:
            if i == 2:
                continue
            y[i] += 1
        y[i] += w[i]
    return y


@cy.kernel
def three_deep(x, w):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        if x[i] > -2:
            if w[i] > -2:
                if x[i] > 0:
                    if w[i] > 1:
                        continue
                    y[i] += 1
                y[i] += 2
                if x[i] > w[i]:
                    continue
            y[i] += 4
        y[i] += 8
    return y


@cy.kernel
def where_a_test_is_made(x, w):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        scale = 1
        if x[i] <= 2 and i > 0 and w[i - 1] > -2:
            if i > 0 and x[i - 1] < 0:
                scale = 3
            elif w[i] > 0:
                y[i] = 5
                continue
        y[i] += w[i] * scale
    return y


@cy.kernel
def unrolled(x, w):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        c = x[i] * 0
        for k in (1, 2, 3):
            if x[i] > 0:
                c = c + 1
                if w[i] > k:
                    continue
                c = c + 10
            if k > 1:
                if k == 2:
                    continue
                c = c + 1000
            c = c * 2
        y[i] = c
    return y


@cy.kernel
def of_arrays(x, w):
    u = x * 1
    for t in range(4):
        if cy.sum(u) > 0:
            u = u - 3
            if t == 2:
                continue
            if w[0] > 1:
                u = u * 2
                continue
        u = u + w
    return u


@cy.kernel(max_steps=30)
def steps(x, w):
    u = x * 1
    n = cy.zeros(())
    while n < 9:
        n += 1
        if u[0] > 0:
            u = u - 2
            if u[0] > 1:
                continue
            n += 1
        u = u + 1
        if n > 5:
            break
    return u, n


@cy.kernel
def many_indices(x, w):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        if i == 0:
            continue
        y[i] += 1
        if i == 2:
            continue
        y[i] += 2
        if i == 4:
            continue
        y[i] += 4
        if i == 6:
            continue
        y[i] += 8
        if i == 8:
            continue
        y[i] += 16
        if i == 10:
            continue
        y[i] += 32
        if i == 12:
            continue
        y[i] += 64
        if i == 14:
            continue
        y[i] += 128
        if i == 16:
            continue
        y[i] += w[i]
        if i == 18:
            continue
        y[i] += x[i]
        if i == 20:
            continue
        y[i] -= w[i] * 3
    return y


@cy.kernel
def in_fused_kernels(x, w):
    y, z = cy.zeros_like(x), cy.zeros_like(x)
    for i in range(x.shape[0]):
        with cy.fuse():
            if i % 3 == 1:
                continue
            with cy.fuse():
                if x[i] > 1:
                    y[i] += w[i]
                    continue
                z[i] += 1
        z[i] += x[i]
        with cy.fuse():
            if w[i] > 0:
                continue
            z[i] -= 2
    return y, z


KERNELS = (
    in_fused_kernels,
    three_deep,
    of_data,
    of_indices,
    of_both,
    where_a_test_is_made,
    unrolled,
    of_arrays,
    steps,
    many_indices,
)


@pytest.mark.parametrize("kernel", KERNELS, ids=[kernel.name for kernel in KERNELS])
@pytest.mark.parametrize("size", [1, 2, 7, 22])
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_as_in_python(kernel: cy.Kernel, size: int, dtype: str) -> None:
    if dtype == "int32" and kernel in (of_data, steps):
        dtype = "float32"  # they add halves, or count in the dtype of a new array
    random = np.random.default_rng(size)
    x, w = (random.integers(-3, 4, size).astype(dtype) for _ in range(2))
    program = kernel.compile(x, w)
    wanted: Any = kernel.reference(x, w)
    for backend in ("sim", "local"):
        found = cy.run(program, backend=backend).outputs.values()
        for got, one in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
            np.testing.assert_array_equal(got, one)
            assert got.dtype == np.asarray(one).dtype


@pytest.mark.parametrize("kernel", KERNELS, ids=[kernel.name for kernel in KERNELS])
def test_each_statement_is_recorded_once(kernel: cy.Kernel) -> None:
    """A text of which branches were copied would double with each `continue`."""
    updates = [line.strip() for line in kernel.source.splitlines() if " += " in line or " -= " in line]
    recorded = kernel.il()
    assert recorded.count(" += ") + recorded.count(" -= ") == len(updates)


def test_conditions_on_indices_stay_what_they_are() -> None:
    """The part of a domain that a `continue` leaves is known when the kernel is compiled: no data tell it."""
    x = np.arange(6.0)
    assert "goes_on" not in str(of_indices.recurrences(x, x))
    assert "taken" not in str(of_indices.recurrences(x, x))
    assert "taken" in str(of_both.recurrences(x, x))
