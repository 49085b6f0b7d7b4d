"""A sum in log2(n) hops: up a binary tree of PEs, against one PE after the other along a line.

Each PE of the tree adds what the two below it send; a channel joins PE p to PE 2p + 1, another one to PE
2p + 2. `python examples/tree_reduction.py stalls.png` draws what the PEs of the tree wait for.
"""

import sys

import numpy as np

import cyclotron as cy

LINK = cy.Link(latency=3)


@cy.kernel
def tree_sums(A):
    """Sums of the columns of A in the subtrees of a heap, whose leaves are its rows."""
    n, m = A.shape
    S = cy.empty((2 * n - 1, m))
    for p in range(2 * n - 2, -1, -1):
        for k in range(m):
            if p >= n - 1:
                S[p, k] = A[p - n + 1, k]
            else:
                S[p, k] = S[2 * p + 1, k] + S[2 * p + 2, k]
    return S


@cy.kernel
def line_sums(A):
    """The same sums, term by term along a line."""
    s = cy.empty((A.shape[1],))
    for k in range(A.shape[1]):
        s[k] = sum(A[p, k] for p in range(A.shape[0]))
    return s


def on_a_tree(A):
    schedule = cy.Schedule().space("-p").time("k")
    return tree_sums.compile(A, schedule=schedule, machine=cy.machines.tree(len(A), link=LINK))


def on_a_line(A):
    return line_sums.compile(A, schedule=cy.Schedule().space("p").time("k"), machine=cy.Machine(link=LINK))


def main(picture="tree_stalls.png"):
    for rows in (4, 16, 64, 256):
        A = np.arange(8.0 * rows).reshape(rows, 8)
        tree, line = (cy.run(program(A), backend="sim") for program in (on_a_tree, on_a_line))
        assert np.array_equal(tree.output[0], A.sum(0))
        assert np.array_equal(line.output, A.sum(0))
        print(f"{rows:3} rows of 8: {tree.cycles:4} cycles on the tree, {line.cycles:4} on the line")
    cy.run(on_a_tree(A), backend="sim").plot.stalls(path=picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
