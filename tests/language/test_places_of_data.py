"""Places of data compared with an input of all places, against NumPy (MA-074, MA-076)."""

from __future__ import annotations

import numpy as np
import pytest

import cyclotron as cy

DTYPES = ("float32", "float64", "int64", "complex128")


@cy.kernel
def take(x, indices, places):
    y = cy.sum(cy.where(indices[:, None] == places, x, 0), axis=1)
    return y


@cy.kernel
def take_along_axis(x, indices, places):
    y = cy.sum(cy.where(indices[:, :, None] == places, x[:, None, :], 0), axis=2)
    return y


@cy.kernel
def put_along_axis(x, indices, values, places):
    x[...] = cy.where(indices == places, values, x)
    return x


@cy.kernel
def up_to(target, source, stop, places):
    """MACH's Listing 13: each PE of a grid assigns as many elements as its own number says."""
    target[...] = cy.where(places < stop[:, :, None], source, target)
    return target


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "n", "taken"), [(1, 1, 1), (3, 4, 6), (4, 2, 1)])
def test_taken_and_put_by_place(rows: int, n: int, taken: int, dtype: str) -> None:
    rng = np.random.default_rng(n)
    places = np.arange(n)
    x = rng.standard_normal((rows, n)).astype(dtype)
    indices = rng.integers(0, n, (rows, taken))
    found = take_along_axis(x, indices, places)
    np.testing.assert_array_equal(found, np.take_along_axis(x, indices, axis=1))
    assert found.dtype == dtype
    np.testing.assert_array_equal(take(x[0], indices[0], places), np.take(x[0], indices[0]))
    values = rng.standard_normal((rows, 1)).astype(dtype)
    expected = x.copy()
    np.put_along_axis(expected, indices[:, :1], values, axis=1)
    np.testing.assert_array_equal(put_along_axis(x, indices[:, :1], values, places), expected)


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 5), (1, 4, 2)])
def test_each_pe_assigns_up_to_a_number_of_its_own(shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(sum(shape))
    target, source = rng.random(shape), rng.random(shape)
    stop = rng.integers(0, shape[2] + 1, shape[:2])
    expected = target.copy()
    for i, j in np.ndindex(*shape[:2]):
        expected[i, j, : stop[i, j]] = source[i, j, : stop[i, j]]
    program = up_to.compile(target, source, stop, np.arange(shape[2]), schedule=cy.Schedule().space("i", "j"))
    for backend in ("numpy", "local", "sim"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, expected)


def rows_exchanged(u):
    u[[1, 0]] = u
    return u


def columns_rotated(u):
    u[:, [2, 0, 1]] = u
    return u


def within_a_row(u):
    u[0][[1, 0]] = u[0, :2]
    return u


def of_another_name(u):
    v = u
    u[[1, 1]] = v
    u[[0, 1]] = u[0]
    return v


@pytest.mark.parametrize("function", [rows_exchanged, columns_rotated, within_a_row, of_another_name])
def test_a_part_of_an_array_is_assigned_to_its_own_places(function):
    u = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(cy.kernel(function)(u), function(u.copy()))


def row_changed(A, n):
    r = A[n[0]]
    r += 1
    return A


def column_changed(A, n):
    x = A[:, n[0]]
    x += 1
    return A


def rows_in_a_loop(A, n):
    for i in n:
        r = A[i]
        r += 1
    return A


def another_row_changed(A, n):
    x = A[n[0]]
    A[1, 1] = 50
    return x + 0


@pytest.mark.parametrize("function", [row_changed, column_changed, rows_in_a_loop, another_row_changed])
def test_a_row_at_a_place_of_data_is_a_view(function):
    A, n = np.arange(9.0).reshape(3, 3), np.array([1, 0, 2])
    expected = function(A.copy(), n)
    np.testing.assert_array_equal(cy.kernel(function).reference(A.copy(), n), expected)
    with pytest.raises(cy.TraceError, match=r"CYC107|CYC111"):
        cy.kernel(function)(A, n)


def test_rows_at_places_have_the_shape_of_what_they_get():
    @cy.kernel
    def too_many(A):
        A[[1, 0]] = A * 1
        return A

    with pytest.raises(cy.ShapeError, match="CYC122"):
        too_many(np.arange(9.0).reshape(3, 3))


def test_places_of_the_host_are_integers():
    @cy.kernel
    def fractions(u):
        u[[0.0, 1.5]] = 1
        return u

    with pytest.raises(cy.ShapeError, match="CYC120"):
        fractions(np.arange(3.0))
