"""Actions of MPI ranks over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.analysis.rank_profile import Profile
from cyclotron.plot import _common as common
from cyclotron.plot._common import Axes, Figure
from cyclotron.plot._operators import legend, ranked
from cyclotron.support.svg import COLORS

# Of waits, lighter than what operators have; then of the others together.
_TINTS = ("#f7d0cd", "#cfe3f5", "#fdeccb", "#d8eed8", "#e6dcf0")
_MANY_WAITS = "#e4e4e4"
_COPIES = {"load": "#8a8a8a", "store": "#8a8a8a", "send": "#222222", "exchange": "#b8a88a"}
_LABELS = {
    "load": "loads and stores",
    "store": "loads and stores",
    "send": "sends",
    "exchange": "passes messages",
}


def rank_timeline(profile: Profile, *, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
    """Draw what each rank does when: a row a rank, coloured by operator; waits paler, by channel.

    Parameters
    ----------
    profile : Profile
        Of a run on MPI ranks with ``event_limit``.
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
        If the ranks kept no events (CYC717).
    BackendUnavailable
        If matplotlib is not installed.
    """
    events = profile.kept_events()
    ax = common.axes(ax, 9, min(1.5 + 0.4 * max(len(profile), 2), 12))
    common.quiet_frame(ax)
    more = f", {profile.events_dropped:,} more not recorded" if profile.events_dropped else ""
    common.set_title(ax, profile.caption, f"{len(events):,} events{more}")
    entries = _draw(ax, events)
    legend(ax, entries)
    step = -(-len(profile) // common.MOST_SINGLE_PES)
    common.row_axis(ax, "rank", list(map(str, range(len(profile)))), step)
    ax.set_xlabel("ms", color=common.INK)
    ax.set_xlim(0, 1e3 * max(rank["seconds"] for rank in profile))
    return common.finish(common.figure_of(ax), path)


def _draw(ax: Axes, events: NDArray[Any]) -> list[Any]:
    """Draw what takes time, by colour; return the legend."""
    from matplotlib.patches import Patch

    entries: dict[str, Patch] = {}
    for label, color, half, some in _groups(events):
        left, right = 1e3 * some["start"], 1e3 * some["end"]
        common.draw_bars(ax, left, right, some["rank"], half, facecolors=color, linewidths=0)
        entries.setdefault(label, Patch(color=color, label=label))
    return list(entries.values())


def _groups(events: NDArray[Any]) -> list[tuple[str, str, float, NDArray[Any]]]:
    """Label, colour, half of the height, and the events that have them."""
    groups = []
    computed = events[events["kind"] == "compute"]
    labels, numbers = ranked(_seconds(computed))
    number = np.array([numbers[str(name)] for name in computed["name"]], dtype=np.intp)
    groups += [(label, COLORS[n], 0.4, computed[number == n]) for n, label in enumerate(labels)]
    for kind, color in _COPIES.items():
        groups.append((_LABELS[kind], color, 0.4, events[events["kind"] == kind]))
    waits = events[events["kind"] == "wait"]
    seconds = _seconds(waits)
    for n, name in enumerate(sorted(seconds, key=lambda name: -seconds[name])):
        own = n < len(_TINTS)
        label, color = (f"waits for {name}", _TINTS[n]) if own else ("waits for others", _MANY_WAITS)
        groups.append((label, color, 0.25, waits[waits["name"] == name]))
    return [group for group in groups if len(group[3])]


def _seconds(events: NDArray[Any]) -> dict[str, float]:
    names, positions = np.unique(events["name"], return_inverse=True)
    weights = events["end"] - events["start"]
    return dict(zip(map(str, names), np.bincount(positions.reshape(-1), weights, len(names)), strict=True))
