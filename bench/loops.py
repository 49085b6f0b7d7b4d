"""Textbook loops that match no tile operator, beside C and LAPACK on one thread: ratio of times.

The texts are given to `cy.run` as they are, which has the system's C compiler make machine code of their
loops once they take long; the peers are loops in C (-O3 -march=native) and NumPy's routines. All take turns.
Seconds are of the process: beside other jobs they count no waiting. Ratios above 1 are those of loops in C
whose branches the processor has to predict.
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
from common import medians, write
from common import options as options_of_command

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
void paths_if(double *restrict D, int n) {
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        if (D[i * n + k] + D[k * n + j] < D[i * n + j]) D[i * n + j] = D[i * n + k] + D[k * n + j];
}
void softmax(const double *restrict A, double *restrict Y, int n) {
  for (int i = 0; i < n; i++) {
    double top = A[i * n], total = 0;
    for (int j = 1; j < n; j++) top = A[i * n + j] > top ? A[i * n + j] : top;
    for (int j = 0; j < n; j++) total += Y[i * n + j] = exp(A[i * n + j] - top);
    for (int j = 0; j < n; j++) Y[i * n + j] /= total;
  }
}
void normalize(const double *restrict A, double *restrict Y, int n) {
  for (int i = 0; i < n; i++) {
    double mean = 0, variance = 0;
    for (int j = 0; j < n; j++) mean += A[i * n + j];
    mean /= n;
    for (int j = 0; j < n; j++) variance += (A[i * n + j] - mean) * (A[i * n + j] - mean);
    const double deviation = sqrt(variance / n + 1e-5);
    for (int j = 0; j < n; j++) Y[i * n + j] = (A[i * n + j] - mean) / deviation;
  }
}
void averages(const double *restrict x, double *restrict y, int n) {
  for (int i = 0; i < n; i++) y[i] = x[i];
  for (int i = n; i < n * n; i++) y[i] = 0.9 * y[i - n] + 0.1 * x[i];
}
void options(const double *restrict S, const double *restrict K, const double *restrict t, double *restrict C,
             double r, double v, int n) {
  for (int i = 0; i < n; i++) {
    const double d1 = (log(S[i] / K[i]) + (r + 0.5 * v * v) * t[i]) / (v * sqrt(t[i]));
    const double d2 = d1 - v * sqrt(t[i]);
    const double n1 = 0.5 * (1 + tanh(0.7978845608 * (d1 + 0.044715 * d1 * d1 * d1)));
    const double n2 = 0.5 * (1 + tanh(0.7978845608 * (d2 + 0.044715 * d2 * d2 * d2)));
    C[i] = S[i] * n1 - K[i] * exp(-r * t[i]) * n2;
  }
}
void nearest(const double *restrict X, const double *restrict M, long *restrict label, int n, int k, int d) {
  for (int i = 0; i < n; i++) {
    double best = INFINITY;
    long where = 0;
    for (int c = 0; c < k; c++) {
      double distance = 0;
      for (int j = 0; j < d; j++) distance += (X[i * d + j] - M[c * d + j]) * (X[i * d + j] - M[c * d + j]);
      if (distance < best) best = distance, where = c;
    }
    label[i] = where;
  }
}
void ell_product(const double *restrict V, const long *restrict J, const double *restrict x,
                 double *restrict y, int n, int w) {
  for (int i = 0; i < n; i++) {
    double sum = 0;
    for (int p = 0; p < w; p++) sum += V[i * w + p] * x[J[i * w + p]];
    y[i] = sum;
  }
}
static int most(int a, int b) { return a > b ? a : b; }
void local_alignment(const int *restrict a, const int *restrict b, int *restrict H, int n) {
  const int m = n + 1;
  for (int i = 0; i < m; i++) H[i] = H[i * m] = 0;
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= n; j++) {
      const int s = a[i - 1] == b[j - 1] ? 2 : -1;
      const int gap = most(H[(i - 1) * m + j], H[i * m + j - 1]) - 1;
      H[i * m + j] = most(most(0, H[(i - 1) * m + j - 1] + s), gap);
    }
}
void global_alignment(const int *restrict a, const int *restrict b, int *restrict H, int n) {
  const int m = n + 1;
  for (int i = 0; i < m; i++) H[i] = H[i * m] = -i;
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= n; j++) {
      const int s = a[i - 1] == b[j - 1] ? 2 : -1;
      H[i * m + j] = most(H[(i - 1) * m + j - 1] + s, most(H[(i - 1) * m + j], H[i * m + j - 1]) - 1);
    }
}
void foldings(const int *restrict s, int *restrict N, int n) {
  for (int i = 0; i < n * n; i++) N[i] = 0;
  for (int i = n - 2; i >= 0; i--)
    for (int j = i + 1; j < n; j++) {
      int best = most(N[i * n + j - 1], N[(i + 1) * n + j]);
      if (j > i + 1) best = most(best, N[(i + 1) * n + j - 1] + (s[i] + s[j] == 3));
      for (int k = i + 1; k < j; k++) best = most(best, N[i * n + k] + N[(k + 1) * n + j]);
      N[i * n + j] = best;
    }
}
"""
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC", "-lm")


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


@cy.kernel
def paths_if(D):
    D = D.copy()
    for k in range(D.shape[0]):
        for i in range(D.shape[0]):
            for j in range(D.shape[0]):
                if D[i, k] + D[k, j] < D[i, j]:
                    D[i, j] = D[i, k] + D[k, j]
    return D


@cy.kernel
def gram_schmidt_of_arrays(A):
    n = A.shape[1]
    V = A.copy()
    R = cy.zeros((n, n))
    for k in range(n):
        R[k, k] = cy.sqrt(V[:, k] @ V[:, k])
        V[:, k] = V[:, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = V[:, k] @ V[:, j]
            V[:, j] = V[:, j] - V[:, k] * R[k, j]
    return V, R


@cy.kernel
def softmax(A):
    Y = cy.empty_like(A)
    for i in range(A.shape[0]):
        top = A[i, 0]
        for j in range(1, A.shape[1]):
            top = max(top, A[i, j])
        total = 0.0
        for j in range(A.shape[1]):
            Y[i, j] = cy.exp(A[i, j] - top)
            total += Y[i, j]
        for j in range(A.shape[1]):
            Y[i, j] = Y[i, j] / total
    return Y


@cy.kernel
def normalize(A):
    mean = A.mean(axis=1, keepdims=True)
    variance = ((A - mean) ** 2).mean(axis=1, keepdims=True)
    return (A - mean) / cy.sqrt(variance + 1e-5)


@cy.kernel
def averages(x):
    y = cy.empty_like(x)
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = 0.9 * y[i - 1] + 0.1 * x[i]
    return y


@cy.kernel
def options(S, K, t, r, v):
    C = cy.empty_like(S)
    for i in range(S.shape[0]):
        d1 = (cy.log(S[i] / K[i]) + (r + 0.5 * v * v) * t[i]) / (v * cy.sqrt(t[i]))
        d2 = d1 - v * cy.sqrt(t[i])
        n1 = 0.5 * (1 + cy.tanh(0.7978845608 * (d1 + 0.044715 * d1 * d1 * d1)))
        n2 = 0.5 * (1 + cy.tanh(0.7978845608 * (d2 + 0.044715 * d2 * d2 * d2)))
        C[i] = S[i] * n1 - K[i] * cy.exp(-r * t[i]) * n2
    return C


@cy.kernel
def nearest(X, M):
    label = cy.zeros(X.shape[0], dtype=cy.int64)
    for i in range(X.shape[0]):
        best = cy.inf
        where = 0
        for c in range(M.shape[0]):
            distance = 0.0
            for j in range(X.shape[1]):
                distance += (X[i, j] - M[c, j]) * (X[i, j] - M[c, j])
            if distance < best:
                best = distance
                where = c
        label[i] = where
    return label


@cy.kernel
def ell_product(V, J, x):
    y = cy.zeros(V.shape[0])
    for i in range(V.shape[0]):
        for p in range(V.shape[1]):
            y[i] += V[i, p] * x[J[i, p]]
    return y


@cy.kernel
def local_alignment(a, b):
    n, m = a.shape[0], b.shape[0]
    H = cy.zeros((n + 1, m + 1), dtype=cy.int32)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            s = 2 if a[i - 1] == b[j - 1] else -1
            H[i, j] = max(0, H[i - 1, j - 1] + s, H[i - 1, j] - 1, H[i, j - 1] - 1)
    return H


@cy.kernel
def global_alignment(a, b):
    n, m = a.shape[0], b.shape[0]
    H = cy.zeros((n + 1, m + 1), dtype=cy.int32)
    for i in range(1, n + 1):
        H[i, 0] = -i
    for j in range(1, m + 1):
        H[0, j] = -j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            s = 2 if a[i - 1] == b[j - 1] else -1
            H[i, j] = max(H[i - 1, j - 1] + s, H[i - 1, j] - 1, H[i, j - 1] - 1)
    return H


@cy.kernel
def foldings(s):
    n = s.shape[0]
    N = cy.zeros((n, n), dtype=cy.int32)
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            best = max(N[i, j - 1], N[i + 1, j])
            if j > i + 1:
                best = max(best, N[i + 1, j - 1] + (1 if s[i] + s[j] == 3 else 0))
            for k in range(i + 1, j):
                best = max(best, N[i, k] + N[k + 1, j])
            N[i, j] = best
    return N


def seconds(call: Callable[[], object]) -> float:
    """Return the process's time for a call."""
    started = time.process_time()
    call()
    return time.process_time() - started


Case = tuple[cy.Kernel, tuple[np.ndarray | float, ...], Callable[[], object]]


def cases(loops: ctypes.CDLL, quick: bool) -> dict[str, Case]:
    """Return kernels, their arguments, and their peers, by name."""
    n, m, points = (32, 32, 64) if quick else (512, 4096, 1 << 18)
    random = np.random.default_rng(0)
    A, B = random.random((2, n, n)) + n * np.eye(n)
    result = np.empty_like(A)

    def paths_in_c(function: Callable[..., object]) -> Callable[[], object]:
        def call() -> None:
            result[:] = A
            function(address(result), n)

        return call

    def in_c(function: Callable[..., object], *given: object, like: np.ndarray) -> Callable[[], object]:
        def call() -> None:
            out = np.empty_like(like)  # new, as a run's is
            arrays = (out if one is None else one for one in given)
            function(*(address(one) if isinstance(one, np.ndarray) else one for one in arrays))

        return call

    S, K, t = random.random((3, points)) * [[50], [50], [2]] + [[60], [60], [0.1]]
    r, v = 0.03, 0.2
    X, M = random.random((points // 16, 16)), random.random((32, 16))
    V, J = random.random((points // 16, 16)), random.integers(0, points // 16, (points // 16, 16))
    x = random.random(points // 16)
    a, b, s = (random.integers(0, 4, size).astype(np.int32) for size in (m, m, n))
    H, real = np.empty((m + 1, m + 1), np.int32), ctypes.c_double
    return {
        "Floyd-Warshall": (paths, (A,), paths_in_c(loops.paths)),
        "with `if`": (paths_if, (A,), paths_in_c(loops.paths_if)),
        "the same of arrays": (paths_of_arrays, (A,), paths_in_c(loops.paths)),
        "min-plus product": (sums, (A, B), in_c(loops.sums, A, B, None, n, like=A)),
        "Gram-Schmidt": (gram_schmidt, (A,), lambda: np.linalg.qr(A)),
        "of arrays": (gram_schmidt_of_arrays, (A,), lambda: np.linalg.qr(A)),
        "Gauss-Jordan": (gauss_jordan, (A,), lambda: np.linalg.inv(A)),
        "softmax": (softmax, (A,), in_c(loops.softmax, A, None, n, like=A)),
        "layer norm": (normalize, (A,), in_c(loops.normalize, A, None, n, like=A)),
        "moving averages": (averages, (A,), in_c(loops.averages, A, None, n, like=A)),
        "Black-Scholes": (
            options,
            (S, K, t, r, v),
            in_c(loops.options, S, K, t, None, real(r), real(v), points, like=S),
        ),
        "nearest means": (nearest, (X, M), in_c(loops.nearest, X, M, None, len(X), *M.shape, like=J)),
        "sparse product": (
            ell_product,
            (V, J, x),
            in_c(loops.ell_product, V, J, x, None, *V.shape, like=x),
        ),
        "Smith-Waterman": (local_alignment, (a, b), in_c(loops.local_alignment, a, b, None, m, like=H)),
        "Needleman-Wunsch": (global_alignment, (a, b), in_c(loops.global_alignment, a, b, None, m, like=H)),
        "Nussinov": (foldings, (s,), in_c(loops.foldings, s, None, n, like=np.empty((n, n), np.int32))),
    }


def main() -> None:
    arguments = options_of_command(__doc__)
    runs = 1 if arguments.quick else 9
    with tempfile.TemporaryDirectory() as folder:
        loops = compiled(Path(folder))
    figures: dict[str, dict[str, float]] = {}
    for name, (kernel, given, peer) in cases(loops, arguments.quick).items():
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
