"""Triangular solves, L X = B and X L^T = B, with operands streamed, prefetched and broadcast (section 5)."""

import numpy as np

import cyclotron as cy


@cy.kernel
def solve(L, B):
    X = cy.empty_like(B)
    for i in range(B.shape[0]):
        for r in range(B.shape[1]):
            X[i, r] = (B[i, r] - sum(L[i, j] * X[j, r] for j in range(i))) / L[i, i]
    return X


@cy.kernel
def solve_right(L, B):
    X = cy.empty_like(B)
    for r in range(B.shape[0]):
        for i in range(B.shape[1]):
            rest = B[r, i] - sum(X[r, j] @ L[i, j].T for j in range(i))
            X[r, i] = cy.linalg.solve_triangular(L[i, i], rest, side="right", trans=True)
    return X


ROWS = cy.Schedule().space("i")
SCHEDULES = {
    "B streamed down the array": ROWS.stream("B", along="i"),
    "B resident": ROWS.prefetch("B"),
    "B broadcast from the feeder": ROWS.broadcast("B", along="i"),
    "L resident": ROWS.prefetch("L"),
    "X broadcast": ROWS.broadcast("X", along="i"),
    "right-hand sides in space": cy.Schedule().space("i", "r"),
}


def main():
    rng = np.random.default_rng(1)
    n, m = 24, 8
    L = np.tril(rng.standard_normal((n, n))) / 4 + np.eye(n)
    B = rng.standard_normal((n, m))
    X = np.linalg.solve(L, B)
    print(f"{'schedule':28} {'PEs':>5} {'cycles':>7} {'busy':>6} {'bytes/PE':>9}  residual")
    for name, schedule in SCHEDULES.items():
        program = solve.compile(L, B, schedule=schedule)
        result = cy.run(program, backend="sim")
        residual = np.linalg.norm(result.output - X) / np.linalg.norm(X)
        assert residual < 1e-13
        print(
            f"{name:28} {result.utilization.size:5} {result.cycles:7} {result.utilization.mean():6.1%} "
            f"{program.memory_bytes:9}  {residual:.1e}"
        )

    tiles = cy.blocked(L, (8, 8)), cy.blocked(np.ascontiguousarray(B.T), (4, 8))
    right = solve_right(*tiles)
    print(f"\nX L^T = B on tiles: residual {np.linalg.norm(right - X.T) / np.linalg.norm(X):.1e}")


if __name__ == "__main__":
    main()
