"""Mappings as points over memory and cycles, with their front and the bound."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cyclotron.plot import _common as common
from cyclotron.plot._common import Axes, Figure

if TYPE_CHECKING:
    from cyclotron.mapper.mappings import Mappings

_FRONT = "#c8553d"
_TRIED = "#9bb8c0"
_BOUND = "#3d5a80"
_WIDE = 30  # most over fewest cycles, from where the axis is logarithmic


def mappings(found: Mappings, *, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
    """Draw all mappings that a search tried by memory and cycles, the front, and the bound below all.

    Parameters
    ----------
    found : Mappings
        From `cyclotron.map`.
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
    ax = ax or common.new_figure(6.0, 4.2).add_subplot()
    tried = found.tried
    memory, cycles = zip(*tried, strict=True)
    ax.scatter(memory, cycles, s=18, color=_TRIED, label="tried")
    front = _front(tried)
    ax.plot(*zip(*front, strict=True), marker="o", markersize=5, color=_FRONT, label="front")
    if found.objectives[0] == "cycles":
        ax.axhline(found.bound, color=_BOUND, linestyle="--", linewidth=1)
        text, at = f"no mapping has fewer than {found.bound}", (1, found.bound)
        style = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "top", "color": _BOUND}
        common.note(ax, text, at, (-4, -5), **style)
    if max(cycles) > _WIDE * max(1, min(cycles)):
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=0)
    ax.set_xlabel("memory of the fullest PE (bytes)")
    ax.set_ylabel("cycles")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    common.set_title(ax, "Mappings", f"best {found[0].cycles} cycles, gap {found.gap:.1%}")
    ax.legend(frameon=False, fontsize=8)
    return common.finish(common.figure_of(ax), path)


def _front(points: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """The fewest cycles with so much memory or less, where more makes them fewer."""
    result: list[tuple[int, int]] = []
    for memory, cycles in sorted(set(points)):
        if not result or cycles < result[-1][1]:
            result.append((memory, cycles))
    return result
