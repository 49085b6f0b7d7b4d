"""The mappings that `cyclotron.map` found, with what is proven of all others."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclotron.compiler.compile import compile_kernel
from cyclotron.compiler.program import Program
from cyclotron.kernel import Kernel
from cyclotron.machine.machine import Machine
from cyclotron.mapper.evaluate import OBJECTIVES, Measured
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.errors import ProgramError
from cyclotron.support.exports import Exported, Record
from cyclotron.support.files import write_file
from cyclotron.support.tables import Listing, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FORMAT = "cyclotron mappings 1"
_ENDS = {
    "exhausted": "all others are proven to be no better",
    "gap": "the gap that was asked for is reached",
    "time": "the time was up",
    "candidates": "as many candidates as were asked for are tried",
    "interrupted": "it was interrupted",
}


@dataclasses.dataclass(frozen=True)
class Report:
    """The account of a search.

    Attributes
    ----------
    ended : str
        ``"exhausted"``, ``"gap"``, ``"time"``, ``"candidates"`` or ``"interrupted"``.
    tried : int
        Mappings that were compiled.
    refused : dict of str to (int, str)
        By the code of the error how many were refused, and the message of the first.
    pruned : dict of str to int
        By reason, how many partial mappings were left with all that they begin.
    seconds : float
        Of processor time.
    limits : dict of str to int
        Cycles that no mapping of the best one's placement goes below, by what takes them.
    """

    ended: str
    tried: int
    refused: Mapping[str, tuple[int, str]]
    pruned: Mapping[str, int]
    seconds: float
    limits: Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class Source:
    """The subject of a mapping: enough to compile it."""

    kernel: Kernel[..., Any]
    arguments: Mapping[tuple[int, ...], tuple[Any, ...]]
    machine: Machine | None


class Candidate:
    """One mapping: its schedule and measures, compiled to a program when that is asked for.

    Attributes
    ----------
    schedule : Schedule
        As code that can be edited and compiled again, to the same cycles.
    cycles : int
        Simulated clock cycles.
    memory : int
        Bytes that the fullest PE needs.
    pes : int
        PEs of the array.
    energy : float or None
        Of the run, in picojoules; None where the machine has no energies.
    tile : tuple of int
        What the arguments were made with; empty where there was no choice.
    """

    def __init__(self, measured: Measured, source: Source) -> None:
        self.schedule, self.tile = measured.schedule, measured.tile
        self.cycles, self.memory, self.pes = measured.cycles, measured.memory, measured.pes
        self.energy = measured.energy
        self._measured, self._source = measured, source

    def compile(self) -> Program:
        """Return the program of this mapping, for the arguments that were mapped.

        Returns
        -------
        Program
        """
        source = self._source
        return compile_kernel(source.kernel, source.arguments[self.tile], self.schedule, source.machine)

    def row(self) -> tuple[str, ...]:
        """Return the cells of the table."""
        tile = ("×".join(map(str, self.tile)),) if self.tile else ()
        energy = () if self.energy is None else (f"{self.energy:,.6g}",)
        return (*tile, str(self.cycles), str(self.memory), str(self.pes), *energy, str(self.schedule))

    def __repr__(self) -> str:
        return f"<{self.cycles} cycles, {self.memory} bytes, {self.pes} PEs: {self.schedule!r}>"


class Mappings(Exported, Listing[Candidate]):
    """The best mappings of a search, the best first; prints as a table.

    Attributes
    ----------
    objectives : tuple of str
        What they are ordered by.
    bound : int or float
        No mapping of the whole space has less of the first objective: proven, also where the search was
        stopped.
    report : Report
        What was tried, refused and pruned.
    tried : tuple of (int, int)
        Bytes of the fullest PE and cycles, of each mapping that compiled.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> found = cy.map(matmul, np.ones((4, 4)), np.ones((4, 4)), machine=cy.Machine(grid=(2, 2)))
    >>> found.best.cycles == found[0].cycles >= found.bound
    True
    """

    caption = "Mappings"

    def __init__(
        self,
        items: Iterable[Candidate],
        *,
        objectives: tuple[str, ...],
        bound: float,
        report: Report,
        tried: Iterable[tuple[int, int]] = (),
        front: Iterable[Candidate] = (),
    ) -> None:
        super().__init__(items)
        self.tried = tuple(tried)
        self.objectives, self.bound, self.report = objectives, bound, report
        self._front = tuple(front)

    def _of(self, items: Iterable[Candidate]) -> Mappings:
        return Mappings(
            items,
            objectives=self.objectives,
            bound=self.bound,
            report=self.report,
            tried=self.tried,
            front=self._front,
        )

    @property
    def best(self) -> Program:
        """The program of the best mapping; it has ``cycles`` and ``schedule``."""
        return self[0].compile()

    @property
    def gap(self) -> float:
        """The share of the best one's objective by which another may be better at most: 0 is optimal."""
        best = float(getattr(self[0], self.objectives[0]))
        return (best - self.bound) / best if best else 0.0

    @property
    def pareto(self) -> Mappings:
        """Those of all that were tried which no other beats in all measures, energy where it is known."""
        return self._of(self._front)

    @property
    def records(self) -> list[Record]:
        """A dict each: ``tile``, the measures, and ``schedule``, as the code that makes it."""
        return [{"tile": one.tile, **_measures(one), "schedule": repr(one.schedule)} for one in self]

    def explain(self) -> str:
        """Return why this one: what limits it, and what became of the others.

        Returns
        -------
        str

        Examples
        --------
        >>> print(found.explain())  # doctest: +ELLIPSIS
        ... cycles on 4 PEs, and no mapping has fewer than ...
        """
        first, report = self[0], self.report
        name = self.objectives[0]
        lines = [
            f"{first.cycles} cycles on {first.pes} PEs, and no mapping has fewer than {self.bound} {name}"
            f" (gap {self.gap:.1%}): {_ENDS[report.ended]}",
            f"  {first.schedule!r}".replace("\n", "\n  "),
        ]
        for what, cycles in sorted(report.limits.items(), key=lambda item: -item[1]):
            lines.append(f"  {cycles} cycles at least: {what}")
        refused = sum(count for count, _ in report.refused.values())
        lines.append(f"{report.tried} compiled and simulated, {refused} of them refused:")
        for code, (count, message) in sorted(report.refused.items(), key=lambda item: -item[1][0]):
            lines.append(f"  {count} × {code}, for example: {message}")
        for reason, count in sorted(report.pruned.items()):
            lines.append(
                f"{count} partial mappings left with all that they begin: {_PRUNED.get(reason, reason)}"
            )
        return "\n".join(lines)

    def plot(self, *, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
        """Draw all that were tried by memory and cycles, with the front and the bound.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        path : str or Path, optional
            Where to write the picture.

        Returns
        -------
        matplotlib Figure

        Raises
        ------
        BackendUnavailable
            If matplotlib is not installed.
        """
        from cyclotron.plot import mappings

        return mappings(self, ax=ax, path=path)

    def save(self, path: str | Path) -> None:
        """Write schedules, measures and bound to a file of JSON.

        Parameters
        ----------
        path : str or Path
            Replaced only when it is complete.

        Examples
        --------
        >>> found.save("mappings.json")
        >>> again = cy.Mappings.load("mappings.json", matmul, np.ones((4, 4)), np.ones((4, 4)))
        >>> again[0].cycles == found[0].cycles
        True
        """
        machine = self[0]._source.machine
        data = {
            "format": _FORMAT,
            "kernel": self[0]._source.kernel.name,
            "objectives": list(self.objectives),
            "bound": self.bound,
            "machine": machine.to_dict() if machine else None,
            "report": dataclasses.asdict(self.report),
            "mappings": [_entry(one) for one in self],
            "tried": self.tried,
            "pareto": [_entry(one) for one in self._front],
        }
        write_file(path, json.dumps(data, indent=1) + "\n")

    @classmethod
    def load(cls, path: str | Path, kernel: Kernel[..., Any], *args: Any, **kwargs: Any) -> Mappings:
        """Read what `save` wrote; nothing is searched again.

        Parameters
        ----------
        path : str or Path
        kernel : Kernel
            What was mapped.
        *args, **kwargs
            As of `cyclotron.map`: the arguments, or the function that makes them of a tile.

        Returns
        -------
        Mappings

        Raises
        ------
        ProgramError
            CYC623 if it has no mappings of a kernel of this name.
        """
        return _read(path, kernel, bound_arguments(kernel, args, kwargs))

    def _table(self) -> tuple[Row, list[Row]]:
        tile = ("tile",) if any(one.tile for one in self) else ()
        energy = ("pJ",) if any(one.energy is not None for one in self) else ()
        return (*tile, "cycles", "memory", "PEs", *energy, "schedule"), [one.row() for one in self]

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}\nno mapping has fewer than {self.bound} {self.objectives[0]}: gap {self.gap:.1%}"


_PRUNED = {
    "bound": "their lower bound is no better than the best",
    "the same as another": "they are another's schedule",
    "transposed": "their transposes are as good",
}


def bound_arguments(
    kernel: Kernel[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[[tuple[int, ...]], Any]:
    """Return the function from a tile to the bound arguments.

    Parameters
    ----------
    kernel : Kernel
    args : tuple
        As of `map`.
    kwargs : dict
    """

    def bound(tile: tuple[int, ...]) -> tuple[Any, ...]:
        given = args[0](*tile) if tile else args
        return kernel.bind(*(given if isinstance(given, tuple) else (given,)), **kwargs)

    return bound


def _entry(one: Candidate) -> dict[str, Any]:
    return {
        "schedule": one.schedule.to_dict(),
        "complete": one._measured.complete.to_dict(),
        "tile": list(one.tile),
        **_measures(one),
    }


def _measures(one: Candidate) -> Record:
    return {name: value for name in OBJECTIVES if (value := getattr(one, name)) is not None}


def _candidate(entry: Mapping[str, Any], source: Source) -> Candidate:
    numbers = {name: int(entry[name]) for name in OBJECTIVES if name != "energy"}
    energy = float(entry["energy"]) if "energy" in entry else None
    schedule, complete = Schedule.from_dict(entry["schedule"]), Schedule.from_dict(entry["complete"])
    measured = Measured(schedule, complete, tile=tuple(entry["tile"]), energy=energy, **numbers)
    return Candidate(measured, source)


def _read(
    path: str | Path, kernel: Kernel[..., Any], arguments: Callable[[tuple[int, ...]], Any]
) -> Mappings:
    """Read a file for a function from a tile to the bound arguments."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        if data["format"] != _FORMAT or data["kernel"] != kernel.name:
            raise ValueError(f"it is of `{data['kernel']}`, in the form `{data['format']}`")
        machine = Machine.from_dict(data["machine"]) if data["machine"] else None
        tiles = {tuple(one["tile"]) for one in (*data["mappings"], *data["pareto"])}
        source = Source(kernel, {tile: arguments(tile) for tile in tiles}, machine)
        return Mappings(
            [_candidate(one, source) for one in data["mappings"]],
            objectives=tuple(data["objectives"]),
            bound=data["bound"] + 0,
            report=Report(**data["report"]),
            tried=[(int(memory), int(cycles)) for memory, cycles in data["tried"]],
            front=[_candidate(one, source) for one in data["pareto"]],
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProgramError(
            f"`{path}` has no mappings of `{kernel.name}`: {error}",
            code="CYC623",
            help="write them with Mappings.save, for a kernel of this name",
        ) from error
