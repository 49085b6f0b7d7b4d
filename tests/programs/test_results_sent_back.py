"""Values made at one PE from what all have, and used by all in the next step: norms, convergence, CG."""

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def power_steps(x0, b, T):
    """Each step divides by the largest element of the one before."""
    n = x0.shape[0]
    u, r, out = cy.empty((T + 1, n)), cy.empty((T + 1,)), cy.empty_like(x0)
    r[0] = 1.0
    for i in range(n):
        u[0, i] = x0[i]
    for t in range(T):
        for i in range(n):
            u[t + 1, i] = u[t, i] / r[t] + b[i]
        r[t + 1] = max(cy.abs(u[t + 1, i]) for i in range(n))
    for i in range(n):
        out[i] = u[T, i]
    return out


@cy.kernel
def until_converged(x0, b, tol, T):
    """Jacobi's method that stands still once a step changes less than tol."""
    n = x0.shape[0]
    u, out = cy.empty((T + 1, n)), cy.empty_like(x0)
    r, done = cy.empty((T,)), cy.empty((T + 1,), dtype=bool)
    done[0] = tol[0] < 0
    for i in range(n):
        u[0, i] = x0[i]
    for t in range(T):
        for i in range(n):
            if i == 0 or i == n - 1:
                u[t + 1, i] = u[t, i]
            else:
                u[t + 1, i] = cy.where(done[t], u[t, i], 0.5 * (u[t, i - 1] + u[t, i + 1] + b[i]))
        r[t] = max(cy.abs(u[t + 1, i] - u[t, i]) for i in range(n))
        done[t + 1] = cy.logical_or(done[t], r[t] < tol[0])
    for i in range(n):
        out[i] = u[T, i]
    return out, done


@cy.kernel
def conjugate_gradient(b, tol, T):
    """Solve Poisson's equation on a grid with zeros round it; stand still once it has converged."""
    n, m = b.shape
    x, r, p, q = (cy.empty((T + 1, n, m)) for _ in range(4))
    rho, pq, done = cy.empty((T + 1,)), cy.empty((T,)), cy.empty((T + 1,), dtype=bool)
    out = cy.empty((n, m))
    for i in range(n):
        for j in range(m):
            x[0, i, j] = 0.0
            r[0, i, j] = b[i, j]
            p[0, i, j] = b[i, j]
    rho[0] = sum(sum(b[i, j] * b[i, j] for j in range(m)) for i in range(n))
    done[0] = rho[0] < tol[0]
    for t in range(T):
        for i in range(n):
            for j in range(m):
                up = p[t, i - 1, j] if i > 0 else 0.0
                down = p[t, i + 1, j] if i < n - 1 else 0.0
                left = p[t, i, j - 1] if j > 0 else 0.0
                right = p[t, i, j + 1] if j < m - 1 else 0.0
                q[t, i, j] = 4.0 * p[t, i, j] - up - down - left - right
        pq[t] = sum(sum(p[t, i, j] * q[t, i, j] for j in range(m)) for i in range(n))
        for i in range(n):
            for j in range(m):
                alpha = cy.where(done[t], 0.0, rho[t] / pq[t])
                x[t + 1, i, j] = x[t, i, j] + alpha * p[t, i, j]
                r[t + 1, i, j] = r[t, i, j] - alpha * q[t, i, j]
        rho[t + 1] = sum(sum(r[t + 1, i, j] * r[t + 1, i, j] for j in range(m)) for i in range(n))
        done[t + 1] = cy.logical_or(done[t], rho[t + 1] < tol[0])
        for i in range(n):
            for j in range(m):
                p[t + 1, i, j] = r[t + 1, i, j] + rho[t + 1] / rho[t] * p[t, i, j]
    for i in range(n):
        for j in range(m):
            out[i, j] = x[T, i, j]
    return out


def same_everywhere(kernel: cy.Kernel, schedule: cy.Schedule, *arguments: object) -> cy.Program:
    program = kernel.compile(*arguments, schedule=schedule)
    inputs = [argument for argument in arguments if isinstance(argument, np.ndarray)]
    expected = kernel.reference(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for backend in ("sim", "local"):
        found = cy.run(program, *inputs, backend=backend).outputs.values()
        for got, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(got, wanted)
    return program


LINE = cy.Schedule().space("i").time("t")


@pytest.mark.parametrize("n", [1, 2, 9, 30])
def test_a_maximum_goes_back_to_all(n: int) -> None:
    rng = np.random.default_rng(n)
    same_everywhere(power_steps, LINE, rng.random(n), rng.random(n), 4)


@pytest.mark.parametrize("n", [2, 3, 12])
def test_it_stands_still_once_converged(n: int) -> None:
    rng = np.random.default_rng(n)
    arguments = (rng.random(n), rng.random(n), np.array([0.5]))
    same_everywhere(until_converged, LINE, *arguments, 80)
    assert until_converged.reference(*arguments, 80)[1].any()


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (3, 5)])
def test_conjugate_gradient_on_a_grid(shape: tuple[int, int]) -> None:
    b = np.random.default_rng(0).random(shape)
    grid = cy.Schedule().space("i", "j").time("t")
    same_everywhere(conjugate_gradient, grid, b, np.array([1e-9]), min(3, b.size))


def test_the_way_back_costs_one_channel_however_far() -> None:
    channels = set()
    for n in (10, 1000):
        values = cy.spec((n,), np.float64)
        channels.add(len(power_steps.compile(values, values, 4, schedule=LINE).channels))
    assert len(channels) == 1
