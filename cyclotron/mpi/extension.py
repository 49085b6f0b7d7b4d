"""Finds the MPI runtime, or says what is missing."""

from __future__ import annotations

import functools
import shutil
import sys
from types import ModuleType
from typing import Any

from cyclotron.mpi import library
from cyclotron.support.errors import BackendUnavailable

INSTALL = (
    "install an MPI and build again: sudo apt-get install libopenmpi-dev openmpi-bin"
    " && pip install --force-reinstall --no-cache-dir ."
)


def load() -> ModuleType:
    """Return ``cyclotron._mpi``.

    Raises
    ------
    BackendUnavailable
        If it was not built, its MPI library is missing, or mpi4py has loaded another MPI.
    """
    try:
        from cyclotron import _mpi
    except ImportError as error:
        refused = "cyclotron._mpi" in sys.modules  # as None
        built = "No module named" not in str(error) and "cannot import name" not in str(error)
        what = f"the MPI runtime cannot be loaded: {error}" if built else "Cyclotron was built without MPI"
        if built or refused or not library.variants():
            raise BackendUnavailable(what, code="CYC722", help=INSTALL) from None
        _mpi = _with_library()[0]
    other: Any = sys.modules.get("mpi4py.MPI")
    if other is not None and other.Get_library_version() != _mpi.library_version():
        raise BackendUnavailable(
            "mpi4py has loaded another MPI than Cyclotron was built for: "
            f"{_first_line(other.Get_library_version())}, not {_first_line(_mpi.library_version())}",
            code="CYC722",
            help="build Cyclotron again with that MPI's mpicc on the PATH: pip install --force-reinstall .",
        )
    return _mpi


def launcher() -> str:
    """Return the program that starts ranks of the MPI library in use.

    Raises
    ------
    BackendUnavailable
        If there is none.
    """
    load()
    found = _with_library()[1].launcher() if library.variants() else None
    found = found or shutil.which("mpirun") or shutil.which("mpiexec")
    if found is None:
        help = library.INSTALL if library.variants() else INSTALL
        raise BackendUnavailable("there is no mpirun on the PATH", code="CYC722", help=help)
    return found


@functools.cache
def _with_library() -> tuple[ModuleType, library.Library]:
    return library.load_variant()


def _first_line(text: str) -> str:
    return text.strip("\0 \n").split("\n")[0].split(",")[0]
