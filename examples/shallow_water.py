"""Shallow water in a basin: heights on a grid of PEs, velocities between them, all updated in place."""

import numpy as np
from pictures import films

import cyclotron as cy


@cy.kernel
def shallow_water(h, u, v, g, depth, steps):
    """Height above the mean, and velocities through the sides of the cells; the walls let none pass."""
    for t in range(steps):  # noqa: B007
        u[1:-1] -= g * (h[1:] - h[:-1])
        v[:, 1:-1] -= g * (h[:, 1:] - h[:, :-1])
        h -= depth * (u[1:] - u[:-1] + v[:, 1:] - v[:, :-1])
    return h, u, v


CELLS = cy.Schedule().space("i", "j").time("t")


def problem(n=24, m=24, steps=12):
    """A drop, off the middle."""
    x, y = np.mgrid[:n, :m]
    h = np.exp(-((x - n / 3) ** 2 + (y - m / 2.5) ** 2) / 6)
    return h, np.zeros((n + 1, m)), np.zeros((n, m + 1)), 0.5, 0.5, steps


def main():
    *start, g, depth, steps = problem()
    result = cy.run(shallow_water.compile(*start, g, depth, steps, schedule=CELLS), backend="sim")
    for found, expected in zip(
        result.outputs.values(), shallow_water.reference(*start, g, depth, steps), strict=True
    ):
        assert np.array_equal(found, expected)  # bit for bit
    h, u, v = result.outputs.values()
    assert np.isclose(h.sum(), start[0].sum(), rtol=1e-12)  # no water is lost
    assert not u[[0, -1]].any()
    assert not v[:, [0, -1]].any()
    print(f"{result.utilization.size} PEs, {result.cycles / steps:.0f} cycles a step")

    heights = {f"step {at}": shallow_water(*start, g, depth, at)[0] for at in (1, 14, 28, 56)}
    if films("shallow_water.png", heights, "height", vmin=-0.3, vmax=0.3, cmap="RdBu_r"):
        print("waves run to the walls and back: shallow_water.png")


if __name__ == "__main__":
    main()
