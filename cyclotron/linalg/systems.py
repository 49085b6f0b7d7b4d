"""Linear systems and inverses on a backend: by Cholesky and triangular solves, or by elimination."""

from __future__ import annotations

from typing import Any

import numpy as np

from cyclotron import mpi
from cyclotron.linalg.dispatch import Options, TriangularForm, run_cholesky, run_solve
from cyclotron.linalg.gathered import floating_operands, run_general_solve, run_inverse
from cyclotron.linalg.operands import distributed_on, unfit
from cyclotron.mpi.distributed_array import Distributed, ranks_of
from cyclotron.support.arguments import shown

# SciPy's names of what a matrix is known to be.
_KINDS = {
    "general": "general",
    "gen": "general",
    "positive definite": "positive",
    "pos": "positive",
    "lower triangular": "lower",
    "upper triangular": "upper",
}


def kind_of(assume_a: Any) -> str:
    """Return what a matrix is assumed to be; raises `ShapeError` CYC737 for another word."""
    if not isinstance(assume_a, str) or assume_a not in _KINDS:
        raise unfit(f"assume_a is {shown(assume_a)}", f"use one of {', '.join(map(repr, _KINDS))}")
    return _KINDS[assume_a]


def run_system(a: Any, b: Any, assume_a: Any, options: Options) -> Any:
    """See `cyclotron.linalg.solve`."""
    kind = kind_of(assume_a)
    if kind == "general":
        return run_general_solve(a, b, options)
    a, b = floating_operands("solve", a, b)
    return _solved(a, b, kind, options)


def run_inv(a: Any, assume_a: Any, options: Options) -> Any:
    """See `cyclotron.linalg.inv`."""
    kind = kind_of(assume_a)
    if kind == "general":
        return run_inverse(a, options)
    (a,) = floating_operands("inv", a)
    identity: Any = np.eye(a.shape[0], dtype=a.dtype)
    if isinstance(a, Distributed):
        layout = a.layout if a.layout.grid is not None else None
        identity = distributed_on(a.ranks, identity, layout)
    return _solved(a, identity, kind, options)


def _solved(a: Any, b: Any, kind: str, options: Options) -> Any:
    if kind != "positive":
        return run_solve(a, b, TriangularForm("left", kind == "lower", False, False), options)
    backward = TriangularForm("left", True, "C" if np.dtype(a.dtype).kind == "c" else "T", False)
    if options.backend.distributed and not isinstance(a, Distributed):
        # The factor does not come back in between.
        ranks = ranks_of([b], options.ranks) or mpi.current(options.ranks)
        a = distributed_on(ranks, a, None)
        stays = isinstance(b, Distributed)
    else:
        stays = True
    factor = run_cholesky(a, options)
    half = run_solve(factor, b, TriangularForm("left", True, False, False), options)
    result = run_solve(factor, half, backward, options)
    return result if stays or not isinstance(result, Distributed) else result.gather()
