"""Operators of the PEs at one cycle, as a map over the grid."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cyclotron.analysis.events import all_events
from cyclotron.plot import _common as common
from cyclotron.plot._cells import cells_of, draw_cells, size_of_cells
from cyclotron.plot._common import Axes, Figure
from cyclotron.plot._operators import IDLE, keys, legend, operators_of
from cyclotron.support.errors import ExecutionError
from cyclotron.support.svg import COLORS

if TYPE_CHECKING:
    from matplotlib.artist import Artist


def wavefront(
    result: common.ResultLike, cycle: int, *, ax: Axes | None = None, path: str | Path | None = None
) -> Figure:
    """Draw the operator that each PE executes at a cycle; PEs that compute nothing are light grey.

    Of a large grid the colours are means over blocks of PEs.

    Parameters
    ----------
    result : Result
        Of a simulation that kept all events, on a grid of one or two dimensions.
    cycle : int
        From 0 to ``result.cycles - 1``.
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
        If there is no such cycle, or events are missing.
    ShapeError
        If the grid has more than two dimensions.
    BackendUnavailable
        If matplotlib is not installed.
    """
    if not 0 <= cycle < result.cycles:
        raise ExecutionError(
            f"there is no cycle {cycle:,} in a run of {result.cycles:,}",
            code="CYC735",
            help=f"take one from 0 to {result.cycles - 1}" if result.cycles else "nothing took time",
        )
    picture = Wavefronts(result, ax)
    picture.show(cycle)
    return common.finish(picture.figure, path)


class Wavefronts:
    """A picture of a run that shows one cycle after another.

    Parameters
    ----------
    result : Result
        As for `wavefront`.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
        Complete after the first `show`.
    changing : list of matplotlib.artist.Artist
        What is drawn anew by each `show`, or over it, from back to front.
    """

    def __init__(self, result: common.ResultLike, ax: Axes | None = None) -> None:
        common.check_dimensions(
            result.program.kernel_name, result.grid, help="draw how many compute instead: plot.activity()"
        )
        self._result = result
        self._events = all_events(result)
        labels, self._codes = operators_of(self._events)
        self._names = common.axis_names(result)
        headline = common.headline(result)
        ax = self._new_axes(headline) if ax is None else common.given(ax)
        from matplotlib.colors import to_rgb
        from matplotlib.patches import Patch

        # The last is that of code -1.
        self._palette = np.array([to_rgb(color) for color in (*COLORS, IDLE)])
        self.figure = common.figure_of(ax)
        self._image = draw_cells(ax, self._palette[np.full(result.grid, -1)], self._names)
        self._subtitle = common.set_title(ax, headline, "")
        self.changing: list[Artist] = [self._image, *ax.collections, self._subtitle]
        legend(ax, [*keys(labels), Patch(color=IDLE, label="idle")])

    def _new_axes(self, headline: str) -> Axes:
        rows, columns = self._result.grid if len(self._result.grid) == 2 else (1, *self._result.grid)
        width, height = size_of_cells((rows, columns), 1)
        longest = max(len(headline), len(self._caption(self._result.cycles, 0)))
        figure = common.new_figure(
            max(width + 2.2, common.INCHES_A_CHARACTER * longest + 1.0), max(height + 1.0, 2.6)
        )
        # A small map leaves the room for its title to the right.
        return figure.add_subplot(anchor="W")

    def show(self, cycle: int) -> None:
        """Draw a cycle in place of the one before.

        Parameters
        ----------
        cycle : int
            From 0 to ``result.cycles - 1``.
        """
        codes = self._codes_at(cycle)
        self._image.set_data(cells_of(self._palette[codes], self._names)[0])
        self._subtitle.set_text(self._caption(cycle, int(np.count_nonzero(codes >= 0))))

    def _codes_at(self, cycle: int) -> NDArray[np.intp]:
        """For each PE the number of its operator's colour, -1 where it computes nothing."""
        now = (self._events["start"] <= cycle) & (cycle < self._events["end"])
        codes = np.full(common.pe_count(self._result), -1, dtype=np.intp)
        codes[self._events["pe"][now]] = self._codes[now]
        return codes.reshape(self._result.grid)

    def _caption(self, cycle: int, active: int) -> str:
        count = common.pe_count(self._result)
        share = common.percent(active / count)
        return f"cycle {cycle:,} of {self._result.cycles:,}: {active:,} of {count:,} PEs compute, {share}"
