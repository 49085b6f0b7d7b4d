"""An account of each cycle of each PE: the operator that it went to, or the channel that was waited for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.analysis.events import HasEvents, all_events, all_messages
from cyclotron.support.tables import Row, Table

_HEADER = ("cause", "of", "cycles", "share")


class Accounting(Table):
    """The cycles of each PE by cause: in each PE, those of all causes add up to the run's cycles.

    Arrays are int64, shape ``grid``, in cycles; it prints as a table of their sums over the grid.

    Attributes
    ----------
    result : Result
        The run.
    busy : dict of str to ndarray
        Computing, by operator.
    start : ndarray
        Waiting for the first message, from cycle 0 on: the PE has not begun.
    empty : dict of str to ndarray
        Waiting for a message later on, by channel.
    full : dict of str to ndarray
        Waiting for a place in a channel or for its link, by channel; of a broadcast, for all its receivers.
    link : dict of str to ndarray
        Waiting, when sending, for a link or a bus that other channels use too, by channel
        (``Machine.shared_links``).
    unit, port : ndarray
        Waiting for the result of a pipelined unit or for a unit, and for a port of the PE (``PE.ports``).
    memory : ndarray
        Waiting for loads and stores.
    control : ndarray
        Waiting for the controller's calls and setting them up (`Control`).
    done : ndarray
        After the last instruction, and of PEs without a program.
    """

    _what = "accounting of "

    def __init__(
        self,
        result: HasEvents,
        start: NDArray[np.int64],
        empty: dict[str, NDArray[np.int64]],
        full: dict[str, NDArray[np.int64]],
        link: dict[str, NDArray[np.int64]],
    ) -> None:
        self.result = result
        self.busy: dict[str, NDArray[np.int64]] = result.stats["busy_by_operator"]
        self.start = start
        self.empty = empty
        self.full = full
        self.link = link
        self.unit: NDArray[np.int64] = result.stats["stall_unit"]
        self.port: NDArray[np.int64] = result.stats["stall_port"]
        self.memory: NDArray[np.int64] = result.stats["stall_memory"]
        self.control: NDArray[np.int64] = result.stats["stall_control"]
        self.done: NDArray[np.int64] = result.stats["idle"]

    def _causes(self) -> Iterator[tuple[str, str, NDArray[np.int64]]]:
        networks = {c["name"] for c in self.result.program.channels if c["kind"] == "network"}

        def way(channel: str) -> str:
            return "a broadcast on" if channel in networks else "a message on"

        for name, cycles in self.busy.items():
            yield "computes", name, cycles
        yield "waits to start", "", self.start
        for name, cycles in self.empty.items():
            yield f"waits for {way(name)}", name, cycles
        for name, cycles in self.full.items():
            yield f"waits to send {way(name)}", name, cycles
        for name, cycles in self.link.items():
            yield f"waits for the link of {way(name)}", name, cycles
        yield "waits for a unit", "", self.unit
        yield "waits for a port", "", self.port
        yield "waits for memory", "", self.memory
        yield "waits for control", "", self.control
        yield "done", "", self.done

    def _table(self) -> tuple[Row, list[list[str]]]:
        everything = max(1, self.result.cycles * self.done.size)
        sums = ((cause, of, int(cycles.sum())) for cause, of, cycles in self._causes())
        return _HEADER, [[cause, of, f"{n:,}", f"{n / everything:.1%}"] for cause, of, n in sums if n]

    @property
    def caption(self) -> str:
        """The title of the table, in a line."""
        grid = "×".join(map(str, self.result.grid))
        return f"{self.result.program.kernel_name} on {grid}: {self.result.cycles:,} cycles of each PE"


def account(result: HasEvents) -> Accounting:
    """Tell the waits of a run by channel, from its messages.

    Parameters
    ----------
    result : Result
        Of a simulation that kept its events and messages.

    Raises
    ------
    ExecutionError
        If events or messages are missing.
    """
    all_events(result)
    messages = all_messages(result)
    names = [channel["name"] for channel in result.program.channels]

    def by_channel(of: NDArray[Any], pe: str, since: str, until: str) -> dict[str, NDArray[np.int64]]:
        found = {name: np.zeros(result.grid, dtype=np.int64) for name in names}
        for number, name in enumerate(names):  # a name need not be unique
            some = of[of["channel"] == number]
            np.add.at(found[name].reshape(-1), some[pe].astype(np.intp), some[until] - some[since])
        return found

    received = messages[messages["received"] >= 0]
    first = received["waiting"] == 0
    start = sum(
        by_channel(received[first], "receiver", "waiting", "received").values(),
        start=np.zeros(result.grid, dtype=np.int64),
    )
    # A broadcast is a message to each receiver: its sender waits once.
    _, once = np.unique(messages["send_order"], return_index=True)
    return Accounting(
        result,
        start,
        by_channel(received[~first], "receiver", "waiting", "received"),
        by_channel(messages[once], "sender", "ready", "placed"),
        by_channel(messages[once], "sender", "placed", "sent"),
    )
