"""cy.linalg on ranks: the same bits as on threads for the same plan; distributed matrices; calibration."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from test_collective import launch

import cyclotron as cy
from cyclotron.explore import calibration
from cyclotron.linalg import candidates, kernels

RNG = np.random.default_rng(4)


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory):
    """Figures are measured for these tests alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(calibration, "_known", {})
        yield


def test_every_plan_has_the_same_bits_on_ranks_and_on_threads():
    n, m, ranks = 96, 40, 4
    known = cy.calibrate()
    A, B = RNG.standard_normal((n, n)), RNG.standard_normal((n, m))
    L = np.tril(A) + 2 * n * np.eye(n)
    cases = [(cy.linalg.matmul, (A, B), p) for p in candidates.products(n, n, m, ranks, known)]
    cases += [
        (cy.linalg.solve_triangular, (L, B), p)
        for p in candidates.solves(kernels.solve_lower, n, m, False, ranks, known)
    ]
    cases += [(cy.linalg.cholesky, (L @ L.T,), p) for p in candidates.factorizations(n, ranks, known)]
    for function, operands, plan in cases:
        found = function(*operands, backend="mpi", plan=plan)
        expected = function(*operands, backend="local", plan=plan)
        assert found.tobytes() == expected.tobytes(), plan.name


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_arrays_in_arrays_out(dtype):
    n = 120
    A = RNG.standard_normal((n, n)).astype(dtype)
    if dtype == "complex128":
        A += 1j * RNG.standard_normal((n, n))
    B = RNG.standard_normal((n, 7)).astype(dtype)
    tolerance = 100 * n * np.finfo(dtype).eps
    np.testing.assert_allclose(cy.linalg.matmul(A, B, backend="mpi", ranks=2), A @ B, atol=tolerance)
    S = A @ A.conj().T + n * np.eye(n, dtype=dtype)
    L = cy.linalg.cholesky(S, backend="mpi", ranks=2)
    np.testing.assert_allclose(L, np.linalg.cholesky(S), atol=tolerance)
    X = cy.linalg.solve_triangular(L, B, backend="mpi", ranks=2, trans="C")
    np.testing.assert_allclose(L.conj().T @ X, B, atol=tolerance)


def test_distributed_matrices_stay_distributed():
    n = 100
    A = RNG.standard_normal((n, n)) + n * np.eye(n)
    kept = cy.distribute(A, cy.Layout((2, 1), 16))
    S = cy.linalg.matmul(kept, cy.distribute(A.T, cy.Layout((1, 2)), ranks=2))
    assert isinstance(S, cy.Distributed)
    np.testing.assert_allclose(S.gather(), A @ A.T)
    L = cy.linalg.cholesky(S)
    X = cy.linalg.solve_triangular(L, kept, trans="T")
    np.testing.assert_allclose(np.asarray(L).T @ X.gather(), A, atol=1e-9)
    with pytest.raises(cy.ShapeError, match="where float64 is needed"):
        cy.linalg.matmul(cy.distribute(A.astype("float32"), ranks=2), A)
    with pytest.raises(cy.ExecutionError, match="singular"):
        cy.linalg.solve_triangular(cy.distribute(np.zeros((n, n)), ranks=2), A)
    with pytest.raises(cy.ExecutionError, match="leading minor of order 1 of 100"):
        cy.linalg.cholesky(cy.distribute(-np.eye(n), ranks=2))


def test_distributed_vectors_and_empty_matrices_stay_distributed():
    A, x = RNG.standard_normal((40, 30)), RNG.standard_normal(30)
    kept = cy.distribute(A, cy.Layout((2, 1), 8)), cy.distribute(x, cy.Layout((2,), 7))
    for a, b in [(kept[0], x), (A, kept[1]), kept]:
        y = cy.linalg.matmul(a, b)
        assert isinstance(y, cy.Distributed)
        assert y.shape == (40,)
        np.testing.assert_allclose(y.gather(), A @ x)
        # What one operation made is an operand of the next, on the left and in another layout.
        z = cy.linalg.matmul(y.relayout(cy.Layout((2,), 3)), kept[0])
        assert z.shape == (30,)
        np.testing.assert_allclose(np.asarray(z), (A @ x) @ A)
        np.testing.assert_allclose(cy.linalg.matmul(y, y), (A @ x) @ (A @ x))
    L = np.tril(A[:30]) + 30 * np.eye(30)
    solved = cy.linalg.solve_triangular(L, kept[1])
    assert solved.shape == (30,)
    np.testing.assert_allclose(L @ solved.gather(), x)
    for m, k, n in [(0, 3, 2), (3, 0, 2), (3, 2, 0)]:
        empty = cy.linalg.matmul(cy.distribute(np.ones((m, k)), ranks=2), np.ones((k, n)))
        assert isinstance(empty, cy.Distributed)
        np.testing.assert_array_equal(empty.gather(), np.zeros((m, n)))


@pytest.mark.parametrize("place", [1, 34, 100])
def test_the_zero_on_the_diagonal_of_a_distributed_matrix(place):
    """By its number in the matrix, whatever the tiles of the matrix and of the plan."""
    L = np.tril(np.ones((100, 100)))
    L[place - 1, place - 1] = L[99, 99] = 0
    for layout in (None, cy.Layout((1, 2), 7), cy.Layout(block=(20, 30), owner=lambda i, j: (i + j) % 2)):
        with pytest.raises(cy.ExecutionError, match=f"diagonal element {place} of 100 is 0") as caught:
            cy.linalg.solve_triangular(cy.distribute(L, layout, ranks=2), np.ones(100))
        assert caught.value.code == "CYC701"


def test_figures_are_kept_in_a_file(monkeypatch):
    first = cy.calibrate("float32")
    assert cy.calibrate("float32") is first
    monkeypatch.setattr(calibration, "_known", {})
    assert cy.calibrate("float32") == first  # measured again, they would differ
    assert str(first).startswith(f"float32 on {first.cores} cores, GFLOP/s")
    assert first.compute("matmul", 1e9, 256) < first.compute("matmul", 1e9, 16)
    assert first.latency > 0
    (file,) = Path(os.environ["XDG_CACHE_HOME"]).rglob("calibration-float32-*.json")
    file.write_text("{}")
    monkeypatch.setattr(calibration, "_known", {})
    assert cy.calibrate("float32").rates.keys() == first.rates.keys()


def test_under_mpirun(tmp_path):
    lines = launch(
        3,
        f"""
    os.environ["XDG_CACHE_HOME"] = {str(tmp_path)!r}
    import cyclotron as cy
    rng = np.random.default_rng(1)
    A = rng.standard_normal((90, 90)) + 90 * np.eye(90)
    report(f"figures {{cy.calibrate().latency!r}} {{cy.calibrate().rates}}")
    report(f"plan {{cy.linalg.plan('matmul', A, A).name}}")
    C = cy.linalg.matmul(A, A, backend="mpi")
    np.testing.assert_allclose(C, A @ A)
    L = cy.linalg.cholesky(cy.distribute(A @ A.T if rank() == 1 else None, root=1))
    X = cy.linalg.solve_triangular(L, A[:, :5])
    y = cy.linalg.matmul(L, A[0])
    assert y.shape == (90,)
    np.testing.assert_allclose(y.gather(), np.asarray(L) @ A[0])
    try:
        cy.linalg.solve_triangular(cy.distribute(np.diag(np.arange(-70.0, 20.0))), A)
    except CyclotronError as error:
        assert "diagonal element 71 of 90" in error.message
    np.testing.assert_allclose(np.asarray(L) @ X.gather(), A[:, :5], atol=1e-9)
    np.testing.assert_allclose(np.asarray(L), np.linalg.cholesky(A @ A.T))
    try:
        cy.linalg.cholesky(-A, backend="mpi")
    except CyclotronError as error:
        report(error.message)
    """,
    )
    minor = "the matrix is not positive definite: its leading minor of order 1 of 90 is not positive"
    figures, plans = lines[:3], lines[3:6]
    assert figures[0].startswith("figures ")
    assert len(set(figures)) == 1
    assert len(set(plans)) == 1
    assert lines[6:] == [minor] * 3
