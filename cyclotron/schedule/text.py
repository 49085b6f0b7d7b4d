"""Schedules as text: the code that rebuilds one, a line, a table, and the entries of a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cyclotron.schedule.fields import Fields
from cyclotron.schedule.parts import (
    AXIS,
    FORM,
    KINDS,
    READER,
    Fold,
    Movement,
    MovementKind,
    read_fold_entry,
    read_indices,
    read_reassociations,
    read_reductions,
    unfit,
)
from cyclotron.support.tables import html_table

SUMS_BY_TILES = (
    "sums are added up tile by tile: the bits are not those of the kernel on scalars, and the same on every"
    " backend"
)
_WIDEST_LINE = 100
_TABLES = ("fold", "rotate", "reassociate", "place", "panels", "reduce")
_KEYS = ("space", "time", *KINDS, *_TABLES, "inwards", "descending", "stages", "serpentine")


def as_code(schedule: Fields) -> str:
    """Return the code that rebuilds the schedule."""
    calls = [
        f".reassociate({_quoted(item.index)}, parts={item.parts}, into={_quoted(item.into)})"
        for item in schedule.reassociations
    ]
    orders = {
        "stages": schedule.stage_indices,
        "inwards": schedule.inward_indices,
        "descending": schedule.descending_indices,
    }
    calls += [f".{verb}({_arguments(names)})" for verb, names in orders.items() if names]
    for tree in schedule.reductions:
        radix = f", radix={tree.radix}" if tree.algorithm == "tree" and tree.radix != 2 else ""
        calls.append(f".reduce({_quoted(tree.index)}, {_quoted(tree.algorithm)}{radix})")
    where = {"space": schedule.space_indices, "time": schedule.time_indices}
    calls += [f".{verb}({_arguments(names)})" for verb, names in where.items() if names]
    for movement in schedule.movements:
        along = ""
        if movement.along:
            one = len(movement.along) == 1
            along = ", along=" + (_quoted(movement.along[0]) if one else f"[{_arguments(movement.along)}]")
        calls.append(f".{movement.kind}({_quoted(movement.tensor)}{along})")
    for name, by in schedule.rotations:
        calls.append(f".rotate({_quoted(name)}, by=({_arguments(by)}{',' if len(by) == 1 else ''}))")
    calls += [f".place({_quoted(name)}, {_arguments(at)})" for name, at in schedule.places]
    calls += [f".panels({_quoted(name)}, {count})" for name, count in schedule.panel_counts]
    if schedule.folds:
        calls.append(f".fold({_fold_arguments(schedule.folds)})")
    if schedule.is_serpentine:
        calls.append(".serpentine()")
    line = "cy.Schedule()" + "".join(calls)
    if len(line) <= _WIDEST_LINE:
        return line
    return "\n    ".join(["(cy.Schedule()", *calls]) + ")"


def as_html(line: str) -> str:
    """Return the schedule that is in a line as a table."""
    rows = [part.partition(" ")[::2] for part in line.split("; ")]
    return html_table(("part", "value"), rows, "Schedule")


def reduction_orders(schedule: Fields) -> list[str]:
    """Return the orders of reductions that are others than the kernel's, in a few words each."""
    orders = [f"{item.index} in blocks {item.into}" for item in schedule.reassociations]
    orders += ["over " + ", then ".join(schedule.stage_indices)] if schedule.stage_indices else []
    orders += [f"{index} inwards" for index in schedule.inward_indices]
    orders += [f"{index} descending" for index in schedule.descending_indices]
    return orders + [str(item).removeprefix("reduce ") for item in schedule.reductions]


def reduction_sentences(schedule: Fields) -> list[str]:
    """Return the orders of reductions that are others than the kernel's, in a sentence each."""
    sentences = [
        f"reductions over {item.index} are done in at most {item.parts} blocks, numbered by {item.into}, "
        "then over these"
        for item in schedule.reassociations
    ]
    if schedule.stage_indices:
        stages = ", then ".join(schedule.stage_indices)
        sentences.append(f"reductions over several of these are done over {stages}")
    sentences += [
        f"reductions over {index} are done from both ends to the middle" for index in schedule.inward_indices
    ]
    sentences += [
        f"reductions over {index} are done from the last term to the first"
        for index in schedule.descending_indices
    ]
    return sentences + [
        f"reductions over {item.index} are done in {str(item).partition(' in ')[2]}"
        for item in schedule.reductions
    ]


def entries(schedule: Fields) -> dict[str, Any]:
    """Return the schedule as plain lists and dicts; see `Schedule.to_dict`."""
    result: dict[str, Any] = {"space": list(schedule.space_indices), "time": list(schedule.time_indices)}
    for movement in schedule.movements:
        result.setdefault(movement.kind, {})[movement.tensor] = list(movement.along)
    optional: dict[str, Any] = {
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
        "inwards": list(schedule.inward_indices),
        "descending": list(schedule.descending_indices),
        "stages": list(schedule.stage_indices),
        "serpentine": schedule.is_serpentine,
    }
    return result | {key: entry for key, entry in optional.items() if entry}


def read_entries(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the schedule that `entries` describes; see `Schedule.from_dict`."""
    READER.mapping("a schedule", data, "a mapping")
    unknown = [key for key in data if key not in _KEYS]
    if unknown:
        raise unfit(f"a schedule has no entry {unknown[0]!r}", f"it has: {', '.join(_KEYS)}")
    rotations = _table(data, "rotate", '{"k": ["i", "j"]}')
    return {
        "space_indices": read_indices("space", data.get("space", ()), FORM),
        "time_indices": read_indices("time", data.get("time", ()), FORM),
        "movements": tuple(
            movement for kind in KINDS for movement in _read_movements(kind, data.get(kind, {}))
        ),
        "folds": tuple(map(read_fold_entry, _table(data, "fold", '{"i": {"cyclic": 4}}').items())),
        "rotations": tuple((name, read_indices("rotate", by)) for name, by in rotations.items()),
        "reassociations": read_reassociations(data.get("reassociate", {})),
        "places": tuple(_table(data, "place", '{"A": ["i", "k"]}').items()),
        "panel_counts": tuple(_table(data, "panels", '{"k": 4}').items()),
        "inward_indices": read_indices("inwards", data.get("inwards", ())),
        "descending_indices": read_indices("descending", data.get("descending", ())),
        "stage_indices": read_indices("stages", data.get("stages", ())),
        "reductions": read_reductions(data.get("reduce", {})),
        "is_serpentine": data.get("serpentine", False),
    }


def _read_movements(kind: MovementKind, entries: Any) -> list[Movement]:
    """Read a mapping from tensor to the indices to move along, or tensors alone."""
    if isinstance(entries, str):
        entries = [entries]
    if not isinstance(entries, Mapping):
        entries = dict.fromkeys(read_indices(kind, entries, what="a tensor"), ())
    return [
        Movement(tensor, kind, read_indices(f"{kind} of `{tensor}`", along, AXIS))
        for tensor, along in entries.items()
    ]


def _table(data: Mapping[str, Any], key: str, example: str) -> Mapping[str, Any]:
    return READER.mapping(key, data.get(key, {}), f"a mapping such as {example}")


def _quoted(name: str) -> str:
    return f'"{name}"'


def _arguments(names: Iterable[str]) -> str:
    return ", ".join(map(_quoted, names))


def _fold_arguments(folds: Iterable[tuple[str, Fold]]) -> str:
    texts = [(name, f"cy.{fold.kind}({fold.parts})") for name, fold in folds]
    if all(name.isidentifier() for name, _ in texts):
        return ", ".join(f"{name}={text}" for name, text in texts)
    return "{" + ", ".join(f"{_quoted(name)}: {text}" for name, text in texts) + "}"
