"""Programs and data on MPI ranks: collective under ``mpirun`` or ``srun``, else on a pool of workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cyclotron.support.lazy import lazy_names

if TYPE_CHECKING:
    from cyclotron.mpi.collective import is_collective
    from cyclotron.mpi.execution import run_on_ranks
    from cyclotron.mpi.pool import Pool, close_all, default_pool
    from cyclotron.mpi.ranks import Ranks
    from cyclotron.mpi.select import current, rank_count

__all__ = [
    "Pool",
    "Ranks",
    "close_all",
    "current",
    "default_pool",
    "is_collective",
    "rank_count",
    "run_on_ranks",
]

_HOMES = {
    "Pool": "pool",
    "Ranks": "ranks",
    "close_all": "pool",
    "current": "select",
    "default_pool": "pool",
    "is_collective": "collective",
    "rank_count": "select",
    "run_on_ranks": "execution",
}
__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return list(__all__)
