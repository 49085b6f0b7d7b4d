"""The heat equation in time on a grid of PEs: each holds one point and talks to its four neighbours."""

import numpy as np

import cyclotron as cy


@cy.kernel
def heat(A, steps, c):
    n, m = A.shape
    U = cy.empty((steps + 1, n, m))
    for t in range(steps + 1):
        for i in range(n):
            for j in range(m):
                if t == 0 or i == 0 or i == n - 1 or j == 0 or j == m - 1:
                    U[t, i, j] = A[i, j]  # the start, and the border at all times
                else:
                    around = U[t - 1, i - 1, j] + U[t - 1, i + 1, j] + U[t - 1, i, j - 1] + U[t - 1, i, j + 1]
                    U[t, i, j] = U[t - 1, i, j] + c * (around - 4 * U[t - 1, i, j])
    return U


SCHEDULES = {
    "one PE": cy.Schedule(),
    "a PE for each row": cy.Schedule().space("i"),
    "a PE for each point": cy.Schedule().space("i", "j"),
    "blocks of points": cy.Schedule().space("i", "j").fold(i=4, j=4),
}


def plain_heat(A, steps, c):
    U = A.copy()
    for _ in range(steps):
        around = U[:-2, 1:-1] + U[2:, 1:-1] + U[1:-1, :-2] + U[1:-1, 2:]
        U[1:-1, 1:-1] += c * (around - 4 * U[1:-1, 1:-1])
    return U


def shaded(U):
    """A picture in characters, one for each point."""
    shades = " .:-=+*#%@"
    level = np.clip(U * len(shades), 0, len(shades) - 1).astype(int)
    return ["".join(shades[value] * 2 for value in row) for row in level]


def main():
    steps, c = 24, 0.2
    A = np.zeros((12, 16))
    A[0, 4:12] = A[5:8, 7:10] = 1.0  # a hot edge, that stays, and a hot spot, that does not
    print(f"{'schedule':20} {'PEs':>4} {'cycles':>7} {'a step':>7} {'busy':>6}")
    for name, schedule in SCHEDULES.items():
        result = cy.run(heat.compile(A, steps, c, schedule=schedule), backend="sim")
        assert np.allclose(result.output[-1], plain_heat(A, steps, c), rtol=1e-13, atol=1e-13)
        busy = result.utilization
        print(f"{name:20} {busy.size:4} {result.cycles:7} {result.cycles / steps:7.1f} {busy.mean():6.1%}")
        if name == "a PE for each point":
            grid = result
    for rows in zip(*(shaded(grid.output[t]) for t in (0, 6, steps)), strict=True):
        print("  |  ".join(rows))
    try:
        grid.plot.utilization(path="stencil_utilization.png")
        print("the border only sends, the inside computes: stencil_utilization.png")
    except cy.BackendUnavailable as error:
        print(f"no picture: {error.message}")


if __name__ == "__main__":
    main()
