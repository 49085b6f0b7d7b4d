"""Slices with steps whose number of elements is not affine in the index of a loop: Python runs it."""

import numpy as np
import pytest
from numpy_oracle import check_against_numpy

import cyclotron as cy


def red_and_black(x):
    u = np.outer(x, x[::-1])
    for _ in range(3):
        for color in range(2):
            for s in range(2):
                a = 1 + s
                b = 1 + (s + color) % 2
                u[a:-1:2, b:-1:2] += (u[a - 1 : -2 : 2, b:-1:2] + u[a + 1 :: 2, b:-1:2]) * u[a, b]
    return u


def odd_even_sort(x):
    n = len(x)
    for t in range(n):
        for s in range(2):
            low = np.minimum(x[s : n - 1 : 2], x[s + 1 : n : 2])
            high = np.maximum(x[s : n - 1 : 2], x[s + 1 : n : 2])
            x[s : n - 1 : 2] = low
            x[s + 1 : n : 2] = high
    return x


def thirds(x):
    y = np.zeros_like(x)
    for k in range(len(x) // 4):
        y[k::3] += x[: len(x) - 2 * k : 3].sum() * k
    return y


def until_data_end_it(x):
    n, change = 0, 1.0
    y = x * 1.0
    while change > 0.1:
        before = y.copy()
        for s in range(2):
            y[1 + s : -1 : 2] = (y[s:-2:2] + y[2 + s :: 2]) / 2
        change = np.max(np.abs(y - before))
        n += 1
    return y, n


def downwards(x):
    for s in range(3):
        x[-1 - s :: -2] *= 2
    return x


FUNCTIONS = [red_and_black, odd_even_sort, thirds, until_data_end_it, downwards]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("length", [8, 9])
def test_uneven_slices(function, dtype, length):
    check_against_numpy(function, np.array([3, 1, 4, 1, 5, 9, 2, 6, 5][:length], dtype), rtol=1e-14)


def test_even_slices_are_recorded_once():
    @cy.kernel
    def f(x):
        y = cy.zeros(30)
        for d in range(20):
            y[d] = x[d : d + 8 : 2].sum() + x[2 * d :: 2].sum()
        return y

    x = np.arange(60.0)
    program = f.compile(x)
    np.testing.assert_array_equal(cy.run(program).outputs["y"], f.reference(x))
    assert len(str(f.recurrences(x)).splitlines()) < 20


def test_a_long_loop_is_refused():
    @cy.kernel
    def f(x):
        for s in range(20):
            x[s:-1:2] += 1
        return x

    with pytest.raises(cy.TraceError, match=r"a loop of 20 iterations.* at most 16 \[CYC107\]"):
        f(np.ones(50))


def test_other_uneven_slices_name_unrolling():
    @cy.kernel
    def f(x):
        for s in range(2):
            a = 1
            a = a + s
            x[a:-1:2] += 1
        return x

    with pytest.raises(cy.TraceError, match=r"CYC107(.|\n)*over values, e.g. `for s in \(0, 1\):`"):
        f(np.ones(50))
