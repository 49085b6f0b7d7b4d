"""FlashAttention-2 on tiles (CY-023, E27): full, causal by domain, and with rows that see no key."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import cyclotron as cy

EXAMPLE = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "flash_attention.py"))
SPACE = cy.Schedule().space
SCHEDULES = {
    "one-pe": cy.Schedule(),
    "line": SPACE("i"),
    "streamed": SPACE("i").stream("K", along="i").stream("V", along="i"),
    "broadcast": SPACE("i").broadcast("K", along="i").broadcast("V", along="i"),
    "default": None,
}


@cy.kernel
def causal_attention(Q, K, V, D, scale):
    """Tiles of keys after the queries' are no points; `D` (one tile, bool) masks those on the diagonal."""
    n = Q.shape[0]
    S = cy.empty((n, n), Q.dtype, tile=(Q.shape[0].tile, Q.shape[0].tile))
    P = cy.empty((n, n), Q.dtype, tile=(Q.shape[0].tile, Q.shape[0].tile))
    m = cy.empty((n, n), Q.dtype, tile=(Q.shape[0].tile, 1))
    l = cy.empty((n, n), Q.dtype, tile=(Q.shape[0].tile, 1))
    o = cy.empty((n, n), Q.dtype, tile=(Q.shape[0].tile, V.shape[1].tile))
    O = cy.empty_like(Q)
    for i in range(n):
        for j in range(i + 1):
            if i == j:
                S[i, j] = cy.where(D[0, 0], Q[i, 0] @ K[j, 0].T * scale, -np.inf)
            else:
                S[i, j] = Q[i, 0] @ K[j, 0].T * scale
            m[i, j] = cy.row_max(S[i, j]) if j == 0 else cy.maximum(m[i, j - 1], cy.row_max(S[i, j]))
            P[i, j] = cy.exp(S[i, j] - m[i, j])
            if j == 0:
                l[i, j] = cy.row_sum(P[i, j])
                o[i, j] = P[i, j] @ V[j, 0]
            else:
                l[i, j] = cy.exp(m[i, j - 1] - m[i, j]) * l[i, j - 1] + cy.row_sum(P[i, j])
                o[i, j] = cy.exp(m[i, j - 1] - m[i, j]) * o[i, j - 1] + P[i, j] @ V[j, 0]
        O[i, 0] = o[i, i] / l[i, i]
    return O


def operands(n: int, d: int, tile: int) -> list[cy.Blocked]:
    rng = np.random.default_rng(n)
    return [cy.blocked(rng.standard_normal((n, d)), (tile, d)) for _ in range(3)]


def same_on_backends(program: cy.Program) -> np.ndarray:
    simulated = cy.run(program, backend="sim").output
    np.testing.assert_array_equal(cy.run(program, backend="local").output, simulated)
    return simulated


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("n", "d", "tile"), [(4, 4, 4), (8, 3, 2), (12, 4, 4)])
def test_causal_by_domain(schedule: str, n: int, d: int, tile: int) -> None:
    Q, K, V = operands(n, d, tile)
    diagonal = cy.blocked(np.tri(tile, dtype=bool), (tile, tile))
    scale = 1 / np.sqrt(d)
    program = causal_attention.compile(Q, K, V, diagonal, scale, schedule=SCHEDULES[schedule])
    expected = EXAMPLE["softmax_attention"](Q.array, K.array, V.array, np.tri(n, dtype=bool), scale)
    assert abs(same_on_backends(program) - expected).max() < 1e-14


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("mask", ["full", "causal", "holes", "empty"])
def test_masked(schedule: str, mask: str) -> None:
    """Rows without any key, also in whole tiles, give zeros and never NaN (E27); ragged tiles."""
    n, d, tile = 10, 3, 4
    Q, K, V = operands(n, d, tile)
    rng = np.random.default_rng(5)
    M = {
        "full": np.ones((n, n), bool),
        "causal": np.tri(n, dtype=bool),
        "holes": (rng.random((n, n)) < 0.3) & (np.arange(n)[:, None] % 4 > 0),
        "empty": np.zeros((n, n), bool),
    }[mask]
    scale = 1 / np.sqrt(d)
    arguments = Q, K, V, cy.blocked(M, (tile, tile)), scale
    program = EXAMPLE["attention"].compile(*arguments, schedule=SCHEDULES[schedule])
    expected = EXAMPLE["softmax_attention"](Q.array, K.array, V.array, M, scale)
    found = same_on_backends(program)
    assert abs(found - expected).max() < 1e-14
    assert abs(EXAMPLE["attention"].reference(*arguments) - expected).max() < 1e-14
    assert (found[~M.any(axis=1)] == 0).all()


def test_every_pe_holds_its_queries() -> None:
    """The running maximum, denominator and output never leave their PE: only keys, values move."""
    Q, K, V = operands(16, 4, 4)
    arguments = Q, K, V, cy.blocked(np.ones((16, 16), bool), (4, 4)), 0.5
    program = EXAMPLE["attention"].compile(*arguments, schedule=SCHEDULES["streamed"])
    assert {channel["name"][0] for channel in program.channels} == {"K", "V"}
