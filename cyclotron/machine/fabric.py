"""Layouts of a wafer's fabric: regions of PEs, painted with routes of colors, code and variables.

They are put together as in MACH's Listings 9 to 12; those of compiled programs are `Program.routes`.

Examples
--------
>>> red, blue = cy.fabric.colors("red", "blue")
>>> sender = cy.fabric.tile().paint(red, "C>R").code("sender")
>>> row = cy.fabric.hstack(sender, cy.fabric.rect(1, 2).paint(red, "L>CR"))
>>> print(cy.fabric.vstack(row, row))
6 PEs in 2x3: 1 color
<BLANKLINE>
property  value     where
--------  --------  ----------------------------------
red       C>R       0 <= row <= 1 and column = 0
code      sender()  0 <= row <= 1 and column = 0
red       L>CR      0 <= row <= 1 and 1 <= column <= 2
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from html import escape
from pathlib import Path
from typing import Any

from cyclotron.machine.parts import MOST, integer, wrong_type
from cyclotron.machine.region import Pieces, Region
from cyclotron.support.errors import CapacityError, ShapeError
from cyclotron.support.files import write_file
from cyclotron.support.svg import COLORS, inline_image
from cyclotron.support.tables import Row, Table

__all__ = [
    "Color",
    "Header",
    "Layout",
    "Route",
    "Tile",
    "colors",
    "hstack",
    "place",
    "rect",
    "tile",
    "union",
    "vstack",
]


def __dir__() -> list[str]:
    return __all__


MOST_COLORS = 24  # MA-018
MOST_STATES = 4
SIDES = {"C": (0, 0), "L": (0, -1), "R": (0, 1), "U": (-1, 0), "D": (1, 0)}
"""A router's ports, its own PE and its neighbours, and where these are: rows down and columns right."""
_LONGEST, _FARTHEST, _TURNS = 31, 2047, "CUD"  # of a header: words, a coordinate, turns
_MOST_DRAWN = 12  # PEs a side of a picture
_PIXELS = 48  # of a PE in it


@dataclass(frozen=True)
class Color:
    """A virtual channel of the fabric, on which each router has a route of its own (MA-122).

    Attributes
    ----------
    name : str

    Examples
    --------
    >>> print(cy.fabric.Color("args_color"))
    args_color
    """

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Route:
    """A color's ways through a router, which advance wavelets take it through (MA-123).

    Attributes
    ----------
    color : Color
    states : tuple of (str, str)
        For each state the ports from which wavelets come and those to which they go, of ``C``, ``L``, ``R``,
        ``U`` and ``D``: the PE itself, left, right, up, down. What comes from another port waits there.
    ring : bool
        Whether the last state advances to the first; else it stays.

    Examples
    --------
    >>> print(cy.fabric.Route.of(cy.fabric.Color("c0"), "R>C; D>C; ring"))
    R>C; D>C; ring
    """

    color: Color
    states: tuple[tuple[str, str], ...]
    ring: bool = False

    @classmethod
    def of(cls, color: Color, text: str) -> Route:
        """Return the route that a text tells.

        Parameters
        ----------
        color : Color
        text : str
            States, such as ``"R>C; D>C; ring"``, four at most.

        Raises
        ------
        ShapeError
            If it tells none (CYC407).
        """
        *states, last = (state.strip() for state in text.split(";"))
        ring = last == "ring"
        pairs = [tuple(state.split(">")) for state in (states if ring else [*states, last])]
        for pair in pairs:
            ways = "".join(pair)
            if len(pair) != 2 or not all(pair) or set(ways) - set(SIDES) or len(set(ways)) < len(ways):
                _refuse_route(text, "a state is `from>to`, of the ports C, L, R, U, D, each once")
        if not 1 <= len(pairs) <= MOST_STATES:
            _refuse_route(text, f"a router has 1 to {MOST_STATES} states a color")
        return cls(color, tuple((pair[0], pair[1]) for pair in pairs), ring)

    def __str__(self) -> str:
        return "; ".join([f"{come}>{go}" for come, go in self.states] + ["ring"] * self.ring)


def _refuse_route(text: str, help: str) -> None:
    raise ShapeError(f"{text!r} is no route", code="CYC407", help=help)


@dataclass(frozen=True)
class Header:
    """The first word of a message that routers pass on by what it says: along a row, then along a column.

    A router that takes it keeps that way for the message alone, up to its last word.

    Attributes
    ----------
    row, column : int
        Where the message goes, less than 2048.
    turn : {"C", "U", "D"}
        Where it goes from the router in its row that has its column.
    length : int
        Words that follow, at most 31; 0: up to a control wavelet.

    Examples
    --------
    >>> header = cy.fabric.Header.of((5, 1), (2, 3), words=4)
    >>> header.turn, hex(header.word)
    ('U', '0x801a4')
    >>> [header.way(*pe) for pe in ((5, 1), (5, 3), (3, 3), (2, 3))]
    ['R', 'U', 'U', 'C']
    """

    row: int
    column: int
    turn: str
    length: int

    @classmethod
    def of(cls, sender: tuple[int, int], receiver: tuple[int, int], words: int) -> Header:
        """Return the header of a message.

        Parameters
        ----------
        sender, receiver : tuple of (int, int)
            Row and column.
        words : int
            Of it, the header excepted.

        Raises
        ------
        ShapeError
            CYC401 if the receiver is out of reach.
        """
        row, column = (integer("receiver", x, 0, _FARTHEST) for x in receiver)
        turn = "C" if row == sender[0] else "U" if row < sender[0] else "D"
        return cls(row, column, turn, words if words <= _LONGEST else 0)

    @property
    def word(self) -> int:
        """The header as a word: length in bits 0 to 4, turn in 5 and 6, column from 7 and row from 18 on."""
        return self.length | _TURNS.index(self.turn) << 5 | self.column << 7 | self.row << 18

    def way(self, row: int, column: int) -> str:
        """Return the port where a router sends the message.

        Parameters
        ----------
        row, column : int
            Of the router.
        """
        if column != self.column:
            return "R" if column < self.column else "L"
        return self.turn if row != self.row else "C"


@dataclass(frozen=True)
class Code:
    """The program of PEs, with its parameters (MA-125).

    Attributes
    ----------
    name : str
    parameters : tuple of (str, str)
        Names and values; a value ``@type`` is that of the variable `type` at the PE.
    """

    name: str
    parameters: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value}' for name, value in self.parameters)})"


@dataclass(frozen=True)
class Variable:
    """A value by region, which code is compiled with (a geo-var).

    Attributes
    ----------
    name : str
    value : object
    """

    name: str
    value: Any

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Paint:
    """A property of the PEs of a region.

    Attributes
    ----------
    region : Region
    value : Route, Code or Variable
    """

    region: Region
    value: Route | Code | Variable

    @property
    def subject(self) -> str:
        """The property: a color, ``code``, or a variable, as ``@type``."""
        if isinstance(self.value, Route):
            return self.value.color.name
        return "code" if isinstance(self.value, Code) else f"@{self.value.name}"


@dataclass(frozen=True)
class Tile:
    """The properties of one PE of a layout.

    Attributes
    ----------
    code : str or None
    parameters : dict of str to str
        Of the code, with the values of variables at this PE.
    variables : dict of str to object
    routes : dict of str to Route
        By color.

    Examples
    --------
    >>> tile = cy.fabric.tile(side="left").code("worker", side="@side")[0, 0]
    >>> tile.code, tile.parameters
    ('worker', {'side': 'left'})
    """

    code: str | None
    parameters: dict[str, Any]
    variables: dict[str, Any]
    routes: dict[str, Route]


@dataclass(frozen=True, repr=False)
class Layout(Table):
    """A painted part of a fabric: a table of properties by region, a picture in notebooks; immutable.

    ``layout[row, column]`` is the `Tile` of a PE, row 0 on top. Its size does not matter: no PE is looked at
    but those that are asked for.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns of the rectangle that it is in.
    region : Region
        Its PEs.
    paints : tuple of Paint
        Their properties, in order: of two values of one property at a PE the later one counts.

    Examples
    --------
    >>> from cyclotron import fabric
    >>> receive, send = fabric.colors("receive", "send")
    >>> pe = fabric.tile(type=0).paint(receive, "R>C; L>C; ring").paint(send, "C>L; C>R; ring")
    >>> print(fabric.hstack(pe, fabric.tile(type=1)))
    2 PEs in 1x2: 2 colors
    <BLANKLINE>
    property  value           where
    --------  --------------  ----------------------
    @type     0               row = 0 and column = 0
    receive   R>C; L>C; ring  row = 0 and column = 0
    send      C>L; C>R; ring  row = 0 and column = 0
    @type     1               row = 0 and column = 1
    """

    shape: tuple[int, int]
    region: Region
    paints: tuple[Paint, ...] = field(default=())

    def __post_init__(self) -> None:
        if len(self.colors) > MOST_COLORS:
            names = ", ".join(f"`{color}`" for color in self.colors)
            raise CapacityError(
                f"a layout has {len(self.colors)} colors, but the fabric {MOST_COLORS}",
                code="CYC509",
                notes=[(None, f"they are {names}")],
                help="use a color for several ways that meet at no PE",
            )

    @property
    def colors(self) -> tuple[Color, ...]:
        """The colors that are painted on it, in order."""
        return tuple(dict.fromkeys(p.value.color for p in self.paints if isinstance(p.value, Route)))

    def paint(self, color: Color, route: str | Route) -> Layout:
        """Return it with a route of a color in all its PEs.

        Parameters
        ----------
        color : Color
        route : str or Route
            States, such as ``"R>C; D>C; L>C; U>C; ring"``.

        Raises
        ------
        ShapeError
            If it is no route (CYC407).
        CapacityError
            If the layout has more than 24 colors (CYC509).
        """
        return self._with(replace(route, color=color) if isinstance(route, Route) else Route.of(color, route))

    def code(self, name: str, **parameters: Any) -> Layout:
        """Return it with a program in all its PEs.

        Parameters
        ----------
        name : str
        **parameters
            Colors, values, or ``"@type"``: the value of a variable there.
        """
        return self._with(Code(name, tuple((key, str(value)) for key, value in parameters.items())))

    def set(self, **variables: Any) -> Layout:
        """Return it with values of variables in all its PEs.

        Parameters
        ----------
        **variables
        """
        return reduce(lambda made, pair: made._with(Variable(*pair)), variables.items(), self)

    def _with(self, value: Route | Code | Variable) -> Layout:
        return replace(self, paints=(*self.paints, Paint(self.region, value)))

    def repeat(self, rows: int, columns: int) -> Layout:
        """Return a rectangle that is filled with copies, those at its lower and right edge cut off.

        Parameters
        ----------
        rows, columns : int
            Of the rectangle; the layout itself should be small.
        """
        shape = _extents(rows, columns)
        sides = Region.box((0, rows), (0, columns)).lists[0]
        height, width = self.shape

        def filled(region: Region) -> Region:
            cells = {(r, c) for r in range(height) for c in range(width) if (r, c) in region}
            diagonals = {(r + c) % height for r, c in cells}
            pieces: Pieces = [[(((1, 0), -r), height), (((0, 1), -c), width)] for r, c in cells]
            if len(cells) == height * width:
                pieces = [[]]
            elif height == width and len(cells) == height * len(diagonals):
                pieces = [[(((1, 1), -k), height)] for k in diagonals]
            return Region.of([[*sides, *piece] for piece in pieces], region.names)

        return self._moved(filled, shape)

    def _moved(self, move: Callable[[Region], Region], shape: tuple[int, int]) -> Layout:
        moved = (Paint(move(paint.region), paint.value) for paint in self.paints)
        return Layout(shape, move(self.region), tuple(paint for paint in moved if paint.region))

    def __getitem__(self, pe: tuple[int, int]) -> Tile:
        here = [paint.value for paint in self.paints if pe in paint.region]
        codes = [value for value in here if isinstance(value, Code)]
        variables = {value.name: value.value for value in here if isinstance(value, Variable)}
        parameters = {
            name: variables.get(value[1:], value) if value.startswith("@") else value
            for code in codes[-1:]
            for name, value in code.parameters
        }
        routes = {value.color.name: value for value in here if isinstance(value, Route)}
        return Tile(codes[-1].name if codes else None, parameters, variables, routes)

    @property
    def caption(self) -> str:
        """The title of the table, in a line."""
        rows, columns = self.shape
        whole = self.region == Region.box((0, rows), (0, columns))
        count, pes = len(self.colors), f"{rows * columns} PEs in" if whole else "some PEs of"
        return f"{pes} {rows}x{columns}: {count} color{'' if count == 1 else 's'}"

    def _table(self) -> tuple[Row, list[list[str]]]:
        rows = [[paint.subject, str(paint.value), str(paint.region)] for paint in self.paints]
        return ("property", "value", "where"), rows

    def to_svg(self) -> str:
        """Return a picture as an ``<svg>`` element: routers, and in each color's tint its ways through them.

        Dashed ways are those of later states. Of more than 12 rows or columns the first 12 are drawn.
        """
        rows, columns = (min(extent, _MOST_DRAWN) for extent in self.shape)
        tints = {color.name: COLORS[n % len(COLORS)] for n, color in enumerate(self.colors)}
        drawn = "".join(
            f'<g transform="translate({_PIXELS * c} {_PIXELS * r})">{_router(self[r, c], tints)}</g>'
            for r in range(rows)
            for c in range(columns)
            if (r, c) in self.region
        )
        title = f"<title>{escape(self.caption)}</title>"
        width, height = _PIXELS * columns, _PIXELS * rows
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}">{title}{drawn}</svg>'
        )

    def save(self, path: str | Path) -> None:
        """Write the picture, as SVG.

        Parameters
        ----------
        path : str or Path
            By habit ``*.svg``.
        """
        write_file(path, self.to_svg())

    def _repr_html_(self) -> str:
        return inline_image(self.to_svg()) + super()._repr_html_()


def _router(tile: Tile, tints: dict[str, str]) -> str:
    """A PE and its router: a way of each state goes from the side where it comes in to where it goes out."""
    half = _PIXELS / 2
    text = f"{tile.code or 'no code'}\n" + "\n".join(f"{name}: {way}" for name, way in tile.routes.items())
    drawn = f"<title>{escape(text)}</title>"
    drawn += (
        f'<rect x="1" y="1" width="{_PIXELS - 2}" height="{_PIXELS - 2}" fill="#f4f4f4" stroke="#999999"/>'
    )
    for name, route in tile.routes.items():
        number = list(tints).index(name)
        aside = (number % 5 - 2) * _PIXELS / 12  # so that ways of several colors lie side by side
        for state, (come, go) in enumerate(route.states):
            for start, end in ((one, other) for one in come for other in go):
                ends = [
                    half * (1 + SIDES[side][axis]) + (aside if SIDES[side][axis] == 0 else 0)
                    for side in (start, end)
                    for axis in (1, 0)
                ]
                style = f'stroke="{tints[name]}"' + (' stroke-dasharray="3 3"' if state else "")
                drawn += '<path fill="none" {} d="M{:g} {:g}L{:g} {:g}"/>'.format(style, *ends)
                drawn += f'<circle cx="{ends[2]:g}" cy="{ends[3]:g}" r="2" fill="{tints[name]}"/>'
    return drawn


def colors(*names: str) -> tuple[Color, ...]:
    """Return a color for each name (MACH, Listing 9).

    Parameters
    ----------
    *names : str

    Returns
    -------
    tuple of Color

    Raises
    ------
    ShapeError
        CYC402 if a name is no text.

    Examples
    --------
    >>> cy.fabric.colors("control", "arguments")
    (Color(name='control'), Color(name='arguments'))
    """
    for name in names:
        if not isinstance(name, str):
            raise wrong_type("the name of a color", name, 'a text, for example "control"')
    return tuple(Color(name) for name in names)


def rect(rows: int, columns: int) -> Layout:
    """Return a rectangle of PEs without properties.

    Parameters
    ----------
    rows, columns : int

    Returns
    -------
    Layout

    Raises
    ------
    ShapeError
        CYC401, CYC402 if a number is none of at least 1.

    Examples
    --------
    >>> print(cy.fabric.rect(2, 3).region)
    0 <= row <= 1 and 0 <= column <= 2
    """
    shape = _extents(rows, columns)
    return Layout(shape, Region.box((0, rows), (0, columns)))


def tile(**variables: Any) -> Layout:
    """Return a single PE.

    Parameters
    ----------
    **variables
        Values of variables there.

    Returns
    -------
    Layout

    Raises
    ------
    TypeError
        If a value is given without a name.

    Examples
    --------
    >>> cy.fabric.tile(type=1)[0, 0].variables
    {'type': 1}
    """
    return rect(1, 1).set(**variables)


def place(layout: Layout, row: int, column: int) -> Layout:
    """Return a layout moved down and right.

    Parameters
    ----------
    layout : Layout
    row, column : int
        Where its upper left corner comes to be.

    Returns
    -------
    Layout

    Raises
    ------
    ShapeError
        CYC401, CYC402 if a number is none of at least 0.

    Examples
    --------
    >>> print(cy.fabric.place(cy.fabric.rect(2, 3), 4, 1).region)
    4 <= row <= 5 and 1 <= column <= 3
    """
    integer("row", row, 0, MOST), integer("column", column, 0, MOST)
    shape = layout.shape[0] + row, layout.shape[1] + column
    return layout._moved(lambda region: region.shift(row, column), shape)


def union(*layouts: Layout) -> Layout:
    """Return the layouts on top of each other: of a property of a PE the value in the last one counts.

    Parameters
    ----------
    *layouts : Layout
        At least one.

    Returns
    -------
    Layout

    Raises
    ------
    CapacityError
        CYC509 if they have more than 24 colors.

    Examples
    --------
    >>> layout = cy.fabric.union(cy.fabric.rect(2, 2).set(n=1), cy.fabric.rect(1, 2).set(n=2))
    >>> [layout[row, 0].variables["n"] for row in (0, 1)]
    [2, 1]
    """
    rows, columns = zip(*(layout.shape for layout in layouts), strict=True)
    region = reduce(Region.__or__, (layout.region for layout in layouts))
    return Layout((max(rows), max(columns)), region, _joined(p for one in layouts for p in one.paints))


def _joined(paints: Iterable[Paint]) -> tuple[Paint, ...]:
    """The paints, those of equal values as one where no other is between them at any PE."""
    result: list[Paint] = []
    for paint in paints:
        for n, other in reversed(list(enumerate(result))):
            if other.subject == paint.subject and other.value == paint.value:
                result[n] = Paint(other.region | paint.region, paint.value)
                break
            if other.subject == paint.subject and other.region & paint.region:
                result.append(paint)
                break
        else:
            result.append(paint)
    return tuple(result)


def vstack(*layouts: Layout, gap: int = 0) -> Layout:
    """Return layouts one below the other.

    Parameters
    ----------
    *layouts : Layout
        The first one on top.
    gap : int
        Rows between two of them that are left free.

    Returns
    -------
    Layout

    Raises
    ------
    CapacityError
        CYC509 if they have more than 24 colors.
    ShapeError
        CYC401, CYC402 if the gap is no number of at least 0.

    Examples
    --------
    >>> half = cy.fabric.rect(2, 3)
    >>> cy.fabric.vstack(half, half, gap=1).shape
    (5, 3)
    """
    return _stack(layouts, gap, 0)


def hstack(*layouts: Layout, gap: int = 0) -> Layout:
    """Return layouts side by side.

    Parameters
    ----------
    *layouts : Layout
        From left to right.
    gap : int
        Columns between two of them that are left free.

    Returns
    -------
    Layout

    Raises
    ------
    CapacityError
        CYC509 if they have more than 24 colors.
    ShapeError
        CYC401, CYC402 if the gap is no number of at least 0.

    Examples
    --------
    >>> half = cy.fabric.rect(2, 3)
    >>> cy.fabric.hstack(half, half, gap=1).shape
    (2, 7)
    """
    return _stack(layouts, gap, 1)


def _stack(layouts: Sequence[Layout], gap: int, axis: int) -> Layout:
    placed, start = [], 0
    for layout in layouts:
        placed.append(place(layout, *((start, 0) if axis == 0 else (0, start))))
        start += layout.shape[axis] + integer("gap", gap, 0, MOST)
    return union(*placed)


def _extents(rows: int, columns: int) -> tuple[int, int]:
    return integer("rows", rows, 1, MOST), integer("columns", columns, 1, MOST)
