"""Pictures of a program, its iteration spaces and its array, and of a run. Need matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cyclotron.compiler.memory_map import memory_map_svg
from cyclotron.plot._activity import activity
from cyclotron.plot._animation import animation
from cyclotron.plot._array import array
from cyclotron.plot._common import ResultLike
from cyclotron.plot._critical_path import critical_path
from cyclotron.plot._energy import energy
from cyclotron.plot._explore import Exploration, explore
from cyclotron.plot._gantt import timeline
from cyclotron.plot._heatmap import utilization
from cyclotron.plot._iteration import iteration_space
from cyclotron.plot._mappings import mappings
from cyclotron.plot._memory import memory
from cyclotron.plot._node import node
from cyclotron.plot._pareto import pareto
from cyclotron.plot._ranks import rank_timeline
from cyclotron.plot._roofline import roofline
from cyclotron.plot._shares import occupancy
from cyclotron.plot._stalls import stalls
from cyclotron.plot._traffic import traffic
from cyclotron.plot._wavefront import wavefront
from cyclotron.support.svg import color_scale_svg, heat_map_svg

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cyclotron.analysis.rank_profile import Profile
    from cyclotron.compiler.program import Program

__all__ = [
    "Exploration",
    "Plots",
    "ProgramPlots",
    "activity",
    "animation",
    "array",
    "color_scale_svg",
    "critical_path",
    "energy",
    "explore",
    "heat_map_svg",
    "iteration_space",
    "mappings",
    "memory",
    "memory_map_svg",
    "node",
    "occupancy",
    "pareto",
    "rank_timeline",
    "roofline",
    "stalls",
    "timeline",
    "traffic",
    "utilization",
    "wavefront",
]


class Plots:
    """The pictures of one result: ``result.plot.utilization()``."""

    def __init__(self, result: ResultLike, profile: Profile | None = None) -> None:
        self._result = result
        self._profile = profile

    def utilization(self, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
        """Draw the share of cycles each PE computes; see `cyclotron.plot.utilization`."""
        return utilization(self._result, ax=ax, path=path)

    def timeline(
        self,
        ax: Axes | None = None,
        path: str | Path | None = None,
        *,
        pes: Iterable[int | tuple[int, ...]] | None = None,
        cycles: tuple[int, int] | None = None,
    ) -> Figure:
        """Draw what each PE does when, or each rank; see `cyclotron.plot.timeline` and `rank_timeline`."""
        if self._profile is not None:
            return rank_timeline(self._profile, ax=ax, path=path)
        return timeline(self._result, pes=pes, cycles=cycles, ax=ax, path=path)

    def occupancy(self, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
        """Draw how each PE spends its cycles; see `cyclotron.plot.occupancy`."""
        return occupancy(self._result, ax=ax, path=path)

    def stalls(self, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
        """Draw where the cycles of the whole array go; see `cyclotron.plot.stalls`."""
        return stalls(self._result, ax=ax, path=path)

    def activity(self, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
        """Draw how many PEs compute when; see `cyclotron.plot.activity`."""
        return activity(self._result, ax=ax, path=path)

    def critical_path(self, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
        """Draw the chain that the cycles are the sum of; see `cyclotron.plot.critical_path`."""
        return critical_path(self._result, ax=ax, path=path)

    def roofline(
        self,
        *others: ResultLike,
        labels: Sequence[str] | None = None,
        ax: Axes | None = None,
        path: str | Path | None = None,
    ) -> Figure:
        """Draw flops a cycle over flops a byte, with others to compare; see `cyclotron.plot.roofline`."""
        return roofline(self._result, *others, labels=labels, ax=ax, path=path)

    def wavefront(self, cycle: int, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
        """Draw what each PE computes at a cycle; see `cyclotron.plot.wavefront`."""
        return wavefront(self._result, cycle, ax=ax, path=path)

    def animation(self, path: str | Path, *, frames: int = 120, frames_per_second: int = 10) -> None:
        """Write the wavefronts as a GIF or a web page; see `cyclotron.plot.animation`."""
        animation(self._result, path, frames=frames, frames_per_second=frames_per_second)

    def __repr__(self) -> str:
        return (
            "Plots: utilization(), timeline(), occupancy(), stalls(), activity(), roofline(), "
            "critical_path(), wavefront(cycle), animation(path)"
        )


class ProgramPlots:
    """The pictures of one program: ``program.plot.iteration_space()``."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def iteration_space(self, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
        """Draw the points and the values between them; see `cyclotron.plot.iteration_space`."""
        return iteration_space(self._program, ax=ax, path=path)

    def array(self, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
        """Draw the PEs and which operand moves where; see `cyclotron.plot.array`."""
        return array(self._program, ax=ax, path=path)

    def node(self, *point: int, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
        """Draw one point with what it receives, computes and sends; see `cyclotron.plot.node`."""
        return node(self._program, *point, ax=ax, path=path)

    def __repr__(self) -> str:
        return "ProgramPlots: iteration_space(), node(i, j, ...), array()"
