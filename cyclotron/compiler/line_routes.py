"""Routes of broadcasts along the rows or columns of a fabric, for all senders of a class at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from cyclotron.machine.region import Constraint, Pieces, Region, at_least, is_empty, join, simplify

_Form = tuple[list[int], int]
_Bound = tuple[_Form, int]
"""A form and its divisor, at least 1."""

# The variables of all constraints here: row and column of a router, and the sender's coordinate on its line.
_SENDER = 2


def lifted(form: Sequence[int], rank: int) -> _Form:
    """Return a form of a program file, of coordinates only, over row and column.

    Parameters
    ----------
    form : sequence of int
        The constant, then the factors.
    rank : int
        Of the grid, 1 or 2; a grid of rank 1 is a row.
    """
    factors = [*form[1 : 1 + rank], *[0] * (1 + rank - len(form))]
    return [0] * (2 - rank) + factors, form[0]


def line_ways(axis: int) -> list[tuple[str, str]]:
    """Return the ways through routers that a message takes along a row (axis 1) or a column (axis 0)."""
    before, after = _sides(axis)
    return [
        *(("C", go) for go in (before + after, before, after)),
        *((before, go) for go in ("C" + after, after, "C")),
        *((after, go) for go in ("C" + before, before, "C")),
    ]


def _sides(axis: int) -> tuple[str, str]:
    return ("L", "R") if axis == 1 else ("U", "D")


@dataclass(frozen=True)
class Span:
    """Senders of a class, and the receivers of each: those within bounds, the sender excepted.

    Attributes
    ----------
    axis : int
        Of the line on which they are.
    pieces : list of lists
        Routers on the sender's line, of any coordinate along it, with the sender's in the class.
    lower, upper : list of (form, int)
        Bounds of receivers, those of the grid among them.
    """

    axis: int
    pieces: Pieces
    lower: list[_Bound]
    upper: list[_Bound]

    @classmethod
    def of(
        cls, axis: int, extents: Sequence[int], senders: Pieces, lower: list[_Bound], upper: list[_Bound]
    ) -> Span:
        """Return the span of forms over row and column.

        Parameters
        ----------
        axis : int
        extents : sequence of int
            Rows and columns of the grid.
        senders : list of lists
        lower, upper : list of (form, int)
            Bounds and their divisors.
        """

        def by_sender(form: Sequence[int]) -> list[int]:
            return [*(0 if d == axis else c for d, c in enumerate(form)), form[axis]]

        grid = Region.box((0, extents[0]), (0, extents[1])).lists[0]
        box: list[Constraint] = [(([*form, 0], k), relation) for (form, k), relation in grid]
        pieces = [
            [*box, *(((by_sender(form), k), relation) for (form, k), relation in piece)] for piece in senders
        ]
        low, high = (
            [((by_sender(form), k), divisor) for (form, k), divisor in bounds] for bounds in (lower, upper)
        )
        none = [0] * 3
        return cls(axis, pieces, [*low, ((none, 0), 1)], [*high, ((none, extents[axis] - 1), 1)])

    def where(self, way: tuple[str, str]) -> Pieces:
        """Return where messages take a way through routers.

        Parameters
        ----------
        way : tuple of (str, str)
            Of `line_ways`.
        """
        (come, go), x = way, self.axis
        before, after = _sides(x)
        if come == "C":
            place = _difference(_SENDER, x, 0, equal=True)
        else:
            place = _difference(_SENDER, x, 1) if come == before else _difference(x, _SENDER, 1)
        result = join(self.pieces, [[place]])
        if come != before:
            result = join(result, self.beyond(-1, some=before in go))
        if come != after:
            result = join(result, self.beyond(1, some=after in go))
        if come == "C":
            return result
        return join(result, [self.within()] if "C" in go else self.outside())

    def shares_receivers(self, other: Span) -> bool:
        """Return whether a sender of both sends to a PE by both.

        Parameters
        ----------
        other : Span
            Of the same line direction.
        """
        both = [self.within() + other.within()]
        return not is_empty(join(join(self.pieces, other.pieces), both))

    def within(self) -> list[Constraint]:
        """Return that a router is within the bounds of receivers."""
        return [self.bound(b, 1) for b in self.lower] + [self.bound(b, -1) for b in self.upper]

    def outside(self) -> Pieces:
        """Return the routers that are out of a bound."""
        return [[_not(self.bound(b, 1))] for b in self.lower] + [
            [_not(self.bound(b, -1))] for b in self.upper
        ]

    def beyond(self, step: int, *, some: bool) -> Pieces:
        """Return the routers that have some receiver after them (step 1) or before them (-1), or none."""
        ends = [self.bound(b, -step, step) for b in (self.upper if step > 0 else self.lower)]
        return [ends] if some else [[_not(end)] for end in ends]

    def bound(self, bound: _Bound, sign: int, step: int = 0) -> Constraint:
        """Return that a router's coordinate, plus a step, is at least a bound, or with sign -1 at most."""
        (form, constant), divisor = bound
        factors = [sign * (divisor * int(n == self.axis) - c) for n, c in enumerate(form)]
        return at_least(factors, sign * (divisor * step - constant))


def routers_of(spans: list[Span], way: tuple[str, str], modulus: int, remainder: int) -> Pieces:
    """Return the routers with a way of messages from senders of which a number leaves that remainder.

    Parameters
    ----------
    spans : list of Span
        Of one line direction.
    way : tuple of (str, str)
        Of `line_ways`.
    modulus, remainder : int
        Of the sender's coordinate on its line.
    """
    own: list[Constraint] = [(([0, 0, 1], -remainder), modulus)] if modulus > 1 else []
    return simplify([[*piece, *own] for span in spans for piece in span.where(way)])


def modules(spans: list[Span], most: int) -> int | None:
    """Return the least number such that senders of a line that are a multiple of it apart share no router.

    Parameters
    ----------
    spans : list of Span
        Of one line direction.
    most : int
        None is returned where it is larger.
    """
    pieces = [
        piece
        for span in spans
        for way in line_ways(span.axis)
        for piece in span.where(way)
        if not is_empty([piece])
    ]
    two: Pieces = [
        [
            *((([*c, 0], k), relation) for (c, k), relation in one),
            *((([c[0], c[1], 0, c[2]], k), relation) for (c, k), relation in other),
            at_least((0, 0, -1, 1), -1),
        ]
        for one, other in product(pieces, pieces)
    ]
    if is_empty(two):
        return 1
    multiples = (m for m in range(2, most + 1) if is_empty(join(two, [[(((0, 0, -1, 1), 0), m)]])))
    return next(multiples, None)


def _difference(less: int, more: int, least: int, *, equal: bool = False) -> Constraint:
    """Variable `more` is greater than variable `less` by so much at least, or exactly."""
    return (([int(n == more) - int(n == less) for n in range(3)], -least), "==" if equal else ">=")


def _not(constraint: Constraint) -> Constraint:
    (form, constant), _ = constraint
    return at_least([-c for c in form], -constant - 1)
