"""Array programs for the tests of whole compilations: stencils in time, as one writes them in NumPy."""

import cyclotron as cy


@cy.kernel
def heat(u, steps):
    for t in range(steps):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] += 2 * (around - 4 * u[1:-1, 1:-1])
    return u


def relaxed(u, f, i, j):
    n, m = u.shape
    above_and_below = u[i - 1 : n - 2 : 2, j : m - 1 : 2] + u[i + 1 : n : 2, j : m - 1 : 2]
    beside = u[i : n - 1 : 2, j - 1 : m - 2 : 2] + u[i : n - 1 : 2, j + 1 : m : 2]
    return above_and_below + beside - f[i : n - 1 : 2, j : m - 1 : 2]


@cy.kernel
def red_black(u, f, sweeps):
    """Gauss and Seidel's relaxation of points with even i + j, then of the others."""
    for t in range(sweeps):
        u[1:-1:2, 1:-1:2] = relaxed(u, f, 1, 1)
        u[2:-1:2, 2:-1:2] = relaxed(u, f, 2, 2)
        u[1:-1:2, 2:-1:2] = relaxed(u, f, 1, 2)
        u[2:-1:2, 1:-1:2] = relaxed(u, f, 2, 1)
    return u
