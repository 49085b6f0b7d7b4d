"""Residuals of Cholesky and solves within ScaLAPACK's thresholds, on LAPACK's types of matrices."""

from __future__ import annotations

import matrix_types
import numpy as np
import pytest

import cyclotron as cy

# ScaLAPACK's TESTING/LLT.dat and LU.dat.
CHOLESKY_THRESHOLD, SOLVE_THRESHOLD = 3.0, 1.0
DTYPES = ["float32", "float64", "complex64", "complex128"]


def norm(matrix):
    """The 1-norm, in double precision."""
    return np.linalg.norm(matrix.astype("complex128"), 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", matrix_types.SYMMETRIC)
@pytest.mark.parametrize("n", [1, 10, 33, 130])
def test_cholesky(kind, n, dtype):
    A = matrix_types.symmetric(kind, n, dtype)
    asked = A.copy()
    asked[np.triu_indices(n, 1)] = np.nan  # not read
    L = cy.linalg.cholesky(asked, backend="local", ranks=2)
    assert L.dtype == A.dtype
    assert (np.tril(L) == L).all()
    wide = L.astype("complex128")
    residual = np.linalg.norm(wide @ wide.conj().T - A, 1) / (norm(A) * n * np.finfo(dtype).eps)
    assert residual <= CHOLESKY_THRESHOLD


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", matrix_types.TRIANGULAR)
@pytest.mark.parametrize(("n", "m"), [(1, 1), (10, 3), (33, 70), (130, 20)])
def test_solve_triangular(kind, n, m, dtype):
    lower = matrix_types.triangular(kind, n, dtype)
    B = np.random.default_rng(1).standard_normal((n, m)).astype(dtype)
    clean = np.tril(np.nan_to_num(lower))
    for stored, op, options in [
        (lower, clean, {}),
        (lower, clean.T, {"trans": "T"}),
        (lower, clean.conj().T, {"trans": 2}),
        (lower.T, clean.T, {"lower": False}),
        (lower.T, clean, {"lower": False, "trans": True}),
    ]:
        if kind == "unit":
            stored = stored.copy()
            np.fill_diagonal(stored, 0)
            options = {**options, "unit_diagonal": True}
        X = cy.linalg.solve_triangular(stored, B, backend="local", ranks=2, **options)
        assert X.dtype == B.dtype
        wide = op.astype("complex128") @ X.astype("complex128") - B
        residual = np.linalg.norm(wide, 1) / (norm(op) * norm(X) * n * np.finfo(dtype).eps)
        assert residual <= SOLVE_THRESHOLD, options
