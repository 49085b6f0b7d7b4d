"""Programs on MPI ranks: collective under ``mpirun`` or ``srun``, else on a pool of workers started here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from cyclotron.mpi.collective import is_collective, run_collective
from cyclotron.mpi.pool import Pool, close_all, default_pool


def run(
    program: bytes,
    tensors: Sequence[Mapping[str, Any]],
    arrays: Sequence[NDArray[Any]],
    ranks: int | None = None,
) -> dict[str, NDArray[Any]]:
    """Run a program once on MPI ranks.

    Parameters
    ----------
    program : bytes
        The program file.
    tensors : sequence of dict
        The program's tensor table: ``name``, ``dtype``, ``role``, ``shape`` of each.
    arrays : sequence of ndarray
        One for each tensor, in order; those of outputs are written.
    ranks : int, optional
        MPI processes. Under a launcher only the number that it started is possible.

    Returns
    -------
    dict of str to ndarray
        The output arrays by name.

    Raises
    ------
    BackendUnavailable
        If MPI is missing or cannot be started.
    ExecutionError
        If a PE fails, or a rank dies.
    """
    if is_collective():
        return run_collective(program, tensors, arrays, ranks)
    return default_pool(ranks or _usual_ranks()).run(program, tensors, arrays)


def _usual_ranks() -> int:
    return max(2, min(4, os.cpu_count() or 1))


__all__ = ["Pool", "close_all", "default_pool", "is_collective", "run", "run_collective"]
