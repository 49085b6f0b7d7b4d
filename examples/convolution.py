"""A convolution with its weights kept in the PEs while the sums grow from PE to PE, and other placements."""

import numpy as np

import cyclotron as cy


@cy.kernel
def convolve(image, weights):
    n, m = image.shape[0] - weights.shape[0] + 1, image.shape[1] - weights.shape[1] + 1
    out = cy.empty((n, m))
    for x in range(n):
        for y in range(m):
            out[x, y] = sum(
                weights[p, q] * image[x + p, y + q]
                for p in range(weights.shape[0])
                for q in range(weights.shape[1])
            )
    return out


TAPS = cy.Schedule().space("p", "q")
SCHEDULES = {
    "one PE": cy.Schedule(),
    "weight stationary": TAPS.prefetch("weights"),
    "weights by rows": cy.Schedule().space("p").prefetch("weights"),
    "output stationary": cy.Schedule().space("x", "y"),
    "a line of outputs": cy.Schedule().space("x"),
}
EDGES = np.array([[1, 2, 0, -2, -1], [2, 4, 0, -4, -2], [1, 2, 0, -2, -1]], float)


def plain_convolution(image, weights):
    windows = np.lib.stride_tricks.sliding_window_view(image, weights.shape)
    return np.einsum("xypq,pq->xy", windows, weights)


def main():
    rng = np.random.default_rng(0)
    image = rng.integers(0, 10, (14, 18)).astype(float)
    expected = plain_convolution(image, EDGES)
    print(convolve.compile(image, EDGES, schedule=SCHEDULES["weight stationary"]).explain())
    print(f"\n{'schedule':20} {'grid':>7} {'cycles':>7} {'busy':>6} {'words moved':>12} {'bytes/PE':>9}")
    for name, schedule in SCHEDULES.items():
        program = convolve.compile(image, EDGES, schedule=schedule)
        result = cy.run(program, backend="sim")
        assert np.array_equal(result.output, expected)
        grid = "x".join(map(str, program.grid))
        print(
            f"{name:20} {grid:>7} {result.cycles:7} {result.utilization.mean():6.1%} "
            f"{result.stats['words_moved']:12} {program.memory_bytes:9}"
        )
        if name == "weight stationary":
            stationary = result
    try:
        stationary.plot.utilization(path="convolution_utilization.png")
        print("\nthe last column also adds up the rows: convolution_utilization.png")
    except cy.BackendUnavailable as error:
        print(f"\nno picture: {error.message}")


if __name__ == "__main__":
    main()
