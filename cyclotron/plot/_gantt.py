"""Actions of the PEs over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.plot import _common as common
from cyclotron.plot._activity import draw_activity
from cyclotron.plot._common import Axes, Figure
from cyclotron.plot._operators import keys, legend, operators_of
from cyclotron.support.svg import COLORS


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
    ax = common.axes(ax, 9, 1.5 + (0.24 if count <= 24 else 0.15) * max(count, 2) if rows else 4.0)
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
    count = common.pe_count(result)
    start = events["start"].astype(np.float64)
    end = events["end"].astype(np.float64)
    # What costs no cycle still shows, as a thin line.
    thin = max(int(result.cycles), 1) / 800
    gap = 0.04 if result.cycles <= 300 else 0.0
    right = np.maximum(end - gap, start + thin)
    row = events["pe"].astype(np.float64)
    labels, codes = operators_of(events)
    for code, name in enumerate(labels):
        style = {"facecolors": COLORS[code], "linewidths": 0, "label": name}
        some = codes == code
        common.draw_bars(ax, start[some], right[some], row[some], 0.4, **style)
    label = f"PE ({', '.join(common.axis_names(result))})"
    common.row_axis(ax, label, common.pe_labels(result.grid), 1 if count <= 32 else 2)
    if len(result.grid) > 1:
        for border in range(result.grid[-1], count, result.grid[-1]):
            ax.axhline(border - 0.5, color="#dddddd", linewidth=0.8, zorder=0)
    legend(ax, keys(labels))
