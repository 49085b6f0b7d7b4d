"""Channels of a program as colors of a wafer's fabric: routes by region (MACH, section 6.2)."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from cyclotron import _core
from cyclotron.compiler.generators import decoded, pieces_of
from cyclotron.compiler.line_routes import Span, lifted, line_ways, modules, routers_of
from cyclotron.machine.fabric import MOST_STATES, SIDES, Code, Color, Layout, Paint, Route
from cyclotron.machine.region import Constraint, Pieces, Region, is_empty, join, meet, shift, simplify
from cyclotron.support.errors import CapacityError, ProgramError
from cyclotron.support.files import write_file
from cyclotron.support.tables import Row, Table

_Place = tuple[int, int]
_States = tuple[tuple[str, str], ...]
_SUM = (1, 1)  # a form: even or odd as on a checkerboard
_OPPOSITE = dict(zip("LRUD", "RLDU", strict=True))
_STREAM = 'stream the tensor, `.stream("A", along=...)`, or let messages have headers: `messages=True`'
_MOST_NOTES = 8
_LONGEST = 60  # of names in a table
_MESH = "compile it for a machine with a mesh, or let messages have headers: `routes(messages=True)`"
_BUS = ("calls", "arguments")  # what the controller sends to all PEs (MA-019)


@dataclass(frozen=True)
class Way:
    """A color's routers for messages of some channels; those of other ways of the color are other PEs.

    Attributes
    ----------
    channels : tuple of str
        Names, as in `Program.channels`; ``calls``, ``arguments`` and ``flag`` are the controller's.
    numbers : tuple of int
        Their places there.
    senders, receivers : Region
        Messages on these channels from one to the other PEs have this color. The controller's row is above
        the PE in the middle: ``calls`` and ``arguments`` come from there, a ``flag`` goes there.
    advances : bool
        Whether an advance wavelet follows each message: routers go to their next state as it passes.
    routers : tuple of (Region, Route)
        A router in no region has no route of this way.
    """

    channels: tuple[str, ...]
    numbers: tuple[int, ...]
    senders: Region
    receivers: Region
    advances: bool
    routers: tuple[tuple[Region, Route], ...]


@dataclass(frozen=True)
class Messages:
    """A channel of which each message has a header (`fabric.Header`), and so no route of its own.

    After the header comes a tag, the number and the sender: ``number << 22 | row << 11 | column``. A receiver
    takes what comes, puts it into a queue for each number and sender, and, when its program has taken the
    message from there, sends a tag back, of the number and its own place, with bit 31 set. A sender has
    `room` messages without such an answer to each receiver at most: so the network always empties itself.

    Attributes
    ----------
    channel : str
        Its name, as in `Program.channels`.
    number : int
        Its place there.
    words : int
        Of 32 bits, of its longest message, the tag among them, the header not.
    room : int
        Messages in a queue.
    """

    channel: str
    number: int
    words: int
    room: int


@dataclass(frozen=True, repr=False)
class Routes(Table):
    """The colors of a program's channels, with the routers' states by region: a table, and a picture.

    Messages keep their order on the way, and none comes to a router in a state of another's: each runs over
    links of the fabric that only its color's senders use.

    Attributes
    ----------
    kernel_name : str
        Of the program.
    colors : tuple of (Color, tuple of Way)
        In the order in which they were given out.
    available : int
        Colors that there are.
    layout : Layout
        The grid, painted with them and with the code of each PE class.
    messages : tuple of Messages
        Channels whose messages have headers; they have one color more, the last one.
    """

    kernel_name: str
    colors: tuple[tuple[Color, tuple[Way, ...]], ...]
    available: int
    layout: Layout
    messages: tuple[Messages, ...] = ()

    @classmethod
    def of(cls, program: _core.Program, colors: int, messages: bool) -> Routes:
        """Return those of a program; see `cyclotron.Program.routes`.

        Parameters
        ----------
        program : _core.Program
            Compiled or loaded.
        colors : int
            That there are.
        messages : bool
            Whether messages may have headers.
        """
        return _Allocation(program, colors, messages).run()

    @property
    def used(self) -> int:
        """The number of colors, that of messages with headers among them."""
        return len(self.colors) + bool(self.messages)

    @property
    def caption(self) -> str:
        """The title of the table, in a line."""
        fixed = {name for _, ways in self.colors for way in ways for name in way.channels}
        n = len(fixed) + len(self.messages)
        return f"{self.kernel_name}: {n} channel{'s' * (n != 1)} on {self.used} of {self.available} colors"

    def _table(self) -> tuple[Row, list[list[str]]]:
        rows = []
        for color, ways in self.colors:
            for way in ways:
                text = ", ".join(way.channels)
                text = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
                head = [color.name, text, "each" if way.advances else ""]
                for region, route in way.routers:
                    rows.append([*head, str(route), str(region)])
                    head = ["", "", ""]
        rows += [
            [f"c{len(self.colors)}", one.channel, "", "by header", "everywhere"] for one in self.messages
        ]
        return ("color", "channels", "advances", "route", "where"), rows

    def to_dict(self) -> dict[str, Any]:
        """Return them as plain data, for generators of code.

        Returns
        -------
        dict
            Of lists, texts and numbers, regions as in `Program.decoded`. ``colors`` holds a list of ways for
            each color, ``messages`` the fields of `Messages`.
        """
        rank = 2 if self.layout.region.names[0] else 1

        def conditions(region: Region) -> list[list[dict[str, Any]]]:
            kinds = {">=": "non_negative", "==": "zero"}
            return [
                [
                    {
                        "is": kinds.get(str(relation), "divisible"),
                        "form": [constant, *form[2 - rank :]],
                        "modulus": relation if isinstance(relation, int) else 0,
                    }
                    for (form, constant), relation in piece
                    if any(form[2 - rank :])
                ]
                for piece in region.pieces
            ]

        def way_data(way: Way) -> dict[str, Any]:
            routers = [
                {"region": conditions(region), "states": [list(s) for s in route.states], "ring": route.ring}
                for region, route in way.routers
            ]
            return {
                "channels": list(way.numbers),
                "names": list(way.channels),
                "senders": conditions(way.senders),
                "receivers": conditions(way.receivers),
                "advances": way.advances,
                "routers": routers,
            }

        colors = [
            {"name": color.name, "ways": [way_data(way) for way in ways]} for color, ways in self.colors
        ]
        return {"kernel": self.kernel_name, "colors": colors, "messages": [*map(vars, self.messages)]}

    def save(self, path: str | Path) -> None:
        """Write `to_dict` as JSON, or the picture of `layout` as SVG.

        Parameters
        ----------
        path : str or Path
            ``*.svg`` for the picture.
        """
        if Path(path).suffix == ".svg":
            self.layout.save(path)
        else:
            write_file(path, json.dumps(self.to_dict(), indent=1))

    def _repr_html_(self) -> str:
        return self.layout._repr_html_() + super()._repr_html_()


@dataclass
class _Way:
    """A way before it has a color."""

    names: list[str]
    channels: list[int]
    senders: Pieces
    routers: list[tuple[Pieces, _States]]
    advances: bool = False

    def receivers(self) -> Pieces:
        takes = [any(come != "C" and "C" in go for come, go in states) for _, states in self.routers]
        return [piece for (region, _), ok in zip(self.routers, takes, strict=True) if ok for piece in region]

    def cover(self) -> Pieces:
        return simplify([piece for region, _ in self.routers for piece in region])


class _Allocation:
    """Gives the channels of a program colors: routes that stay where these suffice, else ones in turn."""

    def __init__(self, program: _core.Program, colors: int, messages: bool) -> None:
        self.program, self.colors, self.messages = program, colors, messages
        self.file = decoded(program)
        self.rank = len(program.grid)
        self.channels: list[dict[str, Any]] = self.file["channels"]
        if self.rank > 2:
            self.refuse(
                f"its grid has {self.rank} dimensions", "map two indices to space, the others to time"
            )
        self.extents = [1] * (2 - self.rank) + list(program.grid)
        self.regions = [pieces_of(one["region"], self.rank, 2) for one in self.file["classes"]]
        row, column = [""] * (2 - self.rank) + list(program.grid_names)
        self.names = row, column
        topology = self.file["machine"]["topology"]
        kinds = topology if isinstance(topology, list) else [topology] * self.rank
        field = program.grid[0] - any(one.get("executive") for one in self.file["classes"]), *program.grid[1:]
        rings = [n * (kind in ("torus", "ring")) for n, kind in zip(field, kinds, strict=True)]
        self.rings_of_workers = [0] * (2 - self.rank) + rings

    def refuse(self, reason: str, help: str) -> None:
        raise ProgramError(
            f"`{self.program.kernel}` has no routes on a wafer: {reason}", code="CYC510", help=help
        )

    def run(self) -> Routes:
        fixed = {
            number: ways for number in range(len(self.channels)) if (ways := self.fixed(number)) is not None
        }
        control = [*map(self.bus, _BUS), *self.flags()] if self.has_controller else []
        while True:
            given = self.assign([*control, *(way for ways in fixed.values() for way in ways)])
            room = self.colors - (len(fixed) < len(self.channels))
            if len(given) > room:
                given = min(given, self.assign([*control, *self.in_turn(fixed)]), key=len)
            if len(given) <= room:
                return self.result(given, [n for n in range(len(self.channels)) if n not in fixed])
            if not self.messages or not fixed:
                counts = Counter("`, `".join(way.names) for ways in given for way in ways)
                self.too_many(counts, len(given))
            del fixed[max(fixed, key=lambda number: len(fixed[number]))]

    def fixed(self, channel: int) -> list[_Way] | None:
        """The ways of a channel; None where its messages have headers, since it has none."""
        try:
            return self.ways_of(channel)
        except (CapacityError, ProgramError):
            if not self.messages:
                raise
            return None

    @property
    def has_controller(self) -> bool:
        """MA-127: programs without ends by data have no colors for control."""
        return bool(self.program.endings) and self.program.machine.control is not None

    def classes_that(self, does: str, channel: int) -> Iterator[int]:
        for number, one in enumerate(self.file["classes"]):
            if any(step["do"] == does and step["channel"] == channel for step in one["code"]):
                yield number

    def ways_of(self, channel: int) -> list[_Way]:
        one = self.channels[channel]
        if one["kind"] != "link" and one["axis"] == self.rank:  # the executive's, to all PEs
            return [replace(self.bus(one["name"]), channels=[channel])]
        return (self.links if one["kind"] == "link" else self.broadcasts)(channel)

    # Links: a way of straight parts, along the row first (MA-132).

    def links(self, channel: int) -> list[_Way]:
        offset, senders = self.offset(channel), self.senders(channel)
        path = list(_path(offset))
        apart = {(a[0] - b[0], a[1] - b[1]) for (a, _), (b, _) in product(path, path)} - {(0, 0)}
        apart = {d for d in apart if not is_empty(meet(senders, shift(senders, d)))}
        form, modulus = next(
            (form, modulus)
            for modulus in range(1, len(path) ** 2 + 2)
            for form in product(range(modulus), repeat=2)
            if all((form[0] * d[0] + form[1] * d[1]) % modulus for d in apart)
        )
        return [
            self.way(channel, own, [(shift(own, at), (states,)) for at, states in path])
            for remainder in range(modulus)
            if (own := meet(senders, [[((form, -remainder), modulus)] if modulus > 1 else []]))
        ]

    def around(self, one: dict[str, Any]) -> list[int]:
        """After how many PEs a channel's links are back along each dimension; 0 where they are never.

        Those to the executive's row are not.
        """
        return [0, 0] if "link" in one else self.rings_of_workers

    def offset(self, channel: int) -> _Place:
        """From sender to receiver, the short way round where the machine's links wrap around."""
        one = self.channels[channel]
        if any(scale != 1 for scale in one.get("scale", [])):
            self.refuse(f"links of `{one['name']}` are as long as their place tells", _MESH)
        steps = zip([0] * (2 - self.rank) + one["offset"], self.around(one), strict=True)
        row, column = ((x + (n - 1) // 2) % n - (n - 1) // 2 if n else x for x, n in steps)
        return row, column

    def senders(self, channel: int) -> Pieces:
        """The PEs that send to one that receives; a wafer's rows and columns have ends."""
        to = [piece for number in self.classes_that("receive", channel) for piece in self.regions[number]]
        own = [piece for number in self.classes_that("send", channel) for piece in self.regions[number]]
        offset = self.offset(channel)
        steps = zip(offset, self.around(self.channels[channel]), strict=True)
        ways = product(*((x, x - n, x + n) if n and x else (x,) for x, n in steps))
        for row, column in ways:
            if (row, column) != offset and meet(own, shift(to, (-row, -column))):
                name = self.channels[channel]["name"]
                self.refuse(f"`{name}` goes from one end of a row or a column to the other", _MESH)
        return simplify(meet(own, shift(to, [-x for x in offset])))

    def way(self, channel: int, senders: Pieces, routers: list[tuple[Pieces, _States]]) -> _Way:
        return _Way([self.channels[channel]["name"]], [channel], senders, routers)

    # Broadcasts: along a line, to both sides of the sender.

    def broadcasts(self, channel: int) -> list[_Way]:
        axis = self.channels[channel]["axis"] + 2 - self.rank
        groups = self.spans(channel, axis)
        extent = self.extents[axis]
        result = []
        for spans in groups:
            # With several groups a line has one sender of each: it and a receiver tell the way.
            rest = extent if len(groups) > 1 else modules(spans, min(self.colors, extent)) or extent
            if rest > self.colors:
                self.too_many({self.channels[channel]["name"]: rest}, rest, _STREAM)
            for remainder in range(rest):
                routers: list[tuple[Pieces, _States]] = [
                    (routers_of(spans, way, rest, remainder), (way,)) for way in line_ways(axis)
                ]
                routers = [(region, states) for region, states in routers if region]
                senders = [piece for region, ((come, _),) in routers if come == "C" for piece in region]
                if routers:
                    result.append(self.way(channel, senders, routers))
        return result

    def spans(self, channel: int, axis: int) -> list[list[Span]]:
        """The receivers of each class's broadcasts; in a group one set a class, in the next another one."""
        groups: list[list[Span]] = []
        for number in self.classes_that("broadcast", channel):
            found: list[Span] = []
            for step in self.file["classes"][number]["code"]:
                if step["do"] != "broadcast" or step["channel"] != channel:
                    continue
                ends = step["lower"], step["upper"]
                bounds = [[(lifted(b["form"], self.rank), b["divisor"]) for b in one] for one in ends]
                span = Span.of(axis, self.extents, self.regions[number], *bounds)
                if span in found:
                    continue
                depends = any(any(b["form"][1 + self.rank :]) for one in ends for b in one)
                if depends or any(span.shares_receivers(other) for other in found):
                    self.refuse(
                        f"receivers of `{self.channels[channel]['name']}` change from message to message",
                        _STREAM,
                    )
                found.append(span)
            groups += [[] for _ in found[len(groups) :]]
            for group, span in zip(groups, found, strict=False):
                group.append(span)
        return groups

    # The controller's row is above the PE in the middle, the executive to the right of that.

    @property
    def middle(self) -> _Place:
        row, column = [0] * (2 - self.rank) + list(self.program.control_place)
        return row, column

    def bus(self, name: str) -> _Way:
        """From above the PE in the middle along its row, then by columns (Fig. 2b)."""
        (rows, columns), (row, column) = self.extents, self.middle
        routers: list[tuple[Pieces, _States]] = []

        def add(top: int, bottom: int, left: int, right: int, come: str, go: str) -> None:
            if top < bottom and left < right:
                routers.append((Region.box((top, bottom), (left, right)).lists, ((come, "C" + go),)))

        up, down = "U" * (row > 0), "D" * (row < rows - 1)
        add(row, row + 1, column, column + 1, "U", "L" * (column > 0) + "R" * (column < columns - 1) + down)
        add(row, row + 1, 1, column, "R", "L" + up + down)
        add(row, row + 1, 0, min(column, 1), "R", up + down)
        add(row, row + 1, column + 1, columns - 1, "L", "R" + up + down)
        add(row, row + 1, max(column + 1, columns - 1), columns, "L", up + down)
        add(1, row, 0, columns, "D", "U")
        add(0, min(row, 1), 0, columns, "D", "")
        add(row + 1, rows - 1, 0, columns, "U", "D")
        add(max(row + 1, rows - 1), rows, 0, columns, "U", "")
        return _Way([name], [], _pe(row, column), routers)

    def flags(self) -> Iterator[_Way]:
        """From the nearest PE of each loop that ends by data into the executive, or past the last column."""
        column = min(self.middle[1] + 1, self.extents[1] - 1)
        for start in dict.fromkeys(self.nearest(ending) for ending in range(len(self.program.endings))):
            below = start[0] >= self.middle[0]
            end = (self.middle[0] - (1 if below else 0)) - start[0], column - start[1]
            *path, _ = _path(end)
            routers: list[tuple[Pieces, _States]] = [
                (_pe(start[0] + at[0], start[1] + at[1]), (way,)) for at, way in path
            ]
            yield _Way(["flag"], [], _pe(*start), routers)

    def nearest(self, ending: int) -> _Place:
        """The PE that tells the executive whether a loop goes on."""
        regions = [
            Region(tuple(map(tuple, region)))
            for region, one in zip(self.regions, self.file["classes"], strict=True)
            if any(step["do"] == "exit" and step["ending"] == ending for step in one["code"])
        ]
        row, column = self.middle
        return next(
            pe
            for hops in range(sum(self.extents))
            for up in range(-hops, hops + 1)
            for pe in ((row + up, column - hops + abs(up)), (row + up, column + hops - abs(up)))
            if any(pe in region for region in regions)
        )

    # Routes in turn (MA-123, MA-124): four channels to neighbours on two colors, by the sender's parity.

    def in_turn(self, fixed: dict[int, list[_Way]]) -> list[_Way]:
        groups: list[dict[str, int]] = []  # channels by their side
        others: list[_Way] = []
        for channel, ways in fixed.items():
            offset = self.offset(channel) if self.channels[channel]["kind"] == "link" else None
            side = next((name for name, place in SIDES.items() if place == offset), "")
            if side in ("", "C"):
                others += ways
                continue
            for group in groups:
                if side not in group and self.rings(group | {side: channel}) is not None:
                    group[side] = channel
                    break
            else:
                groups.append({side: channel})
        for group in groups:
            parts = self.parts(group) if len(group) > 1 else []
            own = [way for channel in group.values() for way in fixed[channel]]
            others += parts if 0 < len(parts) < len(own) else own
        return others

    def rings(self, group: dict[str, int]) -> dict[str, list[tuple[int, ...]]] | None:
        """For senders and receivers of each class the channels in the order of their states; None without."""
        found: dict[str, list[tuple[int, ...]]] = {}
        for does in ("send", "receive"):
            rings = [_ring(one["code"], does, set(group.values())) for one in self.file["classes"]]
            if any(ring is None or len(ring) > MOST_STATES for ring in rings):
                return None
            found[does] = [ring for ring in rings if ring is not None]
        return found

    def parts(self, group: dict[str, int]) -> list[_Way]:
        rings, side_of = self.rings(group) or {}, {channel: side for side, channel in group.items()}
        result = []
        for parity in (0, 1):
            routers: list[tuple[Pieces, _States]] = []
            for does, odd in (("send", parity), ("receive", 1 - parity)):
                ways: dict[_States, list[Sequence[Constraint]]] = {}
                for region, ring in zip(self.regions, rings[does], strict=True):
                    sides = [side_of[channel] for channel in ring]
                    states = tuple(("C", s) if does == "send" else (_OPPOSITE[s], "C") for s in sides)
                    own = meet(region, [[((_SUM, -odd), 2)]])
                    if states and own:
                        ways.setdefault(states, []).extend(own)
                routers += [(simplify(region), states) for states, region in ways.items()]
            names = [self.channels[channel]["name"] for channel in group.values()]
            senders = [piece for region, states in routers if states[0][0] == "C" for piece in region]
            if senders:
                result.append(_Way(names, list(group.values()), senders, routers, advances=True))
        return result

    # Colors: the first one of which no way has a router in common.

    def assign(self, ways: Iterable[_Way]) -> list[list[_Way]]:
        colors: list[list[tuple[_Way, Pieces]]] = []
        for way in ways:
            cover = way.cover()
            free = (color for color in colors if all(is_empty(join(cover, other)) for _, other in color))
            color = next(free, None)
            if color is None:
                colors.append(color := [])
            color.append((way, cover))
        return [[way for way, _ in color] for color in colors]

    def too_many(self, counts: dict[str, int], needed: int, help: str = "") -> None:
        listed = sorted(counts.items(), key=lambda pair: -pair[1])
        notes = [f"`{name}`: {n} color{'' if n == 1 else 's'}" for name, n in listed[:_MOST_NOTES]]
        notes += [f"and {len(listed) - _MOST_NOTES} others"] * (len(listed) > _MOST_NOTES)
        raise CapacityError(
            f"the channels of `{self.program.kernel}` need {needed} colors, but there are {self.colors}",
            code="CYC509",
            notes=[(None, text) for text in notes],
            help=help
            or "compile it for fewer channels a PE, so that messages share channels: "
            f"`cy.PE(channels={max(self.colors // 2, 1)})`; or let messages have headers: `messages=True`",
        )

    def result(self, given: list[list[_Way]], by_header: list[int]) -> Routes:
        colors = []
        for number, ways in enumerate(given):
            color = Color(f"c{number}")
            done = tuple(
                Way(
                    tuple(way.names),
                    tuple(way.channels),
                    Region.of(way.senders, self.names),
                    Region.of(way.receivers(), self.names),
                    way.advances,
                    tuple((Region.of(r, self.names), Route(color, s, len(s) > 1)) for r, s in way.routers),
                )
                for way in ways
            )
            colors.append((color, done))
        grid = Region.of(Region.box((0, self.extents[0]), (0, self.extents[1])).lists, self.names)
        classes = zip(self.file["classes"], self.regions, strict=True)
        code = [Paint(Region.of(region, self.names), Code(one["name"])) for one, region in classes]
        routes = [Paint(*router) for _, ways in colors for way in ways for router in way.routers]
        layout = Layout((self.extents[0], self.extents[1]), grid, (*code, *routes))
        messages = tuple(self.message(number) for number in by_header)
        return Routes(self.program.kernel, tuple(colors), self.colors, layout, messages)

    def message(self, channel: int) -> Messages:
        one, machine = self.channels[channel], self.file["machine"]
        words = -(-math.prod(one["tile"]) * np.dtype(one["dtype"]).itemsize // 4)
        link = machine["broadcast" if one["kind"] == "network" else "link"]
        return Messages(one["name"], channel, 1 + words, one["depth"] or link["depth"])


def _pe(row: int, column: int) -> Pieces:
    return Region.box((row, row + 1), (column, column + 1)).lists


def _path(offset: _Place) -> Iterator[tuple[_Place, tuple[str, str]]]:
    """The routers of a way from (0, 0), each with the ports where it comes in and goes out."""
    rows, columns = offset
    sides = ["R" if columns > 0 else "L"] * abs(columns) + ["D" if rows > 0 else "U"] * abs(rows)
    at, come = (0, 0), "C"
    for side in sides:
        yield at, (come, side)
        at, come = (at[0] + SIDES[side][0], at[1] + SIDES[side][1]), _OPPOSITE[side]
    yield at, (come, "C")


def _ring(code: list[dict[str, Any]], does: str, channels: set[int]) -> tuple[int, ...] | None:
    """The channels on which a class sends, or receives, one after the other all the time; None if not so."""
    chosen = [step["do"] == does and step["channel"] in channels for step in code]
    order = tuple(dict.fromkeys(step["channel"] for step, is_one in zip(code, chosen, strict=True) if is_one))
    place, opened = 0, []
    for step, is_one in zip(code, chosen, strict=True):
        if is_one:
            if order[place] != step["channel"]:
                return None
            place = (place + 1) % len(order)
        elif step["do"] in ("loop", "if"):
            opened.append(place)
        elif step["do"] == "end" and opened.pop() != place:
            return None
    return order
