"""Geometric multigrid for Poisson's equation: V-cycles over three grids, all in the PEs of the finest."""

import numpy as np
from pictures import canvas, draw

import cyclotron as cy


@cy.kernel
def smooth(u, f, h):
    new = u.copy()
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    new[1:-1, 1:-1] = (around + u[1:-1, 1:-1] + h * h * f[1:-1, 1:-1]) / 5
    return new


@cy.kernel
def residual(u, f, h):
    return (smooth(u, f, h) - u) * 5 / (h * h)


@cy.kernel
def restrict(r):
    rows = (r[1:-2:2] + 2 * r[2:-1:2] + r[3::2]) / 4
    coarse = cy.zeros((len(r) // 2 + 1, len(r) // 2 + 1))
    coarse[1:-1, 1:-1] = (rows[:, 1:-2:2] + 2 * rows[:, 2:-1:2] + rows[:, 3::2]) / 4
    return coarse


@cy.kernel
def prolong(e):
    n = 2 * len(e) - 1
    rows, fine = cy.zeros((n, len(e))), cy.zeros((n, n))
    rows[::2] = e
    rows[1::2] = (e[:-1] + e[1:]) / 2
    fine[:, ::2] = rows
    fine[:, 1::2] = (rows[:, :-1] + rows[:, 1:]) / 2
    return fine


@cy.kernel
def v_cycle(u, f, h, levels):
    u = smooth(smooth(u, f, h), f, h)
    if levels > 1:
        coarse = restrict(residual(u, f, h))
        u = u + prolong(v_cycle(cy.zeros(coarse.shape), coarse, 2 * h, levels - 1))
    else:
        for _ in range(30):
            u = smooth(u, f, h)
    return smooth(u, f, h)


def main():
    n, levels, cycles = 17, 3, 8
    u, f, h = np.zeros((n, n)), np.zeros((n, n)), 1 / (n - 1)
    f[5, 5], f[11, 9] = 1.0, -1.0  # a source and a sink
    program = v_cycle.compile(u, f, h, levels)
    norms = [np.linalg.norm(f)]
    for _ in range(cycles):
        result = cy.run(program, u, f, backend="sim")
        assert np.array_equal(result.output, v_cycle.reference(u, f, h, levels))  # the bits of NumPy
        u = result.output
        norms.append(np.linalg.norm(residual.reference(u, f, h)))
    rate = (norms[-1] / norms[0]) ** (1 / cycles)
    print(
        f"{result.cycles} cycles a V-cycle on the grid {program.grid}; it leaves {rate:.0%} of the residual"
    )

    axes = canvas(2, 8, 3.2)
    if axes is None:
        return
    axes[0].semilogy(norms, "o-")
    axes[0].set(xlabel="V-cycles", ylabel="residual")
    axes[0].figure.colorbar(draw(axes[1], u, cmap="RdBu"), ax=axes[1], label="u")
    axes[0].figure.savefig("multigrid.png", dpi=120)
    print("convergence and the solution: multigrid.png")


if __name__ == "__main__":
    main()
