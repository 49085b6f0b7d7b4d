"""Kernels to programs: the Python side of the pipeline."""

from __future__ import annotations

import dataclasses
import weakref
from typing import Any

from cyclotron import _core
from cyclotron.compiler.cache import KernelCache, cache_key, cache_of, insert
from cyclotron.compiler.case import Case, note
from cyclotron.compiler.constants import with_constants
from cyclotron.compiler.deferred import deferred, store_program
from cyclotron.compiler.dump import Dump
from cyclotron.compiler.performance import performance_warnings
from cyclotron.compiler.program import Program, require_machine
from cyclotron.compiler.recurrences import Recurrences, recurrences_of
from cyclotron.language import Kernel
from cyclotron.machine.machine import Machine
from cyclotron.machine.parts import PE, UNBOUNDED, Link
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.call_site import errors_at_call, warn_at_call
from cyclotron.support.errors import CyclotronError, ScheduleError

# The machine where none is given: as large as the program needs, unit costs.
_DEEP = Link(depth=UNBOUNDED)
_UNLIMITED = Machine(link=_DEEP, broadcast=_DEEP, pe=PE(memory=1 << 40))


def unlimited(schedule: Schedule | None) -> Machine:
    """Return the machine that is compiled for where none is given: ample, with rings for a rotation.

    Parameters
    ----------
    schedule : Schedule or None
    """
    rings = schedule is not None and schedule.rotations
    return dataclasses.replace(_UNLIMITED, topology="torus") if rings else _UNLIMITED


def compile_kernel(
    kernel: Kernel, values: tuple[Any, ...], schedule: Schedule | None, machine: Machine | None
) -> Program:
    """Compile a kernel for bound arguments; equal shapes, dtypes, schedules and machines compile once.

    Shapes and dtypes are traced once, for whatever schedules and machines.

    Parameters
    ----------
    kernel : Kernel
    values : tuple
        From `Kernel.bind`.
    schedule : Schedule or None
    machine : Machine or None
    """
    if schedule is not None and not isinstance(schedule, Schedule):
        raise ScheduleError(
            f"the schedule is a `{type(schedule).__name__}`",
            code="CYC301",
            help="pass a cy.Schedule, for example cy.Schedule().space('i', 'j')",
        )
    target = unlimited(schedule) if machine is None else machine
    require_machine(target)
    traced = cache_key(kernel, values)
    cache = cache_of(kernel) if traced is not None else KernelCache()
    key = (schedule, target, traced)
    program = cache.programs.get(key)
    note(Case(weakref.ref(kernel), values, schedule, machine))
    if program is None:
        dump = Dump(kernel)
        try:
            recurrences = cache.systems.get(traced)
            if recurrences is None:
                recurrences = recurrences_of(kernel, values)
                insert(cache.systems, traced, recurrences)
            dump.recurrences(recurrences, schedule, target)
            program = _compile(kernel, recurrences, schedule, target)
        except CyclotronError as error:
            dump.error(error)
            raise
        dump.program(program)
        insert(cache.programs, key, program)
    return program.with_arguments(values)


def _warn(compiled: _core.Compiled) -> bool:
    """Warn of what makes a program slow; return whether something does: a program on disk would not say."""
    warnings = performance_warnings(compiled)
    for warning in warnings:
        warn_at_call(warning)
    return bool(warnings)


def _compile(
    kernel: Kernel, recurrences: Recurrences, schedule: Schedule | None, machine: Machine
) -> Program:
    cached = deferred(recurrences, schedule, machine)
    with errors_at_call():
        compiled: Any = cached or _core.compile(
            recurrences.core, schedule.to_core() if schedule else None, machine.to_core()
        )
    if cached is None and not _warn(compiled):
        store_program(recurrences, schedule, machine, compiled)
    if Schedule.from_core(compiled.schedule).reorders_reductions:
        recurrences = Recurrences(compiled.system, recurrences.constants)
    core = with_constants(compiled.program, recurrences.constants)
    return Program(core, recurrences=recurrences, compiled=compiled, kernel=kernel, machine=machine)
