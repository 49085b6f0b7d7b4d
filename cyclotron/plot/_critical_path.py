"""The critical path of a run, drawn over what its PEs compute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cyclotron.plot import _common as common
from cyclotron.plot._common import Axes, Figure
from cyclotron.plot._operators import IDLE, legend
from cyclotron.support.svg import COLORS

if TYPE_CHECKING:
    from cyclotron.analysis.critical_path import CriticalPath, Step

# Okabe and Ito's colours; a wait is dashed.
_STYLES: dict[str, tuple[str, Literal["-", "--"]]] = {
    "compute": (COLORS[0], "-"),
    "data": (COLORS[1], "-"),
    "broadcast": (COLORS[3], "-"),
    "capacity": (COLORS[5], "--"),
    "bandwidth": (COLORS[2], "--"),
    "memory": (COLORS[4], "-"),
    "port": (COLORS[4], "--"),
    "control": ("#5b8c5a", "--"),
    "hazard": ("#4a6fa5", "--"),
}
_WIDTH = 2.2  # points


def critical_path(result: Any, *, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
    """Draw the critical path: cycles to the right, a row for each PE that it visits.

    Bars are operators on the path, slanted lines messages, level ones loads and stores on their way, dashed
    ones waits for a full channel, a busy link, a busy port of a memory, a controller or the PE itself; in the
    background, all that these PEs compute. The legend tells the cycles of each kind.

    Parameters
    ----------
    result : Result
        Of a simulation that kept its events and messages.
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
        If events or messages are missing.
    BackendUnavailable
        If matplotlib is not installed.
    """
    found: CriticalPath = result.critical_path()
    visited = sorted({pe for step in found.steps for pe in (step.source, step.pe)})
    rows = {pe: row for row, pe in enumerate(visited)}
    ax = common.axes(ax, 9, 1.7 + min(0.24 * max(len(rows), 3), 9.0))
    _background(ax, result, rows)
    _steps(ax, found, rows)
    common.quiet_frame(ax)
    subtitle = f"critical path: {found.cycles:,} cycles in {len(found.steps):,} steps over {len(rows):,} PEs"
    common.set_title(ax, common.headline(result), subtitle)
    names = [", ".join(map(str, np.unravel_index(pe, result.grid))) for pe in visited]
    step = -(-max(len(visited), 1) // common.MOST_SINGLE_PES)
    common.row_axis(ax, f"PE ({', '.join(common.axis_names(result))})", names, step)
    common.cycle_axis(ax, result)
    return common.finish(common.figure_of(ax), path)


def _background(ax: Axes, result: Any, rows: dict[int, int]) -> None:
    events = result.events
    events = events[np.isin(events["pe"], list(rows))]
    row = np.array([rows[int(pe)] for pe in events["pe"]], dtype=np.float64)
    start, end = events["start"].astype(np.float64), events["end"].astype(np.float64)
    common.draw_bars(ax, start, end, row, 0.3, facecolors=IDLE, edgecolors="white", linewidths=0.4)


def _steps(ax: Axes, found: CriticalPath, rows: dict[int, int]) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    def ends(step: Step) -> list[tuple[float, float]]:
        return [(step.start, rows[step.source]), (step.end, rows[step.pe])]

    entries = []
    for kind, cycles in found.by_kind.items():
        color, dashes = _STYLES[kind]
        width = 3 * _WIDTH if kind == "compute" else _WIDTH
        lines = [ends(step) for step in found.steps if step.kind == kind]
        ax.add_collection(
            LineCollection(
                lines, colors=color, linestyles=dashes, linewidths=width, capstyle="butt", zorder=3
            )
        )
        share = common.percent(cycles / max(found.cycles, 1))
        entries.append(
            Line2D(
                [], [], color=color, linestyle=dashes, linewidth=width, label=f"{kind}: {cycles:,}, {share}"
            )
        )
    legend(ax, entries)
