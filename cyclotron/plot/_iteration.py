"""Iteration spaces: the points, and how values go from one to another (Figs. 4, 7 and 8)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclotron.plot import _arrows as arrows
from cyclotron.plot import _common as common
from cyclotron.plot._common import Axes, Figure

if TYPE_CHECKING:
    from cyclotron.compiler.dataflow import Dataflow
    from cyclotron.compiler.flows import Rule, Space
    from cyclotron.compiler.program import Program

# Points a dimension that are drawn, by the number of dimensions.
_MOST = {1: 8, 2: 6, 3: 3}
_RADIUS = {1: 0.2, 2: 0.2, 3: 0.13}
_FILLS = ("#FFFFFF", "#FFE3B3", "#D6EAF8", "#D5F0E3", "#F3DCEB", "#E8E8E8", "#FBF3B5")
# Between points of two spaces that have the same coordinates, and in all.
_APART, _FARTHEST = 0.34, 0.68


def iteration_space(program: Program, *, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
    """Draw the points of a program's iteration spaces and the arrows of its dataflow between them.

    Arrows are coloured by tensor, dashed between two spaces; short ones are loads and stores. Points of a
    space with free coordinates only are round, of others, like a diagonal, square. Of a large space its
    first corner is drawn, which the title says.

    Parameters
    ----------
    program : Program
        With one to three indices.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    path : str or Path, optional
        File to save to, its type by its suffix.

    Raises
    ------
    ShapeError
        If the kernel has more than three indices, or none.
    BackendUnavailable
        If matplotlib is not installed.
    """
    dataflow = program.dataflow
    dimensions = len(dataflow.indices)
    if dimensions not in _MOST:
        raise common.undrawable(
            f"`{program.kernel_name}` has {dimensions} indices, and a picture shows 1 to {max(_MOST)}",
            "draw the array instead: program.plot.array()",
        )
    picture = _Picture(dataflow)
    places = list(picture.places())
    ax = common.axes(ax, *arrows.size_of(places, 1.15 if dimensions < 3 else 1.3))
    picture.draw(ax)
    arrows.bare(ax, places, 0.55)
    names = ", ".join(dataflow.indices)
    cut = f"; the first {_MOST[dimensions]} of each index" if picture.is_cut else ""
    directions = {1: "", 2: " down, right", 3: " down, right, into depth"}[dimensions]
    common.set_title(ax, f"{program.kernel_name}: iteration spaces", f"({names}){directions}{cut}")
    return common.finish(common.figure_of(ax), path)


class _Picture:
    """A picture of a dataflow: the corner, its points and arrows."""

    def __init__(self, dataflow: Dataflow) -> None:
        self._dataflow = dataflow
        self._dimensions = len(dataflow.indices)
        self._least, greatest = dataflow.bounds
        most = _MOST[self._dimensions]
        self._greatest = tuple(min(b, a + most - 1) for a, b in zip(self._least, greatest, strict=True))
        self.is_cut = self._greatest != greatest
        self._colors = arrows.colors(flow.variable for flow in dataflow.flows)
        self._points = {space.number: self._points_of(space) for space in dataflow.spaces}
        self._radius, self._apart = _RADIUS[self._dimensions], 0.0
        self._asides = self._aside_of_spaces()
        if farthest := max(self._asides.values(), default=0):
            self._apart = min(_APART, _FARTHEST / farthest)
            self._radius = min(self._radius, 0.5 * self._apart)

    def _aside_of_spaces(self) -> dict[int, int]:
        """The steps that each space stands aside, so that no two have a point at one place."""
        asides: dict[int, int] = {}
        for number, points in self._points.items():
            taken = {asides[other] for other in asides if not set(points).isdisjoint(self._points[other])}
            asides[number] = next(n for n in range(len(asides) + 1) if n not in taken)
        return asides

    def _points_of(self, space: Space) -> list[tuple[int, ...]]:
        return self._dataflow.points(space, self._least, self._greatest) if self._least else []

    def places(self) -> Iterator[arrows.Place]:
        """The positions of the nodes."""
        for space in self._dataflow.spaces:
            for point in self._points[space.number]:
                yield self._place(point, space)

    def draw(self, ax: Axes) -> None:
        """Draw everything but titles."""
        radius = self._radius
        for space in self._dataflow.spaces:
            self._draw_points(ax, space, radius)
        moves = [arrow for rule in self._dataflow.rules for arrow in self._arrows(rule)]
        arrows.draw_arrows(ax, moves, radius)
        arrows.draw_stubs(ax, self._stubs(), radius)
        arrows.legend(ax, self._node_handles(), self._lines(moves))

    def _place(self, point: tuple[int, ...], space: Space) -> arrows.Place:
        x, y = arrows.place(point)
        aside = self._apart * self._asides[space.number]
        return x + aside, y - aside / 2

    def _is_square(self, space: Space) -> bool:
        return any(
            form != index for form, index in zip(space.coordinates, self._dataflow.indices, strict=True)
        )

    def _draw_points(self, ax: Axes, space: Space, radius: float) -> None:
        from matplotlib.patches import Circle, Rectangle

        fill = _FILLS[space.number % len(_FILLS)]
        style: dict[str, Any] = {"facecolor": fill, "edgecolor": common.INK, "linewidth": 0.9, "zorder": 3}
        for point in self._points[space.number]:
            x, y = self._place(point, space)
            if self._is_square(space):
                side = 1.8 * radius
                ax.add_patch(Rectangle((x - side / 2, y - side / 2), side, side, **style))
            else:
                ax.add_patch(Circle((x, y), radius, **style))
            size = min(50 * self._radius, 8 if self._dimensions < 3 else 6.5)
            common.write(ax, x, y, ",".join(map(str, point)), fontsize=size, zorder=4)

    def _arrows(self, rule: Rule) -> Iterator[arrows.Arrow]:
        color = self._colors[rule.flow.variable]
        target = rule.flow.space
        if rule.kind in ("transfer", "broadcast"):
            source = rule.reads[0][0].space
            for start, end in self._dataflow.arrows(rule, self._least, self._greatest):
                if self._inside(start):
                    yield arrows.Arrow(
                        self._place(start, source),
                        self._place(end, target),
                        color,
                        dashed=source != target,
                        curved=rule.kind == "broadcast",
                    )
        elif rule.kind == "compute":
            for flow, offset in rule.reads:
                if offset is None or not any(offset):
                    continue
                for end in self._dataflow.rule_points(rule, self._least, self._greatest):
                    start = tuple(a + b for a, b in zip(end, offset, strict=True))
                    if self._inside(start):
                        yield arrows.Arrow(self._place(start, flow.space), self._place(end, target), color)

    def _inside(self, point: tuple[int, ...]) -> bool:
        return all(a <= p <= b for a, p, b in zip(self._least, point, self._greatest, strict=True))

    def _stubs(self) -> Iterator[arrows.Stub]:
        """Loads come from the upper left, stores go to the lower right."""
        for rule in self._dataflow.rules:
            if rule.kind not in ("inject", "export"):
                continue
            color, space, load = self._colors[rule.flow.variable], rule.flow.space, rule.kind == "inject"
            for point in self._dataflow.rule_points(rule, self._least, self._greatest):
                place = self._place(point, space)
                yield arrows.Stub(place, color, angle=135 if load else -45, inward=load)

    def _node_handles(self) -> list[Any]:
        from matplotlib.lines import Line2D

        labels = {
            s.number: f"{self._operation(s)} at ({', '.join(s.coordinates)})" for s in self._dataflow.spaces
        }
        for number, points in self._points.items():  # one statement may have several spaces
            if points and list(labels.values()).count(labels[number]) > 1:
                labels[number] += f", from {', '.join(map(str, points[0]))}"
        return [
            Line2D(
                [],
                [],
                linestyle="",
                marker="s" if self._is_square(space) else "o",
                markersize=9,
                markerfacecolor=_FILLS[space.number % len(_FILLS)],
                markeredgecolor=common.INK,
                label=labels[space.number],
            )
            for space in self._dataflow.spaces
        ]

    def _operation(self, space: Any) -> str:
        """The operation's name, or where others have that too the statement."""
        return str(space.name if space.name.isalpha() else self._dataflow.statement(space))

    def _lines(self, moves: list[arrows.Arrow]) -> list[tuple[str, str, bool]]:
        lines = [(name, color, False) for name, color in self._colors.items()]
        if any(arrow.dashed for arrow in moves):
            lines.append(("between two spaces", "#888888", True))
        lines.append(("short: load, store", "none", False))
        return lines
