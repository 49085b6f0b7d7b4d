"""The shares of each PE's cycles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cyclotron.plot import _common as common
from cyclotron.plot._common import Axes, Figure
from cyclotron.plot._heatmap import color_bar, draw_map
from cyclotron.plot._operators import legend
from cyclotron.support.svg import plane_of, shrink

# Key in the statistics, what it means, colour.
CAUSES = (
    ("busy", "computing", "#2a788e"),
    ("stall_empty", "waiting for data", "#f2a541"),
    ("stall_full", "waiting for space", "#c8553d"),
    ("stall_memory", "waiting for memory", "#7a4f9a"),
    ("stall_control", "waiting for control", "#5b8c5a"),
    ("stall_link", "waiting for a shared link", "#8c4a2f"),
    ("stall_unit", "waiting for a unit", "#4a6fa5"),
    ("stall_port", "waiting for a port", "#a5854a"),
    ("idle", "idle", "#dddddd"),
)

_OF_SOME_MACHINES = ("stall_memory", "stall_control", "stall_link", "stall_unit", "stall_port")


def occupancy(result: common.ResultLike, *, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
    """Draw how each PE spends its cycles: computing, waiting for data, space or its memory, idle.

    A bar a PE up to 64 PEs; above, a map for each of these (in `ax`, or for a line of PEs: areas over the
    PEs in the order of the grid).

    Parameters
    ----------
    result : Result
        Of a simulation.
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
    shares = _shares(result)
    count = common.pe_count(result)
    if ax is None and len(result.grid) > 1 and count > common.MOST_SINGLE_PES:
        return common.finish(_maps(result, shares), path)
    ax = common.axes(ax, min(max(4.8, 1.6 + 0.2 * count), 10.0), 3.8)
    flat = {key: values.reshape(-1) for key, values in shares.items()}
    if count <= common.MOST_SINGLE_PES:
        _bars(ax, result, flat)
    else:
        _areas(ax, result, flat)
    _dress(ax, result, shares)
    return common.finish(common.figure_of(ax), path)


def causes_of(result: common.ResultLike) -> tuple[tuple[str, str, str], ...]:
    """Return the entries of `CAUSES` that matter: those of some machines where PEs wait for them, all others.

    Parameters
    ----------
    result : Result
        Of a simulation.
    """
    absent = {key for key in _OF_SOME_MACHINES if not np.any(result.stats.get(key, 0))}
    return tuple(cause for cause in CAUSES if cause[0] not in absent)


def _shares(result: common.ResultLike) -> dict[str, NDArray[np.float64]]:
    """For each cause the share of all cycles, over the grid."""
    cycles = max(int(result.cycles), 1)
    return {
        key: np.asarray(result.stats[key], dtype=np.float64).reshape(result.grid) / cycles
        for key, _, _ in causes_of(result)
    }


def _bars(ax: Axes, result: common.ResultLike, shares: dict[str, NDArray[np.float64]]) -> None:
    count = common.pe_count(result)
    base = np.zeros(count)
    for key, _, color in causes_of(result):
        ax.bar(np.arange(count), shares[key], bottom=base, width=0.85, color=color)
        base = base + shares[key]
    labels = common.pe_labels(result.grid)
    step = -(-count // 32)
    figure = common.figure_of(ax)
    inches = ax.get_position().width * figure.get_figwidth()
    turned = (max(map(len, labels)) + 1) * count / step * common.INCHES_A_CHARACTER > inches
    ax.set_xticks(np.arange(0, count, step), labels[::step], rotation=90 if turned else 0)
    ax.set_xlim(-0.6, count - 0.4)


def _areas(ax: Axes, result: common.ResultLike, shares: dict[str, NDArray[np.float64]]) -> None:
    count = common.pe_count(result)
    causes = causes_of(result)
    stacked = np.stack([shrink(shares[key], common.MOST_CELLS)[0] for key, _, _ in causes])
    edges = np.linspace(0, count, stacked.shape[1] + 1)
    tops = np.cumsum(stacked, axis=0)
    for row, (_, _, color) in enumerate(causes):
        base = tops[row - 1] if row else np.zeros(stacked.shape[1])
        ax.stairs(tops[row], edges, baseline=base, fill=True, color=color)
    ax.set_xlim(0, count)
    common.whole_ticks(ax.xaxis)


def _dress(ax: Axes, result: common.ResultLike, shares: dict[str, NDArray[np.float64]]) -> None:
    from matplotlib.patches import Patch

    common.quiet_frame(ax)
    ax.set_ylim(0, 1)
    common.share_axis(ax.yaxis, "share of cycles")
    ax.set_xlabel(f"PE ({', '.join(common.axis_names(result))})", color=common.INK)
    common.set_title(ax, common.headline(result), f"{result.cycles:,} cycles")
    entries = [
        Patch(color=color, label=f"{name}, {common.percent(float(shares[key].mean()))}")
        for key, name, color in causes_of(result)
    ]
    legend(ax, entries[::-1])


def _maps(result: common.ResultLike, shares: dict[str, NDArray[np.float64]]) -> Figure:
    causes = causes_of(result)
    columns = (len(causes) + 1) // 2
    figure = common.new_figure(4.2 * columns, 7.4)
    names = common.axis_names(result)[-2:]
    for position, (key, name, _) in enumerate(causes):
        values = plane_of(shares[key])
        ax = figure.add_subplot(2, columns, position + 1)
        image = draw_map(ax, values, names)
        mean = common.percent(float(values.mean()))
        ax.set_title(f"{name}, {mean}", fontsize=10, color=common.INK)
    suffix = ", mean over the other dimensions" if len(result.grid) > 2 else ""
    figure.suptitle(
        f"{common.headline(result)}, {result.cycles:,} cycles{suffix}",
        fontsize=11,
        fontweight="bold",
        color=common.INK,
    )
    color_bar(figure, image, figure.axes, "share of cycles", shrink=0.6, pad=0.02)
    return figure
