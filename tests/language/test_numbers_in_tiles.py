"""A number that is assigned to a tile is that number in each element, whatever operator reads the tile."""

from __future__ import annotations

import numpy as np
import pytest

import cyclotron as cy

N = 6


@cy.kernel
def zeros_and_products(A, B):
    X = cy.zeros_like(A)
    C = cy.empty_like(A)
    n, m = A.shape
    for i in range(n):
        for j in range(i + 1):
            X[i, j] = A[i, j] + B[i, j]
    for i in range(n):
        for j in range(m):
            C[i, j] = sum(X[i, k] @ B[k, j] for k in range(m))
    return C


@cy.kernel
def ones_above(A, B):
    X = cy.empty_like(A)
    C = cy.empty_like(A)
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            if i <= j:
                X[i, j] = 1
            else:
                X[i, j] = B[i, j]
    for i in range(n):
        for j in range(m):
            C[i, j] = A[i, j] + sum(X[i, k].T @ B[k, j] for k in range(m))
    return C


@cy.kernel
def sums_of_numbers(A, B):
    X = cy.empty_like(A)
    C = cy.empty_like(A)
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            X[i, j] = 3
    for i in range(n):
        for j in range(m):
            C[i, j] = A[i, j] + sum(cy.sum(X[i, k], axis=1, keepdims=True) for k in range(m))
    return C


@cy.kernel
def copies_of_numbers(A, B):
    X = cy.empty_like(A)
    Y = cy.empty_like(A)
    C = cy.empty_like(A)
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            X[i, j] = 0 if i > j else 2
            Y[i, j] = 3 * X[i, j]
    for i in range(n):
        for j in range(m):
            C[i, j] = sum(A[i, k] @ (Y[k, j] - X[k, j] / 2) for k in range(m))
    return C


@cy.kernel
def sums_over_nothing(A, B):
    X = cy.empty_like(A)
    C = cy.empty_like(A)
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            X[i, j] = sum(A[i, k] @ B[k, j] for k in range(i))
    for i in range(n):
        for j in range(m):
            C[i, j] = sum(X[i, k] @ B[k, j] for k in range(m))
    return C


@cy.kernel
def numbers_times_columns(A, B):
    X = cy.empty_like(A)
    C = cy.empty_like(A)
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            X[i, j] = 3
    for i in range(n):
        for j in range(m):
            C[i, j] = X[i, j] * cy.sum(A[i, j], axis=1, keepdims=True)
    return C


def rows(tile):
    """Return masks of the tiles of the lower and of the upper triangle, both with the diagonal."""
    block = np.arange(N) // tile
    return block[:, None] >= block, block[:, None] <= block


def expected(name, a, b, tile):
    lower, upper = rows(tile)
    of_tiles = np.add.reduceat(a, range(0, N, tile), axis=1)
    return {
        "zeros_and_products": np.where(lower, a + b, 0) @ b,
        "sums_of_numbers": a + 3 * N,
        "copies_of_numbers": a @ np.where(upper, 5, 0),
        "sums_over_nothing": (~upper * a) @ b @ b,
        "numbers_times_columns": 3 * np.repeat(of_tiles, np.diff([*range(0, N, tile), N]), axis=1),
    }[name]


CASES = [zeros_and_products, sums_of_numbers, copies_of_numbers, sums_over_nothing, numbers_times_columns]


@pytest.mark.parametrize("tile", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("kernel", CASES, ids=lambda kernel: kernel.name)
def test_operators_read_numbers_as_tiles(kernel, tile):
    random = np.random.default_rng(0)
    a, b = random.integers(-4, 5, (2, N, N)).astype(float)
    program = kernel.compile(cy.blocked(a, (tile, tile)), cy.blocked(b, (tile, tile)))
    wanted = expected(kernel.name, a, b, tile)
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, wanted)
    if tile == 3:
        np.testing.assert_array_equal(cy.run(program, backend="mpi", ranks=2).output, wanted)


@pytest.mark.parametrize("tile", [2, 3])
def test_tiles_of_numbers_are_transposed(tile):
    random = np.random.default_rng(0)
    a, b = random.integers(-4, 5, (2, N, N)).astype(float)
    _, upper = rows(tile)
    x = np.where(upper, 1, b)
    turned = x.reshape(N // tile, tile, N // tile, tile).transpose(0, 3, 2, 1).reshape(N, N)
    program = ones_above.compile(cy.blocked(a, (tile, tile)), cy.blocked(b, (tile, tile)))
    np.testing.assert_array_equal(cy.run(program).output, a + turned @ b)


def test_numbers_that_only_broadcasting_operators_read_stay_numbers():
    @cy.kernel
    def lower_triangle(A, B):
        L = cy.zeros_like(A)
        for i in range(A.shape[0]):
            for j in range(i + 1):
                L[i, j] = A[i, j] + 1 - sum(L[i, k] @ B[k, j] for k in range(j))
        return L

    @cy.kernel
    def scaled(A, B):
        X = cy.empty_like(A)
        C = cy.empty_like(A)
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                X[i, j] = 2
                C[i, j] = X[i, j] * A[i, j] + B[i, j]
        return C

    blocked = cy.blocked(np.ones((4, 4)), (2, 2))
    for kernel in (lower_triangle, scaled):
        assert "mask" not in str(kernel.recurrences(blocked, blocked))
    assert "mask_all_4x4_by_2x2" in str(zeros_and_products.recurrences(blocked, blocked))


def test_an_operator_on_a_sum_over_nothing_is_refused():
    @cy.kernel
    def squares(A):
        C = cy.empty_like(A)
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                C[i, j] = sum(A[i, k] @ A[k, j] for k in range(i)) @ A[i, j]
        return C

    with pytest.raises(cy.ShapeError) as caught:
        squares.compile(cy.blocked(np.ones((4, 4)), (2, 2)))
    assert caught.value.code == "CYC206"
    assert "`matmul` needs a tile of 2x2, and the reduction over `k` is over nothing at i = 0" in str(
        caught.value
    )


def test_tiles_of_a_kernel_that_is_in_tiles_are_refused_by_its_own_arrays():
    blocked = cy.blocked(np.ones((4, 4)), (2, 2))
    with pytest.raises(cy.LegalityError, match="`A` is in tiles already"):
        zeros_and_products.block(blocked, blocked, tile=2)
