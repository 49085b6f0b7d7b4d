"""Subscripts of slices and of expressions: as NumPy within them, refused beyond."""

import numpy as np
import pytest

import cyclotron as cy


def under_conditions(u):
    y = u * 0
    for i in range(3):
        if i > 0:
            y[i] = u[1:][i - 1]
        y[i] += u[1:][i - 1] if i > 0 else 7
        y[2] += sum(u[:2][k - i] for k in range(4) if i <= k < i + 2)
    return y


def from_the_end(u):
    v = u[::-1]
    for i in range(3):
        v[i] += i
        u[1:][i // 2] += 1
    w = u[:2]
    w[-1] = 3
    return u, u[:2][1], u[1:][-2]


def rows(u):
    A = np.outer(u, u)
    y = u * 0
    for i in range(3):
        r = A[i]
        for j in range(i, 3):
            y[i] += r[j] + A.T[j][i] + A[i, i:][j - i]
    return y


@pytest.mark.parametrize("function", [under_conditions, from_the_end, rows], ids=lambda one: one.__name__)
def test_gives_what_numpy_gives(function):
    u = np.array([1.0, 2.0, 4.0])
    expected = function(u.copy())
    found = cy.kernel(function)(u)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)


@cy.kernel
def before_a_slice(u):
    y = u * 0
    for i in range(3):
        y[i] = u[1:][i - 1]
    return y


@cy.kernel
def after_a_slice(u):
    y = u * 0
    for i in range(3):
        y[i] = u[:2][i]
    return y


@cy.kernel
def after_an_expression(u):
    y = u * 0
    for i in range(3):
        y[i] = (u[1:] * 2)[i]
    return y


@cy.kernel
def after_a_slice_by_a_number(u):
    return u[:2][2] + u


@cy.kernel
def assigned_before_a_slice(u):
    for i in range(2):
        u[1:][i - 1] = 5
    return u


REFUSED = [
    before_a_slice, after_a_slice, after_an_expression, after_a_slice_by_a_number, assigned_before_a_slice,
]  # fmt: skip


@pytest.mark.parametrize("kernel", REFUSED, ids=lambda one: one.name)
def test_beyond_a_part_there_is_none(kernel):
    with pytest.raises(cy.LegalityError, match=r"of a part of .* (is below 0|reaches its end)") as caught:
        kernel(np.array([1.0, 2.0, 4.0]))
    assert caught.value.code == "CYC203"


def sums_of_rows(A):
    w = A[0] + 1
    v = A[0] * A[1]
    A[0, 0] = 50
    A[1] += v
    return w, v, A


def changed_elements(u):
    w = u[0] + 1
    u[0] = 50
    return w, u


@pytest.mark.parametrize("function", [sums_of_rows, changed_elements])
def test_expressions_of_parts_are_computed_where_they_get_a_name(function) -> None:
    x = np.arange(9.0).reshape(3, 3) if function is sums_of_rows else np.arange(4.0)
    expected = function(x.copy())
    for run in (cy.kernel(function), cy.kernel(function).reference):
        for found, right in zip(run(x.copy()), expected, strict=True):
            np.testing.assert_array_equal(found, right)


def largest_before(u, v):
    for k in range(1, 5):
        u[k] = v[:k].max() + v[k - 1 :].min()
    return u


def test_extrema_of_slices_that_indices_bound() -> None:
    u, v = np.ones(5), np.array([3.0, -1, 4, 1, 5])
    np.testing.assert_array_equal(cy.kernel(largest_before)(u.copy(), v), largest_before(u.copy(), v))
