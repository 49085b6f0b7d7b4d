"""What the PEs do when."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _common as common

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by everyone; then greys.
_PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999", "#555555")
_MOST_BINS = 1000


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
    operators, codes = _operators(events)
    common.quiet_frame(ax)
    common.set_title(ax, common.headline(result), _subtitle(result, events))
    ax.set_xlabel("cycle", color=common.INK)
    ax.set_xlim(0, max(int(result.cycles), 1))
    if len(events) == 0:
        ax.set_yticks([])
        ax.text(0.5, 0.5, "no events were recorded", transform=ax.transAxes, ha="center", va="center")
    elif rows:
        _draw_rows(ax, result, events, operators, codes)
    else:
        _draw_activity(ax, result, events, operators, codes)
    _integer_cycles(ax)
    return common.finish(common.figure_of(ax), path)


def _operators(events: NDArray[Any]) -> tuple[list[str], NDArray[np.intp]]:
    """The operators that occur, the busiest first, and for each event which of them it is."""
    found, codes = np.unique(events["operator"], return_inverse=True)
    codes = codes.reshape(-1)
    cycles = np.bincount(codes, weights=events["end"] - events["start"], minlength=len(found))
    order = np.argsort(-cycles, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return [str(name) for name in found[order]], rank[codes]


def _subtitle(result: common.ResultLike, events: NDArray[Any]) -> str:
    text = f"{result.cycles:,} cycles, {len(events):,} operations"
    dropped = result.events_dropped
    return f"{text} shown, {dropped:,} more not recorded" if dropped else text


def _draw_rows(
    ax: Axes, result: common.ResultLike, events: NDArray[Any], operators: list[str], codes: NDArray[np.intp]
) -> None:
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
    for code, name in enumerate(operators):
        color = _PALETTE[min(code, len(_PALETTE) - 1)]
        ax.add_collection(PolyCollection(corners[codes == code], facecolors=color, linewidths=0, label=name))
    ax.set_ylim(count - 0.5, -0.5)
    labels = common.pe_labels(result.grid)
    step = 1 if count <= 32 else 2
    ax.set_yticks(np.arange(0, count, step), labels[::step])
    ax.set_ylabel(f"PE ({', '.join(common.axis_names(result))})", color=common.INK)
    ax.grid(axis="x", color="#eeeeee")
    ax.set_axisbelow(True)
    if len(result.grid) > 1:
        for border in range(result.grid[-1], count, result.grid[-1]):
            ax.axhline(border - 0.5, color="#dddddd", linewidth=0.8, zorder=0)
    _legend(ax)


def _draw_activity(
    ax: Axes, result: common.ResultLike, events: NDArray[Any], operators: list[str], codes: NDArray[np.intp]
) -> None:
    cycles = max(int(result.cycles), 1)
    bins = min(cycles, _MOST_BINS)
    edges = np.linspace(0, cycles, bins + 1)
    base = np.zeros(bins)
    for code, name in enumerate(operators):
        chosen = events[codes == code]
        busy = _busy_in_bins(chosen["start"], chosen["end"], edges)
        color = _PALETTE[min(code, len(_PALETTE) - 1)]
        ax.stairs(base + busy, edges, baseline=base, fill=True, color=color, label=name)
        base = base + busy
    count = common.pe_count(result)
    ax.axhline(count, color="#999999", linewidth=0.8, linestyle=(0, (4, 3)))
    ax.text(cycles, count, f"all {count:,} PEs", ha="right", va="bottom", fontsize=8, color=common.INK)
    ax.set_ylim(0, count * 1.1)
    ax.set_ylabel("PEs computing", color=common.INK)
    ax.grid(axis="y", color="#eeeeee")
    ax.set_axisbelow(True)
    _legend(ax)


def _busy_in_bins(start: NDArray[Any], end: NDArray[Any], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean number of intervals that cover a bin: exact, by the integral of the number of open intervals."""

    def covered(moments: NDArray[Any]) -> NDArray[np.float64]:
        # The sum over moments m of max(0, edge - m), for every edge.
        ordered = np.sort(moments.astype(np.float64))
        sums = np.concatenate([[0.0], np.cumsum(ordered)])
        before = np.searchsorted(ordered, edges, side="right")
        return np.asarray(before * edges - sums[before], dtype=np.float64)

    integral = covered(start) - covered(end)
    return np.maximum(np.diff(integral) / np.diff(edges), 0.0)


def _legend(ax: Axes) -> None:
    _, labels = ax.get_legend_handles_labels()
    # Above the axes, where it covers no data.
    ax.legend(
        loc="lower right",
        bbox_to_anchor=(1, 1.01),
        ncols=min(len(labels), 5),
        frameon=False,
        fontsize=8,
        borderaxespad=0,
        handlelength=1,
        handleheight=1,
    )


def _integer_cycles(ax: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, min_n_ticks=1))
