"""One point of the iteration spaces: what it receives, computes and sends (Figs. 4 and 8)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from cyclotron.plot import _arrows as arrows
from cyclotron.plot import _common as common
from cyclotron.plot._common import Axes, Figure
from cyclotron.support.latex import to_latex

if TYPE_CHECKING:
    from cyclotron.compiler.program import Program

_RADIUS = 0.42
_REACH = 1.75  # from the middle of the node to the far end of an arrow
_LINE = 0.34  # between formulas


def node(program: Program, *point: int, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
    """Draw one point with what it receives from where, sends where, and computes.

    Parameters
    ----------
    program : Program
        With one to three indices.
    *point : int
        A coordinate for each index.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    path : str or Path, optional
        File to save to, its type by its suffix.

    Raises
    ------
    ShapeError
        If the point has another number of coordinates than the kernel has indices, or more than three.
    BackendUnavailable
        If matplotlib is not installed.
    """
    dataflow = program.dataflow
    found = dataflow.node(*point)
    if len(point) > 3:
        raise common.undrawable(
            f"`{program.kernel_name}` has {len(point)} indices, and a picture shows 1 to 3",
            f"read it instead: print(program.dataflow.node{point})",
        )
    lines = [*found.loads, *found.computes, *found.stores]
    height = 2 * _REACH + 1.2 + _LINE * len(lines)
    ax = common.axes(ax, 6.4, 0.75 * height + 0.8)
    spellings = dataflow.spellings()
    _draw_node(ax, point)
    for moves, inward in ((found.receives, True), (found.sends, False)):
        for step, names in _by_step(moves).items():
            _draw_move(ax, dataflow.indices, step, names, inward=inward, spellings=spellings)
    for number, line in enumerate(lines):
        formula = to_latex(line, spellings)
        y = -_REACH - 0.75 - _LINE * number
        common.write(ax, 0, y, f"${formula}$", fontsize=9)
    ax.set_xlim(-3.4, 3.4)
    ax.set_ylim(-_REACH - 0.75 - _LINE * len(lines), _REACH + 0.45)
    ax.set_aspect("equal")
    ax.axis("off")
    where = ", ".join(map(str, point))
    operations = ", ".join(found.spaces) or "no operation"
    common.set_title(ax, f"{program.kernel_name}: point ({where})", operations)
    return common.finish(common.figure_of(ax), path)


def _draw_node(ax: Axes, point: tuple[int, ...]) -> None:
    from matplotlib.patches import Circle

    ax.add_patch(Circle((0, 0), _RADIUS, facecolor="#FFFFFF", edgecolor=common.INK, zorder=3))
    common.write(ax, 0, 0, ", ".join(map(str, point)), fontsize=10, zorder=4)


def _by_step(moves: Iterable[tuple[str, tuple[int, ...]]]) -> dict[tuple[int, ...], list[str]]:
    """The flows that go the same way share an arrow."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, step in moves:
        groups.setdefault(step, []).append(name)
    return groups


def _draw_move(
    ax: Axes,
    indices: tuple[str, ...],
    step: tuple[int, ...],
    names: list[str],
    *,
    inward: bool,
    spellings: dict[str, str],
) -> None:
    x, y = arrows.place(step)
    length = math.hypot(x, y)
    towards = (x / length, y / length)
    ends = [(towards[0] * d, towards[1] * d) for d in (_REACH, _RADIUS + 0.03)]
    color = arrows.PALETTE[0] if inward else arrows.PALETTE[1]
    arrows.draw_line(ax, ends if inward else ends[::-1], color, head=True)
    other = ", ".join(_shifted(index, by) for index, by in zip(indices, step, strict=True))
    text = ",\\ ".join(to_latex(f"({other})_{name}", spellings) for name in names)
    side = "left" if towards[0] >= 0 else "right"
    if abs(towards[1]) < 0.5:  # above a level arrow, at its far half
        place, ha, va = (towards[0] * (_REACH - 0.1), 0.12), "center", "bottom"
    elif abs(towards[0]) < 0.2:  # beside a steep one
        place, ha, va = (0.12, towards[1] * _REACH * 0.8), side, "center"
    else:  # at the end of one into depth
        place, ha, va = (towards[0] * (_REACH + 0.08), towards[1] * (_REACH + 0.08)), side, "center"
    ax.text(*place, f"${text}$", ha=ha, va=va, fontsize=9, color=color)


def _shifted(index: str, by: int) -> str:
    return f"{index}{by:+d}" if by else index
