"""Gaussian elimination in arrays of the kernel's own, changed in place and solved with."""

import numpy as np
import pytest
from loading import kernel_of

import cyclotron as cy

SOLVE = """
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - sum(U[i, j] * x[j] for j in range(i + 1, n))) / U[i, i]
    return x
"""
HEAD = """
def kernel(A, b):
    n = A.shape[0]
    U = A.copy()
    y = b.copy()
    x = cy.empty(n)
    for k in range(n):
        for i in range(k + 1, n):
"""
ELIMINATE = """            f = U[i, k] / U[k, k]
            for j in range(k, n):
                U[i, j] = U[i, j] - f * U[k, j]
            y[i] = y[i] - f * y[k]
"""
FACTOR = """            U[i, k] = U[i, k] / U[k, k]
            for j in range(k + 1, n):
                U[i, j] -= U[i, k] * U[k, j]
"""
FORWARD = """    for i in range(n):
        for j in range(i):
            y[i] -= U[i, j] * y[j]
"""
TEXTS = {
    "elimination": HEAD + ELIMINATE + SOLVE,
    "elimination below the diagonal": HEAD + ELIMINATE.replace("range(k, n)", "range(k + 1, n)") + SOLVE,
    "elimination to zeros": HEAD
    + ELIMINATE.replace("range(k, n)", "range(k + 1, n)")
    + "            U[i, k] = 0.0\n"
    + SOLVE,
    "division at last": HEAD
    + """            for j in range(k + 1, n):
                U[i, j] -= U[i, k] * U[k, j] / U[k, k]
            y[i] -= U[i, k] * y[k] / U[k, k]
"""
    + SOLVE,
    "factors, then solves": HEAD + FACTOR + FORWARD + SOLVE,
    "solves in place": HEAD
    + FACTOR
    + FORWARD
    + """
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            y[i] -= U[i, j] * y[j]
        y[i] /= U[i, i]
    return y
""",
    "factors apart": """
def kernel(A, b):
    n = A.shape[0]
    L = cy.zeros_like(A)
    U = A.copy()
    y = cy.empty(n)
    x = cy.empty(n)
    for k in range(n):
        for i in range(k + 1, n):
            L[i, k] = U[i, k] / U[k, k]
            for j in range(k, n):
                U[i, j] -= L[i, k] * U[k, j]
    for i in range(n):
        y[i] = b[i] - sum(L[i, j] * y[j] for j in range(i))
"""
    + SOLVE,
    "rows": HEAD
    + """            f = U[i, k] / U[k, k]
            U[i, k:] -= f * U[k, k:]
            y[i] -= f * y[k]
"""
    + SOLVE,
    "slices": """
def kernel(A, b):
    n = A.shape[0]
    U = A.copy()
    x = b.copy()
    for k in range(n):
        U[k + 1 :, k] /= U[k, k]
        U[k + 1 :, k + 1 :] -= np.outer(U[k + 1 :, k], U[k, k + 1 :])
    for i in range(n):
        x[i] -= U[i, :i] @ x[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - U[i, i + 1 :] @ x[i + 1 :]) / U[i, i]
    return x
""",
}
TEXTS["augmented matrix"] = """
def kernel(A, b):
    n = A.shape[0]
    U = cy.empty((n, n + 1))
    x = cy.empty(n)
    for i in range(n):
        for j in range(n):
            U[i, j] = A[i, j]
        U[i, n] = b[i]
    for k in range(n):
        for i in range(k + 1, n):
            f = U[i, k] / U[k, k]
            for j in range(k, n + 1):
                U[i, j] -= f * U[k, j]
""" + SOLVE.replace("y[i]", "U[i, n]")
SYMMETRIC_SOLVE = (
    FORWARD
    + """    for i in range(n):
        y[i] /= U[i, i]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            y[i] -= U[j, i] * y[j]
    return y
"""
)
SYMMETRIC = {
    "LDL, scaled at last": HEAD
    + """            f = U[i, k] / U[k, k]
            for j in range(k + 1, i + 1):
                U[i, j] -= f * U[j, k]
        for i in range(k + 1, n):
            U[i, k] /= U[k, k]
"""
    + SYMMETRIC_SOLVE,
    "LDL, scaled first": HEAD
    + """            U[i, k] /= U[k, k]
        for j in range(k + 1, n):
            for i in range(j, n):
                U[i, j] -= U[i, k] * U[k, k] * U[j, k]
"""
    + SYMMETRIC_SOLVE,
}
MATRIX = """
def kernel(A, B):
    n = A.shape[0]
    U = A.copy()
    Y = B.copy()
    X = cy.empty_like(B)
    for k in range(n):
        for i in range(k + 1, n):
            f = U[i, k] / U[k, k]
            for j in range(k, n):
                U[i, j] -= f * U[k, j]
            for r in range(B.shape[1]):
                Y[i, r] -= f * Y[k, r]
    for i in range(n - 1, -1, -1):
        for r in range(B.shape[1]):
            X[i, r] = (Y[i, r] - sum(U[i, j] * X[j, r] for j in range(i + 1, n))) / U[i, i]
    return X
"""
# What is nearly elimination: computed as it is written, in tiles or not.
NEARLY = {
    "a factor that is not divided": HEAD
    + ELIMINATE.replace("y[i] - f * y[k]", "y[i] - 0.01 * U[i, k] * y[k]").replace("(k, n)", "(k + 1, n)")
    + SOLVE,
    "another divisor": HEAD + ELIMINATE.replace("U[k, k]\n", "U[i, i]\n", 1) + SOLVE,
    "the transposed factor": HEAD + ELIMINATE.replace("f * U[k, j]", "f * U[j, k]") + SOLVE,
    "another version": HEAD + ELIMINATE.replace("f * y[k]", "f * b[k]") + SOLVE,
    "numbers of the right side": HEAD + ELIMINATE + SOLVE.replace("y[i] -", "b[i] -"),
    "the given matrix": HEAD + ELIMINATE + SOLVE.replace("U[i, j]", "A[i, j]"),
    "the given diagonal": HEAD + ELIMINATE + SOLVE.replace("U[i, i]", "A[i, i]"),
    "added up": HEAD + ELIMINATE.replace("y[i] - f", "y[i] + f") + SOLVE,
    "a factor of the other triangle": SYMMETRIC["LDL, scaled at last"].replace("f * U[j, k]", "f * U[k, j]"),
    "a square": SYMMETRIC["LDL, scaled first"].replace("U[k, k] * U[j, k]", "U[j, k]"),
    "one row fewer": HEAD.replace("range(n):", "range(n - 1):").replace("(k + 1, n)", "(k + 1, n - 1)")
    + ELIMINATE
    + SOLVE,
}


def given(n, m=1):
    random = np.random.default_rng(n)
    matrix = random.random((n, n)) + n * np.eye(n)
    return matrix, random.random(n) if m == 1 else random.random((n, m))


@pytest.mark.parametrize("name", TEXTS)
def test_eliminations_are_factorisations_and_solves_in_tiles(name):
    kernel = kernel_of(TEXTS[name])
    for n in (1, 2, 7, 8):
        matrix, right = given(n)
        expected = np.linalg.solve(matrix, right)
        for tile in (2, 3, 64):
            result = cy.run(kernel.compile(matrix, right, tile=tile, schedule=cy.Schedule()))
            np.testing.assert_allclose(result.output, expected, 1e-9, 1e-12, err_msg=f"{n}, {tile}")
    found = {operator for item in kernel.block(*given(24), tile=4).classes for operator in item.operators}
    assert found == {"gemm", "getrf", "trsm"}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_factors_of_symmetric_matrices_in_one_array(name):
    kernel = kernel_of(SYMMETRIC[name])
    for n in (3, 7, 8):
        matrix, right = given(n)
        matrix += matrix.T
        expected = np.linalg.solve(matrix, right)
        for tile in (2, 3, 64):
            result = cy.run(kernel.compile(np.tril(matrix), right, tile=tile, schedule=cy.Schedule()))
            np.testing.assert_allclose(result.output, expected, 1e-9, 1e-12, err_msg=f"{n}, {tile}")
    found = {operator for item in kernel.block(*given(24), tile=4).classes for operator in item.operators}
    assert found == {"gemm", "sytrf", "trsm", "row_sum"}


def test_many_right_sides():
    kernel = kernel_of(MATRIX)
    for n, m in ((7, 5), (8, 3), (5, 9)):
        matrix, right = given(n, m)
        expected = np.linalg.solve(matrix, right)
        for tile in (2, 3, 4, 64):
            np.testing.assert_allclose(
                cy.run(kernel.compile(matrix, right, tile=tile)).output, expected, 1e-9
            )
    names = {c.tensor for c in kernel.block(*given(12, 9), tile=4).classes}
    assert names == {"U", "X", "Y"}


@pytest.mark.parametrize("name", ["elimination", "factors, then solves"])
def test_backends_agree_bit_for_bit(name):
    matrix, right = given(9)
    program = kernel_of(TEXTS[name]).compile(matrix, right, tile=4)
    local = cy.run(program, backend="local").output
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, local)
    np.testing.assert_array_equal(cy.run(program, backend="mpi", ranks=2).output, local)


@pytest.mark.parametrize("name", NEARLY)
def test_what_is_nearly_elimination_is_not_taken_for_it(name):
    kernel = kernel_of(NEARLY[name])
    for n in (6, 7):
        matrix, right = given(n)
        expected = kernel.reference(matrix.copy(), right.copy())
        for tile in (2, 3, 64):
            try:
                program = kernel.compile(matrix, right, tile=tile, schedule=cy.Schedule())
            except cy.LegalityError as error:
                assert "CYC231" in str(error) or "CYC230" in str(error)  # noqa: PT017
                continue
            np.testing.assert_allclose(cy.run(program).output, expected, 1e-9, 1e-12)


@pytest.mark.parametrize("workers", [{"threads": 1}, {"threads": 2}, {"backend": "mpi", "ranks": 2}])
def test_long_eliminations_run_in_tiles_by_themselves(workers):
    matrix, right = given(390)
    result = cy.run(kernel_of(TEXTS["elimination"]), matrix, right, **workers)
    assert result.program.blocking is not None
    np.testing.assert_allclose(result.output, np.linalg.solve(matrix, right), rtol=1e-9)
