"""Maps over the grid."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.plot import _common as common
from cyclotron.plot._cells import draw_cells, size_of_cells
from cyclotron.plot._common import Axes, Figure
from cyclotron.support.svg import plane_of

if TYPE_CHECKING:
    from matplotlib.image import AxesImage

_COLORS = "viridis"
_MOST_NUMBERS = 12  # a side, up to which each cell says its number
_MOST_SLICES = 12


def utilization(
    result: common.ResultLike, *, ax: Axes | None = None, path: str | Path | None = None
) -> Figure:
    """Draw the share of cycles that each PE computes, as a map over the grid.

    A grid with more than two dimensions is shown slice by slice (in `ax`: as its mean over the leading
    dimensions), a large one as means over blocks of PEs.

    Parameters
    ----------
    result : Result
        Of a simulation.
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
    shares = np.asarray(result.utilization, dtype=np.float64).reshape(result.grid)
    first = common.headline(result)
    mean = common.percent(float(shares.mean()))
    alike = shares.size > 1 and float(np.ptp(shares)) == 0
    busy = f"each PE computes {mean} of them" if alike else f"mean utilisation {mean}"
    second = f"{result.cycles:,} cycles, {busy}"
    if ax is not None:
        image = draw_map(common.given(ax), plane_of(shares), common.axis_names(result)[-2:])
        common.set_title(ax, first, second)
        figure = common.figure_of(ax)
        _color_bar(figure, image, [ax])
        return common.finish(figure, path)
    figure = draw_maps(result, shares)
    axes = figure.axes
    if len(axes) == 1:
        common.set_title(axes[0], first, second)
    else:
        figure.suptitle(f"{first}: {second}", fontsize=11, fontweight="bold", color=common.INK)
    _color_bar(figure, axes[0].images[0], axes)
    return common.finish(figure, path)


def draw_maps(result: common.ResultLike, shares: NDArray[np.float64]) -> Figure:
    """Return a figure with a map for each slice of the grid, evenly chosen where there are too many."""
    names = common.axis_names(result)
    every = common.slices(shares)
    chosen = [every[n] for n in np.unique(np.linspace(0, len(every) - 1, _MOST_SLICES).astype(int))]
    columns = math.ceil(math.sqrt(len(chosen)))
    rows = math.ceil(len(chosen) / columns)
    width, height = size_of_cells(chosen[0][1].shape, len(chosen))
    # Room for titles, ticks and the colour bar; never narrower than the title.
    figure = common.new_figure(max(width * columns + 1.2, 4.2), max(height * rows + 1.3, 2.2))
    for position, (index, values) in enumerate(chosen):
        ax = figure.add_subplot(rows, columns, position + 1)
        draw_map(ax, values if shares.ndim > 1 else values[0], names[-2:])
        if index:
            where = ", ".join(f"{name} = {value}" for name, value in zip(names, index, strict=False))
            ax.set_title(where, fontsize=9, color=common.INK)
    return figure


def draw_map(ax: Axes, shares: NDArray[Any], names: list[str]) -> AxesImage:
    """Draw shares in [0, 1] over a grid of one or two dimensions.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    shares : ndarray
        One or two dimensions.
    names : list of str
        A name for each dimension; the last runs to the right, the one before down.
    """
    image = draw_cells(ax, shares, names, cmap=_COLORS, vmin=0, vmax=1)
    if max(shares.shape) <= _MOST_NUMBERS:
        cells = np.atleast_2d(shares)
        for row, column in np.ndindex(cells.shape):
            share = float(cells[row, column])
            color = "white" if share < 0.6 else "black"
            ax.text(column, row, f"{100 * share:.0f}", ha="center", va="center", color=color, fontsize=8)
    return image


def _color_bar(figure: Figure, image: AxesImage, axes: list[Axes]) -> None:
    low, high = image.get_extent()[2:]
    flat = len(axes) == 1 and image.get_extent()[1] + 0.5 > 4 * abs(high - low)
    below = {"location": "bottom", "shrink": 0.5, "aspect": 40, "anchor": (0.0, 0.5)}
    color_bar(figure, image, axes, "cycles computing", **(below if flat else {"shrink": 0.9, "pad": 0.02}))


def color_bar(figure: Figure, image: AxesImage, axes: list[Axes], label: str, **place: Any) -> None:
    """Draw the scale of shares in [0, 1] beside axes, where `place` says, as of `Figure.colorbar`."""
    from matplotlib.ticker import PercentFormatter

    bar = figure.colorbar(image, ax=axes, format=PercentFormatter(1, decimals=0), **place)
    bar.set_label(label, color=common.INK, fontsize=9)
    bar.ax.tick_params(colors=common.INK, labelsize=8)
    bar.outline.set_visible(False)
