"""Schedules in words: as the code that rebuilds one, as a line, and as a table."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .schedule_parts import Fold

if TYPE_CHECKING:
    from .schedule import Schedule

__all__ = ["as_code", "as_html", "as_line"]

_WIDEST_LINE = 100


def as_code(schedule: Schedule) -> str:
    """Return the code that rebuilds the schedule."""
    calls = [
        f".reassociate({_quoted(item.index)}, parts={item.parts}, into={_quoted(item.into)})"
        for item in schedule.reassociations
    ]
    if schedule.stage_indices:
        calls.append(f".stages({_arguments(schedule.stage_indices)})")
    if schedule.inward_indices:
        calls.append(f".inwards({_arguments(schedule.inward_indices)})")
    for tree in schedule.reductions:
        radix = f", radix={tree.radix}" if tree.algorithm == "tree" and tree.radix != 2 else ""
        calls.append(f".reduce({_quoted(tree.index)}, {_quoted(tree.algorithm)}{radix})")
    if schedule.space_indices:
        calls.append(f".space({_arguments(schedule.space_indices)})")
    if schedule.time_indices:
        calls.append(f".time({_arguments(schedule.time_indices)})")
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
    line = "cy.Schedule()" + "".join(calls)
    if len(line) <= _WIDEST_LINE:
        return line
    return "\n    ".join(["(cy.Schedule()", *calls]) + ")"


def _parts(schedule: Schedule) -> Iterable[tuple[str, str]]:
    """What the schedule says besides space and time: verb and rest."""
    for movement in schedule.movements:
        yield movement.kind, str(movement).removeprefix(f"{movement.kind} ")
    for name, by in schedule.rotations:
        yield "rotate", f"{name} by {', '.join(by)}"
    for name, at in schedule.places:
        yield "place", f"{name} at {', '.join(at)}"
    for name, count in schedule.panel_counts:
        yield "panels", f"{name} in {count}"
    for name, fold in schedule.folds:
        yield "fold", f"{name} {fold}"
    for item in schedule.reassociations:
        yield "reassociate", str(item).removeprefix("reassociate ")
    if schedule.stage_indices:
        yield "stages", ", ".join(schedule.stage_indices)
    if schedule.inward_indices:
        yield "inwards", ", ".join(schedule.inward_indices)
    for tree in schedule.reductions:
        yield "reduce", str(tree).removeprefix("reduce ")


def as_line(schedule: Schedule) -> str:
    """Return the schedule in one line."""
    space, time = (", ".join(names) or "-" for names in (schedule.space_indices, schedule.time_indices))
    parts = (f"{verb} {rest}" for verb, rest in _parts(schedule))
    return "; ".join([f"space {space}", f"time {time}", *parts])


def as_html(schedule: Schedule) -> str:
    """Return the schedule as a table."""
    rows = [
        ("space", ", ".join(schedule.space_indices) or "–"),
        ("time", ", ".join(schedule.time_indices) or "–"),
        *_parts(schedule),
    ]
    left = 'style="text-align:left"'
    body = "".join(
        f"<tr><th {left}>{name}</th><td {left}>{html.escape(text)}</td></tr>" for name, text in rows
    )
    return f"<table><caption>Schedule</caption><tbody>{body}</tbody></table>"


def _quoted(name: str) -> str:
    return f'"{name}"'


def _arguments(names: Iterable[str]) -> str:
    return ", ".join(map(_quoted, names))


def _fold_arguments(folds: Iterable[tuple[str, Fold]]) -> str:
    texts = [(name, f"cy.{fold.kind}({fold.parts})") for name, fold in folds]
    if all(name.isidentifier() for name, _ in texts):
        return ", ".join(f"{name}={text}" for name, text in texts)
    return "{" + ", ".join(f"{_quoted(name)}: {text}" for name, text in texts) + "}"
