"""The PEs through which a program's words come and go: `Machine.io`, and memories that have none of them."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

from cyclotron import _core
from cyclotron.compiler.generators import decoded
from cyclotron.machine.machine import Machine
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.errors import NO_SPAN, CapacityError, CyclotronError, PerformanceWarning, Span

_Box = list[_core.Slice]  # of each grid dimension, or of the first ones

_FEW_OPERATIONS, _OPERATIONS = 2_000_000, 20_000_000  # of integer sets, for each side: about 0.2 s, or 2


def through_ports(
    compiled: _core.Compiled, system: _core.System, schedule: Schedule | None, machine: Machine
) -> _core.Compiled:
    """Return a program whose words come and go at ports of the machine.

    Where other PEs load an input or store an output, its elements go through PEs on one side of the grid: the
    one on which the program is fastest.

    Parameters
    ----------
    compiled : _core.Compiled
        From the system and the schedule, or the one that was chosen.
    system : _core.System
    schedule : Schedule or None
    machine : Machine

    Raises
    ------
    CapacityError
        CYC507 where no side has the ports.
    """
    if not _tensors_without_port(compiled.program, machine):
        return compiled
    found = [_passed(compiled, system, schedule, machine)]
    if schedule is None and machine.grid and len(machine.grid) == 2:
        # All PEs of a row may be ports: it was chosen, or not, as if all PEs were.
        row = dataclasses.replace(machine, grid=(1, machine.grid[1]), memories={}, io="edges")
        with contextlib.suppress(CyclotronError):  # what else is refused there says less
            on_row = _core.compile(system, None, row.to_core())
            chosen = Schedule.from_core(on_row.schedule)
            forms = chosen.space_indices
            parts = zip(forms, on_row.program.grid[-len(forms) :], strict=True)
            chosen = chosen.fold({one: n for one, n in parts if one != "0"} | dict(chosen.folds))
            other = _core.compile(system, chosen.to_core(), machine.to_core())
            found.append(_passed(other, system, chosen, machine))
    if found == [None] * len(found):
        check_ports(compiled.program, machine)
    return min((one for one in found if one is not None), key=_cycles)


def _cycles(compiled: _core.Compiled) -> int:
    return int(_core.simulate(compiled.program, [], functional=False, event_limit=0, engine="auto")["cycles"])


def _passed(
    compiled: _core.Compiled, system: _core.System, schedule: Schedule | None, machine: Machine
) -> _core.Compiled | None:
    """The program with copies of tensors at sides of the grid; None where no side has the ports."""
    given = schedule or dataclasses.replace(Schedule.from_core(compiled.schedule), time_indices=())
    loaded = {one["name"] for one in compiled.program.tensors if one["role"] == "input"}
    done: set[str] = set()
    while left := _tensors_without_port(compiled.program, machine):
        tensor = min(left)
        if tensor in done:
            return None
        done.add(tensor)
        if tensor in loaded:
            moves = tuple(one for one in given.movements if one.tensor != tensor)
            given = dataclasses.replace(given, movements=moves)
        sides = _sides(compiled.program, machine, given.space_indices)
        found: list[tuple[int, int, int, _core.Compiled, _core.System]] = []
        for operations in (_FEW_OPERATIONS, _OPERATIONS):
            lacking = []
            for last, index in () if found else sides:
                try:
                    passed = _core.pass_edge(system, {tensor}, index, last)
                    if passed is None:
                        continue
                    other = _core.compile(passed, given.to_core(), machine.to_core(), operations)
                except CyclotronError as error:
                    lacking += [(last, index)] if error.code == "CYC299" else []
                    continue
                rest = _tensors_without_port(other.program, machine)
                if not rest & done:
                    found.append((len(rest), _cycles(other), len(found), other, passed))
            sides = lacking
        if not found:
            return None
        *_, compiled, system = min(found, key=lambda one: one[:3])
    return compiled


def _sides(program: _core.Program, machine: Machine, space: tuple[str, ...]) -> list[tuple[bool, str]]:
    """The sides of the grid, by its far ends and indices: those of ports alone, where there are any."""
    sides, ports = list(itertools.product((False, True), space)), _ports(program, machine)

    def has(last: bool, index: str) -> bool:
        side = _across(space.index(index), -int(last))
        return _core.first_pe(program, pe_class=None, inside=[side], outside=ports) is None

    return [one for one in sides if has(*one)] or sides


def check_ports(program: _core.Program, machine: Machine) -> None:
    """Refuse programs that load or store in PEs that are no ports of the machine.

    Parameters
    ----------
    program : _core.Program
    machine : Machine

    Raises
    ------
    CapacityError
        CYC507 with the tensor, its place in the kernel and the first such PE.
    """
    for name, does, pe, span in _without_port(program, machine):
        grid = "x".join(map(str, machine.grid or program.grid))
        lack = (
            "has no memory that serves it"
            if machine.io == "ports"
            else f"is not at the edge of the {grid} PEs"
        )
        raise CapacityError(
            f"PE {tuple(pe)} {does}s `{name}` and {lack}: `io` is {machine.io!r}",
            code="CYC507",
            span=span,
            help="compile the kernel for this machine with another schedule, or with none: values go through"
            ' other PEs where those have ways for them; `schedule="best"` looks for a mapping with ports',
        )


def _tensors_without_port(program: _core.Program, machine: Machine) -> set[str]:
    return {name for name, *_ in _without_port(program, machine)}


def _across(axis: int, at: int) -> _Box:
    """The PEs with this coordinate; -1 is the last one."""
    return [*[_core.Slice()] * axis, _core.Slice(first=at, last=at + 1 or None)]


def _ports(program: _core.Program, machine: Machine) -> list[_Box]:
    """The PEs that may load and store, of a machine where not all may."""
    if machine.io == "ports":
        return [box for memory in machine.memories for box in _served(program, memory)]
    grid = [max(two) for two in zip(machine.grid or program.grid, program.grid, strict=True)]
    return [_across(axis, at) for axis, extent in enumerate(grid) for at in (0, extent - 1)]


def _served(program: _core.Program, memory: str) -> list[_Box]:
    """The PEs of the program that a memory serves: none where it is on another part of the machine's grid."""
    found = program.machine.memories.get(memory)
    return (found.serves or [[]]) if found else []


def _without_port(program: _core.Program, machine: Machine) -> Iterator[tuple[str, str, list[int], Span]]:
    """The loads and stores of PEs that are no ports: tensor, which of both, the first PE and the place."""
    if machine.io == "everywhere":
        return
    file, ports = decoded(program), _ports(program, machine)
    for number, instructions in _accesses(program):
        pe = _core.first_pe(program, pe_class=number, inside=[[]], outside=ports)
        if pe is None:
            continue
        for instruction in instructions:
            at = instruction.get("at")
            span = NO_SPAN if at is None else Span(file["files"][at[0]], *at[1:])
            yield file["tensors"][instruction["tensor"]]["name"], instruction["do"], pe, span


def idle_memories(program: _core.Program, machine: Machine) -> Iterator[PerformanceWarning]:
    """Yield a warning for each of several memories that nothing is loaded from or stored to.

    Parameters
    ----------
    program : _core.Program
    machine : Machine
    """
    if len(machine.memories) < 2:
        return
    users = [number for number, _ in _accesses(program)]
    for name in machine.memories:
        at = _served(program, name)
        if all(_core.first_pe(program, pe_class=one, inside=at, outside=[]) is None for one in users):
            yield PerformanceWarning(
                f"memory `{name}` serves none of the program's PEs that load or store",
                code="CYC508",
                help="map the program to the whole grid, or let the memory serve PEs that load or store",
            )


def _accesses(program: _core.Program) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Each class that loads or stores, and the instructions that do."""
    for number, one in enumerate(decoded(program)["classes"]):
        if found := [each for each in one["code"] if each["do"] in ("load", "store")]:
            yield number, found
