"""The number of PEs that compute, over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.analysis.events import all_events
from cyclotron.plot import _common as common
from cyclotron.plot._common import Axes, Figure
from cyclotron.plot._operators import keys, legend, operators_of
from cyclotron.support.svg import COLORS

_MOST_BINS = 400  # each wide enough to be seen


def activity(result: common.ResultLike, *, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
    """Draw how many PEs compute in each cycle, stacked by operator.

    Of more than 400 cycles, means over bins of equal length are drawn.

    Parameters
    ----------
    result : Result
        Of a simulation that kept all events.
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
    ExecutionError
        If events are missing.
    BackendUnavailable
        If matplotlib is not installed.
    """
    events = all_events(result)
    ax = common.axes(ax, 9, 4.0)
    common.quiet_frame(ax)
    count = common.pe_count(result)
    mean = float(np.sum(result.stats["busy"])) / max(int(result.cycles), 1)
    second = f"{result.cycles:,} cycles, on average {mean:,.1f} of {count:,} PEs compute"
    common.set_title(ax, common.headline(result), second)
    draw_activity(ax, result, events)
    common.cycle_axis(ax, result)
    return common.finish(common.figure_of(ax), path)


def draw_activity(ax: Axes, result: common.ResultLike, events: NDArray[Any]) -> None:
    """Draw areas stacked over the cycles, one an operator, and a legend."""
    cycles = max(int(result.cycles), 1)
    labels, codes = operators_of(events)
    edges = np.linspace(0, cycles, min(cycles, _MOST_BINS) + 1)
    base = np.zeros(len(edges) - 1)
    for code in range(len(labels)):
        chosen = events[codes == code]
        busy = busy_in_bins(chosen["start"], chosen["end"], edges)
        ax.stairs(base + busy, edges, baseline=base, fill=True, color=COLORS[code])
        base = base + busy
    count = common.pe_count(result)
    top = float(base.max())
    if top > count / 2:
        ax.axhline(count, color="#999999", linewidth=0.8, linestyle=(0, (4, 3)))
        ax.text(cycles, count, f"all {count:,} PEs", ha="right", va="bottom", fontsize=8, color=common.INK)
        top = count
    ax.set_ylim(0, max(top, 1) * 1.1)
    common.whole_ticks(ax.yaxis)
    ax.set_ylabel(f"PEs computing, of {count:,}", color=common.INK)
    ax.grid(axis="y", color="#eeeeee")
    ax.set_axisbelow(True)
    legend(ax, keys(labels)[::-1])


def busy_in_bins(start: NDArray[Any], end: NDArray[Any], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean number of intervals that cover each bin.

    Exact, by the integral of the number of open intervals.

    Parameters
    ----------
    start, end : ndarray
        Of the intervals, in cycles.
    edges : ndarray, float64
        Of the bins, in cycles, ascending.
    """

    def covered(moments: NDArray[Any]) -> NDArray[np.float64]:
        # The sum over moments m of max(0, edge - m), for every edge.
        ordered = np.sort(moments.astype(np.float64))
        sums = np.concatenate([[0.0], np.cumsum(ordered)])
        before = np.searchsorted(ordered, edges, side="right")
        return np.asarray(before * edges - sums[before], dtype=np.float64)

    integral = covered(start) - covered(end)
    return np.maximum(np.diff(integral) / np.diff(edges), 0.0)
