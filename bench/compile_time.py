"""Compile time does not depend on the grid: a 16x16 against a 1024x1024 weight-stationary array (bound 2)."""

import itertools
import time

from common import matmul, medians, options, write

import cyclotron as cy


def main() -> None:
    arguments = options(__doc__)
    runs = 3 if arguments.quick else 9
    steps = itertools.count(100)  # a new extent each time: equal shapes would come from the cache

    def compile_milliseconds(size: int) -> float:
        schedule = cy.schedules.weight_stationary(matmul)
        started = time.perf_counter()
        matmul.compile(cy.spec((size, size)), cy.spec((size, next(steps))), schedule=schedule)
        return (time.perf_counter() - started) * 1e3

    compile_milliseconds(8)
    figures = medians(runs, small=lambda: compile_milliseconds(16), large=lambda: compile_milliseconds(1024))
    ratio = figures["large"] / figures["small"]
    print(
        f"compile 16x16: {figures['small']:.1f} ms, 1024x1024: {figures['large']:.1f} ms, "
        f"ratio {ratio:.2f} (bound 2), medians of {runs}"
    )
    write(arguments.json, {"16x16_ms": figures["small"], "1024x1024_ms": figures["large"], "ratio": ratio})


if __name__ == "__main__":
    main()
