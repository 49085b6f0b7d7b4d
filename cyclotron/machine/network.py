"""Networks of routers: packets over the links of a mesh or a torus, flit by flit."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cyclotron import _core
from cyclotron.machine.parts import MOST, code, extents, integer, one_of, positive, set_integer, wrong_type
from cyclotron.support import records
from cyclotron.support.exports import Record, RecordTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Network", "Traffic"]

_NAMES = {
    "topology": ("mesh", "torus"),
    "routing": ("xy", "yx"),
    "switching": ("wormhole", "cut_through", "store_and_forward"),
}
_NUMBERS = ("router_latency", "link_latency", "credit_latency", "virtual_channels", "depth")
_PATTERNS = ("uniform", "transpose", "complement", "tornado", "neighbor", "hotspot")
_Given = tuple[_core.Network, _core.Traffic]


@dataclasses.dataclass(frozen=True, repr=False)
class Network:
    """A router at each node of a grid, with buffers for the flits that come in.

    A flit is what a link passes in a cycle, a packet one or more of them. A packet alone of P flits over d
    links takes (d + 1) `router_latency` + (d + 2) `link_latency` + P cycles, the links from and to its nodes
    included: with the defaults 6 + 4 d + (P - 1). The documentation's timing rules tell who waits for whom.

    Parameters
    ----------
    topology : {"mesh", "torus"}
    shape : tuple of int
        Nodes along each dimension.
    routing : {"xy", "yx"}
        Along a row first, and then along a column; or the other way round. Of more dimensions ``"xy"`` begins
        with the last one. On a torus a packet goes the short way, of two equal ones up.
    router_latency : int
        Cycles from the arrival of a packet's first flit until it leaves, at least 1. Of three or more, one is
        for a virtual channel, one for the switch, one to cross it, and the rest to find the way.
    link_latency : int
        At least 1.
    credit_latency : int
        Cycles from the arrival of a credit until the sender uses it.
    virtual_channels : int
        Of each link, each with a buffer of its own; a torus needs two.
    depth : int
        Flits in a buffer, at least 1.
    switching : {"wormhole", "cut_through", "store_and_forward"}
        When a packet goes on: once there is room for its first flit, for all of it, or for all of it, which
        has come to the router.

    Raises
    ------
    ShapeError
        CYC401 if a number is out of range, CYC402 if a field has the wrong type or an unknown name, CYC408 of
        a torus on which packets could wait for each other in a circle.

    Examples
    --------
    >>> network = cy.Network("mesh", (8, 8), routing="xy", virtual_channels=2, depth=8)
    >>> network.deliver([(0, 0, 63, 5)])
    array([66])
    >>> study = network.traffic("transpose", packet=4, rate=[0.05, 0.1], seed=1)
    >>> [round(record["latency"], 2) for record in study]
    [33.43, 35.73]
    """

    topology: Literal["mesh", "torus"] = "mesh"
    shape: tuple[int, ...] = (8, 8)
    routing: Literal["xy", "yx"] = "xy"
    router_latency: int = records.field(default=3, unit="cycles")
    link_latency: int = records.field(default=1, unit="cycles")
    credit_latency: int = records.field(default=1, unit="cycles")
    virtual_channels: int = 2
    depth: int = 8
    switching: Literal["wormhole", "cut_through", "store_and_forward"] = "wormhole"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", extents("network.shape", self.shape))
        for field, names in _NAMES.items():
            one_of(f"network.{field}", getattr(self, field), names)
        for field in _NUMBERS:
            set_integer(self, "network", field, 0, MOST)
        _core.verify_network(records.to_core(self))

    __repr__ = code

    def __str__(self) -> str:
        channels = f"{self.virtual_channels} virtual channel{'' if self.virtual_channels == 1 else 's'}"
        grid = "×".join(map(str, self.shape))
        return f"{self.topology} {grid}, {self.routing}, {channels} of {self.depth} flits, {self.switching}"

    def deliver(self, packets: ArrayLike) -> NDArray[np.int64]:
        """Return the cycle from which on each packet is at its node.

        Parameters
        ----------
        packets : array_like of int, of n rows
            Of each the cycle from which on it may leave, its node, the one it goes to, and its flits. Nodes
            are counted along the last dimension first. Of one node those of earlier cycles go first.

        Raises
        ------
        ShapeError
            CYC401 if a node or a number of flits is out of range, CYC402 if these are no rows of four.
        """
        rows = np.asarray(packets)
        if rows.dtype.kind not in "iu" or rows.ndim != 2 or rows.shape[1] != 4:
            raise wrong_type("`packets`", packets, "rows of integers: cycle, source, destination, flits")
        return _core.network_deliver(records.to_core(self), rows.astype(np.int64))

    def traffic(
        self,
        pattern: str = "uniform",
        *,
        packet: int = 1,
        rate: ArrayLike | None = None,
        seed: int = 0,
        hotspot: float = 0.1,
        warmup: int = 1000,
        cycles: int = 10_000,
    ) -> Traffic:
        """Return latency and throughput of the network alone, under packets that nodes send at random.

        Parameters
        ----------
        pattern : {"uniform", "transpose", "complement", "tornado", "neighbor", "hotspot"}
            Where nodes send to: any other; the one with its coordinates the other way round; with each
            counted from the other end; half way round each dimension; the next one along each; or any other,
            but for packets to a node in the middle. Nodes that would send to themselves send nothing.
        packet : int
            Flits of each packet.
        rate : float or array_like of float, optional
            Flits a cycle that each node sends, up to 1; by default tenths of `Traffic.saturation`.
        seed : int
            Of the random numbers; the same one gives the same packets.
        hotspot : float
            Share of the packets that go to the middle, of ``"hotspot"``.
        warmup, cycles : int
            Cycles before packets are measured, and in which they are.

        Returns
        -------
        Traffic
            A record for each rate.

        Raises
        ------
        ShapeError
            CYC401 if a number is out of range, the pattern needs a square, or a packet fits no buffer; CYC402
            of another pattern or type.
        """
        one_of("traffic.pattern", pattern, _PATTERNS)
        given = (
            records.to_core(self),
            _core.Traffic(
                pattern=pattern,
                packet_flits=integer("traffic.packet", packet, 1, MOST),
                hotspot=positive("traffic.hotspot", hotspot, "0.1"),
                seed=integer("traffic.seed", seed, 0, MOST),
                warmup_cycles=integer("traffic.warmup", warmup, 0, MOST),
                measured_cycles=integer("traffic.cycles", cycles, 1, MOST),
            ),
        )
        if rate is None:
            rate = np.linspace(0.1, 1.0, 10) * _core.network_saturation(*given)
        rates = [positive("traffic.rate", one, "0.1") for one in np.atleast_1d(rate)]
        title = f"{pattern}, {packet} flit{'' if packet == 1 else 's'}: {self}"
        return Traffic(_core.network_traffic(*given, rates), title, given)


class Traffic(RecordTable):
    """The measures of a network under traffic, a record for each rate; prints as a table.

    Attributes
    ----------
    records : tuple of dict
        ``rate``, as asked for, ``offered``, what came to be, and ``throughput``, what arrived, in flits a
        cycle of each node that sends; ``packets`` that were measured; ``latency`` and ``latency_99``, cycles
        until a packet is there, in the mean and of 99 % of them, infinite where it is ``saturated``: not all
        of them had come after as many cycles again, or a link has more flits to pass than there were cycles;
        ``zero_load``, their mean latency without others; ``hops`` between routers; ``busiest_link``, the
        share of cycles in which that passed a flit.

    Examples
    --------
    >>> study = cy.Network("mesh", (4, 4)).traffic("transpose", rate=[0.1, 0.2], seed=1, cycles=1000)
    >>> [record["packets"] for record in study]
    [1228, 2475]
    """

    def __init__(self, records: Iterable[Record], caption: str, given: _Given) -> None:
        super().__init__(records)
        self._caption = caption
        self._given = given

    def _of(self, items: Iterable[Record]) -> Traffic:
        return Traffic(items, self._caption, self._given)

    @property
    def caption(self) -> str:
        """Pattern, packets and network, in a line."""
        return self._caption

    @functools.cached_property
    def saturation(self) -> float:
        """The highest rate, to 1/1024, at which the mean latency is at most three times that without load."""
        return _core.network_saturation(*self._given)

    def plot(self, *, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
        """Draw latency over rate; see `cyclotron.plot.traffic`.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where others are drawn already.
        path : str or Path, optional

        Returns
        -------
        matplotlib Figure

        Raises
        ------
        BackendUnavailable
            If matplotlib is not installed.
        """
        from cyclotron.plot import traffic

        return traffic(self, ax=ax, path=path)
