"""The energy of a run as bars."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cyclotron.plot import _common as common
from cyclotron.plot._cells import draw_cells, size_of_cells
from cyclotron.plot._common import Axes, Figure
from cyclotron.plot._operators import keys, legend, ranked
from cyclotron.support.errors import ExecutionError
from cyclotron.support.svg import COLORS, plane_of

if TYPE_CHECKING:
    from cyclotron.analysis.energy import EnergyAccount

# What a bar is, and what its pieces are: attributes of `EnergyPart`.
_BARS = {"level": ("level", "of"), "operator": ("by", "level"), "tensor": ("of", "level")}
_MOST_BARS = 16
_UNITS = ((1e12, "J"), (1e9, "mJ"), (1e6, "µJ"), (1e3, "nJ"), (1.0, "pJ"))


def energy(
    account: EnergyAccount, by: str = "level", *, ax: Axes | None = None, path: str | Path | None = None
) -> Figure:
    """Draw the energy of a run: a bar for each level, operator or tensor, or a map of the PEs.

    Bars stand in the order of their length, the longest first, and add up to the total. Those of levels are
    of the tensors' pieces, the others of the levels'; from the sixteenth on they are one.

    Parameters
    ----------
    account : EnergyAccount
        ``result.energy``.
    by : {"level", "operator", "tensor", "pe"}
        What a bar is; ``"pe"``: a cell of a map over the grid, of one with more than two dimensions the mean
        over the leading ones.
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
        CYC716 if `by` is none of these.
    BackendUnavailable
        If matplotlib is not installed.
    """
    if by != "pe" and by not in _BARS:
        raise ExecutionError(
            f"energy has no part by `{by}`", code="CYC716", help=f"use one of: {', '.join(_BARS)}, pe"
        )
    if by == "pe":
        return common.finish(_draw_map(account, ax), path)
    sums, total = _sums(account, *_BARS[by])
    ax = common.axes(ax, 6.4, 1.4 + 0.3 * max(len(sums), 2))
    size, unit = _unit(total)
    pieces: dict[str, float] = {}
    for bar in sums.values():
        for name, value in bar.items():
            pieces[name] = pieces.get(name, 0.0) + value
    labels, numbers = ranked(pieces)
    for row, bar in enumerate(sums.values()):
        left = 0.0
        for name, value in sorted(bar.items(), key=lambda item: numbers[item[0]]):
            ax.barh(row, value / size, left=left / size, height=0.7, color=COLORS[numbers[name]])
            left += value
        share = common.percent(left / total if total else 0.0)
        common.note(ax, share, (left / size, row), (4, 0), va="center")
    common.row_axis(ax, by, list(sums), 1)
    common.quiet_frame(ax)
    ax.margins(x=0.12)
    ax.set_xlabel(f"energy ({unit})", color=common.INK)
    common.set_title(ax, _headline(account), account.source or "energies of the machine")
    legend(ax, keys(labels))
    return common.finish(common.figure_of(ax), path)


def _unit(picojoules: float) -> tuple[float, str]:
    """The picojoules of the largest unit that is no more than these, and its name."""
    return next((size, unit) for size, unit in _UNITS if picojoules >= size or unit == "pJ")


def _sums(account: EnergyAccount, bar: str, piece: str) -> tuple[dict[str, dict[str, float]], float]:
    """The picojoules of each bar by its pieces, the longest bar first, the last in one; and of all."""
    sums: dict[str, dict[str, float]] = {}
    for part in account.parts:
        own = sums.setdefault(getattr(part, bar), {})
        name = getattr(part, piece)
        own[name] = own.get(name, 0.0) + float(part.total)
    order = sorted(sums, key=lambda name: -sum(sums[name].values()))
    rest = order[_MOST_BARS - 1 :] if len(order) > _MOST_BARS else []
    result = {name: sums[name] for name in order if name not in rest}
    for name in rest:
        others = result.setdefault(f"{len(rest)} others", {})
        for each, value in sums[name].items():
            others[each] = others.get(each, 0.0) + value
    return result, account.total


def _draw_map(account: EnergyAccount, ax: Axes | None) -> Figure:
    values = plane_of(account.by_pe)
    width, height = size_of_cells(np.atleast_2d(values).shape, 1)
    ax = common.axes(ax, max(width + 1.2, 4.2), max(height + 1.3, 2.2))
    size, unit = _unit(float(values.max()))
    names = common.axis_names(account.result)[-2:]
    image = draw_cells(ax, values / size, names, cmap="viridis", vmin=0.0)
    figure = common.figure_of(ax)
    bar = figure.colorbar(image, ax=ax, shrink=0.9, pad=0.02)
    bar.set_label(f"energy of a PE ({unit})", color=common.INK, fontsize=9)
    common.set_title(ax, _headline(account), account.source or "energies of the machine")
    return figure


def _headline(account: EnergyAccount) -> str:
    grid = "×".join(map(str, account.result.grid))
    return f"{account.result.program.kernel_name} on {grid} PEs: {account.total:,.6g} pJ"
