"""Sets of PEs of a fabric, as constraints on their row and column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cyclotron import _core
from cyclotron.support.errors import ProgramError

Constraint = tuple[tuple[Sequence[int], int], str | int]
"""A form, its coefficients and its constant, and ">=" 0, "==" 0, or the number that it is a multiple of."""
Pieces = Sequence[Sequence[Constraint]]
"""Any of (all of (constraint)), as the core's questions have it."""


def at_least(form: Sequence[int], constant: int) -> Constraint:
    """Return the constraint that a form, plus a constant, is not negative."""
    return ((form, constant), ">=")


def meet(*regions: Pieces) -> Pieces:
    """Return the points that are in all regions, of as many variables each; pieces without any are left out.

    Parameters
    ----------
    *regions : list of lists
        At least one.
    """
    result: Pieces = regions[0]
    for region in regions[1:]:
        result = [piece for piece in join(result, region) if not is_empty([piece])]
    return result


def join(one: Pieces, other: Pieces) -> Pieces:
    """Return the pieces of `meet`, those without points too."""
    return [[*a, *b] for a in one for b in other]


def is_empty(region: Pieces) -> bool:
    """Return whether no point is in a region."""
    return all(_core.is_empty(_variables(piece), [piece]) for piece in region)


def shift(region: Pieces, by: Sequence[int]) -> Pieces:
    """Return a region's points moved by so much along each variable."""
    return [
        [
            ((form, constant - sum(c * d for c, d in zip(form, by, strict=True))), relation)
            for (form, constant), relation in piece
        ]
        for piece in region
    ]


def simplify(region: Pieces, keep: Sequence[int] = (0, 1)) -> Pieces:
    """Return the projection on some variables, in few pieces.

    Parameters
    ----------
    region : list of lists
    keep : sequence of int, optional
        The variables.

    Raises
    ------
    ProgramError
        CYC510 if a projection is no union of conjunctions, as that of ``x <= 2 s <= y`` on x and y.
    """
    pieces = [piece for piece in region if not is_empty([piece])]
    if not pieces:
        return []
    found = _core.project(_variables(pieces[0]), pieces, list(keep))
    if _variables(pieces[0]) > len(keep):
        if found is None:
            raise ProgramError(
                "routers of a broadcast are no region of affine bounds",
                code="CYC510",
                help='stream the tensor: `.stream("A", along=...)`',
            )
        return [list(piece) for piece in found]
    if found is not None and len(found) <= len(pieces):
        pieces = [list(piece) for piece in found]
    return (_box(pieces) if len(pieces) > 1 and list(keep) == [0, 1] else None) or pieces


def _box(pieces: Pieces) -> Pieces | None:
    """The rectangle that pieces fill together; None where they do not."""
    bounds = [_core.bounds(2, pieces, d) for d in (0, 1)]
    (top, bottom), (left, right) = (ends or (0, 0) for ends in bounds)
    index = [([1, 0], -top), ([0, 1], -left)]
    free = _core.unassigned([bottom - top + 1, right - left + 1], [(index, [piece], 2) for piece in pieces])
    return None if free != [] else [_sides(top, bottom + 1, left, right + 1)]


def _sides(top: int, bottom: int, left: int, right: int) -> list[Constraint]:
    rows = [at_least((1, 0), -top), at_least((-1, 0), bottom - 1)]
    return [*rows, at_least((0, 1), -left), at_least((0, -1), right - 1)]


def _variables(piece: Sequence[Constraint]) -> int:
    return len(piece[0][0][0]) if piece else 2


@dataclass(frozen=True)
class Region:
    """A set of PEs; prints as conditions on their coordinates.

    Attributes
    ----------
    pieces : tuple of tuples
        Any of (all of (constraint)): ``((coefficients, constant), relation)``, the relation ``">="`` 0,
        ``"=="`` 0, or a number that the form is a multiple of.
    names : tuple of (str, str)
        Of the coordinates; a row without a name is the only one.

    Examples
    --------
    >>> from cyclotron.machine.region import Region
    >>> region = Region.box((0, 2), (1, 5)) | Region.box((2, 4), (1, 5))
    >>> print(region)
    0 <= row <= 3 and 1 <= column <= 4
    >>> (3, 4) in region, (3, 0) in region
    (True, False)
    """

    pieces: tuple[tuple[Constraint, ...], ...]
    names: tuple[str, str] = field(default=("row", "column"), compare=False)

    @classmethod
    def of(cls, pieces: Pieces, names: tuple[str, str] = ("row", "column")) -> Region:
        """Return the region of constraints, in as few pieces as are found.

        Parameters
        ----------
        pieces : list of lists
        names : tuple of (str, str), optional
        """
        simple = simplify(pieces)
        return cls(
            tuple(tuple(((tuple(c), k), relation) for (c, k), relation in piece) for piece in simple), names
        )

    @classmethod
    def box(cls, rows: tuple[int, int], columns: tuple[int, int]) -> Region:
        """Return a rectangle.

        Parameters
        ----------
        rows, columns : tuple of (int, int)
            The first one, and the one after the last.
        """
        return cls.of([_sides(*rows, *columns)])

    @property
    def lists(self) -> list[list[Constraint]]:
        """The pieces as lists."""
        return [list(piece) for piece in self.pieces]

    def shift(self, rows: int, columns: int) -> Region:
        """Return the region moved down and right.

        Parameters
        ----------
        rows, columns : int
        """
        return Region.of(shift(self.lists, (rows, columns)), self.names)

    def __or__(self, other: Region) -> Region:
        return Region.of(self.lists + other.lists, self.names)

    def __and__(self, other: Region) -> Region:
        return Region.of(meet(self.lists, other.lists), self.names)

    def __bool__(self) -> bool:
        return bool(self.pieces)

    def __contains__(self, pe: tuple[int, int]) -> bool:
        return any(all(_holds(constraint, pe) for constraint in piece) for piece in self.pieces)

    def __str__(self) -> str:
        texts = [" and ".join(_texts(piece, self.names)) or "everywhere" for piece in self.pieces]
        return " or ".join(f"({text})" if len(texts) > 1 else text for text in texts) or "nowhere"


def _holds(constraint: Constraint, pe: tuple[int, int]) -> bool:
    (form, constant), relation = constraint
    value = sum(c * x for c, x in zip(form, pe, strict=True)) + constant
    if relation == ">=":
        return value >= 0
    return value == 0 if relation == "==" else value % int(relation) == 0


def _texts(piece: Iterable[Constraint], names: tuple[str, str]) -> list[str]:
    """The constraints of a piece, the two bounds of a coordinate in one text."""
    row, column = (name if name.isidentifier() or not name else f"({name})" for name in names)
    names = row, column
    bounds: list[list[int | None]] = [[None, None] for _ in names]
    others = []
    for (form, constant), relation in piece:
        used = [d for d, c in enumerate(form) if c and names[d]]
        if not used:
            continue
        d = used[0]
        if len(used) == 1 and abs(form[d]) == 1 and isinstance(relation, str):
            value = -constant * form[d]
            low, high = bounds[d]
            if relation == "==" or form[d] > 0:
                bounds[d][0] = value if low is None else max(low, value)
            if relation == "==" or form[d] < 0:
                bounds[d][1] = value if high is None else min(high, value)
            continue
        sign = -1 if form[d] < 0 else 1
        text = _sum([sign * c for c in form], names)
        if isinstance(relation, int):
            text = f"({text})" if len(used) > 1 else text
            others.append(f"{text} mod {relation} = {-sign * constant % relation}")
        else:
            symbol = "=" if relation == "==" else ">=" if sign > 0 else "<="
            others.append(f"{text} {symbol} {-sign * constant}")
    found = []
    for name, (low, high) in zip(names, bounds, strict=True):
        if low is not None and low == high:
            found.append(f"{name} = {low}")
        elif low is not None or high is not None:
            lower, upper = ("" if low is None else f"{low} <= "), ("" if high is None else f" <= {high}")
            found.append(lower + name + upper)
    return found + others


def _sum(form: Sequence[int], names: tuple[str, str]) -> str:
    text = ""
    for c, name in zip(form, names, strict=True):
        if c and name:
            sign = (" - " if c < 0 else " + ") if text else ("-" if c < 0 else "")
            text += sign + (name if abs(c) == 1 else f"{abs(c)} {name}")
    return text
