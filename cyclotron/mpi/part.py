"""One rank's part of the tensors that stay from one run of a program to the next, and the jobs on it.

A rank has of an input what it was given, and of an output what its own PEs stored, beside zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron import cache
from cyclotron.mpi.arena import MappedArrays
from cyclotron.mpi.sources import Mapped
from cyclotron.mpi.store import Deal, Source, Store, Tensors
from cyclotron.support.dtypes import dtype_of


class Part:
    """The arrays of one rank, by the numbers of the program's tensors."""

    def __init__(
        self, mpi: Any, communicator: int, program: bytes, tensors: Tensors, deal: Deal | None
    ) -> None:
        self._mpi, self._communicator = mpi, communicator
        self._program, self._tensors = program, tensors
        self._deal = None if deal is None else list(deal)
        self._halos: dict[tuple[int, int], Any] = {}
        self.arrays = [
            np.zeros(tensor["shape"], dtype_of(tensor["dtype"])) if tensor["role"] == "output" else None
            for tensor in tensors
        ]

    def run(self, event_limit: int) -> list[dict[str, Any]]:
        """Run the program; collective."""
        for tensor, array in zip(self._tensors, self.arrays, strict=True):
            if tensor["role"] == "output" and array is not None:
                array[...] = 0
        accounts: list[dict[str, Any]] = self._mpi.run(
            self._program,
            self._communicator,
            self.arrays,
            shared_outputs=True,
            deal=self._deal,
            event_limit=event_limit,
            loops=cache.loops(),
        )
        return accounts

    def feed(self, output: int, number: int) -> tuple[int, int]:
        """Make an output an input: collective; only what other ranks' PEs load is sent."""
        key = output, number
        if key not in self._halos:
            self._halos[key] = self._mpi.Halo(self._program, output, number, self._deal, self._communicator)
        halo = self._halos[key]
        array, before = self.arrays[output], self.arrays[number]
        assert array is not None
        halo.exchange(array, self._communicator)
        self.arrays[number] = array
        self.arrays[output] = np.zeros_like(array) if before is None else before
        return halo.messages, halo.bytes

    def fetch(self, number: int) -> NDArray[Any]:
        """Return all of an output; collective."""
        whole: NDArray[Any] = np.array(self.arrays[number])
        self._mpi.combine(whole, self._communicator)
        return whole


@dataclass(frozen=True)
class Open:
    """Keep a program's tensors under a number."""

    number: int
    program: bytes
    tensors: Tensors
    deal: Deal | None

    def __call__(self, store: Store) -> None:
        store.keep(self.number, partial(Part, program=self.program, tensors=self.tensors, deal=self.deal))


@dataclass(frozen=True)
class Give:
    """Copy an array into each rank's."""

    number: int
    tensor: int
    source: Source

    def __call__(self, store: Store) -> None:
        part: Part = store.kept(self.number)
        array, own = self.source(), part.arrays[self.tensor]
        if own is None:
            part.arrays[self.tensor] = np.array(array)
        else:
            own[...] = array


@dataclass(frozen=True)
class Run:
    """Run the program."""

    number: int
    event_limit: int

    def __call__(self, store: Store) -> list[dict[str, Any]]:
        part: Part = store.kept(self.number)
        return part.run(self.event_limit)


@dataclass(frozen=True)
class Feed:
    """Make an output an input."""

    number: int
    output: int
    tensor: int

    def __call__(self, store: Store) -> tuple[int, int]:
        part: Part = store.kept(self.number)
        return part.feed(self.output, self.tensor)


@dataclass(frozen=True)
class Fetch:
    """Return all of an output, or write it into an array that the ranks have mapped."""

    number: int
    tensor: int
    array: MappedArrays | None = None

    def __call__(self, store: Store) -> NDArray[Any] | None:
        part: Part = store.kept(self.number)
        whole = part.fetch(self.tensor)
        if self.array is None:
            return whole
        if store.rank == 0:
            Mapped(self.array)()[...] = whole
        return None
