"""Slices whose bounds are data: NumPy on what they select, in the reference as in compiled programs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

SHAPES = [(3, 5), (1, 1), (2, 0), (0, 3), (4, 1)]


def some(dtype: str, *shape: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * 3).astype(dtype)


def stops(rows: int, n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(-n - 1, n + 2, rows)


def equal(kernel: cy.Kernel, expected: np.ndarray, *arguments: Any, rtol: float = 0.0) -> None:
    """The reference and all backends give the rows that NumPy's arrays give."""
    with np.errstate(all="raise"):  # nothing outside of the slices is computed
        np.testing.assert_array_equal(kernel.reference(*(one.copy() for one in arguments)), expected)
    program = kernel.compile(*arguments)
    for backend in ("local", "sim"):
        found = cy.run(program, backend=backend).output
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=0)


@cy.kernel
def powers(x, y, z, s):
    x[:, :s] = y[:, :s] ** z[:, :s] + 7 // z[:, :s]
    return x


@pytest.mark.parametrize("shape", SHAPES)
def test_operators_compute_what_is_selected_only(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    x, y, z = (rng.integers(-3, 4, shape) for _ in range(3))
    s, expected = stops(*shape), x.copy()
    for i, to in enumerate(s):
        z[i, :to] = abs(z[i, :to]) + 1
        expected[i, :to] = y[i, :to] ** z[i, :to] + 7 // z[i, :to]
        z[i, len(z[i, :to]) :] = 0  # which 7 cannot be divided by
    equal(powers, expected, x, y, z, s)


def of_functions(y: Any) -> Any:
    z = cy.abs(y) + cy.sqrt(cy.abs(y)) * cy.maximum(y, 0) - cy.clip(y, -1, 1) + cy.sign(y) * cy.floor(y)
    z = z + cy.where(y > 0, y, 1) + cy.round(y) + cy.square(y) + np.sqrt(cy.maximum(y, 1)) + abs(y)
    z = z - y.astype("float32") + np.where(y > 0, 2, y) + cy.cast(y, "int64") + cy.real(y) * cy.isnan(y)
    return z + cy.reciprocal(y * y + 1) + cy.copy(y) + cy.logical_not(y) + y.conj() + np.clip(y, 0, 1)


@cy.kernel
def functions(x, y, s):
    x[:, :s] = of_functions(y[:, :s])
    return x


@cy.kernel
def roots(x, y, s):
    x[:, :s] = cy.sqrt(y[:, :s]) + cy.log(y[:, :s]) + cy.tan(y[:, :s]) + 2.0 ** y[:, :s]
    return x


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", SHAPES)
def test_functions_of_elements(shape: tuple[int, int], dtype: str) -> None:
    x, y, s = some(dtype, *shape), some(dtype, *shape, seed=1), stops(*shape)
    expected, rooted, positive = x.copy(), x.copy(), -abs(y)
    for i, to in enumerate(s):
        row = y[i, :to]
        expected[i, :to] = of_functions(row)
        positive[i, :to] = abs(row)  # the others have no roots
        rooted[i, :to] = np.sqrt(abs(row)) + np.log(abs(row)) + np.tan(abs(row)) + 2.0 ** abs(row)
    equal(functions, expected, x, y, s)
    equal(roots, rooted, x, positive, s, rtol=1e-5 if dtype == "float32" else 1e-13)


@cy.kernel
def named(x, y, s):
    z = y[:, :s] * 2
    y[...] = -1
    x[:, :s] = z
    for _t in range(2):
        w = cy.sqrt(x[:, :s] * x[:, :s])
        x[:, :s] = w + z
    return x


@cy.kernel
def seen(x, y, s):
    z = y[:, :s]
    y[...] = 7
    x[:, :s] = z
    return x


@pytest.mark.parametrize("shape", SHAPES)
def test_names_hold_values_and_slices_are_views(shape: tuple[int, int]) -> None:
    x, y, s = some("float64", *shape), some("float64", *shape, seed=1), stops(*shape)
    expected, sevens = x.copy(), x.copy()
    for i, to in enumerate(s):
        z = y[i, :to] * 2
        expected[i, :to] = abs(abs(z) + z) + z
        sevens[i, :to] = 7
    equal(named, expected, x, y, s)
    equal(seen, sevens, x, y, s)


@cy.kernel
def between(x, y, s):
    x[:, 1:s] = y[:, 1:s] * 2
    x[:, s:-1] += y[:, s:-1]
    x[0, 1 : s[0]] -= y[0, 1 : s[0]] / 2
    for i in range(x.shape[0]):
        x[i, i : s[i]] *= 2
        x[i, i % 2 :] = -x[i, i % 2 :]
        x[i, max(i, 1) :] += y[i, max(i, 1) :]
    return x


@pytest.mark.parametrize("shape", [(3, 5), (1, 1), (4, 4), (2, 3)])
def test_numbers_and_indices_bound_them_too(shape: tuple[int, int]) -> None:
    x, y, s = some("float64", *shape), some("float64", *shape, seed=1), stops(*shape)
    expected = x.copy()
    for i, at in enumerate(s):
        expected[i, 1:at] = y[i, 1:at] * 2
    for i, at in enumerate(s):
        expected[i, at:-1] += y[i, at:-1]
    expected[0, 1 : s[0]] -= y[0, 1 : s[0]] / 2
    for i, at in enumerate(s):
        expected[i, i:at] *= 2
        expected[i, i % 2 :] *= -1
        expected[i, max(i, 1) :] += y[i, max(i, 1) :]
    equal(between, expected, x, y, s)


@cy.kernel
def in_place(x, y, s):
    v = x[:, :s]
    w = y[:, :s] * 2
    u, z = +v, w
    v += 1
    w -= z + v
    v *= w
    for _t in range(2):
        v += y[:, :s]
    if cy.max(y) > 0:
        v -= 3
    v[...] -= 1
    x[:, :s] *= 2
    x[:, :s] += u - z
    return x


@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("shape", [(3, 5), (1, 1), (4, 1)])
def test_operators_in_place_write_through(shape: tuple[int, int], dtype: str) -> None:
    x, y, s = some(dtype, *shape), some(dtype, *shape, seed=1), stops(*shape)
    expected = x.copy()
    for i, to in enumerate(s):
        v, row = expected[i, :to], y[i, :to]
        w = row * 2
        u, z = +v, w
        v += 1
        w -= z + v
        v *= w
        v += row
        v += row
        if y.max() > 0:
            v -= 3
        v[...] -= 1
        expected[i, :to] *= 2
        expected[i, :to] += u - z
    equal(in_place, expected, x, y, s)


@cy.kernel
def of_one_number(x, s):
    y, stop = x + 0, cy.sum(s)
    v = y[:stop]
    v += 1
    return y


@pytest.mark.parametrize("s", [[1, 1], [0], [9]])
def test_a_view_to_a_number_is_that_of_the_function(s: list[int]) -> None:
    x, to = np.arange(4.0), np.array(s)
    equal(of_one_number, of_one_number._function(x, to), x, to)


@cy.kernel
def halved(x, s):
    v = x[:, :s]
    v *= 0.5
    return x


def test_operators_in_place_keep_the_dtype() -> None:
    x, s = np.ones((2, 3), int), np.array([1, 2])
    with pytest.raises(cy.ShapeError, match=r"`\*=` gives dtype float64"):
        halved.compile(x, s)
    with pytest.raises(TypeError, match="float64"):
        halved.reference(x, s)


@cy.kernel
def part_assigned(x, s):
    v = x[:, :s]
    v[0] = 3
    return x


@cy.kernel
def chosen_name(x, s):
    v = x[:, :s]
    if cy.max(x) > 2:
        v = v + 1
    x[:, :s] = v
    return x


def test_names_of_slices_in_branches_are_refused() -> None:
    with pytest.raises(cy.TraceError, match="`v` is a slice whose bounds are data") as refused:
        chosen_name.compile(some("float64", 3, 3), np.array([1, 2, 0]))
    assert refused.value.code == "CYC104"


@cy.kernel
def returned(x, s):
    return x[:, :s] * 2


@cy.kernel
def summed(x, s):
    return x[:, :s].sum()


@cy.kernel
def total(x, s):
    return cy.sum(x[:, :s], axis=1)


@cy.kernel
def rolled(x, s):
    x[:, :s] = cy.roll(x[:, :s], 1)
    return x


@cy.kernel
def taken_apart(x, s):
    x[:, :s] = x[:, :s][0]
    return x


@cy.kernel
def multiplied(x, s):
    x[:, :s] = x @ x[:, :s]
    return x


@cy.kernel
def a_test(x, s):
    if x[:, :s] > 0:
        x[...] = 1
    return x


@cy.kernel
def by_floats(x, s):
    x[:, : s * 0.5] = 1
    return x


@pytest.mark.parametrize(
    "kernel", [returned, total, rolled, taken_apart, multiplied, a_test, by_floats, part_assigned]
)
def test_what_has_a_shape_of_data_is_refused_by_both(kernel: cy.Kernel) -> None:
    x, s = some("float64", 3, 3), np.array([1, 2, 0])
    for run in (kernel.compile, kernel.reference):
        with pytest.raises(cy.CyclotronError) as refused:
            run(x.copy(), s)
        assert refused.value.code == ("CYC120" if kernel is by_floats else "CYC107")
        assert refused.value.help


def test_sums_of_slices() -> None:
    x, s = some("float64", 3, 3), np.array([1, 2, 0])
    expected = x[0, :1].sum() + x[1, :2].sum()
    np.testing.assert_allclose(summed.reference(x, s), expected, rtol=1e-15)
    for backend in ("sim", "local"):
        found = cy.run(summed.compile(x, s), backend=backend).output
        np.testing.assert_allclose(found, expected, rtol=1e-15)


@cy.kernel
def bound_changed(x, s):
    z = x[:, :s] * 2
    s[...] = s + 1
    x[:, :s] = z
    return x


def test_bounds_that_are_assigned_in_between_are_refused() -> None:
    with pytest.raises(cy.TraceError) as refused:
        bound_changed.compile(some("float64", 3, 3), np.array([1, 2, 0]))
    assert refused.value.code == "CYC107"
    assert "are assigned before" in str(refused.value)


@cy.kernel
def products_of_rows(first, x, y):
    z = np.zeros(len(first) - 1, x.dtype)
    for i in range(len(first) - 1):
        z[i] = x[first[i] : first[i + 1]] @ y[first[i] : first[i + 1]]
    return z


@cy.kernel
def sums_of_products(first, x, y):
    z = np.zeros(len(first) - 1, x.dtype)
    for i in range(len(first) - 1):
        a, b = first[i], first[i + 1]
        z[i] = np.dot(x[a:b], np.abs(y[a:b])) + np.sum(y[a:b] * 2)
    return z


@pytest.mark.parametrize("kernel", [products_of_rows, sums_of_products], ids=["matmul", "dot"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
def test_products_of_vectors(kernel: cy.Kernel, dtype: str) -> None:
    """NumPy's own rows are the oracle."""
    random = np.random.default_rng(3)
    first = np.concatenate([[0], np.cumsum(random.integers(0, 4, 7))])
    x, y = (random.integers(-9, 9, first[-1]).astype(dtype) for _ in range(2))
    rows = [slice(*pair) for pair in itertools.pairwise(first)]
    if kernel is products_of_rows:
        expected = [x[row] @ y[row] for row in rows]
    else:
        expected = [x[row] @ np.abs(y[row]) + np.sum(y[row] * 2) for row in rows]
    equal(kernel, np.array(expected, dtype), first, x, y)


def test_arrays_of_unknown_shape_are_no_matrices() -> None:
    @cy.kernel
    def f(x, y, s):
        return x[:, : s[0]] @ y[:, : s[0]]

    with pytest.raises(cy.TraceError, match="CYC107"):
        f.compile(np.ones((2, 2)), np.ones((2, 2)), np.array([1]))
    with pytest.raises(cy.TraceError, match="CYC107"):
        f.reference(np.ones((2, 2)), np.ones((2, 2)), np.array([1]))
