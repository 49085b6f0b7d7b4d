"""Kernels on scalars in tiles beside LAPACK and BLAS on one thread: ratio of their times, above 1 faster.

The texts are those of the papers, compiled with `tile="auto"`, and given to `cy.run` as they are; the peers
are NumPy's, OpenBLAS's routines where it is found, and `cy.linalg`. All take turns, so that a drift of the
machine's speed hits all alike. Seconds are of the process: beside other jobs they count no waiting.
"""

import ctypes
import ctypes.util
import os
import time
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from common import medians, options, write

import cyclotron as cy

_FOUND = ctypes.util.find_library("openblas")
OPENBLAS = None if _FOUND is None else ctypes.CDLL(_FOUND)
POINTER = ctypes.POINTER(ctypes.c_double)


def dtrsm(lower: np.ndarray, right: np.ndarray) -> np.ndarray:
    """X of lower X = right, by CBLAS in row-major order."""
    result = right.copy()
    n, m = right.shape
    order, left, lower_triangle, plain, diagonal = 101, 141, 122, 111, 131
    OPENBLAS.cblas_dtrsm(
        *(order, left, lower_triangle, plain, diagonal, n, m, ctypes.c_double(1)),
        *(lower.ctypes.data_as(POINTER), n, result.ctypes.data_as(POINTER), m),
    )
    return result


def dgetrf(matrix: np.ndarray) -> np.ndarray:
    """The factors of a matrix with pivoting, of which a diagonally dominant one needs none."""
    result = matrix.copy()
    n = ctypes.c_int(len(matrix))
    pivots, info = (ctypes.c_int * len(matrix))(), ctypes.c_int()
    OPENBLAS.dgetrf_(
        *(ctypes.byref(n), ctypes.byref(n), result.ctypes.data_as(POINTER), ctypes.byref(n)),
        *(pivots, ctypes.byref(info)),
    )
    return result


@cy.kernel
def product(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def solve(L, B):
    X = cy.empty_like(B)
    for i in range(B.shape[0]):
        for r in range(B.shape[1]):
            X[i, r] = (B[i, r] - sum(L[i, j] * X[j, r] for j in range(i))) / L[i, i]
    return X


@cy.kernel
def cholesky(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    for j in range(n):
        L[j, j] = cy.sqrt(A[j, j] - sum(L[j, k] * L[j, k] for k in range(j)))
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - sum(L[i, k] * L[j, k] for k in range(j))) / L[j, j]
    return L


@cy.kernel
def lu(A):
    n = A.shape[0]
    F = A.copy()
    for k in range(n):
        for i in range(k + 1, n):
            F[i, k] = F[i, k] / F[k, k]
            for j in range(k + 1, n):
                F[i, j] -= F[i, k] * F[k, j]
    return F


def main() -> None:
    arguments = options(__doc__)
    n, runs = (64, 1) if arguments.quick else (2048, 7)
    general = np.random.default_rng(0).random((n, n))
    definite = general @ general.T + n * np.eye(n)
    lower = np.tril(definite)
    linalg: dict[str, Callable[[], object]] = {
        "product": lambda: cy.linalg.matmul(general, definite, backend="local", ranks=1),
        "Cholesky": lambda: cy.linalg.cholesky(definite, backend="local", ranks=1),
        "solve": lambda: cy.linalg.solve_triangular(lower, general, backend="local", ranks=1),
    }
    peers: dict[str, tuple[cy.Kernel, tuple[np.ndarray, ...], Callable[[], object]]] = {
        "product": (product, (general, definite), lambda: general @ definite),
        "Cholesky": (cholesky, (definite,), lambda: np.linalg.cholesky(definite)),
    }
    if OPENBLAS is not None:
        OPENBLAS.openblas_set_num_threads(1)
        peers["solve"] = (solve, (lower, general), lambda: dtrsm(lower, general))
        peers["LU"] = (lu, (definite,), lambda: dgetrf(definite))
    figures: dict[str, dict[str, float]] = {}
    for name, (kernel, given, peer) in peers.items():
        program = kernel.compile(*given, schedule=cy.Schedule(), tile="auto")
        cy.run(kernel, *given, threads=1)  # compiles it

        def seconds(call: Callable[[], object]) -> float:
            started = time.process_time()
            call()
            return time.process_time() - started

        found = medians(
            runs,
            blocked=lambda run=program: seconds(lambda: cy.run(run, threads=1)),
            user=lambda kernel=kernel, given=given: seconds(lambda: cy.run(kernel, *given, threads=1)),
            library=lambda peer=peer: seconds(peer),
            **({"linalg": lambda name=name: seconds(linalg[name])} if name in linalg else {}),
        )
        found["ratio"] = found["library"] / found["blocked"]
        figures[name] = found
        columns = "  ".join(f"{what} {value:.4f}" for what, value in found.items())
        print(f"{name:<10} {columns}")
    write(arguments.json, figures)


if __name__ == "__main__":
    main()
