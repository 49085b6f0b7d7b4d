"""A program as a controller sees it: sections between decisions that depend on data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cyclotron import _core
from cyclotron.support.records import from_data
from cyclotron.support.tables import Row, Table

_HEADER = ("section", "call", "lines", "computes", "arguments", "instructions", "classes", "sent")


@dataclass(frozen=True)
class Call:
    """A procedure that PEs set up and run: what the compiler fused of consecutive statements.

    Attributes
    ----------
    lines : tuple of (str, int)
        Files and lines of the Python text that its instructions come from.
    operators, arguments : tuple of str
        What it computes, and the tensors that it loads and stores.
    instructions : int
        Of the PE class that has most.
    classes : tuple of int
        PE classes that take part. For the others it is defined as doing nothing.
    """

    lines: tuple[tuple[str, int], ...]
    operators: tuple[str, ...]
    arguments: tuple[str, ...]
    instructions: int
    classes: tuple[int, ...]

    @property
    def lines_text(self) -> str:
        """The lines, for people: ``cg.py:12-14, 17``."""
        found: dict[str, list[list[int]]] = {}
        for file, line in self.lines:
            runs = found.setdefault(Path(file).name, [])
            if runs and line <= runs[-1][1] + 1:
                runs[-1][1] = line
            else:
                runs.append([line, line])
        return "; ".join(
            f"{file}:{', '.join(str(a) if a == b else f'{a}-{b}' for a, b in runs)}"
            for file, runs in found.items()
        )


@dataclass(frozen=True)
class Section:
    """The work of PEs from one decision to the next; loops of known bounds are inside its calls.

    Attributes
    ----------
    loop : str
        The loop of which it is an iteration; empty before, between and after such loops.
    calls : tuple of Call
        The procedures that it calls, in order: the controller sends their numbers and arguments.
    waits_for : str
        The value by which the controller sends it, as ``name (file.py:12)``: an iteration but the first of a
        loop whose end depends on it, or what follows that loop. Empty: it is sent ahead, whatever the data.
    """

    loop: str
    calls: tuple[Call, ...]
    waits_for: str

    @classmethod
    def from_core(cls, data: dict[str, Any]) -> Section:
        """Return the section of the core's plain data.

        Parameters
        ----------
        data : dict
            As ``Program.core.sections`` has it.
        """
        file, line = data["flag"]
        where = f" ({Path(file).name}:{line})" if line else ""
        calls = tuple(from_data(Call, call) for call in data["calls"])
        return cls(data["loop"], calls, data["waits_for"] and data["waits_for"] + where)

    @property
    def lines(self) -> tuple[tuple[str, int], ...]:
        """Those of its calls, in order."""
        return tuple(sorted({line for call in self.calls for line in call.lines}))

    @property
    def operators(self) -> tuple[str, ...]:
        """Those of its calls, each once."""
        return tuple(dict.fromkeys(name for call in self.calls for name in call.operators))

    @property
    def arguments(self) -> tuple[str, ...]:
        """Those of its calls, each once."""
        return tuple(dict.fromkeys(name for call in self.calls for name in call.arguments))

    def _rows(self, number: int) -> Iterator[list[str]]:
        name = f"{number}: iteration of {self.loop}" if self.loop else str(number)
        sent = f"by {self.waits_for}" if self.waits_for else "ahead"
        for place, call in enumerate(self.calls):
            lists = [", ".join(call.operators), ", ".join(call.arguments)]
            counts = [str(call.instructions), str(len(call.classes))]
            first = place == 0
            yield [name if first else "", str(place), call.lines_text, *lists, *counts, sent if first else ""]


@dataclass(frozen=True, repr=False)
class Sections(Table):
    """The sections of a program, in the order in which they are sent: iterable, indexable, a table as text.

    Attributes
    ----------
    kernel_name : str
        Of the program.
    sections : tuple of Section
        One where nothing depends on data: then no controller is needed.
    """

    kernel_name: str
    sections: tuple[Section, ...]

    @classmethod
    def of(cls, program: _core.Program) -> Sections:
        """Return those of a program.

        Parameters
        ----------
        program : _core.Program
            Compiled or loaded.
        """
        return cls(program.kernel, tuple(Section.from_core(section) for section in program.sections))

    def __len__(self) -> int:
        return len(self.sections)

    def __iter__(self) -> Iterator[Section]:
        return iter(self.sections)

    def __getitem__(self, number: int) -> Section:
        return self.sections[number]

    def _table(self) -> tuple[Row, list[list[str]]]:
        return _HEADER, [row for number, section in enumerate(self.sections) for row in section._rows(number)]

    @property
    def caption(self) -> str:
        """The title of the table, in a line."""
        waits = sum(bool(section.waits_for) for section in self.sections)
        count = f"{len(self)} section" + ("" if len(self) == 1 else "s")
        return f"{self.kernel_name}: {count}, {waits or 'none'} of them sent by a value that the PEs compute"
