"""Bounds of a run, and how to lift them: the critical path of a product of tiles, one change after the other.

Links are slow at first and channels shallow. Each machine changes what the path before says is longest.
`python examples/critical_path.py path.png roofline.png` draws the first path, and all machines below their
roofs.
"""

import sys

import numpy as np
from matmul_dataflows import matmul

import cyclotron as cy

TILE, ROWS, STEPS = 8, 4, 12
PE = cy.PE(matrix=cy.Unit(shape=(8, 8, 8), cycles=8))
MACHINES = {
    "one word a cycle": cy.Machine(pe=PE, link=cy.Link(latency=4, response_latency=4, depth=1)),
    "8 words a cycle": cy.Machine(
        pe=PE, link=cy.Link(latency=4, response_latency=4, depth=1, words_per_cycle=8)
    ),
    "and 4 messages deep": cy.Machine(
        pe=PE, link=cy.Link(latency=4, response_latency=4, depth=4, words_per_cycle=8)
    ),
}


def simulate(machine):
    A, B = np.ones((TILE * ROWS, TILE * STEPS)), np.ones((TILE * STEPS, TILE * ROWS))
    operands = (cy.blocked(X, (TILE, TILE)) for X in (A, B))
    schedule = cy.schedules.output_stationary(matmul)
    program = matmul.compile(*operands, schedule=schedule, machine=machine)
    return cy.run(program, backend="sim", functional=False)


def shares(result):
    """The kinds of step on the critical path, with their shares of the cycles."""
    path = result.critical_path()
    return {kind: cycles / path.cycles for kind, cycles in path.by_kind.items()}


def main(path="critical_path.png", roofline="roofline.png"):
    results = {name: simulate(machine) for name, machine in MACHINES.items()}
    for name, result in results.items():
        found = ", ".join(f"{kind} {share:.0%}" for kind, share in shares(result).items())
        flops = result.stats["flops"].sum() / result.cycles
        print(f"{name}: {result.cycles:,} cycles, {flops:.0f} flops a cycle; on the path: {found}")
    first, *others = results.values()
    print(f"\n{first.critical_path()}")
    try:
        first.plot.critical_path(path=path)
        first.plot.roofline(*others, labels=list(results), path=roofline)
        print(f"\nthe first path: {path}; all of them: {roofline}")
    except cy.BackendUnavailable as error:
        print(f"\nno picture: {error.message}")


if __name__ == "__main__":
    main(*sys.argv[1:])
