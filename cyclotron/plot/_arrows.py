"""Parts of pictures of points and PEs: nodes in the plane, arrows between them, colours and legends."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cyclotron.plot import _common as common
from cyclotron.plot._common import Axes

Point = tuple[int, ...]
Place = tuple[float, float]

# Okabe and Ito's colours, told apart by everyone; then others, for kernels of many tensors.
PALETTE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#555555",
    "#8C564B",
    "#66A61E",
    "#7F3C8D",
    "#B5A900",
    "#000000",
)
# The third dimension goes right and up, as depth.
_DEPTH = (0.46, 0.40)
_FAN = 60.0  # degrees that short arrows of one direction take, so that they keep out of the next
_APART = 0.075  # between arrows that join the same nodes


@dataclass(frozen=True)
class Arrow:
    """An arrow between two places, both the middle of a node."""

    start: Place
    end: Place
    color: str
    dashed: bool = False
    curved: bool = False


@dataclass(frozen=True)
class Stub:
    """A short arrow into or out of a node, at an angle in degrees, counter-clockwise from the right."""

    node: Place
    color: str
    angle: float = 135.0
    inward: bool = True


def place(point: Point) -> Place:
    """Return where a point with up to three coordinates is drawn.

    The first of two coordinates runs down and the second right, as in a matrix; a third goes into depth.
    """
    if len(point) == 1:
        return float(point[0]), 0.0
    x, y = float(point[1]), -float(point[0])
    if len(point) == 3:
        x, y = 1.5 * x + _DEPTH[0] * point[2], 1.5 * y + _DEPTH[1] * point[2]
    return x, y


def colors(names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name, in order."""
    return {name: PALETTE[n % len(PALETTE)] for n, name in enumerate(dict.fromkeys(names))}


def draw_arrows(ax: Axes, arrows: Iterable[Arrow], radius: float, *, square: bool = False) -> None:
    """Draw arrows from border to border of their nodes; those between the same two nodes side by side.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    arrows : iterable of Arrow
        Each once, even if given twice.
    radius : float
        Of a node, or half the side of a square one.
    square : bool
        Whether the nodes are squares.
    """
    groups: dict[tuple[Place, Place], list[Arrow]] = defaultdict(list)
    for arrow in dict.fromkeys(arrows):
        if math.dist(arrow.start, arrow.end) > 1e-9:
            low, high = sorted((arrow.start, arrow.end))
            groups[low, high].append(arrow)
    for (low, high), group in groups.items():
        length = math.dist(low, high)
        normal = ((low[1] - high[1]) / length, (high[0] - low[0]) / length)
        for number, arrow in enumerate(group):
            aside = (number - (len(group) - 1) / 2) * _APART
            shift = (normal[0] * aside, normal[1] * aside)
            along = max(abs(a - b) / length for a, b in zip(low, high, strict=True))
            _draw_arrow(ax, arrow, shift, radius / along if square else radius)


def _draw_arrow(ax: Axes, arrow: Arrow, shift: Place, radius: float) -> None:
    length = math.dist(arrow.start, arrow.end)
    along = [(b - a) / length for a, b in zip(arrow.start, arrow.end, strict=True)]
    start = [a + u * radius + s for a, u, s in zip(arrow.start, along, shift, strict=True)]
    end = [b - u * (radius + 0.02) + s for b, u, s in zip(arrow.end, along, shift, strict=True)]
    connection = "arc3,rad=0.25" if arrow.curved else "arc3"
    ends = (start[0], start[1]), (end[0], end[1])
    draw_line(
        ax, ends, arrow.color, head=True, dashed=arrow.dashed, mutation_scale=9, connectionstyle=connection
    )


def draw_stubs(ax: Axes, stubs: Iterable[Stub], radius: float, *, square: bool = False) -> None:
    """Draw short arrows; several in one direction at one node are fanned out.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    stubs : iterable of Stub
        Each once, even if given twice.
    radius : float
        Of a node, or half the side of a square one.
    square : bool
        Whether the nodes are squares.
    """
    groups: dict[tuple[Place, float], list[Stub]] = defaultdict(list)
    for stub in dict.fromkeys(stubs):
        groups[stub.node, stub.angle].append(stub)
    for (_, angle), group in groups.items():
        apart = min(26.0, _FAN / max(len(group) - 1, 1))
        for number, stub in enumerate(group):
            turn = math.radians(angle + apart * (number - (len(group) - 1) / 2))
            towards = (math.cos(turn), math.sin(turn))
            border = radius / max(map(abs, towards)) if square else radius
            near, far = border + 0.02, border + 0.24
            ends = [(stub.node[0] + towards[0] * d, stub.node[1] + towards[1] * d) for d in (far, near)]
            draw_line(ax, ends if stub.inward else ends[::-1], stub.color, head=True, width=1.0)


def draw_line(
    ax: Axes,
    ends: Sequence[Place],
    color: str,
    *,
    head: bool,
    width: float = 1.3,
    dashed: bool = False,
    **style: Any,
) -> None:
    """Draw a line, with an arrow head at its end or without.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    ends : two places
        From where to where.
    color : str
        Of line and head.
    head : bool
        Whether it has a head.
    width : float
        In points.
    dashed : bool
        Whether it is dashed.
    **style
        Of `FancyArrowPatch`: ``mutation_scale``, by default 7, and ``connectionstyle``.
    """
    from matplotlib.patches import FancyArrowPatch

    ax.add_patch(
        FancyArrowPatch(
            ends[0],
            ends[1],
            arrowstyle="-|>" if head else "-",
            shrinkA=0,
            shrinkB=0,
            color=color,
            linewidth=width,
            linestyle=(0, (3, 2)) if dashed else "-",
            zorder=2,
            **{"mutation_scale": 7, **style},
        )
    )


def bare(ax: Axes, places: Sequence[Place], margin: float) -> None:
    """Set the view around places, with equal units and no frame."""
    xs, ys = zip(*places, strict=True) if places else ((0.0,), (0.0,))
    ax.set_xlim(min(xs) - margin, max(xs) + margin)
    ax.set_ylim(min(ys) - margin, max(ys) + margin)
    ax.set_aspect("equal")
    ax.axis("off")


def legend(ax: Axes, nodes: Sequence[Any], lines: Sequence[tuple[str, str, bool]]) -> None:
    """Draw a legend right of the picture.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    nodes : sequence of Artist
        Handles of the kinds of node, with labels.
    lines : sequence of (label, colour, whether it is dashed)
        The kinds of arrow.
    """
    from matplotlib.lines import Line2D

    handles = list(nodes)
    for label, color, dashed in lines:
        style: Literal["--", "-"] = "--" if dashed else "-"
        handles.append(Line2D([], [], color=color, linestyle=style, linewidth=1.6, label=label))
    if handles:
        ax.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(1.01, 1),
            frameon=False,
            fontsize=8,
            labelcolor=common.INK,
            borderaxespad=0,
        )


def size_of(places: Sequence[Place], unit: float) -> tuple[float, float]:
    """Return width and height in inches of a picture of these places, with room for titles and the legend."""
    xs, ys = zip(*places, strict=True) if places else ((0.0,), (0.0,))
    return max(unit * (max(xs) - min(xs) + 1.4) + 2.4, 5.0), max(unit * (max(ys) - min(ys) + 1.4) + 0.8, 2.2)
