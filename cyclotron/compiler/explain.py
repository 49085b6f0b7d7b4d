"""Programs in words: which operands stay, which move, where and how."""

from __future__ import annotations

import functools
import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from cyclotron import _core
from cyclotron.compiler.dataflow import Dataflow
from cyclotron.compiler.flows import Flow, Rule
from cyclotron.compiler.pe_class import PeClass
from cyclotron.schedule.schedule import Schedule
from cyclotron.schedule.text import SUMS_BY_TILES, reduction_sentences
from cyclotron.support.errors import PerformanceWarning

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MotionKind = Literal["stationary", "resident", "stream", "broadcast", "local"]


@dataclass(frozen=True)
class Motion:
    """The way of the values of one flow to the PEs that use them.

    Attributes
    ----------
    flow : Flow
        Whose values.
    kind : {"stationary", "resident", "stream", "broadcast", "local"}
        Kept in its PE; loaded before the time loop and kept; from neighbour to neighbour; over a broadcast
        network; or not moved and not kept: loaded or made where it is used.
    hops : tuple of tuple of int
        For a stream, receiver minus sender in grid coordinates, one for each channel that has one such hop.
    along : tuple of str
        The grid dimensions it moves along; for a stationary value, the indices along which it is used.
    sentence : str
        All this in words.
    """

    flow: Flow
    kind: MotionKind
    hops: tuple[tuple[int, ...], ...]
    along: tuple[str, ...]
    sentence: str

    def __str__(self) -> str:
        return self.sentence


class Explainable(Protocol):
    """Stages of a program that an explanation reads; see `cyclotron.Program`."""

    core: _core.Program
    kernel_name: str
    grid: tuple[int, ...]
    grid_names: tuple[str, ...]
    schedule: Schedule | None

    @property
    def blocking(self) -> object | None: ...
    @property
    def dataflow(self) -> Dataflow: ...
    @property
    def placed(self) -> Dataflow: ...
    @property
    def classes(self) -> tuple[PeClass, ...]: ...
    @property
    def channels(self) -> list[dict[str, Any]]: ...
    @property
    def channel_flows(self) -> list[str]: ...
    @property
    def notes(self) -> dict[str, str]: ...


class Explanation:
    """The ways of the operands of a program; prints as sentences, `plot` draws it.

    Attributes
    ----------
    program : Program
        What is explained.

    Examples
    --------
    >>> @cy.kernel
    ... def prefix_sum(x):
    ...     s = cy.empty_like(x)
    ...     s[0] = x[0]
    ...     for i in range(1, len(x)):
    ...         s[i] = s[i - 1] + x[i]
    ...     return s
    >>> program = prefix_sum.compile(np.ones(8), schedule=cy.Schedule().space("i"))
    >>> print(str(program.explain()).splitlines()[0])
    prefix_sum on 8 PEs, grid 8
    """

    def __init__(self, program: Explainable, slow: Sequence[PerformanceWarning] = ()) -> None:
        self.program = program
        self._slow = slow
        self._dataflow: Dataflow = program.placed
        # Elements read better over the kernel's indices than over the grid's coordinates.
        self._elements = {(f.name, f.space.name): f.element_text for f in program.dataflow.flows}
        new = set(program.placed.indices) - set(program.dataflow.indices)
        self._way = "in stages, hop by hop" if "stage_hop" in new else "hop by hop" if "hop" in new else ""

    @functools.cached_property
    def motions(self) -> tuple[Motion, ...]:
        """One for each flow, in the order of the dataflow."""
        return tuple(self._motion(flow) for flow in self._dataflow.flows)

    @property
    def stationary(self) -> tuple[str, ...]:
        """Tensors, as the kernel's text calls them, that no channel moves and that PEs keep over time."""
        names = dict.fromkeys(m.flow.variable for m in self.motions if m.kind in ("stationary", "resident"))
        moving = {m.flow.variable for m in self.motions if m.kind in ("stream", "broadcast")}
        return tuple(name for name in names if name not in moving)

    def _channels(self, flow: Flow) -> list[tuple[dict[str, Any], str]]:
        """The channels into a flow, each with the flows that it moves."""
        start = f"{flow.name}^{flow.space.name} "
        return [
            (channel, flows)
            for channel, flows in zip(self.program.channels, self.program.channel_flows, strict=True)
            if any(name.startswith(start) for name in flows.split(", "))
        ]

    def _subject(self, flow: Flow) -> str:
        """The flow in the user's names: its element, or its variable, and its line to tell it from others."""
        text = self._text(flow)
        alike = {other.line for other in self._dataflow.flows if self._text(other) == text}
        return f"{text} (line {flow.line})" if len(alike) > 1 and flow.line else text

    def _text(self, flow: Flow) -> str:
        # The subscripts of versions of a variable are those of the loops that assign it, not the user's.
        element = self._elements.get((flow.name, flow.space.name), flow.element_text)
        return element if flow.tensor == flow.variable else flow.variable

    def _motion(self, flow: Flow) -> Motion:
        names = self.program.grid_names
        rules = [rule for rule in self._dataflow.rules if rule.flow == flow and rule.kind != "export"]
        links: list[tuple[int, ...]] = []
        scaled: list[str] = []
        axes: list[int] = []
        for channel, flows in self._channels(flow):
            if channel["kind"] != "link":
                axes.append(channel["axis"])
            elif max(channel["scale"]) > 1:
                scaled.append(f"[{flows.rpartition(' from ')[2][1:-1]}]")
            elif tuple(channel["offset"]) not in links:
                links.append(tuple(channel["offset"]))
        what = self._subject(flow)
        if axes:
            along = tuple(names[axis] for axis in axes)
            text = f"{what} is broadcast along {', '.join(along)}: one message reaches a whole line of PEs"
            return Motion(flow, "broadcast", (), along, text + self._entry(rules))
        if links or scaled:
            along = tuple(
                dict.fromkeys(n for hop in links for n, step in zip(names, hop, strict=True) if step)
            )
            value = "streams" if not flow.computed else "streams, a partial result growing on its way,"
            if self._way and flow.space.is_relay:
                what, value = flow.variable, f"goes to its use in line {flow.line} {self._way}"
            senders = [_neighbour(names, hop) for hop in links] + scaled
            moves = " and ".join(f"from PE {sender}" for sender in senders)
            if scaled:
                text = f"{what} {value} over links of several lengths: PE {_tuple(names)} receives it {moves}"
                return Motion(flow, "stream", tuple(links), along or names, text + self._entry(rules))
            # A hexagonal machine has links along one diagonal, too.
            hexagonal = self.program.core.machine.topology == ["hexagonal"]
            length = max((max if hexagonal else sum)(map(abs, hop)) for hop in links)
            text = (
                f"{what} {value} along {', '.join(along)}: PE {_tuple(names)} receives it {moves}, "
                f"{length} {'hop' if length == 1 else 'hops'} a step"
            )
            return Motion(flow, "stream", tuple(links), along, text + self._entry(rules))
        if flow.prefetched:
            text = f"{what} is stationary: each PE loads its own before the time loop and keeps it (prefetch)"
            return Motion(flow, "resident", (), (), text)
        along = self._kept_along(flow, rules)
        if along:
            verb = "adds to it" if flow.computed else "uses it again"
            text = f"{what} is stationary: each PE keeps its own and {verb} along {', '.join(along)}"
            return Motion(flow, "stationary", (), along, text + self._entry(rules))
        text = f"{what} is {self._origin(rules)} in the PE that uses it, for each point anew"
        return Motion(flow, "local", (), (), text)

    def _kept_along(self, flow: Flow, rules: list[Rule]) -> tuple[str, ...]:
        """The indices along which a flow continues from its own earlier value."""
        indices = self._dataflow.indices
        found = [
            index
            for rule in rules
            for source, offset in rule.reads
            if source == flow and offset is not None
            for index, step in zip(indices, offset, strict=True)
            if step
        ]
        return tuple(dict.fromkeys(found))

    @staticmethod
    def _origin(rules: list[Rule]) -> str:
        kinds = {rule.kind for rule in rules}
        verbs = [("inject", "loaded"), ("compute", "computed"), ("transfer", "handed over")]
        return " or ".join(verb for kind, verb in verbs if kind in kinds) or "made"

    @staticmethod
    def _entry(rules: list[Rule]) -> str:
        where = [rule.domain for rule in rules if rule.kind == "inject"]
        place = "at every point" if where == ["everywhere"] else f"where {' or '.join(where)}"
        return f"; loaded {place}" if where else ""

    def sentences(self) -> list[str]:
        """Return the explanation, a sentence each."""
        schedule = self.program.schedule
        grid = "×".join(map(str, self.program.grid))
        count = sum(item.pe_count for item in self.program.classes)
        lines = [f"{self.program.kernel_name} on {count} {'PE' if count == 1 else 'PEs'}, grid {grid}"]
        if self.program.blocking is not None:
            first, *classes = str(self.program.blocking).splitlines()
            lines.append(f"{first}; {'; '.join(item.strip() for item in classes)}")
            lines.append(SUMS_BY_TILES)
        if schedule is not None:
            space, time = schedule.space_indices, schedule.time_indices
            on = "a line through the grid's rows" if schedule.is_serpentine else "one PE for each value"
            lines.append(f"space: {', '.join(space)}, {on}" if space else "space: none, one PE does it all")
            lines.append(
                f"time: {', '.join(time)}, a loop in each PE, the first outermost" if time else "time: none"
            )
            lines += reduction_sentences(schedule)
        lines += [f"slow: {slow.message}; {slow.help} [{slow.code}]" for slow in self._slow]
        lines += list(dict.fromkeys(motion.sentence for motion in self.motions))
        for rule in self._dataflow.rules:
            if rule.kind == "export":
                where = "" if rule.domain == "everywhere" else f" where {rule.domain}"
                statement = self._dataflow.statement(rule.flow.space)
                lines.append(f"{self._subject(rule.flow)} is stored by {statement}{where}")
        time_function = self.program.notes.get("time", "")
        point = ", ".join(self._dataflow.indices)
        lines.append(
            f"time function: point ({point}) runs at cycle {time_function}, with unit costs"
            if time_function
            else "time function: none of one affine form with unit costs; PEs run as their operands arrive"
        )
        return lines

    def __str__(self) -> str:
        first, *rest = self.sentences()
        return "\n".join([first, *(f"  {line}" for line in rest)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        first, *rest = self.sentences()
        items = "".join(f"<li>{html.escape(line)}</li>" for line in rest)
        return f"<b>{html.escape(first)}</b><ul>{items}</ul>"

    def plot(self, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
        """Draw the array with an arrow for each operand; see `cyclotron.plot.array`.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        path : str or Path, optional
            File to save to, its type by its suffix.
        """
        from cyclotron.plot import array

        return array(self.program, ax=ax, path=path)


def _tuple(parts: tuple[str, ...]) -> str:
    return f"[{', '.join(parts)}]"


def _neighbour(names: tuple[str, ...], hop: tuple[int, ...]) -> str:
    """The sender, in the receiver's coordinates: ``[i, j-1]``."""
    parts = (name if step == 0 else f"{name}{-step:+d}" for name, step in zip(names, hop, strict=True))
    return _tuple(tuple(parts))
