"""Loops of textbooks that carry indices and flags as numbers, as the same text in Python."""

import numpy as np
import pytest

import cyclotron as cy


def lu_with_pivots(A, u):
    n = 3
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[p, k]):
                p = i
        for j in range(n):
            t = A[k, j]
            A[k, j] = A[p, j]
            A[p, j] = t
        for i in range(k + 1, n):
            A[i, k] = A[i, k] / A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    return A


def selection_sort(A, u):
    for i in range(5):
        m = i
        for j in range(i + 1, 5):
            if u[j] < u[m]:
                m = j
        u[i], u[m] = u[m], u[i]
    return u


def insertion_sort(A, u):
    for i in range(1, 5):
        key = u[i]
        j = i - 1
        while j >= 0 and u[j] > key:
            u[j + 1] = u[j]
            j -= 1
        u[j + 1] = key
    return u


def bubble_sort(A, u):
    swapped = True
    while swapped:
        swapped = False
        for i in range(4):
            if u[i] > u[i + 1]:
                u[i], u[i + 1] = u[i + 1], u[i]
                swapped = True
    return u


def reversed_by_two_numbers(A, u):
    i, j = 0, 4
    while i < j:
        t = u[i]
        u[i] = u[j]
        u[j] = t
        i += 1
        j -= 1
    return u


def compacted(A, u):
    k = 0
    for i in range(5):
        if u[i] != 2:
            u[k] = u[i]
            k += 1
    while k < 5:
        u[k] = 0
        k += 1
    return u


def until_found(A, u):
    done = False
    for i in range(5):
        if not done:
            u[i] += 1
        if u[i] > 3:
            done = True
    if done:
        u[0] = 9
    return u, done


def alternating(A, u):
    up = True
    count = 0
    for i in range(5):
        if up:
            u[i] += 1
        up = not up
        if up and u[i] > 1:
            count += 1
    return u, count, up


def place_of_the_largest(A, u):
    best = u[0]
    at = 0
    for i in range(5):
        if u[i] > best:
            best = u[i]
            at = i
    return best, at


def bisected(A, u):
    lo, hi = 0, 5
    while lo < hi:
        mid = (lo + hi) // 2
        if u[mid] < 3.5:
            lo = mid + 1
        else:
            hi = mid
    return lo, u * 1


FUNCTIONS = [
    lu_with_pivots, selection_sort, insertion_sort, bubble_sort, reversed_by_two_numbers, compacted,
    until_found, alternating, place_of_the_largest, bisected,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
@pytest.mark.parametrize(
    "numbers", [[5.0, 2, 4, 2, 1], [1.0, 2, 3, 4, 5], [2.0, 2, 2, 2, 2], [0.0, -1, 7, -3, 2]]
)
def test_gives_what_python_gives(function, numbers):
    A = np.array([[2.0, 1, 5], [4, -3, 1], [8, 0, 3]])
    u = np.array(numbers)
    expected = function(A.copy(), u.copy())
    expected = expected if isinstance(expected, tuple) else (expected,)
    program = cy.kernel(function).compile(A, u)
    for backend in ("sim", "local"):
        found = cy.run(program, backend=backend).outputs.values()
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
