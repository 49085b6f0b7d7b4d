"""``backend="mpi"``: MPI ranks, under a launcher or of a pool that this process starts."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Any

from cyclotron import mpi
from cyclotron.analysis.rank_profile import profile_of
from cyclotron.compiler.defaults import Workers
from cyclotron.compiler.program import Program
from cyclotron.mpi.distributed_array import ranks_of
from cyclotron.runtime.backend import Backend, Execution, Options

_SECONDS_PER_MESSAGE = 1e-6  # of one scalar, between processes of one computer


def workers(options: Options, inputs: Sequence[Any]) -> Workers | None:
    """Return the ranks of a run; None where the caller deals out the PEs."""
    if options.deal is not None:
        return None
    holders = ranks_of(inputs, options.ranks)
    ranks = mpi.rank_count(options.ranks) if holders is None else holders.ranks
    return Workers(ranks, _SECONDS_PER_MESSAGE)


def run(program: Program, inputs: Mapping[str, Any], options: Options, /) -> Execution:
    """Run a program on ranks; outputs stay distributed where an input is."""
    outputs, accounts = mpi.run_on_ranks(
        program, inputs, options.ranks, options.deal, options.event_limit or 0
    )
    return _execution(program, outputs, accounts)


def _execution(program: Program, outputs: dict[str, Any], accounts: list[dict[str, Any]]) -> Execution:
    skipped = [
        _skipped(ending, [account["skipped"][number] for account in accounts])
        for number, ending in enumerate(program.core.endings)
    ]
    raised = functools.reduce(operator.or_, (account["raised"] for account in accounts))
    return Execution(outputs, profile=profile_of(accounts, program), skipped=skipped, raised=raised)


def _skipped(ending: Mapping[str, Any], by_rank: list[int]) -> int:
    """The iterations left out by a loop: by all ranks alike, or by each in the runs of its own PEs."""
    if not ending["per_pe"]:
        return max(by_rank)
    return sum(by_rank) - (len(by_rank) - 1) * int(ending["runs"] * ending["steps"])


class MpiResidence:
    """Arrays on ranks that stay from one run to the next: a `Residence`."""

    def __init__(self, program: Program, options: Options) -> None:
        arrays = mpi.Residence(program, options.ranks, options.deal)
        self.give, self.feed, self.fetch, self.close = arrays.give, arrays.feed, arrays.fetch, arrays.close
        self._arrays, self._program, self._event_limit = arrays, program, options.event_limit or 0

    def run(self, loaded: frozenset[str], /) -> Execution:
        """Run; outputs stay where they are computed."""
        return _execution(self._program, {}, self._arrays.accounts(self._event_limit))


BACKEND = Backend(
    "mpi", run, options=("ranks", "deal", "event_limit"), distributed=True, keep=MpiResidence, workers=workers
)
