"""Design-space exploration: one simulation for each combination of machine parameters and mappings."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from cyclotron import _core
from cyclotron.compiler.compile import compile_kernel
from cyclotron.compiler.defaults import unlimited
from cyclotron.compiler.program import Program
from cyclotron.explore.energy import energy_picojoules
from cyclotron.explore.sweep_axes import (
    Named,
    grids_of,
    invalid,
    no_value,
    schedules_of,
    several,
    topologies_of,
    unfit,
)
from cyclotron.explore.sweep_table import Sweep
from cyclotron.kernel import Kernel
from cyclotron.machine.machine import Machine, topology_text
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.arguments import index_of
from cyclotron.support.call_site import errors_at_call
from cyclotron.support.errors import CyclotronError
from cyclotron.support.exports import Record
from cyclotron.support.progress import progress_bar

__all__ = ["Sweep", "sweep"]

# Axes that set a field of the machine's links and broadcasts.
_LINK_FIELDS = {
    "link_latency": "latency",
    "response_latency": "response_latency",
    "words_per_cycle": "words_per_cycle",
    "depth": "depth",
}
# And of its memories.
_MEMORY_FIELDS = {"memory_bandwidth": "bandwidth", "memory_latency": "latency", "memory_depth": "depth"}
# And of its PEs.
_PE_FIELDS = {name: name for name in ("memory", "registers", "banks")}
# Axes that change no program.
_TIMED = (*_LINK_FIELDS, *_PE_FIELDS, *_MEMORY_FIELDS)
_SHARES = ("stall_empty", "stall_full", "stall_memory", "stall_control", "idle")
_ENERGY = "energy_picojoules"
_MEASURED = ("cycles", "pes", "utilization", *_SHARES, "memory_bytes", _ENERGY, "error")


def sweep(
    design: Program | Kernel[..., Any],
    *args: Any,
    schedule: Schedule | Sequence[Schedule | None] | Mapping[str, Schedule | None] | None = None,
    grid: Sequence[Any] | None = None,
    topology: str | Sequence[str | tuple[str, ...]] | None = None,
    link_latency: int | Sequence[int] | None = None,
    response_latency: int | Sequence[int] | None = None,
    words_per_cycle: int | Sequence[int] | None = None,
    depth: int | Sequence[int] | None = None,
    memory: int | Sequence[int] | None = None,
    registers: int | Sequence[int | None] | None = None,
    banks: int | Sequence[int | None] | None = None,
    memory_bandwidth: int | Sequence[int] | None = None,
    memory_latency: int | Sequence[int] | None = None,
    memory_depth: int | Sequence[int] | None = None,
    machine: Machine | Mapping[str, Machine] | None = None,
    threads: int = 0,
    executor: Executor | None = None,
) -> Sweep:
    """Simulate the time of every combination of the given values; no data is needed.

    A kernel is compiled once for each machine, schedule, grid and topology; links, depths and memory change
    no program. What is refused (a schedule that is not legal, a channel too shallow, a memory too small) is
    a record with its error. Ctrl-C ends the sweep and keeps what is done.

    Parameters
    ----------
    design : Program or Kernel
        What to map. For a program, only the machine, the parameters of links and the memory may vary.
    *args : ndarray, Blocked or Spec
        For a kernel: one for each parameter; only shapes, dtypes and tiles matter.
    schedule : Schedule, sequence of Schedule, or mapping of str to Schedule, optional
        None: the compiler's own choice, for `machine` with its own links. Of a mapping, the records have the
        names.
    grid : tuple of int or sequence of tuples, optional
        PEs a dimension; larger arrays are folded onto them. By default as large as the program needs.
    topology : str or sequence of str or tuple, optional
        As of `Machine`; those with a word for each dimension are tuples in a list, and named as in
        ``"torus×mesh"`` in the records.
    link_latency, response_latency : int or sequence of int, optional
        Cycles, of all links and broadcasts, those in ``Machine.links`` too, but not those between chiplets.
    words_per_cycle : int or sequence of int, optional
        Elements a cycle.
    depth : int or sequence of int, optional
        Messages in each channel: registers of a PE for values on their way.
    memory : int or sequence of int, optional
        Bytes of a PE: room for values that stay.
    registers, banks : int or sequence of int, optional
        Of a PE, as of `PE`: values are placed anew for each. A None in a sequence is none.
    memory_bandwidth, memory_latency, memory_depth : int or sequence of int, optional
        Of all memories in ``machine.memories``, as of `Memory`.
    machine : Machine or mapping of str to Machine, optional
        What is not swept; by default the program's, or one of ample memory and depths. A mapping is an axis,
        the first, whose records have the names.
    threads : int
        Simulations at a time; 0: one a core.
    executor : concurrent.futures.Executor, optional
        Where to simulate instead of on threads: a pool of processes, or of a cluster's nodes. The compiler
        stays in this process, and the pool is left open.

    Returns
    -------
    Sweep
        In the order of the axes, the last fastest.

    Raises
    ------
    ExecutionError
        If an axis has no value, one varies what a program has fixed, or an argument has the wrong type.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> program = matmul.compile(np.ones((2, 2)), np.ones((2, 2)))
    >>> table = cy.sweep(program, depth=[1, 2])
    >>> len(table), table[0]["depth"]
    (2, 1)
    """
    named = Named.of(schedule, machine)
    axes = {
        "machine": list(named.machines) or None,
        "schedule": schedules_of(schedule),
        "grid": grids_of(grid),
        "topology": topologies_of(topology),
        "link_latency": several(link_latency),
        "response_latency": several(response_latency),
        "words_per_cycle": several(words_per_cycle),
        "depth": several(depth),
        "memory": several(memory),
        "registers": several(registers),
        "banks": several(banks),
        "memory_bandwidth": several(memory_bandwidth),
        "memory_latency": several(memory_latency),
        "memory_depth": several(memory_depth),
    }
    given = {name: values for name, values in axes.items() if values is not None}
    workers = _workers(threads)
    if not isinstance(executor, Executor | None):
        raise invalid("`executor`", executor, "a concurrent.futures.Executor")
    _check(design, args, given, named)
    records: list[Record | None] = [None] * math.prod(map(len, given.values()))
    stop = threading.Event()
    with progress_bar("sweeping") as progress:
        try:
            with contextlib.nullcontext(executor) if executor else ThreadPoolExecutor(workers) as pool:
                designs = _designs(design, args, given, named)
                watched = stop if executor is None else None
                _measure_all(designs, records, pool, 4 * workers, watched, progress)
        except KeyboardInterrupt:
            stop.set()
    done = [record for record in records if record is not None]
    return Sweep(_with_energies(done), complete=len(done) == len(records))


@dataclasses.dataclass(frozen=True)
class _Design:
    """One combination: its values, and the program or what refuses it."""

    values: Record
    program: Program | CyclotronError


def _designs(
    design: Program | Kernel[..., Any],
    args: tuple[Any, ...],
    given: Mapping[str, Sequence[Any]],
    named: Named,
) -> Iterator[_Design]:
    mappings = [name for name in given if name not in _TIMED]
    timed = [name for name in given if name in _TIMED]
    for mapping in itertools.product(*(given[name] for name in mappings)):
        chosen = dict(zip(mappings, mapping, strict=True))
        compiled = _compiled(design, args, chosen, named)
        if "topology" in chosen:
            chosen["topology"] = topology_text(chosen["topology"])
        for values in itertools.product(*(given[name] for name in timed)):
            fields = dict(zip(timed, values, strict=True))
            yield _Design(chosen | fields, _retimed(compiled, fields))


def _compiled(
    design: Program | Kernel[..., Any], args: tuple[Any, ...], chosen: Mapping[str, Any], named: Named
) -> Program | CyclotronError:
    base = named.machines[chosen["machine"]] if "machine" in chosen else named.machine
    try:
        if isinstance(design, Program):
            return design if base is None else design.with_machine(base)
        schedule = chosen.get("schedule")
        schedule = named.schedules[str(schedule)] if named.schedules else schedule
        target = base or unlimited(schedule)
        machine = dataclasses.replace(
            target, grid=chosen.get("grid", target.grid), topology=chosen.get("topology", target.topology)
        )
        return compile_kernel(design, design.bind(*args), schedule, machine)
    except CyclotronError as error:
        return error


def _retimed(program: Program | CyclotronError, fields: Mapping[str, Any]) -> Program | CyclotronError:
    if isinstance(program, CyclotronError) or not fields:
        return program

    def of(names: Mapping[str, str]) -> dict[str, Any]:
        return {field: fields[name] for name, field in names.items() if name in fields}

    try:
        machine = program.machine or Machine.from_core(program.core.machine)
        memory = of(_MEMORY_FIELDS)
        return program.with_machine(
            dataclasses.replace(
                machine.with_links(**of(_LINK_FIELDS)),
                grid=None,
                memories={name: dataclasses.replace(one, **memory) for name, one in machine.memories.items()},
                pe=dataclasses.replace(machine.pe, **of(_PE_FIELDS)),
            )
        )
    except CyclotronError as error:
        return error


def _measure_all(
    designs: Iterator[_Design],
    records: list[Record | None],
    pool: Executor,
    ahead: int,
    stop: threading.Event | None,
    progress: Any,
) -> None:
    """Simulate in a pool; the compiler runs here, so many designs ahead. No `stop` reaches processes."""
    finished = 0
    running: dict[Future[Record], int] = {}
    try:
        for number, design in enumerate(designs):
            running[pool.submit(_measured, design, stop)] = number
            if len(running) > ahead:
                finished += _collect(running, records)
            progress(finished / len(records))
        while running:
            finished += _collect(running, records)
            progress(finished / len(records))
    except BaseException:
        if stop is not None:
            stop.set()
        for future in running:
            future.cancel()
        wait([future for future in running if not future.cancelled()])
        for future, number in running.items():
            if not future.cancelled() and future.exception() is None:
                records[number] = future.result()
        raise


def _collect(running: dict[Future[Record], int], records: list[Record | None]) -> int:
    """Wait for some, and keep their records."""
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        records[running.pop(future)] = future.result()
    return len(done)


def _measured(design: _Design, stop: threading.Event | None) -> Record:
    program = design.program
    if not isinstance(program, CyclotronError):
        try:
            return design.values | _measures(program, stop)
        except CyclotronError as error:
            if stop is not None and stop.is_set():
                raise
            program = error
    empty: Record = dict.fromkeys(_MEASURED)
    return design.values | empty | {"error": f"{program.code} {program.message}"}


def _measures(program: Program, stop: threading.Event | None) -> Record:
    timing = _core.simulate(
        program.core,
        [],
        functional=False,
        event_limit=0,
        engine="auto",
        progress=lambda fraction: stop is None or not stop.is_set(),
    )
    pes = math.prod(program.grid)

    def share(name: str) -> float:
        return float(np.sum(timing[name]) / max(timing["cycles"] * pes, 1))

    return {
        "cycles": int(timing["cycles"]),
        "pes": pes,
        "utilization": share("busy"),
        **{name: share(name) for name in _SHARES},
        "memory_bytes": program.memory_bytes,
        _ENERGY: energy_picojoules(program, timing),
        "error": None,
    }


def _with_energies(records: list[Record]) -> list[Record]:
    """Leave the column of energies out where no machine has any."""
    if any(record[_ENERGY] is not None for record in records):
        return records
    return [{key: value for key, value in record.items() if key != _ENERGY} for record in records]


def _workers(threads: Any) -> int:
    count = None if isinstance(threads, bool) else index_of(threads)
    if count is None:
        raise invalid("`threads`", threads, "a number of threads, or 0 for one a core")
    return count if count > 0 else os.cpu_count() or 1


def _check(design: Any, args: tuple[Any, ...], given: Mapping[str, Sequence[Any]], named: Named) -> None:
    if not isinstance(design, (Program, Kernel)):
        raise unfit(
            f"sweep() got a `{type(design).__name__}`",
            "pass a kernel with its arguments, or a compiled program",
        )
    for name, values in given.items():
        if not values:
            raise no_value(name)
    machine = named.machine or (design.machine if isinstance(design, Program) else None)
    swept = [name for name in given if name in _MEMORY_FIELDS]
    machines: list[Machine | None] = [*named.machines.values()] or [machine]
    if swept and not any(one is not None and one.memories for one in machines):
        raise unfit(
            f"`{swept[0]}` varies memories, and the machine has none",
            'pass a machine that has: machine=cy.Machine(memories={"dram": cy.Memory()})',
        )
    fixed = [name for name in given if name not in (*_TIMED, "machine")]
    if isinstance(design, Program) and (fixed or args):
        raise unfit(
            f"a program has its {fixed[0] if fixed else 'arguments'} already",
            "pass the kernel, with its arguments after it",
        )
    if isinstance(design, Kernel):
        with errors_at_call():
            design.bind(*args)
