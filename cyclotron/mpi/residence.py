"""Tensors of a program that stay on ranks from one run to the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.compiler.program import Program
from cyclotron.mpi.distributed_array import not_closed
from cyclotron.mpi.execution import dealt
from cyclotron.mpi.layout import Layout
from cyclotron.mpi.part import Feed, Open, Run
from cyclotron.mpi.ranks import Ranks
from cyclotron.mpi.select import current


class Residence:
    """The tensors of a program on all ranks; under ``mpirun`` every method is collective.

    Parameters
    ----------
    program : Program
    ranks : int, optional
    deal : Layout, optional
    """

    def __init__(self, program: Program, ranks: int | None, deal: Layout | None) -> None:
        self._ranks: Ranks = current(ranks)
        self._tensors: Mapping[str, int] = {t["name"]: n for n, t in enumerate(program.tensors)}
        self._shapes = {t["name"]: (t["shape"], t["dtype"]) for t in program.tensors}
        self._number = self._ranks.new_number()
        self.ranks.do(Open(self._number, program.wire_bytes, program.tensors, dealt(program, deal)))
        for name, array in program.constants.items():
            self.give(name, array)

    @property
    def ranks(self) -> Ranks:
        """The ranks; raises `ExecutionError` CYC736 if they are gone."""
        help = "make the program resident again, and give its inputs"
        return not_closed(self._ranks, "the program's tensors", help)

    def give(self, name: str, array: NDArray[Any], /) -> int:
        """Copy an input to each rank; return the bytes."""
        self.ranks.give(self._number, self._tensors[name], array)
        return array.nbytes * self._ranks.ranks

    def feed(self, output: str, name: str, /) -> tuple[int, int]:
        """Make an output an input; return the messages and bytes between ranks."""
        sent: tuple[int, int] = self.ranks.do(Feed(self._number, self._tensors[output], self._tensors[name]))
        return sent

    def accounts(self, event_limit: int) -> list[dict[str, Any]]:
        """Run the program; return the account of each rank."""
        accounts: list[dict[str, Any]] = self.ranks.do(Run(self._number, event_limit))
        return accounts

    def fetch(self, name: str, /) -> tuple[NDArray[Any], int | None]:
        """Return all of an output."""
        shape, dtype = self._shapes[name]
        array = np.zeros(shape, dtype)
        return self.ranks.fetch(self._number, self._tensors[name], array), None

    def close(self) -> None:
        """Drop everything."""
        self._ranks.forget(self._number)
