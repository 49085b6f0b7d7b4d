"""Updates `R - A @ B` of tiles are one operator, in place, from the source to the PEs' programs."""

from __future__ import annotations

import numpy as np
import pytest

import cyclotron as cy
from cyclotron.linalg import kernels

COLUMNS = cy.Schedule().space("r").time("i", "j").prefetch("A")
TILES = cy.Schedule().space("i", "j").broadcast("L", along="i")


def compiled(n: int, tile: int) -> dict[str, cy.Program]:
    square = cy.spec((n, n), tile=tile)
    return {
        "solve": kernels.solve_lower.compile(square, square, False, schedule=COLUMNS),
        "backward": kernels.solve_upper.compile(square, square, False, schedule=COLUMNS),
        "cholesky": kernels.cholesky.compile(square, schedule=TILES),
    }


@pytest.mark.parametrize("name", ["solve", "backward", "cholesky"])
def test_no_product_has_a_place_of_its_own(name):
    program = compiled(64, 8)[name]
    text = str(program)
    assert " - " in text
    assert "_t0" not in text, text
    assert str(cy.Dataflow.parse(str(program.dataflow))) == str(program.dataflow)
    proof = {step.name: step.status for step in cy.prove(compiled(24, 8)[name])}
    assert "refuted" not in proof.values()


def test_each_product_is_taken_off_in_turn():
    """As LAPACK does it: the order of the operations, on numbers where it matters."""
    n = 6
    rng = np.random.default_rng(0)
    L = np.tril(rng.standard_normal((n, n))).astype("float32") + 4 * np.eye(n, dtype="float32")
    b = rng.standard_normal((n, 1)).astype("float32")
    # Tiles of two rows, so that products are of tiles.
    program = kernels.solve_lower.compile(cy.blocked(L, 2), cy.blocked(b, (2, 1)), False, schedule=COLUMNS)
    expected = cy.run(program, backend="numpy").output
    np.testing.assert_allclose(cy.run(program).output, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["solve", "backward", "cholesky"])
def test_the_kernels_are_python_too(name):
    rng = np.random.default_rng(1)
    A = np.tril(rng.integers(-3, 4, (10, 10)), -1) + np.eye(10)
    B = rng.integers(-3, 4, (10, 4)).astype(float)
    if name == "cholesky":
        program = kernels.cholesky.compile(cy.blocked(A @ A.T, 4), schedule=TILES)
    else:
        kernel, matrix = (kernels.solve_lower, A) if name == "solve" else (kernels.solve_upper, A.T.copy())
        program = kernel.compile(cy.blocked(matrix, 4), cy.blocked(B, (4, 3)), False, schedule=COLUMNS)
    assert cy.check(program, backends=("sim", "local")).errors == {"sim": 0.0, "local": 0.0}


def test_products_of_single_elements_stay_two_operators():
    @cy.kernel
    def update(A, B):
        X = cy.empty_like(A)
        for i in range(A.shape[0]):
            X[i] = A[i] - B[i] * B[i]
        return X

    program = update.compile(cy.spec(4), cy.spec(4))
    assert (
        cy.run(program, functional=False, backend="sim").stats["instructions_by_kind"]["compute"].sum() == 8
    )
