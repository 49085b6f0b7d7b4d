"""A prefix sum, the smallest recurrence with a dependence on its own output."""

import numpy as np

import cyclotron as cy


@cy.kernel
def prefix_sum(A):
    P = cy.empty_like(A)
    for i in range(A.shape[0]):
        if i == 0:
            P[i] = A[i]
        else:
            P[i] = P[i - 1] + A[i]
    return P


def main():
    A = np.arange(1, 13)
    program = prefix_sum.compile(A, schedule=cy.Schedule().space("i"))
    print(program.recurrences)
    print(program.dataflow)
    for pe_class in program.classes:
        print(pe_class)
    result = cy.run(program, backend="sim")
    print(f"A          {A}\nprefix sum {result.output}   in {result.cycles} cycles")
    assert np.array_equal(result.output, np.cumsum(A))

    rows = np.arange(12.0).reshape(6, 2)
    columns = prefix_rows(rows)
    assert np.array_equal(columns, np.cumsum(rows, axis=0))

    # The same text on tiles: each tile adds the running total of the tiles before it.
    tiles = prefix_sum(cy.blocked(np.arange(12.0), (4,)))
    print(f"on tiles of 4: {tiles}")
    assert np.array_equal(tiles, np.cumsum(np.arange(12.0).reshape(3, 4), axis=0).ravel())


@cy.kernel
def prefix_rows(A):
    P = cy.empty_like(A)
    for i in range(A.shape[0]):
        for c in range(A.shape[1]):
            P[i, c] = P[i - 1, c] + A[i, c] if i > 0 else A[i, c]
    return P


if __name__ == "__main__":
    main()
