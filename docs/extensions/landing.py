"""Draws the animation of the landing page, and the interactive view of a run, while the site is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import cyclotron as cy


@cy.kernel
def matmul(A, B):  # type: ignore[no-untyped-def]
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


def draw(path: Path) -> None:
    """Draw the wavefronts of a product on 10 by 10 PEs as a GIF."""
    A, B = np.ones((10, 10)), np.ones((10, 10))
    program = matmul.compile(A, B, schedule=cy.schedules.output_stationary(matmul))
    cy.run(program, backend="sim").plot.animation(path, frames=40, frames_per_second=5)


@cy.kernel
def solve(L, B):  # type: ignore[no-untyped-def]
    X = cy.empty_like(B)
    for i in range(B.shape[0]):
        for r in range(B.shape[1]):
            X[i, r] = (B[i, r] - sum(L[i, j] * X[j, r] for j in range(i))) / L[i, i]
    return X


def explore(path: Path) -> None:
    """Write the page of a triangular solve on 10 by 10 PEs, with links of one cycle and of three."""
    L, B = np.tril(np.ones((10, 10))), np.ones((10, 10))
    programs = [
        solve.compile(L, B, machine=cy.Machine(link=cy.Link(latency=latency, depth=2))) for latency in (1, 3)
    ]
    first, second = (cy.run(program, backend="sim") for program in programs)
    first.explore(second).to_html(path)


def write_pictures(app: Any) -> None:
    folder = Path(app.outdir) / "_images"
    folder.mkdir(parents=True, exist_ok=True)
    draw(folder / "wavefront.gif")
    explore(folder / "explore.html")


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", write_pictures)
    return {"parallel_read_safe": True}
