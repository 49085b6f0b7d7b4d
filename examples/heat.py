"""The heat equation as one writes it in NumPy, on a grid of PEs: a point each, or a block of points each."""

import numpy as np
from pictures import films

import cyclotron as cy


@cy.kernel
def heat(u, steps, c):
    for t in range(steps):  # noqa: B007
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] += c * (around - 4 * u[1:-1, 1:-1])
    return u


def main():
    steps, c, shape = 40, 0.2, (18, 18)
    u = np.zeros(shape)
    u[0, 4:14] = 1.0  # a hot edge, that stays
    u[10:14, 3:7] = 1.0  # a hot spot, that does not
    print(heat.recurrences(u, steps, c))

    # The axes of u are called i and j, the loop t. Of each point the four neighbours get one word a step.
    grid = cy.Schedule().space("i", "j").time("t")
    schedules = {"a point a PE": grid, "4 x 4 points a PE": grid.fold(i=cy.block(4), j=cy.block(4))}
    expected = heat.reference(u, steps, c)
    for name, schedule in schedules.items():
        result = cy.run(heat.compile(u, steps, c, schedule=schedule), backend="sim")
        assert np.array_equal(result.output, expected)  # bit for bit
        words = sum(int(sent.sum()) for sent in result.stats["words_sent"].values())
        pes, cycles, words = result.utilization.size, result.cycles, words // (steps - 1)
        print(f"{name}: {pes} PEs, {cycles} cycles, {words} words a step between PEs")

    temperatures = {f"step {at}": heat(u, at, c) if at else u for at in (0, 5, 15, steps)}
    if films("heat.png", temperatures, "temperature", cmap="inferno"):
        print("the heat spreads: heat.png")


if __name__ == "__main__":
    main()
