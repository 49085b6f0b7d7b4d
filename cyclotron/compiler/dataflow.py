"""Dataflow recurrences: values owned by points of iteration spaces, and the rules that move and make them."""

from __future__ import annotations

import functools
import html
from collections.abc import Iterator
from typing import Any

from cyclotron import _core
from cyclotron.compiler.flows import Flow, Node, Point, Rule, Rules, Space
from cyclotron.support.arguments import index_of, shown
from cyclotron.support.errors import ShapeError
from cyclotron.support.latex import aligned, to_latex, words
from cyclotron.support.records import from_data
from cyclotron.support.tables import html_table


class Dataflow:
    """The dataflow recurrences of a program; prints in the paper's notation (Figs. 4 and 6) and parses back.

    Attributes
    ----------
    core : _core.Dataflow
        The graph of the C++ core.
    kernel_name : str
        The kernel's name.
    indices : tuple of str
        The coordinates that all spaces share.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> program = matmul.compile(np.ones((2, 2)), np.ones((2, 2)))
    >>> print(str(program.dataflow).splitlines()[0])
    dataflow matmul over (i, j, k)
    """

    def __init__(self, core: _core.Dataflow) -> None:
        self.core = core
        self.kernel_name: str = core.kernel
        self.indices: tuple[str, ...] = tuple(core.dims)

    @classmethod
    def parse(cls, text: str) -> Dataflow:
        """Read what ``str()`` wrote.

        Parameters
        ----------
        text : str
            Dataflow recurrences.

        Raises
        ------
        ProgramError
            With line and column, if it is malformed.
        """
        return cls(_core.Dataflow.parse(text))

    @functools.cached_property
    def spaces(self) -> tuple[Space, ...]:
        """The iteration spaces: where each operation happens."""
        return tuple(
            from_data(Space, item, coordinates=tuple(item["tuple"]), number=number)
            for number, item in enumerate(self.core.spaces)
        )

    @functools.cached_property
    def flows(self) -> tuple[Flow, ...]:
        """The values that the points of the spaces own."""
        return tuple(
            from_data(Flow, item, space=self.spaces[item["space"]], number=number)
            for number, item in enumerate(self.core.flows)
        )

    @functools.cached_property
    def rules(self) -> Rules:
        """The log of the lowering: each line, the rewrite rule of section 8 that made it, and its source."""
        return Rules([self._rule(number, item) for number, item in enumerate(self.core.rules)])

    def _rule(self, number: int, item: dict[str, Any]) -> Rule:
        reads = tuple(
            (self.flows[flow], None if offset is None else tuple(offset)) for flow, offset in item["reads"]
        )
        return from_data(Rule, item, flow=self.flows[item["flow"]], reads=reads, number=number)

    @property
    def bounds(self) -> tuple[Point, Point]:
        """The least and greatest coordinates of all spaces together."""
        least, greatest = self.core.bounds
        return tuple(least), tuple(greatest)

    def points(
        self, space: Space | str, least: Point | None = None, greatest: Point | None = None
    ) -> list[Point]:
        """Return the points of a space, in order. For small spaces: the work grows with their number.

        Parameters
        ----------
        space : Space or str
            The space or its name.
        least, greatest : tuple of int, optional
            Only those in this box, both ends included; by default all.

        Raises
        ------
        ShapeError
            If there is no such space, or the box has another number of coordinates.
        """
        names = [known.name for known in self.spaces]
        name = space if isinstance(space, str) else space.name
        if name not in names:
            raise ShapeError(
                f"the dataflow of `{self.kernel_name}` has no space `{name}`",
                code="CYC240",
                help=f"it has: {', '.join(names)}",
            )
        box = self._box(least, greatest)
        return [tuple(point) for point in self.core.space_points(names.index(name), *box)]

    def statement(self, space: Space) -> str:
        """The line of the text whose statement a space has the points of; where not known the space's name.

        Parameters
        ----------
        space : Space
            One of `spaces`.
        """
        own = [flow for flow in self.flows if flow.space == space and flow.line]
        lines = [flow.line for flow in own if flow.computed] or [flow.line for flow in own]
        return f"the statement at line {max(lines)}" if lines else f"the points of {space.name}"

    def rule_points(
        self, rule: Rule, least: Point | None = None, greatest: Point | None = None
    ) -> list[Point]:
        """Return the points at which a rule applies; see `points`.

        Parameters
        ----------
        rule : Rule
            One of `rules`.
        least, greatest : tuple of int, optional
            Corners of a box: only the points in it.
        """
        return [tuple(p) for p in self.core.rule_points(rule.number, *self._box(least, greatest))]

    def arrows(
        self, rule: Rule, least: Point | None = None, greatest: Point | None = None
    ) -> list[tuple[Point, Point]]:
        """Return from where to where a transfer moves its value, a pair for each point; see `points`.

        Parameters
        ----------
        rule : Rule
            One of `rules`; one that is no transfer has none.
        least, greatest : tuple of int, optional
            Only those that end in this box.
        """
        pairs = self.core.rule_arrows(rule.number, *self._box(least, greatest))
        return [(tuple(start), tuple(end)) for start, end in pairs]

    def node(self, *point: int) -> Node:
        """Return what happens at one point.

        Sends over a broadcast network, which go to many points, are not among its sends.

        Parameters
        ----------
        *point : int
            A coordinate for each of `indices`.
        """
        self._box(point, point)
        receives: list[tuple[str, Point]] = []
        sends: list[tuple[str, Point]] = []
        lines: dict[str, list[str]] = {"inject": [], "compute": [], "export": []}
        for rule in self.rules:
            applies = bool(self.rule_points(rule, point, point))
            if rule.kind in lines and applies:
                lines[rule.kind].append(rule.statement)
            if applies:
                receives += [
                    (rule.flow.name, _minus(start, point)) for start, _ in self.arrows(rule, point, point)
                ]
            for source, offset in rule.reads:
                if offset is None or not any(offset):
                    continue
                if applies and rule.kind == "compute":  # an accumulator that comes from another point
                    receives.append((source.name, offset))
                target = _minus(point, offset)
                if self.rule_points(rule, target, target):
                    sends.append((source.name, _minus(target, point)))
        return Node(
            point,
            tuple(space.name for space in self.spaces if self.points(space, point, point)),
            tuple(dict.fromkeys(receives)),
            tuple(dict.fromkeys(sends)),
            *(tuple(texts) for texts in lines.values()),
        )

    def _box(self, least: Point | None, greatest: Point | None) -> tuple[list[int], list[int]]:
        low, high = self.bounds
        box = low if least is None else least, high if greatest is None else greatest
        for corner in box:
            if len(corner) != len(self.indices) and self.bounds[0]:
                raise _no_point(
                    f"a point has {len(corner)} coordinates, `{self.kernel_name}` has {len(self.indices)}",
                    f"give one for each of: {', '.join(self.indices)}",
                )
            if any(index_of(coordinate) is None for coordinate in corner):
                raise _no_point(
                    f"a point of `{self.kernel_name}` is {shown(corner)}",
                    f"give a whole number for each of: {', '.join(self.indices)}",
                )
        return list(box[0]), list(box[1])

    def __str__(self) -> str:
        return str(self.core)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dataflow) and bool(self.core == other.core)

    __hash__ = None  # type: ignore[assignment]

    def spellings(self) -> dict[str, str]:
        """Return the LaTeX of lettered flows, as in Fig. 6: ``Xa`` is X with the subscript a."""
        return {
            flow.name: f"{to_latex(flow.tensor)}_{{{flow.name[len(flow.tensor) :].lstrip('_')}}}"
            for flow in self.flows
            if flow.name != flow.tensor and flow.name.startswith(flow.tensor)
        }

    def _repr_latex_(self) -> str:
        names = self.spellings()
        return aligned(
            [
                (
                    to_latex(left, names),
                    rf"\leftarrow {to_latex(right, names)}",
                    "" if rule.domain == "everywhere" else rf"\quad {to_latex(rule.domain)}",
                    rf"\quad {words(rule.action)}",
                )
                for rule in self.rules
                for left, right in [rule.statement.split(" ← ", 1)]
            ]
            or [(words("no rules"),)]
        )

    def _repr_html_(self) -> str:
        return "".join(f"<p><b>{html.escape(title)}</b></p>{table}" for title, table in self._tables())

    def _tables(self) -> Iterator[tuple[str, str]]:
        head = f"dataflow {self.kernel_name} over ({', '.join(self.indices)})"
        spaces = [(f"({', '.join(s.coordinates)})^{s.name}", s.domain) for s in self.spaces]
        yield head, html_table(("space", "where"), spaces)
        flows = [(f.text, "computes" if f.computed else "carries", f.element_text) for f in self.flows]
        yield "flows", html_table(("value", "", "element"), flows)
        rules = [(r.statement, r.domain, r.action, r.origin) for r in self.rules]
        yield "rules", html_table(("line", "where", "action", "rule"), rules)


def _minus(a: Point, b: Point) -> Point:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def _no_point(message: str, help: str) -> ShapeError:
    return ShapeError(message, code="CYC241", help=help)
