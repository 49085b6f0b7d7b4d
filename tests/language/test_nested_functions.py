"""Functions that a kernel's text defines, of assignments, `if` and `return`: as Python's."""

import numpy as np
import pytest
from numpy_oracle import check_against_numpy

import cyclotron as cy


def of_elements(x):
    def clipped(v, low=0, *, high=3):
        if v < low:
            return low
        if v > high:
            return high
        return v

    y = np.zeros_like(x)
    for i in range(4):
        y[i] = clipped(x[i] - 2, high=2)
    return y


def of_arrays(x):
    def logistic(z):
        """Between 0 and 1."""
        e = np.exp(-z)
        return 1 / (1 + e)

    return logistic(x) + logistic(2 * x)


def steps(x):
    speed = 2.0

    def slope(t, u):
        left, right = np.roll(u, 1), np.roll(u, -1)
        change: np.ndarray = left - 2 * u + right
        return speed * change + t

    u = x * 1.0
    for _ in range(2):
        first = slope(0.0, u)
        u = u + 0.1 * slope(0.5, u + 0.05 * first)
    return u


def recursive(x):
    def factorial(n: int) -> int:
        if n <= 1:
            return 1
        return n * factorial(n - 1)

    return x * factorial(4)


def by_shapes(x):
    def total(v):
        if v.shape[0] > 3:
            part = v[1:]
            return part.sum()
        return v.sum()

    return total(x) * 2


def pairs(x):
    def two(v):
        return v + 1, v * 2

    a, b = two(x)
    return a * b


def around(x):
    u = x * 1.0
    factor = 1

    def step():
        return np.roll(u, 1) * factor

    factor = 0.5
    for _ in range(3):
        u = step()
    return u


def of_loop_numbers(x):
    y = np.zeros(4)
    for i in range(4):

        def weighted(v):
            return v * i

        y[i] = weighted(x[i])
    return y


def carried(x):
    total = 0.0
    y = np.zeros(4)

    def scaled(v):
        return v * total

    for i in range(4):
        total = total + x[i]
        y[i] = scaled(x[i])
    return y, total


def changed_between(x):
    y = x.copy()

    def whole():
        return y.sum()

    y[0] = 9
    before = whole()
    y[1] = 7
    return before, whole(), y


def views(x):
    y = x.copy()

    def behind(v):
        part = v[1:]
        return part

    part = behind(y)
    part[0] = 50
    return y, part


def copies(x):
    def doubled(v):
        new = v * 2
        return new

    y = doubled(x)
    x[0] = 77
    return y, x


def own_names(x):
    def f(x):
        x = x + 1
        x = x * x
        return x

    return f(f(x)), x


def within(x):
    def f(v):
        def g(w):
            return w * 2

        return g(v) + 1

    return f(x)


def conditions(x):
    n = 0

    def goes_on(v):
        return v.sum() < 100

    while goes_on(x) and n < 5:
        x = x * 2
        n += 1
    return x, n


def chosen(x):
    def f(v):
        if v > 2:
            w = v
        else:
            w = -v
        return w * w + w

    def norm(v):
        return np.sqrt(sum(v[k] * v[k] for k in range(len(v))))

    y = np.zeros(4)
    for i in range(4):
        y[i] = f(x[i])
    return y, norm(x)


def nothing(x):
    def none(v):
        _ = v

    none(x)
    return x


FUNCTIONS = [
    of_elements, of_arrays, steps, recursive, by_shapes, pairs, around, of_loop_numbers, carried,
    changed_between, views, copies, own_names, within, conditions, chosen,
    nothing,
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_functions_in_kernels(function, dtype):
    check_against_numpy(function, np.array([1, 5, 2, 3], dtype), rtol=1e-15)


def test_arguments_are_computed_once():
    @cy.kernel
    def f(x):
        def squared(v):
            e = np.exp(v)
            return e * e + e

        return squared(x)

    assert str(f.compile(np.ones(4)).graph).count("exp") == 1


def in_a_loop(x):
    def f(v):
        for _ in range(3):
            v = v + 1
        return v

    return f(x)


def in_place(x):
    def f(v):
        v += 1
        return v

    return f(x)


def a_part(x):
    def f(v):
        v[0] = 1
        return v

    return f(x)


def falling_through(x):
    def f(v):
        w = v
        if len(v) > 3:
            w = -v
        return w

    return f(x)


def unbound(x):
    w = x

    def f(v):
        w = w + v  # noqa: F823
        return w

    return f(x) + w


@pytest.mark.parametrize("function", [in_a_loop, in_place, a_part, falling_through, unbound])
def test_functions_of_other_statements_are_refused(function):
    with pytest.raises(cy.TraceError, match="a nested function has other statements") as refusal:
        cy.kernel(function)(np.ones(4))
    assert "def f(v):" in str(refusal.value)
