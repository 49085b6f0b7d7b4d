"""Look-ahead in factorisations, the next panel first, as nothing but an order of time.

The columns of tiles are dealt out to a ring of PEs; each is updated by all panels before it, and then is the
next panel. In the order (k, i) a PE updates all its columns by panel k before anything else: the next panel
waits for updates that nobody needs yet. In the order (j+k, i) column j is updated by panel k in step j + k:
panel k + 1 is factored (step 2k + 2) before column k + 3 is updated by panel k (step 2k + 3).
"""

import numpy as np
from cholesky import cholesky
from lu import lu

import cyclotron as cy

TILE, PES = 4, 4
ORDERS = {"right-looking": ("k", "i"), "look-ahead": ("j+k", "i")}
OPERATORS = ("cholesky", "lu", "solve_triangular", "matmul", "matmul_add", "syrk", "syrk_add", "subtract")


def columns(kernel, tensor, matrix, order, pes=PES):
    """Compile a factorisation whose columns of tiles are dealt out to a ring of PEs."""
    machine = cy.Machine(
        topology="ring",
        link=cy.Link(words_per_cycle=TILE * TILE, depth=1 << 20),  # panels may wait for their turn
        pe=cy.PE(memory=1 << 24, cycles=dict.fromkeys(OPERATORS, 16)),
    )
    schedule = cy.Schedule().space("j").time(*ORDERS[order]).fold(j=cy.cyclic(pes)).stream(tensor, along="j")
    return kernel.compile(matrix, schedule=schedule, machine=machine)


def main():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((48, 48))
    A = M @ M.T + 48 * np.eye(48)
    print("12 columns of tiles on a ring of 4 PEs:")
    for kernel, tensor in ((cholesky, "L"), (lu, "F")):
        cycles = {}
        for order in ORDERS:
            result = cy.run(columns(kernel, tensor, cy.blocked(A, TILE), order), backend="sim")
            lower = np.tril(result.output)
            upper = lower.T
            if kernel is lu:
                lower, upper = np.tril(result.output, -1) + np.eye(48), np.triu(result.output)
            assert np.abs(lower @ upper - A).max() < 1e-12 * np.abs(A).max()
            cycles[order] = result.cycles
            busy = f"{result.utilization.mean():.0%}"
            print(f"{kernel.name:9} {order:14} {result.cycles:6,} cycles, PEs compute {busy} of them")
        ratio = cycles["right-looking"] / cycles["look-ahead"]
        print(f"{kernel.name:9} look-ahead is {ratio:.2f} times as fast")


if __name__ == "__main__":
    main()
