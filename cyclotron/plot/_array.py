"""The array of PEs, with an arrow for each operand that moves (Fig. 13)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cyclotron.compiler.explain import Explainable, Explanation, Motion
from cyclotron.plot import _arrows as arrows
from cyclotron.plot import _common as common
from cyclotron.plot._common import Axes, Figure

if TYPE_CHECKING:
    from cyclotron.compiler.flows import Rule

_MOST_PES = {1: 8, 2: 4}  # a side
_MOST_STEPS = 6  # of each time index that arrows are gathered from
_RADIUS = 0.3
_ROW_LETTERS = 9  # in a square
_BUS = 0.1  # between a line of PEs and its broadcast network


def array(program: Explainable, *, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
    """Draw the PEs of a program and which operand moves where between them.

    A square is a PE, in it its coordinates and the tensors that stay there; an arrow is a tensor that moves,
    a dashed line a broadcast network, a short arrow a load from memory, or
    a link round a torus. Of a large grid its first corner is
    drawn, which the title says.

    Parameters
    ----------
    program : Program
        On a grid of one or two dimensions.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    path : str or Path, optional
        File to save to, its type by its suffix.

    Raises
    ------
    ShapeError
        If the grid has more than two dimensions.
    BackendUnavailable
        If matplotlib is not installed.
    """
    common.check_dimensions(
        program.kernel_name, program.grid, help="read it instead: print(program.explain())"
    )
    picture = _Picture(program)
    places = [arrows.place(pe) for pe in picture.pes]
    ax = common.axes(ax, *arrows.size_of(places, 1.15))
    picture.draw(ax)
    arrows.bare(ax, places, 0.65)
    count = "×".join(map(str, program.grid))
    cut = f"; the first {picture.most} of each index" if picture.is_cut else ""
    names = ", ".join(program.grid_names)
    directions = " down, right" if len(program.grid) == 2 else ""
    common.set_title(ax, f"{program.kernel_name} on {count} PEs", f"PE [{names}]{directions}{cut}")
    return common.finish(common.figure_of(ax), path)


class _Picture:
    """A picture of a program: the corner of its grid, and its moves projected on it."""

    def __init__(self, program: Explainable) -> None:
        self._dataflow = program.placed
        self._explanation = Explanation(program)
        self._indices = self._dataflow.indices
        # A grid dimension that is no index (a program on one PE) has no coordinate to project on.
        schedule = program.schedule
        self._row = program.grid[1] if schedule is not None and schedule.is_serpentine else None
        names = schedule.space_indices if schedule is not None and self._row else program.grid_names
        self._dims = [self._indices.index(name) for name in names if name in self._indices]
        self.most = _MOST_PES[len(program.grid)]
        along = self.most * (self._row or 1)
        shown = [min(extent, self.most) for extent in program.grid]
        self.is_cut = tuple(shown) != program.grid
        self.pes = [pe for pe in itertools.product(*map(range, shown)) if self._is_used(program, pe)]
        self._colors = arrows.colors(flow.variable for flow in self._dataflow.flows)
        self._least, greatest = self._dataflow.bounds
        self._greatest = tuple(
            min(b, a + (along if d in self._dims else _MOST_STEPS) - 1)
            for d, (a, b) in enumerate(zip(self._least, greatest, strict=True))
        )

    @staticmethod
    def _is_used(program: Explainable, pe: tuple[int, ...]) -> bool:
        return program.core.class_of(list(pe)) is not None

    def draw(self, ax: Axes) -> None:
        """Draw everything but titles."""
        from matplotlib.patches import Rectangle

        stationary = ", ".join(self._explanation.stationary)
        for pe in self.pes:
            x, y = arrows.place(pe)
            corner, side = (x - _RADIUS, y - _RADIUS), 2 * _RADIUS
            ax.add_patch(Rectangle(corner, side, side, facecolor="#F4F6F8", edgecolor=common.INK, zorder=3))
            text = ", ".join(map(str, pe))
            common.write(ax, x, y + (0.1 if stationary else 0.0), text, fontsize=9, zorder=4)
            self._draw_stationary(ax, x, y)
        moves = [arrow for rule in self._dataflow.rules for arrow in self._arrows(rule)]
        arrows.draw_arrows(ax, moves, _RADIUS, square=True)
        for rule in self._dataflow.rules:
            if rule.kind == "broadcast":
                self._draw_buses(ax, rule)
        arrows.draw_stubs(ax, list(self._loads()), _RADIUS, square=True)
        arrows.legend(ax, [], self._lines())

    def _draw_stationary(self, ax: Axes, x: float, y: float) -> None:
        rows: list[list[str]] = []
        for name in self._explanation.stationary:
            if not rows or sum(len(other) + 1 for other in rows[-1]) + len(name) > _ROW_LETTERS:
                rows.append([])
            rows[-1].append(name)
        longest = max((len(" ".join(row)) for row in rows), default=1)
        size = 9 * min(1.0, _ROW_LETTERS / longest, 2.8 / max(len(rows), 1))
        letter = 0.065 * size / 9  # of the width of a square
        for number, row in enumerate(rows):
            at = x - letter * len(" ".join(row)) / 2
            line = y - 0.13 - (number - (len(rows) - 1) / 2) * 0.12 * size / 9
            for name in row:
                style = {"fontsize": size, "fontweight": "bold", "color": self._colors[name], "zorder": 4}
                common.write(ax, at + letter * len(name) / 2, line, name, **style)
                at += letter * (len(name) + 1)

    def _pe(self, point: tuple[int, ...]) -> tuple[int, ...]:
        at = tuple(point[d] - self._least[d] for d in self._dims) or (0,)
        if self._row is None:
            return at
        row, step = divmod(at[0], self._row)
        return row, self._row - 1 - step if row % 2 else step

    def _pairs(self, rule: Rule) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """From which PE to which other one a rule moves values, of those shown."""
        pairs: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        if rule.kind in ("transfer", "broadcast"):
            pairs = self._dataflow.arrows(rule, self._least, self._greatest)
        elif rule.kind == "compute":
            ends = self._dataflow.rule_points(rule, self._least, self._greatest)
            for _, offset in rule.reads:
                if offset is not None and any(offset):
                    pairs += [(tuple(a + b for a, b in zip(end, offset, strict=True)), end) for end in ends]
        shown = set(self.pes)
        moves = dict.fromkeys((self._pe(start), self._pe(end)) for start, end in pairs)
        return [(a, b) for a, b in moves if a != b and a in shown and b in shown]

    def _arrows(self, rule: Rule) -> Iterator[arrows.Arrow]:
        if rule.kind != "broadcast":
            for start, end in self._pairs(rule):
                if not self._goes_round(start, end):
                    color = self._colors[rule.flow.variable]
                    yield arrows.Arrow(arrows.place(start), arrows.place(end), color)

    def _goes_round(self, start: tuple[int, ...], end: tuple[int, ...]) -> bool:
        """Tell if a move is over the link that closes a ring, which joins the ends of a line."""
        return any(abs(a - b) > 1 for a, b in zip(start, end, strict=True))

    def _draw_buses(self, ax: Axes, rule: Rule) -> None:
        """A broadcast network is a dashed line beside its PEs, with a tap for each."""
        color = self._colors[rule.flow.variable]
        lines: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for start, end in self._pairs(rule):
            lines.setdefault(start, []).append(end)
        for start, ends in lines.items():
            places = [arrows.place(pe) for pe in (start, *ends)]
            xs, ys = zip(*places, strict=True)
            far = _RADIUS + _BUS
            if len(set(ys)) == 1:  # above a row
                y = ys[0] + far
                arrows.draw_line(ax, [(min(xs) + 0.1, y), (max(xs) + 0.1, y)], color, head=False, dashed=True)
                taps = [((x + 0.1, y), (x + 0.1, y - _BUS)) for x in xs]
            else:  # left of a column
                x = xs[0] - far
                arrows.draw_line(ax, [(x, max(ys) - 0.1), (x, min(ys) - 0.1)], color, head=False, dashed=True)
                taps = [((x, y - 0.1), (x + _BUS, y - 0.1)) for y in ys]
            for number, tap in enumerate(taps):  # the first is the source's own
                arrows.draw_line(ax, tap if number else tap[::-1], color, head=number > 0)

    def _loads(self) -> Iterator[arrows.Stub]:
        shown = set(self.pes)
        motions = {motion.flow.number: motion for motion in self._explanation.motions}
        moves = {
            (rule.flow.variable, end) for rule in self._dataflow.rules for start, end in self._pairs(rule)
        }
        for rule in self._dataflow.rules:
            color = self._colors[rule.flow.variable]
            if rule.kind == "inject" and not rule.flow.prefetched:
                points = self._dataflow.rule_points(rule, self._least, self._greatest)
                for pe in dict.fromkeys(map(self._pe, points)):
                    if pe in shown:
                        is_fed = (rule.flow.variable, pe) in moves  # the stream's own side is taken
                        angle = 115.0 if is_fed else self._angle(motions[rule.flow.number])
                        yield arrows.Stub(arrows.place(pe), color, angle)
            elif rule.kind == "transfer":
                for start, end in self._pairs(rule):
                    if self._goes_round(start, end):  # out at one end of the line, in at the other
                        angle = self._angle(motions[rule.flow.number])
                        yield arrows.Stub(arrows.place(end), color, angle)
                        yield arrows.Stub(arrows.place(start), color, angle + 180, inward=False)

    @staticmethod
    def _angle(motion: Motion) -> float:
        """A stream enters from where it comes, other loads from a corner."""
        if motion.kind != "stream":
            return 135.0
        origin = arrows.place((0,) * len(motion.hops[0]))
        x, y = (a - b for a, b in zip(origin, arrows.place(motion.hops[0]), strict=True))
        return math.degrees(math.atan2(y, x))

    def _lines(self) -> list[tuple[str, str, bool]]:
        """For each tensor all that happens to it."""
        lines = []
        for name, color in self._colors.items():
            motions = [motion for motion in self._explanation.motions if motion.flow.variable == name]
            words = []
            if name in self._explanation.stationary:
                loaded = any(motion.kind == "resident" for motion in motions)
                words.append("is stationary (prefetch)" if loaded else "is stationary")
            for kind, verb in (("stream", "streams"), ("broadcast", "is broadcast")):
                along = dict.fromkeys(index for m in motions if m.kind == kind for index in m.along)
                if along:
                    words.append(f"{verb} along {', '.join(along)}")
            dashed = any(motion.kind == "broadcast" for motion in motions)
            lines.append((f"{name} {', '.join(words) or 'stays where it is loaded or made'}", color, dashed))
        return lines
