"""The gap between the mapper's schedules and their bounds: found, bound, gap, seconds and candidates.

Each search ends by itself, by a gap of 2 %, or after so many candidates, so that it finds the same each time;
seconds are of processor time, of one core.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from common import options, write

import cyclotron as cy

Arguments = tuple[Any, ...]


@cy.kernel
def gemm(A, B):
    return A @ B


@cy.kernel
def tiled_gemm(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def convolution(image, weights):
    rows, columns = image.shape[0] - weights.shape[0] + 1, image.shape[1] - weights.shape[1] + 1
    out = cy.empty((rows, columns))
    for x in range(rows):
        for y in range(columns):
            out[x, y] = sum(
                image[x + r, y + s] * weights[r, s]
                for r in range(weights.shape[0])
                for s in range(weights.shape[1])
            )
    return out


@cy.kernel
def solve(L, B):
    n, m = B.shape
    X = cy.empty_like(B)
    for i in range(n):
        for r in range(m):
            X[i, r] = (B[i, r] - sum(L[i, j] * X[j, r] for j in range(i))) / L[i, i]
    return X


@cy.kernel
def cholesky(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    for j in range(n):
        for i in range(j, n):
            if i == j:
                L[i, j] = cy.sqrt(A[i, j] - sum(L[i, k] * L[j, k] for k in range(j)))
            else:
                L[i, j] = (A[i, j] - sum(L[i, k] * L[j, k] for k in range(j))) / L[j, j]
    return L


@cy.kernel
def mttkrp(X, B, C):
    M = cy.empty((X.shape[0], B.shape[1]))
    for i in range(X.shape[0]):
        for r in range(B.shape[1]):
            M[i, r] = sum(
                X[i, j, k] * B[j, r] * C[k, r] for j in range(X.shape[1]) for k in range(X.shape[2])
            )
    return M


def ones(*shapes: tuple[int, ...]) -> Arguments:
    return tuple(np.ones(shape) for shape in shapes)


def cases(n: int) -> dict[str, tuple[cy.Kernel, Arguments]]:
    """Each kernel with arguments of about n elements along a dimension."""
    tile, half = 32, n // 2
    rows, deep = n * tile, half * tile
    return {
        f"gemm {2 * n}": (gemm, ones((2 * n, 2 * n), (2 * n, 2 * n))),
        f"gemm {n}×{half + 1}×{2 * n - 1}": (gemm, ones((n, 2 * n - 1), (2 * n - 1, half + 1))),
        f"gemm in tiles {n}×{n}×{half}": (
            tiled_gemm,
            tuple(cy.blocked(one, (tile, tile)) for one in ones((rows, deep), (deep, rows))),
        ),
        f"convolution {n}² by 3²": (convolution, ones((n + 2, n + 2), (3, 3))),
        f"solve {n}×{n}": (solve, ones((n, n), (n, n))),
        f"cholesky {n}": (cholesky, ones((n, n))),
        f"mttkrp {n - 2}⁴": (mttkrp, ones((n - 2, n - 2, n - 2), (n - 2, n - 2), (n - 2, n - 2))),
    }


MACHINES: dict[str, Callable[[], cy.Machine]] = {
    "mesh 4×4": lambda: cy.Machine(grid=(4, 4)),
    "mesh 8×8": lambda: cy.Machine(grid=(8, 8)),
    "gemmini_16": lambda: cy.machines.gemmini_16("float64"),
    "wormhole": cy.machines.wormhole,
}


def measure(kernel: cy.Kernel, args: Arguments, machine: cy.Machine, candidates: int) -> dict[str, Any]:
    """The findings of one search."""
    try:
        found = cy.map(kernel, *args, machine=machine, candidates=candidates, time_limit=None)
    except cy.ScheduleError as error:
        return {"refused": error.message}
    return {
        "found": found[0].cycles,
        "bound": found.bound,
        "gap": found.gap,
        "seconds": found.report.seconds,
        "candidates": found.report.tried,
        "ended": found.report.ended,
    }


def main() -> None:
    """Print a line a kernel and machine."""
    chosen = options(__doc__)
    n, candidates = (3, 3) if chosen.quick else (8, 40)
    figures: dict[str, Any] = {}
    print(f"{'kernel':<24}{'machine':<12}{'found':>8}{'bound':>8}{'gap':>6}{'seconds':>9}{'candidates':>12}")
    for name, machine in MACHINES.items():
        for case, (kernel, args) in cases(n).items():
            one = figures[f"{case} on {name}"] = measure(kernel, args, machine(), candidates)
            if "refused" in one:
                print(f"{case:<24}{name:<12}{one['refused'][:60]}")
                continue
            print(
                f"{case:<24}{name:<12}{one['found']:>8}{one['bound']:>8}{one['gap']:>6.0%}"
                f"{one['seconds']:>9.1f}{one['candidates']:>12}",
                flush=True,
            )
    write(chosen.json, figures)


if __name__ == "__main__":
    main()
