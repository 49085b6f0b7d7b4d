# Made by tools/checks/public_names.py from the package.
from cyclotron.mpi.collective import is_collective
from cyclotron.mpi.execution import run_on_ranks
from cyclotron.mpi.pool import Pool, close_all, default_pool
from cyclotron.mpi.ranks import Ranks
from cyclotron.mpi.residence import Residence
from cyclotron.mpi.select import current, rank_count

__all__ = [
    "Pool",
    "Ranks",
    "Residence",
    "close_all",
    "current",
    "default_pool",
    "is_collective",
    "rank_count",
    "run_on_ranks",
]
