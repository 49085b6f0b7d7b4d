"""The PEs through which a program's words come and go: `Machine.io`, and memories that have none of them."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

from cyclotron import _core
from cyclotron.compiler.generators import decoded, pieces_of
from cyclotron.machine.machine import Machine
from cyclotron.machine.region import Constraint, Pieces
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.errors import NO_SPAN, CapacityError, CyclotronError, PerformanceWarning, Span

_FEW_OPERATIONS, _OPERATIONS = 2_000_000, 20_000_000  # of integer sets, for each side: about 0.2 s, or 2

_Box = list[tuple[int, int, int]]  # first, last (exclusive) and step along each dimension


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
    found = _passed(compiled, system, schedule, machine)
    grid = machine.grid or ()
    if found is None and schedule is None and machine.io == "edges" and len(grid) == 2:
        row = dataclasses.replace(machine, grid=(1, *grid[1:]))  # all of its PEs are at an edge
        with contextlib.suppress(CyclotronError):  # what else is refused there says less
            chosen = _core.compile(system, None, row.to_core()).schedule
            other = _core.compile(system, chosen, machine.to_core())
            found = _passed(other, system, Schedule.from_core(chosen), machine)
    if found is None:
        check_ports(compiled.program, machine)
    assert found is not None
    return found


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
        sides = list(itertools.product((False, True), given.space_indices))
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
                    timing = _core.simulate(other.program, [], functional=False, event_limit=0, engine="auto")
                    found.append((len(rest), timing["cycles"], len(found), other, passed))
            sides = lacking
        if not found:
            return None
        *_, compiled, system = min(found, key=lambda one: one[:3])
    return compiled


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
        grid = "x".join(map(str, _grid(program, machine)))
        lack = (
            "has no memory that serves it"
            if machine.io == "ports"
            else f"is not at the edge of the {grid} PEs"
        )
        raise CapacityError(
            f"PE {pe} {does}s `{name}` and {lack}: `io` is {machine.io!r}",
            code="CYC507",
            span=span,
            help="compile the kernel for this machine with another schedule, or with none: values go through"
            ' other PEs where those have ways for them; `schedule="best"` looks for a mapping with ports',
        )


def _tensors_without_port(program: _core.Program, machine: Machine) -> set[str]:
    return {name for name, *_ in _without_port(program, machine)}


def _grid(program: _core.Program, machine: Machine) -> list[int]:
    return [max(two) for two in zip(machine.grid or program.grid, program.grid, strict=True)]


def _without_port(
    program: _core.Program, machine: Machine
) -> Iterator[tuple[str, str, tuple[int, ...], Span]]:
    """The loads and stores of PEs that are no ports: tensor, which of both, the first PE and the place."""
    if machine.io == "everywhere":
        return
    file, rank = decoded(program), len(program.grid)
    inner: Pieces | None = [_within([(1, extent - 1, 1) for extent in _grid(program, machine)])]
    if machine.io == "ports":
        boxes = [box for name in program.machine.memories for box in _boxes(program, name)]
        inner = _core.unassigned(program.grid, [(_axes(rank), [_within(box)], rank) for box in boxes])
    for region, instructions in _accesses(file):
        pe = _first(rank, region, [[]] if inner is None else inner)
        for instruction in instructions if pe is not None else ():
            assert pe is not None
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
    regions = [region for region, _ in _accesses(decoded(program))]
    for name in machine.memories:
        own = [_within(box) for box in _boxes(program, name)]
        if not any(_first(len(program.grid), region, own) for region in regions):
            yield PerformanceWarning(
                f"memory `{name}` serves none of the program's PEs that load or store",
                code="CYC508",
                help="map the program to the whole grid, or let the memory serve PEs that load or store",
            )


def _accesses(file: dict[str, Any]) -> Iterator[tuple[Pieces, list[dict[str, Any]]]]:
    """The PEs of each class that loads or stores, and the instructions that do."""
    for one in file["classes"]:
        if found := [each for each in one["code"] if each["do"] in ("load", "store")]:
            yield pieces_of(one["region"], len(file["grid"])), found


def _boxes(program: _core.Program, memory: str) -> list[_Box]:
    """The PEs of the grid that a memory serves."""
    if memory not in program.machine.memories:
        return []  # on another part of the machine's grid
    serves = program.machine.memories[memory].serves or [[_core.Slice()] * len(program.grid)]
    return [
        [slice(one.first, one.last, one.step).indices(n) for one, n in zip(box, program.grid, strict=True)]
        for box in serves
    ]


def _within(box: _Box) -> list[Constraint]:
    result: list[Constraint] = []
    for (first, last, step), (axis, _) in zip(box, _axes(len(box)), strict=True):
        result += [((axis, -first), ">="), (([-one for one in axis], last - 1), ">="), ((axis, -first), step)]
    return result


def _axes(rank: int) -> list[tuple[list[int], int]]:
    return [([int(d == other) for other in range(rank)], 0) for d in range(rank)]


def _first(rank: int, region: Pieces, other: Pieces) -> tuple[int, ...] | None:
    """The first PE that two regions share; None where there is none."""
    region = [[*one, *two] for one in region for two in other]
    pe: list[int] = []
    for d, (axis, _) in enumerate(_axes(rank)):
        bounds = _core.bounds(rank, region, d)
        if bounds is None:
            return None
        pe.append(bounds[0])
        region = [[*one, ((axis, -bounds[0]), "==")] for one in region]
    return tuple(pe)
