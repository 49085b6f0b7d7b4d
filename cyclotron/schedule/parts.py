"""The parts of a schedule: how a tensor moves, how a grid dimension is folded, and the names in both."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, cast

from cyclotron.support import records
from cyclotron.support.arguments import items_of, shown
from cyclotron.support.errors import CyclotronError, ScheduleError

__all__ = ["Fold", "Indices", "Movement", "MovementKind", "Reassociation", "Reduction", "block", "cyclic"]

Algorithm = Literal["chain", "two_phase", "tree"]
MovementKind = Literal["stream", "broadcast", "prefetch"]
FoldKind = Literal["block", "cyclic"]
KINDS: tuple[MovementKind, ...] = ("stream", "broadcast", "prefetch")
# `i`, `-i`, `i-k`, `2*i + j - 1`; the compiler knows which names there are.
_TERM = r"(\d+\s*\*?\s*[^\W\d]\w*|[^\W\d]\w*|\d+)"
FORM = re.compile(rf"\s*[-+]?\s*{_TERM}(\s*[-+]\s*{_TERM})*\s*")
AXIS = re.compile(r"-?[^\W\d]\w*")

# Of what the compiler counts with.
_MOST = 2**31 - 1

Indices = str | Iterable[str] | None
READER = records.Reader(ScheduleError, "CYC301")


@dataclasses.dataclass(frozen=True, order=True)
class Movement:
    """The way in which one tensor reaches the points that use it.

    Parameters
    ----------
    tensor : str
        Name of the tensor in the kernel.
    kind : {"stream", "broadcast", "prefetch"}
        From neighbour to neighbour, over a broadcast network, or resident before the time loop.
    along : tuple of str
        Space indices to move along, in this order; empty: chosen by the compiler. ``"-j"`` moves towards
        smaller ``j``.
    """

    tensor: str
    kind: MovementKind
    along: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_name("a tensor", self.tensor)
        if self.kind not in KINDS:
            raise unfit(
                f"the movement of `{self.tensor}` is {self.kind!r}", help=f"use one of: {', '.join(KINDS)}"
            )
        object.__setattr__(self, "along", read_indices(f"{self.kind} of `{self.tensor}`", self.along, AXIS))


@dataclasses.dataclass(frozen=True, order=True)
class Fold:
    """The sharing of a grid dimension over fewer PEs; made by `block` and `cyclic`.

    Parameters
    ----------
    kind : {"block", "cyclic"}
        Neighbours together, or dealt out in turn.
    parts : int
        PEs along the dimension, at least 1.

    Examples
    --------
    >>> cy.cyclic(4) == cy.Fold("cyclic", 4)
    True
    """

    kind: FoldKind
    parts: int

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in ("block", "cyclic"):
            raise unfit(f"a fold is {shown(self.kind)}", help="use cy.block or cy.cyclic")
        check_number(f"a fold has {self.parts!r} parts", self.parts, "the number of PEs along the dimension")


@dataclasses.dataclass(frozen=True, order=True)
class Reassociation:
    """A reduction in blocks; made by `Schedule.reassociate`.

    Parameters
    ----------
    index : str
        The reduction's index.
    parts : int
        Blocks at most, at least 1.
    into : str
        The index that numbers the blocks.
    """

    index: str
    parts: int
    into: str

    def __post_init__(self) -> None:
        check_name("the index of a reassociation", self.index)
        check_name(f"the index of the blocks of `{self.index}`", self.into)
        fault = f"`{self.index}` is reassociated into {self.parts!r} parts"
        check_number(fault, self.parts, "the number of blocks")


@dataclasses.dataclass(frozen=True, order=True)
class Reduction:
    """The form of the reductions over an index in space; made by `Schedule.reduce`.

    Parameters
    ----------
    index : str
        The reductions' index.
    algorithm : {"tree", "two_phase"}
        In levels of equal width, or in two.
    radix : int
        Of a tree, how many partial results are joined at a time, at least 2.
    """

    index: str
    algorithm: Algorithm = "tree"
    radix: int = 2

    def __post_init__(self) -> None:
        check_name("the index of a reduction", self.index)
        if not isinstance(self.algorithm, str) or self.algorithm not in ("tree", "two_phase"):
            raise unfit(
                f"the reduction over `{self.index}` is {self.algorithm!r}",
                help='use one of: "chain", "two_phase", "tree"',
            )
        if self.algorithm == "two_phase":
            object.__setattr__(self, "radix", 2)  # it has none; equal ones are equal
        fault = f"the tree over `{self.index}` has radix {self.radix!r}"
        check_number(fault, self.radix, "how many partial results are joined at a time", least=2)

    def __str__(self) -> str:
        how = "two phases" if self.algorithm == "two_phase" else f"a tree of radix {self.radix}"
        return f"reduce {self.index} in {how}"


def read_reductions(table: object) -> tuple[Reduction, ...]:
    """Read the table `reduce` of a file: ``"i": "two_phase"`` or ``"i": {"tree": 4}``."""
    wanted = 'a mapping such as {"i": {"tree": 2}} or {"i": "two_phase"}'
    if not isinstance(table, Mapping):
        raise wrong_type("reduce", table, wanted)
    result: list[Reduction] = []
    for index, entry in table.items():
        if isinstance(entry, Mapping) and set(entry) == {"tree"}:
            result += reductions_by(index, "tree", entry["tree"])
        elif isinstance(entry, str):
            result += reductions_by(index, cast(Algorithm, entry), 2)
        else:
            raise wrong_type("reduce", table, wanted)
    return tuple(result)


def reductions_by(index: str, algorithm: Algorithm, radix: int) -> tuple[Reduction, ...]:
    """Return how the reductions over an index are done; nothing for a chain, as which they are written."""
    if isinstance(algorithm, str) and algorithm == "chain":
        check_name("the index of a reduction", index)
        return ()
    return (Reduction(index, algorithm, radix),)


def check_reductions(items: tuple[Reduction, ...]) -> tuple[Reduction, ...]:
    """Return them in the order of their names, if none is given twice."""
    for item in items:
        if not isinstance(item, Reduction):
            raise wrong_type("a reduction", item, "a Reduction")
    refuse_repeated(
        [item.index for item in items],
        lambda name, times: f"`{name}` is reduced in {times} ways",
        help="say once how the reductions over an index are done",
    )
    return tuple(sorted(items))


def refuse_repeated(names: list[str], said: Callable[[str, int], str], *, help: str) -> None:
    """Raise `ScheduleError` (CYC303) where a name is given more than once."""
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ScheduleError(said(repeated[0], names.count(repeated[0])), code="CYC303", help=help)


def read_reassociations(table: object) -> tuple[Reassociation, ...]:
    """Read the table `reassociate` of a file: ``"k": {"parts": 4, "into": "l"}``."""
    entries: dict[str, Any] = dict(table) if isinstance(table, Mapping) else {"": None}
    if not all(isinstance(entry, Mapping) and set(entry) == {"parts", "into"} for entry in entries.values()):
        raise wrong_type("reassociate", table, 'a mapping such as {"k": {"parts": 4, "into": "l"}}')
    return tuple(Reassociation(index, entry["parts"], entry["into"]) for index, entry in entries.items())


def check_reassociations(items: tuple[Reassociation, ...]) -> tuple[Reassociation, ...]:
    """Return them in the order of their names, if none is given twice."""
    for item in items:
        if not isinstance(item, Reassociation):
            raise wrong_type("a reassociation", item, "a Reassociation")
    for names in ([item.index for item in items], [item.into for item in items]):
        refuse_repeated(
            names,
            lambda name, times: f"`{name}` is in {times} reassociations",
            help="reassociate an index once, and give each one's blocks an index of their own",
        )
    return tuple(sorted(items))


def block(parts: int) -> Fold:
    """Return a fold of a grid dimension onto `parts` PEs, each with a block of neighbours (see `fold`).

    Parameters
    ----------
    parts : int
        PEs, at least 1.

    Returns
    -------
    Fold

    Raises
    ------
    ShapeError
        If it is no positive number (CYC402).

    Examples
    --------
    >>> cy.Schedule().space("i").fold(i=cy.block(4))
    cy.Schedule().space("i").fold(i=cy.block(4))
    """
    if isinstance(parts, list):
        raise unfit(
            "`block` has a list, and folds a dimension of the grid", "join arrays by cy.vstack and cy.hstack"
        )
    return Fold("block", parts)


def cyclic(parts: int) -> Fold:
    """Return a fold of a grid dimension onto `parts` PEs, dealt out in turn (see `Schedule.fold`).

    Parameters
    ----------
    parts : int
        PEs, at least 1.

    Returns
    -------
    Fold

    Raises
    ------
    ShapeError
        If it is no positive number (CYC402).

    Examples
    --------
    >>> cy.Schedule().space("i").fold(i=cy.cyclic(4))
    cy.Schedule().space("i").fold(i=cy.cyclic(4))
    """
    return Fold("cyclic", parts)


def unfit(message: str, help: str) -> ScheduleError:
    """Return the error of a schedule that says something which there is not."""
    return ScheduleError(message, code="CYC301", help=help)


def wrong_type(what: str, value: object, wanted: str) -> CyclotronError:
    """Return the error of a value of another type (CYC301)."""
    return READER.wrong_type(what, value, wanted)


def check_number(fault: str, value: object, wanted: str, least: int = 1) -> None:
    """Raise `ScheduleError` (CYC301) unless a value is a number that the compiler counts with."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _MOST:
        raise unfit(fault, help=f"give {wanted}, {least} to {_MOST}")


def check_name(what: str, name: object) -> str:
    """Return the name if it is one."""
    if not isinstance(name, str):
        raise wrong_type(what, name, 'a name as a string, for example "k"')
    if not name.isidentifier():
        raise unfit(f"{what} is named `{name}`", help="give one name of the kernel a string")
    return name


def _read_index(name: object, pattern: re.Pattern[str] | None, what: str) -> str:
    if pattern and isinstance(name, str):
        if pattern.fullmatch(name):
            return re.sub(r"[\s*]", "", name)
        if pattern is FORM and not name.isidentifier():
            raise ScheduleError(
                f"{what} is `{name}`, which is not an affine form of the indices",
                code="CYC314",
                help='write sums of indices with whole factors, for example "i-k" or "2*i+j"',
            )
    return check_name(what, name)


def _is_number(form: str) -> bool:
    return form.lstrip("+-").isdigit()


def read_indices(
    where: str, names: Indices, pattern: re.Pattern[str] | None = None, what: str = "an index"
) -> tuple[str, ...]:
    """Return names as a tuple: one string is one name, None is none. A pattern allows more than names."""
    if names is None:
        return ()
    if isinstance(names, str):
        names = (names,)
    items = None if isinstance(names, Mapping) else items_of(names)
    if items is None:
        raise wrong_type(f"{what} of {where}", cast(object, names), "names as strings")
    result = tuple(_read_index(name, pattern, f"{what} of {where}") for name in items)
    repeated = [name for n, name in enumerate(result) if name in result[:n] and not _is_number(name)]
    if repeated:
        raise ScheduleError(
            f"`{repeated[0]}` is named twice in {where} ({', '.join(result)})",
            code="CYC303",
            help="name it once",
        )
    return result


def read_fold(item: tuple[str, Fold]) -> tuple[str, Fold]:
    """Return the fold of a dimension if it is one."""
    name, fold = item
    name = _read_index(name, FORM, "an index of fold")
    if not isinstance(fold, Fold):
        raise wrong_type(f"the fold of `{name}`", fold, "cy.block(4), cy.cyclic(4) or a number of PEs")
    return name, fold


def read_fold_entry(item: tuple[Any, Any]) -> tuple[str, Fold]:
    """Read an entry of the table `fold`: ``"i": 4`` or ``"i": {"cyclic": 4}``."""
    name, value = item
    if isinstance(value, Mapping) and len(value) == 1:
        ((kind, parts),) = value.items()
        return name, Fold(kind, parts)
    if isinstance(value, int):
        return name, block(value)
    raise wrong_type(f"the fold of `{name}`", value, 'a number of PEs or {"cyclic": 4}')


def read_place(at: Iterable[str | int]) -> tuple[str, ...]:
    """Read the forms of a place; a number is one."""
    result: list[str] = []
    items = (at,) if isinstance(at, str) else items_of(at)
    if items is None:
        raise wrong_type("a place", at, "forms of the indices as strings, or numbers")
    for form in items:
        number = isinstance(form, int) and not isinstance(form, bool)
        result += read_indices("place", str(form) if number else cast(str, form), FORM)
    return tuple(result)


def read_panels(item: tuple[str, int]) -> tuple[str, int]:
    name, count = item
    check_number(f"`{name}` is cut into {count!r} panels", count, "their number")
    return check_name("an index", name), count
