"""Pictures of a run: where the array is busy, when, and what it waits for. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ._common import ResultLike
from ._gantt import timeline
from ._heatmap import utilization
from ._shares import occupancy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Plots", "occupancy", "timeline", "utilization"]


class Plots:
    """The pictures of one result: ``result.plot.utilization()``."""

    def __init__(self, result: ResultLike) -> None:
        self._result = result

    def utilization(self, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
        """Draw the share of cycles each PE computes; see `cyclotron.plot.utilization`."""
        return utilization(self._result, ax=ax, path=path)

    def timeline(self, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
        """Draw what each PE does when; see `cyclotron.plot.timeline`."""
        return timeline(self._result, ax=ax, path=path)

    def occupancy(self, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
        """Draw how each PE spends its cycles; see `cyclotron.plot.occupancy`."""
        return occupancy(self._result, ax=ax, path=path)

    def __repr__(self) -> str:
        return "Plots: utilization(), timeline(), occupancy()"
