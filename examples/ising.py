"""The Ising model on a torus of PEs: Metropolis on a checkerboard, random numbers made by the PEs."""

import numpy as np
from pictures import canvas, draw

import cyclotron as cy

LARGEST = 2**31 - 1  # Park and Miller's generator counts up to there


@cy.kernel
def ising(spins, seeds, black, beta, sweeps):
    total = cy.zeros((sweeps,), dtype="int64")
    for t in range(sweeps):
        for colour in (black, ~black):
            seeds = seeds * 48271 % LARGEST
            around = (
                cy.roll(spins, 1, 0) + cy.roll(spins, -1, 0) + cy.roll(spins, 1, 1) + cy.roll(spins, -1, 1)
            )
            flips = colour & (seeds < LARGEST * cy.exp(-2 * beta[0] * spins * around))
            spins = cy.where(flips, -spins, spins)
        total[t] = cy.sum(spins)
    return spins, total


SITES = cy.Schedule().space("i", "j").time("t")


def problem(n=24, m=24, sweeps=200, beta=0.5):
    black = np.add.outer(np.arange(n), np.arange(m)) % 2 == 0
    seeds = np.random.default_rng(1).integers(1, LARGEST, (n, m))
    return np.ones((n, m), dtype=np.int64), seeds, black, np.array([beta]), sweeps


def onsager(beta):
    """The magnetisation of an endless lattice."""
    return max(1 - np.sinh(2 * beta) ** -4, 0) ** 0.125


def main():
    small = problem(8, 8, 20)
    torus = cy.Machine(grid=(8, 8), topology="torus")
    result = cy.run(ising.compile(*small, schedule=SITES, machine=torus), backend="sim")
    for found, expected in zip(result.outputs.values(), ising.reference(*small), strict=True):
        assert np.array_equal(found, expected)
    print(f"{result.utilization.size} PEs, {result.cycles / 20:.0f} cycles a sweep")

    *lattice, _, sweeps = problem()
    program = ising.compile(*problem(), schedule=SITES)
    betas, found, images = np.linspace(0.3, 0.7, 9), [], {}
    for beta in betas:
        spins, total = cy.run(program, *lattice, np.array([beta])).outputs.values()
        found.append(abs(total[sweeps // 4 :]).mean() / spins.size)
        images[f"beta = {beta:.2f}"] = spins
    cold = betas >= 0.5  # above the critical one, 0.44, small lattices are near the endless one
    assert np.allclose(np.array(found)[cold], [onsager(beta) for beta in betas[cold]], atol=0.03)

    axes = canvas(4, 10, 2.7)
    if axes is None:
        return
    for axis, title in zip(axes, list(images)[1:6:2], strict=False):
        draw(axis, images[title], title, vmin=-1, vmax=1, cmap="Greys")
    fine = np.linspace(betas[0], betas[-1], 200)
    axes[3].plot(fine, [onsager(beta) for beta in fine], color="grey", label="Onsager")
    axes[3].plot(betas, found, "o", label="simulated")
    axes[3].set(xlabel="beta", title="magnetisation")
    axes[3].legend()
    axes[3].figure.savefig("ising.png", dpi=120)
    print("the spins align where it is cold: ising.png")


if __name__ == "__main__":
    main()
