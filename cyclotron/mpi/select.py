"""The ranks to run on: those of the launcher, else a pool of workers."""

from __future__ import annotations

import os

from cyclotron.mpi.collective import is_collective, the_world
from cyclotron.mpi.pool import default_pool
from cyclotron.mpi.ranks import Ranks
from cyclotron.support import arguments
from cyclotron.support.arguments import invalid_option


def current(ranks: int | None = None) -> Ranks:
    """Return the ranks to run on: all of the launcher's, or the default pool, which is started if need be.

    Parameters
    ----------
    ranks : int, optional
        MPI processes. Under a launcher only the number that it started is possible.

    Raises
    ------
    BackendUnavailable
        If MPI is missing or cannot be started (CYC722).
    ExecutionError
        If `ranks` is no number of ranks, or a launcher started another number (CYC733).
    """
    if ranks is not None:
        ranks = arguments.rank_count(ranks)
    if not is_collective():
        return default_pool(rank_count(ranks))
    world = the_world()
    if ranks is not None and ranks != world.ranks:
        raise invalid_option(
            f"ranks={ranks} under a launcher that started {world.ranks}",
            f"leave ranks out, or start the script with: mpirun -n {ranks} python ...",
        )
    return world


def rank_count(ranks: int | None = None) -> int:
    """Return how many ranks `current` would have; no pool is started.

    Parameters
    ----------
    ranks : int, optional
        As in `current`.

    Raises
    ------
    ExecutionError
        As in `current`.
    """
    if is_collective():
        return current(ranks).ranks
    return max(2, min(4, os.cpu_count() or 1)) if ranks is None else arguments.rank_count(ranks)
