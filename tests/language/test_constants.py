"""Numbers in kernels: every integer of 64 bits exactly, truth values beside numbers, and Python's bools."""

from __future__ import annotations

import math

import numpy as np
import pytest

import cyclotron as cy


def same_everywhere(kernel: cy.Kernel, *arguments: object) -> None:
    """The bits and dtypes of the reference."""
    expected = kernel.reference(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for backend in ("sim", "local"):
        found = cy.run(kernel.compile(*arguments), backend=backend).outputs.values()
        for value, wanted in zip(found, expected, strict=True):
            assert value.dtype == wanted.dtype
            np.testing.assert_array_equal(value, wanted)


BEYOND_DOUBLES = (2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 6364136223846793005, 0x5555555555555555)


@cy.kernel
def elements(x, c):
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] ^ c
    return y


@cy.kernel
def arrays(x, c):
    return x & c, cy.where(x > 1, c, 7), cy.full((3,), 2**63 - 1, dtype="int64") - x, x * 2.0 + c


@cy.kernel
def tiles(A, c):
    B = cy.empty_like(A)
    for i in range(A.shape[0]):
        B[i] = A[i] + c
    return B


@pytest.mark.parametrize("c", BEYOND_DOUBLES)
def test_integers_keep_every_bit(c: int) -> None:
    x = np.arange(3)
    for kernel in (elements, arrays):
        same_everywhere(kernel, x, c)
        same_everywhere(kernel, x, np.int64(c))
    same_everywhere(tiles, cy.blocked(np.zeros(5, "int64"), 2), c)


def test_proofs_and_texts_tell_integers_apart_that_round_alike() -> None:
    x, c = np.arange(3), 2**53 + 1
    program = elements.compile(x, c)
    assert cy.prove(program)
    assert str(c) in str(program)
    assert str(c) in str(program.recurrences)
    assert str(cy.Dataflow.parse(str(program.dataflow))) == str(program.dataflow)
    assert str(c) in str(program.dataflow)
    np.testing.assert_array_equal(cy.run(program, backend="local").output, x ^ c)


@cy.kernel
def counted(B):
    n, m = B.shape
    total, shifted, product = (
        cy.empty(n, dtype="int64"),
        cy.empty(n, dtype="int64"),
        cy.empty(n, dtype="int64"),
    )
    is_two, half, either = cy.empty(n, dtype=bool), cy.empty(n, dtype=float), cy.empty(n, dtype="int64")
    for i in range(n):
        total[i] = sum(2 * B[i, j] for j in range(m))
        shifted[i] = sum(B[i, j] + 1 for j in range(m))
        product[i] = math.prod(B[i, j] + 1 for j in range(m))
        is_two[i] = (B[i, 0] == 2) | ((B[i, 1] & True) + 1 == 2)
        half[i] = B[i, 0] * 0.5
        either[i] = cy.where(B[i, 0], B[i, 1], 3)
    return total, shifted, product, is_two, half, either


def test_truth_values_beside_numbers_count() -> None:
    for B in (np.ones((2, 3), bool), np.eye(4, dtype=bool), np.zeros((3, 2), bool)):
        same_everywhere(counted, B)


@cy.kernel
def off_diagonal(A):
    y = cy.empty(A.shape[0])
    for i in range(A.shape[0]):
        y[i] = sum(A[i, j] for j in range(A.shape[1]) if ~(i == j))
    return y


@cy.kernel
def none(A):
    y = cy.empty(A.shape[0], dtype=bool)
    for i in range(A.shape[0]):
        y[i] = ~any(A[i, j] > 2 for j in range(A.shape[1]))
    return y


@pytest.mark.parametrize(
    ("kernel", "what"), [(off_diagonal, "a condition on indices"), (none, "`any` or `all`")]
)
def test_the_inverse_of_a_bool_of_python_is_refused(kernel: cy.Kernel, what: str) -> None:
    with pytest.raises(cy.TraceError, match=what) as caught:
        kernel.compile(np.ones((3, 3)))
    assert caught.value.code == "CYC104"
    assert "not" in str(caught.value)


@cy.kernel
def heat(u, steps):
    for _ in range(steps):
        u[1:-1] += 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@cy.kernel
def backwards(x):
    y = cy.empty_like(x)
    n = x.shape[0]
    for i in range(n):
        if i == 0:
            y[n - 1] = x[n - 1]
        else:
            y[n - 1 - i] = y[n - i] + x[n - 1 - i]
    return y


@cy.kernel
def product(A, B):
    C = cy.zeros_like(A)
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


def test_calls_give_what_the_function_gives() -> None:
    u = np.random.default_rng(0).random(40)
    np.testing.assert_array_equal(heat(u, 5), heat.reference(u, 5))
    np.testing.assert_array_equal(backwards(u), backwards.reference(u))
    A = cy.blocked(np.arange(30.0).reshape(5, 6) @ np.ones((6, 5)), (2, 2))
    np.testing.assert_array_equal(product(A, A), A.array @ A.array)
    with pytest.raises(cy.CyclotronError):
        heat(u.astype("int64"), 2)
