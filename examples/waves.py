"""Waves behind a wall with a gap: two arrays updated in place in each step, and `cy.where` by a mask."""

import numpy as np
from pictures import films

import cyclotron as cy


@cy.kernel
def waves(u, v, wall, steps, c):
    for t in range(steps):  # noqa: B007
        lap = -4 * u + cy.shift(u, 1, 0) + cy.shift(u, -1, 0) + cy.shift(u, 1, 1) + cy.shift(u, -1, 1)
        v += c * lap
        u += cy.where(wall, 0, v)
    return u, v


def pool(n):
    x = np.linspace(-1, 1, n)
    u = np.exp(-60 * ((x[:, None] + 0.6) ** 2 + x**2))
    wall = np.zeros((n, n), dtype=bool)
    wall[n // 2] = True
    wall[n // 2, n // 2 - 1 : n // 2 + 2] = False
    return u * ~wall, np.zeros((n, n)), wall


def main():
    n, c = 24, 0.25
    u, v, wall = pool(n)
    schedule = cy.Schedule().space("i", "j").time("t")  # a point a PE: u and v stay where they are
    steps = 10
    result = cy.run(waves.compile(u, v, wall, steps, c, schedule=schedule), backend="sim")
    for found, expected in zip(result.outputs.values(), waves.reference(u, v, wall, steps, c), strict=True):
        assert np.array_equal(found, expected)
    words = sum(int(sent.sum()) for sent in result.stats["words_sent"].values())
    print(f"{n * n} PEs, {result.cycles / steps:.0f} cycles a step, {result.utilization.mean():.0%} busy")
    print(f"{words / (steps - 1):.0f} words a step between PEs: {4 * n * (n - 1)} pairs of neighbours")
    assert words == (steps - 1) * 4 * n * (n - 1)

    heights = {f"step {at}": waves(u, v, wall, at, c)[0] if at else u for at in (0, 14, 28, 42)}
    heights = {step: np.ma.masked_where(wall, height) for step, height in heights.items()}
    if films("waves.png", heights, "height", vmin=-0.25, vmax=0.25, cmap="RdBu"):
        print("a wave passes the gap and spreads again: waves.png")


if __name__ == "__main__":
    main()
