"""The error of a kernel without a legal mapping: what was refused why, and the machine that has one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from cyclotron import _core
from cyclotron.machine.machine import Machine
from cyclotron.machine.parts import UNBOUNDED
from cyclotron.mapper.evaluate import Measured, Refused, evaluate
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.errors import CyclotronError, ScheduleError

# Refused mappings that are tried on each larger machine.
_MOST_TRIED = 12
_AMPLE_MEMORY = 1 << 45
_AMPLE_CHANNELS = 1 << 20


def reasons(refused: Iterable[Refused]) -> dict[str, tuple[int, str]]:
    """Count refusals by the code of their error; with the message of the first.

    Parameters
    ----------
    refused : iterable of Refused
    """
    result: dict[str, tuple[int, str]] = {}
    for one in refused:
        count, message = result.get(one.reason, (0, one.error.message))
        result[one.reason] = (count + 1, message)
    return result


def no_mapping(
    systems: dict[tuple[int, ...], _core.System],
    name: str,
    machine: Machine,
    fix: Schedule,
    refused: Sequence[Refused],
) -> CyclotronError:
    """Return the error of a kernel none of whose mappings is legal.

    Parameters
    ----------
    systems : dict of tuple of int to _core.System
        By tile.
    name : str
        Of the kernel.
    machine : Machine
    fix : Schedule
        What all mappings had in common.
    refused : sequence of Refused
    """
    if not refused:
        return ScheduleError(
            f"`{name}` has no mapping to try before the search was stopped",
            code="CYC340",
            help="give it more time: time_limit=60",
        )
    counts = "; ".join(
        f"{count} × {code}: {message}"
        for code, (count, message) in sorted(reasons(refused).items(), key=lambda item: -item[1][0])
    )
    given = "" if fix == Schedule() else f" with {fix!r}"
    changes = [change for change in _changes(systems, machine, refused) if change is not None]
    help = f"a machine with {changes[0]} would do" if changes else "leave more to the search: a smaller `fix`"
    return ScheduleError(
        f"none of {len(refused)} mappings of `{name}`{given} is legal: {counts}", code="CYC340", help=help
    )


def _changes(
    systems: dict[tuple[int, ...], _core.System], machine: Machine, refused: Sequence[Refused]
) -> Iterator[str | None]:
    """Single changes of the machine that make some refused mapping legal, each the smallest of its kind."""
    pe = machine.pe
    ample = dataclasses.replace(machine, pe=dataclasses.replace(pe, memory=_AMPLE_MEMORY, banks=None))
    least = min((one.memory for one in _legal(systems, ample, refused)), default=None)
    if least is not None:
        yield f"{least} bytes of memory a PE instead of {pe.memory}"
    if pe.channels is not None:
        yield _fewest_channels(systems, machine, refused)
    deep = machine.with_links(depth=UNBOUNDED)
    if any(True for _ in _legal(systems, deep, refused)):
        yield f"deeper channels: `link=cy.Link(depth=...)` of more than {machine.link.depth}"
    if machine.grid is not None and machine.io != "ports":
        free = dataclasses.replace(machine, grid=None, memories={})
        pes = min((one.pes for one in _legal(systems, free, refused)), default=None)
        if pes is not None:
            yield f"a grid of {pes} PEs"


def _fewest_channels(
    systems: dict[tuple[int, ...], _core.System], machine: Machine, refused: Sequence[Refused]
) -> str | None:
    """The fewest channels a PE with which one is legal, between its own and ample."""

    def fits(channels: int) -> bool:
        more = dataclasses.replace(machine, pe=dataclasses.replace(machine.pe, channels=channels))
        return any(True for _ in _legal(systems, more, refused))

    low = machine.pe.channels or 0
    high = low + 1
    while not fits(high):
        low, high = high, 2 * high
        if high > _AMPLE_CHANNELS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return f"{high} channels a PE instead of {machine.pe.channels}"


def _legal(
    systems: dict[tuple[int, ...], _core.System], machine: Machine, refused: Sequence[Refused]
) -> Iterator[Measured]:
    for one in refused[:_MOST_TRIED]:
        found = evaluate(systems[one.tile], one.schedule, machine, one.tile)
        if isinstance(found, Measured):
            yield found
