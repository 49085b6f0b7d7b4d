"""Tiles that do not divide their arrays: the last ones are smaller, and operators have to fit them, too."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def running_sums(x):
    X = cy.empty_like(x)
    n, m = x.shape
    for i in range(n):
        X[i, 0] = x[i, 0]
        for t in range(1, m):
            X[i, t] = X[i, t - 1] + x[i, t]  # wrong
    return X


@cy.kernel
def sums_of_rows(A):
    B = cy.empty_like(A)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = sum(A[i, k] for k in range(A.shape[1]))  # wrong
    return B


@cy.kernel
def shifted(A):
    B = cy.empty_like(A)
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            B[i, j] = A[i, m - 1 - j]  # wrong
    return B


@cy.kernel
def product(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


def tiles(shape: tuple[int, ...], tile: tuple[int, ...]) -> cy.Blocked:
    return cy.blocked(np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape), tile)


REFUSED = [
    (running_sums, "`add` cannot combine a 4x4 tile with a 4x3 tile, at i = 0, t = 1"),
    (sums_of_rows, "`add` cannot combine a 4x4 tile with a 4x3 tile, at i = 0, j = 0"),
    (shifted, "a tile of 4x4 is assigned to `B`, whose tile at i = 0, j = 1 is 4x3"),
]


@pytest.mark.parametrize(("kernel", "message"), REFUSED, ids=lambda value: getattr(value, "name", ""))
def test_tiles_that_do_not_fit_are_refused_where_they_are_used(kernel: cy.Kernel, message: str) -> None:
    with pytest.raises(cy.ShapeError) as caught:
        kernel.compile(tiles((4, 7), (4, 4)))
    error = caught.value
    assert (error.code, error.message) == ("CYC206", message)
    lines, first = inspect.getsourcelines(kernel.__wrapped__)
    guilty = next(number for number, line in enumerate(lines, first) if "# wrong" in line)
    assert error.span.line == guilty


@pytest.mark.parametrize("shape", [(4, 4), (4, 8), (6, 4), (3, 4), (4, 3)], ids=str)
def test_tiles_of_one_shape_along_the_sum_fit(shape: tuple[int, int]) -> None:
    x = tiles(shape, (4, 4))
    np.testing.assert_array_equal(running_sums(x), running_sums.reference(x))


@pytest.mark.parametrize(("n", "k", "m"), [(4, 7, 5), (7, 5, 3), (1, 1, 1), (9, 2, 4)], ids=str)
def test_products_of_ragged_tiles_fit(n: int, k: int, m: int) -> None:
    A, B = tiles((n, k), (4, 2)), tiles((k, m), (2, 4))
    np.testing.assert_array_equal(product(A, B), A.array @ B.array)
