"""Conway's Game of Life on a torus of PEs: `cy.roll` looks at the neighbours, `cy.where` decides."""

import numpy as np
from pictures import canvas, draw

import cyclotron as cy


@cy.kernel
def life(cells, generations):
    history = cy.empty((generations + 1, *cells.shape))
    history[0] = cells
    for t in range(generations):
        now = history[t]
        row = now + cy.roll(now, 1, axis=1) + cy.roll(now, -1, axis=1)
        block = row + cy.roll(row, 1, axis=0) + cy.roll(row, -1, axis=0)  # a cell and its eight neighbours
        history[t + 1] = cy.where(block == 3, 1, cy.where(block == 4, now, 0))
    return history


def glider(n):
    cells = np.zeros((n, n), dtype=np.int64)
    cells[1, 2] = cells[2, 3] = cells[3, 1:4] = 1
    return np.roll(cells, (n // 2, n // 2), (0, 1))


def main():
    n, generations = 8, 12
    cells = glider(n)
    machine = cy.Machine(grid=(n, n), topology="torus")
    schedule = cy.Schedule().space("i", "j").time("t")
    program = life.compile(cells, generations, schedule=schedule, machine=machine)
    result = cy.run(program, backend="sim")
    assert np.array_equal(result.output, life.reference(cells, generations))
    assert np.array_equal(result.output[-1], np.roll(cells, (3, 3), (0, 1)))  # a glider moves on
    print(f"{n * n} PEs, {result.cycles / generations:.0f} cycles a generation")

    axes = canvas(7, 10, 1.9)
    if axes is None:
        return
    for axis, at in zip(axes, range(0, generations + 1, 2), strict=True):
        draw(axis, result.output[at], f"generation {at}", cmap="Greys", vmin=0, vmax=1)
        axis.set_xticks(np.arange(-0.5, n), labels=[])
        axis.set_yticks(np.arange(-0.5, n), labels=[])
        axis.tick_params(length=0)
        axis.grid(color="lightgrey", linewidth=0.5)
    axes[0].figure.savefig("life.png", dpi=120)
    print("a glider crosses the border: life.png")


if __name__ == "__main__":
    main()
