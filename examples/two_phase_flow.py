"""Water drives oil out of porous rock: pressure by relaxation, saturation upwind, a PE for each block."""

import numpy as np
from pictures import canvas, draw

import cyclotron as cy

OIL = 5.0  # its viscosity; water's is 1


@cy.kernel
def two_phase(rock, saturation, wells, step, relaxations, steps):
    """Let Corey's mobilities be s^2 and (1 - s)^2 / OIL; the border of zeros of `rock` lets nothing pass."""
    pressure = cy.zeros_like(saturation)
    produced = cy.zeros((steps,), dtype=saturation.dtype)
    for t in range(steps):
        water, oil = saturation * saturation, (1 - saturation) * (1 - saturation) / OIL
        mobility, share = rock * (water + oil), water / (water + oil)
        # Of a face the harmonic mean: 0 where a side is.
        down = 2 * mobility[1:, :] * mobility[:-1, :] / (mobility[1:, :] + mobility[:-1, :] + 1e-30)
        right = 2 * mobility[:, 1:] * mobility[:, :-1] / (mobility[:, 1:] + mobility[:, :-1] + 1e-30)
        north, south, west, east = down[:-1, 1:-1], down[1:, 1:-1], right[1:-1, :-1], right[1:-1, 1:]
        for _ in range(relaxations):
            vertical = north * pressure[:-2, 1:-1] + south * pressure[2:, 1:-1]
            across = west * pressure[1:-1, :-2] + east * pressure[1:-1, 2:]
            new = (wells[1:-1, 1:-1] + vertical + across) / (north + south + west + east)
            pressure[1:-1, 1:-1] = 0.2 * pressure[1:-1, 1:-1] + 0.8 * new  # else a chessboard stays
        fall = down * (pressure[:-1, :] - pressure[1:, :])
        past = right * (pressure[:, :-1] - pressure[:, 1:])
        fall *= cy.where(fall > 0, share[:-1, :], share[1:, :])  # what of it is water, where it comes from
        past *= cy.where(past > 0, share[:, :-1], share[:, 1:])
        gain = fall[:-1, 1:-1] - fall[1:, 1:-1] + past[1:-1, :-1] - past[1:-1, 1:]
        saturation += step * cy.where(wells > 0, wells, wells * share)
        saturation[1:-1, 1:-1] += step * gain
        produced[t] = cy.sum(cy.where(wells < 0, share, 0.0))
    return saturation, pressure, produced


BLOCKS = cy.Schedule().space("i", "j").time("t")


def problem(n=12, m=12, step=0.4, relaxations=20, steps=200, spread=1.0):
    """Water enters in one corner and a well is in the opposite one; the rock is random."""
    rock, wells = np.zeros((2, n + 2, m + 2))
    rock[1:-1, 1:-1] = np.exp(spread * np.random.default_rng(3).normal(size=(n, m)))
    wells[1, 1], wells[n, m] = 1.0, -1.0
    return rock, np.zeros_like(rock), wells, step, relaxations, steps


def buckley_leverett(place):
    """Return the saturation of a pipe at places divided by time."""
    s = np.linspace(1 / np.sqrt(1 + OIL), 1, 400)  # from the front on
    speed = 2 * s * (1 - s) / OIL / (s**2 + (1 - s) ** 2 / OIL) ** 2
    return np.where(place <= speed[0], np.interp(place, speed[::-1], s[::-1]), 0.0)


def main():
    run = cy.run(two_phase.compile(*problem(6, 6, relaxations=4, steps=5), schedule=BLOCKS), backend="sim")
    print(f"{run.utilization.size} PEs, {run.cycles / 5:.0f} cycles a step of 4 relaxations")
    saturation, _, produced = cy.run(two_phase, *problem(), backend="local").outputs.values()
    water = 0.4 * (1 - produced).sum()
    assert np.isclose(saturation.sum(), water)  # none is lost
    print(f"of 80 volumes of water {water:.1f} are in the rock, in the place of oil")
    # In a pipe of 40 blocks of the same rock, after 12 volumes of water.
    pipe, *_ = cy.run(two_phase, *problem(1, 40, 0.05, 60, 240, 0.0), backend="local").outputs.values()
    place = np.arange(0.5, 40) / 12
    assert np.abs(pipe[1, 1:-1] - buckley_leverett(place)).mean() < 0.04
    axes = canvas(2, 8, 3.2)
    if axes is None:
        return
    draw(axes[0], saturation[1:-1, 1:-1], "saturation with water", vmin=0, vmax=1, cmap="Blues")
    axes[1].plot(place, buckley_leverett(place), color="grey", label="Buckley and Leverett")
    axes[1].plot(place, pipe[1, 1:-1], ".", label="40 blocks")
    axes[1].set(xlabel="place / volumes of water", title="in a pipe")
    axes[1].legend()
    axes[1].figure.savefig("two_phase_flow.png", dpi=120)


if __name__ == "__main__":
    main()
