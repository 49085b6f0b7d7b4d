"""Times one kernel of Cyclotron on the ranks of ``mpirun``, on data that are distributed before and after.

    ranks.py gemm|trsm|cholesky N TILE REPEATS [float32]

Rank 0 prints the wall and processor seconds of each repetition (of the slowest and the busiest rank),
``residual R``, scaled by n eps as in `scalapack.c`, and the profile of the last repetition as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import cyclotron as cy
from cyclotron import mpi
from cyclotron.linalg.kernels import cholesky, matmul, solve_lower

UNBOUNDED = cy.PE(memory=1 << 40)


class Case:
    """A compiled program, its inputs distributed in its tiles, and how its PEs are dealt out."""

    def __init__(
        self,
        kernel: cy.Kernel,
        blocked: list[cy.Blocked],
        deal: cy.Layout | None,
        owners: list[Callable[..., int]],
        flags: tuple[bool, ...] = (),
        **options: Any,
    ) -> None:
        self.program = kernel.compile(*blocked, *flags, **options)
        self.deal = deal
        self.inputs = [
            cy.distribute(b, cy.Layout(block=b.tile_shape, owner=owner))
            for b, owner in zip(blocked, owners, strict=True)
        ]

    def run(self) -> cy.Result:
        return cy.run(self.program, *self.inputs, backend="mpi", deal=self.deal)


def gemm_case(n: int, ranks: int, tile: int, matrix: np.ndarray, other: np.ndarray) -> Case:
    """A stays, B goes round a ring: every rank starts with a part of its own."""
    rows = -(-n // ranks)
    blocked = [cy.blocked(matrix, (rows, rows)), cy.blocked(other, (rows, n))]
    schedule = cy.Schedule().space("i").time("j", "k").stream("B", along="i").rotate("k", by=("i",))
    machine = cy.Machine(grid=(ranks,), topology="ring", pe=UNBOUNDED)
    return Case(matmul, blocked, None, [lambda i, k: i, lambda k, j: k], schedule=schedule, machine=machine)


def trsm_case(n: int, ranks: int, tile: int, matrix: np.ndarray, other: np.ndarray) -> Case:
    """Right-hand sides in space; the tiles of L, dealt out over the ranks, are brought to all."""
    columns = -(-n // ranks)
    blocked = [cy.blocked(matrix, (tile, tile)), cy.blocked(other, (tile, columns))]
    schedule = cy.Schedule().space("r").time("i", "j").prefetch("A")
    machine = cy.Machine(grid=(ranks,), pe=UNBOUNDED)
    owners = [lambda i, j: (i + j) % ranks, lambda i, r: r]
    return Case(solve_lower, blocked, None, owners, (False,), schedule=schedule, machine=machine)


def cholesky_case(n: int, ranks: int, tile: int, matrix: np.ndarray, other: np.ndarray) -> Case:
    """A PE for each tile, dealt out by columns; it runs when its operands are there."""
    extent = -(-n // tile)
    schedule = cy.Schedule().space("i", "j").broadcast("L", along="i")
    machine = cy.Machine(grid=(extent, extent), pe=UNBOUNDED)
    deal = cy.Layout((1, ranks), 1)
    blocked = [cy.blocked(matrix, (tile, tile))]
    return Case(cholesky, blocked, deal, [lambda i, j: j % ranks], schedule=schedule, machine=machine)


CASES = {"gemm": gemm_case, "trsm": trsm_case, "cholesky": cholesky_case}


def main(name: str, n: int, tile: int, repeats: int, dtype: str = "float64") -> None:
    world = mpi.current()
    rng = np.random.default_rng(0)
    matrix, other = rng.standard_normal((2, n, n)).astype(dtype)
    if name == "cholesky":
        matrix = (matrix + matrix.T) / 2
    if name != "gemm":
        matrix = matrix + 2 * n * np.eye(n, dtype=dtype)
    if name == "trsm":
        matrix = np.tril(matrix)
    case = CASES[name](n, world.ranks, tile, matrix, other)
    profiles = [case.run().profile for _ in range(repeats + 1)][1:]  # the first warms up
    found = case.run().output.gather()
    if world.rank != 0:
        return
    for profile in profiles:
        print(*(max(rank[what] for rank in profile) for what in ("seconds", "processor_seconds")))
    left, right, expected = {
        "gemm": (matrix, other, found),
        "trsm": (matrix, found, other),
        "cholesky": (found, found.T, matrix),
    }[name]
    error = np.abs(left @ right - expected).max() / (n * np.finfo(dtype).eps * np.abs(expected).max())
    print(f"residual {error:.3g}")
    print(json.dumps(profiles[-1]))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]), *sys.argv[5:])
