"""Molecular dynamics, an atom for each PE: a crystal that is struck, and the wave that runs through it."""

import numpy as np
from pictures import canvas, draw

import cyclotron as cy

SPACING = 2 ** (1 / 6)  # where Lennard and Jones's potential is least
CUTOFF = 1.5  # beyond the six nearest neighbours of a crystal, before the next ones
NEIGHBOURS = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1))  # the second axis is at 60 degrees


@cy.kernel
def atoms(x, y, vx, vy, step, steps):
    """Take steps of velocity Verlet; x and y are distances from places in the lattice, which is a torus."""
    total = cy.zeros((steps,), dtype=x.dtype)
    fx, fy = cy.zeros_like(x), cy.zeros_like(x)
    for t in range(steps):
        vx += step / 2 * fx
        vy += step / 2 * fy
        x += step * vx
        y += step * vy
        fx, fy, energy = cy.zeros_like(x), cy.zeros_like(x), cy.zeros_like(x)
        for i, j in NEIGHBOURS:
            dx = x - cy.roll(cy.roll(x, i, 0), j, 1) + SPACING * (j + i / 2)
            dy = y - cy.roll(cy.roll(y, i, 0), j, 1) + SPACING * (i * 3**0.5 / 2)
            squares = dx * dx + dy * dy
            sixth = cy.where(squares < CUTOFF**2, 1 / (squares * squares * squares), 0.0)
            force = 24 * sixth * (2 * sixth - 1) / squares
            energy += 2 * sixth * (sixth - 1)  # half a pair's
            fx += force * dx
            fy += force * dy
        vx += step / 2 * fx
        vy += step / 2 * fy
        total[t] = cy.sum(energy + (vx * vx + vy * vy) / 2)
    return x, y, vx, vy, total


SITES = cy.Schedule().space("i", "j").time("t")


def problem(n=24, m=24, step=0.002, steps=350, speed=2.0):
    """All atoms are at rest but for one."""
    x, y, vx, vy = np.zeros((4, n, m))
    vx[n // 2, m // 2] = speed
    return x, y, vx, vy, step, steps


def energy_of(x, y):
    """Return that of all pairs within the cutoff, whichever atoms they are, each by its nearest image."""
    i, j = np.indices(x.shape)
    at = np.stack([SPACING * (j + i / 2) + x, SPACING * i * 3**0.5 / 2 + y], -1).reshape(-1, 2)
    rows, columns = x.shape
    sides = SPACING * np.array([[rows / 2, rows * 3**0.5 / 2], [columns, 0]])
    images = [a * sides[0] + b * sides[1] for a in (-1, 0, 1) for b in (-1, 0, 1)]
    squares = np.min([((at[:, None] - at + image) ** 2).sum(-1) for image in images], axis=0)
    inverse = squares[np.triu(squares < CUTOFF**2, 1)] ** -3.0
    return (4 * inverse * (inverse - 1)).sum()


def main():
    small = cy.Machine(grid=(6, 6), topology="torus")
    run = cy.run(atoms.compile(*problem(6, 6, steps=10), schedule=SITES, machine=small), backend="sim")
    print(f"{run.utilization.size} PEs, an atom each, {run.cycles / 10:.0f} cycles a step")
    x, y, vx, vy, total = cy.run(atoms, *problem(), backend="local").outputs.values()
    kinetic = (vx**2 + vy**2) / 2
    assert np.isclose(total[-1], energy_of(x, y) + kinetic.sum())
    start = energy_of(*problem()[:2]) + 2.0
    assert np.abs(total - start).max() < 0.01
    print(f"energy {start:.4f} at first, {total[-1]:.4f} after {len(total)} steps")
    axes = canvas(2, 8, 3.6)
    if axes is None:
        return
    draw(axes[0], np.log10(kinetic + 1e-9), "logarithm of the kinetic energy", vmin=-5, vmax=-1)
    draw(axes[1], x, "moved to the right", vmin=-0.1, vmax=0.1, cmap="RdBu")
    axes[1].figure.savefig("molecular_dynamics.png", dpi=120)


if __name__ == "__main__":
    main()
