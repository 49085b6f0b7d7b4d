"""Fixtures of the tests of the MPI runtime."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "programs")]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip this folder's tests where there is no MPI, and say so."""
    try:
        from cyclotron import _mpi  # noqa: F401

        missing = None if shutil.which("mpirun") else "there is no mpirun"
    except ImportError as error:
        missing = str(error)
    for item in items:
        if missing and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=missing))


@pytest.fixture(scope="session", autouse=True)
def _pools() -> Iterator[None]:
    """End all pools when the tests end."""
    yield
    from cyclotron import mpi

    mpi.close_all()
