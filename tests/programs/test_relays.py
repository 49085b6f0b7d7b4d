"""Values that travel several hops: the PEs between pass them on."""

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def wide_stencil(A, steps):
    n = A.shape[0]
    U = cy.empty((steps + 1, n))
    for x in range(n):
        U[0, x] = A[x]
    for t in range(1, steps + 1):
        for x in range(n):
            if x < 2 or x >= n - 2:
                U[t, x] = U[t - 1, x]
            else:
                U[t, x] = U[t - 1, x - 2] + U[t - 1, x + 2] + U[t - 1, x - 1] + U[t - 1, x + 1]
    return U


@cy.kernel
def nine_points(A, steps):
    n, m = A.shape
    U = cy.empty((steps + 1, n, m))
    for x in range(n):
        for y in range(m):
            U[0, x, y] = A[x, y]
    for t in range(1, steps + 1):
        for x in range(n):
            for y in range(m):
                if x < 1 or x >= n - 1 or y < 1 or y >= m - 1:
                    U[t, x, y] = U[t - 1, x, y]
                else:
                    corners = U[t - 1, x - 1, y - 1] + U[t - 1, x - 1, y + 1]
                    others = U[t - 1, x + 1, y - 1] + U[t - 1, x + 1, y + 1]
                    U[t, x, y] = corners + others + U[t - 1, x, y] + U[t - 1, x, y + 1]
    return U


@cy.kernel
def common_subsequence(A, B):
    """The diagonal neighbour's value, where the borders are zeros."""
    n, m = A.shape[0], B.shape[0]
    H = cy.zeros((n + 1, m + 1))
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            longer = H[i - 1, j - 1] + A[i - 1] * B[j - 1]
            H[i, j] = cy.maximum(cy.maximum(longer, H[i - 1, j]), H[i, j - 1])
    return H


def run_equals_reference(kernel, *arguments, schedule):
    program = kernel.compile(*arguments, schedule=schedule)
    expected = kernel.reference(*arguments)
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, expected)
    return program


@pytest.mark.parametrize("n", [1, 4, 5, 9])
@pytest.mark.parametrize("schedule", [None, cy.Schedule(), cy.Schedule().space("x")], ids=str)
def test_two_hops_both_ways_in_one_step(n, schedule):
    A = np.random.default_rng(n).integers(0, 3, n).astype(float)
    run_equals_reference(wide_stencil, A, 3, schedule=schedule)


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (5, 4)], ids=str)
@pytest.mark.parametrize("space", [("x",), ("y",), ("x", "y")], ids=str)
def test_corners_of_a_stencil(shape, space):
    A = np.random.default_rng(0).integers(0, 3, shape).astype(float)
    run_equals_reference(nine_points, A, 2, schedule=cy.Schedule().space(*space))


@pytest.mark.parametrize("space", [(), ("i",), ("j",), ("i", "j")], ids=str)
def test_the_diagonal_neighbour(space):
    rng = np.random.default_rng(1)
    A, B = rng.integers(0, 2, 6).astype(float), rng.integers(0, 2, 7).astype(float)
    run_equals_reference(common_subsequence, A, B, schedule=cy.Schedule().space(*space))


def test_the_order_of_steps_is_told():
    program = wide_stencil.compile(np.ones(9), 3, schedule=cy.Schedule().space("x"))
    assert any("round by round" in proof for proof in program.verify())


@cy.kernel
def two_rows_before(D, E, n, m):
    """A value is used two rows on, in its own step, and along the row in later steps."""
    Y = cy.empty((m, n))
    for i in range(n):
        for j in range(m - 1, -1, -1):
            if j + 2 < m:
                Y[j, i] = sum(Y[j, k] * D[i, n - 1 - k] for k in range(i)) + cy.maximum(
                    Y[j + 2, i], E[j - i + n]
                )
            else:
                Y[j, i] = E[j - i + n]
    return Y


@pytest.mark.parametrize("schedule", [None, cy.Schedule().space("i")], ids=str)
@pytest.mark.parametrize("size", [(2, 5), (3, 4), (1, 1)], ids=str)
def test_a_value_used_in_its_own_step(size, schedule):
    rng = np.random.default_rng(4)
    n, m = size
    run_equals_reference(two_rows_before, rng.random((n, n)), rng.random(n + m), n, m, schedule=schedule)


@cy.kernel
def column_by_column(u, w, steps):
    """A diagonal neighbour's next value in the column, of PEs that work one after the other."""
    for t in range(steps):
        u[1:-1, 1:-1, 1:-1] = w[:-2, :-2, :-2] + u[1:-1, 1:-1, 1:-1]
        w[1:-1, 1:-1, 1:-1] = 3 * u[:-2, :-2, 2:] - w[1:-1, 1:-1, 2:]
    return u, w


@cy.kernel
def twice_in_place(u, steps):
    for t in range(steps):
        u[1:-1, 1:-1] = u[1:-1, 1:-1] * 2
        u[1:-1, 1:-1] = u[:-2, 2:] + u[1:-1, 1:-1]
    return u


def test_values_needed_in_an_earlier_step():
    """The PEs between pass them on in the user's step."""
    u, v = np.arange(180.0).reshape(5, 6, 6), np.arange(99.0).reshape(9, 11)
    grid = cy.Schedule().space("i", "j")
    program = column_by_column.compile(u, u + 1, 3, schedule=grid.time("t", "k"))
    for backend in ("sim", "local"):
        outputs = cy.run(program, backend=backend).outputs.values()
        for found, right in zip(outputs, column_by_column.reference(u, u + 1, 3), strict=True):
            np.testing.assert_array_equal(found, right)
    for i, j in ((2, 2), (3, 4), (2, None)):
        schedule = grid.time("t").fold(i=cy.block(i))
        run_equals_reference(twice_in_place, v, 3, schedule=schedule.fold(j=cy.block(j)) if j else schedule)


@cy.kernel
def round_the_corner(u, steps, down, along):
    for t in range(steps):
        u = u + 2 * cy.roll(u, (down, along), (0, 1))
    return u


@pytest.mark.parametrize("shape", [(3, 12), (12, 3), (1, 20), (11, 13)], ids=str)
@pytest.mark.parametrize("by", [(1, 1), (1, -1), (-1, -1)], ids=str)
def test_diagonals_come_back_over_the_whole_grid(shape, by):
    """However far the way back is along one axis; along the other it is a hop."""
    u = np.random.default_rng(0).integers(-3, 4, shape).astype(float)
    schedule = cy.Schedule().space("i", "j").time("t")
    run_equals_reference(round_the_corner, u, 3, *by, schedule=schedule)
