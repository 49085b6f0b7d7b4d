"""Cyclotron in one page: a recurrence, its dataflow, the programs of its processing elements, and their runs.

python examples/quickstart.py
"""

import tempfile
from pathlib import Path

import numpy as np

import cyclotron as cy


@cy.kernel
def matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def trsm(L, B):
    X = cy.empty_like(B)
    for i in range(B.shape[0]):
        for r in range(B.shape[1]):
            rest = B[i, r] - sum(L[i, j] @ X[j, r] for j in range(i))
            X[i, r] = cy.linalg.solve_triangular(L[i, i], rest)
    return X


def run_everywhere(program, expected):
    """Save the program, load it, and run the same bytes on the simulator, on threads and on MPI ranks."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.cyc"
        program.save(path)
        loaded = cy.load(path)
    simulated = cy.run(program, backend="sim")
    for backend in ("sim", "local", "mpi"):
        try:
            output = cy.run(
                loaded, *program.inputs().values(), backend=backend, ranks=4 if backend == "mpi" else None
            ).output
        except cy.BackendUnavailable as error:
            print(f"  {backend:5}  not run: {error.message}")
            continue
        residual = np.linalg.norm(output - expected) / np.linalg.norm(expected)
        same = "same bits" if np.array_equal(output, simulated.output) else "OTHER BITS"
        print(f"  {backend:5}  residual against NumPy {residual:.1e}, {same} as the simulator")
    print(f"  {simulated.cycles:,} cycles, mean utilization {simulated.utilization.mean():.1%}")
    return simulated


def main():
    rng = np.random.default_rng(2026)
    A, B = rng.standard_normal((256, 320)), rng.standard_normal((320, 384))
    L = np.tril(rng.standard_normal((256, 256))) / 16 + np.eye(256)

    print("== The kernel, a recurrence in plain Python ==\n")
    print(matmul.source)

    print("== Its dataflow on a weight-stationary array: A stays, B and C move ==\n")
    blocks = cy.blocked(A, (32, 32)), cy.blocked(B, (32, 32))
    stationary = cy.schedules.weight_stationary(matmul)
    program = matmul.compile(*blocks, schedule=stationary)
    print(stationary, "\n")
    print(program.dataflow)

    print("== The programs of its processing elements ==\n")
    for pe_class in program.classes:
        print(f"{pe_class.name}: {pe_class.region}, {pe_class.pe_count} PEs")
    print(f"\n{program.classes[len(program.classes) // 2]}")

    print("== What was proven ==\n")
    print("\n".join(f"  {proof}" for proof in program.verify()), "\n")

    print("== Runs: matrix product, tiles of 32x32 on an 8x10 array ==\n")
    result = run_everywhere(program, A @ B)

    print("\n== Runs: triangular solve, one block row to each of 8 PEs ==\n")
    solve = trsm.compile(
        cy.blocked(L, (32, 32)), cy.blocked(B[:256], (32, 32)), schedule=cy.Schedule().space("i")
    )
    run_everywhere(solve, np.linalg.solve(L, B[:256]))

    try:
        result.plot.utilization(path="quickstart_utilization.png")
        print("\nutilization picture: quickstart_utilization.png")
    except cy.BackendUnavailable as error:
        print(f"\nno picture: {error.message}")


if __name__ == "__main__":
    main()
