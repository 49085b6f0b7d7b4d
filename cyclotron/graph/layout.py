"""The positions of nodes in a picture: in layers, sources above what reads them, loops around theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cyclotron.graph.dot import label
from cyclotron.graph.nodes import Block, Node

CHARACTER, LINE = 6.2, 14.0  # the size of a character, in pixels
_GAP, _DROP, _MARGIN = 18.0, 40.0, 12.0  # between neighbours, between layers, around nested graphs


@dataclass
class Box:
    """A node, or the bend of an edge that passes a layer.

    Attributes
    ----------
    node : Node or None
    x, y : float
        The centre of its upper side, in pixels within the graph around.
    width, height : float
    ports : list of tuple of float and str
        Where edges arrive at the upper side, right of the centre, and what stands there.
    inside : Picture or None
        The nested graph.
    """

    node: Node | None
    width: float
    height: float
    ports: list[tuple[float, str]] = field(default_factory=list)
    inside: Picture | None = None
    x: float = 0.0
    y: float = 0.0


@dataclass
class Line:
    """An edge: the boxes it goes through, and the port where it ends; None if it says what is updated."""

    through: list[Box]
    port: int | None


@dataclass
class Picture:
    """A graph as boxes and lines, with the size of all."""

    boxes: list[Box]
    lines: list[Line]
    width: float = 0.0
    height: float = 0.0


def picture(graph: Block) -> Picture:
    """Place the nodes of a graph, and those of the graphs in it."""
    boxes = {node.id: _box(node) for node in graph.nodes}
    layers = _layers(graph)
    rows: list[list[Box]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for node in graph.nodes:
        rows[layers[node.id]].append(boxes[node.id])
    lines = []
    for node in graph.nodes:
        arrivals: list[tuple[int, int | None]] = [(e.source, k) for k, e in enumerate(node.edges)]
        if node.updates is not None:
            arrivals.append((node.updates, None))
        for source, port in arrivals:
            if source not in boxes:
                continue
            bends = [Box(None, 6.0, 0.0) for _ in range(layers[source] + 1, layers[node.id])]
            for row, bend in enumerate(bends, layers[source] + 1):
                rows[row].append(bend)
            lines.append(Line([boxes[source], *bends, boxes[node.id]], port))
    above: dict[int, list[Box]] = {}
    for line in lines:
        for upper, lower in zip(line.through, line.through[1:], strict=False):
            above.setdefault(id(lower), []).append(upper)
    result = Picture([box for row in rows for box in row], lines)
    _place(rows, above, result)
    return result


def _box(node: Node) -> Box:
    texts = [str(edge) for edge in node.edges]
    widths = [len(text) * CHARACTER + 8 for text in texts]
    width = max(max(len(text) for text in label(node)) * CHARACTER + 28, sum(widths))
    height = 2 * LINE + 10
    inside = None
    if node.body is not None:
        inside = picture(node.body)
        width = max(width, inside.width + 2 * _MARGIN)
        height += inside.height + _MARGIN
    at = -sum(widths) / 2
    ports = []
    for text, wide in zip(texts, widths, strict=True):
        ports.append((at + wide / 2, text))
        at += wide
    return Box(node, width, height, ports, inside)


def _layers(graph: Block) -> dict[int, int]:
    """The layer of each node: below all that it reads or updates."""
    result: dict[int, int] = {}
    for node in graph.nodes:
        sources = [edge.source for edge in node.edges]
        sources += [node.updates] if node.updates is not None else []
        result[node.id] = max((result[s] + 1 for s in sources if s in result), default=0)
    return result


def _place(rows: Sequence[list[Box]], above: Mapping[int, list[Box]], result: Picture) -> None:
    """Order each row by where its lines come from, centre it, and give the boxes their places."""
    y = 0.0
    for row in rows:
        order = {id(box): number for number, box in enumerate(row)}

        def wish(box: Box, order: Mapping[int, int] = order) -> tuple[float, int]:
            upper = above.get(id(box), [])
            return (sum(one.x for one in upper) / len(upper) if upper else 0.0, order[id(box)])

        row.sort(key=wish)
        width = sum(box.width for box in row) + _GAP * (len(row) - 1)
        x = -width / 2
        for box in row:
            box.x, box.y = x + box.width / 2, y
            x += box.width + _GAP
        result.width = max(result.width, width)
        height = max(box.height for box in row)
        for box in row:
            box.height = box.height if box.node is not None else height
        y += height + _DROP
    result.height = max(y - _DROP, 0.0)
