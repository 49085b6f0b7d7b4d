"""Versions of Cyclotron and of all that it uses."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from cyclotron import _core

# Written into the package that is installed, from the last tag; a source tree has none.
_WRITTEN = Path(__file__).parents[1] / "_version.txt"
VERSION = _WRITTEN.read_text().strip() if _WRITTEN.exists() else "0.1.0.dev0"

_MPI_VERSION = "from cyclotron.mpi import extension; print(extension.load().library_version())"
_SECONDS_FOR_MPI = 30


def show_config() -> dict[str, Any]:
    """Print the versions of everything Cyclotron uses, and return them.

    Nothing is started but a short-lived process that asks the MPI library for its version.

    Returns
    -------
    dict
        ``cyclotron``, ``python``, ``platform``, ``numpy``, ``isl``, ``blas``, ``mpi``, ``mpi4py``,
        ``mpi launcher``, ``matplotlib`` (str, or None where missing) and ``threads`` (int).

    Examples
    --------
    >>> config = cy.show_config()  # doctest: +ELLIPSIS
    cyclotron ...
    >>> config["cyclotron"] == cy.__version__
    True
    """
    found = configuration()
    width = max(map(len, found))
    for name, value in found.items():
        print(f"{name:{width}}  {'not found' if value is None else value}")
    return found


def configuration() -> dict[str, Any]:
    """Return what `show_config` prints."""
    import platform
    import shutil

    # PyPI's MPI is beside Python, on the PATH or not.
    folders = os.pathsep.join([os.path.join(sys.prefix, "bin"), os.environ.get("PATH", os.defpath)])
    return {
        "cyclotron": VERSION,
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        "numpy": _version("numpy"),
        "isl": _core.isl_version().strip(),
        "blas": _core.blas_version().strip(),
        "mpi": mpi_library(),
        "mpi4py": _version("mpi4py"),
        "mpi launcher": shutil.which("mpiexec", path=folders) or shutil.which("mpirun", path=folders),
        "matplotlib": _version("matplotlib"),
        "threads": threads(),
    }


def threads() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def mpi_library() -> str | None:
    """Return the first line of the MPI library's own description, or None without the MPI backend.

    Asked in a process of its own, so that this one does not load MPI.
    """
    import subprocess

    package = Path(__file__).parents[1]
    if importlib.util.find_spec("cyclotron._mpi") is None and not any(package.glob("mpi/*/_mpi.*")):
        return None
    try:
        answer = subprocess.run(
            [sys.executable, "-c", _MPI_VERSION],
            capture_output=True,
            text=True,
            timeout=_SECONDS_FOR_MPI,
            env=dict(os.environ),
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    # Open MPI puts its whole story on one line.
    return answer.strip("\0\n ").splitlines()[0].split(", package")[0] if answer.strip() else None


def _version(package: str) -> str | None:
    from importlib import metadata  # takes a while, and few ask

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
