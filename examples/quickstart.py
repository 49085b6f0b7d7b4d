"""Cyclotron in one page: a recurrence, its dataflow, the programs of its PEs, and their runs."""

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


def show(program):
    print(f"== {program.kernel_name}: the kernel ==\n\n{program.kernel.source}")
    print(f"== {program.kernel_name}: its dataflow, with {program.schedule} ==\n\n{program.dataflow}")
    print(f"== {program.kernel_name}: the programs of its processing elements ==\n")
    for pe_class in program.classes:
        print(f"{pe_class.name}: {pe_class.region}, {pe_class.pe_count} PEs")
    print(f"\n{program.classes[len(program.classes) // 2]}")
    print(f"== {program.kernel_name}: proven ==\n\n" + "\n".join(program.verify()) + "\n")


def run(program, expected):
    """Save the program, load it, and run the same bytes on the simulator, on threads and on MPI ranks."""
    print(f"== {program.kernel_name}: runs ==\n")
    with tempfile.TemporaryDirectory() as folder:
        program.save(Path(folder) / "program.cyc")
        loaded = cy.load(Path(folder) / "program.cyc")
    arrays = program.inputs().values()
    simulated = cy.run(program, backend="sim")
    for backend, ranks in (("sim", None), ("local", None), ("mpi", 4)):
        try:
            output = cy.run(loaded, *arrays, backend=backend, ranks=ranks).output
        except cy.BackendUnavailable as error:
            print(f"{backend:5}  not run: {error.message}")
            continue
        residual = np.linalg.norm(output - expected) / np.linalg.norm(expected)
        same = "same bits" if np.array_equal(output, simulated.output) else "OTHER BITS"
        print(f"{backend:5}  residual against NumPy {residual:.1e}, {same} as the simulator")
    print(f"{simulated.cycles:,} cycles, mean utilization {simulated.utilization.mean():.1%}\n")
    return simulated


def main():
    rng = np.random.default_rng(2026)
    A, B = rng.standard_normal((256, 320)), rng.standard_normal((320, 384))
    L = np.tril(rng.standard_normal((256, 256))) / 16 + np.eye(256)
    blocks = cy.blocked(A, (32, 32)), cy.blocked(B, (32, 32))
    product = matmul.compile(*blocks, schedule=cy.schedules.weight_stationary(matmul))
    show(product)
    result = run(product, A @ B)
    blocks = cy.blocked(L, (32, 32)), cy.blocked(B[:256], (32, 32))
    run(trsm.compile(*blocks, schedule=cy.Schedule().space("i")), np.linalg.solve(L, B[:256]))
    try:
        result.plot.utilization(path="quickstart_utilization.png")
        print("utilization of the weight-stationary array: quickstart_utilization.png")
    except cy.BackendUnavailable as error:
        print(f"no picture: {error.message}")


if __name__ == "__main__":
    main()
