"""Textbook loops that match no tile operator, beside C and LAPACK on one thread: ratio of times.

The texts are given to `cy.run` as they are, which has the system's C compiler make machine code of their
loops once they take long; the peers are loops in C (-O3 -march=native) and NumPy's routines. All take turns.
Seconds are of the process: beside other jobs they count no waiting.
"""

import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from common import medians, options, write

import cyclotron as cy

LOOPS = """
#include <math.h>
void paths(double *restrict D, int n) {
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++) {
      const double a = D[i * n + k];
      for (int j = 0; j < n; j++) {
        const double sum = a + D[k * n + j];
        D[i * n + j] = sum < D[i * n + j] ? sum : D[i * n + j];
      }
    }
}
void sums(const double *restrict A, const double *restrict B, double *restrict C, int n) {
  for (int i = 0; i < n * n; i++) C[i] = INFINITY;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++)
      for (int j = 0; j < n; j++) {
        const double sum = A[i * n + k] + B[k * n + j];
        C[i * n + j] = sum < C[i * n + j] ? sum : C[i * n + j];
      }
}
"""
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC")


def compiled(folder: Path) -> ctypes.CDLL:
    """Return the loops in C."""
    (folder / "loops.c").write_text(LOOPS)
    subprocess.run(["cc", *FLAGS, "-o", folder / "loops.so", folder / "loops.c"], check=True)
    return ctypes.CDLL(str(folder / "loops.so"))


def address(array: np.ndarray) -> ctypes.c_void_p:
    """Return where its numbers are."""
    return array.ctypes.data_as(ctypes.c_void_p)


@cy.kernel
def paths(D):
    D = D.copy()
    for k in range(D.shape[0]):
        for i in range(D.shape[0]):
            for j in range(D.shape[0]):
                D[i, j] = min(D[i, j], D[i, k] + D[k, j])
    return D


@cy.kernel
def paths_of_arrays(D):
    D = D.copy()
    for k in range(D.shape[0]):
        D = cy.minimum(D, D[:, k : k + 1] + D[k : k + 1, :])
    return D


@cy.kernel
def sums(A, B):
    C = cy.full(A.shape, cy.inf)
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            for k in range(A.shape[0]):
                C[i, j] = min(C[i, j], A[i, k] + B[k, j])
    return C


@cy.kernel
def gram_schmidt(A):
    m, n = A.shape
    V = A.copy()
    Q = cy.zeros_like(A)
    R = cy.zeros((n, n))
    for k in range(n):
        R[k, k] = cy.sqrt(sum(V[i, k] * V[i, k] for i in range(m)))
        for i in range(m):
            Q[i, k] = V[i, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = sum(Q[i, k] * V[i, j] for i in range(m))
            for i in range(m):
                V[i, j] = V[i, j] - Q[i, k] * R[k, j]
    return Q, R


@cy.kernel
def gauss_jordan(A):
    n = A.shape[0]
    M = A.copy()
    for k in range(n):
        p = 1 / M[k, k]
        for j in range(n):
            if j != k:
                M[k, j] = M[k, j] * p
        for i in range(n):
            if i != k:
                for j in range(n):
                    if j != k:
                        M[i, j] -= M[i, k] * M[k, j]
                M[i, k] = -M[i, k] * p
        M[k, k] = p
    return M


def seconds(call: Callable[[], object]) -> float:
    """Return the process's time for a call."""
    started = time.process_time()
    call()
    return time.process_time() - started


def main() -> None:
    arguments = options(__doc__)
    n, runs = (32, 1) if arguments.quick else (512, 9)
    A, B = np.random.default_rng(0).random((2, n, n)) + n * np.eye(n)
    with tempfile.TemporaryDirectory() as folder:
        loops = compiled(Path(folder))
    result = np.empty_like(A)

    def paths_in_c() -> None:
        result[:] = A
        loops.paths(address(result), n)

    def sums_in_c() -> None:
        loops.sums(address(A), address(B), address(result), n)

    cases: dict[str, tuple[cy.Kernel, tuple[np.ndarray, ...], Callable[[], object]]] = {
        "Floyd-Warshall": (paths, (A,), paths_in_c),
        "the same of arrays": (paths_of_arrays, (A,), paths_in_c),
        "min-plus product": (sums, (A, B), sums_in_c),
        "Gram-Schmidt": (gram_schmidt, (A,), lambda: np.linalg.qr(A)),
        "Gauss-Jordan": (gauss_jordan, (A,), lambda: np.linalg.inv(A)),
    }
    figures: dict[str, dict[str, float]] = {}
    for name, (kernel, given, peer) in cases.items():
        for _ in range(1 if arguments.quick else 4):  # until its loops are compiled
            cy.run(kernel, *given, threads=1)
            time.sleep(0 if arguments.quick else 0.5)
        found = medians(
            runs,
            user=lambda kernel=kernel, given=given: seconds(lambda: cy.run(kernel, *given, threads=1)),
            peer=lambda peer=peer: seconds(peer),
        )
        found["ratio"] = found["peer"] / found["user"]
        figures[name] = found
        print(f"{name:<20} " + "  ".join(f"{what} {value:.4f}" for what, value in found.items()))
    write(arguments.json, figures)


if __name__ == "__main__":
    main()
