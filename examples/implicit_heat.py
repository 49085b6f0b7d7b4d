"""Heat in steps that no explicit method could take: conjugate gradients until converged, in each step."""

import numpy as np
from pictures import films

import cyclotron as cy


def laplacian(u):
    return cy.shift(u, 1, 0) + cy.shift(u, -1, 0) + cy.shift(u, 1, 1) + cy.shift(u, -1, 1) - 4 * u


@cy.kernel
def implicit_heat(u, c, tolerance, steps):
    """Steps of (1 - c laplacian) u' = u, u = 0 around the plate."""
    after, solved = cy.zeros((steps, *u.shape)), cy.zeros((steps,), dtype="int64")
    for t in range(steps):
        r = c * laplacian(u)  # what u leaves of the equation
        p = r.copy()
        rho = cy.sum(r * r)
        while rho > tolerance:
            q = p - c * laplacian(p)
            alpha = rho / cy.sum(p * q)
            u = u + alpha * p
            r = r - alpha * q
            before, rho = rho, cy.sum(r * r)
            p = r + rho / before * p
            solved[t] += 1
        after[t] = u
    return after, solved


POINTS = cy.Schedule().space("i", "j").time("t")


def problem(n=12, m=12, steps=4):
    u = np.zeros((n, m))
    u[n // 3, m // 4] = u[(2 * n) // 3, m // 2] = 1.0
    return u, 2.0, 1e-16, steps  # explicit steps are stable up to c = 0.25


def solved_directly(u, c, steps):
    def second(n):
        return np.eye(n, k=1) + np.eye(n, k=-1) - 2 * np.eye(n)

    n, m = u.shape
    matrix = np.kron(second(n), np.eye(m)) + np.kron(np.eye(n), second(m))
    for _ in range(steps):
        u = np.linalg.solve(np.eye(n * m) - c * matrix, u.ravel()).reshape(n, m)
    return u


def main():
    u, c, tolerance, steps = problem()
    result = cy.run(implicit_heat.compile(u, c, tolerance, steps, schedule=POINTS), backend="sim")
    after, solved = result.outputs.values()
    np.testing.assert_allclose(after[-1], solved_directly(u, c, steps), atol=1e-8)
    print(f"{u.size} PEs; steps of conjugate gradients in each step: {solved}")
    print(f"{result.cycles / result.steps['iteration']:.0f} cycles each")

    plates = {"start": u, **{f"step {t + 1}": plate for t, plate in enumerate(after)}}
    if films("implicit_heat.png", plates, "temperature", vmax=0.1, cmap="inferno"):
        print("the heat leaves through the border: implicit_heat.png")


if __name__ == "__main__":
    main()
