"""LU factorisation without pivoting, the same text on scalars and on tiles, on one PE, a line and grids."""

import numpy as np

import cyclotron as cy


@cy.kernel
def lu(A):
    n = A.shape[0]
    F = cy.empty_like(A)  # U on and above the diagonal, L below, as LAPACK packs them
    for i in range(n):
        for j in range(n):
            if i == j:
                F[i, j] = cy.linalg.lu(A[i, j] - sum(F[i, k] @ F[k, j] for k in range(i)))
            elif i < j:
                rest = A[i, j] - sum(F[i, k] @ F[k, j] for k in range(i))
                F[i, j] = cy.linalg.solve_triangular(F[i, i], rest, unit_diagonal=True)
            else:
                rest = A[i, j] - sum(F[i, k] @ F[k, j] for k in range(j))
                F[i, j] = cy.linalg.solve_triangular(F[j, j], rest, side="right", lower=False)
    return F


SCHEDULES = {
    "one PE": cy.Schedule(),
    "a line of rows": cy.Schedule().space("i"),
    "a grid": cy.Schedule().space("i", "j"),
    "a grid of 4 x 4, folded": cy.Schedule().space("i", "j").fold(i=4, j=4),
}


def residual(F, A):
    """LAPACK's: |L U - A| / (n |A| eps), to stay below 30."""
    L, U = np.tril(F, -1) + np.eye(len(F)), np.triu(F)
    return np.linalg.norm(L @ U - A, 1) / (len(A) * np.linalg.norm(A, 1) * np.finfo(float).eps)


def main():
    rng = np.random.default_rng(5)
    A = rng.standard_normal((128, 128)) + 128 * np.eye(128)
    small = A[:8, :8]
    for name, argument in {
        "8 x 8 scalars": small,
        "128 x 128 in tiles of 16": cy.blocked(A, (16, 16)),
    }.items():
        print(f"{name:26} {'PEs':>4} {'classes':>8} {'cycles':>8} {'busy':>6}  residual")
        for placement, schedule in SCHEDULES.items():
            program = lu.compile(argument, schedule=schedule)
            result = cy.run(program, backend="sim")
            ratio = residual(result.output, getattr(argument, "array", argument))
            assert ratio < 30
            busy = result.utilization
            print(
                f"  {placement:24} {busy.size:4} {len(program.classes):8} {result.cycles:8,} "
                f"{busy.mean():6.1%}  {ratio:.1e}"
            )

    try:
        lu(np.array([[0.0, 1.0], [1.0, 0.0]]))
    except cy.ExecutionError as error:
        print(f"\na zero pivot is reported, for rows are not exchanged:\n{error}")


if __name__ == "__main__":
    main()
