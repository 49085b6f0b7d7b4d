"""Designs of a sweep as points, with their Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclotron.explore.sweep_axes import unfit
from cyclotron.plot import _common as common
from cyclotron.plot._common import Axes, Figure
from cyclotron.support.svg import COLORS
from cyclotron.support.tables import cell

if TYPE_CHECKING:
    from cyclotron.explore.sweep_table import Sweep

_FRONT = "#c8553d"
_OTHERS = "#9bb8c0"
_MOST_NAMES = 8  # of points of the front
_WIDE = 30  # largest over smallest, from where an axis is logarithmic


def _is_wide(values: Sequence[float]) -> bool:
    return bool(values) and 0 < min(values) < max(values) / _WIDE


def _title(column: str) -> str:
    return {"pes": "PEs", "energy_picojoules": "energy (pJ)"}.get(column, column.replace("_", " "))


def _design(sweep: Sweep, record: Mapping[str, Any]) -> str:
    """The name of a design: what of it differs from others."""
    axes = sweep.columns[: sweep.columns.index("cycles")]
    differing = [name for name in axes if len({cell(r[name]) for r in sweep.records}) > 1]
    values = [(name, cell(record[name])) for name in differing]
    # A word stands for itself, a number has its name.
    return ", ".join(v if isinstance(record[n], str) else f"{_title(n)} {v}" for n, v in values)


def _groups(
    sweep: Sweep, records: Sequence[Mapping[str, Any]], by: str | None
) -> list[tuple[str, str, str, Sequence[Mapping[str, Any]]]]:
    """Label, colour, marker and records of the designs that are told apart."""
    if by is None:
        return [(f"{len(records)} designs", _OTHERS, "o", records)]
    if by not in sweep.columns:
        raise unfit(
            f"the sweep has no column `{by}`", f"tell designs apart by one of: {', '.join(sweep.columns)}"
        )
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        groups.setdefault(cell(record[by]), []).append(record)
    colors, markers = COLORS, "osD^vPX<>*"
    return [
        (label, colors[n % len(colors)], markers[n % len(markers)], group)
        for n, (label, group) in enumerate(groups.items())
    ]


def pareto(
    sweep: Sweep,
    x: str = "pes",
    y: str = "cycles",
    *,
    by: str | None = None,
    ax: Axes | None = None,
    path: str | Path | None = None,
) -> Figure:
    """Draw the designs of a sweep over two measures, and those that no other beats in both.

    Parameters
    ----------
    sweep : Sweep
        From `cyclotron.sweep`.
    x, y : str
        Numeric columns, smaller is better; with a leading minus larger is.
    by : str, optional
        Column whose values the points are told apart by, for example ``"schedule"``.
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
        If a column does not hold numbers, or there is no column `by`.
    BackendUnavailable
        If matplotlib is not installed.
    """
    front = sweep.pareto(x, y)
    names = [x.removeprefix("-"), y.removeprefix("-")]
    ax = ax or common.new_figure(6.0, 4.2).add_subplot()
    done = [record for record in sweep.records if record["error"] is None]
    across, up = ([record[name] for record in done] for name in names)
    for number, (label, color, marker, group) in enumerate(_groups(sweep, done, by)):
        points = [[record[name] for record in group] for name in names]
        # Hollow ones of growing size, so that designs in one place show.
        style = {"s": 18} if by is None else {"s": 20 + 35 * number, "facecolors": "none", "zorder": 3}
        ax.scatter(*points, edgecolors=color, marker=marker, label=label, **({"color": color} | style))
    best = sorted({(r[names[0]], r[names[1]]) for r in front.records})
    ax.plot(
        [point[0] for point in best],
        [point[1] for point in best],
        marker="o" if by is None else None,
        markersize=5,
        color=_FRONT,
        label=f"Pareto front, {len(best)} point{'' if len(best) == 1 else 's'}",
    )
    for point in best[:_MOST_NAMES]:
        same = [r for r in front.records if (r[names[0]], r[names[1]]) == point]
        text = _design(sweep, same[0]) + (f", {len(same) - 1} more" if len(same) > 1 else "")
        left = len(best) > 1 and point[0] > (best[0][0] + best[-1][0]) / 2
        beside, side = ((-6, 14), "right") if left else ((6, 7), "left")
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.8}
        common.note(ax, text, point, beside, ha=side, fontsize=7, color=_FRONT, bbox=box, zorder=5)
    if _is_wide(across):
        ax.set_xscale("log")
    if _is_wide(up):
        ax.set_yscale("log")
    ax.set_xlabel(_title(names[0]))
    ax.set_ylabel(_title(names[1]))
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    better = [
        f"{'larger' if name.startswith('-') else 'smaller'} {_title(name.removeprefix('-'))}"
        for name in (x, y)
    ]
    common.set_title(ax, "Design space", f"better: {' and '.join(better)}")
    ax.legend(frameon=False)
    return common.finish(common.figure_of(ax), path)
