"""The start of a pool's workers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from cyclotron.mpi import extension

# What a launcher or a running MPI left in the environment would be taken for the workers' own.
_LAUNCHER_PREFIXES = ("OMPI_COMM_WORLD", "OMPI_UNIVERSE", "OMPI_MCA_ess", "OMPI_MCA_orte", "PMI_", "PMIX_")
_DEFAULTS = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    # More ranks than cores, and no rank tied to a core (Open MPI 4 and 5).
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}

_FOLDERS = (
    "OMPI_MCA_orte_tmpdir_base",
    "OMPI_MCA_btl_vader_backing_directory",
    "OMPI_MCA_btl_sm_backing_directory",
    "PRTE_MCA_prte_tmpdir_base",
)


def command(ranks: int, folder: str) -> list[str]:
    """Return the command that starts the workers.

    Raises
    ------
    BackendUnavailable
        If there is no launcher.
    """
    return [extension.launcher(), "-n", str(ranks), sys.executable, "-m", "cyclotron.mpi.worker", folder]


def environment(folder: str) -> dict[str, str]:
    """Return the environment of the workers: this process's, without traces of MPI, with safe defaults.

    Parameters
    ----------
    folder : str
        Where MPI keeps its own files, so that they go with the pool even if ranks are killed.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_LAUNCHER_PREFIXES)}
    result = {**_DEFAULTS, **dict.fromkeys(_FOLDERS, folder), **kept}
    # The workers import the package that this process runs.
    root = str(Path(__file__).resolve().parents[2])
    result["PYTHONPATH"] = os.pathsep.join([root, *filter(None, [kept.get("PYTHONPATH")])])
    if os.geteuid() == 0:  # as in a container; Open MPI asks to be told
        result.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
        result.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    return result
