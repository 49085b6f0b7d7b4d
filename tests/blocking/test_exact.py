"""Blocked and scalar texts on numbers of which all sums are exact: equal, whatever is ragged."""

import numpy as np
import pytest
from loading import kernel_of
from mutations import plain
from texts import ALL, TEXTS

import cyclotron as cy

KERNELS = {name: kernel_of(text) for name, text in ALL.items()}
CASES = [(name, n) for name in ALL for n in range(1 if name in TEXTS else 3, 13)]


def exact_arguments(name, n, m):
    """Arguments with which all that is computed is whole numbers, or those over powers of 2."""
    random = np.random.default_rng(100 * n + m)

    def small(*shape):
        return random.integers(-2, 3, shape).astype(float)

    signs = np.diag(random.choice([-1.0, 1.0], n))
    lower = np.tril(random.integers(-1, 2, (n, n)), -1) + np.eye(n)
    if name in ("matmul", "gemm"):
        return (small(m, n), small(n, m), small(m, m))[: 3 if name == "gemm" else 2]
    if name == "matmul_transposed":
        return small(n, m), small(m, n)
    if name == "matvec":
        return small(m, n), small(n)
    if name == "syrk":
        return (small(m, n),)
    if name.startswith("cholesky"):
        factor = lower @ np.diag(random.choice([1.0, 2.0], n))
        return (factor @ factor.T,)
    if name.startswith("lu"):
        return (lower @ (signs + np.triu(random.integers(-1, 2, (n, n)), 1)),)
    if name.startswith("ldl"):
        return (lower @ signs @ lower.T,)
    matrix = signs + lower - np.eye(n) + np.triu(random.integers(-1, 2, (n, n)), 1)
    if name.startswith("trtri"):
        return (matrix,)
    return matrix, small(m, n) if name == "trsm_right" else small(n, m)


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("name", "n"), CASES)
def test_blocked_texts_are_the_scalar_ones(name, n):
    m = 5 * n % 12 + 1
    given = exact_arguments(name, n, m)
    expected = plain(ALL[name], *given)
    for values in expected:
        np.testing.assert_array_equal(values * 2**20, np.round(values * 2**20))
        assert np.abs(values).max() < 2**30
    for tile in range(1, 6):
        program = KERNELS[name].compile(*given, schedule=cy.Schedule(), tile=tile)
        for result, wanted in zip(cy.run(program).outputs.values(), expected, strict=True):
            np.testing.assert_array_equal(result, wanted, err_msg=f"tiles of {tile}")
