"""GMRES with restarts for variable coefficients: Arnoldi's basis, Givens' rotations, until it converges."""

import numpy as np
from bicgstab import apply, problem
from pictures import canvas, draw

import cyclotron as cy


@cy.kernel
def gmres(k, wind, b, m, tolerance):
    x, r = cy.zeros_like(b), b.copy()
    beta = cy.sqrt(cy.sum(r * r))
    while beta > tolerance:
        V, H = cy.zeros((m + 1, *b.shape)), cy.zeros((m + 1, m))
        cos, sin, g, y = cy.zeros(m), cy.zeros(m), cy.zeros(m + 1), cy.zeros(m)
        V[0] = r / beta
        g[0] = beta
        for j in range(m):
            w = apply(k, wind, V[j])
            for i in range(j + 1):  # the basis stays orthogonal
                H[i, j] = cy.sum(w * V[i])
                w = w - H[i, j] * V[i]
            H[j + 1, j] = cy.sqrt(cy.sum(w * w))
            V[j + 1] = w / H[j + 1, j]
            for i in range(j):  # rotations make H upper triangular
                above = cos[i] * H[i, j] + sin[i] * H[i + 1, j]
                H[i + 1, j] = cos[i] * H[i + 1, j] - sin[i] * H[i, j]
                H[i, j] = above
            length = cy.sqrt(H[j, j] * H[j, j] + H[j + 1, j] * H[j + 1, j])
            cos[j] = H[j, j] / length
            sin[j] = H[j + 1, j] / length
            H[j, j] = length
            g[j + 1] = -sin[j] * g[j]
            g[j] = cos[j] * g[j]
        for i in range(m - 1, -1, -1):
            total = g[i]
            for j in range(i + 1, m):
                total -= H[i, j] * y[j]
            y[i] = total / H[i, i]
        for i in range(m):
            x = x + y[i] * V[i]
        r = b - apply(k, wind, x)
        beta = cy.sqrt(cy.sum(r * r))
    return x


def main():
    k, wind, b, *_ = problem(8)
    m, tolerance = 4, 1e-6
    points = cy.Schedule().space("k", "l")  # the axes of the grid: i and j are the loops'
    program = gmres.compile(k, wind, b, m, tolerance, schedule=points)
    result = cy.run(program, backend="sim")
    np.testing.assert_allclose(result.output, gmres.reference(k, wind, b, m, tolerance), rtol=0, atol=1e-9)
    restarts = result.steps["iteration"]
    print(f"{result.utilization.size} PEs, {result.cycles} cycles, {result.utilization.mean():.0%} computing")
    print(f"{restarts} restarts of {m} steps each, {result.cycles / restarts / m:.0f} cycles a step")
    axes = canvas(2, 8, 3.2)
    if axes is None:
        return
    axes[0].figure.colorbar(draw(axes[0], result.output, "x"), ax=axes[0])
    axes[0].figure.colorbar(draw(axes[1], result.utilization, "busy", cmap="viridis"), ax=axes[1])
    axes[0].figure.savefig("gmres.png", dpi=120)
    print("the solution, and how busy each PE is: gmres.png")


if __name__ == "__main__":
    main()
