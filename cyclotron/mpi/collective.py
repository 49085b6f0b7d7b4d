"""Runs under a launcher: every rank calls with the same program and inputs, and gets every output."""

from __future__ import annotations

import functools
import itertools
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.mpi import extension, part
from cyclotron.mpi.layout import Layout
from cyclotron.mpi.ranks import Outcome
from cyclotron.mpi.sources import Given
from cyclotron.mpi.store import Source, Store, StoredTensor, Work


def is_collective() -> bool:
    """Tell if this process is one of several ranks, or was started by an MPI launcher.

    Only the environment and modules that are already imported are looked at: asking never starts MPI.
    """
    mpi4py: Any = sys.modules.get("mpi4py.MPI")
    running = mpi4py is not None and mpi4py.Is_initialized() and not mpi4py.Is_finalized()
    if running and mpi4py.COMM_WORLD.Get_size() > 1:
        return True
    if any(name in os.environ for name in ("OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE", "PMI_RANK")):
        return True
    return "SLURM_PROCID" in os.environ and int(os.environ.get("SLURM_STEP_NUM_TASKS", "1")) > 1


def world(_mpi: Any) -> int:
    """The Fortran handle of the world, from mpi4py where it is in use."""
    mpi4py: Any = sys.modules.get("mpi4py.MPI")
    if mpi4py is not None and mpi4py.Is_initialized():
        return int(mpi4py.COMM_WORLD.py2f())
    _mpi.init()
    return int(_mpi.world())


class World:
    """All ranks of ``MPI.COMM_WORLD``, of which this process is one; every method is collective."""

    closed = False

    def __init__(self) -> None:
        _mpi = extension.load()
        self._store = Store(_mpi, world(_mpi))
        self._numbers = itertools.count()
        self.ranks = self._store.ranks
        self.rank: int | None = self._store.rank

    def new_number(self) -> int:
        """See `Ranks`."""
        return next(self._numbers)

    def distribute(self, source: Source, layout: Layout | None, root: int | None) -> tuple[int, StoredTensor]:
        """See `Ranks`."""
        number = self.new_number()
        return number, self._store.distribute(number, source, layout, root)

    def relayout(self, number: int, form: StoredTensor, layout: Layout) -> tuple[int, StoredTensor]:
        """See `Ranks`."""
        new = self.new_number()
        return new, self._store.relayout(number, new, form, layout)

    def gather(self, number: int, form: StoredTensor) -> NDArray[Any]:
        """See `Ranks`; every rank gets it."""
        array = np.zeros(form.shape, form.dtype)
        self._store.gather(number, array)
        return array

    def part(self, number: int, form: StoredTensor) -> dict[tuple[int, ...], NDArray[Any]]:
        """See `Ranks`."""
        return self._store.part(number, form)

    def diagonal(self, number: int, form: StoredTensor) -> NDArray[Any]:
        """See `Ranks`; every rank gets it."""
        return self._store.diagonal(number, form)

    def reshape(self, number: int, form: StoredTensor, shaped: StoredTensor) -> int:
        """See `Ranks`; no rank waits for another."""
        new = self.new_number()
        self._store.reshape(number, new, form, shaped)
        return new

    def forget(self, number: int) -> None:
        """See `Ranks`."""
        self._store.drop([number])

    def run(self, work: Work) -> Outcome:
        """See `Ranks`; arrays hold the same values on every rank, and so do outputs."""
        return Outcome(*self._store.run(work))

    def do(self, job: Callable[[Store], Any]) -> Any:
        """See `Ranks`."""
        return job(self._store)

    def give(self, number: int, tensor: int, array: NDArray[Any]) -> None:
        """See `Ranks`; every rank has the array."""
        part.Give(number, tensor, Given(array))(self._store)

    def fetch(self, number: int, tensor: int, array: NDArray[Any]) -> NDArray[Any]:
        """See `Ranks`; every rank gets it."""
        return np.asarray(part.Fetch(number, tensor)(self._store))

    def same(self, text: str, root: int = 0) -> str:
        """See `Ranks`."""
        return self._store.same(text, root)


@functools.cache
def the_world() -> World:
    """Return the world, whose tensors this process keeps."""
    return World()
