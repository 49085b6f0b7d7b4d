"""Blocked arrays, specs, tile operators, and plain runs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from oracle import agree, record

import cyclotron as cy


def integers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(float)


def test_blocked_views_an_array() -> None:
    A = integers(5, 7)
    B = cy.blocked(A, (2, 3))
    assert (B.shape, B.ndim, B.dtype, B.size, len(B)) == ((3, 3), 2, A.dtype, 9, 3)
    np.testing.assert_array_equal(B[1, 2], A[2:4, 6:7])
    np.testing.assert_array_equal(B[-1, -1], A[4:, 6:])
    B[0, 0] = 9
    assert (A[:2, :3] == 9).all()
    assert repr(B) == "<blocked float64 5x7: 3x3 tiles of 2x3>"
    np.testing.assert_array_equal(np.asarray(B), A)
    for wrong in ((3, 0), (0, -4)):
        with pytest.raises(IndexError):
            B[wrong]
    with pytest.raises(AttributeError):
        B.array = A
    assert cy.blocked(A, 4).tile_shape == (4, 4)
    assert cy.blocked(np.zeros((0, 3)), (2, 2)).shape == (0, 2)


@pytest.mark.parametrize("tile", [(2,), (0, 2), (2, 2, 2)])
def test_a_wrong_tile_shape_is_refused(tile: tuple[int, ...]) -> None:
    with pytest.raises(cy.ShapeError, match="CYC122"):
        cy.blocked(integers(4, 4), tile)


def test_an_array_without_axes_has_no_tiles() -> None:
    with pytest.raises(cy.ShapeError, match="CYC122"):
        cy.blocked(np.array(3.0), 2)


def test_spec() -> None:
    assert cy.spec(3) == cy.Spec((3,), "float64", None)
    assert cy.spec((4, 6), np.float32, tile=2) == cy.Spec((4, 6), "float32", (2, 2))
    with pytest.raises(cy.ShapeError, match="CYC122"):
        cy.spec((2, -1))


def test_extents_remember_their_tiles() -> None:
    rows, columns = cy.blocked(integers(5, 7), (2, 3)).shape
    assert (rows, columns) == (3, 3)
    assert (rows.scalars, rows.tile) == (5, 2)
    copy = pickle.loads(pickle.dumps(rows))
    assert (copy, copy.scalars, copy.tile) == (3, 5, 2)


def test_new_arrays_outside_kernels_are_numpy() -> None:
    B = cy.blocked(integers(5, 7), (2, 3))
    assert cy.empty((2, 3)).shape == (2, 3)
    assert cy.zeros(3, "int32").dtype == np.int32
    np.testing.assert_array_equal(cy.full((2, 2), 5), np.full((2, 2), 5.0))
    np.testing.assert_array_equal(cy.zeros_like(np.ones(3)), np.zeros(3))
    assert cy.empty_like(B).tile_shape == (2, 3)
    assert cy.zeros((B.shape[1], B.shape[0])).array.shape == (7, 5)
    assert cy.zeros((2, 2), tile=(3, 4)).array.shape == (6, 8)
    assert type(cy.empty_like(np.ones(2))) is np.ndarray


@cy.kernel
def tile_functions(A, v):
    n = A.shape[0]
    X = cy.empty_like(A)
    y = cy.empty_like(v)
    s = cy.empty((n, 1))
    for i in range(n):
        for j in range(n):
            X[i, j] = cy.maximum(A[i, j].T, 0) * 2 + A[j, i] * A[j, i] - 1
        y[i] = sum(A[i, k].T @ v[k] for k in range(n))
        s[i, 0] = cy.row_sum(A[i, i]) + cy.row_max(A[0, i])
    return X, y, s


def test_tile_operators() -> None:
    """CY-010 CY-022: transposes become flags where a product takes them."""
    A, v = integers(4, 4), integers(4)
    system = agree(tile_functions, cy.blocked(A, (2, 2)), cy.blocked(v, 2))
    assert {"transpose", "matmul", "row_sum", "row_max", "maximum"} <= system.ops()
    assert next(node[3] for node in system.exprs if node[1] == "matmul") == ["transpose_a"]
    assert system.named("s").tile == [2, 1]
    assert agree(tile_functions, A, v).ops() == {"maximum", "multiply", "add", "subtract"}


@cy.kernel
def solves(L, B):
    n = B.shape[0]
    names = [cy.empty_like(B) for _ in range(2)]
    X, Y = names
    for i in range(n):
        upper = L[i, i].T
        X[i, 0] = cy.linalg.solve_triangular(upper, B[i, 0], lower=False)
        Y[i, 0] = cy.linalg.solve_triangular(L[i, i], B[i, 0], unit_diagonal=True)
    return X, Y


def test_flags_of_a_solve() -> None:
    """A transposed matrix is the stored one with a flag; `lower` describes it as stored."""
    L = np.tril(integers(4, 4), -1) + np.eye(4)
    system = agree(solves, cy.blocked(L, 2), cy.blocked(integers(4, 2), 2))
    flags = [node[3] for node in system.exprs if node[1] == "solve_triangular"]
    assert flags == [["lower", "transpose_a"], ["lower", "unit_diagonal"]]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("trans", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_solve_triangular_of_arrays(side: str, lower: bool, trans: bool, unit: bool) -> None:
    A, B = integers(4, 4) + 9 * np.eye(4), integers(4, 4, seed=1)
    X = cy.linalg.solve_triangular(A, B, side=side, lower=lower, trans=trans, unit_diagonal=unit)
    op = np.tril(A) if lower else np.triu(A)
    if unit:
        np.fill_diagonal(op, 1)
    op = op.T if trans else op
    np.testing.assert_allclose(op @ X if side == "left" else X @ op, B, atol=1e-12)
    x = cy.linalg.solve_triangular(A, B[:, 0], side=side, lower=lower, trans=trans, unit_diagonal=unit)
    np.testing.assert_allclose(op @ x if side == "left" else x @ op, B[:, 0], atol=1e-12)


def test_linear_algebra_of_scalars_and_dtypes() -> None:
    assert cy.linalg.solve_triangular(4.0, 2.0) == 0.5
    assert cy.linalg.cholesky(9.0) == 3.0
    assert cy.linalg.cholesky(np.eye(2, dtype="float32")).dtype == np.float32
    A = np.array([[2, -1j], [1j, 2]])
    L = cy.linalg.cholesky(A)
    np.testing.assert_allclose(L @ L.conj().T, A)


@pytest.mark.parametrize("matrix", [-1.0, np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[np.nan]])])
def test_a_matrix_that_is_not_positive_definite_is_reported(matrix: np.ndarray) -> None:
    """CY-024."""
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        cy.linalg.cholesky(matrix)


@cy.kernel
def mixed_blocks(A, s):
    n, m = A.shape
    X = cy.empty((m, n))
    for i in range(n):
        for j in range(m):
            X[j, i] = s[0] * A[i, j].T
    return X


def test_scalars_scale_tiles() -> None:
    """A tensor of scalars beside one of tiles; the result takes its tiles from the shape, transposed."""
    A = integers(4, 6)
    system = agree(mixed_blocks, cy.blocked(A, (2, 3)), np.array([2.0]))
    assert system.named("X").tile == [3, 2]
    assert system.named("s").tile is None


@cy.kernel
def overwriting(x):
    x[0] = 1.0
    return x


def test_the_reference_leaves_its_arguments_alone() -> None:
    x = integers(3) + 5
    before = x.copy()
    np.testing.assert_array_equal(overwriting.reference(x), [1.0, *x[1:]])
    np.testing.assert_array_equal(x, before)
    tiles = cy.blocked(x, (1,))
    with pytest.raises(ValueError, match="read-only"):
        overwriting.reference(tiles)
    assert x.flags.writeable


@cy.kernel
def aliased(A):
    x = cy.empty_like(A)
    for i in range(A.shape[0]):
        first = A[i]
        second = first
        second += 1.0
        x[i] = first + second
    return x


def test_elements_are_values_in_the_reference() -> None:
    """`second += 1` makes a new value, for scalars and tiles, as it does when traced."""
    x = integers(4)
    agree(aliased, x)
    agree(aliased, cy.blocked(x, 2))


def test_the_reference_needs_data() -> None:
    with pytest.raises(cy.TraceError, match="CYC116"):
        aliased.reference(cy.spec(3))


@pytest.mark.parametrize(
    "array", [np.arange(6.0)[::2], np.asfortranarray(integers(3, 3))[0], [1.0, 2.0], np.float32([1, 2])]
)
def test_arguments_of_any_layout(array: object) -> None:
    agree(aliased, np.asarray(array))
    record(aliased, array)


@pytest.mark.parametrize("argument", [{1, 2}, object(), [[1.0], [2.0, 3.0]]])
def test_arguments_that_are_no_arrays(argument: object) -> None:
    with pytest.raises(cy.CyclotronError, match="CYC116"):
        record(aliased, argument)


def test_a_missing_argument() -> None:
    with pytest.raises(cy.TraceError, match=r"missing.*\[CYC116\]"):
        record(aliased)
