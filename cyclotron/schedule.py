"""Schedules: which indices are space, which are time, and how each tensor moves."""

from __future__ import annotations

import dataclasses
import html
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from .errors import ScheduleError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Movement", "MovementKind", "Schedule"]

MovementKind = Literal["stream", "broadcast", "prefetch"]
_KINDS: tuple[MovementKind, ...] = ("stream", "broadcast", "prefetch")
_KEYS = ("space", "time", *_KINDS)
_WIDEST_LINE = 100

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
        Space indices to move along, in this order; empty: chosen by the compiler.
    """

    tensor: str
    kind: MovementKind
    along: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_name("a tensor", self.tensor)
        if self.kind not in _KINDS:
            raise ScheduleError(
                f"the movement of `{self.tensor}` is {self.kind!r}",
                code="CYC301",
                help=f"use one of: {', '.join(_KINDS)}",
            )
        object.__setattr__(self, "along", _indices(f"{self.kind} of `{self.tensor}`", self.along))

    def __str__(self) -> str:
        along = f" along {', '.join(self.along)}" if self.along else ""
        return f"{self.kind} {self.tensor}{along}"


@dataclasses.dataclass(frozen=True, repr=False)
class Schedule:
    """Where and when the points of a kernel run, and how its tensors move.

    A value: each method returns a new schedule, equal schedules hash alike, and `repr` is the code that
    rebuilds one. Names are those of the kernel; whether it has them is checked when it is compiled. An index
    in neither `space` nor `time` is appended to time.

    Parameters
    ----------
    space_indices, time_indices : tuple of str
        See `space` and `time`.
    movements : tuple of Movement
        At most one a tensor, kept in the order of their names.

    Examples
    --------
    >>> import cyclotron as cy
    >>> cy.Schedule().space("i", "j").time("k").stream("A", along="j").stream("B", along="i")
    cy.Schedule().space("i", "j").time("k").stream("A", along="j").stream("B", along="i")
    """

    space_indices: tuple[str, ...] = ()
    time_indices: tuple[str, ...] = ()
    movements: tuple[Movement, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "space_indices", _indices("space", self.space_indices))
        object.__setattr__(self, "time_indices", _indices("time", self.time_indices))
        both = [index for index in self.space_indices if index in self.time_indices]
        if both:
            raise ScheduleError(
                f"index `{both[0]}` is in space ({', '.join(self.space_indices)}) "
                f"and in time ({', '.join(self.time_indices)})",
                code="CYC302",
                help="name each index once; to exchange indices, clear one first with .time() or .space()",
            )
        for movement in self.movements:
            if not isinstance(movement, Movement):
                raise _wrong_type("a movement", movement, "a Movement")
        names = [movement.tensor for movement in self.movements]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ScheduleError(
                f"tensor `{repeated[0]}` has {names.count(repeated[0])} movements",
                code="CYC303",
                help="give each tensor one movement",
            )
        object.__setattr__(self, "movements", tuple(sorted(self.movements)))

    def space(self, *indices: str) -> Schedule:
        """Return this schedule with the given indices as grid dimensions, in order.

        Parameters
        ----------
        *indices : str
            Index names; they replace those given before, none clears them.

        Raises
        ------
        ScheduleError
            If an index is repeated or is already time.
        """
        return dataclasses.replace(self, space_indices=indices)

    def time(self, *indices: str) -> Schedule:
        """Return this schedule with the given indices as time, the outermost loop first.

        Parameters
        ----------
        *indices : str
            Index names; they replace those given before, none clears them.

        Raises
        ------
        ScheduleError
            If an index is repeated or is already space.
        """
        return dataclasses.replace(self, time_indices=indices)

    def stream(self, tensor: str, along: Indices = None) -> Schedule:
        """Return this schedule with `tensor` passed from neighbour to neighbour.

        Parameters
        ----------
        tensor : str
            Name of the tensor; this replaces an earlier movement of it.
        along : str or iterable of str, optional
            Space indices to move along, in this order; by default the compiler chooses.
        """
        return self._move(tensor, "stream", along)

    def broadcast(self, tensor: str, along: Indices = None) -> Schedule:
        """Return this schedule with `tensor` sent from its source to all points of a line at once.

        Parameters
        ----------
        tensor : str
            Name of the tensor; this replaces an earlier movement of it.
        along : str or iterable of str, optional
            Space indices to broadcast along; by default the compiler chooses.
        """
        return self._move(tensor, "broadcast", along)

    def prefetch(self, tensor: str, along: Indices = None) -> Schedule:
        """Return this schedule with `tensor` loaded before the time loop and kept.

        Parameters
        ----------
        tensor : str
            Name of an input; this replaces an earlier movement of it.
        along : str or iterable of str, optional
            Space indices along which the load is distributed; by default the compiler chooses.
        """
        return self._move(tensor, "prefetch", along)

    def movement(self, tensor: str) -> Movement | None:
        """Return how `tensor` moves, or None where that is left to the compiler."""
        return next((movement for movement in self.movements if movement.tensor == tensor), None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and dicts, as `from_dict` and TOML files have them.

        Returns
        -------
        dict
            ``space`` and ``time`` (lists of str), and for each kind of movement a dict from tensor to list
            of str.
        """
        result: dict[str, Any] = {"space": list(self.space_indices), "time": list(self.time_indices)}
        for movement in self.movements:
            result.setdefault(movement.kind, {})[movement.tensor] = list(movement.along)
        return result

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schedule:
        """Return the schedule that `to_dict` describes.

        Parameters
        ----------
        data : mapping
            ``{"space": ["i", "j"], "time": ["k"], "stream": {"A": "j"}, "prefetch": ["W"]}``; every key may
            be left out. A movement is a mapping from tensor to the index or indices to move along, or a list
            of tensors.

        Raises
        ------
        ScheduleError
            If a key or type is not one of these.
        """
        if not isinstance(data, Mapping):
            raise _wrong_type("a schedule", data, "a mapping")
        unknown = [key for key in data if key not in _KEYS]
        if unknown:
            raise ScheduleError(
                f"a schedule has no entry {unknown[0]!r}", code="CYC301", help=f"it has: {', '.join(_KEYS)}"
            )
        movements: list[Movement] = []
        for kind in _KINDS:
            entries = data.get(kind, {})
            if isinstance(entries, str):
                entries = [entries]
            if not isinstance(entries, Mapping):
                entries = dict.fromkeys(_indices(kind, entries, what="a tensor"), ())
            movements += [
                Movement(tensor, kind, _indices(f"{kind} of `{tensor}`", along))
                for tensor, along in entries.items()
            ]
        space, time = (_indices(key, data.get(key, ())) for key in ("space", "time"))
        return cls(space, time, tuple(movements))

    @classmethod
    def load(cls, path: str | Path) -> Schedule:
        """Return the schedule in a TOML file; see `from_dict` for its keys.

        Parameters
        ----------
        path : str or Path
            The file.

        Raises
        ------
        ScheduleError
            If it is not TOML or not a schedule.
        """
        try:
            data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ScheduleError(f"`{path}` is not TOML: {error}", code="CYC301") from None
        return cls.from_dict(data)

    def save(self, path: str | Path) -> None:
        """Write the schedule to a TOML file that `load` reads.

        Parameters
        ----------
        path : str or Path
            The file; replaced if it exists.
        """
        lines = [
            f"{key} = {_toml(value)}" for key, value in self.to_dict().items() if key in ("space", "time")
        ]
        for kind in _KINDS:
            moves = [movement for movement in self.movements if movement.kind == kind]
            if moves:
                lines += ["", f"[{kind}]", *(f'"{move.tensor}" = {_toml(move.along)}' for move in moves)]
        Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def to_core(self) -> tuple[list[str], list[str], list[tuple[str, str, list[str]]]]:
        """Return plain data for the C++ core: space, time, and (tensor, kind, along) of each movement."""
        movements = [(move.tensor, str(move.kind), list(move.along)) for move in self.movements]
        return list(self.space_indices), list(self.time_indices), movements

    @classmethod
    def from_core(cls, data: tuple[list[str], list[str], list[tuple[str, str, list[str]]]]) -> Schedule:
        """Return the schedule that the C++ core reports, in the form of `to_core`."""
        space, time, movements = data
        moves = tuple(
            Movement(tensor, cast(MovementKind, kind), tuple(along)) for tensor, kind, along in movements
        )
        return cls(tuple(space), tuple(time), moves)

    def __repr__(self) -> str:
        calls = []
        if self.space_indices:
            calls.append(f".space({_arguments(self.space_indices)})")
        if self.time_indices:
            calls.append(f".time({_arguments(self.time_indices)})")
        for movement in self.movements:
            along = ""
            if movement.along:
                one = len(movement.along) == 1
                along = ", along=" + (
                    _quoted(movement.along[0]) if one else f"[{_arguments(movement.along)}]"
                )
            calls.append(f".{movement.kind}({_quoted(movement.tensor)}{along})")
        line = "cy.Schedule()" + "".join(calls)
        if len(line) <= _WIDEST_LINE:
            return line
        return "\n    ".join(["(cy.Schedule()", *calls]) + ")"

    def __str__(self) -> str:
        space, time = (", ".join(names) or "-" for names in (self.space_indices, self.time_indices))
        return "; ".join([f"space {space}", f"time {time}", *map(str, self.movements)])

    def _repr_html_(self) -> str:
        rows = [
            ("space", ", ".join(self.space_indices) or "–"),
            ("time", ", ".join(self.time_indices) or "–"),
        ]
        for movement in self.movements:
            rows.append((movement.kind, str(movement)[len(movement.kind) + 1 :]))
        left = 'style="text-align:left"'
        body = "".join(
            f"<tr><th {left}>{name}</th><td {left}>{html.escape(text)}</td></tr>" for name, text in rows
        )
        return f"<table><caption>Schedule</caption><tbody>{body}</tbody></table>"

    def _move(self, tensor: str, kind: MovementKind, along: Indices) -> Schedule:
        new = Movement(tensor, kind, _indices(f"{kind} of `{tensor}`", along))
        return dataclasses.replace(
            self, movements=(*(old for old in self.movements if old.tensor != new.tensor), new)
        )


def _quoted(name: str) -> str:
    return f'"{name}"'


def _arguments(names: Iterable[str]) -> str:
    return ", ".join(map(_quoted, names))


def _toml(names: Iterable[str]) -> str:
    return f"[{_arguments(names)}]"


def _wrong_type(what: str, value: object, wanted: str) -> ScheduleError:
    return ScheduleError(
        f"{what} is {value!r}, of type {type(value).__name__}", code="CYC301", help=f"give {wanted}"
    )


def _check_name(what: str, name: object) -> str:
    if not isinstance(name, str):
        raise _wrong_type(what, name, 'a name as a string, for example "k"')
    if not name.isidentifier():
        raise ScheduleError(
            f"{what} is named `{name}`", code="CYC301", help="give one name of the kernel a string"
        )
    return name


def _indices(where: str, names: Indices, what: str = "an index") -> tuple[str, ...]:
    """Return names as a tuple: one string is one name, None is none."""
    if names is None:
        return ()
    if isinstance(names, str):
        names = (names,)
    if not isinstance(names, Iterable) or isinstance(names, Mapping):
        raise _wrong_type(f"{what} of {where}", cast(object, names), "names as strings")
    result = tuple(_check_name(f"{what} of {where}", name) for name in names)
    repeated = [name for n, name in enumerate(result) if name in result[:n]]
    if repeated:
        raise ScheduleError(
            f"`{repeated[0]}` is named twice in {where} ({', '.join(result)})",
            code="CYC303",
            help="name it once",
        )
    return result
