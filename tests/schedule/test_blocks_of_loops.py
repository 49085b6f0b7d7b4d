"""Loops over blocks of arrays, by slices: as fast as those over their elements, beside NumPy."""

import numpy as np
import pytest

import cyclotron as cy

MACHINE = cy.Machine(grid=(8, 8))


@cy.kernel
def blocked(A, B):
    n = A.shape[0]
    C = np.zeros((n, n))
    for bi in range(0, n, 8):
        for bj in range(0, n, 8):
            for bk in range(0, n, 8):
                C[bi : bi + 8, bj : bj + 8] += A[bi : bi + 8, bk : bk + 8] @ B[bk : bk + 8, bj : bj + 8]
    return C


@cy.kernel
def transformed(X, D):
    Y = np.zeros(X.shape)
    for bi in range(0, X.shape[0], 8):
        for bj in range(0, X.shape[1], 8):
            Y[bi : bi + 8, bj : bj + 8] = D @ X[bi : bi + 8, bj : bj + 8] @ D.T
    return Y


def whole_numbers(*shapes):
    rng = np.random.default_rng(4)
    return [rng.integers(-4, 5, shape).astype(float) for shape in shapes]


def cycles_of(program):
    return cy.run(program, backend="sim", functional=False).cycles


@pytest.mark.parametrize("size", [16, 24])
def test_a_product_by_blocks_takes_as_long_as_one_by_elements(size):
    A, B = whole_numbers((size, size), (size, size))

    @cy.kernel
    def product(A, B):
        return A @ B

    program = blocked.compile(A, B, machine=MACHINE)
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, A @ B)
    assert cycles_of(program) <= 1.5 * cycles_of(product.compile(A, B, machine=MACHINE))


@pytest.mark.parametrize("space", [("bi", "bj"), ("i", "j"), ("bi", "i")])
def test_blocks_that_a_schedule_names_are_where_it_says(space):
    A, B = whole_numbers((16, 16), (16, 16))
    program = blocked.compile(A, B, schedule=cy.Schedule().space(*space))
    np.testing.assert_array_equal(cy.run(program).output, A @ B)
    assert program.schedule.space_indices == space


def test_transforms_of_blocks_are_not_slower_than_by_their_elements():
    X, D = whole_numbers((32, 32), (8, 8))
    program = transformed.compile(X, D, machine=MACHINE)
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, transformed.reference(X, D))
    for space in [("i", "j"), ("bi", "bj"), ("i", "k")]:
        other = transformed.compile(X, D, machine=MACHINE, schedule=cy.Schedule().space(*space))
        assert cycles_of(program) <= 1.25 * cycles_of(other)
