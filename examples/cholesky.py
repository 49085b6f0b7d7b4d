"""Cholesky on scalars and on tiles: two dependent equations, and values that turn at the diagonal (E12)."""

import numpy as np

import cyclotron as cy


@cy.kernel
def cholesky(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    for j in range(n):
        L[j, j] = cy.linalg.cholesky(A[j, j] - sum(L[j, k] @ L[j, k].T for k in range(j)))
        for i in range(j + 1, n):
            rest = A[i, j] - sum(L[i, k] @ L[j, k].T for k in range(j))
            L[i, j] = cy.linalg.solve_triangular(L[j, j], rest, side="right", trans=True)
    return L


def main():
    rng = np.random.default_rng(3)
    M = rng.standard_normal((96, 96))
    A = M @ M.T + 96 * np.eye(96)
    small = A[:8, :8]

    program = cholesky.compile(small, schedule=cy.Schedule().space("i", "j"))
    print(program.dataflow)
    for name, argument in {"8x8 scalars": small, "96x96 in tiles of 16": cy.blocked(A, (16, 16))}.items():
        program = cholesky.compile(argument, schedule=cy.Schedule().space("i", "j"))
        result = cy.run(program, backend="sim")
        expected = np.linalg.cholesky(getattr(argument, "array", argument))
        residual = np.linalg.norm(result.output - expected) / np.linalg.norm(expected)
        assert residual < 1e-13
        print(
            f"{name:22} {len(program.classes):3} classes, {result.cycles:7,} cycles, "
            f"{result.utilization.mean():5.1%} busy, residual {residual:.1e}"
        )

    try:
        cholesky(-small)
    except cy.ExecutionError as error:
        print(f"\na matrix that is not positive definite is reported:\n{error}")


if __name__ == "__main__":
    main()
