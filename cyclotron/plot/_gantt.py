"""Actions of the PEs over time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.plot import _common as common
from cyclotron.plot._activity import draw_activity
from cyclotron.plot._common import Axes, Figure
from cyclotron.plot._operators import keys, legend, operators_of
from cyclotron.support.svg import COLORS


def timeline(
    result: common.ResultLike,
    *,
    pes: Iterable[int | tuple[int, ...]] | None = None,
    cycles: tuple[int, int] | None = None,
    ax: Axes | None = None,
    path: str | Path | None = None,
) -> Figure:
    """Draw what each PE does when: a row a PE, coloured by operator; above 64 PEs, how many are busy.

    Parameters
    ----------
    result : Result
        Of a simulation that kept events.
    pes : iterable of int or tuple of int, optional
        Linear indices or coordinates of the PEs to draw, a row each, however many there are in all.
    cycles : (int, int), optional
        The first cycle to draw, and the end; by default the whole run.
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
    ShapeError
        If a PE is not in the grid.
    BackendUnavailable
        If matplotlib is not installed.
    """
    count = common.pe_count(result)
    rows = _rows(result, pes) if pes is not None else list(range(count))
    single = pes is not None or count <= common.MOST_SINGLE_PES
    ax = common.axes(ax, 9, 1.5 + (0.24 if len(rows) <= 24 else 0.15) * max(len(rows), 2) if single else 4.0)
    events = np.asarray(result.events)
    first, end = cycles or (0, result.cycles)
    if pes is not None or cycles is not None:
        shown = np.isin(events["pe"], rows) & (events["start"] < end) & (events["end"] >= first)
        events = events[shown]
    common.quiet_frame(ax)
    subtitle = _subtitle(result, events)
    if not single and len(events):
        subtitle += f"; a row each for {common.MOST_SINGLE_PES} PEs at most, of more: pes=[...]"
    common.set_title(ax, common.headline(result), subtitle)
    if len(events) == 0:
        ax.set_yticks([])
        ax.text(0.5, 0.5, "no events were recorded", transform=ax.transAxes, ha="center", va="center")
    elif single:
        _draw_rows(ax, result, events, rows)
    else:
        draw_activity(ax, result, events)
    common.cycle_axis(ax, result)
    if cycles is not None:
        ax.set_xlim(first, end)
    return common.finish(common.figure_of(ax), path)


def _subtitle(result: common.ResultLike, events: NDArray[Any]) -> str:
    text = f"{result.cycles:,} cycles, {len(events):,} operations"
    dropped = result.events_dropped
    return f"{text} shown, {dropped:,} more not recorded" if dropped else text


def _rows(result: common.ResultLike, pes: Iterable[int | tuple[int, ...]]) -> list[int]:
    """The linear indices of PEs, each once."""
    numbers = np.arange(common.pe_count(result)).reshape(result.grid)
    found = []
    for pe in pes:
        place = pe if isinstance(pe, tuple) else (int(pe),)
        table = numbers if isinstance(pe, tuple) else numbers.reshape(-1)
        if len(place) != table.ndim or not all(
            0 <= at < extent for at, extent in zip(place, table.shape, strict=True)
        ):
            raise common.undrawable(
                f"there is no PE {pe} in a grid of {'×'.join(map(str, result.grid))}",
                "give coordinates, for example pes=[(0, 0)], or linear indices",
            )
        found.append(int(table[place]))
    return list(dict.fromkeys(found))


def _draw_rows(ax: Axes, result: common.ResultLike, events: NDArray[Any], rows: list[int]) -> None:
    start = events["start"].astype(np.float64)
    end = events["end"].astype(np.float64)
    # What costs no cycle still shows, as a thin line.
    thin = max(int(result.cycles), 1) / 800
    gap = 0.04 if result.cycles <= 300 else 0.0
    right = np.maximum(end - gap, start + thin)
    row_of = {pe: float(row) for row, pe in enumerate(rows)}
    row = np.array([row_of[pe] for pe in events["pe"].tolist()])
    labels, codes = operators_of(events)
    for code, name in enumerate(labels):
        style = {"facecolors": COLORS[code], "linewidths": 0, "label": name}
        some = codes == code
        common.draw_bars(ax, start[some], right[some], row[some], 0.4, **style)
    label = f"PE ({', '.join(common.axis_names(result))})"
    names = [", ".join(map(str, np.unravel_index(pe, result.grid))) for pe in rows]
    common.row_axis(ax, label, names, 1 if len(rows) <= 32 else 2)
    if len(result.grid) > 1:
        for border in range(1, len(rows)):
            if rows[border] // result.grid[-1] != rows[border - 1] // result.grid[-1]:
                ax.axhline(border - 0.5, color="#dddddd", linewidth=0.8, zorder=0)
    legend(ax, keys(labels))
