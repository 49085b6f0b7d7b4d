"""Actions of the PEs over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.plot import _common as common
from cyclotron.plot._activity import draw_activity
from cyclotron.plot._operators import keys, legend, operators_of
from cyclotron.support.svg import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def timeline(result: common.ResultLike, *, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
    """Draw what each PE does when: a row a PE, coloured by operator; above 64 PEs, how many are busy.

    Parameters
    ----------
    result : Result
        Of a simulation that kept events.
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
    count = common.pe_count(result)
    rows = count <= common.MOST_SINGLE_PES
    if ax is None:
        height = 1.5 + (0.24 if count <= 24 else 0.15) * max(count, 2) if rows else 4.0
        ax = common.new_figure(9, height).add_subplot()
    events = np.asarray(result.events)
    common.quiet_frame(ax)
    common.set_title(ax, common.headline(result), _subtitle(result, events))
    if len(events) == 0:
        ax.set_yticks([])
        ax.text(0.5, 0.5, "no events were recorded", transform=ax.transAxes, ha="center", va="center")
    elif rows:
        _draw_rows(ax, result, events)
    else:
        draw_activity(ax, result, events)
    common.cycle_axis(ax, result)
    return common.finish(common.figure_of(ax), path)


def _subtitle(result: common.ResultLike, events: NDArray[Any]) -> str:
    text = f"{result.cycles:,} cycles, {len(events):,} operations"
    dropped = result.events_dropped
    return f"{text} shown, {dropped:,} more not recorded" if dropped else text


def _draw_rows(ax: Axes, result: common.ResultLike, events: NDArray[Any]) -> None:
    from matplotlib.collections import PolyCollection

    count = common.pe_count(result)
    start = events["start"].astype(np.float64)
    end = events["end"].astype(np.float64)
    # What costs no cycle still shows, as a thin line.
    thin = max(int(result.cycles), 1) / 800
    gap = 0.04 if result.cycles <= 300 else 0.0
    right = np.maximum(end - gap, start + thin)
    top = events["pe"].astype(np.float64) - 0.4
    corners = np.stack([start, top, right, top, right, top + 0.8, start, top + 0.8], axis=1).reshape(-1, 4, 2)
    labels, codes = operators_of(events)
    for code, name in enumerate(labels):
        color = COLORS[code]
        ax.add_collection(PolyCollection(corners[codes == code], facecolors=color, linewidths=0, label=name))
    ax.set_ylim(count - 0.5, -0.5)
    step = 1 if count <= 32 else 2
    ax.set_yticks(np.arange(0, count, step), common.pe_labels(result.grid)[::step])
    ax.set_ylabel(f"PE ({', '.join(common.axis_names(result))})", color=common.INK)
    ax.grid(axis="x", color="#eeeeee")
    ax.set_axisbelow(True)
    if len(result.grid) > 1:
        for border in range(result.grid[-1], count, result.grid[-1]):
            ax.axhline(border - 0.5, color="#dddddd", linewidth=0.8, zorder=0)
    legend(ax, keys(labels))
