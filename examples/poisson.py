"""Poisson's equation by Jacobi's and by Gauss and Seidel's method until they converge, a point a PE."""

import numpy as np
from pictures import canvas, draw

import cyclotron as cy


def relaxed(u, f):
    return (cy.shift(u, 1, 0) + cy.shift(u, -1, 0) + cy.shift(u, 1, 1) + cy.shift(u, -1, 1) + f) / 4


@cy.kernel
def jacobi(f, tolerance, steps):
    u, changes = cy.zeros_like(f), cy.zeros((steps,))
    for t in range(steps):
        new = relaxed(u, f)
        changes[t] = cy.max(cy.abs(new - u))
        u = new
        if changes[t] < tolerance:
            break
    return u, changes


@cy.kernel
def gauss_seidel(f, red, tolerance, steps):
    """The points of one colour of a checkerboard, then those of the other."""
    u, changes = cy.zeros_like(f), cy.zeros((steps,), dtype="float64")
    for t in range(steps):
        half = cy.where(red, relaxed(u, f), u)
        new = cy.where(red, half, relaxed(half, f))
        changes[t] = cy.max(cy.abs(new - u))
        u = new
        if changes[t] < tolerance:
            break
    return u, changes


def main():
    n, steps, tolerance = 12, 400, 1e-6
    f = np.zeros((n, n))
    f[3, 3], f[8, 9] = 1.0, -1.0  # a source and a sink
    red = np.add.outer(np.arange(n), np.arange(n)) % 2 == 0
    schedule = cy.Schedule().space("i", "j").time("t")
    found = {}
    for kernel, arguments in ((jacobi, (f,)), (gauss_seidel, (f, red))):
        program = kernel.compile(*arguments, tolerance, steps, schedule=schedule)
        result = cy.run(program, backend="sim")
        expected = kernel.reference(*arguments, tolerance, steps)
        for output, wanted in zip(result.outputs.values(), expected, strict=True):
            np.testing.assert_array_equal(output, wanted)  # the bits of NumPy
        u, changes = result.outputs.values()
        taken = np.count_nonzero(changes)
        residual = np.abs(relaxed(u, f) - u).max()
        print(
            f"{kernel.name}: a change of {residual:.1e} is left after {taken} of at most {steps} steps,"
            f" in {result.cycles} cycles, {result.cycles / result.steps['t']:.0f} each"
        )
        found[kernel.name] = u, changes[:taken]

    axes = canvas(2, 8, 3.2)
    if axes is None:
        return
    left, right = axes
    for name, (_, changes) in found.items():
        left.semilogy(changes, label=name)
    left.axhline(tolerance, color="grey", linewidth=0.8)
    left.set(xlabel="step", ylabel="largest change")
    left.legend()
    left.figure.colorbar(draw(right, found["gauss_seidel"][0], cmap="RdBu"), ax=right, label="u")
    left.figure.savefig("poisson.png", dpi=120)
    print("convergence and the solution: poisson.png")


if __name__ == "__main__":
    main()
