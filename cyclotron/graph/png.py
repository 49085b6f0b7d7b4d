"""Graphs as PNG, for readers of notebooks that show no SVG: what `to_svg` says, drawn by matplotlib."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from cyclotron.graph.nodes import Block
from cyclotron.graph.svg import to_svg

if TYPE_CHECKING:
    from matplotlib.patches import Patch
    from matplotlib.text import Text

_DOTS = 100.0  # an inch; a unit of the SVG is a dot
_POINTS = 72 / _DOTS  # a dot in points, which texts and lines are measured in
_MOST_DOTS = 4000  # a side
_STEP = re.compile(r"([MCV])([^MCV]*)")


def to_png(graph: Block) -> bytes | None:
    """Return the picture as a PNG file; None where matplotlib is not installed.

    Parameters
    ----------
    graph : Block
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None
    root = ElementTree.fromstring(to_svg(graph))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    dots = _DOTS * min(1.0, _MOST_DOTS / max(width, height))
    figure = Figure(figsize=(width / _DOTS, height / _DOTS), dpi=dots)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    for order, (element, style) in enumerate(_elements(root, dict(root.attrib))):
        artist = _artist(element, style)
        artist.set_zorder(order)
        axes.add_artist(artist)
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=dots)
    return file.getvalue()


def _elements(
    parent: ElementTree.Element, inherited: dict[str, str]
) -> list[tuple[ElementTree.Element, dict[str, str]]]:
    """The shapes and texts in the order they are drawn, with their attributes and those of groups around."""
    result = []
    for element in parent:
        kind = element.tag.rpartition("}")[2]
        style = {**inherited, **element.attrib}
        if kind == "g":
            result += _elements(element, style)
        elif kind != "title":
            result.append((element, style))
    return result


def _artist(element: ElementTree.Element, style: dict[str, str]) -> Patch | Text:
    from matplotlib import patches
    from matplotlib.path import Path
    from matplotlib.text import Text

    def number(name: str) -> float:
        return float(style.get(name, 0))

    kind = element.tag.rpartition("}")[2]
    if kind == "text":
        return Text(
            number("x"),
            number("y"),
            element.text or "",
            color=style.get("fill", "black"),
            fontsize=number("font-size") * _POINTS,
            fontweight=style.get("font-weight", "normal"),
            horizontalalignment="center" if style.get("text-anchor") == "middle" else "left",
        )
    look: dict[str, Any] = {
        "facecolor": style.get("fill", "black"),
        "edgecolor": style.get("stroke", "none"),
        "linewidth": float(style.get("stroke-width", 1)) * _POINTS,
    }
    if "stroke-dasharray" in style:
        look["linestyle"] = (0, tuple(map(float, style["stroke-dasharray"].split())))
    if kind == "ellipse":
        return patches.Ellipse((number("cx"), number("cy")), 2 * number("rx"), 2 * number("ry"), **look)
    if kind == "polygon":
        corners = [tuple(map(float, corner.split(","))) for corner in style["points"].split()]
        return patches.Polygon(corners, closed=True, **look)
    if kind == "path":
        return patches.PathPatch(Path(*_steps(style["d"])), **look)
    if style["width"] == "100%":
        return patches.Rectangle((0, 0), 1e5, 1e5, **look)
    return patches.Rectangle((number("x"), number("y")), number("width"), number("height"), **look)


def _steps(text: str) -> tuple[list[tuple[float, float]], list[int]]:
    """The points and codes of a path of M, C and V."""
    points: list[tuple[float, float]] = []
    codes: list[int] = []
    for step, numbers in _STEP.findall(text):
        values = list(map(float, numbers.split()))
        if step == "V":
            points.append((points[-1][0], values[0]))
        else:
            points += zip(values[::2], values[1::2], strict=True)
        codes += {"M": [1], "V": [2], "C": [4, 4, 4]}[step]
    return points, codes
