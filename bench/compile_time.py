"""Compile time with all symbolic checks, over kernels and grids: it does not depend on the grid (bound 1.5).

Every PE array is laid out anew: equal shapes would come from the cache. Bounds: 50 ms for the product, 200 ms
for Cholesky on tiles, and the largest grid's time over the smallest's.
"""

import itertools
import time
from collections.abc import Callable

from common import medians, options, write
from kernels import cholesky, matmul, solve

import cyclotron as cy

SIZES = (4, 16, 64, 256, 1000)


def tiles(rows: int, columns: int, tile: int) -> cy.Spec:
    """A matrix of that many square tiles, of which only the shape matters."""
    return cy.spec((rows * tile, columns * tile), tile=(tile, tile))


# From the grid's extent and an extent of time that is new each time (for Cholesky: a new tile).
KERNELS: dict[str, Callable[[int, int], object]] = {
    "product, weight stationary": lambda n, new: matmul.compile(
        cy.spec((n, n)), cy.spec((n, new)), schedule=cy.schedules.weight_stationary(matmul)
    ),
    "product, output stationary": lambda n, new: matmul.compile(
        cy.spec((n, new)), cy.spec((new, n)), schedule=cy.schedules.output_stationary(matmul)
    ),
    "triangular solve": lambda n, new: solve.compile(
        cy.spec((n, n)), cy.spec((n, new)), schedule=cy.Schedule().space("i")
    ),
    "Cholesky on tiles": lambda n, new: cholesky.compile(
        tiles(n, n, new), schedule=cy.Schedule().space("i", "j")
    ),
}


def main() -> None:
    arguments = options(__doc__)
    runs = 3 if arguments.quick else 9
    sizes = SIZES[:2] if arguments.quick else SIZES
    fresh = itertools.count(100)

    def milliseconds(name: str, size: int) -> float:
        new = next(fresh)
        started = time.perf_counter()
        KERNELS[name](size, new)
        return (time.perf_counter() - started) * 1e3

    print(
        "milliseconds, medians of", runs, *(f"{n:>5}x{n:<5}" for n in sizes), "  ratio, largest to smallest"
    )
    figures: dict[str, dict[str, float]] = {}
    for name in KERNELS:
        milliseconds(name, 8)
        measures = {str(n): lambda name=name, n=n: milliseconds(name, n) for n in sizes}
        found = medians(runs, **measures)
        found["ratio"] = found[str(sizes[-1])] / found[str(sizes[0])]
        figures[name] = found
        print(f"{name:<27}", *(f"{found[str(n)]:11.1f}" for n in sizes), f"{found['ratio']:16.2f}")
    write(arguments.json, figures)


if __name__ == "__main__":
    main()
