"""Proofs of compiled programs by an independent checker."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from cyclotron import _core
from cyclotron.compiler.constants import check_constants
from cyclotron.machine.parts import UNBOUNDED
from cyclotron.schedule.schedule import Schedule
from cyclotron.schedule.text import reduction_orders
from cyclotron.support.arguments import whole_number
from cyclotron.support.tables import html_table

_ROTATED = "the schedule rotates a reduction, which then starts elsewhere than its equation says"


@dataclass(frozen=True)
class Property:
    """One property of a program.

    Attributes
    ----------
    name : str
        ``structure``, ``bounds``, ``reads``, ``outputs``, ``messages``, ``deadlock``, ``rendezvous`` or
        ``terms``.
    status : str
        ``proven``, ``not checked`` or, of ``rendezvous`` alone, ``does not hold``.
    text : str
        What is proven, or why it is not.
    """

    name: str
    status: str
    text: str

    def __str__(self) -> str:
        return f"{self.name:10}  {self.status:13}  {self.text}"


@dataclass(frozen=True)
class Proof:
    """The findings of the checker; made by `cyclotron.prove`.

    Attributes
    ----------
    kernel : str
        The kernel's name.
    properties : tuple of Property
        In the order of the checks.
    ok : bool
        True where all that a correct program must have is proven (``rendezvous`` is a separate question).
    events : int
        Instructions that all PEs execute; 0 where the program is too large to check.
    terms : int
        Different values that the program and its equations make.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> program = matmul.compile(np.ones((2, 2)), np.ones((2, 2)))
    >>> proof = cy.prove(program)
    >>> proof["deadlock"].status
    'proven'
    """

    kernel: str
    properties: tuple[Property, ...]
    ok: bool
    events: int
    terms: int

    def __getitem__(self, name: str) -> Property:
        """The property of that name."""
        return next(p for p in self.properties if p.name == name)

    def __iter__(self) -> Iterator[Property]:
        return iter(self.properties)

    @property
    def _title(self) -> str:
        verdict = "proven" if self.ok else "not all proven"
        return f"{self.kernel}: {verdict}, {self.events:,} events, {self.terms:,} terms"

    def __str__(self) -> str:
        return "\n".join([self._title, *(f"  {p}" for p in self.properties)])

    def _repr_html_(self) -> str:
        rows = [(p.name, p.status, p.text) for p in self.properties]
        return f"<b>{html.escape(self._title)}</b>{html_table(('property', 'status', ''), rows)}"


@dataclass(frozen=True)
class ChannelDepth:
    """Depths of one channel, in messages.

    Attributes
    ----------
    name : str
        As in ``Program.channels``.
    queues : int
        How many queues it is: one a pair of PEs that use it.
    messages : int
        Most messages through one of its queues.
    given : int
        The depth that the program and its machine say.
    least : int
        With all channels at their ``least`` the program passes, and no one of them can shrink alone.
    no_stall : int
        With all channels at their ``no_stall`` no PE ever waits for a place; each is the least such depth,
        but not below ``least``.
    """

    name: str
    queues: int
    messages: int
    given: int
    least: int
    no_stall: int


@dataclass(frozen=True)
class Depths:
    """The least depths of a program's channels; made by `Program.least_depths`.

    Attributes
    ----------
    channels : tuple of ChannelDepth
        One a channel of the program.
    passes_as_given : bool
        Whether the program passes with the depths that it has.
    rendezvous : bool
        Whether it passes with depth 0 everywhere, where a send waits for its receive.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> program = matmul.compile(np.ones((2, 2)), np.ones((2, 2)))
    >>> program.least_depths().passes_as_given
    True
    """

    channels: tuple[ChannelDepth, ...]
    passes_as_given: bool
    rendezvous: bool

    def __getitem__(self, name: str) -> ChannelDepth:
        """The depths of the channel of that name."""
        return next(c for c in self.channels if c.name == name)

    @property
    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (c.name, str(c.queues), str(c.messages), _depth_text(c.given), str(c.least), str(c.no_stall))
            for c in self.channels
        ]

    @property
    def _footer(self) -> str:
        given = "passes" if self.passes_as_given else "deadlocks"
        rendezvous = "passes" if self.rendezvous else "deadlocks"
        return f"as given it {given}; with depth 0 (rendezvous) it {rendezvous}"

    def __str__(self) -> str:
        rows = [_HEADER, *self._rows]
        width = max(len(row[0]) for row in rows)
        lines = [f"{row[0]:{width}}" + "".join(f"  {cell:>8}" for cell in row[1:]) for row in rows]
        return "\n".join([*lines, self._footer])

    def _repr_html_(self) -> str:
        return f"{html_table(_HEADER, self._rows)}{html.escape(self._footer)}"


def _depth_text(depth: int) -> str:
    return "any" if depth >= UNBOUNDED else str(depth)


_HEADER = ("channel", "queues", "messages", "given", "least", "no stall")


def check_program(
    program: _core.Program,
    system: _core.System | None,
    constants: Mapping[str, NDArray[Any]] | None,
    schedule: Schedule | None,
    limit: int | None,
) -> Proof:
    """Check a program with the independent checker; see `cyclotron.prove`.

    Parameters
    ----------
    program : _core.Program
    system : _core.System or None
        What it was compiled from; of a loaded program None.
    constants : mapping of str to ndarray, or None
        Those of the system.
    schedule : Schedule or None
        By which it was compiled.
    limit : int or None
        Most steps to check.
    """
    if constants is not None:
        check_constants(program, constants)
    most = (1 << 63) - 1
    steps = _core.PROOF_LIMIT if limit is None else whole_number("limit", limit, code="CYC733", most=most)
    rotates = schedule is not None and bool(schedule.rotations)
    result = _core.prove(program, system, steps, _ROTATED if rotates else "")
    properties = tuple(_in_words(Property(*p), schedule) for p in result["properties"])
    return Proof(program.kernel, properties, result["ok"], result["events"], result["terms"])


def _in_words(found: Property, schedule: Schedule | None) -> Property:
    """Say where the equation's order is that of a reassociation."""
    if found.name != "terms" or found.status != "proven" or schedule is None:
        return found
    orders = ", ".join(reduction_orders(schedule))
    if not orders:
        return found
    return dataclasses.replace(found, text=f"{found.text}; its order is the re-associated one: {orders}")


def least_depths(program: _core.Program, limit: int | None) -> Depths:
    """Find the least depths; see `Program.least_depths`."""
    result = _core.least_depths(program, _core.PROOF_LIMIT if limit is None else limit)
    channels = tuple(ChannelDepth(**c) for c in result["channels"])
    return Depths(channels, result["passes_as_given"], result["rendezvous"])
