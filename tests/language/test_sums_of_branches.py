"""Loops whose branches add to names: sums of what a condition chooses, as in Python."""

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def in_both(x, w):
    y = cy.zeros_like(x)
    n = x.shape[0]
    for i in range(n):
        s = 0
        for j in range(n):
            if x[j] > w[i]:
                s += x[j]
            else:
                s -= w[j]
        y[i] = s
    return y


@cy.kernel
def of_several_names(x, w):
    s, c = 0, 1
    for j in range(x.shape[0]):
        if x[j] > 0:
            s = s + x[j]
            c += 2
        elif j > 1:
            s -= w[j]
    return x * s + c


@cy.kernel
def only_otherwise(x, w):
    s = 0
    for j in range(x.shape[0]):
        if x[j] > 0:
            pass
        else:
            s += w[j]
    return x + s


@cy.kernel
def of_truths(x, w):
    s = 0
    above = x > w
    for j in range(x.shape[0]):
        if x[j] > 0:
            s += 1
        else:
            s -= above[j]
    y = x + 1
    y *= s
    return y


@cy.kernel
def goes_on(x, w):
    s = 0
    for j in range(x.shape[0]):
        if x[j] > 0:
            s += x[j]
            continue
        if j == 2 or w[j] < 0:
            s += 10
    return w * s


@cy.kernel
def beside_an_addition(x, w):
    s, c = 0, 0
    for j in range(x.shape[0]):
        c += w[j]
        if j > 0 and x[j - 1] > 0:
            s += x[j - 1]
    return w * s + c


@cy.kernel
def truths_to_an_element(x, w):
    y = x[0] if x.shape[0] else w
    for k in range(x.shape[0]):
        if x[k]:
            y += x[k] > 0
    return y


KERNELS = (only_otherwise, of_truths, in_both, of_several_names, goes_on, beside_an_addition)


@pytest.mark.parametrize("kernel", KERNELS, ids=[kernel.name for kernel in KERNELS])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("size", [0, 1, 2, 6])
def test_as_in_python(kernel: cy.Kernel, dtype: str, size: int) -> None:
    for seed in range(3):
        x, w = np.random.default_rng(seed).integers(-3, 4, (2, size)).astype(dtype)
        program = kernel.compile(x, w)
        for backend in ("sim", "local"):
            found = cy.run(program, backend=backend).output
            np.testing.assert_array_equal(found, kernel.reference(x, w))
            assert found.dtype == x.dtype


def test_names_that_the_test_reads_are_no_sums() -> None:
    @cy.kernel
    def until(x):
        s = 0.0
        for j in range(x.shape[0]):
            if s < 3:
                s += x[j]
            else:
                s += 1
        return x * s

    x = np.array([2.0, 2.5, 7.0, 1.0])
    np.testing.assert_array_equal(until(x), until.__wrapped__(x))
