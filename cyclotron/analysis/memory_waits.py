"""Waits of the requests of a simulation to its memories."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cyclotron import _core


class Cause(NamedTuple):
    """Reason for which something did not happen earlier.

    Attributes
    ----------
    kind : {"memory", "port", "passed"}
        A request was on its way; a request kept the port; a PE went on from a LOAD or a STORE.
    request : int
        Which one.
    start, end : int
        Cycles: from the start of the request's transfer; of "passed", when.
    """

    kind: Literal["memory", "port", "passed"]
    request: int
    start: int
    end: int


class MemoryWaits:
    """The order of the requests on each port and of each PE, and what each of them waited for.

    Parameters
    ----------
    requests : ndarray
        `Result.memory_requests`, all of them.
    ports : sequence of mapping
        ``Result.stats["memory_ports"]``.
    machine : _core.Machine
        Of the core's program.
    """

    def __init__(self, requests: NDArray[Any], ports: Any, machine: _core.Machine) -> None:
        self.requests = requests
        self.names = [str(port["memory"]) for port in ports]
        self._depths = [machine.memories[name].depth for name in self.names]
        self._before = self._predecessors("port")
        self._own, self._place = self._ranked("pe", "stores")

    def name(self, request: int) -> str:
        """Return the memory of a request.

        Parameters
        ----------
        request : int
            Which one.
        """
        return self.names[int(self.requests["port"][request])]

    def pass_of(self, request: int) -> Cause | None:
        """Return what the PE waited for at the request's LOAD or STORE; None where it did not wait.

        Parameters
        ----------
        request : int
            Which one.
        """
        one = self.requests[request]
        if one["passed"] == one["waiting"]:
            return None
        if not one["stores"]:
            return Cause("memory", request, int(one["start"]), int(one["passed"]))
        left = self._earlier(request, self._depth(request))
        assert left is not None
        return Cause("memory", left, int(self.requests["start"][left]), int(one["passed"]))

    def start_of(self, request: int) -> Cause | None:
        """Return what the start of a transfer waited for; None where it began with the run.

        Parameters
        ----------
        request : int
            Which one.
        """
        one = self.requests[request]
        start = int(one["start"])
        made_room = request if one["stores"] else self._earlier(request, self._depth(request))
        if made_room is not None and start == int(self.requests["passed"][made_room]):
            return Cause("passed", made_room, start, start)
        before = int(self._before[request])
        if before < 0:
            assert start == 0
            return None
        return Cause("port", before, int(self.requests["start"][before]), start)

    def last(self, cycles: int) -> int | None:
        """Return a STORE whose arrival ends the run, if one does.

        Parameters
        ----------
        cycles : int
            Of the run.
        """
        found = np.flatnonzero(self.requests["stores"] & (self.requests["arrival"] == cycles))
        return int(found[0]) if len(found) else None

    def _depth(self, request: int) -> int:
        return self._depths[int(self.requests["port"][request])]

    def _earlier(self, request: int, back: int) -> int | None:
        """The PE's load or store so many before."""
        place = int(self._place[request]) - back
        if place < 0:
            return None
        found, requests = int(self._own[place]), self.requests
        same = all(requests[key][found] == requests[key][request] for key in ("pe", "stores"))
        return found if same else None

    def _ranked(self, *keys: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The requests by these keys, each group in the order of service, and the place of each in that."""
        rank = np.lexsort([self.requests["start"], *[self.requests[key] for key in reversed(keys)]])
        place = np.empty_like(rank)
        place[rank] = np.arange(len(rank))
        return rank, place

    def _predecessors(self, key: str) -> NDArray[np.intp]:
        """The request served before each on its port, or -1."""
        rank, _ = self._ranked(key)
        found = np.full(len(rank), -1, dtype=np.intp)
        same = self.requests[key][rank[1:]] == self.requests[key][rank[:-1]]
        found[rank[1:][same]] = rank[:-1][same]
        return found
