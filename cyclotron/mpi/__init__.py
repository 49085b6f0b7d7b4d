"""Programs and data on MPI ranks: collective under ``mpirun`` or ``srun``, else on a pool of workers."""

from cyclotron.support.lazy import lazy_names

_HOMES = {
    "collective": ["is_collective"],
    "execution": ["run_on_ranks"],
    "pool": ["Pool", "close_all", "default_pool"],
    "ranks": ["Ranks"],
    "residence": ["Residence"],
    "select": ["current", "rank_count"],
}
__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
