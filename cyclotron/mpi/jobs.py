"""Jobs of a pool for its ranks, which map the arrays that it left in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from cyclotron.mpi.arena import MappedArrays
from cyclotron.mpi.layout import Layout
from cyclotron.mpi.sources import Mapped, not_mapped
from cyclotron.mpi.store import Deal, Source, Store, StoredTensor, Tensors, place_of
from cyclotron.support.errors import CyclotronError


class Answer(NamedTuple):
    """The answer of a rank.

    Attributes
    ----------
    failure : CyclotronError or None
    value : object
    alone : bool
        Whether the rank failed where the others do not learn of it, and may wait for it for ever.
    """

    failure: CyclotronError | None
    value: Any
    alone: bool = False


@dataclass(frozen=True)
class Run:
    """Run a program.

    Attributes
    ----------
    bound : tuple of int or None
        For each tensor the number of a distributed one, or None for the next of `arrays`.
    """

    program: bytes
    tensors: Tensors
    bound: tuple[int | None, ...]
    arrays: MappedArrays
    deal: Deal | None
    event_limit: int = 0

    def __call__(self, store: Store) -> Any:
        # A rank whose arrays cannot be mapped still takes part, so that all learn of it.
        unmapped: CyclotronError | None = None
        given: list[Any] = []
        try:
            mapped = iter(self.arrays.map())
            given = [next(mapped) if number is None else number for number in self.bound]
        except (OSError, ValueError) as error:
            unmapped = not_mapped(error)
        try:
            return store.run(
                self.program, self.tensors, given, self.deal, self.event_limit, shared_outputs=True
            )
        except CyclotronError:
            if unmapped is not None:
                raise unmapped from None
            raise


@dataclass(frozen=True)
class Distribute:
    """Keep the blocks of an array."""

    number: int
    source: Source
    layout: Layout | None

    def __call__(self, store: Store) -> StoredTensor:
        return store.distribute(self.number, self.source, self.layout, None)


@dataclass(frozen=True)
class Relayout:
    """Keep another layout of what is kept."""

    number: int
    new: int
    form: StoredTensor
    layout: Layout

    def __call__(self, store: Store) -> StoredTensor:
        return store.relayout(self.number, self.new, self.form, self.layout)


@dataclass(frozen=True)
class Gather:
    """Write each rank's tiles into one array."""

    number: int
    form: StoredTensor
    array: MappedArrays

    def __call__(self, store: Store) -> None:
        array = Mapped(self.array)()
        for index, tile in store.part(self.number, self.form).items():
            array[place_of(tile, index, self.form.tile)] = tile


@dataclass(frozen=True)
class Diagonal:
    """Tell the diagonal of a matrix."""

    number: int
    form: StoredTensor

    def __call__(self, store: Store) -> NDArray[Any]:
        return store.diagonal(self.number, self.form)


@dataclass(frozen=True)
class Reshape:
    """Keep a tensor with more or fewer axes of extent 1."""

    number: int
    new: int
    form: StoredTensor
    shaped: StoredTensor

    def __call__(self, store: Store) -> None:
        store.reshape(self.number, self.new, self.form, self.shaped)
