"""Sparse matrices times vectors, in ELL and in CSR: elements are read and added to where data tell."""

import numpy as np
from pictures import canvas

import cyclotron as cy


@cy.kernel
def ell(a, columns, x):
    y = cy.zeros(a.shape[0], dtype=a.dtype)
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            y[i] += a[i, k] * x[columns[i, k]]
    return y


@cy.kernel
def csr(a, columns, starts, x):
    y = cy.zeros(starts.shape[0] - 1, dtype=a.dtype)
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            y[i] += a[k] * x[columns[k]]
    return y


def poisson(n):
    """The five-point matrix of an n x n grid: in ELL, padded by zeros, and in CSR."""
    rows = np.arange(n * n)
    i, j = np.divmod(rows, n)
    offsets = [(-1, 0), (0, -1), (0, 0), (0, 1), (1, 0)]
    inside = np.array([(i + d >= 0) & (i + d < n) & (j + e >= 0) & (j + e < n) for d, e in offsets]).T
    columns = np.where(inside, rows[:, None] + [d * n + e for d, e in offsets], 0)
    a = np.where(inside, [-1.0, -1.0, 4.0, -1.0, -1.0], 0.0)
    starts = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
    return (a, columns), (a[inside], columns[inside], starts)


def main():
    n = 8
    x = np.random.default_rng(0).random(n * n)
    in_ell, in_csr = poisson(n)
    a, columns = in_ell
    expected = (a * x[columns]).sum(axis=1)
    pes, cycles = [1, 2, 4, 8, 16, 32], []
    for count in pes:
        schedule = cy.Schedule().space("i").prefetch("x")  # each PE has the vector
        machine = cy.Machine(grid=(count,))
        result = cy.run(ell.compile(*in_ell, x, schedule=schedule, machine=machine), backend="sim")
        assert np.allclose(result.output, expected)
        cycles.append(result.cycles)
    print(f"ELL, {a.size} elements: {cycles} cycles on {pes} PEs")
    for schedule in (cy.Schedule(), None):  # one PE, and the default
        program = csr.compile(*in_csr, x, schedule=schedule)
        result = cy.run(program, backend="sim")
        assert np.allclose(result.output, expected)
        print(f"CSR, {len(in_csr[0])} elements: {result.cycles} cycles on {program.grid[0]} PEs")

    axes = canvas(2, 8, 3.2)
    if axes is None:
        return
    axes[0].plot(np.repeat(np.arange(n * n), a.shape[1]), columns.ravel(), ".", markersize=3)
    axes[0].set(title="columns of the elements", xlabel="row", ylabel="column")
    axes[1].loglog(pes, cycles, "o-", base=2)
    axes[1].set(title="cycles in ELL", xlabel="PEs", ylabel="cycles")
    axes[0].figure.savefig("sparse_matvec.png", dpi=120)


if __name__ == "__main__":
    main()
