"""The utilization of each PE of a triangular solve: the more, the further down the array (Fig. 17b).

Row i of L X = B needs i updates by the rows above it, then a division. `python examples/trsm_utilization.py
map.png` draws the map.
"""

import sys

from triangular_solve import solve

import cyclotron as cy

ARRAYS = {
    "a PE for each row": cy.Schedule().space("i"),
    "a PE for each row, L resident": cy.Schedule().space("i").prefetch("L"),
    "a PE for each element": cy.Schedule().space("i", "r"),
}


def simulate(n, m, schedule):
    """Solve for m right-hand sides with n rows; timing is all that is asked for."""
    program = solve.compile(cy.spec((n, n)), cy.spec((n, m)), schedule=schedule)
    return cy.run(program, backend="sim", functional=False)


def by_row(result):
    """Utilisation of the PEs of each row of L, the mean over the right-hand sides that have their own."""
    return result.utilization.reshape(result.grid[0], -1).mean(axis=1)


def main(path="trsm_utilization.png"):
    print("utilisation by row, from the top, of 8 rows and 6 right-hand sides")
    for name, schedule in ARRAYS.items():
        result = simulate(8, 6, schedule)
        shares = " ".join(f"{share:5.1%}" for share in by_row(result))
        print(f"{name:30} {result.cycles:4} cycles  {shares}")
    try:
        simulate(8, 6, ARRAYS["a PE for each element"]).plot.utilization(path=path)
        print(f"\nthe map of a PE for each element: {path}")
    except cy.BackendUnavailable as error:
        print(f"\nno picture: {error.message}")


if __name__ == "__main__":
    main(*sys.argv[1:])
