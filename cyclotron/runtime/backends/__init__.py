"""The backends by name: a module for each that comes with Cyclotron, and those that users register."""

from __future__ import annotations

from typing import Any

from cyclotron.runtime.backend import Backend
from cyclotron.runtime.backends import local, mpi, numpy, sim
from cyclotron.support.arguments import shown
from cyclotron.support.errors import BackendUnavailable

_BACKENDS = {backend.name: backend for backend in (numpy.BACKEND, sim.BACKEND, local.BACKEND, mpi.BACKEND)}


def register(backend: Backend) -> None:
    """Let `cyclotron.run` and `cyclotron.check` find a backend by its name, instead of one of the same name.

    Parameters
    ----------
    backend : Backend
    """
    _BACKENDS[backend.name] = backend


def registered() -> tuple[Backend, ...]:
    """Return all backends, those that come with Cyclotron first."""
    return tuple(_BACKENDS.values())


def backend_of(name: Any) -> Backend:
    """Return the backend of a name.

    Raises
    ------
    BackendUnavailable
        If there is none (CYC720).
    """
    if not isinstance(name, str) or name not in _BACKENDS:
        raise BackendUnavailable(
            f"there is no backend {shown(name)}", code="CYC720", help=f"use one of: {', '.join(_BACKENDS)}"
        )
    return _BACKENDS[name]
