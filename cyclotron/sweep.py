"""Design-space exploration: one simulation for each combination of machine parameters and mappings."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import io
import itertools
import math
import numbers
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from cyclotron import _core
from cyclotron.compiler import Program, compile_kernel, unlimited
from cyclotron.errors import BackendUnavailable, CyclotronError, ExecutionError
from cyclotron.language import Kernel
from cyclotron.machine import Machine
from cyclotron.places import errors_at_call
from cyclotron.progress import progress_bar
from cyclotron.schedule import Schedule
from cyclotron.tables import html_table, text_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Record = dict[str, Any]

# Axes that change no program, with the field of the machine's links and broadcasts that each sets.
_LINK_FIELDS = {
    "link_latency": "latency",
    "response_latency": "response_latency",
    "words_per_cycle": "words_per_cycle",
    "depth": "depth",
}
_MEASURED = ("cycles", "pes", "utilization", "stall_empty", "stall_full", "idle", "memory_bytes", "error")
_MOST_ROWS = 40


class Sweep(Sequence[Record]):
    """What a sweep measured, one record a design; prints as a table.

    Attributes
    ----------
    records : tuple of dict
        The values of the axes, then ``cycles``, ``pes`` (PEs), ``utilization`` (mean share of the cycles in
        which a PE computes, 0 to 1), ``stall_empty``, ``stall_full`` and ``idle`` (mean shares, 0 to 1),
        ``memory_bytes`` (of the fullest PE) and ``error``: None, or the code and the message of the refusal,
        in which case the measures are None.
    complete : bool
        False where Ctrl-C ended it; the records are those that were done.
    """

    def __init__(self, records: Iterable[Record], *, complete: bool = True) -> None:
        self.records = tuple(records)
        self.complete = complete

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> Sweep: ...
    def __getitem__(self, index: int | slice) -> Record | Sweep:
        if isinstance(index, slice):
            return Sweep(self.records[index], complete=self.complete)
        return self.records[index]

    def __len__(self) -> int:
        return len(self.records)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the fields, axes first."""
        return tuple(self.records[0]) if self.records else ()

    def pareto(self, *objectives: str) -> Sweep:
        """Return the designs that no other beats: none is as good in all objectives and better in one.

        Parameters
        ----------
        *objectives : str
            Numeric columns, smaller is better; with a leading minus larger is: ``"-utilization"``. By default
            ``"cycles"`` and ``"pes"``.
        """
        found = [record for record in self.records if record["error"] is None]
        if not found:
            return Sweep((), complete=self.complete)
        values = self._values(found, objectives or ("cycles", "pes"))
        best = [
            record
            for record, own in zip(found, values, strict=True)
            if not np.any(np.all(values <= own, axis=1) & np.any(values < own, axis=1))
        ]
        return Sweep(best, complete=self.complete)

    def _values(self, records: Sequence[Record], objectives: Sequence[str]) -> Any:
        columns = []
        for objective in objectives:
            name, sign = objective.removeprefix("-"), -1.0 if objective.startswith("-") else 1.0
            cells = [record.get(name) for record in records]
            if not all(isinstance(cell, numbers.Real) for cell in cells):
                numeric = [key for key, cell in records[0].items() if isinstance(cell, numbers.Real)]
                raise ExecutionError(
                    f"`{name}` is no column of numbers",
                    code="CYC716",
                    help=f"use one of: {', '.join(numeric)}",
                )
            columns.append(sign * np.array(cells, dtype=np.float64))
        return np.array(columns).T

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the table as comma-separated values, and write it to `path` if one is given.

        Parameters
        ----------
        path : str or Path, optional
        """
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, lineterminator="\n")
        writer.writeheader()
        for record in self.records:
            writer.writerow({key: _text(value) for key, value in record.items()})
        if path is not None:
            Path(path).write_text(text.getvalue(), encoding="utf-8")
        return text.getvalue()

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``.

        Raises
        ------
        BackendUnavailable
            If pandas is not installed.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise BackendUnavailable(
                "pandas is not installed", code="CYC722", help="pip install pandas, or use to_csv()"
            ) from None
        return pandas.DataFrame(list(self.records), columns=list(self.columns))

    def plot(
        self, x: str = "pes", y: str = "cycles", *, ax: Axes | None = None, path: str | Path | None = None
    ) -> Figure:
        """Draw all designs as points, and the Pareto front of `x` and `y`; see `cyclotron.plot.pareto`.

        Parameters
        ----------
        x, y : str
            Numeric columns; with a leading minus larger is better.
        ax : matplotlib Axes, optional
        path : str or Path, optional
        """
        from cyclotron.plot import pareto

        return pareto(self, x, y, ax=ax, path=path)

    def _table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        shown = [name for name in self.columns if name != "error" or any(r["error"] for r in self.records)]
        rows = [tuple(_cell(record[name]) for name in shown) for record in self.records[:_MOST_ROWS]]
        return tuple(shown), rows

    def _rest(self) -> str:
        rest = len(self.records) - _MOST_ROWS
        text = f"and {rest} more" if rest > 0 else ""
        return text if self.complete else f"{text}{', ' if text else ''}stopped before all were done"

    def __str__(self) -> str:
        if not self.records:
            return "no designs"
        return "\n".join(part for part in (text_table(*self._table()), self._rest()) if part)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(*self._table(), f"{len(self.records)} designs") + self._rest()


def sweep(
    design: Program | Kernel,
    *args: Any,
    schedule: Schedule | Sequence[Schedule | None] | None = None,
    grid: Sequence[Any] | None = None,
    topology: str | Sequence[str] | None = None,
    link_latency: int | Sequence[int] | None = None,
    response_latency: int | Sequence[int] | None = None,
    words_per_cycle: int | Sequence[int] | None = None,
    depth: int | Sequence[int] | None = None,
    machine: Machine | None = None,
    threads: int = 0,
) -> Sweep:
    """Simulate the time of every combination of the given values; no data is needed.

    A kernel is compiled once for each schedule, grid and topology; links and depths change no program. What
    is refused (a schedule that is not legal, a channel too shallow) is a record with its error. Ctrl-C ends
    the sweep and keeps what is done.

    Parameters
    ----------
    design : Program or Kernel
        What to map. For a program, only the four parameters of links may vary.
    *args : ndarray, Blocked or Spec
        For a kernel: one for each parameter; only shapes, dtypes and tiles matter.
    schedule : Schedule or sequence of Schedule, optional
        None: the compiler's own choice.
    grid : tuple of int or sequence of tuples, optional
        PEs a dimension; larger arrays are folded onto them. By default as large as the program needs.
    topology : str or sequence of str, optional
        As of `Machine`.
    link_latency, response_latency : int or sequence of int, optional
        Cycles, of all links and broadcasts, those in ``Machine.links`` too.
    words_per_cycle : int or sequence of int, optional
        Elements a cycle.
    depth : int or sequence of int, optional
        Messages in each channel.
    machine : Machine, optional
        What is not swept; by default the program's, or one of ample memory and depths.
    threads : int
        Simulations at a time; 0: one a core.

    Returns
    -------
    Sweep
        In the order of the axes, the last fastest.

    Raises
    ------
    ExecutionError
        If an axis has no value, or one varies what a program has fixed.
    """
    axes = {
        "schedule": _several(schedule, Schedule),
        "grid": _grids(grid),
        "topology": _several(topology, str),
        "link_latency": _several(link_latency),
        "response_latency": _several(response_latency),
        "words_per_cycle": _several(words_per_cycle),
        "depth": _several(depth),
    }
    given = {name: values for name, values in axes.items() if values is not None}
    _check(design, args, given)
    records: list[Record | None] = [None] * math.prod(map(len, given.values()))
    stop = threading.Event()
    with progress_bar("sweeping") as progress:
        try:
            _measure_all(_designs(design, args, given, machine), records, threads, stop, progress)
        except KeyboardInterrupt:
            stop.set()
    done = [record for record in records if record is not None]
    return Sweep(done, complete=len(done) == len(records))


@dataclasses.dataclass(frozen=True)
class _Design:
    """One combination: its values, and the program or what refuses it."""

    values: Record
    program: Program | CyclotronError


def _designs(
    design: Program | Kernel, args: tuple[Any, ...], given: Mapping[str, Sequence[Any]], base: Machine | None
) -> Iterator[_Design]:
    mappings = [name for name in given if name not in _LINK_FIELDS]
    links = [name for name in given if name in _LINK_FIELDS]
    for mapping in itertools.product(*(given[name] for name in mappings)):
        chosen = dict(zip(mappings, mapping, strict=True))
        compiled = _compiled(design, args, chosen, base)
        for link in itertools.product(*(given[name] for name in links)):
            fields = dict(zip(links, link, strict=True))
            yield _Design(chosen | fields, _retimed(compiled, fields))


def _compiled(
    design: Program | Kernel, args: tuple[Any, ...], chosen: Mapping[str, Any], base: Machine | None
) -> Program | CyclotronError:
    try:
        if isinstance(design, Program):
            return design if base is None else design.with_machine(base)
        schedule = chosen.get("schedule")
        target = base or unlimited(schedule)
        machine = dataclasses.replace(
            target, grid=chosen.get("grid", target.grid), topology=chosen.get("topology", target.topology)
        )
        return compile_kernel(design, design.bind(*args), schedule, machine)
    except CyclotronError as error:
        return error


def _retimed(program: Program | CyclotronError, fields: Mapping[str, int]) -> Program | CyclotronError:
    if isinstance(program, CyclotronError) or not fields:
        return program
    try:
        machine = program.machine or Machine.from_core(program.core.machine)
        changed = {_LINK_FIELDS[name]: value for name, value in fields.items()}
        return program.with_machine(
            dataclasses.replace(
                machine,
                grid=None,
                link=dataclasses.replace(machine.link, **changed),
                broadcast=dataclasses.replace(machine.broadcast, **changed),
                links={
                    offset: dataclasses.replace(link, **changed) for offset, link in machine.links.items()
                },
            )
        )
    except CyclotronError as error:
        return error


def _measure_all(
    designs: Iterator[_Design],
    records: list[Record | None],
    threads: int,
    stop: threading.Event,
    progress: Any,
) -> None:
    """Simulate on several threads; the compiler runs on this one, a few designs ahead."""
    workers = threads if threads > 0 else os.cpu_count() or 1
    finished = 0
    with ThreadPoolExecutor(workers) as pool:
        running: dict[Future[Record], int] = {}
        try:
            for number, design in enumerate(designs):
                running[pool.submit(_measured, design, stop)] = number
                if len(running) > 4 * workers:
                    finished += _collect(running, records)
                progress(finished / len(records))
            while running:
                finished += _collect(running, records)
                progress(finished / len(records))
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            for future, number in running.items():
                if future.done() and not future.cancelled() and future.exception() is None:
                    records[number] = future.result()
            raise


def _collect(running: dict[Future[Record], int], records: list[Record | None]) -> int:
    """Wait for some, and keep their records."""
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        records[running.pop(future)] = future.result()
    return len(done)


def _measured(design: _Design, stop: threading.Event) -> Record:
    program = design.program
    if not isinstance(program, CyclotronError):
        try:
            return design.values | _measures(program, stop)
        except CyclotronError as error:
            if stop.is_set():
                raise
            program = error
    empty: Record = dict.fromkeys(_MEASURED)
    return design.values | empty | {"error": f"{program.code} {program.message}"}


def _measures(program: Program, stop: threading.Event) -> Record:
    timing = _core.simulate(
        program.core,
        [],
        functional=False,
        event_limit=0,
        engine="auto",
        progress=lambda fraction: not stop.is_set(),
    )
    pes = math.prod(program.grid)

    def share(name: str) -> float:
        return float(np.sum(timing[name]) / max(timing["cycles"] * pes, 1))

    return {
        "cycles": int(timing["cycles"]),
        "pes": pes,
        "utilization": share("busy"),
        "stall_empty": share("stall_empty"),
        "stall_full": share("stall_full"),
        "idle": share("idle"),
        "memory_bytes": program.memory_bytes,
        "error": None,
    }


def _several(value: Any, kind: type | tuple[type, ...] = ()) -> list[Any] | None:
    if value is None:
        return None
    return list(value) if isinstance(value, Iterable) and not isinstance(value, kind) else [value]


def _grids(grid: Any) -> list[Any] | None:
    grids = _several(grid)
    if grids and all(isinstance(extent, numbers.Integral) for extent in grids):
        return [tuple(grids)]
    return grids and [tuple(one) if isinstance(one, Iterable) else one for one in grids]


def _check(design: Any, args: tuple[Any, ...], given: Mapping[str, Sequence[Any]]) -> None:
    if not isinstance(design, (Program, Kernel)):
        raise ExecutionError(
            f"sweep() got a `{type(design).__name__}`",
            code="CYC716",
            help="pass a kernel with its arguments, or a compiled program",
        )
    for name, values in given.items():
        if not values:
            raise ExecutionError(
                f"`{name}` has no value", code="CYC716", help="give one or more, or leave it out"
            )
    fixed = [name for name in given if name not in _LINK_FIELDS]
    if isinstance(design, Program) and (fixed or args):
        raise ExecutionError(
            f"a program has its {fixed[0] if fixed else 'arguments'} already",
            code="CYC716",
            help="pass the kernel, with its arguments after it",
        )
    if isinstance(design, Kernel):
        with errors_at_call():
            design.bind(*args)


def _text(value: Any) -> Any:
    return "x".join(map(str, value)) if isinstance(value, tuple) else value


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(_text(value))
