"""Five dataflows of one matrix product (Fig. 13 of the paper): only the schedule changes."""

import numpy as np

import cyclotron as cy


@cy.kernel
def matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


DATAFLOWS = {
    "output stationary": cy.schedules.output_stationary(matmul),
    "weight stationary": cy.schedules.weight_stationary(matmul),
    "input stationary": cy.schedules.input_stationary(matmul),
    "SUMMA": cy.schedules.summa(matmul),
    "PUMMA": cy.schedules.pumma(matmul),
}


def main():
    rng = np.random.default_rng(0)
    A = rng.integers(-9, 10, (16, 12)).astype(float)
    B = rng.integers(-9, 10, (12, 20)).astype(float)
    print(
        f"{'dataflow':18} {'grid':>7} {'cycles':>7} {'busy':>6} {'words moved':>12}   time of point (i, j, k)"
    )
    for name, schedule in DATAFLOWS.items():
        program = matmul.compile(A, B, schedule=schedule)
        result = cy.run(program, backend="sim")
        assert np.array_equal(result.output, A @ B)
        grid = "x".join(map(str, program.grid))
        print(
            f"{name:18} {grid:>7} {result.cycles:7} {result.utilization.mean():6.1%} "
            f"{result.stats['words_moved']:12}   {program.notes.get('time', '')}"
        )


if __name__ == "__main__":
    main()
