"""Stencils in time: the border keeps its values."""

import cyclotron as cy
from corpus.entry import SPACE, Entry, integers
from corpus.stencil_states import BEHIND, NINE, cross, half_steps, states, sweep, weighted


@cy.kernel
def jacobi_1d(A, steps):
    n = A.shape[0]
    U = cy.empty((steps + 1, n))
    for t in range(steps + 1):
        for i in range(n):
            if t == 0 or i == 0 or i == n - 1:
                U[t, i] = A[i]
            else:
                U[t, i] = (U[t - 1, i - 1] + U[t - 1, i] + U[t - 1, i + 1]) / 2
    return U


@cy.kernel
def heat_1d(A, steps, c):
    """Explicit Euler, the weight of the neighbours is c."""
    n = A.shape[0]
    U = cy.empty((steps + 1, n))
    for t in range(steps + 1):
        for i in range(n):
            if t == 0 or i == 0 or i == n - 1:
                U[t, i] = A[i]
            else:
                U[t, i] = U[t - 1, i] + c * (U[t - 1, i - 1] - 2 * U[t - 1, i] + U[t - 1, i + 1])
    return U


@cy.kernel
def gauss_seidel_1d(A, steps):
    """The left neighbour is of this sweep already."""
    n = A.shape[0]
    U = cy.empty((steps + 1, n))
    for t in range(steps + 1):
        for i in range(n):
            if t == 0 or i == 0 or i == n - 1:
                U[t, i] = A[i]
            else:
                U[t, i] = (U[t, i - 1] + U[t - 1, i] + U[t - 1, i + 1]) / 2
    return U


@cy.kernel
def jacobi_2d(A, steps):
    """Five points."""
    n, m = A.shape
    U = cy.empty((steps + 1, n, m))
    for t in range(steps + 1):
        for i in range(n):
            for j in range(m):
                if t == 0 or i == 0 or i == n - 1 or j == 0 or j == m - 1:
                    U[t, i, j] = A[i, j]
                else:
                    across = U[t - 1, i - 1, j] + U[t - 1, i + 1, j]
                    along = U[t - 1, i, j - 1] + U[t - 1, i, j + 1]
                    U[t, i, j] = (across + along + U[t - 1, i, j]) / 2
    return U


@cy.kernel
def nine_points(A, steps):
    """The corners count as well."""
    n, m = A.shape
    U = cy.empty((steps + 1, n, m))
    for t in range(steps + 1):
        for i in range(n):
            for j in range(m):
                if t == 0 or i == 0 or i == n - 1 or j == 0 or j == m - 1:
                    U[t, i, j] = A[i, j]
                else:
                    upper = U[t - 1, i - 1, j - 1] + 2 * U[t - 1, i - 1, j] + U[t - 1, i - 1, j + 1]
                    middle = U[t - 1, i, j - 1] + 2 * U[t - 1, i, j] + U[t - 1, i, j + 1]
                    lower = U[t - 1, i + 1, j - 1] + 2 * U[t - 1, i + 1, j] + U[t - 1, i + 1, j + 1]
                    U[t, i, j] = (upper + 2 * middle + lower) / 4
    return U


@cy.kernel
def nine_points_by_sums(A, steps):
    """The same stencil in half steps, so that values move along one axis at a time; the states are U[2 t]."""
    n, m = A.shape
    U = cy.empty((2 * steps + 1, n, m))
    for t in range(2 * steps + 1):
        for i in range(n):
            for j in range(m):
                if t == 0 or j == 0 or j == m - 1:
                    U[t, i, j] = A[i, j]
                elif t % 2 == 1:
                    U[t, i, j] = U[t - 1, i, j - 1] + 2 * U[t - 1, i, j] + U[t - 1, i, j + 1]
                elif i == 0 or i == n - 1:
                    U[t, i, j] = A[i, j]
                else:
                    U[t, i, j] = (U[t - 1, i - 1, j] + 2 * U[t - 1, i, j] + U[t - 1, i + 1, j]) / 4
    return U


@cy.kernel
def nine_points_in_two_loops(A, steps):
    """The same with two loops in a step, the second of which needs all that the first has made."""
    n, m = A.shape
    U = cy.empty((steps + 1, n, m))
    H = cy.zeros((steps + 1, n, m))
    for i in range(n):
        for j in range(m):
            U[0, i, j] = A[i, j]
    for t in range(1, steps + 1):
        for i in range(n):
            for j in range(1, m - 1):
                H[t, i, j] = U[t - 1, i, j - 1] + 2 * U[t - 1, i, j] + U[t - 1, i, j + 1]
        for i in range(n):
            for j in range(m):
                if i == 0 or i == n - 1 or j == 0 or j == m - 1:
                    U[t, i, j] = A[i, j]
                else:
                    U[t, i, j] = (H[t, i - 1, j] + 2 * H[t, i, j] + H[t, i + 1, j]) / 4
    return U


@cy.kernel
def jacobi_forwards(A, steps):
    """The state that step t makes is called t + 1, and the first state has a loop of its own."""
    n = A.shape[0]
    U = cy.empty((steps + 1, n))
    for i in range(n):
        U[0, i] = A[i]
    for t in range(steps):
        for i in range(n):
            if i == 0 or i == n - 1:
                U[t + 1, i] = A[i]
            else:
                U[t + 1, i] = (U[t, i - 1] + U[t, i] + U[t, i + 1]) / 2
    return U


@cy.kernel
def gauss_seidel_2d(A, steps):
    """Above and to the left are of this sweep already."""
    n, m = A.shape
    U = cy.empty((steps + 1, n, m))
    for t in range(steps + 1):
        for i in range(n):
            for j in range(m):
                if t == 0 or i == 0 or i == n - 1 or j == 0 or j == m - 1:
                    U[t, i, j] = A[i, j]
                else:
                    new = U[t, i - 1, j] + U[t, i, j - 1]
                    U[t, i, j] = (new + U[t - 1, i, j] + U[t - 1, i + 1, j] + U[t - 1, i, j + 1]) / 2
    return U


@cy.kernel
def heat_3d(A, steps, c):
    """Seven points."""
    n, m, l = A.shape
    U = cy.empty((steps + 1, n, m, l))
    for t in range(steps + 1):
        for i in range(n):
            for j in range(m):
                for k in range(l):
                    if t == 0 or i == 0 or i == n - 1 or j == 0 or j == m - 1 or k == 0 or k == l - 1:
                        U[t, i, j, k] = A[i, j, k]
                    else:
                        flow = U[t - 1, i - 1, j, k] + U[t - 1, i + 1, j, k] - 6 * U[t - 1, i, j, k]
                        flow = flow + U[t - 1, i, j - 1, k] + U[t - 1, i, j + 1, k]
                        flow = flow + U[t - 1, i, j, k - 1] + U[t - 1, i, j, k + 1]
                        U[t, i, j, k] = U[t - 1, i, j, k] + c * flow
    return U


def arguments(*more):
    """The first state, whose halves and quarters stay exact, the steps, and weights."""
    return lambda rng, steps, *shape: (integers(rng, *shape) * 1024, steps, *more)


LINE = {
    "space": SPACE("i"),
    "time in space": SPACE("t"),
    "both": SPACE("t", "i"),
}

SHAPES_1D = ((0, 3), (1, 1), (3, 2), (4, 6))

SHAPES_2D = ((1, 1, 1), (2, 2, 4), (3, 4, 5))

GRID = {"grid": SPACE("i", "j"), "rows": SPACE("i")}


ENTRIES = {
    "jacobi-1d": Entry(
        jacobi_1d,
        arguments(),
        SHAPES_1D,
        lambda A, steps: states(A, steps, weighted(cross(1, 0.5, 0.5))),
        LINE,
    ),
    "heat-1d": Entry(
        heat_1d,
        arguments(0.25),
        SHAPES_1D,
        lambda A, steps, c: states(A, steps, weighted(cross(1, 1 - 2 * c, c))),
        LINE,
    ),
    "gauss-seidel-1d": Entry(
        gauss_seidel_1d,
        arguments(),
        SHAPES_1D,
        lambda A, steps: states(A, steps, sweep(cross(1, 0.5, 0.5))),
        LINE,
        tolerance=8,
    ),
    "jacobi-2d": Entry(
        jacobi_2d,
        arguments(),
        SHAPES_2D,
        lambda A, steps: states(A, steps, weighted(cross(2, 0.5, 0.5))),
        {**GRID, "time in space": SPACE("t", "i")},
    ),
    "nine-points": Entry(
        nine_points,
        arguments(),
        SHAPES_2D,
        lambda A, steps: states(A, steps, weighted(NINE)),
        {"rows": SPACE("i"), "grid": SPACE("i", "j")},
    ),
    "nine-points-by-sums": Entry(
        nine_points_by_sums,
        arguments(),
        SHAPES_2D,
        half_steps,
        GRID,
    ),
    "nine-points-in-two-loops": Entry(
        nine_points_in_two_loops,
        arguments(),
        SHAPES_2D,
        lambda A, steps: states(A, steps, weighted(NINE)),
        GRID,
    ),
    "jacobi-forwards": Entry(
        jacobi_forwards,
        arguments(),
        SHAPES_1D,
        lambda A, steps: states(A, steps, weighted(cross(1, 0.5, 0.5))),
        {"space": SPACE("i"), "time in space": SPACE("t")},
    ),
    "gauss-seidel-2d": Entry(
        gauss_seidel_2d,
        arguments(),
        SHAPES_2D,
        lambda A, steps: states(A, steps, sweep(BEHIND)),
        GRID,
        tolerance=8,
    ),
    "heat-3d": Entry(
        heat_3d,
        arguments(0.125),
        ((1, 1, 2, 3), (2, 4, 3, 4)),
        lambda A, steps, c: states(A, steps, weighted(cross(3, 1 - 6 * c, c))),
        {"grid": SPACE("i", "j"), "cube": SPACE("i", "j", "k")},
    ),
}
