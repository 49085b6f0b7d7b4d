"""Interface to ranks, of which this process is one, or which it has started."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cyclotron.mpi.layout import Layout
from cyclotron.mpi.store import Source, Store, StoredTensor, Work


class Outcome(NamedTuple):
    """The outcome of a run.

    Attributes
    ----------
    accounts : list of dict
        For each rank, as ``cyclotron._mpi.run`` returns them.
    kept : dict of int to ndarray
        The owners of each output that stays distributed, int32, by its number.
    """

    accounts: list[dict[str, Any]]
    kept: dict[int, NDArray[np.int32]]


class Ranks(Protocol):
    """The methods of `cyclotron.mpi.collective.World` and `cyclotron.mpi.pool.Pool`.

    A tensor that they keep is known by a number.
    """

    ranks: int
    rank: int | None  # of this process, where it is one of them

    def new_number(self) -> int:
        """Return a number for a tensor."""

    def distribute(self, source: Source, layout: Layout | None, root: int | None) -> tuple[int, StoredTensor]:
        """Keep an array."""

    def relayout(self, number: int, form: StoredTensor, layout: Layout) -> tuple[int, StoredTensor]:
        """Keep another layout of a tensor."""

    def gather(self, number: int, form: StoredTensor) -> NDArray[Any]:
        """Return the whole array."""

    def part(self, number: int, form: StoredTensor) -> dict[tuple[int, ...], NDArray[Any]]:
        """Return the tiles of this process, which is a rank, by their indices."""

    def diagonal(self, number: int, form: StoredTensor) -> NDArray[Any]:
        """Return the diagonal of a matrix."""

    def reshape(self, number: int, form: StoredTensor, shaped: StoredTensor) -> int:
        """Keep a tensor with more or fewer axes of extent 1, under the number that is returned."""

    def forget(self, number: int) -> None:
        """Drop a tensor, at some time."""

    def run(self, work: Work) -> Outcome:
        """Run a program on arrays, of which those of outputs are written, and on tensors that are kept."""

    def do(self, job: Callable[[Store], Any]) -> Any:
        """Have all ranks do a job, each on its store; return the answer of one."""

    def give(self, number: int, tensor: int, array: NDArray[Any]) -> None:
        """Copy an array to every rank, of a program that is resident."""

    def fetch(self, number: int, tensor: int, array: NDArray[Any]) -> NDArray[Any]:
        """Return an output of a program that is resident; perhaps in the array, which is of its shape."""

    def same(self, text: str, root: int = 0) -> str:
        """Return the text of one rank; where this process is no rank, its own."""

    @property
    def closed(self) -> bool:
        """True where the ranks, and their tensors, are gone."""
