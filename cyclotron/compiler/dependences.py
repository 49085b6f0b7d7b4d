"""Statements of loop nests, and the dependences between their instances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cyclotron import _core
from cyclotron.support.errors import Span
from cyclotron.support.records import from_data
from cyclotron.support.tables import Listing, Row

DependenceKind = Literal["flow", "anti", "output", "read"]
StatementKind = Literal["start", "accumulate", "assign"]


@dataclass(frozen=True)
class Access:
    """A read or write of one element by every instance of a statement.

    Attributes
    ----------
    tensor : str
        The tensor, or the name of a sum that has no tensor of its own.
    write : bool
        Whether it writes.
    text : str
        E.g. ``A[i, k]``.
    relation : str
        In isl's notation: ``{ S1[i, j, k] -> A[i, k] : ... }``.
    span : Span
        Its place in the source.
    """

    tensor: str
    write: bool
    text: str
    relation: str
    span: Span

    def __str__(self) -> str:
        return self.relation


@dataclass(frozen=True)
class ScheduleTree:
    """A loop nest as a tree; see `Recurrences.schedule_tree`.

    Attributes
    ----------
    tree : str
        Domain, sequence, filter and band nodes in isl's notation (YAML).
    code : str
        The nest in C; a statement is a call, ``S1(i, j, k);``.
    """

    tree: str
    code: str

    def __str__(self) -> str:
        return f"{self.tree}\n{self.code}"


@dataclass(frozen=True)
class Statement:
    """A statement of the loop nest that spells a system; see `Recurrences.statements`.

    Attributes
    ----------
    name : str
        ``S0``, ``S1``, ... in the order of the text.
    kind : {"start", "accumulate", "assign"}
        Sets a sum to its neutral element, adds one term, or assigns an element.
    indices : tuple of str
        Outermost first.
    domain, schedule : str
        In isl's notation.
    accesses : tuple of Access
        Reads, then the write.
    span : Span
        Its place in the source.
    """

    name: str
    kind: StatementKind
    indices: tuple[str, ...]
    domain: str
    schedule: str
    accesses: tuple[Access, ...]
    span: Span

    @property
    def reads(self) -> tuple[Access, ...]:
        """The accesses that read."""
        return tuple(access for access in self.accesses if not access.write)

    @property
    def writes(self) -> tuple[Access, ...]:
        """The accesses that write."""
        return tuple(access for access in self.accesses if access.write)

    def __str__(self) -> str:
        return self.domain


@dataclass(frozen=True)
class Dependence:
    """Pairs of statement instances that touch one element; see `Recurrences.dependences`.

    Attributes
    ----------
    kind : {"flow", "anti", "output", "read"}
        The first writes and the second reads; reads and writes; both write; both read.
    tensor : str
        What both touch.
    source, target : str
        Names of the statements.
    relation : str
        In isl's notation: ``{ S1[i, j, k] -> S1[i, j, k+1] : ... }``; a primed index is the target's.
    indices : tuple of str
        Those that both statements have.
    ranges : tuple of (int, int)
        For each index the least and greatest of target minus source.
    span : Span
        The access that makes the dependence.
    """

    kind: DependenceKind
    tensor: str
    source: str
    target: str
    relation: str
    indices: tuple[str, ...]
    ranges: tuple[tuple[int, int], ...]
    span: Span

    @property
    def distance(self) -> tuple[int, ...] | None:
        """Target minus source in each of the indices, or None where it is not constant."""
        return tuple(least for least, _ in self.ranges) if self.is_uniform else None

    @property
    def is_uniform(self) -> bool:
        """True where the distance is constant."""
        return all(least == greatest for least, greatest in self.ranges)

    @property
    def distance_text(self) -> str:
        """Return the distance, with ranges where it varies: ``(0, 1..3)``."""
        parts = (str(a) if a == b else f"{a}..{b}" for a, b in self.ranges)
        return f"({', '.join(parts)})"

    @property
    def direction(self) -> str:
        """Return the direction in each index: ``<`` forward, ``=`` none, ``>`` backward, ``*`` any."""
        return f"({', '.join(_direction(a, b) for a, b in self.ranges)})"

    def __str__(self) -> str:
        return self.relation


def _direction(least: int, greatest: int) -> str:
    if least == greatest == 0:
        return "="
    return (
        "<" if least > 0 else ">" if greatest < 0 else "<=" if least == 0 else ">=" if greatest == 0 else "*"
    )


class Dependences(Listing[Dependence]):
    """Dependences, in the order flow, read, anti, output; prints as a table."""

    caption = "Dependences"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dependences) and self._items == other._items

    def __hash__(self) -> int:
        return hash(self._items)

    def of(self, *kinds: DependenceKind, source: str | None = None, target: str | None = None) -> Dependences:
        """Return those of some kinds, between some statements.

        Parameters
        ----------
        *kinds : {"flow", "anti", "output", "read"}
            None for all.
        source, target : str, optional
            Names of statements.
        """
        return self._of(
            item
            for item in self
            if (not kinds or item.kind in kinds)
            and source in (None, item.source)
            and target in (None, item.target)
        )

    def _table(self) -> tuple[Row, list[Row]]:
        return ("kind", "tensor", "relation", "indices", "distance"), [
            (item.kind, item.tensor, item.relation, ", ".join(item.indices), item.distance_text)
            for item in self
        ]


@dataclass(frozen=True)
class SpaceLoop:
    """An index as a space loop of a systolic array, or the reasons against it; see `Recurrences.space_loops`.

    Attributes
    ----------
    index : str
        The index.
    reasons : tuple of str
        Why not; empty where it may.
    """

    index: str
    reasons: tuple[str, ...]

    @property
    def eligible(self) -> bool:
        """True where it may be one."""
        return not self.reasons

    def __str__(self) -> str:
        return f"{self.index}: " + ("eligible" if self.eligible else "; ".join(self.reasons))


def analyze(system: _core.System) -> tuple[tuple[Statement, ...], Dependences]:
    """Return the statements of a system and their dependences; see `Recurrences.statements`."""
    statements, between = _core.dependences(system)
    names = [item["name"] for item in statements]
    return (
        tuple(_statement(item) for item in statements),
        Dependences([_dependence(item, names) for item in between]),
    )


def schedule_tree(system: _core.System) -> ScheduleTree:
    """Return the loop nest of a system; see `Recurrences.schedule_tree`."""
    return ScheduleTree(*_core.schedule_tree(system))


def space_loops(indices: Sequence[str], dependences: Dependences) -> tuple[SpaceLoop, ...]:
    """Return what keeps each index from being a space loop; see `Recurrences.space_loops`."""
    return tuple(SpaceLoop(index, tuple(_obstacles(index, dependences))) for index in indices)


def _obstacles(index: str, dependences: Dependences) -> Iterator[str]:
    for item in dependences:
        if index not in item.indices:
            continue
        least, greatest = item.ranges[item.indices.index(index)]
        what = f"the {item.kind} dependence of {item.tensor} from {item.source} to {item.target}"
        if least != greatest:
            yield f"{what} is not uniform: {least} to {greatest} steps along {index}"
        elif item.kind in ("flow", "read") and abs(least) > 1:
            yield f"{what} goes {abs(least)} steps along {index}, more than a neighbour"


def _statement(item: dict[str, Any]) -> Statement:
    accesses = tuple(from_data(Access, one, tensor=one["cell"]) for one in item["references"])
    return from_data(Statement, item, accesses=accesses)


def _dependence(item: dict[str, Any], names: list[str]) -> Dependence:
    return from_data(
        Dependence,
        item,
        tensor=item["cell"],
        source=names[item["source"]],
        target=names[item["target"]],
        indices=tuple(index for index, _, _ in item["distances"]),
        ranges=tuple((least, greatest) for _, least, greatest in item["distances"]),
    )
