"""Systems, inverses, factors and products of whole matrices, on threads; residuals as of LAPACK's tests."""

from __future__ import annotations

import numpy as np
import pytest
from matrix_types import SYMMETRIC, symmetric

import cyclotron as cy

DTYPES = ("float32", "float64", "complex64", "complex128")
SIZES = (1, 2, 7, 40, 97)
RATIO = 30.0  # the threshold of LAPACK's test programs


def random(seed, *shape, dtype="float64"):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def positive(n, dtype):
    half = random(n, n, n, dtype=dtype)
    return (half @ half.conj().T + n * np.eye(n)).astype(dtype)


def wide(array):
    """In double precision, in which residuals are computed."""
    return np.asarray(array).astype(np.result_type(array, np.float64))


def norm(array):
    return float(np.abs(array).sum(axis=0).max(initial=0.0))


def solve_ratio(a, x, b):
    """||b - a x|| / (||a|| ||x|| n eps), as xGET02."""
    a, x, b = (wide(value).reshape(len(value), -1) for value in (a, x, b))
    scale = norm(a) * norm(x) * max(len(a), 1) * np.finfo(np.float64).eps
    return norm(b - a @ x) / scale if scale else norm(b)


def eps_ratio(residual, scale, n, dtype):
    return norm(residual) / (max(scale, 1e-30) * max(n, 1) * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("assume_a", ["general", "pos", "lower triangular", "upper triangular"])
def test_systems(n, dtype, assume_a):
    matrix = random(n, n, n, dtype=dtype) if assume_a == "general" else positive(n, dtype)
    a = {"lower triangular": np.tril, "upper triangular": np.triu}.get(assume_a, np.array)(matrix)
    for right in (random(1, n, dtype=dtype), random(2, n, 3, dtype=dtype)):
        x = cy.linalg.solve(a, right, assume_a=assume_a, backend="local")
        assert x.dtype == a.dtype
        assert x.shape == right.shape
        factor = np.finfo(np.float64).eps / np.finfo(dtype).eps
        assert solve_ratio(a, x, right) * factor <= RATIO
    inverse = cy.linalg.inv(a, assume_a=assume_a, backend="local")
    assert inverse.dtype == a.dtype
    residual = wide(a) @ wide(inverse) - np.eye(n)
    assert eps_ratio(residual, norm(a) * norm(inverse), n, dtype) <= RATIO  # xGET03


@pytest.mark.parametrize("kind", SYMMETRIC)
def test_definite_systems_of_any_condition(kind):
    a = symmetric(kind, 50, "float64")
    b = random(3, 50, 2)
    assert solve_ratio(a, cy.linalg.solve(a, b, assume_a="pos", backend="local"), b) <= RATIO


def test_definite_systems_read_the_lower_triangle():
    a, b = positive(30, "complex128"), random(4, 30)
    spoilt = np.tril(a) + np.triu(np.full((30, 30), np.nan), 1)
    x = cy.linalg.solve(spoilt, b, assume_a="positive definite", backend="local", ranks=2)
    assert solve_ratio(a, x, b) <= RATIO


@pytest.mark.parametrize("dtype", [*DTYPES, "int64"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (40, 17), (70, 90), (33, 33)])
def test_symmetric_products(shape, dtype):
    a = np.random.default_rng(5).integers(-4, 5, shape).astype(dtype)
    if np.dtype(dtype).kind == "c":
        a = a + np.asarray(1j, dtype) * np.random.default_rng(6).integers(-4, 5, shape).astype(dtype)
    for ranks in (1, 2, 3):
        product = cy.linalg.syrk(a, backend="local", ranks=ranks)
        assert product.dtype == a.dtype
        np.testing.assert_array_equal(product, a @ a.T)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (30, 8), (8, 30), (64, 64)])
def test_orthogonal_factors(shape, dtype):
    a = random(7, *shape, dtype=dtype)
    eps = np.finfo(dtype).eps
    for mode, side in (("reduced", min(shape)), ("complete", shape[0])):
        q, r = cy.linalg.qr(a, mode, backend="local")
        assert (q.shape, r.shape) == ((shape[0], side), (side, shape[1]))
        assert norm(wide(q).conj().T @ wide(q) - np.eye(side)) <= RATIO * eps * max(shape)
        assert norm(wide(q) @ wide(r) - wide(a)) <= RATIO * eps * max(shape) * norm(wide(a))
        np.testing.assert_array_equal(r, np.triu(r))
    np.testing.assert_array_equal(cy.linalg.qr(a, "r", backend="local"), np.linalg.qr(a, mode="r"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (20, 6), (6, 20), (15, 15)])
def test_least_squares(shape, dtype):
    a, b = random(8, *shape, dtype=dtype), random(9, shape[0], 2, dtype=dtype)
    x, residuals, rank, values = cy.linalg.lstsq(a, b, backend="local")
    assert x.shape == (shape[1], 2)
    assert rank == min(shape)
    assert values.shape == (min(shape),)
    assert residuals.shape == ((2,) if shape[0] > shape[1] else (0,))
    left = wide(b) - wide(a) @ wide(x)  # is orthogonal to what the columns span
    assert norm(wide(a).conj().T @ left) <= 100 * np.finfo(dtype).eps * norm(a) ** 2 * max(norm(x), 1)
    assert cy.linalg.lstsq(np.outer([1.0, 2.0, 3.0], [1.0, 1.0]), np.ones(3), backend="local")[2] == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_eigenvalues(n, dtype):
    a = positive(n, dtype)
    for triangle in ("L", "U"):
        kept = np.tril(a) if triangle == "L" else np.triu(a)
        values, vectors = cy.linalg.eigh(kept, triangle, backend="local")
        assert (np.diff(values) >= 0).all()
        residual = wide(a) @ wide(vectors) - wide(vectors) * values
        assert eps_ratio(residual, norm(a), n, dtype) <= RATIO


def test_orders_strides_and_whole_numbers():
    a = np.asfortranarray(positive(24, "float64"))
    b = random(10, 48, 4)[::2, ::-1]
    for assume_a in ("general", "pos"):
        assert solve_ratio(a, cy.linalg.solve(a, b, assume_a=assume_a, backend="local"), b) <= RATIO
    whole = np.array([[2, 1], [1, 2]])
    for assume_a in ("general", "pos"):
        x = cy.linalg.solve(whole, [3, 3], assume_a=assume_a, backend="local")
        assert x.dtype == np.float64
        np.testing.assert_allclose(x, [1, 1])
    np.testing.assert_array_equal(
        cy.linalg.qr([[3, 0], [0, 4]], "r", backend="local") ** 2, [[9, 0], [0, 16]]
    )


def test_empty_matrices():
    none = np.zeros((0, 0))
    assert cy.linalg.solve(none, np.zeros((0, 3)), backend="local").shape == (0, 3)
    assert cy.linalg.solve(none, np.zeros((0, 3)), assume_a="pos", backend="local").shape == (0, 3)
    assert cy.linalg.inv(none, assume_a="pos", backend="local").shape == (0, 0)
    assert cy.linalg.syrk(np.zeros((3, 0)), backend="local").tolist() == np.zeros((3, 3)).tolist()
    assert cy.linalg.syrk(np.zeros((0, 3)), backend="local").shape == (0, 0)
    assert cy.linalg.qr(np.zeros((0, 3)), backend="local")[1].shape == (0, 3)
    assert cy.linalg.eigh(none, backend="local")[1].shape == (0, 0)


def test_numbers_that_are_none_stay_so():
    a = np.full((3, 3), np.nan)
    assert np.isnan(cy.linalg.solve(a, np.ones(3), backend="local")).all()
    assert np.isnan(cy.linalg.syrk(a, backend="local")).all()
    with pytest.raises(cy.ExecutionError) as caught:
        cy.linalg.lstsq(a, np.ones(3), backend="local")
    assert caught.value.code == "CYC701"


REFUSED = {
    "singular": (lambda: cy.linalg.solve(np.zeros((3, 3)), np.ones(3), backend="local"), "CYC701"),
    "no inverse": (lambda: cy.linalg.inv(np.ones((3, 3)), backend="local"), "CYC701"),
    "singular triangle": (
        lambda: cy.linalg.inv(np.diag([1.0, 0.0]), assume_a="lower triangular", backend="local"),
        "CYC701",
    ),
    "indefinite": (
        lambda: cy.linalg.solve(np.diag([1.0, -1.0]), np.ones(2), assume_a="pos", backend="local"),
        "CYC701",
    ),
    "not square": (lambda: cy.linalg.solve(np.ones((3, 2)), np.ones(3), backend="local"), "CYC737"),
    "no square inverse": (lambda: cy.linalg.inv(np.ones((3, 2)), backend="local"), "CYC737"),
    "rows": (lambda: cy.linalg.solve(np.eye(3), np.ones(2), backend="local"), "CYC737"),
    "rows of three axes": (lambda: cy.linalg.solve(np.eye(3), np.ones((3, 1, 1)), backend="local"), "CYC737"),
    "rows of squares": (lambda: cy.linalg.lstsq(np.eye(3), np.ones(2), backend="local"), "CYC737"),
    "rcond": (lambda: cy.linalg.lstsq(np.eye(3), np.ones(3), "a", backend="local"), "CYC737"),
    "assumption": (lambda: cy.linalg.solve(np.eye(2), np.ones(2), assume_a="her", backend="local"), "CYC737"),
    "mode": (lambda: cy.linalg.qr(np.eye(2), "raw", backend="local"), "CYC737"),
    "no matrix": (lambda: cy.linalg.qr(np.ones(3), backend="local"), "CYC737"),
    "no matrix for syrk": (lambda: cy.linalg.syrk(np.ones(3), backend="local"), "CYC737"),
    "triangle": (lambda: cy.linalg.eigh(np.eye(2), "M", backend="local"), "CYC737"),
    "dtype": (lambda: cy.linalg.eigh(np.eye(2, dtype="float16"), backend="local"), "CYC737"),
    "spec": (lambda: cy.linalg.inv(cy.spec((3, 3)), backend="local"), "CYC737"),
    "simulator": (lambda: cy.linalg.qr(np.eye(2), backend="sim"), "CYC733"),
    "without a backend": (lambda: cy.linalg.inv(np.eye(2), assume_a="pos"), "CYC733"),
    "ranks without a backend": (lambda: cy.linalg.qr(np.eye(2), ranks=2), "CYC733"),
    "layout without a backend": (
        lambda: cy.linalg.matmul(np.eye(2), np.eye(2), layout=cy.Layout((1, 1))),
        "CYC733",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    call, code = REFUSED[name]
    with pytest.raises(cy.CyclotronError) as caught:
        call()
    assert caught.value.code == code


def test_without_a_backend_they_are_numpys():
    a, b = positive(5, "float64"), random(11, 5)
    np.testing.assert_array_equal(cy.linalg.solve(a, b), np.linalg.solve(a, b))
    np.testing.assert_array_equal(cy.linalg.inv(a), np.linalg.inv(a))
    np.testing.assert_array_equal(cy.linalg.syrk(a), a @ a.T)
    for found, wanted in zip(cy.linalg.lstsq(a, b), np.linalg.lstsq(a, b, rcond=None), strict=True):
        np.testing.assert_array_equal(found, wanted)
    for found, wanted in zip(cy.linalg.eigh(a), np.linalg.eigh(a), strict=True):
        np.testing.assert_array_equal(found, wanted)
    with pytest.raises(np.linalg.LinAlgError):
        cy.linalg.solve(np.zeros((2, 2)), np.ones(2))


def test_plans_are_made_once():
    spec = cy.spec((300, 300))
    for operation, operands in (("cholesky", 1), ("matmul", 2), ("syrk", 1), ("solve_triangular", 2)):
        first = cy.linalg.plan(operation, *[spec] * operands, ranks=2)
        assert cy.linalg.plan(operation, *[spec] * operands, ranks=2) is first
        assert first.compile() is first.compile()
    assert cy.linalg.plan("cholesky", spec, ranks=3).ranks == 3
