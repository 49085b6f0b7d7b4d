"""Poisson's equation by conjugate gradients on a grid of PEs, a point each, until it has converged."""

import numpy as np
from pictures import canvas, draw

import cyclotron as cy


@cy.kernel
def conjugate_gradient(b, tolerance, steps):
    x, r, p = cy.zeros_like(b), b.copy(), b.copy()
    rho, squares = cy.sum(b * b), cy.zeros((steps,))  # of the residual's norm, a number a step
    for t in range(steps):
        q = 4 * p - cy.shift(p, 1, 0) - cy.shift(p, -1, 0) - cy.shift(p, 1, 1) - cy.shift(p, -1, 1)
        alpha = rho / cy.sum(p * q)
        x += alpha * p
        r -= alpha * q
        new = cy.sum(r * r)
        squares[t] = new
        if new < tolerance:
            break
        p = r + new / rho * p
        rho = new
    return x, squares


def main():
    n, steps, tolerance = 10, 100, 1e-16
    b = np.zeros((n, n))
    b[2, 3], b[7, 6] = 1.0, -1.0  # a source and a sink
    schedule = cy.Schedule().space("i", "j").time("t")
    program = conjugate_gradient.compile(b, tolerance, steps, schedule=schedule)
    result = cy.run(program, backend="sim")
    x, squares = result.outputs.values()

    # NumPy adds in another order, so that its last bits differ.
    expected, _ = conjugate_gradient.reference(b, tolerance, steps)
    np.testing.assert_allclose(x, expected, atol=1e-14)
    padded = np.pad(x, 1)
    around = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
    converged = np.count_nonzero(squares)
    print(f"{n * n} PEs, {len(program.classes)} programs, {len(program.channels)} channels")
    print(f"residual {np.abs(4 * x - around - b).max():.1e} after {converged} of {steps} steps")
    hops = 4 * (n - 1)  # to the last PE and back
    print(f"{result.cycles / result.steps['t']:.0f} cycles a step, with two sums of {hops} hops each")

    axes = canvas(2, 8, 3.2)
    if axes is None:
        return
    left, right = axes
    left.semilogy(np.sqrt(squares[:converged]), marker=".")
    left.axhline(np.sqrt(tolerance), color="grey", linewidth=0.8)
    left.set(xlabel="step", ylabel="norm of the residual")
    left.figure.colorbar(draw(right, x, cmap="RdBu"), ax=right, label="x")
    left.figure.savefig("conjugate_gradient.png", dpi=120)
    print("the residual and the solution: conjugate_gradient.png")


if __name__ == "__main__":
    main()
