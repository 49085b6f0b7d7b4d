"""Conjugate gradients on a sparse matrix in ELL: Poisson's equation in a disc, a PE for each point inside."""

import numpy as np
from pictures import canvas, draw

import cyclotron as cy


@cy.kernel
def sparse_cg(a, columns, b, tolerance, steps):
    x, r, p = cy.zeros_like(b), b.copy(), b.copy()
    rho, squares = cy.sum(b * b), cy.zeros((steps,), dtype=b.dtype)  # of the residual's norm
    for t in range(steps):
        q = cy.sum(a * p[columns], axis=1)
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


def disc(n):
    """The five-point matrix of an n x n grid's points inside a circle, padded by zeros, and these points."""
    at = np.linspace(-1, 1, n + 2)[1:-1]
    inside = at[:, None] ** 2 + at**2 < 1
    number = np.pad(np.where(inside, np.cumsum(inside).reshape(n, n) - 1, -1), 1, constant_values=-1)
    offsets = [(-1, 0), (0, -1), (0, 0), (0, 1), (1, 0)]
    columns = np.array([number[1 + d : n + 1 + d, 1 + e : n + 1 + e][inside] for d, e in offsets]).T
    a = np.where(columns >= 0, [-1.0, -1.0, 4.0, -1.0, -1.0], 0.0)
    return a, np.maximum(columns, 0), inside


def main():
    tolerance, steps = 1e-16, 80
    a, columns, inside = disc(12)
    b = np.zeros(len(a))
    b[30], b[-25] = 1.0, -1.0  # a source and a sink
    program = sparse_cg.compile(a, columns, b, tolerance, steps, schedule=cy.Schedule().space("i").time("t"))
    result = cy.run(program, backend="sim")
    x, squares = result.outputs.values()

    dense = np.zeros((len(a), len(a)))
    np.add.at(dense, (np.arange(len(a))[:, None], columns), a)
    np.testing.assert_allclose(x, np.linalg.solve(dense, b), atol=1e-8)
    converged = np.count_nonzero(squares)
    print(f"{len(a)} PEs, {a.size} elements, {len(program.classes)} programs")
    print(f"residual {np.abs(dense @ x - b).max():.1e} after {converged} of {steps} steps")
    a_step = result.cycles / result.steps["t"]
    print(f"{a_step:.0f} cycles a step, in which p passes all PEs and each takes its five elements")

    axes = canvas(2, 8, 3.2)
    if axes is None:
        return
    left, right = axes
    left.semilogy(np.sqrt(squares[:converged]), marker=".")
    left.axhline(np.sqrt(tolerance), color="grey", linewidth=0.8)
    left.set(xlabel="step", ylabel="norm of the residual")
    picture = np.ma.masked_where(~inside, np.zeros(inside.shape))
    picture[inside] = x
    left.figure.colorbar(draw(right, picture, cmap="RdBu"), ax=right, label="x")
    left.figure.savefig("sparse_cg.png", dpi=120)
    print("the residual and the solution: sparse_cg.png")


if __name__ == "__main__":
    main()
