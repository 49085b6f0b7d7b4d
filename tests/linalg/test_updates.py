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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "tile"), [(1, 1), (7, 3), (12, 4), (40, 64)])
def test_a_product_that_is_kept_and_factored_is_whole(n, tile, dtype):
    """A factorisation reads the lower half of its operand; others read all of it."""

    @cy.kernel
    def gram(A, D):
        n, m = A.shape
        S = cy.empty((m + 1, n, n), dtype=A.dtype, tile=(1, n.tile, n.tile))
        G = cy.empty_like(D)
        L = cy.empty_like(D)
        for i in range(n):
            S[0, i, i] = D[i, i]
            for k in range(1, m + 1):
                S[k, i, i] = S[k - 1, i, i] + A[i, k - 1] @ A[i, k - 1].T
            G[i, i] = S[m, i, i].T
            L[i, i] = cy.linalg.cholesky(S[m, i, i])
            for j in range(n):
                if i != j:
                    G[i, j] = D[i, j]
                    L[i, j] = D[i, j]
        return G, L

    rng = np.random.default_rng(2)
    A = rng.integers(-2, 3, (n, n)).astype(dtype)
    D = np.triu(rng.integers(0, 3, (n, n))).astype(dtype) + n * np.eye(n, dtype=dtype)
    program = gram.compile(cy.blocked(A, tile), cy.blocked(D, tile))
    expected_gram, expected_factor = D.copy(), D.copy()
    for start in range(0, n, tile):
        rows = slice(start, start + tile)
        tile_gram = D[rows, rows] + A[rows] @ A[rows].T
        expected_gram[rows, rows] = tile_gram.T
        expected_factor[rows, rows] = np.linalg.cholesky(tile_gram)
    for backend in ("sim", "local"):
        result = cy.run(program, backend=backend)
        np.testing.assert_array_equal(result.outputs["G"], expected_gram)
        np.testing.assert_allclose(result.outputs["L"], expected_factor, rtol=1e-4, atol=1e-5)


def test_a_factorisation_reads_what_is_not_above_the_diagonal():
    rng = np.random.default_rng(3)
    A = rng.standard_normal((21, 21))
    A = A @ A.T + 21 * np.eye(21)
    program = kernels.cholesky.compile(cy.blocked(np.where(np.tri(21) > 0, A, np.nan), 5), schedule=TILES)
    for backend in ("sim", "local"):
        np.testing.assert_allclose(cy.run(program, backend=backend).output, np.linalg.cholesky(A), rtol=1e-12)


@pytest.mark.parametrize(("n", "tile"), [(4, 4), (20, 4), (22, 4), (6, 1)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_rows_of_a_factorisation_in_space(n, tile, dtype):
    """L goes down the rows within a step of `j`, so no order of indices alone will do: a wavefront does."""
    rng = np.random.default_rng(1)
    A = (rng.standard_normal((n, n)) / n + np.eye(n) * 4).astype(dtype)
    A = A @ A.T
    program = kernels.cholesky.compile(cy.blocked(A, (tile, tile)), schedule=cy.Schedule().space("i"))
    assert program.grid == (-(-n // tile),)
    expected = kernels.cholesky.compile(cy.blocked(A, (tile, tile)), schedule=TILES)
    for backend in ("sim", "local"):
        found = cy.run(program, backend=backend).output
        np.testing.assert_array_equal(found, cy.run(expected, backend="local").output)
    np.testing.assert_allclose(found @ found.T, A, rtol=1e-5)
