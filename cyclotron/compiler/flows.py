"""The parts of a dataflow: spaces, flows, rules, and what happens at one point."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cyclotron.support.errors import Span
from cyclotron.support.tables import Listing, Row

Point = tuple[int, ...]
RuleKind = Literal["inject", "transfer", "broadcast", "compute", "export"]


@dataclass(frozen=True)
class Space:
    """Points at which one operation happens.

    Attributes
    ----------
    name : str
        The operation, e.g. ``mul``.
    coordinates : tuple of str
        Each coordinate in terms of the free ones, e.g. ``("i", "r", "i")``.
    domain : str
        The constraints on the free ones.
    is_relay : bool
        True where values only pass on to other points; not told of a dataflow that was parsed.
    number : int
        Its place in `Dataflow.spaces`.
    """

    name: str
    coordinates: tuple[str, ...]
    domain: str
    is_relay: bool
    number: int

    def __str__(self) -> str:
        return f"({', '.join(self.coordinates)})^{self.name}    {self.domain}"


@dataclass(frozen=True)
class Flow:
    """A value at every point of a space.

    Attributes
    ----------
    name : str
        The subscript, e.g. ``A`` or ``Xa``.
    text : str
        E.g. ``(i, j, k)_A^mul``.
    space : Space
        Where it lives.
    tensor : str
        Whose elements, or partial results, it carries.
    variable : str
        The tensor's name in the kernel's text: of ``u_2``, a version of ``u``, it is ``u``.
    line : int
        The line of the text that it comes from; 0 where it is not known.
    element : tuple of str
        The subscripts of the element at each point.
    prefetched : bool
        Whether it is loaded before the time loop.
    computed : bool
        Whether it is computed; else it carries an operand.
    number : int
        Its place in `Dataflow.flows`.
    """

    name: str
    text: str
    space: Space
    tensor: str
    variable: str
    line: int
    element: tuple[str, ...]
    prefetched: bool
    computed: bool
    number: int

    @property
    def element_text(self) -> str:
        """The element, e.g. ``A[i, k]``."""
        return f"{self.tensor}[{', '.join(self.element)}]"

    def __str__(self) -> str:
        return f"{self.text} {'computes' if self.computed else 'carries'} {self.element_text}"


@dataclass(frozen=True)
class Rule:
    """One line of the dataflow, and the rewrite rule that made it.

    Attributes
    ----------
    origin : str
        The rewrite rule: ``Inject``, ``Propagate``, ``LowerSum``, ``OuterSend``, ``InnerSend``, ...
    statement : str
        E.g. ``(i, j, k)_A^mul ← (i, j-1, k)_A^mul``.
    domain : str
        Where it applies in its space: ``j ≥ 1``.
    action : str
        In words: ``receive A along j``.
    kind : {"inject", "transfer", "broadcast", "compute", "export"}
        From a tensor, from another point, over a broadcast network, by an operator, or to a tensor.
    flow : Flow
        What it defines; for an export, what it stores.
    reads : tuple of (Flow, tuple of int or None)
        What it reads, and where: the source point minus its own, None where that is not constant.
    span : Span
        What it comes from in the source.
    number : int
        Its place in `Dataflow.rules`.
    """

    origin: str
    statement: str
    domain: str
    action: str
    kind: RuleKind
    flow: Flow
    reads: tuple[tuple[Flow, Point | None], ...]
    span: Span
    number: int

    @property
    def source_line(self) -> str:
        """The line of source, ``file.py:12: text``; empty where none is known."""
        if self.span.line == 0:
            return ""
        text = linecache.getline(self.span.file, self.span.line).strip()
        place = f"{Path(self.span.file).name}:{self.span.line}"
        return f"{place}: {text}" if text else place

    def __str__(self) -> str:
        return f"{self.statement}    {self.domain}    {self.action}    [{self.origin}]"


class Rules(Listing[Rule]):
    """The rules of a dataflow in order: the log of the lowering; prints as a table."""

    caption = "Rules"

    def of(self, *origins: str) -> Rules:
        """Return those that some rewrite rules made.

        Parameters
        ----------
        *origins : str
            E.g. ``"Inject"``, ``"Propagate"``.
        """
        return self._of(item for item in self if item.origin in origins)

    def _table(self) -> tuple[Row, list[Row]]:
        return ("rule", "line", "where", "source"), [
            (item.origin, item.statement, item.domain, item.source_line) for item in self
        ]


@dataclass(frozen=True)
class Node:
    """One point: the values that it receives, computes and sends, from where and to where.

    Attributes
    ----------
    point : tuple of int
        Its coordinates.
    spaces : tuple of str
        The operations that happen at it.
    receives, sends : tuple of (str, tuple of int)
        A flow's name, and the other point minus this one.
    loads, computes, stores : tuple of str
        The lines that apply.
    """

    point: Point
    spaces: tuple[str, ...]
    receives: tuple[tuple[str, Point], ...]
    sends: tuple[tuple[str, Point], ...]
    loads: tuple[str, ...]
    computes: tuple[str, ...]
    stores: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.point}: {', '.join(self.spaces) or 'no operation'}"]
        for verb, word, moves in (("receive", "from", self.receives), ("send", "to", self.sends)):
            for name, step in moves:
                other = tuple(a + b for a, b in zip(self.point, step, strict=True))
                lines.append(f"  {verb} {name} {word} {other}")
        lines += [f"  {line}" for line in (*self.loads, *self.computes, *self.stores)]
        return "\n".join(lines)
