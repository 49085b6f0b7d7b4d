"""Kernels on scalars as `cy.run` has them where nothing is said: in tiles where they are long."""

import numpy as np
import pytest
from loading import kernel_of
from texts import TEXTS, arguments

import cyclotron as cy

# Each takes a PE ten million cycles and more; the second one enough for several workers.
LONG = {"matmul": (260, 520), "trsm_lower": (420, 900), "cholesky": (512, 900), "lu_in_place": (300, 600)}


@pytest.mark.parametrize("workers", [{"threads": 1}, {"threads": 3}, {"backend": "mpi", "ranks": 2}])
@pytest.mark.parametrize("name", LONG)
def test_long_kernels_run_in_tiles_and_are_what_numpy_has(name, workers):
    kernel = kernel_of(TEXTS[name])
    for n in LONG[name]:
        given, expected = arguments(name, n, n)
        result = cy.run(kernel, *given, **workers)
        assert result.program.blocking is not None
        np.testing.assert_allclose(result.output, expected, rtol=1e-9, atol=1e-9)
        text = str(result.program.explain())
        assert "in tiles" in text
        assert "added up tile by tile" in text


@pytest.mark.parametrize("workers", [{"threads": 1}, {"threads": 2}])
def test_loops_of_one_name_and_other_lengths_have_tiles_of_one_length(workers):
    kernel = kernel_of("""
def kernel(A, B, C):
    T = cy.empty((A.shape[0], B.shape[1]))
    D = cy.empty((A.shape[0], C.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            T[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    for i in range(A.shape[0]):
        for j in range(C.shape[1]):
            D[i, j] = sum(T[i, k] * C[k, j] for k in range(C.shape[0]))
    return D
""")
    rng = np.random.default_rng(5)
    a, b, c = (rng.random(shape) for shape in ((230, 307), (307, 150), (150, 401)))
    result = cy.run(kernel, a, b, c, **workers)
    assert result.program.blocking is not None
    np.testing.assert_allclose(result.output, a @ b @ c)


def test_several_workers_share_the_tiles_of_what_takes_very_long():
    (given, _), kernel = arguments("matmul", 520, 520), kernel_of(TEXTS["matmul"])
    assert cy.run(kernel, *given, threads=1).program.grid == (1,)
    assert cy.run(kernel, *given, threads=3).program.grid == (3, 3)


@pytest.mark.parametrize("name", ["matmul", "cholesky"])
def test_short_kernels_and_those_without_tiles_have_the_bits_of_scalars(name):
    kernel = kernel_of(TEXTS[name])
    given, _ = arguments(name, 40, 40)
    result = cy.run(kernel, *given)
    assert result.program.blocking is None
    np.testing.assert_array_equal(result.output, cy.run(kernel, *given, backend="sim").output)
    long, _ = arguments(name, LONG[name][0], LONG[name][0])
    scalars = cy.run(kernel, *long, tile=None)
    assert scalars.program.blocking is None
    program = kernel.compile(*long, schedule=cy.Schedule())
    np.testing.assert_array_equal(scalars.output, cy.run(program).output)


def test_what_matches_no_tile_operator_stays_as_it_is():
    kernel = kernel_of("""
def kernel(A):
    n = A.shape[0]
    D = A.copy()
    for k in range(n):
        for i in range(n):
            for j in range(n):
                D[i, j] = cy.minimum(D[i, j], D[i, k] + D[k, j])
    return D
""")
    given = np.random.default_rng(0).random((220, 220))
    result = cy.run(kernel, given)
    expected = given.copy()
    for k in range(len(expected)):
        expected = np.minimum(expected, expected[:, k : k + 1] + expected[k])
    assert result.program.blocking is None
    np.testing.assert_array_equal(result.output, expected)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_are_equal(dtype):
    text = TEXTS["matmul"].replace("B.shape[1]))", "B.shape[1]), dtype=A.dtype)", 1)
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-(1 << 28), 1 << 28, (260, 260)).astype(dtype) for _ in range(2))
    result = cy.run(kernel_of(text), a, b)
    assert result.output.dtype == dtype
    np.testing.assert_array_equal(result.output, a @ b)


@pytest.mark.parametrize("workers", [{"threads": 1}, {"backend": "mpi", "ranks": 2}])
def test_where_an_operator_fails_the_numbers_are_those_of_scalars(workers):
    n = 420
    (lower, right), _ = arguments("trsm_lower", n, n)
    lower[n - 1, n - 1] = 0.0
    with np.errstate(all="ignore"):
        result = cy.run(kernel_of(TEXTS["trsm_lower"]), lower, right, **workers)
    assert result.program.blocking is None
    expected = np.linalg.solve(np.tril(lower)[:-1, :-1], right[:-1])
    np.testing.assert_allclose(result.output[:-1], expected, rtol=1e-9, atol=1e-12)
    assert not np.isfinite(result.output[-1]).any()


def test_tiles_of_given_lengths_and_for_programs():
    given, expected = arguments("matmul", 9, 7)
    kernel = kernel_of(TEXTS["matmul"])
    for backend in ("local", "sim"):
        result = cy.run(kernel, *given, backend=backend, tile={"i": 4})
        assert result.program.blocking.tiles["i"] == 4
        np.testing.assert_allclose(result.output, expected)
    with pytest.raises(cy.ExecutionError, match="CYC733"):
        cy.run(kernel.compile(*given), tile=4)
