"""A grid of PEs as coloured cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.plot import _common as common
from cyclotron.plot._common import Axes
from cyclotron.support.svg import shrink

if TYPE_CHECKING:
    from matplotlib.image import AxesImage

_MOST_LINES = 32  # a side, up to which the cells are set apart


def draw_cells(ax: Axes, values: NDArray[Any], names: list[str], **colors: Any) -> AxesImage:
    """Draw a cell for each PE of a line or a plane, of a large one for each block of PEs.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    values : ndarray, float64, shape (columns,) or (rows, columns), or with a last axis of 3
        A number for each PE, drawn as `colors` say, or its red, green and blue in [0, 1].
    names : list of str
        A name for each dimension of the grid; the last runs to the right, the one before down.
    **colors
        Of `matplotlib.axes.Axes.imshow`: ``cmap``, ``vmin`` and ``vmax``.

    Returns
    -------
    matplotlib.image.AxesImage
        The cells.
    """
    line = len(names) == 1
    cells, blocks = cells_of(values, names)
    extents = (1, values.shape[0]) if line else values.shape[:2]
    image = ax.imshow(
        cells,
        interpolation="nearest",
        aspect="auto" if _is_strip(extents) else "equal",
        extent=(-0.5, extents[1] - 0.5, extents[0] - 0.5, -0.5),
        **colors,
    )
    averaged = f" (means over {'×'.join(map(str, blocks[line:2]))} PEs)" if max(blocks) > 1 else ""
    ax.set_xlabel(names[-1] + averaged, color=common.INK)
    wide = extents[1] >= 0.6 * extents[0]
    common.whole_ticks(ax.xaxis, 9 if wide else 4)
    if line:
        ax.set_yticks([])
    else:
        ax.set_ylabel(names[-2], color=common.INK)
        common.whole_ticks(ax.yaxis, 9)
    ax.set_xlim(-0.5, extents[1] - 0.5)
    ax.set_ylim(extents[0] - 0.5, -0.5)
    ax.tick_params(colors=common.INK, labelsize=8, length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    if max(extents) <= _MOST_LINES:
        width = 1.2 if max(extents) <= 16 else 0.5
        ax.vlines(np.arange(1, extents[1]) - 0.5, *ax.get_ylim(), color="white", linewidth=width)
        ax.hlines(np.arange(1, extents[0]) - 0.5, *ax.get_xlim(), color="white", linewidth=width)
    return image


def cells_of(values: NDArray[Any], names: list[str]) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """Return the image of a grid, a line as one row, and how many PEs a cell stands for.

    Parameters
    ----------
    values : ndarray
        As for `draw_cells`.
    names : list of str
        A name for each dimension of the grid.
    """
    return shrink(values[np.newaxis] if len(names) == 1 else values, common.MOST_CELLS)


def size_of_cells(shape: tuple[int, ...], panels: int) -> tuple[float, float]:
    """Return width and height in inches of one map of several.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns.
    panels : int
        Maps in the figure.
    """
    side = {1: 4.4, 2: 3.4, 3: 3.0, 4: 3.0}.get(panels, 2.3)
    rows, columns = shape
    if _is_strip(shape):
        thin = max(0.6, min(1.4, min(shape) * 0.3))
        return (1.7 * side, thin) if columns > rows else (thin + 0.8, 1.7 * side)
    longest = max(shape)
    side = min(side, 1.0 + 0.8 * longest)
    return columns / longest * side, rows / longest * side


def _is_strip(extents: tuple[int, ...]) -> bool:
    """Tell if square cells would make the map too thin to see."""
    return max(extents) > 4 * min(extents)
