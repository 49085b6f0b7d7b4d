"""Whole-array NumPy statements in kernels mean what NumPy makes of them, on every backend."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cyclotron as cy


def numbers(*shape: int, dtype: str = "float64", seed: int = 1) -> Any:
    """Small whole numbers, of which sums and products are exact."""
    values = np.random.default_rng(seed).integers(-4, 5, shape)
    return (values > 0) if dtype == "bool" else values.astype(dtype)


def as_tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def check(kernel: cy.Kernel, *arguments: Any, backends: tuple[str, ...] = ("local", "sim")) -> None:
    """Compare a kernel with its own text run on plain arrays: values, shapes and dtypes."""
    plain = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    expected = [np.asarray(one) for one in as_tuple(kernel.__wrapped__(*plain))]
    program = kernel.compile(*arguments)
    found = {name: list(cy.run(program, backend=name).outputs.values()) for name in backends}
    found["reference"] = [np.asarray(one) for one in as_tuple(kernel.reference(*arguments))]
    for name, results in found.items():
        assert len(results) == len(expected), name
        for result, right in zip(results, expected, strict=True):
            assert (result.shape, result.dtype) == (right.shape, right.dtype), name
            np.testing.assert_array_equal(result, right, err_msg=name)


@cy.kernel
def second_difference(x):
    y = cy.zeros_like(x)
    y[1:-1] = x[2:] - 2 * x[1:-1] + x[:-2]
    return y


@cy.kernel
def sum_of_two(A, B):
    C = cy.empty_like(A)
    C[...] = A + B
    return C


@cy.kernel
def axpy(a, x, y):
    z = a * x + y
    return z


@cy.kernel
def steps(x):
    y = cy.zeros_like(x)
    y[::2] = x[::-2]
    y[1::2] = 3 * x[1::2]
    return y, x[::-1], x[-2:0:-1] - 1


@cy.kernel
def rows_and_columns(A, x, y):
    B = A + x[:, None] * y
    B[0] = y
    B[:, 0] += x
    B[1, 1:] -= B[0, 1:]
    return B, A[2] * 2, A[..., 1]


@cy.kernel
def transposed(A):
    return A.T + 1, A.T[1:] @ A, A[:, ::2].T


@cy.kernel
def shifted_in_place(x):
    x[1:] = x[:-1]
    x[:-1] += x[1:]
    return x


@cy.kernel
def through_a_view(A):
    inner = A[1:-1, 1:-1]
    before = inner.copy()
    inner += 1
    inner[0] *= 2
    A[1, 1] = 7
    return A, before + inner


@cy.kernel
def swapped(x, y):
    x[...], y[...] = y + 0, x + 0
    return x, y


@cy.kernel
def reversed_in_place(x, y):
    x[::-1] = x
    y[...] = y
    y += y
    return x, y


@cy.kernel
def names_again(x, y):
    y = y[::-1] + x
    y[0] = 5
    x = x * 2
    x = x - y
    return x, y


@cy.kernel
def chosen(A, x):
    B = cy.where(x < A, A, -1)
    B[...] = cy.where(cy.logical_and(B == -1, A < 0), cy.abs(A), B)
    return B, cy.where(A != 0, 1, 0), (x >= A) | ~(A == 2)


@cy.kernel
def reduced(A):
    total = cy.sum(A)
    rows = cy.sum(A, axis=1, keepdims=True)
    return total, A.sum(axis=0), cy.max(A, axis=-1), A.min(), A - rows, cy.any(A > 3), cy.all(A < 5, axis=0)


@cy.kernel
def centred(A):
    return A - cy.mean(A), cy.mean(A, axis=0), cy.norm(A[0])


@cy.kernel
def products(A, x, y):
    return A @ x, y @ A, A.T @ A, cy.dot(y, A @ x), cy.outer(x, y), 2 * (A @ x) - y


@cy.kernel
def rolled(A, x):
    return cy.roll(x, 2) - cy.roll(x, -9), cy.roll(A, 1, axis=1), np.roll(A, (1, -1), axis=(0, 1))


@cy.kernel
def moved(A, x):
    return (
        cy.shift(x, 2) + cy.shift(x, -7),
        cy.shift(A, -1, axis=1, boundary="edge"),
        cy.shift(A, 2, axis=0, boundary="reflect") + cy.shift(A, -1, boundary="periodic"),
    )


@cy.kernel
def several_axes(T):
    return T[:, None, 1] * T[0], T[..., ::-1].transpose(2, 0, 1), cy.sum(T, axis=(0, 2)), np.sum(T * T)


@cy.kernel
def of_numpy(x, y):
    return np.maximum(x, y) * np.abs(x), np.where(x > y, x, y), np.square(x), np.dot(x, y), np.sum(x)


@cy.kernel
def with_rows(A):
    total = sum(A[i] for i in range(A.shape[0]))
    return total + A


@cy.kernel
def scalars_and_arrays(A, x):
    B = cy.zeros_like(A)
    s = cy.sum(x)
    for i in range(A.shape[0]):
        B[i, 0] = A[i, 0] * s
        B[i, 1:] = A[i, 1:] - A[i, 0]
    return B


def laplacian(u):
    return u[2:] - 2 * u[1:-1] + u[:-2]


@cy.kernel
def with_a_helper(x):
    x[1:-1] += laplacian(x)
    return x


A, B, T = numbers(4, 5), numbers(4, 5, seed=2), numbers(3, 4, 2)
x, y = numbers(4, seed=3), numbers(5, seed=4)
CASES = [
    (second_difference, (numbers(9),)),
    (sum_of_two, (A, B)),
    (axpy, (2.0, A, y)),
    (steps, (numbers(8),)),
    (steps, (numbers(9),)),
    (rows_and_columns, (A, x, y)),
    (transposed, (A,)),
    (shifted_in_place, (numbers(6),)),
    (through_a_view, (A,)),
    (swapped, (numbers(4), numbers(4, seed=2))),
    (reversed_in_place, (numbers(5), numbers(3))),
    (names_again, (numbers(4), numbers(4, seed=2))),
    (chosen, (A, y)),
    (reduced, (A,)),
    (centred, (np.array([[3.0, 4.0], [1.0, 0.0]]),)),
    (products, (A, y, x)),
    (rolled, (A, numbers(7))),
    (moved, (A, numbers(7))),
    (several_axes, (T,)),
    (of_numpy, (numbers(5), numbers(5, seed=2))),
    (with_rows, (A,)),
    (scalars_and_arrays, (A, x)),
    (with_a_helper, (numbers(7),)),
]


@pytest.mark.parametrize(
    ("kernel", "arguments"), CASES, ids=[f"{k.name}-{n}" for n, (k, _) in enumerate(CASES)]
)
def test_means_what_numpy_makes_of_it(kernel: cy.Kernel, arguments: tuple[Any, ...]) -> None:
    check(kernel, *arguments)


@cy.kernel
def heat(u, steps, c):
    for _t in range(steps):
        u[1:-1, 1:-1] += c * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
    return u


@cy.kernel
def heat_by_a_local(u, steps, c):
    for t in range(steps):
        lap = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += c * lap
    return u


@cy.kernel
def waves(u, v, steps):
    for _t in range(steps):
        v[1:-1] += laplacian(u)
        u += v
        u[0] = u[1]  # Neumann's boundary
        u[-1] = -u[-2]
    return u, v


@cy.kernel
def history(A, steps):
    U = cy.empty((steps + 1, *A.shape))
    U[0] = A
    for t in range(steps):
        U[t + 1] = U[t]
        U[t + 1, 1:-1] -= U[t, 2:] - U[t, :-2]
    return U


@cy.kernel
def red_black(u, f, steps):
    for _t in range(steps):
        u[1:-1:2] = 2 * (u[:-2:2] + u[2::2]) - f[1:-1:2]
        u[2:-1:2] = 2 * (u[1:-2:2] + u[3::2]) - f[2:-1:2]
    return u


@cy.kernel
def life(cells, steps):
    for _t in range(steps):
        around = cy.roll(cells, 1, 0) + cy.roll(cells, -1, 0)
        around = around + cy.roll(around + cells, 1, 1) + cy.roll(around + cells, -1, 1)
        cells[...] = cy.where(around == 3, 1, cy.where(around == 2, cells, 0))
    return cells


@cy.kernel
def gaussian_elimination(A):
    for k in range(A.shape[0] - 1):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= A[k + 1 :, k, None] * A[k, None, k + 1 :]
    return A


@cy.kernel
def outer_products(A, B):
    C = cy.zeros((A.shape[0], B.shape[1]))
    for k in range(A.shape[1]):
        C += A[:, k, None] * B[k]
    return C


@cy.kernel
def made_anew(x, steps):
    """Arrays declared in a loop are new, and filled, in each iteration."""
    for t in range(steps):
        d = cy.zeros_like(x)
        d[1:-1] = laplacian(x)
        d[t] += 1
        x += d
    return x


@cy.kernel
def rows_by_name(A):
    H = cy.empty((4, *A.shape))
    H[0] = A
    for t in range(3):
        around = H[t] - cy.shift(H[t], 1, axis=1)
        H[t + 1] = around + around[::-1] * 2
    return H, H[1, 0, 0]


@cy.kernel
def rebound(u, v, steps):
    """Names that get new arrays in each iteration, in loops in one another, and exchange them."""
    u_kept = v + 1
    for t in range(steps):
        u, v = v, u + cy.roll(v, 1)
        for s in range(2):
            u = u - u[::-1] * (2 * v[t + s] > 0)
    return u, v, u_kept


@cy.kernel
def power_iteration(A, x, steps):
    norm = cy.sum(x)
    for t in range(steps):
        x = A @ x - norm
        norm = cy.max(x)
    return x, norm


IN_TIME = [
    (rebound, (numbers(5), numbers(5, seed=2), 3)),
    (rebound, (numbers(3), numbers(3, seed=2), 0)),
    (power_iteration, (numbers(3, 3), numbers(3), 3)),
    (made_anew, (numbers(5), 3)),
    (rows_by_name, (numbers(3, 4),)),
    (heat, (numbers(5, 6), 3, 2.0)),
    (heat_by_a_local, (numbers(5, 6), 3, 2.0)),
    (waves, (numbers(7), numbers(7, seed=2), 3)),
    (history, (numbers(6), 3)),
    (red_black, (numbers(8), numbers(8, seed=2), 3)),
    (red_black, (numbers(9), numbers(9, seed=2), 2)),
    (life, (numbers(5, 6, dtype="bool").astype("int64"), 3)),
    (gaussian_elimination, (np.eye(5) * 4 + numbers(5, 5),)),
    (outer_products, (numbers(3, 4), numbers(4, 5))),
]


@pytest.mark.parametrize(
    ("kernel", "arguments"), IN_TIME, ids=[f"{k.name}-{n}" for n, (k, _) in enumerate(IN_TIME)]
)
def test_loops_around_statements(kernel: cy.Kernel, arguments: tuple[Any, ...]) -> None:
    check(kernel, *arguments)


DTYPES = ("bool", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128")


@cy.kernel
def mixed(a, b):
    return a + b, a * 2, b + 1.5, a == b, cy.where(a != 0, a, b), a * b + 1j


@pytest.mark.parametrize("second", DTYPES)
@pytest.mark.parametrize("first", DTYPES)
def test_dtypes_are_promoted_as_numpy_does(first: str, second: str) -> None:
    check(mixed, numbers(3, dtype=first), numbers(3, dtype=second, seed=2), backends=("local",))


@cy.kernel
def stored(a, x):
    a[...] = x
    a[0] = 2
    a += 1
    return a


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "complex64"])
def test_values_take_the_dtype_of_what_they_are_stored_in(dtype: str) -> None:
    check(stored, numbers(3, dtype=dtype), np.array([1.75, -2.5, 3.0]), backends=("local",))


@pytest.mark.parametrize("shape", [(0,), (1,), (2,), (3,)])
def test_arrays_with_hardly_an_element(shape: tuple[int, ...]) -> None:
    check(second_difference, numbers(*shape))
    check(axpy, 2.0, numbers(*shape), numbers(*shape, seed=2))


def test_indices_are_named_by_axis() -> None:
    found = str(sum_of_two.recurrences(A, B))
    assert "C[i, j] = A[i, j] + B[i, j]" in found
    found = str(transposed.recurrences(A))
    assert "result_2[i-1, j] = Σ_{0 <= k <= 3} (A[k, i] · A[k, j])" in found


def test_a_time_axis_is_named_by_its_loop_and_the_others_by_letters() -> None:
    found = str(history.recurrences(numbers(6), 3))
    assert "U[0, i] = A[i]" in found
    assert "U[t+1, i] = U[t, i] - (U[t, i+1] - U[t, i-1])" in found


def test_indices_along_the_same_data_have_one_name() -> None:
    @cy.kernel
    def kernel(A, h):
        for k in range(3):
            h = A @ (A.T @ h)
            mean = A.mean(axis=0)
            row = A[k, :] / A[k, k]
            A = A * h.sum() - mean / cy.sum(A * A, axis=0) * cy.sum(A, axis=0) - row
        return A, h

    A = numbers(4, 4)
    found = str(kernel.recurrences(A, numbers(4)))
    for text in (
        "[k, j] = Σ_{0 <= i <= 3} (A[i, j] · h[i])",
        "mean[k, j] = Σ_{0 <= i <= 3} A[i, j] / 4",
        "row[k, j] = A[0, j] / A[0, 0]",
        "Σ_{0 <= i <= 3} (A[i, j] · A[i, j])",
    ):
        assert text in found, (text, found)
    assert "j_2" not in found  # the sum over j runs outside of the loop over i, as that over i in it


def test_letters_of_loops_are_not_used_again() -> None:
    @cy.kernel
    def kernel(A):
        for i in range(A.shape[0]):
            A[i] += A[i, ::-1]
        return A

    assert "A_out[i, j]" in str(kernel.recurrences(A))


def test_sums_of_what_lies_beside_loops_run_along_its_axes() -> None:
    """So that the Gram-Schmidt process has all of a grid where its points are, in and out of its loops."""

    @cy.kernel
    def gram_schmidt(V):
        V = V.copy()
        for j in range(V.shape[0]):
            for i in range(j):
                V[j] -= cy.sum(V[i] * V[j]) * V[i]
            V[j] /= cy.sqrt(cy.sum(V[j] * V[j]))
        return V

    vectors = numbers(3, 4, 5)
    folds = set(re.findall("Σ_{0 <= ([a-z_0-9]+) <= (.)}", str(gram_schmidt.recurrences(vectors))))
    assert folds == {("k", "3"), ("l", "4")}
    program = gram_schmidt.compile(vectors, schedule=cy.Schedule().space("k", "l"))
    np.testing.assert_allclose(
        cy.run(program, backend="sim").output, gram_schmidt.reference(vectors), atol=1e-12
    )


def test_each_total_of_a_statement_is_computed_by_itself() -> None:
    """Reductions of one equation have one order of loops, in which one waits for the other."""

    @cy.kernel
    def quotient(x, y):
        return x * (cy.sum(x * y) / cy.sum(y * y))

    @cy.kernel
    def quotient_by_names(x, y):
        products = cy.sum(x * y)
        squares = cy.sum(y * y)
        return x * (products / squares)

    x, y = numbers(6, 5), numbers(6, 5) + 1
    schedule = cy.Schedule().space("i", "j")
    one, other = (kernel.compile(x, y, schedule=schedule) for kernel in (quotient, quotient_by_names))
    results = [cy.run(program, backend="sim") for program in (one, other)]
    assert results[0].cycles == results[1].cycles
    np.testing.assert_allclose(results[0].output, quotient.reference(x, y), rtol=1e-14)


def test_a_new_array_lies_where_its_operands_do() -> None:
    """So that the Laplacian of a point is computed where the point is."""
    found = str(heat_by_a_local.recurrences(numbers(5, 6), 3, 2.0))
    line = heat_by_a_local.__wrapped__.__code__.co_firstlineno + 4
    assert "lap[t, i-1, j-1] = " in found
    assert f"u@{line}[t, i-1, j-1] = u[i, j] + (2 · lap[t, i-1, j-1])" in found


def test_what_a_name_holds_is_computed_once() -> None:
    assert "around = il.array(H[t] - " in rows_by_name.il()
    assert str(rows_by_name.recurrences(A)).count("around") > 3


def test_no_temporary_where_nothing_overlaps() -> None:
    names = [
        line.split()[0]
        for line in str(red_black.recurrences(numbers(8), numbers(8), 2)).splitlines()
        if " : local" in line
    ]
    line = red_black.__wrapped__.__code__.co_firstlineno
    assert names == [f"u@{line + 3}", f"u@{line + 4}"]


def test_the_intermediate_language_keeps_the_statements(tmp_path: Path) -> None:
    text = heat_by_a_local.il()
    assert "lap = il.array(u[:-2, 1:-1] + " in text
    assert "u[1:-1, 1:-1] += il.term(c * lap)" in text
    path = tmp_path / "by_hand.py"
    path.write_text(text)
    by_hand = runpy.run_path(str(path))["heat_by_a_local"]
    u = numbers(5, 6)
    np.testing.assert_array_equal(by_hand(u, 3, 2.0)["u_out"], heat_by_a_local(u, 3, 2.0))
