"""Kernels to programs: the Python side of the pipeline."""

from __future__ import annotations

import functools
import weakref
from typing import Any

from cyclotron import _core
from cyclotron.compiler.blocking import Tile, block_recurrences, sizes_of
from cyclotron.compiler.cache import KernelCache, cache_key, cache_of, insert
from cyclotron.compiler.case import Case, note
from cyclotron.compiler.constants import with_constants
from cyclotron.compiler.defaults import Placements, Workers, tile_lengths, unlimited
from cyclotron.compiler.deferred import deferred, store_program
from cyclotron.compiler.dump import Dump
from cyclotron.compiler.performance import performance_warnings
from cyclotron.compiler.ports import through_ports
from cyclotron.compiler.program import Program, require_machine
from cyclotron.compiler.recurrences import Recurrences, recurrences_of
from cyclotron.language import Kernel
from cyclotron.machine.machine import Machine
from cyclotron.schedule.parts import unfit
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.call_site import errors_at_call, warn_at_call
from cyclotron.support.errors import CyclotronError


def compile_kernel(
    kernel: Kernel,
    values: tuple[Any, ...],
    schedule: Schedule | None,
    machine: Machine | None,
    tile: Tile = None,
) -> Program:
    """Compile a kernel for bound arguments; equal shapes, dtypes, schedules and machines compile once.

    Shapes and dtypes are traced once, for whatever schedules and machines. Where neither is given the program
    has `Program.placements`, by which threads and ranks run.

    Parameters
    ----------
    kernel : Kernel
    values : tuple
        From `Kernel.bind`.
    schedule : Schedule or None
    machine : Machine or None
    tile : int, "auto", mapping of str to int, or None
        None: on scalars, or on the tiles of blocked arguments.
    """
    if schedule is not None and not isinstance(schedule, Schedule):
        raise unfit(
            f"the schedule is a `{type(schedule).__name__}`",
            "pass a cy.Schedule, for example cy.Schedule().space('i', 'j')",
        )
    target = unlimited(schedule) if machine is None else machine
    require_machine(target)
    traced = cache_key(kernel, values)
    cache = cache_of(kernel) if traced is not None else KernelCache()
    key = (schedule, target, traced, None if tile is None else sizes_of(tile))
    program = cache.programs.get(key)
    note(Case(weakref.ref(kernel), values, schedule, machine, tile=tile))
    if program is None:
        dump = Dump(kernel)
        try:
            recurrences = _traced(kernel, values, cache, traced)
            blocking = None if tile is None else block_recurrences(kernel, recurrences, tile)
            if blocking is not None:
                recurrences = blocking.recurrences
            dump.recurrences(recurrences, schedule, target)
            program = compile_recurrences(kernel, recurrences, schedule, target).with_blocking(blocking)
            if schedule is None and machine is None and tile is None:
                placements = (
                    _placements(kernel, recurrences, cache, traced)
                    if program.recurrences.core is recurrences.core
                    else _placements_of(kernel, program.recurrences)  # in the order of the array's sums
                )
                program = program.with_placements(placements)
        except CyclotronError as error:
            dump.error(error)
            raise
        dump.program(program)
        insert(cache.programs, key, program)
    return program.with_arguments(values)


def compile_on(kernel: Kernel, values: tuple[Any, ...], workers: Workers, in_tiles: bool) -> Program:
    """Compile a kernel for threads or ranks, where neither a schedule nor a machine is given.

    Parameters
    ----------
    kernel : Kernel
    values : tuple
        From `Kernel.bind`.
    workers : Workers
    in_tiles : bool
        Whether a kernel on scalars may become one over tiles, where it takes long and has tile operators.
    """
    traced = cache_key(kernel, values)
    cache = cache_of(kernel) if traced is not None else KernelCache()
    known = cache.placements.get(traced)
    placements = known or _placements(kernel, _traced(kernel, values, cache, traced), cache, traced)
    tiled = _in_tiles(kernel, cache, traced, workers, placements) if in_tiles else None
    program = tiled or placements.on(workers)
    if program is None:
        return compile_kernel(kernel, values, None, None)
    return program.with_arguments(values)


def _in_tiles(
    kernel: Kernel, cache: KernelCache, traced: Any, workers: Workers, placements: Placements[Program]
) -> Program | None:
    """The program over tiles for so many workers; None where scalars are better, or nothing matches."""
    if not placements.tiles_pay(workers):
        return None
    count = workers.count if placements.array_pays(workers) else 1
    key = ("tiles", count, traced)
    if key in cache.tiled:
        return cache.tiled[key]
    return insert(cache.tiled, key, _tiled(kernel, placements.recurrences, count))


def _tiled(kernel: Kernel, recurrences: Recurrences, workers: int) -> Program | None:
    schedule = Schedule() if workers == 1 else None
    try:
        blocking = block_recurrences(kernel, recurrences, "auto")
        if not blocking.complete or not any(item.operators for item in blocking.classes):
            return None  # what is computed element by element is as fast on scalars
        blocking = block_recurrences(kernel, recurrences, tile_lengths(blocking, workers))
        program = compile_recurrences(kernel, blocking.recurrences, schedule, unlimited(schedule), quiet=True)
    except CyclotronError:
        return None
    return program.with_blocking(blocking)


def _traced(kernel: Kernel, values: tuple[Any, ...], cache: KernelCache, traced: Any) -> Recurrences:
    known = cache.systems.get(traced)
    return insert(cache.systems, traced, recurrences_of(kernel, values)) if known is None else known


def _placements(
    kernel: Kernel, recurrences: Recurrences, cache: KernelCache, traced: Any
) -> Placements[Program]:
    known = cache.placements.get(traced)
    return insert(cache.placements, traced, _placements_of(kernel, recurrences)) if known is None else known


def _placements_of(kernel: Kernel, recurrences: Recurrences) -> Placements[Program]:
    return Placements(recurrences, functools.partial(compile_recurrences, kernel, recurrences, quiet=True))


def _warn(compiled: _core.Compiled, machine: Machine, quiet: bool) -> bool:
    """Warn of what makes a program slow; return whether something does: a program on disk would not say."""
    warnings = performance_warnings(compiled, machine)
    for warning in () if quiet else warnings:
        warn_at_call(warning)
    return bool(warnings)


def compile_recurrences(
    kernel: Kernel, recurrences: Recurrences, schedule: Schedule | None, machine: Machine, quiet: bool = False
) -> Program:
    """Compile the equations of a kernel, or read their program from disk.

    Parameters
    ----------
    kernel : Kernel
    recurrences : Recurrences
    schedule : Schedule or None
    machine : Machine
    quiet : bool
        Whether nothing is said of what makes the program slow.
    """
    cached = deferred(recurrences, schedule, machine)
    with errors_at_call():
        compiled: Any = cached or _core.compile(
            recurrences.core, schedule.to_core() if schedule else None, machine.to_core()
        )
    direct = compiled
    compiled = through_ports(compiled, recurrences.core, schedule, machine)
    if cached is None and not _warn(compiled, machine, quiet) and compiled is direct:
        store_program(recurrences, schedule, machine, compiled)
    if Schedule.from_core(compiled.schedule).reorders_reductions or compiled is not direct:
        recurrences = Recurrences(compiled.system, recurrences.constants, recurrences.changed)
    core = with_constants(compiled.program, recurrences.constants)
    return Program(core, recurrences=recurrences, compiled=compiled, kernel=kernel, machine=machine)
