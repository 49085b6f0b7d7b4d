"""The operators of tiles: factorizations, rows and columns, broadcasts, transposes; and their table."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from numpy_oracle import check_against_numpy

import cyclotron as cy
from cyclotron import _core
from cyclotron.language.values.operators import OPERATORS, result_dtype

FLOATING = ("float32", "float64", "complex64", "complex128")
ONE_PE = cy.Schedule()


def test_dtypes_of_results_are_those_of_the_core() -> None:
    for entry in _core.operators():
        if (
            entry.accumulating or entry.name not in OPERATORS
        ):  # casts to dtypes that Python does not offer yet
            continue
        for dtype, result in entry.dtypes.items():
            assert result_dtype(entry.name, dtype) == result, entry.name


ADDED = {"ml_dtypes": sys.modules.get("ml_dtypes")}


def test_operators_are_what_their_entries_say() -> None:
    """Of elementwise operators the meaning in the registry, evaluated, is the function that elements have."""
    a, b, c = np.array([2.5, -3.0, 7.0]), np.array([1.5, 2.0, -4.0]), np.array([True, False, True])
    for entry in _core.operators():
        if entry.family != "elementwise" or entry.name not in OPERATORS or entry.name == "normalize_index":
            continue
        kind = next(kind for kind in "fib" if kind in entry.kinds)
        dtype = {"f": np.float64, "i": np.int64, "b": np.bool_}[kind]
        x, y = abs(a).astype(dtype), b.astype(dtype)
        meaning = eval(entry.numpy, {**ADDED, "np": np, "a": x, "b": y, "c": c})
        operands = [c, x, y] if entry.typing == "select" else [x, y][: entry.arity]
        np.testing.assert_array_equal(OPERATORS[entry.name].numpy(*operands), meaning, entry.name)


def test_shapes_of_results() -> None:
    operators = {entry.name: entry for entry in _core.operators()}
    assert operators["add"].result_shape([(1, 4), (3, 1)]) == (3, 4)
    assert operators["matmul"].result_shape([(2, 3), (2, 5)], ["transpose_a"]) == (3, 5)
    assert operators["row_max"].result_shape([(3, 4)]) == (3, 1)
    with pytest.raises(cy.ShapeError, match="cannot multiply a 2x3 tile by a 2x3 tile"):
        operators["matmul"].result_shape([(2, 3), (2, 3)])


def agree(kernel: cy.Kernel, *arguments: object, tolerance: float = 0.0) -> list[np.ndarray]:
    """Run on both backends, compare their bits, and with plain Python."""
    program = kernel.compile(*arguments, schedule=ONE_PE)
    simulated = cy.run(program, backend="sim").outputs
    local = cy.run(program, backend="local").outputs
    expected = kernel.reference(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for name, wanted in zip(simulated, expected, strict=True):
        assert simulated[name].tobytes() == local[name].tobytes()
        assert simulated[name].dtype == wanted.dtype
        np.testing.assert_allclose(simulated[name], wanted, rtol=tolerance, atol=tolerance)
    return list(simulated.values())


def matrix(n: int, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(n)
    a = rng.standard_normal((n, n)) + 2 * n * np.eye(n)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.standard_normal((n, n))
    return a.astype(dtype)


@cy.kernel
def factors(A):
    """Of each diagonal tile."""
    n = A.shape[0]
    F, D, L, U = cy.zeros_like(A), cy.zeros_like(A), cy.zeros_like(A), cy.zeros_like(A)
    for i in range(n):
        F[i, i] = cy.linalg.lu(A[i, i])
        D[i, i] = cy.linalg.ldl(A[i, i])
        L[i, i] = cy.linalg.inv_triangular(A[i, i], unit_diagonal=True)
        U[i, i] = cy.linalg.inv_triangular(A[i, i], lower=False)
    return F, D, L, U


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("tile", [None, 1, 4, 3])
def test_factorizations(dtype: str, tile: int | None) -> None:
    """Scalars, tiles of one, one tile, and a ragged last tile."""
    a = matrix(4, dtype)
    tolerance = 50 * float(np.finfo(dtype).eps)
    F, D, L, U = agree(factors, a if tile is None else cy.blocked(a, (tile, tile)), tolerance=tolerance)
    size = tile or 1
    for start in range(0, 4, size):
        part = slice(start, min(start + size, 4))
        one = a[part, part]
        identity = np.eye(len(one))
        f, d = F[part, part], D[part, part]
        np.testing.assert_allclose((np.tril(f, -1) + identity) @ np.triu(f), one, rtol=tolerance * 20)
        unit = np.tril(d, -1) + identity
        hermitian = np.tril(one, -1) + np.tril(one, -1).conj().T + np.diag(one.diagonal().real)
        product = unit @ np.diag(d.diagonal()) @ unit.conj().T
        np.testing.assert_allclose(product, hermitian, rtol=tolerance * 20, atol=tolerance * 20)
        assert not np.triu(d, 1).any()
        lower, upper = np.tril(one, -1) + identity, np.triu(one)
        np.testing.assert_allclose(L[part, part] @ lower, identity, atol=tolerance * 20)
        np.testing.assert_allclose(U[part, part] @ upper, identity, atol=tolerance * 20)
        assert not np.triu(L[part, part], 1).any()
        assert not np.tril(U[part, part], -1).any()


@cy.kernel
def lu_by_tiles(A):
    """The blocked factorization: packed factors, and solves that read the triangles they need."""
    n = A.shape[0]
    F = cy.empty_like(A)
    for i in range(n):
        for j in range(n):
            if i == j:
                F[i, j] = cy.linalg.lu(A[i, j] - sum(F[i, k] @ F[k, j] for k in range(i)))
            elif i < j:
                rest = A[i, j] - sum(F[i, k] @ F[k, j] for k in range(i))
                F[i, j] = cy.linalg.solve_triangular(F[i, i], rest, unit_diagonal=True)
            else:
                rest = A[i, j] - sum(F[i, k] @ F[k, j] for k in range(j))
                F[i, j] = cy.linalg.solve_triangular(F[j, j], rest, side="right", lower=False)
    return F


@pytest.mark.parametrize("schedule", [ONE_PE, cy.Schedule().space("i", "j")], ids=["one-pe", "grid"])
@pytest.mark.parametrize("tile", [None, 2, 3])
def test_blocked_lu(schedule: cy.Schedule, tile: int | None) -> None:
    a = matrix(5, "float64")
    program = lu_by_tiles.compile(a if tile is None else cy.blocked(a, (tile, tile)), schedule=schedule)
    f = cy.run(program, backend="sim").output
    np.testing.assert_array_equal(cy.run(program, backend="local").output, f)
    np.testing.assert_allclose((np.tril(f, -1) + np.eye(5)) @ np.triu(f), a, atol=1e-13)


@pytest.mark.parametrize("function", [cy.linalg.lu, cy.linalg.ldl])
def test_a_zero_pivot_is_reported(function: object) -> None:
    @cy.kernel
    def one(A):
        F = cy.empty_like(A)
        F[0, 0] = function(A[0, 0])
        return F

    a = np.array([[1.0, 2, 0], [2, 4, 1], [0, 1, 1]])
    program = one.compile(cy.blocked(a, (3, 3)))
    with pytest.raises(cy.ExecutionError, match="zero pivot: pivot 2 is 0") as caught:
        cy.run(program, backend="sim")
    assert caught.value.code == "CYC701"
    with pytest.raises(np.linalg.LinAlgError, match="pivot 1 is 0"):
        one.reference(cy.blocked(a, (3, 3)))


@cy.kernel
def rows_and_columns(A):
    n, m = A.shape
    R = cy.empty((n, m), tile=(A.shape[0].tile, 1))
    C = cy.empty((n, m), tile=(1, A.shape[1].tile))
    X = cy.empty_like(A)
    for i in range(n):
        for j in range(m):
            R[i, j] = cy.row_min(A[i, j]) + cy.row_max(A[i, j]) * cy.row_sum(A[i, j])
            C[i, j] = cy.col_min(A[i, j]) + cy.col_max(A[i, j]) * cy.col_sum(A[i, j])
            X[i, j] = A[i, j] - R[i, j] + C[i, j] * cy.where(A[i, j] > C[i, j], R[i, j], 2)
    return R, C, X


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "complex64", "complex128"])
def test_tiles_combine_with_rows_and_columns(dtype: str) -> None:
    """As NumPy broadcasts; exact on small integers."""
    A = np.random.default_rng(3).integers(-4, 5, (6, 8)).astype(dtype)
    R, C, _ = agree(rows_and_columns, cy.blocked(A, (3, 4)))
    np.testing.assert_array_equal(R[:3, 0], A[:3, :4].min(1) + A[:3, :4].max(1) * A[:3, :4].sum(1))
    np.testing.assert_array_equal(C[0, :4], A[:3, :4].min(0) + A[:3, :4].max(0) * A[:3, :4].sum(0))


@cy.kernel
def outer_products(x, y):
    n, m = x.shape[0], y.shape[0]
    X = cy.empty((n, m))
    for i in range(n):
        for j in range(m):
            X[i, j] = cy.outer(x[i], y[j])
    return X


@pytest.mark.parametrize("tile", [None, (2, 3), (7, 7)])
def test_outer(tile: tuple[int, int] | None) -> None:
    x, y = np.arange(1, 5.0), np.arange(2, 8.0)
    arguments = (x, y) if tile is None else (cy.blocked(x, tile[:1]), cy.blocked(y, tile[1:]))
    (X,) = agree(outer_products, *arguments)
    np.testing.assert_array_equal(X, np.outer(x, y))


@cy.kernel
def read_transposed(A):
    B = cy.empty((A.shape[1], A.shape[0]))
    for i in range(A.T.shape[0]):
        for j in range(len(A)):
            B[i, j] = A.T[i, j] + A[j, i].T
    return B


@pytest.mark.parametrize("tile", [None, (2, 3), (3, 2)])
def test_a_transposed_tensor(tile: tuple[int, int] | None) -> None:
    A = np.arange(20.0).reshape(4, 5)
    (B,) = agree(read_transposed, A if tile is None else cy.blocked(A, tile))
    np.testing.assert_array_equal(B, 2 * A.T)


@cy.kernel
def least_so_far(A):
    M = cy.full_like(A, -np.inf)
    for i in range(1, A.shape[0]):
        M[i] = cy.maximum(M[i - 1], A[i])
    return M


def test_an_infinite_fill() -> None:
    (M,) = agree(least_so_far, np.array([5.0, -3, 1, np.nan, 2]))
    np.testing.assert_array_equal(M, [-np.inf, -3, 1, np.nan, np.nan])


@cy.kernel
def from_the_math_module(A, B):
    C = cy.empty_like(A)
    D = cy.empty(A.shape[0], "bool")
    for i in range(A.shape[0]):
        C[i] = math.sin(A[i]) + math.hypot(A[i], B[i]) * math.atan2(A[i], B[i]) + math.tanh(math.expm1(A[i]))
        D[i] = math.isnan(A[i]) | math.isfinite(B[i])
    return C, D


def test_functions_of_the_math_module() -> None:
    agree(from_the_math_module, np.array([0.5, -1.25, 2.0]), np.array([1.0, np.inf, -3.0]), tolerance=1e-15)


@cy.kernel
def by_index_or_data(A, k):
    """`cy.where` on conditions of either kind; a host value decides at once."""
    C = cy.empty_like(A)
    for i in range(A.shape[0]):
        C[i] = cy.where(i == 0, 0, A[i]) + np.where(A[i] > 2, A[i], -A[i]) + cy.where(k > 1, 10, 20)
    return C


def test_conditions_of_indices_of_data_and_of_host_values() -> None:
    (C,) = agree(by_index_or_data, np.array([1.0, 2, 3]), 5)
    np.testing.assert_array_equal(C, [9, 10, 16])


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8"])
def test_whole_numbers_of_two_signs_are_compared_exactly(dtype: str) -> None:
    def compared(u: Any, v: Any) -> Any:
        return u == v, u != v, u < v, u <= v, u > v, u >= v, v < u, v >= u, v == np.uint64(2**63), u[3] > v[3]

    info = np.iinfo(dtype)
    u = np.array([0, 2**64 - 1, 2**63, 2**63, info.max, 2**63 + 1], "uint64")
    v = np.array([0, -1, info.min, info.max, info.max, -(info.max)], dtype)
    for found, right in zip(cy.kernel(compared)(u, v), compared(u, v), strict=True):
        np.testing.assert_array_equal(found, right)


def shifted(n):
    bits = np.zeros((len(n), 8), dtype=np.int64)
    powers = np.zeros(len(n), dtype=np.int64)
    for i in range(len(n)):
        for b in range(8):
            bits[i, b] = (n[i] >> b) & 1
        powers[i] = (1 << i) + (i << 2) + (i >> 1) + (40 >> i)
    m = n.copy()
    m <<= 2
    m[1:] >>= 1
    return bits, powers, n << 3, n >> 1, 1 << abs(n) % 7, n << n, n >> n, m


def bits_of_numpy(n):
    two = np.bitwise_and(n, 6) + np.bitwise_or(n, n[::-1])
    return two, np.bitwise_xor(n, 1), np.invert(n), np.left_shift(n, 2), np.right_shift(n, abs(n) % 4)


@pytest.mark.parametrize("function", [shifted, bits_of_numpy])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
def test_bits_of_whole_numbers(function, dtype):
    n = np.array([0, 1, 5, 100, 127, -1, -7, -128])
    check_against_numpy(function, (np.abs(n) if dtype[0] == "u" else n).astype(dtype))


def shifted_truths(x):
    return x << x, x << 1, (x > 0) << 3


def test_truth_values_are_shifted_as_numbers():
    check_against_numpy(shifted_truths, np.array([True, False]))


def of_masks(c):
    s = np.zeros(8)
    for m in range(8):
        for i in range(3):
            if m & (1 << i):
                s[m] += c[i]
            if (m & (1 << i)) == 0:
                s[m] -= 1
    return s


def test_bits_of_indices_are_conditions():
    check_against_numpy(of_masks, np.array([1.0, 20, 300]))
