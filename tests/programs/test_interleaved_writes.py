"""Elements written one stride apart and read at every index: values and dtypes of NumPy, on every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cyclotron as cy

BACKENDS = ("numpy", "sim", "local")


@cy.kernel
def halves_of_an_argument(u, v):
    u[::2] = v
    y = u + 1
    return y


@cy.kernel
def two_halves(u, v):
    y = cy.zeros_like(u)
    y[::2] = v
    y[1::2] = v + 1
    return y


@cy.kernel
def two_halves_of_an_argument(u, v):
    u[::2] = v
    u[1::2] = v * v
    return u


@cy.kernel
def two_halves_read_together(u, v):
    y = cy.empty_like(u)
    y[::2] = v
    y[1::2] = v + v
    z = y * u
    return z


@cy.kernel
def neighbours_of_other_halves(u, v):
    u[1::2] = v
    y = u[1:] - u[:-1]
    z = y[1:] * y[:-1]
    return z


@cy.kernel
def backwards(u, v):
    u[::-2] = v
    y = u[::-1] + u
    return y


@cy.kernel
def one_half_after_all(u, v):
    w = u * u
    w[::2] = v
    w[1::2] += v
    y = w - u
    return y


@cy.kernel
def counted_in_loops(u, v):
    y = cy.zeros_like(u)
    for i in range(v.shape[0]):
        y[2 * i] = v[i]
    for i in range(v.shape[0]):
        y[2 * i + 1] = v[i] + y[2 * i]
    z = cy.empty_like(u)
    for i in range(u.shape[0]):
        z[i] = y[i] * u[i]
    return z


@cy.kernel
def accumulated_by_halves(u, v):
    y = cy.zeros_like(u)
    for i in range(v.shape[0]):
        y[2 * i] += v[i]
    z = cy.empty_like(u)
    for i in range(u.shape[0]):
        z[i] = y[i] - u[i]
    return z


@cy.kernel
def running_sum_of_halves(u, v):
    y = cy.empty_like(u)
    y[::2] = v
    y[1::2] = v + 1
    z = cy.empty_like(u)
    z[0] = y[0]
    for i in range(1, u.shape[0]):
        z[i] = z[i - 1] + y[i]
    return z


@cy.kernel
def quarters_of_halves(u, v):
    y = cy.empty_like(u)
    y[::2] = v
    y[1::2] = v + 1
    z = y * 1
    z[::4] = 0
    w = z + y
    return w


@cy.kernel
def columns(u, v):
    A = cy.zeros((3, u.shape[0]), dtype=u.dtype)
    A[:, ::2] = v
    A[1:, 1::2] = u[1::2]
    B = A + u
    return B


@cy.kernel
def halves_of_a_new_row(u, v):
    w = cy.outer(u, v)
    u[::2] = w[0]
    y = u + 1
    return y


@cy.kernel
def largest_of_all(u, v):
    u[1::2] = v
    y = u * cy.max(u)
    return y


@cy.kernel
def all_positive(u, v):
    u[::2] = v * v + 1
    z = cy.all(u > 0) + u
    return z


@cy.kernel
def largest_of_rows(u, v):
    A = cy.zeros((3, u.shape[0]), dtype=u.dtype)
    A[:, ::2] = v
    A[1, 1::2] = v
    y = cy.max(A, axis=1)
    return y


@cy.kernel
def outer_of_halves(u, v):
    for _ in range(3):
        u[::2] = u[u.shape[0] // 2 :] + v
        u[1::2] = u[-1] + u[0]
    return cy.outer(u, u) + u


HALVES = [
    halves_of_an_argument,
    two_halves,
    two_halves_of_an_argument,
    two_halves_read_together,
    neighbours_of_other_halves,
    backwards,
    one_half_after_all,
    counted_in_loops,
    accumulated_by_halves,
    running_sum_of_halves,
    quarters_of_halves,
    columns,
    halves_of_a_new_row,
    largest_of_all,
    all_positive,
    largest_of_rows,
    outer_of_halves,
]


def by_numpy(kernel: cy.Kernel, *args: Any) -> Any:
    """The kernel's body with NumPy for `cy`."""
    function = kernel.__wrapped__
    return type(function)(function.__code__, {"cy": np}, function.__name__)(*args)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("size", [2, 4, 10])
@pytest.mark.parametrize("kernel", HALVES, ids=lambda kernel: kernel.name)
def test_interleaved_writes(kernel: cy.Kernel, size: int, dtype: str) -> None:
    rng = np.random.default_rng(size)
    u, v = (rng.integers(-9, 9, count).astype(dtype) for count in (size, size // 2))
    expected = by_numpy(kernel, u.copy(), v.copy())
    program = kernel.compile(u.copy(), v.copy())
    results = [next(iter(cy.run(program, backend=backend).outputs.values())) for backend in BACKENDS]
    for found in (kernel.reference(u.copy(), v.copy()), *results):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@cy.kernel
def thirds(u, v, w):
    u[::3] = v
    u[1::3] = w
    y = u[1:] + u[:-1]
    return y


def test_writes_of_thirds() -> None:
    u, v, w = np.arange(9.0), np.array([5.0, 6, 7]), np.array([-1.0, -2, -3])
    expected = by_numpy(thirds, u.copy(), v, w)
    for backend in BACKENDS:
        program = thirds.compile(u.copy(), v, w)
        np.testing.assert_array_equal(cy.run(program, backend=backend).outputs["y"], expected)


@cy.kernel
def outer_of_halves_and_all(u, v):
    for _ in range(3):
        u[::2] = u[u.shape[0] // 2 :] + v
        u[1::2] = u[-1] + u[0]
    return cy.einsum("i,j->ij", u, u) + u + u[0]


def test_defaults_are_wide_where_values_come_from_far_in_many_ways() -> None:
    u, v = np.arange(1.0, 11), np.arange(1.0, 6)
    expected = by_numpy(outer_of_halves_and_all, u.copy(), v)
    program = outer_of_halves_and_all.compile(u, v)
    assert max(program.grid) == 10
    for backend in BACKENDS:
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, expected)


@cy.kernel
def halves_of_the_last_two(u):
    for _ in range(2):
        u[::2] = u[2:4]
        u[1::2] = u[3] + u[0]
    return cy.einsum("i,j->ij", u, u) + u + u[0]


@pytest.mark.parametrize("schedule", [None, cy.Schedule()], ids=["default", "one PE"])
def test_rows_with_other_halves(schedule: cy.Schedule | None) -> None:
    """Of loops over even rows and odd ones isl would run some steps out of order."""
    u = np.arange(1.0, 5.0)
    expected = by_numpy(halves_of_the_last_two, u.copy())
    program = halves_of_the_last_two.compile(u, schedule=schedule)
    for backend in BACKENDS:
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, expected)


@cy.kernel
def tiles_between_zeros(x):
    X = cy.zeros(16, tile=(2,))
    Y = cy.zeros(16, tile=(2,))
    for i in range(len(x)):
        X[2 * i] = x[i]
    for i in range(8):
        Y[i] = X[i] + X[i]
    return Y


def test_tiles_between_zeros() -> None:
    x = cy.blocked(np.arange(8.0), (2,))
    expected = tiles_between_zeros.reference(x)
    np.testing.assert_array_equal(expected[:8], [0, 2, 0, 0, 4, 6, 0, 0])
    for backend in BACKENDS:
        np.testing.assert_array_equal(
            cy.run(tiles_between_zeros.compile(x), backend=backend).output, expected
        )


@cy.kernel
def truth_of_all(u):
    for _ in range(3):
        u[::2] = all(u[k] <= 0.5 for k in range(3))
    return u


@pytest.mark.parametrize("size", range(3, 8))
def test_a_total_written_in_steps(size):
    """Of the PEs' classes isl 0.28 does not find the first point at once."""
    u = np.linspace(-1, 0.7, size)
    expected = truth_of_all.reference(u)
    program = truth_of_all.compile(u)
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, expected)


@cy.kernel
def sums_of_chosen_places(u):
    if u[2, 1] >= -1:
        u[:-1:2, 0:-1:2] = u[1::-2, 1::-2]
    return u if cy.sum(u) >= 2 else u * 2


def test_one_value_of_some_rows_is_not_moved_among_others():
    """The checker found sums of elements before these had come."""
    u = (np.arange(20) % 5 - 2).reshape(5, 4)
    program = sums_of_chosen_places.compile(u, schedule=cy.Schedule().space("i", "j"))
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(
            cy.run(program, backend=backend).output, sums_of_chosen_places.reference(u), strict=True
        )
