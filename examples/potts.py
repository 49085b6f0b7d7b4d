"""Grains of a metal that grow: Potts's model on a torus of PEs, which draw random numbers."""

import numpy as np
from pictures import canvas, draw

import cyclotron as cy


@cy.kernel
def potts(grains, black, seed, sweeps):
    """Let sites join a random neighbour's grain where no more neighbours differ then (Metropolis, cold)."""
    boundary = cy.zeros((sweeps,), dtype="int64")  # pairs of neighbours in grains that differ
    for t in range(sweeps):
        for half in range(2):
            key = cy.random.fold_in(cy.random.key(seed), 2 * t + half)
            north, south = cy.roll(grains, 1, 0), cy.roll(grains, -1, 0)
            west, east = cy.roll(grains, 1, 1), cy.roll(grains, -1, 1)
            drawn = cy.random.integers(key, grains.shape, 0, 4)
            vertical = cy.where(drawn == 0, north, south)
            wanted = cy.where(drawn < 2, vertical, cy.where(drawn == 2, west, east))
            alike = (
                (grains == north).astype("int64") + (grains == south) + (grains == west) + (grains == east)
            )
            then = (wanted == north).astype("int64") + (wanted == south) + (wanted == west) + (wanted == east)
            own = cy.where(black, 0, 1) == half
            grains = cy.where(own & (then >= alike), wanted, grains)
        boundary[t] = cy.sum(
            (grains != cy.roll(grains, 1, 0)).astype("int64") + (grains != cy.roll(grains, 1, 1))
        )
    return grains, boundary


SITES = cy.Schedule().space("i", "j").time("t")


def problem(n=40, m=40, sweeps=100, states=64):
    black = np.add.outer(np.arange(n), np.arange(m)) % 2 == 0
    return np.random.default_rng(1).integers(0, states, (n, m)), black, 7, sweeps


def main():
    small = problem(8, 8, 10)
    torus = cy.Machine(grid=(8, 8), topology="torus")
    result = cy.run(potts.compile(*small, schedule=SITES, machine=torus), backend="sim")
    for found, expected in zip(result.outputs.values(), potts.reference(*small), strict=True):
        assert np.array_equal(found, expected)
    print(f"{result.utilization.size} PEs, {result.cycles / 10:.0f} cycles a sweep")

    images = {}
    for sweeps in (1, 10, 100):
        grains, boundary = cy.run(potts, *problem(sweeps=sweeps), backend="local").outputs.values()
        images[f"sweeps: {sweeps}"] = grains
    assert np.all(np.diff(boundary) <= 0)  # each half sweep changes sites that are no neighbours
    print(f"boundaries: {boundary[0]} pairs of sites after a sweep, {boundary[-1]} after {len(boundary)}")

    axes = canvas(4, 11, 2.9)
    if axes is None:
        return
    for axis, (title, grains) in zip(axes, images.items(), strict=False):
        draw(axis, grains, title, cmap="nipy_spectral", vmin=0, vmax=63)
    axes[3].loglog(1 + np.arange(len(boundary)), boundary)
    axes[3].set(xlabel="sweeps", title="pairs on boundaries")
    axes[3].figure.savefig("potts.png", dpi=120)
    print("the grains: potts.png")


if __name__ == "__main__":
    main()
