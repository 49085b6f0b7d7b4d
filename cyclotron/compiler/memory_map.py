"""Contents of the memories of the PEs: values by address and time, queues and instructions."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cyclotron import _core
from cyclotron.support.svg import COLORS, inline_image, png
from cyclotron.support.tables import html_table, text_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_HEADER = ("class", "PEs", "data", "queues", "code", "held", "of bytes")
# As of programs that are compiled for no machine.
_NO_BOUND = 1 << 40
_PIXELS = (480, 200)  # of the picture in notebooks


@dataclass(frozen=True)
class SlotMemory:
    """A value's place in the memory of a PE.

    Attributes
    ----------
    name : str
        The value, as the class's program names it.
    address : int
        Of its first byte.
    size : int
        Bytes.
    live : tuple of (int, int)
        The first and last instruction of each time that a value of it may still be read.
    persistent : bool
        Whether it is loaded before the time loop and kept.
    """

    name: str
    address: int
    size: int
    live: tuple[tuple[int, int], ...]
    persistent: bool


@dataclass(frozen=True)
class ClassMemory:
    """The memory of each PE of one class.

    Attributes
    ----------
    name : str
        The class, e.g. ``class 4``.
    pe_count : int
        PEs of it.
    data : int
        Bytes up to the last of its values.
    queues : int or None
        Bytes of the messages that the queues into it hold; None where they have no bound.
    code : int
        Bytes of its instructions, an estimate: 4 for each instruction, operand and number, and for each index
        that an address, a bound or a condition is computed from.
    held : int or None
        Bytes of these that have to fit the memory: the data, and what else ``cy.PE(holds=)`` names. None
        where that has no bound.
    instructions : int
        How many there are.
    loops : tuple of (str, int, int)
        The index of each loop, its first and last instruction.
    slots : tuple of SlotMemory
        Its values in memory, by address; those in registers are left out. The tensors that it holds are
        among them, ``tensor x`` of all that the PE loads or stores of ``x``.
    text : str
        The map as text.
    """

    name: str
    pe_count: int
    data: int
    queues: int | None
    code: int
    held: int | None
    instructions: int
    loops: tuple[tuple[str, int, int], ...]
    slots: tuple[SlotMemory, ...]
    text: str

    @property
    def total(self) -> int:
        """Bytes of all of these that have a bound."""
        return self.data + (self.queues or 0) + self.code


class MemoryMap:
    """Contents of the memory of a PE of each class; prints as text, `plot` draws addresses over time.

    Data must fit the memory, or the program is refused. Queues and code are told beside them: machines may
    have memories of their own for these, or the same one (``cy.PE(holds=)``), in which all has to fit.

    Attributes
    ----------
    kernel_name : str
        Of the program.
    capacity : int or None
        Bytes of a PE's memory; None of a program that was compiled for no machine.
    """

    def __init__(self, program: _core.Program) -> None:
        self.kernel_name = program.kernel
        self._program = program
        capacity: int = program.machine.pe.memory_bytes
        self.capacity = capacity if capacity < _NO_BOUND else None

    @functools.cached_property
    def classes(self) -> tuple[ClassMemory, ...]:
        """One for each class, in the order of `Program.classes`."""
        found = []
        for core, count in zip(self._program.classes, self._program.pe_counts(), strict=True):
            slots = [
                SlotMemory(s["name"], s["address"], s["bytes"], tuple(live), s["persistent"])
                for s, live in zip(core.slots, core.lifetimes, strict=True)
                if s["address"] >= 0
            ]
            slots.sort(key=lambda slot: (slot.address, slot.live))
            footprint: dict[str, Any] = core.footprint
            found.append(
                ClassMemory(
                    name=core.name,
                    pe_count=count,
                    instructions=core.instructions,
                    loops=tuple(core.loops),
                    slots=tuple(slots),
                    text=core.memory_map.rstrip(),
                    **footprint,
                )
            )
        return tuple(found)

    @property
    def fullest(self) -> ClassMemory:
        """The class whose data take most."""
        return max(self.classes, key=lambda one: one.data)

    def plot(
        self, name: str | None = None, *, ax: Axes | None = None, path: str | Path | None = None
    ) -> Figure:
        """Draw the values of a class by address over its instructions, and all it needs against the memory.

        Parameters
        ----------
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
        from cyclotron.plot import memory

        return memory(self, name, ax=ax, path=path)

    def _rows(self) -> list[list[str]]:
        return [
            [
                one.name,
                f"{one.pe_count:,}",
                f"{one.data:,}",
                bytes_text(one.queues),
                f"{one.code:,}",
                bytes_text(one.held),
                bytes_text(self.capacity),
            ]
            for one in self.classes
        ]

    def __str__(self) -> str:
        if not self.classes:
            return "no PE has a program"
        return "\n\n".join([text_table(_HEADER, self._rows()), *(one.text for one in self.classes)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        table = html_table(_HEADER, self._rows(), f"{self.kernel_name}: bytes of each PE")
        if not self.classes:
            return table
        one = self.fullest
        text = f"<details><summary>{escape(one.name)}</summary><pre>{escape(one.text)}</pre></details>"
        axes = f"{one.name}: addresses up, {one.data:,} bytes; right, {one.instructions} instructions"
        return f"{table}{inline_image(memory_map_svg(one))}<br><small>{escape(axes)}</small>{text}"

    def _repr_png_(self) -> bytes | None:
        """The map alone, for readers of notebooks that show no HTML."""
        return memory_map_png(self.fullest) if self.classes else None


def bytes_text(count: int | None) -> str:
    """Return a number of bytes as text.

    Parameters
    ----------
    count : int or None
        None: no bound.
    """
    return "no bound" if count is None else f"{count:,}"


def colors_of(slots: tuple[SlotMemory, ...]) -> dict[str, str]:
    """Return a colour for each name of a value."""
    return {name: COLORS[n % len(COLORS)] for n, name in enumerate(dict.fromkeys(s.name for s in slots))}


def memory_map_svg(one: ClassMemory) -> str:
    """Return the values of a class by address over its instructions as a small ``<svg>`` element.

    Parameters
    ----------
    one : ClassMemory
        Of a `MemoryMap`.

    Returns
    -------
    str
        Address 0 is at the bottom; the name of a value shows under the pointer.
    """
    colors = colors_of(one.slots)
    steps, size = max(one.instructions, 1), max(one.data, 1)
    bars = "".join(
        f'<rect x="{first}" y="{size - slot.address - slot.size}" width="{last + 1 - first}" '
        f'height="{slot.size}" fill="{colors[slot.name]}"><title>{escape(slot.name)}: bytes '
        f"{slot.address} to {slot.address + slot.size - 1}, instructions {first} to {last}</title></rect>"
        for slot in one.slots
        for first, last in slot.live
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{_PIXELS[0]}" height="{_PIXELS[1]}" '
        f'viewBox="0 0 {steps} {size}" preserveAspectRatio="none" shape-rendering="crispEdges">'
        f"<title>{escape(one.name)}: {size} bytes over {steps} instructions</title>"
        f'<rect width="{steps}" height="{size}" fill="#f4f4f4"/>{bars}</svg>'
    )


def memory_map_png(one: ClassMemory) -> bytes:
    """Return the picture of `memory_map_svg` as a PNG file.

    Parameters
    ----------
    one : ClassMemory
        Of a `MemoryMap`.
    """
    width, height = _PIXELS
    steps, size = max(one.instructions, 1), max(one.data, 1)
    colors = {name: 1 + COLORS.index(color) for name, color in colors_of(one.slots).items()}
    pixels = np.zeros((height, width), np.uint8)
    for slot in one.slots:
        top = height * (size - slot.address - slot.size) // size
        bottom = -(height * (slot.address - size) // size)  # rounded up: no value is without a pixel
        for first, last in slot.live:
            pixels[top:bottom, width * first // steps : -(-width * (last + 1) // steps)] = colors[slot.name]
    return png(pixels, ["#f4f4f4", *COLORS])
