"""The busy PEs of an array that factorises tile by tile: a wavefront that widens on its way down (Fig. 16a).

PE (i, j) updates its tile j times and then solves, so lower rows and later diagonals have longer chains of
updates. `python examples/cholesky_utilization.py map.png` draws the map and the widest wavefront.
"""

import sys
from pathlib import Path

import numpy as np
from cholesky import cholesky

import cyclotron as cy

TILE = 16
LINK = cy.Link(words_per_cycle=TILE * TILE, depth=8)  # a tile a cycle
OPERATORS = ("cholesky", "solve_triangular", "matmul", "matmul_add", "syrk", "syrk_add", "subtract")
MACHINES = {
    # A SYRK, which computes half of what a GEMM does, takes as long.
    "16 cycles a tile operation": cy.Machine(link=LINK, pe=cy.PE(cycles=dict.fromkeys(OPERATORS, 16))),
    "2 flops a cycle": cy.Machine(link=LINK),
}


def simulate(tiles, machine):
    """Factorise a matrix of tiles × tiles tiles, with a PE for each; timing is all that is asked for."""
    matrix = cy.blocked(np.eye(TILE * tiles), (TILE, TILE))
    program = cholesky.compile(matrix, schedule=cy.Schedule().space("i", "j"), machine=machine)
    return cy.run(program, backend="sim", functional=False)


def by_row(result):
    """Mean utilisation of the PEs (i, 0) ... (i, i), for each i."""
    return np.array([row[: i + 1].mean() for i, row in enumerate(result.utilization)])


def computing(result, cycle):
    """The number of PEs of each row that compute at a cycle."""
    now = (result.events["start"] <= cycle) & (cycle < result.events["end"])
    return np.bincount(result.events["pe"][now] // result.grid[1], minlength=result.grid[0])


def percentages(shares):
    return " ".join(f"{share:5.1%}" for share in shares)


def main(path="cholesky_utilization.png"):
    for name, machine in MACHINES.items():
        result = simulate(8, machine)
        print(f"== 8×8 tiles, {name}: {result.cycles:,} cycles ==")
        print("utilisation by row, from the top ", percentages(by_row(result)))
        print("utilisation along the diagonal   ", percentages(result.utilization.diagonal()))
        busiest = sum(row.argmax() == i for i, row in enumerate(result.utilization))
        print(f"the diagonal's PE is the busiest in {busiest} of 8 rows")
        first, widest = result.active[0], int(result.active.argmax())
        rows = " ".join(map(str, computing(result, widest)))
        print(f"{first} PE computes at first, {result.active.max()} at cycle {widest:,}: by row {rows}\n")

    name, machine = next(iter(MACHINES.items()))
    print(f"== growing arrays, {name} ==")
    print("tiles  cycles  widest wavefront  SYRKs of the last PE  its utilisation")
    for tiles in (2, 4, 8, 16):
        result = simulate(tiles, machine)
        last = result.utilization[-1, -1]
        widest = f"{result.active.max()} PEs"
        print(f"{tiles:5} {result.cycles:7,} {widest:>17} {tiles - 1:21} {last:15.1%}")
    try:
        result = simulate(8, machine)
        result.plot.utilization(path=path)
        front = Path(path).with_stem(f"{Path(path).stem}_wavefront")
        result.plot.wavefront(int(result.active.argmax()), path=front)
        print(f"\nthe map of 8×8 tiles, and its widest wavefront: {path}, {front}")
    except cy.BackendUnavailable as error:
        print(f"\nno picture: {error.message}")


if __name__ == "__main__":
    main(*sys.argv[1:])
