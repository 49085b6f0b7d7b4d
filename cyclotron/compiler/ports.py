"""The PEs through which a program's words come and go: `Machine.io`, and memories that have none of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cyclotron import _core
from cyclotron.compiler.generators import decoded, pieces_of
from cyclotron.machine.machine import Machine
from cyclotron.machine.region import Constraint, Pieces
from cyclotron.support.errors import NO_SPAN, CapacityError, PerformanceWarning, Span

_Box = list[tuple[int, int, int]]  # first, last (exclusive) and step along each dimension


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
    if machine.io == "everywhere":
        return
    file, rank = decoded(program), len(program.grid)
    grid = [max(two) for two in zip(machine.grid or program.grid, program.grid, strict=True)]
    inner: Pieces | None = [_within([(1, extent - 1, 1) for extent in grid])]
    lack = f"is not at the edge of the {'x'.join(map(str, grid))} PEs"
    if machine.io == "ports":
        boxes = [box for name in program.machine.memories for box in _boxes(program, name)]
        inner = _core.unassigned(program.grid, [(_axes(rank), [_within(box)], rank) for box in boxes])
        lack = "has no memory that serves it"
    for region, (instruction, *_) in _accesses(file):
        pe = _first(rank, region, [[]] if inner is None else inner)
        if pe is not None:
            name, does = file["tensors"][instruction["tensor"]]["name"], instruction["do"]
            way, start = f'`.stream("{name}", along=...)`', "0"
            if does == "store":
                way, start = "map the index of its sums to the grid", "k"
            at = instruction.get("at")
            raise CapacityError(
                f"PE {pe} {does}s `{name}` and {lack}: `io` is {machine.io!r}",
                code="CYC507",
                span=NO_SPAN if at is None else Span(file["files"][at[0]], *at[1:]),
                help=f"{way}, or pass it on in the kernel: `x[p, k] = {name}[k] if p == {start} else "
                'x[p - 1, k]`; `schedule="best"` looks for a mapping with ports',
            )


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
