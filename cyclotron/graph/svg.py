"""Graphs as static SVG, for notebooks and files; needs no Graphviz."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from cyclotron.graph.dot import label
from cyclotron.graph.layout import LINE, Box, Line, Picture, picture
from cyclotron.graph.nodes import Block

_PAD = 16.0
_LEGEND_PIXELS = 74.0
_WORDS = {"full": "constant"}
_COLORS = {
    "input": "#606060",
    "full": "#606060",
    "transfer": "#909090",
    "temporary": "#c83232",
    "operation": "#2850c8",
    "loop": "#149646",
}


def to_svg(graph: Block) -> str:
    """Return the picture as an ``<svg>`` element."""
    drawn = picture(graph)
    width, height = drawn.width + 2 * _PAD, drawn.height + 2 * _PAD
    kinds = [kind for kind in _COLORS if any(node.kind == kind for node in graph)]
    width = max(width, 2 * _PAD + _LEGEND_PIXELS * len(kinds))
    parts = [*_picture(drawn, width / 2, _PAD), *_legend(kinds, height)]
    height += _PAD
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif" font-size="10">'
        f"<title>{escape(repr(graph)[1:-1])}</title>"
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>'
    )


def _legend(kinds: list[str], y: float) -> Iterator[str]:
    """A word for each kind of node, in its colour."""
    for number, kind in enumerate(kinds):
        x = _PAD + number * _LEGEND_PIXELS
        style = f'fill="white" stroke="{_COLORS[kind]}"'
        yield f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="9" height="9" {style}/>'
        yield f'<text x="{x + 13:.1f}" y="{y:.1f}" fill="#404040">{_WORDS.get(kind, kind)}</text>'


def _picture(drawn: Picture, x: float, y: float) -> Iterator[str]:
    """A graph of which the upper side has its centre at a point."""
    for line in drawn.lines:
        yield _line(line, x, y)
    for box in drawn.boxes:
        if box.node is not None:
            yield from _box(box, x + box.x, y + box.y)


def _box(box: Box, x: float, y: float) -> Iterator[str]:
    assert box.node is not None
    yield f'<g fill="white" stroke="{_COLORS[box.node.kind]}" stroke-width="1.4">{_outline(box, x, y)}</g>'
    for number, text in enumerate(label(box.node)):
        weight = ' font-weight="bold"' if number == 0 else ' fill="#404040"'
        yield _text(x, y + LINE * (number + 1), text, weight)
    for port, text in box.ports:
        yield _text(x + port, y - 4, text, ' font-size="9" fill="#404040"')
    if box.inside is not None:
        yield from _picture(box.inside, x, y + 2 * LINE + 10)


def _text(x: float, y: float, text: str, style: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle"{style}>{escape(text)}</text>'


def _outline(box: Box, x: float, y: float) -> str:
    """An ellipse for an operation, a hexagon for a temporary, a box for all others."""
    assert box.node is not None
    left, right, bottom, middle = x - box.width / 2, x + box.width / 2, y + box.height, y + box.height / 2
    if box.node.kind == "operation":
        return f'<ellipse cx="{x:.1f}" cy="{middle:.1f}" rx="{box.width / 2:.1f}" ry="{box.height / 2:.1f}"/>'
    if box.node.kind == "temporary":
        corners = [(left, middle), (left + 12, y), (right - 12, y), (right, middle)]
        corners += [(right - 12, bottom), (left + 12, bottom)]
        return f'<polygon points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in corners)}"/>'
    dashed = ' stroke-dasharray="4 3"' if box.node.kind == "transfer" else ""
    return (
        f'<rect x="{left:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="5"{dashed}/>'
    )


def _line(line: Line, x: float, y: float) -> str:
    """An edge, from the lower side of its source through the bends to its port."""
    first, *bends, last = line.through
    port = last.ports[line.port][0] if line.port is not None else last.width / 2 - 14
    at, before = x + first.x, y + first.y + first.height
    path = f"M{at:.1f} {before:.1f}"
    ends = [(x + bend.x, y + bend.y, y + bend.y + bend.height) for bend in bends]
    under = y + last.y - (14 if line.port is not None else 0)
    for a, b, after in [*ends, (x + last.x + port, under, under)]:
        half = (before + b) / 2
        path += f"C{at:.1f} {half:.1f} {a:.1f} {half:.1f} {a:.1f} {b:.1f}"
        path += f"V{after:.1f}" if after > b else ""
        at, before = a, after
    style = "" if line.port is not None else ' stroke-dasharray="2 3"'
    return f'<path d="{path}" fill="none" stroke="#909090"{style}/>'
