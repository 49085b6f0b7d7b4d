"""A product of tiles on threads, against NumPy's own product of the same matrices."""

import time

import numpy as np
from common import medians, options, write
from kernels import matmul

import cyclotron as cy


def main() -> None:
    arguments = options(__doc__)
    runs, size, tile = (3, 128, 32) if arguments.quick else (5, 1024, 128)
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, size, size))
    program = matmul.compile(cy.blocked(A, (tile, tile)), cy.blocked(B, (tile, tile)))

    def numpy_seconds() -> float:
        started = time.perf_counter()
        _ = A @ B
        return time.perf_counter() - started

    seconds = medians(runs, local=lambda: cy.run(program).seconds, numpy=numpy_seconds)
    rates = {name: 2e-9 * size**3 / value for name, value in seconds.items()}
    print(
        f"{size}x{size} in tiles of {tile}: threads {rates['local']:.1f} GFLOP/s, "
        f"NumPy {rates['numpy']:.1f} GFLOP/s, "
        f"ratio {rates['local'] / rates['numpy']:.2f}"
    )
    write(arguments.json, {**rates, "ratio": rates["local"] / rates["numpy"]})


if __name__ == "__main__":
    main()
