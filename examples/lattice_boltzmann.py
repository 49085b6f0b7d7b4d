"""A fluid in a channel by the lattice Boltzmann method (D2Q9): nine densities in the memory of each PE."""

import numpy as np
from pictures import canvas, draw

import cyclotron as cy

# Of each density: how it moves along and across the channel, the one that moves back, its share at rest.
MOVES = (
    *((0, 0, 0, 4 / 9), (0, 1, 3, 1 / 9), (1, 0, 4, 1 / 9), (0, -1, 1, 1 / 9), (-1, 0, 2, 1 / 9)),
    *((1, 1, 7, 1 / 36), (1, -1, 8, 1 / 36), (-1, -1, 5, 1 / 36), (-1, 1, 6, 1 / 36)),
)


@cy.kernel
def lattice_boltzmann(f, wall, push, steps):
    for t in range(steps):  # noqa: B007
        rho = cy.sum(f, axis=2)
        u = (f[..., 2] + f[..., 5] + f[..., 6] - f[..., 4] - f[..., 7] - f[..., 8]) / rho + push
        v = (f[..., 1] + f[..., 5] + f[..., 8] - f[..., 3] - f[..., 6] - f[..., 7]) / rho
        energy = 1.5 * (u * u + v * v)
        new = cy.empty_like(f)
        for k, (along, across, back, share) in enumerate(MOVES):  # walls send back, and the rest collides
            c = 3 * (along * u + across * v)
            settled = share * rho * (1 + c + c * c / 2 - energy)  # at once: a viscosity of 1/6
            new[..., k] = cy.where(wall, f[..., back], settled)
        for k, (along, across, _, _) in enumerate(MOVES):
            f[..., k] = cy.roll(new[..., k], (across, along), (0, 1))
    return f


POINTS = cy.Schedule().space("i", "j").time("t")


def problem(n=12, m=24, steps=300):
    wall = np.zeros((n, m), dtype=bool)
    wall[[0, -1]] = True
    return np.ones((n, m, 1)) * [share for *_, share in MOVES], wall, 2e-4, steps


def speed(f, push):
    return (f @ [along for along, *_ in MOVES]) / f.sum(axis=2) + push / 2


def main():
    small = problem(5, 6, 4)
    result = cy.run(lattice_boltzmann.compile(*small, schedule=POINTS), backend="sim")
    # NumPy adds nine numbers in another order, so that its last bits differ.
    np.testing.assert_allclose(result.output, lattice_boltzmann.reference(*small), rtol=1e-14)
    print(f"{result.utilization.size} PEs, {result.cycles / 4:.0f} cycles a step")

    f, wall, push, steps = problem()
    program = lattice_boltzmann.compile(f, wall, push, steps, schedule=POINTS)
    free = speed(cy.run(program).output, push)
    y, width = np.arange(1, len(f) - 1) - 0.5, len(f) - 2
    parabola = 3 * push * y * (width - y)  # Poiseuille's, of that viscosity
    np.testing.assert_allclose(free[1:-1, 0], parabola, rtol=0.02)
    wall[3:7, 5] = True  # a plate
    blocked = speed(cy.run(program, f, wall).output, push)

    axes = canvas(2, 10, 2.7)
    if axes is None:
        return
    axes[0].plot(parabola, y, color="grey", label="Poiseuille")
    axes[0].plot(free[1:-1, 0], y, "o", label="simulated")
    axes[0].set(xlabel="speed", ylabel="across the channel")
    axes[0].legend()
    picture = draw(axes[1], np.ma.masked_where(wall, blocked), "past a plate", cmap="viridis")
    axes[1].figure.colorbar(picture, ax=axes[1], label="speed")
    axes[1].figure.savefig("lattice_boltzmann.png", dpi=120)
    print("a parabola, and what a plate makes of it: lattice_boltzmann.png")


if __name__ == "__main__":
    main()
