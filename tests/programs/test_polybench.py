"""The 30 kernels of PolyBench, as imperative loop nests, against plain Python under the schedules of a table.

CY-001 … CY-010: what a kernel may say. All run on one PE; `SPACE` lists the schedules over more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polybench
import polybench_stencils
import pytest

import cyclotron as cy

rng = np.random.default_rng(1988)


KERNELS: dict[str, cy.Kernel] = {
    name: value
    for module in (polybench, polybench_stencils)
    for name, value in vars(module).items()
    if isinstance(value, cy.Kernel)
}


def integers(*shape: int) -> np.ndarray:
    return rng.integers(-2, 3, shape).astype(float)


def dominant(n: int) -> np.ndarray:
    return integers(n, n) + 16 * np.eye(n)


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "gemm": (integers(4, 5), integers(4, 6), integers(6, 5)),
    "two_mm": (integers(4, 3), integers(3, 5), integers(5, 6), integers(4, 6)),
    "three_mm": (integers(4, 3), integers(3, 5), integers(5, 2), integers(2, 6)),
    "atax": (integers(4, 5), integers(5)),
    "bicg": (integers(4, 5), integers(5), integers(4)),
    "mvt": (integers(5), integers(5), integers(5), integers(5), integers(5, 5)),
    "gemver": (integers(4, 4), *(integers(4) for _ in range(8))),
    "gesummv": (integers(5, 5), integers(5, 5), integers(5)),
    "symm": (integers(4, 5), integers(4, 4), integers(4, 5)),
    "syrk": (integers(4, 4), integers(4, 5)),
    "syr2k": (integers(4, 4), integers(4, 5), integers(4, 5)),
    "trmm": (integers(4, 4), integers(4, 5)),
    "doitgen": (integers(3, 4, 5), integers(5, 5)),
    "cholesky": (dominant(5) @ dominant(5).T + 400 * np.eye(5),),
    "lu": (dominant(5),),
    "ludcmp": (dominant(5), integers(5)),
    "trisolv": (dominant(5), integers(5)),
    "durbin": (rng.random(5),),
    "gramschmidt": (rng.random((5, 4)),),
    "correlation": (rng.random((6, 4)),),
    "covariance": (rng.random((6, 4)),),
    "floyd_warshall": (rng.integers(1, 9, (5, 5)),),
    "nussinov": (rng.integers(0, 2, (6, 6)),),
    "deriche": (integers(4, 5), rng.random(8), rng.random(2)),
    "adi": (rng.random((5, 5)), 2),
    "jacobi_1d": (integers(7), integers(7), 3),
    "jacobi_2d": (integers(5, 6), integers(5, 6), 2),
    "heat_3d": (integers(4, 5, 4), integers(4, 5, 4), 2),
    "seidel_2d": (integers(5, 6), 2),
    "fdtd_2d": (integers(4, 5), integers(4, 5), integers(4, 5), integers(3)),
}
# Neighbours may run ahead of each other: in some stencils they exchange more values a step than two.
MACHINE = cy.Machine(pe=cy.PE(memory=1 << 40), link=cy.Link(depth=16))
# Beside one PE.
SPACE: dict[str, list[tuple[str, ...]]] = {
    "gemm": [("i", "j"), ("k",)],
    "two_mm": [("i",)],
    "atax": [("i",)],
    "bicg": [("i", "j")],
    "mvt": [("i", "j")],
    "gesummv": [("i",)],
    "symm": [("i", "j"), ("k", "j")],
    "syrk": [("i", "j")],
    "syr2k": [("i", "j")],
    "trmm": [("i", "j")],
    "doitgen": [("r", "q"), ("r", "p")],
    "cholesky": [("i",)],
    "trisolv": [("i",), ("j",)],
    "jacobi_1d": [("i",), ("t",)],
    "jacobi_2d": [("i", "j"), ("i",)],
    "heat_3d": [("i", "j")],
    "seidel_2d": [("j",), ("t",)],
    "fdtd_2d": [("i", "j")],
}
CASES = [
    *((name, ()) for name in ARGUMENTS),
    *((name, space) for name, spaces in SPACE.items() for space in spaces),
]


def test_all_kernels_are_here() -> None:
    assert set(KERNELS) == set(ARGUMENTS)
    assert len(ARGUMENTS) == 30


@pytest.mark.parametrize(
    ("name", "space"), CASES, ids=["-".join([name, *(space or ["one-pe"])]) for name, space in CASES]
)
def test_equals_python(name: str, space: tuple[str, ...]) -> None:
    schedule = cy.Schedule().space(*space)
    program = KERNELS[name].compile(*ARGUMENTS[name], schedule=schedule, machine=MACHINE)
    assert cy.check(program, backends=("sim", "local"), tolerance=1e-12).errors
