"""Memory of a PE: values by address over the instructions, and all that they take of its bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cyclotron.compiler.memory_map import bytes_text, colors_of
from cyclotron.plot import _common as common
from cyclotron.plot._common import Axes, Figure
from cyclotron.support.errors import ShapeError

if TYPE_CHECKING:
    from cyclotron.compiler.memory_map import ClassMemory, MemoryMap

_PARTS = ("data", "queues", "code")
_LIGHT = ("#F0E442", "#E69F00", "#56B4E9", "#999999")  # of the operators' colours
_PART_COLORS = ("#0072B2", "#E69F00", "#999999")


def memory(
    memory_map: MemoryMap, name: str | None = None, *, ax: Axes | None = None, path: str | Path | None = None
) -> Figure:
    """Draw the values of a class by address over its instructions, and all it needs against the memory.

    A bar is a value: as high as its bytes, as long as it may still be read, so that what is free is white.
    Lines above the bars are the loops. Below, where no axes are given, what data, queues and code take of the
    memory.

    Parameters
    ----------
    memory_map : MemoryMap
        Of a program.
    name : str, optional
        Of the class; by default the one whose data take most.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    path : str or Path, optional
        File to save to, its type by its suffix.

    Raises
    ------
    ShapeError
        If there is no such class.
    BackendUnavailable
        If matplotlib is not installed.
    """
    one = _class_of(memory_map, name)
    below = None
    if ax is None:
        figure = common.new_figure(9, 5.2)
        ax, below = figure.subplots(2, 1, height_ratios=(12, 1))
    _draw_values(ax, one)
    of = "bytes" if memory_map.capacity is None else f"of {memory_map.capacity:,} bytes"
    queues = bytes_text(one.queues)
    used = f"data {one.data:,}, queues {queues}, code about {one.code:,} {of}"
    count = f"{one.pe_count:,} {'PE' if one.pe_count == 1 else 'PEs'}"
    common.set_title(ax, f"{memory_map.kernel_name}: {one.name}, {count}", used)
    if below is not None:
        _draw_shares(below, one, memory_map.capacity)
    return common.finish(common.figure_of(ax), path)


def _class_of(memory_map: MemoryMap, name: str | None) -> ClassMemory:
    if name is None and memory_map.classes:
        return memory_map.fullest
    for one in memory_map.classes:
        if one.name == name:
            return one
    names = ", ".join(one.name for one in memory_map.classes)
    raise ShapeError(
        f"`{memory_map.kernel_name}` has no class `{name}`"
        if name is not None
        else f"no PE of `{memory_map.kernel_name}` has a program",
        code="CYC403",
        help=f"its classes are: {names}" if names else "compile it for larger arrays",
    )


def _draw_values(ax: Axes, one: ClassMemory) -> None:
    from matplotlib.patches import Rectangle

    colors = colors_of(one.slots)
    steps, size = max(one.instructions, 1), max(one.data, 1)
    # A letter's share of the axes, of about nine inches by four.
    letter, line = steps / 105, size / 28
    for slot in one.slots:
        for n, (first, last) in enumerate(slot.live):
            length = last + 1 - first
            ax.add_patch(
                Rectangle(
                    (first, slot.address),
                    length,
                    slot.size,
                    facecolor=colors[slot.name],
                    edgecolor="white",
                    linewidth=0.5,
                    hatch="//" if slot.persistent else None,
                )
            )
            if n == 0 and length > letter * len(slot.name) and slot.size > line:
                middle = (first + length / 2, slot.address + slot.size / 2)
                ink = common.INK if colors[slot.name] in _LIGHT else "white"
                ax.text(*middle, slot.name, ha="center", va="center", fontsize=7, color=ink)
    depth = 0
    open_until: list[int] = []
    for name, first, last in one.loops:
        open_until = [end for end in open_until if end > first]
        depth = max(depth, len(open_until) + 1)
        at = size * (1.03 + 0.045 * len(open_until))
        ax.plot([first, last + 1], [at, at], color=common.INK, linewidth=1.2, solid_capstyle="butt")
        if last + 1 - first > letter * len(name):
            ax.text((first + last + 1) / 2, at, name, ha="center", va="bottom", fontsize=7, color=common.INK)
        open_until.append(last)
    common.quiet_frame(ax)
    ax.set_xlim(0, steps)
    ax.set_ylim(0, size * (1.06 + 0.045 * depth))
    common.whole_ticks(ax.xaxis)
    common.whole_ticks(ax.yaxis, 8)
    ax.set_xlabel("instruction", color=common.INK)
    ax.set_ylabel("address in bytes", color=common.INK)


def _draw_shares(ax: Axes, one: ClassMemory, capacity: int | None) -> None:
    left = 0
    for part, color in zip(_PARTS, _PART_COLORS, strict=True):
        size = getattr(one, part)
        share = f"{part} {bytes_text(size)}"
        if capacity is not None and size is not None:
            share = f"{part} {common.percent(size / capacity)}"
        ax.barh([0], [size or 0], left=left, color=color, label=share)
        left += size or 0
    if capacity is not None:
        ax.axvline(capacity, color="#D55E00", linewidth=1.5, label=f"memory {capacity:,} bytes")
    common.quiet_frame(ax)
    ax.set_yticks([])
    ax.set_xlim(0, 1.02 * max(capacity or 1, left))
    ax.set_xlabel("bytes of a PE", color=common.INK)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -1.6), ncols=4, frameon=False, fontsize=8)
