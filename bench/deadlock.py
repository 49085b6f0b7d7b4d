"""The time until a deadlock is named, with the depths that let the program pass, on up to 512x512 PEs."""

import time
from typing import Any

from common import options, write

import cyclotron as cy

BOUND_SECONDS = 1.0


@cy.kernel
def exchange(A):
    """All neighbours exchange what they made five steps ago: links must hold five messages."""
    T, n, m = A.shape
    X = cy.empty_like(A)
    for t in range(T):
        for i in range(n):
            for j in range(m):
                if t < 5 or i == 0 or i == n - 1 or j == 0 or j == m - 1:
                    X[t, i, j] = A[t, i, j]
                else:
                    X[t, i, j] = (
                        X[t - 5, i - 1, j] + X[t - 5, i + 1, j] + X[t - 5, i, j - 1] + X[t - 5, i, j + 1]
                    )
    return X


def named(program: cy.Program) -> tuple[float, str]:
    """Seconds until the error, and what it says to do."""
    start = time.perf_counter()
    try:
        cy.run(program, backend="sim", functional=False)
    except cy.DeadlockError as error:
        return time.perf_counter() - start, error.help
    raise AssertionError("no deadlock")


def main() -> None:
    arguments = options(__doc__)
    figures: dict[str, Any] = {}
    for side in (8, 16) if arguments.quick else (16, 64, 256, 512):
        program = exchange.compile(
            cy.spec((12, side, side)),
            schedule=cy.Schedule().space("i", "j"),
            machine=cy.Machine(link=cy.Link(depth=5)),
        ).with_machine(cy.Machine(link=cy.Link(depth=2)))  # compiled for that, it would send later
        seconds, advice = named(program)
        figures[f"{side}x{side}"] = {"seconds": seconds, "advice": advice}
        print(f"{side}x{side} PEs: {seconds:.2f} s, {seconds / BOUND_SECONDS:.2f} of the bound; {advice}")
    write(arguments.json, figures)


if __name__ == "__main__":
    main()
