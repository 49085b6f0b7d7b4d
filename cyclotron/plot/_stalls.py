"""The account of a whole array's cycles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cyclotron.plot import _common as common
from cyclotron.plot._common import Axes, Figure
from cyclotron.plot._operators import IDLE, legend, ranked
from cyclotron.plot._shares import causes_of
from cyclotron.support.svg import COLORS

if TYPE_CHECKING:
    from matplotlib.artist import Artist

_MOST_CHANNELS = 12
_CHANNEL = "#2a788e"


def stalls(result: common.ResultLike, *, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
    """Draw where the cycles of all PEs go: to which operator, waiting for data, space or memory, or idle.

    Below the bar stand the channels, the busiest first: how much of the time their links are busy, how many
    messages they carry, and how many were at most waiting in a queue. `occupancy` shows the same for each PE.

    Parameters
    ----------
    result : Result
        Of a simulation, with or without events.
    ax : matplotlib Axes, optional
        Where to draw the bar, without the channels; by default a new figure.
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
    parts = parts_of(result)
    channels = sorted(result.stats["channels"], key=lambda channel: -channel["utilization"])
    shown = channels[:_MOST_CHANNELS]
    if ax is not None:
        _bar(common.given(ax), result, parts)
        return common.finish(common.figure_of(ax), path)
    heights = [0.18 * len(parts), 0.3 * len(shown) + 0.2]
    figure = common.new_figure(8.5, sum(heights) + (1.8 if shown else 1.0))
    rows = figure.add_gridspec(2 if shown else 1, 1, height_ratios=heights if shown else None)
    _bar(figure.add_subplot(rows[0]), result, parts)
    if shown:
        _channels(figure.add_subplot(rows[1]), shown, len(channels))
    return common.finish(figure, path)


class Part(NamedTuple):
    """One use of the array's time."""

    name: str
    share: float  # of the cycles of all PEs, 0 to 1
    style: dict[str, Any]  # of a bar


def parts_of(result: common.ResultLike) -> list[Part]:
    """Return the uses of time, whose shares add up to 1: the operators, the waits, and the rest.

    Parameters
    ----------
    result : Result
        Of a simulation.
    """
    whole = max(int(result.cycles) * common.pe_count(result), 1)
    cycles = {name: int(np.sum(of)) for name, of in result.stats["busy_by_operator"].items()}
    labels, numbers = ranked(cycles)
    busy = [0] * len(labels)
    for name, number in numbers.items():
        busy[number] += cycles[name]
    parts = [Part(name, busy[n] / whole, {"color": COLORS[n]}) for n, name in enumerate(labels)]
    for key, name, color in causes_of(result)[1:]:
        # The waits are hatched, since operators have colours like theirs.
        hatched = {"facecolor": "white", "edgecolor": color, "hatch": "////", "linewidth": 0}
        style = {"color": IDLE} if key == "idle" else hatched
        parts.append(Part(name, int(np.sum(result.stats[key])) / whole, style))
    return parts


def _bar(ax: Axes, result: common.ResultLike, parts: list[Part]) -> None:
    left = 0.0
    bars: list[Artist] = []
    for part in parts:
        label = f"{part.name}, {common.percent(part.share)}"
        bars += ax.barh([0], [part.share], left=left, height=0.8, **part.style)
        bars[-1].set_label(label)
        left += part.share
    common.quiet_frame(ax)
    ax.set_xlim(0, 1)
    common.share_axis(ax.xaxis, "share of the cycles of all PEs")
    ax.set_yticks([])
    common.set_title(ax, common.headline(result), f"{result.cycles:,} cycles")
    legend(ax, bars)


def _channels(ax: Axes, channels: list[dict[str, Any]], count: int) -> None:
    shares = [channel["utilization"] for channel in channels]
    ax.barh(range(len(channels)), shares, height=0.7, color=_CHANNEL)
    for row, channel in enumerate(channels):
        text = f"{channel['messages']:,} messages, at most {channel['peak_occupancy']:,} in a queue"
        common.note(ax, text, (1, row), (6, 0), xycoords=("axes fraction", "data"), va="center")
    common.quiet_frame(ax)
    ax.set_xlim(0, 1)
    ax.set_yticks(range(len(channels)), [channel["name"] for channel in channels])
    ax.set_ylim(len(channels) - 0.5, -0.5)
    cut = f", the busiest {len(channels)} of {count}" if count > len(channels) else ""
    common.share_axis(ax.xaxis, f"share of the cycles in which a channel's links are busy{cut}")
