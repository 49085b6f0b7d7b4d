"""Memory that is too slow for the PEs: products of larger and larger tiles, from DRAM at the array's edges.

The product of t×t tiles has t operations for each element that is loaded, so that from some tile on the PEs
are the bound. `python examples/memory_bound.py roofline.png stalls.png` draws all of them below the machine's
roofs, and what the PEs wait for with the smallest.
"""

import sys

from matmul_dataflows import matmul

import cyclotron as cy

ROWS, STEPS = 8, 24
TILES = (16, 32, 64, 128)
MACHINE = cy.machines.wormhole()


def simulate(tile, machine=MACHINE):
    shapes = (tile * ROWS, tile * STEPS), (tile * STEPS, tile * ROWS)
    operands = (cy.spec(shape, "float32", tile=(tile, tile)) for shape in shapes)
    program = matmul.compile(*operands, schedule=cy.schedules.output_stationary(matmul), machine=machine)
    return cy.run(program, backend="sim", functional=False)


def busiest(result):
    """The most used port."""
    return max(result.stats["memory_ports"], key=lambda port: port["busy_cycles"])


def main(roofline="memory_roofline.png", stalls="memory_stalls.png"):
    results = [simulate(tile) for tile in TILES]
    for tile, result in zip(TILES, results, strict=True):
        path = result.critical_path()
        on_memory = sum(path.by_kind.get(kind, 0) for kind in ("memory", "port")) / path.cycles
        print(
            f"tiles of {tile:3}: {result.cycles:9,} cycles, {result.utilization.mean():4.0%} computing, the "
            f"busiest port {busiest(result)['utilization']:4.0%} busy, memory {on_memory:4.0%} of the path"
        )
    first, *others = results
    print(f"\n{first.critical_path()}")
    try:
        labels = [f"tiles of {tile}" for tile in TILES]
        first.plot.roofline(*others, labels=labels, path=roofline)
        first.plot.stalls(path=stalls)
        print(f"\nall below their roofs: {roofline}; what PEs wait for with tiles of {TILES[0]}: {stalls}")
    except cy.BackendUnavailable as error:
        print(f"\nno picture: {error.message}")


if __name__ == "__main__":
    main(*sys.argv[1:])
