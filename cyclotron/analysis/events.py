"""Events of simulations: that none is missing, and how many PEs compute when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cyclotron.compiler.program import Program
from cyclotron.support.errors import ExecutionError


class HasEvents(Protocol):
    """The events of a simulation, and what they are of; `cyclotron.Result` has them."""

    program: Program

    @property
    def grid(self) -> tuple[int, ...]: ...
    @property
    def cycles(self) -> int: ...
    @property
    def stats(self) -> Mapping[str, Any]: ...
    @property
    def events(self) -> NDArray[Any]: ...
    @property
    def events_dropped(self) -> int: ...
    @property
    def messages(self) -> NDArray[Any]: ...
    @property
    def messages_dropped(self) -> int: ...
    @property
    def memory_requests(self) -> NDArray[Any]: ...
    @property
    def memory_requests_dropped(self) -> int: ...


def all_events(result: HasEvents) -> NDArray[Any]:
    """Return the events of a simulation that kept all of them.

    Parameters
    ----------
    result : Result
        Of a simulation.

    Returns
    -------
    ndarray
        `Result.events`; they cover each cycle in which a PE computes, some several times where units overlap.

    Raises
    ------
    ExecutionError
        If events are missing.
    """
    events = np.asarray(result.events)
    start, end = _alone(events)
    told = int((end - start).sum())
    busy = int(np.sum(result.stats["busy"]))
    if told == busy:
        return events
    # A run with event_limit=0 does not count what it drops.
    needed = f"={len(events) + result.events_dropped}" if result.events_dropped else " large enough"
    what = f"the events tell of {told:,} cycles of computing, and the PEs compute for {busy:,}"
    note = f"{len(events):,} computations were recorded, {result.events_dropped:,} dropped"
    raise _incomplete(what, note, needed)


def _alone(events: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return when each computation starts and ends, without cycles in which an earlier one of its PE runs."""
    if not len(events):
        return events["start"], events["end"]
    in_order = np.lexsort([events["start"], events["pe"]])
    pe, start, end = (events[name][in_order].astype(np.int64) for name in ("pe", "start", "end"))
    apart = pe * (int(end.max()) + 1)  # no PE's times reach the next one's
    until = np.maximum.accumulate(end + apart) - apart
    before = np.concatenate([[0], until[:-1]])
    before[np.flatnonzero(np.diff(pe, prepend=-1))] = 0
    start = np.maximum(start, before)
    return start, np.maximum(start, end)


def all_messages(result: HasEvents) -> NDArray[Any]:
    """Return the messages of a simulation that kept all of them.

    Parameters
    ----------
    result : Result
        Of a simulation.

    Returns
    -------
    ndarray
        `Result.messages`.

    Raises
    ------
    ExecutionError
        If messages are missing.
    """
    messages = np.asarray(result.messages)
    sent = sum(int(channel["messages"]) for channel in result.stats["channels"])
    if len(messages) == sent:
        return messages
    what = f"{len(messages):,} messages were recorded, and the PEs sent {sent:,}"
    note = f"event_limit bounds messages as it does computations; {result.messages_dropped:,} dropped"
    raise _incomplete(what, note, f"={sent}")


def all_memory_requests(result: HasEvents) -> NDArray[Any]:
    """Return the requests to memories of a simulation that kept all of them.

    Parameters
    ----------
    result : Result
        Of a simulation.

    Returns
    -------
    ndarray
        `Result.memory_requests`.

    Raises
    ------
    ExecutionError
        If requests are missing.
    """
    requests = np.asarray(result.memory_requests)
    made = sum(int(port["loads"] + port["stores"]) for port in result.stats["memory_ports"])
    if len(requests) == made:
        return requests
    dropped = result.memory_requests_dropped
    what = f"{len(requests):,} requests to memories were recorded, and the PEs made {made:,}"
    note = f"event_limit bounds requests as it does computations; {dropped:,} dropped"
    raise _incomplete(what, note, f"={made}")


def _incomplete(what: str, note: str, needed: str) -> ExecutionError:
    help = f"run again with event_limit{needed} to keep them all"
    return ExecutionError(what, code="CYC717", notes=[(None, note)], help=help)


def active_pes(result: HasEvents) -> NDArray[np.int64]:
    """Count the PEs that compute in each cycle.

    Parameters
    ----------
    result : Result
        Of a simulation that kept all events.

    Returns
    -------
    ndarray, int64, shape (cycles,)
        PEs.

    Raises
    ------
    ExecutionError
        If events are missing.
    """
    events = all_events(result)
    moments = result.cycles + 1
    begun, ended = (np.bincount(times, minlength=moments) for times in _alone(events))
    return np.cumsum(begun - ended, dtype=np.int64)[: result.cycles]
