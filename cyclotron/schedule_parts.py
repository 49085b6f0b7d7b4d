"""The parts of a schedule: how a tensor moves, how a grid dimension is folded, and the names in both."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Literal, cast

from .errors import ScheduleError

__all__ = ["Fold", "Indices", "Movement", "MovementKind", "block", "cyclic"]

MovementKind = Literal["stream", "broadcast", "prefetch"]
KINDS: tuple[MovementKind, ...] = ("stream", "broadcast", "prefetch")
# `i`, `-i`, `i-k`, `2*i + j - 1`; the compiler knows which names there are.
_TERM = r"(\d+\s*\*?\s*[^\W\d]\w*|[^\W\d]\w*|\d+)"
FORM = re.compile(rf"\s*[-+]?\s*{_TERM}(\s*[-+]\s*{_TERM})*\s*")
AXIS = re.compile(r"-?[^\W\d]\w*")

Indices = str | Iterable[str] | None


@dataclasses.dataclass(frozen=True, order=True)
class Movement:
    """How one tensor reaches the points that use it.

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
            raise ScheduleError(
                f"the movement of `{self.tensor}` is {self.kind!r}",
                code="CYC301",
                help=f"use one of: {', '.join(KINDS)}",
            )
        object.__setattr__(self, "along", read_indices(f"{self.kind} of `{self.tensor}`", self.along, AXIS))

    def __str__(self) -> str:
        along = f" along {', '.join(self.along)}" if self.along else ""
        return f"{self.kind} {self.tensor}{along}"


@dataclasses.dataclass(frozen=True, order=True)
class Fold:
    """How a grid dimension is shared out over fewer PEs; made by `block` and `cyclic`.

    Parameters
    ----------
    kind : {"block", "cyclic"}
        Neighbours together, or dealt out in turn.
    parts : int
        PEs along the dimension, at least 1.
    """

    kind: Literal["block", "cyclic"]
    parts: int

    def __post_init__(self) -> None:
        if self.kind not in ("block", "cyclic"):
            raise ScheduleError(f"a fold is {self.kind!r}", code="CYC301", help="use cy.block or cy.cyclic")
        if not isinstance(self.parts, int) or isinstance(self.parts, bool) or self.parts < 1:
            raise ScheduleError(
                f"a fold has {self.parts!r} parts",
                code="CYC301",
                help="give the number of PEs along the dimension, at least 1",
            )

    def __str__(self) -> str:
        return f"{self.kind} {self.parts}"


def block(parts: int) -> Fold:
    """Return a fold of a grid dimension onto `parts` PEs, each with a block of neighbours (see `fold`)."""
    return Fold("block", parts)


def cyclic(parts: int) -> Fold:
    """Return a fold of a grid dimension onto `parts` PEs, dealt out in turn (see `Schedule.fold`)."""
    return Fold("cyclic", parts)


def wrong_type(what: str, value: object, wanted: str) -> ScheduleError:
    """Return the error for a value of another type."""
    return ScheduleError(
        f"{what} is {value!r}, of type {type(value).__name__}", code="CYC301", help=f"give {wanted}"
    )


def check_name(what: str, name: object) -> str:
    """Return the name if it is one."""
    if not isinstance(name, str):
        raise wrong_type(what, name, 'a name as a string, for example "k"')
    if not name.isidentifier():
        raise ScheduleError(
            f"{what} is named `{name}`", code="CYC301", help="give one name of the kernel a string"
        )
    return name


def read_indices(
    where: str, names: Indices, pattern: re.Pattern[str] | None = None, what: str = "an index"
) -> tuple[str, ...]:
    """Return names as a tuple: one string is one name, None is none. A pattern allows more than names."""
    if names is None:
        return ()
    if isinstance(names, str):
        names = (names,)
    if not isinstance(names, Iterable) or isinstance(names, Mapping):
        raise wrong_type(f"{what} of {where}", cast(object, names), "names as strings")
    result = tuple(
        re.sub(r"[\s*]", "", name)
        if pattern and isinstance(name, str) and pattern.fullmatch(name)
        else check_name(f"{what} of {where}", name)
        for name in names
    )
    repeated = [name for n, name in enumerate(result) if name in result[:n]]
    if repeated:
        raise ScheduleError(
            f"`{repeated[0]}` is named twice in {where} ({', '.join(result)})",
            code="CYC303",
            help="name it once",
        )
    return result
