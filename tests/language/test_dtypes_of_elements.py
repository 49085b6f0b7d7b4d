"""Elements of different dtypes: operators promote them, and arrays keep them, as in NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

DTYPES = ("bool", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128")
VALUES = [0, 1, 3, -2, 7]


def check(kernel: cy.Kernel, *arguments: Any) -> None:
    expected = kernel.reference(*arguments)
    program = kernel.compile(*arguments)
    for backend in ("sim", "local"):
        found = cy.run(program, backend=backend).output
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations_with_replacement(DTYPES, 2)))
def test_operators(one: str, other: str) -> None:
    dtype = np.result_type(one, other).name

    @cy.kernel
    def mixed(a, b):
        c = cy.empty(a.shape, dtype=dtype)
        for i in range(a.shape[0]):
            c[i] = a[i] * b[i] + cy.maximum(a[i], b[a.shape[0] - 1 - i])
        return c

    check(mixed, np.array(VALUES).astype(one), np.array(VALUES[::-1]).astype(other))


@cy.kernel
def numbers(a):
    c = cy.empty(a.shape, dtype="float64")
    for i in range(a.shape[0]):
        c[i] = a[i] * 0.5 + cy.where(a[i] > 1.5, 1, 2.5) - a[i] / 4
    return c


@cy.kernel
def roots(a):
    c = cy.empty(a.shape, dtype="float64")
    for i in range(a.shape[0]):
        c[i] = cy.sqrt(a[i] * a[i])
    return c


@cy.kernel
def comparisons(a):
    c = cy.empty(a.shape, dtype="bool")
    for i in range(a.shape[0]):
        c[i] = a[i] > 0.5
    return c


@pytest.mark.parametrize("kernel", [numbers, roots, comparisons], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_numbers(kernel: cy.Kernel, dtype: str) -> None:
    check(kernel, np.array(VALUES, dtype=dtype))
    check(kernel, np.array([], dtype=dtype))


@pytest.mark.parametrize(("given", "kept"), list(itertools.product(DTYPES[:5], DTYPES[:5])))
def test_arrays_keep_values_in_their_dtype(given: str, kept: str) -> None:
    @cy.kernel
    def stored(a):
        c = cy.zeros((a.shape[0] + 1,), dtype=kept)
        for i in range(a.shape[0]):
            c[i] = a[i]
        c[a.shape[0]] = 2.75
        return c

    values = np.array(VALUES).astype(given)
    check(stored, values + values.dtype.type(0.5) if given.startswith("float") else values)


@cy.kernel
def truncated_each_time(a):
    c = cy.zeros((2,), dtype="int64")
    for i in range(a.shape[0]):
        c[0] += a[i]
        c[1] -= a[i] * 0.5
    return c


def test_what_is_added_is_kept_in_each_step() -> None:
    check(truncated_each_time, np.array([0.75, 1.5, -3.25, 10.5]))


@cy.kernel
def sums(a):
    c = cy.empty((3,), dtype="float64")
    s = 0
    for i in range(a.shape[0]):
        s = s + a[i]
    r = 0.0
    for i in range(a.shape[0]):
        r = r - a[i] * 2
    c[0] = s
    c[1] = r
    c[2] = sum(a[i] * 0.5 for i in range(a.shape[0]))
    return c


@pytest.mark.parametrize("dtype", DTYPES[1:5])
def test_literals_that_sums_start_with(dtype: str) -> None:
    check(sums, np.array(VALUES, dtype=dtype))


@pytest.mark.parametrize("n", [np.arange(4), np.arange(4, dtype="float32"), np.arange(4) > 1])
def test_arrays_beside_inputs_of_several_dtypes_have_numpys(n):
    @cy.kernel
    def kernel(x, n):
        y, z = cy.zeros(4), cy.ones((2, 4))
        for i in range(4):
            y[i] = x[i] * 0.3 + n[i]
        return y, z

    x = np.arange(4, dtype="float64")
    for found, expected in zip(kernel(x, n), (x * 0.3 + n, np.ones((2, 4))), strict=True):
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected)
