"""Times one kernel of Cyclotron on the ranks of ``mpirun``, on data that are distributed before and after.

    ranks.py gemm|trsm|cholesky N TILE REPEATS

Rank 0 prints the wall and processor seconds of each repetition (of the slowest and the busiest rank),
``residual R``, scaled by n eps as in `scalapack.c`, and the profile of the last repetition as JSON.
"""

from __future__ import annotations

import json
import sys

import numpy as np

import cyclotron as cy
from cyclotron.mpi.collective import world
from cyclotron.mpi.distributed import DistributedRun, distribute, run_distributed
from cyclotron.mpi.extension import load

UNBOUNDED = cy.PE(memory=1 << 40)


@cy.kernel
def gemm(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def trsm(L, B):
    X = cy.empty_like(B)
    for i in range(L.shape[0]):
        for r in range(B.shape[1]):
            rest = B[i, r] - sum(L[i, j] @ X[j, r] for j in range(i))
            X[i, r] = cy.linalg.solve_triangular(L[i, i], rest, lower=True)
    return X


@cy.kernel
def cholesky(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    for j in range(n):
        L[j, j] = cy.linalg.cholesky(A[j, j] - sum(L[j, k] @ L[j, k].T for k in range(j)))
        for i in range(j + 1, n):
            rest = A[i, j] - sum(L[i, k] @ L[j, k].T for k in range(j))
            L[i, j] = cy.linalg.solve_triangular(L[j, j], rest, side="right", trans=True)
    return L


class Case:
    """A compiled program, its inputs in tiles, and what its output is compared with."""

    def __init__(self, kernel: cy.Kernel, blocked: list[cy.Blocked], deal, owners, **options) -> None:
        self.program = kernel.compile(*blocked, **options)
        self.deal = deal
        tiles = [blocks.tile_shape for blocks in blocked]
        self.inputs = [
            distribute(b.array, tile, owner) for b, tile, owner in zip(blocked, tiles, owners, strict=True)
        ]

    def run(self) -> DistributedRun:
        core = self.program.core
        return run_distributed(core.to_bytes(), self.program.tensors, self.inputs, self.deal)


def gemm_case(n: int, ranks: int, tile: int, matrix: np.ndarray, other: np.ndarray) -> Case:
    """A stays, B goes round a ring: every rank starts with a part of its own."""
    rows = -(-n // ranks)
    blocked = [cy.blocked(matrix, (rows, rows)), cy.blocked(other, (rows, n))]
    schedule = cy.Schedule().space("i").time("j", "k").stream("B", along="i").rotate("k", by=("i",))
    machine = cy.Machine(grid=(ranks,), topology="ring", pe=UNBOUNDED)
    return Case(gemm, blocked, None, [lambda i, k: i, lambda k, j: k], schedule=schedule, machine=machine)


def trsm_case(n: int, ranks: int, tile: int, matrix: np.ndarray, other: np.ndarray) -> Case:
    """Right-hand sides in space; the tiles of L, dealt out over the ranks, are brought to all."""
    columns = -(-n // ranks)
    blocked = [cy.blocked(matrix, (tile, tile)), cy.blocked(other, (tile, columns))]
    schedule = cy.Schedule().space("r").time("j", "i").prefetch("L")
    machine = cy.Machine(grid=(ranks,), pe=UNBOUNDED)
    owners = [lambda i, j: (i + j) % ranks, lambda i, r: r]
    return Case(trsm, blocked, None, owners, schedule=schedule, machine=machine)


def cholesky_case(n: int, ranks: int, tile: int, matrix: np.ndarray, other: np.ndarray) -> Case:
    """A PE for each tile, dealt out by rows; it runs when its operands are there."""
    extent = -(-n // tile)
    schedule = cy.Schedule().space("i", "j").broadcast("L", along="i")
    machine = cy.Machine(grid=(extent, extent), pe=UNBOUNDED)
    deal = [(ranks, 1), (1, 1)]
    blocked = [cy.blocked(matrix, (tile, tile))]
    return Case(cholesky, blocked, deal, [lambda i, j: i % ranks], schedule=schedule, machine=machine)


CASES = {"gemm": gemm_case, "trsm": trsm_case, "cholesky": cholesky_case}


def main(name: str, n: int, tile: int, repeats: int) -> None:
    _mpi = load()
    communicator = world(_mpi)
    rng = np.random.default_rng(0)
    matrix, other = rng.standard_normal((2, n, n))
    if name == "cholesky":
        matrix = (matrix + matrix.T) / 2
    if name != "gemm":
        matrix = matrix + 2 * n * np.eye(n)
    if name == "trsm":
        matrix = np.tril(matrix)
    case = CASES[name](n, _mpi.size(communicator), tile, matrix, other)
    profiles = [case.run().profile for _ in range(repeats + 1)][1:]  # the first warms up
    found = next(iter(case.run().outputs.values())).gather()
    if _mpi.rank(communicator) != 0:
        return
    for profile in profiles:
        print(*(max(rank[what] for rank in profile) for what in ("seconds", "processor_seconds")))
    left, right, expected = {
        "gemm": (matrix, other, found),
        "trsm": (matrix, found, other),
        "cholesky": (found, found.T, matrix),
    }[name]
    error = np.abs(left @ right - expected).max() / (n * np.finfo(float).eps * np.abs(expected).max())
    print(f"residual {error:.3g}")
    print(json.dumps(profiles[-1]))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
