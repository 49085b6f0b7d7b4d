"""Arrays that NumPy makes in a kernel of values of the host, changed in what is recorded once."""

import numpy as np
import pytest
from numpy_oracle import check_against_numpy

import cyclotron as cy

TABLE = np.array([1.0, 2.5, -3.0, 4.0])


def in_a_branch(x, n):
    w = TABLE.copy()
    if n[0] == 1:
        w[2] = 5.0
    v = np.eye(4)
    if x[0] > 100:
        v[0, 0] = 5
    u = TABLE.astype(int)
    if n[0] == 2:
        u += 3
    return w, v, u


def in_loops(x, n):
    w, y = np.arange(4.0), np.zeros(4)
    for i in range(4):
        w[1] += 3
        y[i] = x[i] * w[1]
    v = np.array([0] * 4)
    for i in range(4):
        if i % 2 == 0:
            v[0] -= 1
    u = np.zeros(4) + 1
    for _ in x:
        u[1] += 1
    return w + x, y, v, u


def until_it_ends(x, n):
    w, v, k = np.arange(4.0), np.tile(TABLE, 2), 0
    while x[0] > 100 and k < 2:
        w[1] += 3.0
        k += 1
    while x[0] < 3:
        x[0] += 1
        v[0] += 1
    u = np.arange(4)
    if u[3] == 3:
        u[0] = 5
    while u[0] > 1:
        u[0] -= 1
    return w, v, u * x


def over_sizes(x, n):
    w, size = TABLE.copy(), 4
    while size > 1:
        w[0] += 1
        size //= 2
    y = np.zeros(4)
    for i in range(4):
        new = TABLE.copy()
        new[0] = 7.0
        y[i] = new[0] * x[i]
    return w * x, y


def by_carried_numbers(x, n):
    w, total = TABLE.copy(), 0.0
    for i in range(3):
        total = total + x[i]
        w[1:] += total
    return w


def of_the_host(x, n):
    sizes = np.array([2, 3])
    for k in [0, 1]:
        sizes[k] += 1
    total = x * 0
    for j in range(sizes[1]):
        total = total + x * j
    w = TABLE.copy()
    w[1:] += 2
    w -= 0.5
    return total, w


FUNCTIONS = [in_a_branch, in_loops, until_it_ends, over_sizes, by_carried_numbers, of_the_host]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_they_are_changed_in_each_iteration(function):
    check_against_numpy(function, np.array([1.0, 5, 2, 3]), np.array([2, 0, 3, 1]))


def by_a_view(x):
    w = TABLE.copy()
    v = w[1:]
    if x[0] > 100:
        v[0] = 9
    return w


def by_another_name(x):
    w = np.arange(4.0)
    b = w
    if x[0] > 100:
        b[0] = 3
    return w


def by_a_transpose(x):
    w = np.eye(4)
    for _ in range(3):
        w.T[0] += 1
    return w * x


def by_a_function(x):
    w = TABLE.copy()
    y = plus_one(w)[0] if x[0] > 100 else 0.0
    return y + w


def plus_one(w):
    w += 1
    return w


@pytest.mark.parametrize("function", [by_a_view, by_another_name, by_a_transpose, by_a_function])
def test_other_ways_to_change_them_are_refused(function):
    with pytest.raises(cy.TraceError, match="which is recorded once") as refusal:
        cy.kernel(function)(np.ones(4))
    assert refusal.value.code == "CYC101"


def filled_by_elements(v):
    y = np.zeros(4)
    for i in range(1, 4):
        y[i] = y[i - 1] + v[i]
    return y


def calling(x):
    return filled_by_elements(x)


def test_functions_that_fill_arrays_of_numpy_are_told():
    with pytest.raises(cy.TraceError, match="in a function that it calls") as refusal:
        cy.kernel(calling)(np.ones(4))
    assert refusal.value.code == "CYC106"
    assert "cy.zeros(n)" in str(refusal.value)


def test_places_are_arrays_in_conditions_too():
    @cy.kernel
    def f(x, n):
        y = x[n]
        if n[3] == 1:
            x = y * 2
        return x

    x = np.arange(4.0)
    np.testing.assert_array_equal(f(x, np.array([2, 0, 3, 1])), [4, 0, 6, 2])
    np.testing.assert_array_equal(f(x, np.array([2, 0, 3, 0])), x)
