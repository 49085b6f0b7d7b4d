"""Accumulations, fillings and the order of Python's loops."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import agree

import cyclotron as cy


def integers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(float)


@cy.kernel
def subtracted(A):
    n = A.shape[0]
    x = cy.full(n, 5.0)
    y = cy.zeros(n)
    for i in range(n):
        for k in range(i):
            x[i] -= A[i, k]
            if k != 1:
                y[i] -= A[k, i]
    return x, y


def test_accumulation_forms() -> None:
    """`-=`, a fill value that is not zero, and a condition around the accumulation."""
    agree(subtracted, integers(4, 4))


@cy.kernel
def triangular_accumulation(A):
    n = A.shape[0]
    x = cy.zeros(n)
    for k in range(n):
        for i in range(k + 1, n):
            x[i] += A[i, k]
    return x


def test_accumulation_over_an_outer_loop() -> None:
    """The domain of the elements is the shadow of the loops."""
    system = agree(triangular_accumulation, integers(4, 4))
    assert system.equations[0].indices == ["i"]


@cy.kernel
def suffix_sum(x):
    n = len(x)
    X = cy.zeros(n + 1)
    for i in range(n - 1, -1, -1):
        X[i] = X[i + 1] + x[i]
    return X


@cy.kernel
def solved_in_place(L, b):
    n = len(b)
    x = cy.zeros(n)
    for i in range(n):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
    return x


@cy.kernel
def sums_of_sums(A):
    n = A.shape[0]
    x = cy.zeros(n)
    y = cy.zeros(n)
    for i in range(n):
        for k in range(n):
            x[i] += A[i, k]
        for k in range(i + 1):
            y[i] += x[k]
    return y


@pytest.mark.parametrize("kernel", [suffix_sum, solved_in_place, sums_of_sums], ids=lambda k: k.name)
def test_readings_after_assignments(kernel: cy.Kernel) -> None:
    """In the order of Python's loops, elements are assigned before they are read."""
    arguments = [integers(*(4, 4) if p.isupper() else (4,)) for p in kernel.signature.parameters]
    agree(kernel, *arguments)


@cy.kernel
def diagonal(A):
    x = cy.full(A.shape[0] + 1, 2.0)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if i == j:
                x[i] = A[i, j]
    return x


def test_a_fill_where_an_index_is_fixed_by_a_condition() -> None:
    agree(diagonal, integers(3, 3))


@cy.kernel
def two_sums(A):
    n = A.shape[0]
    x = cy.empty(n)
    for i in range(n):
        even = 0.0
        odd = A[i, 0]
        for k in range(n):
            if k != i:
                even += A[i, k]
                odd -= A[k, i]
        x[i] = even * odd
    return x


def test_local_sums_in_one_loop() -> None:
    agree(two_sums, integers(4, 4))


@cy.kernel
def stacked(A, B):
    n = A.shape[0]
    x = cy.zeros(n)
    for i in range(n):
        for k in range(n):
            x[i] += A[i, k]
        for k in range(i):
            x[i] += B[i, k]
        x[i] *= 2
    return x


def test_accumulations_one_after_the_other() -> None:
    """Statements that go on with the same element fold into its one equation."""
    system = agree(stacked, integers(4, 4), integers(4, 4, seed=1))
    assert len(system.equations) == 1


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_two_terms_of_an_iteration_are_added_in_its_order(dtype: str, n: int) -> None:
    """As one sum after the other they have other last bits."""

    @cy.kernel
    def in_turn(u, w):
        y = cy.ones(1, dtype=u.dtype)
        for i in range(u.shape[0]):
            y[0] += u[i]
            if i != 1:
                y[0] += w[i]
        return y

    for seed in range(8):
        parts = np.random.default_rng(seed).normal(size=(4, n))
        u, w = (parts[:2] + 1j * parts[2:] if dtype == "complex64" else parts[:2]).astype(dtype)
        expected = np.ones(1, dtype)
        for i in range(n):
            expected[0] += u[i]
            if i != 1:
                expected[0] += w[i]
        np.testing.assert_array_equal(in_turn(u, w), expected, strict=True)


@cy.kernel
def started(u, v):
    return sum((v[k] > 1 for k in range(len(v))), u)


@cy.kernel
def filtered(u, v):
    return sum((v[k] > 0 for k in range(len(v)) if v[k] < 2), u * 1)


@cy.kernel
def of_terms(u, v):
    return sum((v[k] for k in range(len(v)) if v[k] > 1), u)


@pytest.mark.parametrize("kernel", [started, filtered, of_terms], ids=lambda one: one.name)
@pytest.mark.parametrize("dtype", ["uint16", "int8", "float16", "float32", "bool", "int64", "complex64"])
@pytest.mark.parametrize("other", ["uint8", "bool", "float32"])
def test_sums_that_start_with_an_array(kernel: cy.Kernel, dtype: str, other: str) -> None:
    """Tests are NumPy's truth values, which take the dtype of the array, not whole numbers of 64 bits."""
    u, v = np.array([1, -0.0, 3]).astype(dtype), np.array([3, 1, 0, 2]).astype(other)
    found, expected = cy.run(kernel.compile(u, v)).output, kernel.__wrapped__(u, v)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    if found.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@cy.kernel
def from_one_of_its_terms(u):
    y = cy.zeros(len(u) + 1)
    for k in range(len(u)):
        y[k] = u[k]
    y[len(u)] = 3 * u[0]
    s, last = y[0], y[len(u)]
    for k in range(len(y)):
        s += y[len(u) - k]
        last -= y[k]
    return y, s, last


@pytest.mark.parametrize("n", [1, 2, 4, 7])
@pytest.mark.parametrize("schedule", [None, cy.Schedule(), cy.Schedule().space("k")])
def test_sums_that_go_on_from_one_of_their_terms(n: int, schedule: cy.Schedule | None) -> None:
    """The first term alone uses what a sum goes on from; a term that is the same takes it elsewhere."""
    u = integers(n, seed=n)
    result = cy.run(from_one_of_its_terms.compile(u, schedule=schedule), u, backend="sim")
    y = np.append(u, 3 * u[0])
    expected = [y, y[0] + y.sum(), y[-1] - y.sum()]
    for found, other in zip(result.outputs.values(), expected, strict=True):
        np.testing.assert_array_equal(found, other)
