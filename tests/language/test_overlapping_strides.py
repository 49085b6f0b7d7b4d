"""Assignments to elements at several strides, one after the other: what each leaves is as it was."""

import math

import numpy as np
import pytest
from numpy_oracle import check_against_numpy

import cyclotron as cy


def sieve(x):
    a = np.ones(len(x), dtype=bool)
    a[:2] = False
    for p in range(2, 11):
        a[p * p :: p] = 0
    return a, x


def in_place(x):
    for p in range(2, 9):
        x[p * p :: p] = 0
    return x


def of_primes(x):
    a = np.ones(len(x), dtype=bool)
    for p in range(2, 11):
        if a[p]:
            a[p * p :: p] = False
    return a, a.sum(), x


def scaled(x):
    for p in range(2, 9):
        x[p * p :: p] *= 3
        x[p::p] += p
    return x


def values(x):
    y = x.copy()
    for p in range(2, 8):
        y[p * p :: p] = x[: (len(x) - 1 - p * p) // p + 1]
        y[::-p] -= 1
    return y


def backwards(x):
    y = x.copy()
    for p in range(2, 8):
        y[-1::-p] = 2 * x[: (len(x) - 1) // p + 1]
    return y


def in_loops(x):
    for t in range(3):
        for p in (2, 3, 5, 7):
            for i in range(p, len(x), p):
                x[i] = t
            x[p + 1 :: p] = x[p]
    return x


def of_rows(x):
    y = np.ones((6, len(x)), x.dtype)
    for p in range(2, 9):
        y[1::2, p * p :: p] = x[p]
        y[::3, p::p] -= x[p::p]
    return y


def at_places(x):
    y = x.copy()
    n = np.array([3, 1, 2])
    for p in range(2, 9):
        y[p * p :: p] = x[n[p % 3]]
    return y


def of_itself(x):
    y = x.copy()
    y[0::4] = y[16]
    y[7::6] = x[:5].sum()
    if y[3] > 10:
        y[12::-7] += x[:2]
    y[19::-3] *= y[1:8]
    y[5::9] -= 2 * y[23]
    y[1::11] = y[2:12][::-1][:9]
    return y


FUNCTIONS = [sieve, in_place, of_primes, scaled, values, backwards, in_loops, of_rows, at_places, of_itself]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("dtype", ["float64", "int32", "complex64"])
def test_overlapping_strides(function, dtype):
    check_against_numpy(function, np.random.default_rng(0).integers(0, 50, 100).astype(dtype))


def test_signs_of_zeros_stay():
    check_against_numpy(values, np.where(np.arange(100) % 3, -0.0, 1.0))


@pytest.mark.parametrize("by_data", [False, True])
def test_many_strides_take_no_time_to_compile(by_data):
    @cy.kernel
    def primes(n, most):
        a = cy.ones(n, "bool")
        a[:2] = False
        for p in range(2, most):
            if by_data:
                if a[p]:
                    a[p * p :: p] = False
            else:
                a[p * p :: p] = False
        return a

    result = cy.run(primes.compile(500, 23), backend="sim")
    wanted = [n > 1 and all(n % k for k in range(2, n)) for n in range(500)]
    np.testing.assert_array_equal(result.outputs["a"], wanted)
    assert max(result.grid) > 1


def by_root(x, n):
    for p in range(2, int(math.sqrt(n)) + 1):
        x[p * p :: p] = 0
    return x


def by_named_root(x, n):
    last = int(n**0.5)
    for p in range(2, last + 1):
        x[p * p :: p] = 0
    return x


def by_ceiling(x, n):
    a = np.ones(n, dtype=bool)
    for p in range(2, math.ceil(np.sqrt(n))):
        a[p * p :: p] = False
    return x * a


def counted(x, n):
    a = np.ones(n, dtype=bool)
    p = 2
    while p * p < n:
        a[p * p :: p] = False
        p += 1
    return x * a


@pytest.mark.parametrize("function", [by_root, by_named_root, by_ceiling, counted])
@pytest.mark.parametrize("n", [50, np.int64(50)])
def test_bounds_that_the_host_computes(function, n):
    x = np.arange(1.0, 51.0)
    result = cy.run(cy.kernel(function).compile(x, n)).output
    np.testing.assert_array_equal(result, function(x.copy(), n))


def test_a_bound_that_data_tell_is_named():
    @cy.kernel
    def f(x, m):
        for p in range(2, int(m[0])):
            x[p * p :: p] = 0
        return x

    with pytest.raises(cy.TraceError, match=r"a bound of a range depends on data \[CYC102\]"):
        f(np.ones(50), np.array([7]))
