"""Jobs of a pool for its ranks that map arrays left in a file by it; others are methods of their stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from cyclotron.mpi.arena import MappedArrays
from cyclotron.mpi.sources import Mapped, not_mapped
from cyclotron.mpi.store import Store, StoredTensor, Work, place_of
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
    work : Work
        In which None stands for the next of `arrays`.
    """

    work: Work
    arrays: MappedArrays

    def __call__(self, store: Store) -> Any:
        # A rank whose arrays cannot be mapped still takes part, so that all learn of it.
        unmapped: CyclotronError | None = None
        given: list[Any] = []
        try:
            mapped = iter(self.arrays.map())
            given = [next(mapped) if number is None else number for number in self.work.bound]
        except (OSError, ValueError) as error:
            unmapped = not_mapped(error)
        try:
            return store.run(self.work._replace(bound=given), shared_outputs=True)
        except CyclotronError:
            if unmapped is not None:
                raise unmapped from None
            raise


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
