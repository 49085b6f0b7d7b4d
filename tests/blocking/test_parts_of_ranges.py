"""Sums and results over parts of axes: from 1 on, or up to the last but one."""

import numpy as np
import pytest
from loading import kernel_of

import cyclotron as cy

TEXT = """
def kernel(A, B):
    C = cy.zeros((A.shape[0], B.shape[1]))
    for i in range({rows}):
        for j in range({columns}):
            for k in range({sums}):
                C[i, j] += A[i, k] * B[k, j]
    return C
"""
VECTOR = """
def kernel(A, B):
    y = cy.empty(A.shape[0])
    for i in range(A.shape[0]):
        y[i] = sum(A[i, k] * B[k, 0] for k in range(1, A.shape[1]))
    return y
"""
# Slices of rows, columns and sums.
PARTS = {
    "sums from 1 on": (slice(0, None), slice(0, None), slice(1, None)),
    "sums up to the last but one": (slice(0, None), slice(0, None), slice(0, -1)),
    "sums inside": (slice(0, None), slice(0, None), slice(2, -1)),
    "rows from 1 on": (slice(1, None), slice(0, None), slice(0, None)),
    "all inside": (slice(1, -1), slice(2, -2), slice(1, -1)),
}


def bounds(part, size):
    return f"{part.start}, {size}{part.stop or ''}"


def text_of(name):
    rows, columns, sums = PARTS[name]
    return TEXT.format(
        rows=bounds(rows, "A.shape[0]"),
        columns=bounds(columns, "B.shape[1]"),
        sums=bounds(sums, "A.shape[1]"),
    )


def expected(name, a, b):
    rows, columns, sums = PARTS[name]
    result = np.zeros((len(a), b.shape[1]))
    result[rows, columns] = (a[:, sums] @ b[sums])[rows, columns]
    return result


@pytest.mark.parametrize("schedule", [cy.Schedule(), None], ids=["one PE", "default"])
@pytest.mark.parametrize("name", PARTS)
def test_results_are_numpys(name, schedule):
    rng, kernel = np.random.default_rng(3), kernel_of(text_of(name))
    for m, n, p in ((7, 7, 7), (8, 5, 9)):
        a, b = rng.random((m, n)), rng.random((n, p))
        for tile in (2, 3, 4, 64):
            result = cy.run(kernel.compile(a, b, schedule=schedule, tile=tile)).output
            np.testing.assert_allclose(result, expected(name, a, b), err_msg=f"{m}, {n}, {p}, {tile}")


@pytest.mark.parametrize("name", ["sums from 1 on", "sums up to the last but one"])
def test_what_a_sum_leaves_out_may_be_no_number(name):
    rng, kernel = np.random.default_rng(4), kernel_of(text_of(name))
    a, b = rng.random((7, 7)), rng.random((7, 7))
    left = 0 if name == "sums from 1 on" else -1
    a[:, left], b[left] = np.inf, np.nan
    result = cy.run(kernel.compile(a, b, tile=4)).output
    np.testing.assert_allclose(result, expected(name, a, b))


def test_vectors_and_backends():
    rng, kernel = np.random.default_rng(5), kernel_of(VECTOR)
    a, b = rng.random((9, 11)), rng.random((11, 1))
    program = kernel.compile(a, b, tile=4)
    local = cy.run(program, backend="local").output
    np.testing.assert_allclose(local, a[:, 1:] @ b[1:, 0])
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, local)
    np.testing.assert_array_equal(cy.run(program, backend="mpi", ranks=2).output, local)


def test_long_products_run_in_tiles_by_themselves():
    rng = np.random.default_rng(6)
    a, b = rng.random((260, 270)), rng.random((270, 250))
    result = cy.run(kernel_of(text_of("all inside")), a, b)
    assert result.program.blocking is not None
    np.testing.assert_allclose(result.output, expected("all inside", a, b))


def test_what_is_computed_element_by_element_stays_on_scalars():
    kernel = kernel_of("""
def kernel(A, B):
    C = cy.empty_like(A)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] = A[i, j] * B[i, j] + 0.5 * A[i, j]
    return C
""")
    rng = np.random.default_rng(7)
    a, b = rng.random((2500, 2500)), rng.random((2500, 2500))
    result = cy.run(kernel, a, b)
    assert result.program.blocking is None
    np.testing.assert_array_equal(result.output, a * b + 0.5 * a)
