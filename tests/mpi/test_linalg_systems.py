"""Systems and factors of matrices on ranks: distributed where they can be, with a warning where not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from test_collective import launch

import cyclotron as cy
from cyclotron.explore import calibration

RNG = np.random.default_rng(6)
DTYPES = ("float32", "float64", "complex64", "complex128")


@pytest.fixture(autouse=True)
def _calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rates of no machine: plans do not depend on that of the test."""
    rates = {
        "matmul": {16: 4e9, 64: 20e9, 256: 32e9},
        "solve_triangular": {16: 1e9, 64: 6e9, 256: 20e9},
        "cholesky": {16: 0.5e9, 64: 3e9, 256: 12e9},
    }
    known = {dtype: calibration.Calibration(dtype, 2, rates, 5e-6, 5e-9, 1e-9) for dtype in DTYPES}
    monkeypatch.setattr(calibration, "_known", known)


def random(*shape, dtype="float64"):
    values = RNG.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * RNG.standard_normal(shape)
    return values.astype(dtype)


def positive(n, dtype="float64"):
    half = random(n, n, dtype=dtype)
    return (half @ half.conj().T + n * np.eye(n)).astype(dtype)


def close(found, wanted, dtype, scale=1.0):
    np.testing.assert_allclose(np.asarray(found), wanted, atol=1000 * scale * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_definite_systems_stay_distributed(dtype):
    n = 90
    a, b = positive(n, dtype), random(n, 4, dtype=dtype)
    layout = cy.Layout((2, 1), 16)
    kept, right = cy.distribute(a, layout), cy.distribute(b, layout)
    with warnings.catch_warnings():
        warnings.simplefilter("error", cy.PerformanceWarning)  # nothing is gathered
        solutions = [
            cy.linalg.solve(kept, right, assume_a="pos"),
            cy.linalg.solve(kept, b, assume_a="pos"),
            cy.linalg.solve(a, right, assume_a="pos"),
            cy.linalg.solve(a, b, assume_a="pos", backend="mpi", ranks=2),
        ]
        inverse = cy.linalg.inv(kept, assume_a="pos")
        vector = cy.linalg.solve(kept, b[:, 0], assume_a="pos")
        product = cy.linalg.syrk(kept)
    for x in solutions:
        close(a @ np.asarray(x), b, dtype, n)
    assert [isinstance(x, cy.Distributed) for x in solutions] == [True, True, True, False]
    assert solutions[0].layout == inverse.layout == product.layout == layout
    close(a @ np.asarray(inverse), np.eye(n), dtype, n)
    close(a @ vector.gather(), b[:, 0], dtype, n)
    close(product, a @ a.T, dtype, n**3)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_adjoint_solves_of_distributed_matrices(dtype, lower):
    n = 70
    a = (np.tril if lower else np.triu)(positive(n, dtype))
    b = random(n, 3, dtype=dtype)
    for shape in ((2, 1), (1, 2)):
        kept = cy.distribute(a, cy.Layout(shape, 20))
        x = cy.linalg.solve_triangular(kept, b, lower=lower, trans="C")
        close(a.conj().T @ x.gather(), b, dtype, n)


@pytest.mark.parametrize("dtype", DTYPES)
def test_lapacks_operations_gather_with_a_warning(dtype):
    n, layout = 40, cy.Layout((2, 1), 8)
    a, b = positive(n, dtype) + np.triu(random(n, n, dtype=dtype)), random(n, 2, dtype=dtype)
    kept, right = cy.distribute(a, layout), cy.distribute(b, layout)
    symmetric = positive(n, dtype)
    calls = {
        "solve": lambda: cy.linalg.solve(kept, right),
        "inv": lambda: cy.linalg.inv(kept),
        "lstsq": lambda: cy.linalg.lstsq(kept, right),
        "qr": lambda: cy.linalg.qr(kept),
        "eigh": lambda: cy.linalg.eigh(cy.distribute(symmetric, layout)),
    }
    found = {}
    for name, call in calls.items():
        with pytest.warns(cy.PerformanceWarning, match=f"`{name}` of a 40x40 matrix runs on one process"):
            found[name] = call()
    assert found["solve"].layout == found["inv"].layout == found["qr"][0].layout == layout
    close(a @ found["solve"].gather(), b, dtype, n)
    close(a @ found["inv"].gather(), np.eye(n), dtype, n)
    close(a @ found["lstsq"][0].gather(), b, dtype, n)
    close(found["qr"][0].gather() @ found["qr"][1].gather(), a, dtype, n)
    values, vectors = found["eigh"]
    close(symmetric @ vectors.gather(), vectors.gather() * values, dtype, n * n)


def test_the_warning_says_what_is_distributed():
    kept = cy.distribute(np.eye(6), ranks=2)
    with pytest.warns(cy.PerformanceWarning) as caught:
        cy.linalg.solve(kept, np.ones(6))
    assert caught[0].message.code == "CYC738"


def test_its_text(golden_refusal):
    kept = cy.distribute(np.eye(6), ranks=2)

    def warned():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cy.linalg.qr(kept)

    golden_refusal("gathered-for-lapack", cy.PerformanceWarning, "CYC738", warned)


def test_failures_on_ranks():
    matrix = np.eye(50)
    matrix[2, 2] = -1
    kept = cy.distribute(matrix, ranks=2)
    with pytest.raises(cy.ExecutionError, match="leading minor of order 3 of 50") as caught:
        cy.linalg.solve(kept, np.ones(50), assume_a="pos")
    assert caught.value.code == "CYC701"
    kept = cy.distribute(np.zeros((5, 5)), ranks=2)
    with pytest.warns(cy.PerformanceWarning), pytest.raises(cy.ExecutionError, match="singular"):
        cy.linalg.inv(kept)


@pytest.mark.parametrize("grid", [(2, 1), (1, 2)])
@pytest.mark.parametrize("block", [16, 25])
def test_results_have_the_operands_layout(grid, block):
    n = 100
    a, b = positive(n), random(n, n)
    layout = cy.Layout(grid, block)
    kept, other = cy.distribute(a, layout), cy.distribute(b, layout)
    factor = cy.linalg.cholesky(kept)
    for found, wanted in (
        (factor, np.linalg.cholesky(a)),
        (cy.linalg.matmul(kept, other), a @ b),
        (cy.linalg.matmul(b, kept), b @ a),
        (cy.linalg.solve_triangular(factor, other), np.linalg.solve(np.linalg.cholesky(a), b)),
        (cy.linalg.syrk(other), b @ b.T),
    ):
        assert found.layout == layout
        np.testing.assert_allclose(found.gather(), wanted, atol=1e-9)
        assert sorted(found.owners.ravel()) == sorted(layout.owners((n, n)).ravel())
    told = cy.linalg.cholesky(kept, layout=cy.Layout((2, 1), 50))
    assert told.layout == cy.Layout((2, 1), 50)
    np.testing.assert_allclose(told.gather(), np.linalg.cholesky(a), atol=1e-9)


def test_a_factorisation_takes_the_tiles_of_its_matrix():
    """To move it to better ones, and the factor back, costs more."""
    kept = cy.distribute(np.eye(500), cy.Layout((2, 1), 100))
    plan = cy.linalg.plan("cholesky", kept)
    assert plan.operands[0].tile == (100, 100)
    assert plan.deal == cy.Layout((2, 1), 1)
    assert cy.linalg.plan("cholesky", cy.distribute(np.eye(500), cy.Layout((1, 2), 100))).deal.grid == (1, 2)


def test_systems_under_mpirun():
    lines = launch(
        2,
        """
    import warnings
    import cyclotron as cy
    rng = np.random.default_rng(1)
    A = rng.standard_normal((40, 40)); S = A @ A.T + 40 * np.eye(40)
    layout = cy.Layout((2, 1), 8)
    kept = cy.distribute(S, layout)
    x = cy.linalg.solve(kept, A, assume_a="pos")
    np.testing.assert_allclose(S @ x.gather(), A, atol=1e-9)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", cy.PerformanceWarning)
        y = cy.linalg.solve(kept, A)
        values, vectors = cy.linalg.eigh(kept)
    np.testing.assert_allclose(S @ y.gather(), A, atol=1e-9)
    np.testing.assert_allclose(S @ vectors.gather(), vectors.gather() * values, atol=1e-9)
    try:
        cy.linalg.inv(cy.distribute(np.zeros((4, 4))))
    except CyclotronError as error:
        report(f"{error.code} {len(caught)} {y.layout == layout}")
    """,
    )
    assert lines == ["CYC701 2 True"] * 2
