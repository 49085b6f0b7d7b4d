"""The roofline of a run: what it computes a cycle, against what computing, memory and links allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cyclotron.compiler.program import Program
from cyclotron.plot import _common as common
from cyclotron.plot._common import Axes, Figure
from cyclotron.runtime.result import Result
from cyclotron.support.arguments import require
from cyclotron.support.errors import ExecutionError
from cyclotron.support.svg import COLORS

MEMORY, LINKS = "memory", "links"
_MARKERS = {MEMORY: "o", LINKS: "s"}
_OVER = {MEMORY: "loaded or stored", LINKS: "sent"}
_DASHES = {MEMORY: "-", LINKS: "--"}


class Roof(NamedTuple):
    """A kind of traffic: what may move a cycle, and what did."""

    name: str
    bandwidth: float  # bytes a cycle, all PEs
    moved: int  # bytes
    text: str


class Roofline(NamedTuple):
    """The numbers of one run's roofline."""

    peak: float  # flops a cycle, all PEs; infinite where operators take no time
    roofs: tuple[Roof, ...]
    flops: int
    performance: float  # flops a cycle

    def intensity(self, roof: Roof) -> float:
        """Flops a byte of this kind of traffic; infinite without any."""
        return self.flops / roof.moved if roof.moved else math.inf


def roofline_of(result: Any) -> Roofline:
    """Return the roofs over a run and where it stands under them.

    Parameters
    ----------
    result : Result
        Of a simulation.

    Returns
    -------
    Roofline
        ``peak``: the sum over PEs of the best rate among the operators in each PE's program, on full passes
        of its unit. The memory's bandwidth is that of the ports that were used; of a machine without
        memories, that of a link for each PE that loads or stores. The links' is that of every pair of PEs
        that a channel joined.
    """
    program, stats = result.program, result.stats
    peak = sum(
        count * pe_class.peak_flops_per_cycle
        for count, pe_class in zip(program.core.pe_counts(), program.core.classes, strict=True)
    )
    flops = int(stats["flops"].sum())
    roofs = (_memory(program, stats), _links(program, stats))
    return Roofline(
        peak=peak or math.inf,
        roofs=tuple(roof for roof in roofs if roof.moved),
        flops=flops,
        performance=flops / max(result.cycles, 1),
    )


def _memory(program: Program, stats: dict[str, Any]) -> Roof:
    """Of what goes through ports of memories; where there are none, of what one could suppose."""
    machine = program.core.machine
    words = stats["words_loaded"] + stats["words_stored"]
    moved = stats["bytes_loaded"] + stats["bytes_stored"]
    used = [port["memory"] for port in stats["memory_ports"] if port["loads"] + port["stores"]]
    if used:
        served = stats["memory_port"] >= 0
        word = int(moved[served].sum()) / int(words[served].sum())
        bandwidth = word * sum(machine.memories[name].bandwidth_words_per_cycle for name in used)
        ports = f"{len(used):,} port{'' if len(used) == 1 else 's'}"
        text = f"memory: {bandwidth:,.0f} bytes a cycle through {ports}"
        return Roof(MEMORY, bandwidth, int(moved[served].sum()), text)
    count = int(np.count_nonzero(words))
    width = machine.link.words_per_cycle
    bandwidth = count * width * int(moved.sum()) / max(int(words.sum()), 1)
    port = f"{width} word{'' if width == 1 else 's'} a cycle"
    text = f"memory: {bandwidth:,.0f} bytes a cycle, supposing {port} for each of {count:,} PEs that use it"
    return Roof(MEMORY, bandwidth, int(moved.sum()), text)


def _links(program: Program, stats: dict[str, Any]) -> Roof:
    bandwidth = float(
        sum(
            statistics["words_per_cycle"] * np.dtype(channel["dtype"]).itemsize
            for channel, statistics in zip(program.channels, stats["channels"], strict=True)
        )
    )
    queues = sum(statistics["queues"] for statistics in stats["channels"])
    moved = sum(statistics["bytes"] for statistics in stats["channels"])
    return Roof(LINKS, bandwidth, moved, f"links: {bandwidth:,.0f} bytes a cycle over {queues:,} of them")


def roofline(
    *results: common.ResultLike,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
    path: str | Path | None = None,
) -> Figure:
    """Draw flops a cycle over flops a byte: the roofs that the machine sets, and each run below them.

    The level line is the peak of the PEs' operators. The slanted ones are the bandwidths: of memory (a circle
    marks the run at its flops a byte loaded or stored) and of the links (a square, at its flops a byte sent).
    The memory roof, and the traffic below it, are those of the ports of `Machine.memories` that were used.
    Without memories LOAD and STORE take no time; the roof then supposes that each PE that uses them has a
    port as wide as a link, so that a run above it loads faster than such ports do. (Williams, Waterman and
    Patterson, CACM 52(4), 2009; a roof for each kind of traffic as in later work.)

    Parameters
    ----------
    *results : Result
        Of simulations, one or several to compare.
    labels : sequence of str, optional
        A name for each; by default the kernel's name, grid and cycles.
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
        If a run computes nothing, or moves no byte.
    BackendUnavailable
        If matplotlib is not installed.
    """
    for result in results:
        require(
            result,
            Result,
            "roofline()",
            error=ExecutionError,
            code="CYC718",
            help='pass results of runs with backend="sim"',
        )
    lines = [roofline_of(result) for result in results]
    for result, line in zip(results, lines, strict=True):
        if line.flops == 0 or not line.roofs:
            what = "no floating-point operation" if line.flops == 0 else "no byte"
            raise ExecutionError(
                f"a roofline of `{result.program.kernel_name}`, which counts {what}",
                code="CYC718",
                notes=[(None, f"{line.flops:,} operations, {sum(r.moved for r in line.roofs):,} bytes")],
                help="draw a run that computes and moves floating-point numbers",
            )
    if labels is None:
        labels = [f"{common.headline(result)}, {result.cycles:,} cycles" for result in results]
    ax = common.axes(ax, 8.5, 5.2)
    _frame(ax, lines)
    drawn: set[Any] = set()
    for number, line in enumerate(lines):
        machine = line.peak, tuple(roof.bandwidth for roof in line.roofs)
        if machine not in drawn:
            _roofs(ax, line, COLORS[number % len(COLORS)])
        drawn.add(machine)
    for number, (line, label) in enumerate(zip(lines, labels, strict=True)):
        _points(ax, line, COLORS[number % len(COLORS)], label)
    several = len(results) > 1
    common.set_title(ax, "roofline" if several else common.headline(results[0]), _subtitle(lines))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), frameon=False, fontsize=8, ncols=1)
    return common.finish(common.figure_of(ax), path)


def _subtitle(lines: list[Roofline]) -> str:
    shares = ", ".join(common.percent(line.performance / line.peak) for line in lines)
    return f"{shares} of the peak" if all(math.isfinite(line.peak) for line in lines) else "no peak"


def _intensities(lines: list[Roofline]) -> list[float]:
    found = [line.intensity(roof) for line in lines for roof in line.roofs]
    ridges = [line.peak / r.bandwidth for line in lines for r in line.roofs if math.isfinite(line.peak)]
    return found + ridges


def _frame(ax: Axes, lines: list[Roofline]) -> None:
    intensities = _intensities(lines)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.set_xlim(min(intensities) / 4, max(intensities) * 4)
    tops = [line.peak for line in lines if math.isfinite(line.peak)]
    heights = [line.performance for line in lines]
    ax.set_ylim(min(heights) / 4, max(tops + heights) * 2.5)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(_power)
    common.quiet_frame(ax)
    ax.grid(color="#eeeeee")
    ax.set_axisbelow(True)
    ax.set_xlabel("flops a byte", color=common.INK)
    ax.set_ylabel("flops a cycle", color=common.INK)


def _power(value: float, _: float) -> str:
    """A tick at a power of two: 1/8, 4, 1,024."""
    return f"{value:,.0f}" if value >= 1 else f"1/{1 / value:,.0f}"


def _roofs(ax: Axes, line: Roofline, color: str) -> None:
    low, high = ax.get_xlim()
    if math.isfinite(line.peak):
        start = min(line.peak / roof.bandwidth for roof in line.roofs)
        ax.plot([max(low, start), high], [line.peak] * 2, color=color, linewidth=1.6)
        common.note(ax, f"peak: {line.peak:,.4g} flops a cycle", (high, line.peak), (-4, 4), ha="right")
    for roof in line.roofs:
        end = min(high, line.peak / roof.bandwidth)
        x = np.array([low, end])
        ax.plot(
            x, x * roof.bandwidth, color=color, linewidth=1.6, linestyle=_DASHES[roof.name], label=roof.text
        )


def _points(ax: Axes, line: Roofline, color: str, label: str) -> None:
    for roof in line.roofs:
        x = line.intensity(roof)
        reachable = min(line.peak, x * roof.bandwidth)
        share = common.percent(line.performance / reachable)
        bound = "peak" if reachable == line.peak else f"{roof.name} roof"
        text = f"{label}, at its flops a byte {_OVER[roof.name]}: {share} of the {bound}"
        ax.plot([x, x], [line.performance, reachable], color=color, linewidth=0.8, linestyle=":")
        marker = _MARKERS[roof.name]
        ax.plot([x], [line.performance], marker, color=color, markersize=8, linestyle="none", label=text)
