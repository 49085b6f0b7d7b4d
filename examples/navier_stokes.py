"""Navier-Stokes in the plane, by vorticity and stream function: each step has a loop to convergence."""

import numpy as np
from pictures import films

import cyclotron as cy


@cy.kernel
def navier_stokes(w, psi, steps, dt, nu, h, tolerance):
    for step in range(steps):  # noqa: B007
        change = 1.0
        while change > tolerance:  # Jacobi's iterations for the stream function, -laplace(psi) = w
            new = psi.copy()
            around = psi[:-2, 1:-1] + psi[2:, 1:-1] + psi[1:-1, :-2] + psi[1:-1, 2:]
            new[1:-1, 1:-1] = (around + h * h * w[1:-1, 1:-1]) / 4
            change = cy.max(cy.abs(new - psi))
            psi = new
        u = (psi[1:-1, 2:] - psi[1:-1, :-2]) / (2 * h)
        v = (psi[:-2, 1:-1] - psi[2:, 1:-1]) / (2 * h)
        along = (w[2:, 1:-1] - w[:-2, 1:-1]) / (2 * h)
        across = (w[1:-1, 2:] - w[1:-1, :-2]) / (2 * h)
        around = w[:-2, 1:-1] + w[2:, 1:-1] + w[1:-1, :-2] + w[1:-1, 2:]
        spread = nu * (around - 4 * w[1:-1, 1:-1]) / (h * h)
        w[1:-1, 1:-1] += dt * (spread - u * along - v * across)
    return w, psi


def problem(n, steps, tolerance):
    """Two eddies side by side, which turn about each other."""
    x, y = np.meshgrid(np.arange(n) / (n - 1), np.arange(n) / (n - 1), indexing="ij")
    w = sum(np.exp(-((x - 0.5) ** 2 + (y - at) ** 2) / 0.01) for at in (0.35, 0.65))
    w[[0, -1]] = w[:, [0, -1]] = 0
    return 20 * w, np.zeros((n, n)), steps, 0.02, 1e-3, 1 / (n - 1), tolerance


def main():
    steps = 8
    w, psi, *rest = problem(18, steps, 1e-4)
    program = navier_stokes.compile(w, psi, *rest)
    result = cy.run(program, backend="sim")
    expected = navier_stokes.reference(w.copy(), psi, *rest)
    assert all(map(np.array_equal, result.outputs.values(), expected))  # bit for bit
    print(f"{result.utilization.size} PEs, {result.cycles} cycles, {result.utilization.mean():.0%} computing")
    print(f"the bits of NumPy; {result.steps['iteration']} iterations of Jacobi in {steps} steps of time")

    shown = {f"step {steps}": result.outputs["w_out"]}
    if films("navier_stokes.png", {"step 0": w} | shown, "vorticity", cmap="magma"):
        print("two eddies turn about each other: navier_stokes.png")


if __name__ == "__main__":
    main()
