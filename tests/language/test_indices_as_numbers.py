"""Indices as numbers: kernels compute what the undecorated functions do, in the same dtypes."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import agree

import cyclotron as cy

DTYPES = ("float64", "float32", "int64", "int32", "complex128")


def small(*shape: int, dtype: str = "float64") -> np.ndarray:
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 7 - 2).astype(dtype)


@cy.kernel
def weighted(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        y[i] = x[i] * i + (3 - i)
    return y


@cy.kernel
def filled(x):
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = 3 * i - j + 1
    return y


@cy.kernel
def python_numbers(x):
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = (i * j + 1) * x[i, j] - (i - j) ** 2 + 2**j % 5 + abs(i - j) * 0.25
            y[i, j] += (i + 0.5) // 2 - i / (j + 1) + (j & 1) * 3 + (i - j) % (j + 2) + (i + 1) ** -2
    return y


@cy.kernel
def moments(x):
    y = cy.empty(x.shape[0], dtype=x.dtype)
    for i in range(x.shape[0]):
        y[i] = sum((k - i) * x[i, k] for k in range(x.shape[1])) * sum(k // 2 + k % 3 for k in range(i + 1))
    return y


@cy.kernel
def extremes(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        j = i if i > 2 else -i
        y[i] = max(x[i], i) + min(i, 3) + j + (i if x[i] > 1 else 2 * i) * 3 + max(i * i, 5)
    return y


@cy.kernel
def compared(x):
    y = cy.zeros_like(x)
    for i in range(len(x)):
        if i % 2 + 1 == 2 or i * i > 20:
            y[i] = x[i] + (x[i] == i % 3) + (i > x[i])
        if i < 2.5:
            y[i] = -x[i]
        if 1 < x[i] <= i:
            y[i] = y[i] + i
    return y


@cy.kernel
def wheres(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        y[i] = cy.where(i > 3, i, x[i]) + cy.where(x[i] > 0, i, x[i]) - cy.where(i * i < 10, x[i], i)
    return y


@cy.kernel
def counted(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        y[i] = x[i] * sum(i * k > 3 for k in range(len(x))) + any(i * k == 6 for k in range(len(x)))
        y[i] += sum(x[k] * k for k in range(len(x)) if k * k <= 3 * i)
    return y


@cy.kernel
def accumulated(x):
    s = 0.0
    for i in range(len(x)):
        s += i * x[i]
    return s


@cy.kernel
def divisors(n):
    count = cy.zeros(n.shape, dtype="int64")
    for j in range(len(count)):
        for i in range(1, len(count)):
            if j % i == 0:
                count[j] += 1
    return count


@cy.kernel
def downwards(x):
    y = cy.empty_like(x)
    for i in range(len(x) - 1, -1, -2):
        y[i] = i * x[i]
    for i in range(len(x) - 2, -1, -2):
        y[i] = -i
    return y


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [0, 1, 2, 5, 9])
def test_weights(size: int, dtype: str) -> None:
    equal(weighted, small(size, dtype=dtype))
    equal(downwards, small(size, dtype=dtype))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (1, 4), (4, 5)])
def test_matrices(shape: tuple[int, int], dtype: str) -> None:
    equal(filled, small(*shape, dtype=dtype))
    equal(moments, small(*shape, dtype=dtype))
    if dtype.startswith("float"):
        equal(python_numbers, small(*shape, dtype=dtype)[1:])


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32"])
@pytest.mark.parametrize("size", [0, 1, 4, 8])
def test_choices(size: int, dtype: str) -> None:
    for kernel in (extremes, compared, wheres, counted):
        equal(kernel, small(size, dtype=dtype))


@pytest.mark.parametrize("size", [1, 6])
def test_sums(size: int) -> None:
    equal(accumulated, small(size))
    equal(divisors, small(size + 6, dtype="int64"))


def test_an_independent_evaluator_agrees() -> None:
    agree(weighted, small(6))
    agree(downwards, small(7))
    agree(filled, small(3, 4))


def equal(kernel: cy.Kernel, *arguments: np.ndarray) -> None:
    """Both the compiled kernel and its graph do what the function does."""
    with np.errstate(all="ignore"):
        expected = kernel.reference(*arguments)
    program = kernel.compile(*arguments)
    graph = kernel.graph(*arguments).evaluate()
    for found in (cy.run(program, backend="local").output, next(iter(graph.values()))):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@cy.kernel
def numbered(x):
    n, m = x.shape
    y = x * cy.arange(m) + cy.arange(n)[:, None] - cy.arange(2, 2 + 3 * m, 3) + cy.arange(m, 0, -1)
    return y


@cy.kernel
def spread(x):
    n = x.shape[0]
    y = cy.arange(0, 1, 0.1)[:n] + x * cy.arange(0.5, n) + cy.arange(n, dtype="float32")[::-1]
    return y


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (4, 0)])
def test_arange(shape: tuple[int, int], dtype: str) -> None:
    equal(numbered, small(*shape, dtype=dtype))
    equal(spread, small(shape[0], dtype=dtype))


@cy.kernel
def ends_of_axes(x):
    return {
        "all": cy.argmax(x),
        "columns": cy.argmin(x, axis=0),
        "rows": np.argmax(x, axis=-1, keepdims=True),
        "method": x.argmin(),
        "kept": cy.argmin(x * x - x, keepdims=True),
    }


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "bool"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (4, 3)])
def test_first_extremes(shape: tuple[int, int], dtype: str) -> None:
    if dtype == "bool":
        x = small(*shape) > 0
        np.testing.assert_array_equal(where_true(x), np.argmax(x))
        return
    x = small(*shape, dtype=dtype)
    matches(x)
    if dtype.startswith("float"):
        x.flat[-1] = np.nan
        matches(x)
        x.flat[0] = np.nan
        matches(x)


@cy.kernel
def where_true(x):
    return cy.argmax(x)


def matches(x: np.ndarray) -> None:
    program = ends_of_axes.compile(x)
    expected = ends_of_axes.reference(x)
    for backend in ("local", "sim"):
        found = cy.run(program, backend=backend).outputs
        for name, array in expected.items():
            assert found[name].dtype == np.int64
            np.testing.assert_array_equal(found[name], array)


def test_tiles_beside_indices() -> None:
    @cy.kernel
    def shifted(A):
        B = cy.empty_like(A)
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                B[i, j] = A[i, j] * (i - 2 * j) + i * j
        return B

    A = small(5, 7)
    expected = np.kron(np.arange(3)[:, None] - 2 * np.arange(3), np.ones((2, 3)))[:5, :7] * A
    expected += np.kron(np.outer(np.arange(3), np.arange(3)), np.ones((2, 3)))[:5, :7]
    blocked = cy.blocked(A, (2, 3))
    program = shifted.compile(blocked, schedule=cy.Schedule().space("i", "j"))
    for backend in ("local", "sim", "numpy"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, expected)


def test_numbers_that_do_not_fit() -> None:
    @cy.kernel
    def large(x):
        y = cy.empty_like(x)
        for i in range(len(x)):
            y[i] = x[i] + i * 2**29
        return y

    @cy.kernel
    def powers(x):
        y = cy.empty_like(x)
        for i in range(len(x)):
            y[i] = x[i] + 3 ** (i * i)
        return y

    equal(large, small(4, dtype="int32"))
    equal(large, small(9, dtype="int64"))
    for kernel, x in ((large, small(9, dtype="int32")), (powers, small(9, dtype="float64"))):
        with pytest.raises(cy.ShapeError) as refused:
            kernel.compile(x)
        assert refused.value.code == "CYC120"
        assert "a number that indices make" in str(refused.value)


@cy.kernel
def drawn(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        y[i] = x[i] + ((i * 1103515245 + 12345) & 0x7FFF) + (i * i * i) // len(x)
        y[i] += (i * 3000000000) // 3000000000 - (5 - i * i) // (-2 - i) + (i * 3000000000) % 7
        y[i] += (i * i ^ 5 | 3) + (3 - i) % (-4 - i) + (i * i) // (i - 100000) + (-i ^ i)
    return y


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
@pytest.mark.parametrize("size", [0, 1, 7, 1300])
def test_numbers_that_fit_after_large_ones(size: int, dtype: str) -> None:
    equal(drawn, small(size, dtype=dtype))


@cy.kernel
def powers_of_indices(x):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(i + 1):
            y[i, j] = x[i, j] * 2 ** (i - j) + (i + 1) ** (-j - 1) + 2.5 ** (j - i) + (i + 1.0) ** (1 - j)
        for j in range(x.shape[1]):
            y[i, j] += (2 ** (i - j) if i >= j else 3) + (0 if i < j else 3 ** (i - j))
            if (i >= j and 2 ** (i - j) > 3) or 2**j > 4:
                y[i, j] += 2 ** (-i - 1)
    return y


@pytest.mark.parametrize("size", [0, 1, 6])
def test_powers_of_indices(size: int) -> None:
    equal(powers_of_indices, small(size, size))


@cy.kernel
def exact_powers(x):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] + (0 if i < j else 3 ** (i - j)) + (3 ** (j - i) if j > i else 0)
    return y


def test_powers_of_whole_numbers_in_branches_are_exact() -> None:
    x = np.zeros((39, 39), dtype="int64")
    equal(exact_powers, x)
    assert exact_powers(x)[38, 0] == 3**38  # which float64 does not hold


@cy.kernel
def by_negative(x):
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] + (i * 10**9) // (-1 - j)
    return y


@cy.kernel
def by_positive(x):
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] + (i * 10**9) // (1 + j)
    return y


@cy.kernel
def by_both(x):
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] + (-i * 10**9) // (-3 + 2 * j)
    return y


@pytest.mark.parametrize("kernel", [by_negative, by_positive, by_both], ids=lambda one: one.name)
def test_quotients_that_do_not_fit(kernel: cy.Kernel) -> None:
    equal(kernel, small(3, 4, dtype="int32"))
    equal(kernel, small(5, 4, dtype="int64"))
    with pytest.raises(cy.ShapeError) as refused:
        kernel.compile(small(5, 4, dtype="int32"))
    assert refused.value.code == "CYC120"
    assert "a number that indices make may reach" in str(refused.value)


def test_powers_that_may_be_negative_are_refused() -> None:
    @cy.kernel
    def inverse(x):
        y = cy.empty_like(x)
        for i in range(len(x)):
            y[i] = x[i] * (i + 1) ** (-i)
        return y

    equal(inverse, small(1))
    with pytest.raises(cy.ShapeError) as refused:
        inverse.compile(small(3))
    assert refused.value.code == "CYC120"
    assert "(i + 1.0)**(-i)" in str(refused.value)


@cy.kernel
def truths(x):
    y = cy.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i] * ((i > 2) * 5) + ((i > 2) + (i > 3)) * 2 - (3 - (i > 1)) + (i % 2 == 0) * i + i * (i < 3)
        if i:
            y[i] += ~i + ~(i // 2) + ~(i * i)
        if not i:
            y[i] += 1
        y[i] += (i and 7) + (i or 4) + (2 if i - 1 else 3) + sum(k for k in range(len(x)) if k - i)
        y[i] += max(i // 2, 1)
    return y


@cy.kernel
def least(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        y[i] = x[i] * min(3.5, i) + max(i // 2, 0.5) + cy.round(i / 2)
    return y


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32"])
@pytest.mark.parametrize("size", [0, 1, 6])
def test_truths_of_indices(size: int, dtype: str) -> None:
    equal(truths, small(size, dtype=dtype))
    if dtype.startswith("float"):
        equal(least, small(size, dtype=dtype))


def test_rounding_by_python_says_what_to_write() -> None:
    @cy.kernel
    def rounded(x):
        y = cy.empty_like(x)
        for i in range(len(x)):
            y[i] = round(i / 2)
        return y

    with pytest.raises(cy.TraceError) as refused:
        rounded.compile(small(3))
    assert refused.value.code == "CYC105"
    assert "cy.round" in str(refused.value)


def test_arange_of_data_is_refused() -> None:
    @cy.kernel
    def by_data(x):
        return cy.arange(x[0])

    @cy.kernel
    def standing(x):
        return x + cy.arange(0, 5, 0)

    for kernel in (by_data, standing):
        with pytest.raises(cy.ShapeError) as refused:
            kernel.compile(small(5))
        assert refused.value.code == "CYC122"


@cy.kernel
def named(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        k = i * i
        if x[i] > 0:
            k = i
        else:
            k = k + 1
        y[i] = x[i] * k + np.sqrt(i) + np.float64(0.5) * i + np.int64(2) * i
        y[i] += i > 2
    return y


@pytest.mark.parametrize("size", [0, 1, 6])
def test_names_and_functions_of_indices(size: int) -> None:
    equal(named, small(size))


@cy.kernel
def totals_in_loops_of_their_name(x):
    y = cy.empty_like(x)
    s, c = 0, 0
    for i in range(len(x)):
        s += x[i] * i
    for i in range(len(x)):
        c += i
    for i in range(len(x)):
        y[i] = x[i] + s - c * i
    return y


@pytest.mark.parametrize("size", [0, 1, 6])
def test_totals_in_loops_of_their_name(size: int) -> None:
    equal(totals_in_loops_of_their_name, small(size))


def test_truth_values_beside_whole_numbers_are_such():
    @cy.kernel
    def f(u):
        v = cy.zeros((2, 3), dtype="int64")
        for s in range(2):
            v[s, 0] = (np.bool_(1) if s else s) == 6
            v[s, 1] = 6 - (np.bool_(1) if s else s)
            v[s, 2] = (np.bool_(1) if s else s) * 6 + u[s]
        return v

    np.testing.assert_array_equal(f(np.array([10, 20])), [[0, 6, 10], [0, 5, 26]])


def test_constants_that_indices_choose_are_promoted():
    @cy.kernel
    def f(u, a):
        v = cy.zeros((2, 3), dtype="float64")
        for s in range(2):
            v[s, 0] = cy.maximum(np.int64(0), a if s else s)
            v[s, 1] = cy.minimum(np.int64(3), 2.5 if s else s)
            v[s, 2] = np.int32(2) * (1.5 if s else s) + u[s]
        return v

    for a in (np.array(2.5, "float32"), np.array(np.inf, "float32"), np.float32(0.5)):
        found = f(np.array([10.0, 20.0]), a)
        np.testing.assert_array_equal(found, [[0, 0, 10], [float(a), 2.5, 23]])
