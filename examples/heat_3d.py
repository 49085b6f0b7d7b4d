"""Heat in three dimensions on a grid of PEs: two axes over the PEs, the third in the memory of each."""

import numpy as np
from pictures import films

import cyclotron as cy


@cy.kernel
def heat(u, steps, c):
    for t in range(steps):  # noqa: B007
        around = (
            u[:-2, 1:-1, 1:-1]
            + u[2:, 1:-1, 1:-1]
            + u[1:-1, :-2, 1:-1]
            + u[1:-1, 2:, 1:-1]
            + u[1:-1, 1:-1, :-2]
            + u[1:-1, 1:-1, 2:]
        )
        u[1:-1, 1:-1, 1:-1] += c * (around - 6 * u[1:-1, 1:-1, 1:-1])
    return u


COLUMNS = cy.Schedule().space("i", "j").time("t", "k")


def problem(n=12, m=12, depth=16, steps=30):
    """A cold block on a hot plate."""
    u = np.zeros((n, m, depth))
    u[n // 4 : -(n // 4) or None, m // 4 : -(m // 4) or None, 0] = 1.0
    return u, steps, 0.15


def main():
    u, steps, c = problem()
    counts = []
    for last in (steps - 1, steps):
        program = heat.compile(u, last, c, schedule=COLUMNS)
        result = cy.run(program, backend="sim")
        assert np.array_equal(result.output, heat.reference(u, last, c))  # bit for bit
        counts.append(sum(int(words.sum()) for words in result.stats["words_sent"].values()))
    n, m, depth = (extent - 2 for extent in u.shape)  # the border never changes
    assert counts[1] - counts[0] == 2 * depth * ((n - 1) * m + n * (m - 1))
    pes, points = result.utilization.size, u.shape[2]
    print(f"{pes} PEs of {points} points each, {result.cycles / steps:.0f} cycles a step")
    print(f"{counts[1] - counts[0]} words a step between PEs, those of the halos")

    cuts = {f"step {at}": heat(u, at, c)[:, u.shape[1] // 2].T for at in (1, 10, steps)}
    if films("heat_3d.png", cuts, "temperature", origin="lower", cmap="inferno"):
        print("cuts through the block, from the plate upwards: heat_3d.png")


if __name__ == "__main__":
    main()
