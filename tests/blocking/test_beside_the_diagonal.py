"""Sums over all but one element of a row, as Jacobi's iteration has them."""

import numpy as np
import pytest
from loading import kernel_of

import cyclotron as cy

JACOBI = """
def kernel(A, b):
    n = len(b)
    x = cy.zeros((6, n))
    for t in range(1, 6):
        for i in range(n):
            x[t, i] = (b[i] - sum(A[i, j] * x[t - 1, j] for j in range(n) if j != i)) / A[i, i]
    return x
"""
JACOBI_IN_LOOPS = """
def kernel(A, b):
    n = len(b)
    x = cy.zeros(n)
    y = cy.empty(n)
    for t in range(5):
        for i in range(n):
            s = 0.0
            for j in range(n):
                if i != j:
                    s += A[i, j] * x[j]
            y[i] = (b[i] - s) / A[i, i]
        for i in range(n):
            x[i] = y[i]
    return x
"""
GAUSS_SEIDEL = """
def kernel(A, b):
    n = len(b)
    x = b.copy()
    for t in range(5):
        for i in range(n):
            s = b[i]
            for j in range(n):
                if j != i:
                    s -= A[i, j] * x[j]
            x[i] = s / A[i, i]
    return x
"""
PRODUCT = """
def kernel(A, B):
    C = cy.empty_like(B)
    for i in range(A.shape[0]):
        for r in range(B.shape[1]):
            C[i, r] = sum(A[i, j] * B[j, r] for j in range(A.shape[0]) if j != i)
    return C
"""
TRIANGLES = """
def kernel(A, B):
    C = cy.empty_like(B)
    for i in range(A.shape[0]):
        for r in range(B.shape[1]):
            C[i, r] = sum(A[i, j] * B[j, r] for j in range(i)) - sum(
                A[i, j] * B[j, r] for j in range(i + 1, A.shape[0])
            )
    return C
"""


def jacobi(a, b):
    rows = [np.zeros(len(b))]
    for _ in range(5):
        rows.append((b - beside(a) @ rows[-1]) / np.diag(a))
    return np.array(rows)


def gauss_seidel(a, b):
    x, others = b.copy(), beside(a)
    for _ in range(5):
        for i in range(len(b)):
            x[i] = (b[i] - others[i] @ x) / a[i, i]
    return x


def beside(a):
    return a - np.diag(np.diag(a))


CASES = {
    "Jacobi": (JACOBI, 1, jacobi),
    "Jacobi in loops": (JACOBI_IN_LOOPS, 1, lambda a, b: jacobi(a, b)[-1]),
    "Gauss-Seidel": (GAUSS_SEIDEL, 1, gauss_seidel),
    "product": (PRODUCT, 2, lambda a, b: beside(a) @ b),
    "triangles of two signs": (TRIANGLES, 2, lambda a, b: (np.tril(a, -1) - np.triu(a, 1)) @ b),
}


def given(n, axes):
    rng = np.random.default_rng(n)
    right = rng.random(n) if axes == 1 else rng.random((n, n + 3))
    return rng.random((n, n)) - 0.5 + n * np.eye(n), right


@pytest.mark.parametrize("schedule", [cy.Schedule(), None], ids=["one PE", "default"])
@pytest.mark.parametrize("name", CASES)
def test_results_are_numpys(name, schedule):
    text, axes, expected = CASES[name]
    kernel = kernel_of(text)
    for n in (3, 7, 8):
        arguments = given(n, axes)
        for tile in (2, 3, 4, 64):
            program = kernel.compile(*arguments, schedule=schedule, tile=tile)
            np.testing.assert_allclose(
                cy.run(program).output, expected(*arguments), 1e-9, 1e-12, err_msg=f"{n}, {tile}"
            )


def test_backends_agree_bit_for_bit():
    program = kernel_of(PRODUCT).compile(*given(9, 2), tile=4)
    local = cy.run(program, backend="local").output
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, local)
    np.testing.assert_array_equal(cy.run(program, backend="mpi", ranks=2).output, local)


@pytest.mark.parametrize("name", ["Jacobi in loops", "Gauss-Seidel"])
def test_long_iterations_run_in_tiles_by_themselves(name):
    text, axes, expected = CASES[name]
    arguments = given(2100, axes)
    result = cy.run(kernel_of(text), *arguments)
    assert result.program.blocking is not None
    np.testing.assert_allclose(result.output, expected(*arguments), rtol=1e-9)
