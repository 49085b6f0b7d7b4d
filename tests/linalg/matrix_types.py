"""LAPACK's test matrices (xLATB4, xLATTR): random ones of given condition, and scaled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

SYMMETRIC = ("diagonal", "condition 2", "condition sqrt(0.1/eps)", "condition 0.1/eps", "tiny", "huge")
TRIANGULAR = ("diagonal", "condition 2", "condition sqrt(0.1/eps)", "tiny", "huge", "identity", "unit")


def symmetric(kind: str, n: int, dtype: str, seed: int = 0) -> NDArray[Any]:
    """A Hermitian positive definite matrix of the kind."""
    rng = np.random.default_rng(seed)
    eps, smallest = np.finfo(dtype).eps, np.finfo(dtype).tiny
    condition = {"condition sqrt(0.1/eps)": np.sqrt(0.1 / eps), "condition 0.1/eps": 0.1 / eps}.get(kind, 2.0)
    values = np.geomspace(1, 1 / condition, n)
    if kind == "diagonal":
        return np.diag(values).astype(dtype)
    vectors, _ = np.linalg.qr(_random(rng, n, dtype))
    matrix = (vectors * values) @ vectors.conj().T
    matrix = (matrix + matrix.conj().T) / 2
    scale = {"tiny": np.sqrt(smallest), "huge": 1 / np.sqrt(smallest)}.get(kind, 1.0)
    return np.asarray((matrix * scale).astype(dtype))


def triangular(kind: str, n: int, dtype: str, seed: int = 0) -> NDArray[Any]:
    """A lower triangular matrix of the kind, with numbers that are not to be read above the diagonal."""
    rng = np.random.default_rng(seed)
    if kind == "identity":
        lower = np.eye(n)
    elif kind == "unit":
        lower = np.tril(_random(rng, n, dtype), -1) / (2 * n) + np.eye(n)
    else:
        # The triangle of a QR factorisation has the condition of its matrix.
        _, upper = np.linalg.qr(symmetric(kind, n, dtype, seed))
        lower = np.diag(np.diagonal(upper)) if kind == "diagonal" else upper.T
    return np.asarray((np.tril(lower) + np.triu(np.full((n, n), np.nan), 1)).astype(dtype))


def _random(rng: np.random.Generator, n: int, dtype: str) -> NDArray[Any]:
    matrix = rng.standard_normal((n, n))
    return matrix + 1j * rng.standard_normal((n, n)) if dtype.startswith("complex") else matrix
