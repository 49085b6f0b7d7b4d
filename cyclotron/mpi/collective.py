"""Runs under a launcher: every rank calls with the same program and inputs, and gets every output."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from cyclotron.errors import ExecutionError
from cyclotron.mpi import extension


def is_collective() -> bool:
    """Whether this process is one of several ranks, or was started by an MPI launcher.

    Only the environment and modules that are already imported are looked at: asking never starts MPI.
    """
    mpi4py: Any = sys.modules.get("mpi4py.MPI")
    running = mpi4py is not None and mpi4py.Is_initialized() and not mpi4py.Is_finalized()
    if running and mpi4py.COMM_WORLD.Get_size() > 1:
        return True
    if any(name in os.environ for name in ("OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE", "PMI_RANK")):
        return True
    return "SLURM_PROCID" in os.environ and int(os.environ.get("SLURM_STEP_NUM_TASKS", "1")) > 1


def run_collective(
    program: bytes,
    tensors: Sequence[Mapping[str, Any]],
    arrays: Sequence[NDArray[Any]],
    ranks: int | None = None,
) -> dict[str, NDArray[Any]]:
    """Run on all ranks of ``MPI.COMM_WORLD``; all of them call this.

    Parameters
    ----------
    program, tensors, arrays, ranks
        As for `cyclotron.mpi.run`; the inputs hold the same values on every rank.

    Returns
    -------
    dict of str to ndarray
        The output arrays by name, complete on every rank.

    Raises
    ------
    ExecutionError
        On every rank alike; names the rank that failed.
    """
    _mpi = extension.load()
    communicator = world(_mpi)
    size = _mpi.size(communicator)
    if ranks is not None and ranks != size:
        raise ExecutionError(
            f"ranks={ranks} under a launcher that started {size}",
            code="CYC733",
            help=f"leave ranks out, or start the script with: mpirun -n {ranks} python ...",
        )
    _mpi.run(program, communicator, list(arrays))
    return {t["name"]: a for t, a in zip(tensors, arrays, strict=True) if t["role"] == "output"}


def world(_mpi: Any) -> int:
    """The Fortran handle of the world, from mpi4py where it is in use."""
    mpi4py: Any = sys.modules.get("mpi4py.MPI")
    if mpi4py is not None and mpi4py.Is_initialized():
        return int(mpi4py.COMM_WORLD.py2f())
    _mpi.init()
    return int(_mpi.world())
