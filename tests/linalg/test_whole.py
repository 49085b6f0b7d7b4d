"""cy.linalg on whole matrices: shapes, dtypes, choices and refusals, on threads."""

from __future__ import annotations

import numpy as np
import pytest

import cyclotron as cy
from cyclotron.explore import calibration
from cyclotron.linalg import candidates

RNG = np.random.default_rng(2)


def integers(shape, dtype="float64"):
    return RNG.integers(-4, 5, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 1, 7), (1, 40, 1), (17, 30, 9), (64, 64, 64), (3, 200, 2)])
def test_matmul_is_numpys(shape, dtype):
    m, k, n = shape
    A, B = integers((m, k), dtype), integers((k, n), dtype)
    for ranks in (1, 2, 4):
        C = cy.linalg.matmul(A, B, backend="local", ranks=ranks)
        assert C.dtype == A.dtype
        np.testing.assert_array_equal(C, A @ B)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6])
def test_every_candidate_computes_the_product(ranks):
    m, k, n = 24, 36, 12
    A, B = integers((m, k)), integers((k, n))
    plans = candidates.products(m, k, n, ranks, calibration.calibrate())
    assert len(plans) >= (1 if ranks == 1 else 5)
    for plan in plans:
        np.testing.assert_array_equal(cy.linalg.matmul(A, B, backend="local", plan=plan), A @ B)
    assert len({plan.name for plan in plans}) == len(plans)


def test_every_candidate_solves_and_factors():
    n, m = 80, 6
    L = np.tril(integers((n, n)), -1) + np.eye(n)
    X = integers((n, m))
    calibrated = calibration.calibrate()
    for ranks in (1, 2, 4):
        from cyclotron.linalg import kernels

        for plan in candidates.solves(kernels.solve_lower, n, m, False, ranks, calibrated):
            found = cy.linalg.solve_triangular(L, L @ X, backend="local", plan=plan)
            np.testing.assert_array_equal(found, X)
        A = L @ L.T
        for plan in candidates.factorizations(n, ranks, calibrated):
            np.testing.assert_array_equal(cy.linalg.cholesky(A, backend="local", plan=plan), L)


def test_vectors_strides_and_mixed_dtypes():
    A, B = integers((12, 20))[::-2, ::2], np.asfortranarray(integers((10, 8)))
    np.testing.assert_array_equal(cy.linalg.matmul(A, B, backend="local"), A @ B)
    np.testing.assert_array_equal(cy.linalg.matmul(A, B[:, 3], backend="local"), A @ B[:, 3])
    np.testing.assert_array_equal(cy.linalg.matmul(A[2], B, backend="local"), A[2] @ B)
    assert cy.linalg.matmul(A[2], B[:, 1], backend="local") == A[2] @ B[:, 1]
    mixed = cy.linalg.matmul(A.astype("float32"), B.astype("complex64"), backend="local")
    assert mixed.dtype == np.complex64
    np.testing.assert_array_equal(mixed, A @ B)
    L = np.tril(integers((7, 7), "int64"), -1) + np.eye(7, dtype="int64")
    x = integers(7, "int64")
    found = cy.linalg.solve_triangular(L, L @ x, backend="local")
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, x)


def test_nothing_to_compute():
    for m, k, n in [(0, 3, 2), (3, 0, 2), (3, 2, 0), (0, 0, 0)]:
        C = cy.linalg.matmul(np.ones((m, k)), np.ones((k, n)), backend="local")
        np.testing.assert_array_equal(C, np.ones((m, k)) @ np.ones((k, n)))
    assert cy.linalg.cholesky(np.ones((0, 0)), backend="local").shape == (0, 0)
    assert cy.linalg.solve_triangular(np.ones((0, 0)), np.ones((0, 3)), backend="local").shape == (0, 3)
    assert cy.linalg.solve_triangular(np.eye(3), np.ones((3, 0)), backend="local").shape == (3, 0)


def test_nan_and_infinity_go_where_numpy_lets_them():
    A, B = integers((9, 11)), integers((11, 6))
    A[4, 2], B[3, 5] = np.nan, np.inf
    found = cy.linalg.matmul(A, B, backend="local", ranks=2)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(np.isnan(found), np.isnan(A @ B))
    x = cy.linalg.solve_triangular(np.eye(5), np.array([1, np.nan, 2, np.inf, 3.0]), backend="local")
    assert np.isnan(x[1])


@pytest.mark.parametrize("order", [1, 20, 33, 64, 150])
def test_the_minor_that_is_not_positive(order, golden):
    n = 150
    A = np.eye(n)
    A[order - 1, order - 1] = -1
    A[n - 1, n - 1] = -1 if order < n else A[n - 1, n - 1]  # a later one does not count
    for ranks in (1, 2):
        with pytest.raises(cy.ExecutionError, match=rf"minor of order {order} of 150 ") as caught:
            cy.linalg.cholesky(A, backend="local", ranks=ranks)
        assert caught.value.code == "CYC701"
    if order == 33:
        golden("refusals/minor-that-is-not-positive.txt", str(caught.value))


def test_the_diagonal_element_that_is_zero(golden):
    L = np.tril(np.ones((100, 100)))
    L[76, 76] = L[90, 90] = 0
    with pytest.raises(cy.ExecutionError, match="element 77 of 100") as caught:
        cy.linalg.solve_triangular(L, np.ones(100), backend="local")
    golden("refusals/triangular-matrix-that-is-singular.txt", str(caught.value))
    x = cy.linalg.solve_triangular(L, np.ones(100), unit_diagonal=True, backend="local")
    assert x[0] == 1


REFUSED = {
    "matmul-of-other-shapes": lambda: cy.linalg.matmul(np.ones((2, 3)), np.ones((2, 3)), backend="local"),
    "cholesky-of-a-rectangle": lambda: cy.linalg.cholesky(np.ones((2, 3)), backend="local"),
    "right-hand-sides-of-other-rows": lambda: cy.linalg.solve_triangular(
        np.eye(3), np.ones((2, 3)), backend="local"
    ),
    "matrices-of-half-precision": lambda: cy.linalg.cholesky(np.eye(2, dtype="float16"), backend="local"),
    "no-such-transposition": lambda: cy.linalg.solve_triangular(
        np.eye(3), np.ones(3), trans="H", backend="local"
    ),
    "solve-from-the-right": lambda: cy.linalg.solve_triangular(
        np.eye(3), np.ones((3, 3)), side="right", backend="local"
    ),
    "plan-of-no-operation": lambda: cy.linalg.plan("svd", np.eye(3)),
    "plan-for-other-matrices": lambda: cy.linalg.cholesky(
        np.eye(3), backend="local", plan=cy.linalg.plan("cholesky", np.eye(4), ranks=1)
    ),
    "calibration-of-integers": lambda: cy.calibrate("int64"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name, golden_refusal):
    golden_refusal(name, cy.ShapeError, "CYC737", REFUSED[name])


def test_a_plan_says_what_it_was_chosen_from(capsys):
    spec = cy.spec((512, 512))
    plan = cy.linalg.plan("matmul", spec, spec, ranks=4)
    assert plan.seconds <= min(other.seconds for other in plan.others)
    assert {"Cannon", "ring of rows", "SUMMA on 2x2"} <= {p.name for p in (plan, *plan.others)}
    cy.linalg.matmul(np.ones((8, 8)), np.ones((8, 8)), backend="local", ranks=2, verbose=True)
    printed = capsys.readouterr().out
    assert printed.startswith("matmul of 8x8 and 8x8 float64 on 2 ranks\n")
    assert printed.count("\n* ") == 1


def test_the_model_prefers_what_it_should():
    def best(operation, *shapes, ranks=2):
        return cy.linalg.plan(operation, *map(cy.spec, shapes), ranks=ranks)

    # Tall: rows in space; wide: columns; many terms: parts of the sum.
    assert "rows" in best("matmul", (4096, 64), (64, 64)).name
    assert "columns" in best("matmul", (64, 64), (64, 4096)).name
    assert best("matmul", (32, 8192), (8192, 32)).name == "parts of the sum"
    # One right-hand side has no columns to share out.
    assert best("solve_triangular", (2048, 2048), (2048, 1)).name == "rows in space"
    assert best("solve_triangular", (2048, 2048), (2048, 2048)).name == "right-hand sides in space"
    # More ranks than cores gain nothing.
    slow, fast = best("cholesky", (1024, 1024), ranks=1), best("cholesky", (1024, 1024))
    assert fast.seconds < slow.seconds
    assert best("cholesky", (1024, 1024), ranks=4).seconds > 0.9 * fast.seconds


def test_in_kernels_and_of_elements_as_before():
    assert cy.linalg.cholesky(9.0) == 3.0
    assert cy.linalg.matmul(np.ones((2, 2)), np.ones((2, 2))).tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize("trans", [False, 0, "N", True, 1, "T"])
@pytest.mark.parametrize("backend", [None, "local"])
def test_what_trans_means(trans, backend):
    """As LAPACK's, on a backend and without one."""
    a, b = np.array([[2.0, 0.0], [3.0, 4.0]]), np.array([[1.0], [2.0]])
    op = a if trans in (0, "N") else a.T
    found = cy.linalg.solve_triangular(a, b, trans=trans, backend=backend)
    np.testing.assert_allclose(op @ found, b)


@pytest.mark.parametrize("trans", ["X", "n", 3, None])
@pytest.mark.parametrize("backend", [None, "local"])
def test_what_trans_does_not_mean(trans, backend):
    with pytest.raises(cy.ShapeError, match="trans is") as error:
        cy.linalg.solve_triangular(np.eye(2), np.ones((2, 1)), trans=trans, backend=backend)
    assert error.value.code == "CYC737"


def test_a_plan_is_for_its_operation():
    a = np.eye(4)
    chosen = cy.linalg.plan("matmul", a, a, backend="local", ranks=1)
    with pytest.raises(cy.ShapeError, match="the plan is") as error:
        cy.linalg.solve_triangular(a, a, backend="local", plan=chosen)
    assert error.value.code == "CYC737"


def test_a_layout_is_a_layout():
    for wrong in ((2, 1), "rows"):
        with pytest.raises(cy.ShapeError, match="layout is"):
            cy.distribute(np.eye(4), wrong)
    with pytest.raises(cy.ShapeError, match="owner"):
        cy.Layout(block=2, owner=3)


@pytest.mark.parametrize("backend", ["numpy", "local", "sim"])
@pytest.mark.parametrize("at", [(0, 0), (4, 2), (39, 39)], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, of infinities
def test_cholesky_of_what_is_no_finite_number(at, backend, dtype, value):
    """Reported at the first pivot that it reaches, by every backend."""
    A = (40 * np.eye(40)).astype(dtype)
    A[at] = value
    with pytest.raises(cy.ExecutionError, match=f"minor of order {at[0] + 1} of 40 "):
        cy.linalg.cholesky(A, backend=backend)


@cy.kernel
def factors(A):
    L = cy.empty_like(A)
    for i in range(A.shape[0]):
        L[i, 0] = cy.linalg.cholesky(A[i, 0])
    return L


@pytest.mark.parametrize("backend", ["numpy", "local", "sim"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("tile", [1, 4])
def test_cholesky_of_tiles_of_what_is_no_finite_number(tile, value, backend):
    """NumPy counts from 0 and LAPACK from 1; a later pivot is not positive, and is not told."""
    A = np.eye(tile)
    A[tile // 2, tile // 2] = value
    if tile > 1:
        A[tile - 1, tile - 1] = -1
    pivot = tile // 2 if backend == "numpy" else tile // 2 + 1
    with pytest.raises(cy.ExecutionError, match=f"pivot {pivot} is ") as caught:
        cy.run(factors.compile(cy.blocked(A, tile)), backend=backend)
    assert caught.value.code == "CYC701"


@pytest.mark.parametrize("backend", ["numpy", "local", "sim"])
def test_cholesky_of_nothing_but_infinities(backend):
    with pytest.raises(cy.ExecutionError, match="minor of order 1 of 3 "):
        cy.linalg.cholesky(np.full((3, 3), np.inf), backend=backend)
