"""Schedules as plain data: dicts, TOML files, and what the C++ core takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from .errors import ScheduleError
from .schedule_parts import (
    AXIS,
    FORM,
    KINDS,
    Movement,
    MovementKind,
    Reassociation,
    Reduction,
    block,
    cyclic,
    fold_of,
    read_indices,
    read_reassociations,
    read_reductions,
    wrong_type,
)

if TYPE_CHECKING:
    from .schedule import Schedule

__all__ = ["CoreSchedule", "from_core", "from_dict", "to_core", "to_dict", "to_toml"]

_TABLES = ("fold", "rotate", "reassociate", "place", "panels", "reduce")
_KEYS = ("space", "time", *KINDS, *_TABLES, "inwards", "stages")

CoreSchedule = tuple[
    list[str],
    list[str],
    list[tuple[str, str, list[str]]],
    list[tuple[str, int, bool]],
    list[tuple[str, list[str]]],
    list[tuple[str, int, str]],
    list[tuple[str, list[str]]],
    list[tuple[str, int]],
    list[str],
    list[str],
    list[tuple[str, int]],
]


def to_dict(schedule: Schedule) -> dict[str, Any]:
    """See `Schedule.to_dict`."""
    result: dict[str, Any] = {"space": list(schedule.space_indices), "time": list(schedule.time_indices)}
    for movement in schedule.movements:
        result.setdefault(movement.kind, {})[movement.tensor] = list(movement.along)
    tables: dict[str, dict[str, Any]] = {
        "fold": {name: {fold.kind: fold.parts} for name, fold in schedule.folds},
        "rotate": {name: list(by) for name, by in schedule.rotations},
        "reassociate": {
            item.index: {"parts": item.parts, "into": item.into} for item in schedule.reassociations
        },
        "place": {name: list(at) for name, at in schedule.places},
        "panels": dict(schedule.panel_counts),
        "reduce": {
            item.index: {"tree": item.radix} if item.algorithm == "tree" else item.algorithm
            for item in schedule.reductions
        },
    }
    if schedule.inward_indices:
        result["inwards"] = list(schedule.inward_indices)
    if schedule.stage_indices:
        result["stages"] = list(schedule.stage_indices)
    return result | {key: table for key, table in tables.items() if table}


def from_dict(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the schedule that `to_dict` describes; see `Schedule.from_dict`."""
    if not isinstance(data, Mapping):
        raise wrong_type("a schedule", data, "a mapping")
    unknown = [key for key in data if key not in _KEYS]
    if unknown:
        raise ScheduleError(
            f"a schedule has no entry {unknown[0]!r}", code="CYC301", help=f"it has: {', '.join(_KEYS)}"
        )
    movements: list[Movement] = []
    for kind in KINDS:
        entries = data.get(kind, {})
        if isinstance(entries, str):
            entries = [entries]
        if not isinstance(entries, Mapping):
            entries = dict.fromkeys(read_indices(kind, entries, what="a tensor"), ())
        movements += [
            Movement(tensor, kind, read_indices(f"{kind} of `{tensor}`", along, AXIS))
            for tensor, along in entries.items()
        ]
    turns = _table(data, "rotate", '{"k": ["i", "j"]}')
    return {
        "space_indices": read_indices("space", data.get("space", ()), FORM),
        "time_indices": read_indices("time", data.get("time", ()), FORM),
        "movements": tuple(movements),
        "folds": tuple(map(fold_of, _table(data, "fold", '{"i": {"cyclic": 4}}').items())),
        "rotations": tuple((name, read_indices("rotate", by)) for name, by in turns.items()),
        "reassociations": read_reassociations(data.get("reassociate", {})),
        "places": tuple(_table(data, "place", '{"A": ["i", "k"]}').items()),
        "panel_counts": tuple(_table(data, "panels", '{"k": 4}').items()),
        "inward_indices": read_indices("inwards", data.get("inwards", ())),
        "stage_indices": read_indices("stages", data.get("stages", ())),
        "reductions": read_reductions(data.get("reduce", {})),
    }


def _table(data: Mapping[str, Any], key: str, example: str) -> Mapping[str, Any]:
    table = data.get(key, {})
    if not isinstance(table, Mapping):
        raise wrong_type(key, table, f"a mapping such as {example}")
    return table


def to_toml(schedule: Schedule) -> str:
    """Return the text of a TOML file with the entries of `to_dict`."""
    data = to_dict(schedule)
    lines = [
        f"{key} = {_toml(data.pop(key))}" for key in ("space", "time", "inwards", "stages") if key in data
    ]
    for key, table in data.items():
        lines += ["", f"[{key}]", *(f'"{name}" = {_toml(value)}' for name, value in table.items())]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(part)}" for key, part in value.items()) + " }"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, Iterable):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return str(value)


def to_core(schedule: Schedule) -> CoreSchedule:
    """See `Schedule.to_core`."""
    return (
        list(schedule.space_indices),
        list(schedule.time_indices),
        [(move.tensor, str(move.kind), list(move.along)) for move in schedule.movements],
        [(name, fold.parts, fold.kind == "cyclic") for name, fold in schedule.folds],
        [(name, list(by)) for name, by in schedule.rotations],
        [(item.index, item.parts, item.into) for item in schedule.reassociations],
        [(name, list(at)) for name, at in schedule.places],
        list(schedule.panel_counts),
        list(schedule.inward_indices),
        list(schedule.stage_indices),
        [(item.index, item.radix if item.algorithm == "tree" else 0) for item in schedule.reductions],
    )


def from_core(data: CoreSchedule) -> dict[str, Any]:
    """Return the fields of the schedule that the C++ core reports, in the form of `to_core`."""
    space, time, movements, folds, rotations, blocks, places, panels, inwards, stages, trees = data
    return {
        "space_indices": tuple(space),
        "time_indices": tuple(time),
        "movements": tuple(
            Movement(tensor, cast(MovementKind, kind), tuple(along)) for tensor, kind, along in movements
        ),
        "folds": tuple((name, cyclic(parts) if deal else block(parts)) for name, parts, deal in folds),
        "rotations": tuple((name, tuple(by)) for name, by in rotations),
        "reassociations": tuple(Reassociation(*item) for item in blocks),
        "places": tuple((name, tuple(at)) for name, at in places),
        "panel_counts": tuple(panels),
        "inward_indices": tuple(inwards),
        "stage_indices": tuple(stages),
        "reductions": tuple(
            Reduction(index, "tree", radix) if radix else Reduction(index, "two_phase")
            for index, radix in trees
        ),
    }
