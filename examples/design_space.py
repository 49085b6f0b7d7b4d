"""Effects of a mapping on throughput and utilisation: the grid, what stays in the PEs, and fusion (Sec. 9.1).

Sweeps of a product, and of two products of which the second uses the first's result: as two programs, one
after the other, and as one. `python examples/design_space.py sweep.png` draws the first.
"""

import sys

from matmul_dataflows import DATAFLOWS, matmul

import cyclotron as cy

N = 16
SQUARE = cy.spec((N, N))
GRIDS = [(2, 2), (2, 8), (4, 4), (8, 2), (8, 8), (4, 16), (16, 16)]


@cy.kernel
def hidden(A, B):
    H = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for k in range(B.shape[1]):
            H[i, k] = cy.maximum(sum(A[i, m] * B[m, k] for m in range(A.shape[1])), 0)
    return H


@cy.kernel
def fused(A, B, C):
    H = cy.empty((A.shape[0], B.shape[1]))
    Y = cy.empty((A.shape[0], C.shape[1]))
    for i in range(A.shape[0]):
        for k in range(B.shape[1]):
            H[i, k] = cy.maximum(sum(A[i, m] * B[m, k] for m in range(A.shape[1])), 0)
    for i in range(A.shape[0]):
        for j in range(C.shape[1]):
            Y[i, j] = sum(H[i, k] * C[k, j] for k in range(B.shape[1]))
    return Y


def fusion():
    """Cycles and utilisation by grid: of two programs, one after the other, and of one."""
    space = cy.Schedule().space("i", "k")
    first = cy.sweep(hidden, SQUARE, SQUARE, schedule=space.time("m"), grid=GRIDS)
    second = cy.sweep(matmul, SQUARE, SQUARE, schedule=space.time("j"), grid=GRIDS)
    both = cy.sweep(fused, SQUARE, SQUARE, SQUARE, schedule=space.time("m", "j"), grid=GRIDS)
    for one, two, record in zip(first, second, both, strict=True):
        cycles = one["cycles"] + two["cycles"]
        busy = one["cycles"] * one["utilization"] + two["cycles"] * two["utilization"]
        yield {"grid": record["grid"], "cycles": cycles, "utilization": busy / cycles, "fused": record}


def main(path="design_space.png"):
    stationary = {name: DATAFLOWS[name] for name in DATAFLOWS if "stationary" in name}
    products = cy.sweep(matmul, SQUARE, SQUARE, schedule=stationary, grid=GRIDS)
    print(products, "\n\nthe fewest cycles for their PEs:", products.pareto(), sep="\n")
    pairs = list(fusion())
    print(f"\n{'two products on':15} {'apart':>12} {'utilization':>11} {'fused':>12} {'utilization':>11}")
    for pair in pairs:
        for_grid, one = "x".join(map(str, pair["grid"])), pair["fused"]
        print(
            f"{for_grid:15} {pair['cycles']:5} cycles {pair['utilization']:11.1%} "
            f"{one['cycles']:5} cycles {one['utilization']:11.1%}"
        )
    try:
        products.plot("cycles", "-utilization", by="schedule", path=path)
        print(f"\nutilisation against cycles, and what no other design beats: {path}")
    except cy.BackendUnavailable as error:
        print(f"\nno picture: {error.message}")


if __name__ == "__main__":
    main(*sys.argv[1:])
