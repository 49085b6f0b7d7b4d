"""Factorisations with the next panel first, by their order of time: every backend, against NumPy and L U."""

import sys
from pathlib import Path

import numpy as np
import pytest

import cyclotron as cy
from cyclotron.linalg.kernels import cholesky_hermitian

sys.path.append(str(Path(__file__).parents[2] / "examples"))

from cholesky import cholesky
from look_ahead import ORDERS, columns
from lu import lu

SIZES = [(1, 1), (4, 3), (3, 1), (16, 4), (22, 3), (20, 2)]  # of the matrix, in tiles of 4, and PEs


def definite(n, dtype):
    rng = np.random.default_rng(n)
    values = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if dtype == "complex128" else 0)
    return (values @ values.conj().T + n * np.eye(n)).astype(dtype)


def outputs(program):
    """Results of the simulator and of threads."""
    return [cy.run(program, backend=name).output for name in ("sim", "local")]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("n", "pes"), SIZES, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_cholesky(n, pes, order, dtype):
    A = definite(n, dtype)
    kernel = cholesky_hermitian if dtype == "complex128" else cholesky
    program = columns(kernel, "L", cy.blocked(A, 4), order, pes)
    expected = np.linalg.cholesky(A)
    for found in outputs(program):
        assert found.dtype == dtype
        np.testing.assert_allclose(
            found, expected, rtol=0, atol=50 * n * np.finfo(dtype).eps * np.abs(A).max() ** 0.5
        )


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("n", "pes"), SIZES, ids=str)
def test_lu(n, pes, order):
    A = definite(n, "float64") + np.triu(np.ones((n, n)), 1)
    program = columns(lu, "F", cy.blocked(A, 4), order, pes)
    for found in outputs(program):
        lower, upper = np.tril(found, -1) + np.eye(n), np.triu(found)
        np.testing.assert_allclose(
            lower @ upper, A, rtol=0, atol=50 * n * np.finfo(float).eps * np.abs(A).max()
        )


BOTH = pytest.mark.parametrize(("kernel", "tensor"), [(cholesky, "L"), (lu, "F")], ids=["cholesky", "lu"])


@BOTH
@pytest.mark.parametrize("order", ORDERS)
def test_all_backends_give_the_same_bits(kernel, tensor, order):
    """Ranks too, where there is an MPI."""
    found = cy.check(columns(kernel, tensor, cy.blocked(definite(22, "float64"), 4), order, pes=3))
    assert {"sim", "local"} <= set(found.errors)


@pytest.mark.sampled(2)
@BOTH
def test_panels_are_factored_before_updates_that_nobody_waits_for(kernel, tensor):
    """So there is less waiting for them."""
    matrix = cy.blocked(definite(48, "float64"), 4)
    ahead, behind = (
        cy.run(columns(kernel, tensor, matrix, order), backend="sim").cycles
        for order in ("look-ahead", "right-looking")
    )
    assert 1.2 * ahead < behind
