"""Parts of all pictures: the result they read, figures without global state, titles, smaller grids."""

from __future__ import annotations

import functools
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cyclotron.analysis.events import HasEvents
from cyclotron.support.arguments import shown
from cyclotron.support.errors import BackendUnavailable, ShapeError
from cyclotron.support.files import write_file

# In annotations alone: matplotlib is imported where something is drawn, and need not be installed.
if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Figure
    from matplotlib.text import Annotation
else:
    Axes = Figure = Any

# Of small text, on average.
INCHES_A_CHARACTER = 0.085
# A PE has a name on an axis, and a bar or a row of its own, up to here.
MOST_SINGLE_PES = 64
# More cells than pixels say nothing.
MOST_CELLS = 512
INK = "#333333"


class ResultLike(HasEvents, Protocol):
    """The result of a simulation, with all that is drawn of it."""

    @property
    def utilization(self) -> NDArray[np.float64]: ...


@functools.cache
def file_text(name: str) -> str:
    """Return what a file of this folder has: a page, its style or its script."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def new_figure(width: float, height: float) -> Figure:
    """Return a figure that pyplot does not know: shown once in a notebook, never leaked.

    Parameters
    ----------
    width, height : float
        Size in inches.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise BackendUnavailable(
            "pictures need matplotlib, which is not installed",
            code="CYC722",
            help="pip install matplotlib, or pip install 'cyclotron-compiler[viz]'",
        ) from None

    class NotebookFigure(Figure):
        """A figure that notebooks show without a pyplot backend."""

        def _repr_png_(self) -> bytes:
            buffer = io.BytesIO()
            self.savefig(buffer, format="png", dpi=110, bbox_inches="tight")
            return buffer.getvalue()

    return NotebookFigure(figsize=(width, height), layout="constrained")


def axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes, or those of a new figure of that size in inches."""
    return new_figure(width, height).add_subplot() if ax is None else given(ax)


def given(ax: Axes) -> Axes:
    """Return the axes that a user gives; a `ShapeError` (CYC735) where they are none, as a file's name."""
    if not hasattr(ax, "get_figure"):
        raise undrawable(
            f"a picture is drawn into {shown(ax)}, which is no axes of matplotlib",
            'give axes as `ax=`; a file\'s name is `path="map.png"`',
        )
    return ax


def undrawable(message: str, help: str) -> ShapeError:
    """Return the error of what no picture shows."""
    return ShapeError(message, code="CYC735", help=help)


def figure_of(ax: Axes) -> Figure:
    """Return the top figure that holds the axes."""
    from matplotlib.figure import Figure

    figure = ax.get_figure(root=True) if _takes_root(ax) else ax.get_figure()
    assert isinstance(figure, Figure)
    return figure


def _takes_root(ax: Axes) -> bool:
    """Tell if this matplotlib knows `get_figure(root=...)`, new in 3.10."""
    return "root" in type(ax).get_figure.__code__.co_varnames


def finish(figure: Figure, path: str | Path | None) -> Figure:
    """Return the figure, saved first where a path is given."""
    if path is not None:
        target = Path(path)
        target = target if target.suffix else target.with_name(f"{target.name}.png")
        file = io.BytesIO()
        figure.savefig(file, format=target.suffix[1:], dpi=150, bbox_inches="tight")
        write_file(target, file.getvalue())
    return figure


def headline(result: ResultLike) -> str:
    """Return `matmul on 4×4 PEs`."""
    count = "×".join(map(str, result.grid))
    return f"{result.program.kernel_name} on {count} {'PE' if pe_count(result) == 1 else 'PEs'}"


def check_dimensions(kernel_name: str, grid: tuple[int, ...], help: str) -> None:
    """Refuse a grid that paper does not have the dimensions for.

    Parameters
    ----------
    kernel_name : str
        Of the program.
    grid : tuple of int
        PEs a dimension.
    help : str
        What to do instead.

    Raises
    ------
    ShapeError
        If the grid has more than two dimensions.
    """
    if len(grid) > 2:
        raise undrawable(
            f"the grid of `{kernel_name}` has {len(grid)} dimensions, a picture shows 1 or 2", help
        )


def set_title(ax: Axes, first: str, second: str) -> Annotation:
    """Put a bold line and a plain one above the axes; return the plain one."""
    ax.set_title(first, fontsize=11, fontweight="bold", color=INK, loc="left", pad=20)
    # In points, not in shares of the axes, so that the lines keep their distance whatever the size.
    return note(ax, second, (0, 1), (0, 6), xycoords="axes fraction", fontsize=9)


def note(
    ax: Axes, text: str, at: tuple[float, float], beside: tuple[float, float], **style: Any
) -> Annotation:
    """Write a line some points beside a place, small and in ink unless a style of `annotate` differs."""
    style = {"fontsize": 8, "color": INK, **style}
    return ax.annotate(text, at, beside, textcoords="offset points", **style)


def write(ax: Axes, x: float, y: float, text: str, **style: Any) -> None:
    """Write text with its middle at a place, in ink unless its style says another."""
    ax.text(x, y, text, **{"ha": "center", "va": "center", "color": INK, **style})


def percent(share: float) -> str:
    """Return a share in [0, 1] as text, `36.4 %`; never 100 % where it is less."""
    value = 100 * share
    if value > 99.9 and share < 1:
        return "> 99.9 %"
    return f"{value:.0f} %" if value >= 99.95 or value == 0 else f"{value:.1f} %"


def pe_count(result: ResultLike) -> int:
    return int(np.prod(result.grid, dtype=np.int64))


def axis_names(result: HasEvents) -> list[str]:
    """Return a name for each grid dimension."""
    names = list(result.program.grid_names)
    return [names[d] if d < len(names) else f"dimension {d}" for d in range(len(result.grid))]


def slices(values: NDArray[Any]) -> list[tuple[tuple[int, ...], NDArray[Any]]]:
    """Return the last two dimensions for each index of the others; a line becomes one row.

    Parameters
    ----------
    values : ndarray
        One or more dimensions.
    """
    if values.ndim <= 1:
        return [((), values.reshape(1, -1))]
    return [(index, values[index]) for index in np.ndindex(values.shape[:-2])]


def pe_labels(grid: tuple[int, ...]) -> list[str]:
    """Return the coordinates of each PE as text, last dimension fastest."""
    return [", ".join(map(str, index)) for index in np.ndindex(grid)]


def row_axis(ax: Axes, label: str, names: Sequence[str], step: int) -> None:
    """Let rows run down, one for each name and with a tick at each of some; draw light lines across them."""
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
    ax.set_yticks(np.arange(0, len(names), step), names[::step])
    ax.set_ylabel(label, color=INK)
    ax.grid(axis="x", color="#eeeeee")
    ax.set_axisbelow(True)


def draw_bars(
    ax: Axes, left: NDArray[Any], right: NDArray[Any], rows: NDArray[Any], half: float, **style: Any
) -> None:
    """Draw a bar from left to right in each row, of twice the half height, in a style of `PolyCollection`."""
    from matplotlib.collections import PolyCollection

    top, bottom = rows - half, rows + half
    ends: Any = np.stack([left, top, right, top, right, bottom, left, bottom], axis=1)
    ax.add_collection(PolyCollection(ends.reshape(-1, 4, 2), **style))


def cycle_axis(ax: Axes, result: ResultLike) -> None:
    """Let cycles run to the right, with ticks at whole ones."""
    ax.set_xlabel("cycle", color=INK)
    ax.set_xlim(0, max(int(result.cycles), 1))
    whole_ticks(ax.xaxis)


def whole_ticks(axis: Axis, most: int = 10) -> None:
    """Put ticks at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=most, integer=True, min_n_ticks=1))


def share_axis(axis: Axis, label: str) -> None:
    """Let an axis tell shares of one in percent."""
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1, decimals=0))
    axis.set_label_text(label, color=INK)


def quiet_frame(ax: Axes) -> None:
    """Take the box away, keep the ticks' own lines light."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color("#bbbbbb")
    ax.tick_params(colors=INK, labelsize=8)
