"""Latencies of a network over the load."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cyclotron.plot import _common as common
from cyclotron.plot._common import Axes, Figure
from cyclotron.support.svg import COLORS

if TYPE_CHECKING:
    from cyclotron.machine.network import Traffic


def traffic(study: Traffic, *, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
    """Draw the mean latency of packets over their rate, and the one that 99 % of them do not exceed.

    Rates at which the network is saturated are crosses at the upper edge. Several studies may share axes.

    Parameters
    ----------
    study : Traffic
        From `Network.traffic`.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    path : str or Path, optional
        File to save to, its type by its suffix.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    BackendUnavailable
        If matplotlib is not installed.
    """
    ax = common.axes(ax, 6.0, 4.2)
    color = COLORS[len(ax.get_legend_handles_labels()[1]) % len(COLORS)]
    done = [record for record in study.records if not record["saturated"]]
    rates = [record["rate"] for record in done]
    ax.plot(rates, [record["latency"] for record in done], marker="o", color=color, label=study.caption)
    ax.plot(rates, [record["latency_99"] for record in done], linestyle=":", color=color)
    beyond = [record["rate"] for record in study.records if record["saturated"]]
    ax.plot(beyond, [1] * len(beyond), "x", color=color, transform=ax.get_xaxis_transform(), clip_on=False)
    common.quiet_frame(ax)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("rate (flits a cycle of a node)", color=common.INK)
    ax.set_ylabel("latency (cycles)", color=common.INK)
    ax.legend(frameon=False, fontsize=8)
    common.set_title(ax, "Latency under load", "mean, and dotted what 99 % of the packets do not exceed")
    return common.finish(common.figure_of(ax), path)
