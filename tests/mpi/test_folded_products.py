"""Inputs that live in the PEs that have them, on ranks: the bits of threads, folded and not."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import matmul

import cyclotron as cy

IN_PLACE = cy.schedules.summa(matmul, distributed=True)


def integers(rows, columns):
    return np.random.default_rng(rows + columns).integers(-4, 5, (rows, columns)).astype(float)


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("shape", [(1, 1, 1), (6, 4, 5), (7, 7, 7)])
def test_matrices_that_lie_folded(ranks, shape):
    n, inner, m = shape
    A, B = integers(n, inner), integers(inner, m)
    for folds in ({}, {"i": cy.cyclic(2), "j": cy.cyclic(2)}, {"i": 2, "j": 2}, {"i": 1, "j": cy.cyclic(3)}):
        program = matmul.compile(A, B, schedule=IN_PLACE.fold(**folds) if folds else IN_PLACE)
        np.testing.assert_array_equal(cy.run(program, backend="mpi", ranks=ranks).output, A @ B)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_tiles_that_lie_folded_and_dealt_out(ranks):
    rng = np.random.default_rng(7)
    A, B = rng.standard_normal((10, 10)), rng.standard_normal((10, 8))
    schedule = IN_PLACE.fold(i=cy.cyclic(2), j=cy.cyclic(2))
    program = matmul.compile(cy.blocked(A, (3, 3)), cy.blocked(B, (3, 2)), schedule=schedule)
    expected = cy.run(program, backend="local").output
    np.testing.assert_allclose(expected, A @ B, atol=1e-12)
    for deal in (None, cy.Layout((ranks, 1), 1), cy.Layout((1, ranks), 1)):
        found = cy.run(program, backend="mpi", ranks=ranks, deal=deal).output
        assert found.tobytes() == expected.tobytes()
