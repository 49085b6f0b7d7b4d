"""The target machine as plain data: a grid of processing elements (PEs), their links and memories."""

from __future__ import annotations

import dataclasses
import difflib
import operator
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from .errors import ShapeError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["PE", "UNBOUNDED", "Link", "Machine", "Topology"]

# A channel depth that no program fills.
UNBOUNDED = 1 << 30

Topology = Literal["mesh", "torus", "hexagonal"]
_TOPOLOGIES: tuple[Topology, ...] = ("mesh", "torus", "hexagonal")
_MOST_DIMENSIONS = 8
# As the core: far beyond any hardware, and small enough that sums of a few never overflow.
_MOST = 2**40
_MOST_MEMORY = 2**50
_MOST_PES = 2**62
_KIB = 1024


@dataclasses.dataclass(frozen=True, repr=False)
class Link:
    """One hop between neighbouring PEs: a bounded first-in-first-out channel.

    Parameters
    ----------
    latency : int
        Cycles from sending to arrival, at least 1.
    response_latency : int
        Cycles from the removal of a message until the sender sees the free place, at least 0.
    words_per_cycle : int
        Elements a cycle, at least 1.
    depth : int
        Messages in flight or queued, at least 1; 2**30 or more is printed as unbounded.
    """

    latency: int = 1
    response_latency: int = 1
    words_per_cycle: int = 1
    depth: int = 2

    def __post_init__(self) -> None:
        for field, least in (("latency", 1), ("response_latency", 0), ("words_per_cycle", 1), ("depth", 1)):
            _set_integer(self, "link", field, least, _MOST)

    def __repr__(self) -> str:
        return _code(self)

    def to_core(self) -> dict[str, int]:
        """Return the fields under the names of the C++ core, with their units."""
        return {
            "latency_cycles": self.latency,
            "response_latency_cycles": self.response_latency,
            "words_per_cycle": self.words_per_cycle,
            "depth": self.depth,
        }


@dataclasses.dataclass(frozen=True, repr=False)
class PE:
    """A processing element.

    Parameters
    ----------
    memory : int
        Bytes of local memory.
    flops_per_cycle : int
        Floating-point operations a cycle; an operator costs ``ceil(flops / flops_per_cycle)`` cycles, at
        least 1.
    cycles : mapping of str to int
        Cycles by operator name, for example ``{"divide": 12}``, instead of that; 0 is allowed.
    """

    memory: int = 48 * _KIB
    flops_per_cycle: int = 2
    cycles: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        _set_integer(self, "pe", "memory", 1, _MOST_MEMORY)
        _set_integer(self, "pe", "flops_per_cycle", 1, _MOST)
        if not isinstance(self.cycles, Mapping):
            raise _wrong_type("pe.cycles", self.cycles, 'a mapping, for example {"divide": 12}')
        costs: dict[str, int] = {}
        for name, value in self.cycles.items():
            if not isinstance(name, str):
                raise _wrong_type("an operator in pe.cycles", name, "its name as a string")
            costs[name] = _integer(f"pe.cycles[{name!r}]", value, 0, _MOST)
        object.__setattr__(self, "cycles", _Costs(costs))

    def __repr__(self) -> str:
        return _code(self)

    def to_core(self) -> dict[str, Any]:
        """Return the fields under the names of the C++ core, with their units."""
        return {
            "memory_bytes": self.memory,
            "flops_per_cycle": self.flops_per_cycle,
            "cycles": dict(self.cycles),
        }


@dataclasses.dataclass(frozen=True, repr=False)
class Machine:
    """A grid of PEs. A value: comparable, hashable, printable, readable from TOML.

    Parameters
    ----------
    grid : tuple of int, optional
        PEs along each dimension; None: as large as the program needs.
    topology : {"mesh", "torus", "hexagonal"}
        Without or with links that wrap around.
    link : Link
        Between neighbours.
    broadcast : Link
        The broadcast network, from a feeder to the PEs of a line.
    pe : PE
        Each processing element.

    Examples
    --------
    >>> import cyclotron as cy
    >>> cy.Machine(grid=(8, 8), link=cy.Link(latency=2, depth=4), pe=cy.PE(memory=64 * 1024))
    cy.Machine(grid=(8, 8), link=cy.Link(latency=2, depth=4), pe=cy.PE(memory=65536))
    """

    grid: tuple[int, ...] | None = None
    topology: Topology = "mesh"
    link: Link = dataclasses.field(default_factory=Link)
    broadcast: Link = dataclasses.field(default_factory=Link)
    pe: PE = dataclasses.field(default_factory=PE)

    def __post_init__(self) -> None:
        if self.grid is not None:
            object.__setattr__(self, "grid", _grid(self.grid))
        if self.topology not in _TOPOLOGIES:
            raise ShapeError(
                f"machine `topology` is {self.topology!r}",
                code="CYC402",
                help=f"it is one of: {', '.join(_TOPOLOGIES)}",
            )
        for field, kind in (("link", Link), ("broadcast", Link), ("pe", PE)):
            value = getattr(self, field)
            if not isinstance(value, kind):
                raise _wrong_type(f"machine `{field}`", value, f"a cy.{kind.__name__}(...)")

    @property
    def pe_count(self) -> int | None:
        """Number of PEs, or None where the grid is as large as the program needs."""
        if self.grid is None:
            return None
        count = 1
        for extent in self.grid:
            count *= extent
        return count

    def to_core(self) -> dict[str, Any]:
        """Return plain data for the C++ core: names with units, an empty grid for one of any size.

        Returns
        -------
        dict
            ``{"grid": list of int, "topology": str, "link": dict, "broadcast": dict, "pe": dict}``.
        """
        return {
            "grid": list(self.grid or ()),
            "topology": self.topology,
            "link": self.link.to_core(),
            "broadcast": self.broadcast.to_core(),
            "pe": self.pe.to_core(),
        }

    @classmethod
    def from_core(cls, data: Mapping[str, Any]) -> Machine:
        """Return the machine of a compiled program's plain data; the inverse of `to_core`.

        Parameters
        ----------
        data : mapping
            ``{"grid": ..., "topology": ..., "link": ..., "broadcast": ..., "pe": ...}``, names with units.
        """
        names = "latency_cycles", "response_latency_cycles", "words_per_cycle", "depth"
        link, broadcast = (Link(*(data[kind][name] for name in names)) for kind in ("link", "broadcast"))
        pe = PE(data["pe"]["memory_bytes"], data["pe"]["flops_per_cycle"], dict(data["pe"]["cycles"]))
        grid = tuple(data["grid"]) or None
        return cls(grid=grid, topology=data["topology"], link=link, broadcast=broadcast, pe=pe)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as `from_dict` and TOML files have it; a grid of any size is left out."""
        result: dict[str, Any] = {}
        if self.grid is not None:
            result["grid"] = list(self.grid)
        result["topology"] = self.topology
        result["link"] = _fields(self.link)
        result["broadcast"] = _fields(self.broadcast)
        result["pe"] = {**_fields(self.pe), "cycles": dict(self.pe.cycles)}
        return result

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Machine:
        """Return the machine that `to_dict` describes; what is left out has its default.

        Parameters
        ----------
        data : mapping
            ``{"grid": [8, 8], "topology": "mesh", "link": {...}, "broadcast": {...}, "pe": {...}}``.

        Raises
        ------
        ShapeError
            If an entry is unknown, has the wrong type or is out of range.
        """
        values = dict(_known("machine", data, cls))
        for field, kind in (("link", Link), ("broadcast", Link), ("pe", PE)):
            if field in values:
                values[field] = kind(**_known(field, values[field], kind))
        return cls(**values)

    @classmethod
    def load(cls, path: str | Path) -> Machine:
        """Return the machine in a TOML file; see `from_dict` for its keys.

        Parameters
        ----------
        path : str or Path
            The file.

        Raises
        ------
        ShapeError
            If it is not TOML or not a machine.
        """
        try:
            data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ShapeError(f"`{path}` is not TOML: {error}", code="CYC402") from None
        return cls.from_dict(data)

    def save(self, path: str | Path) -> None:
        """Write the machine to a TOML file that `load` reads.

        Parameters
        ----------
        path : str or Path
            The file; replaced if it exists.
        """
        tables = self.to_dict()
        lines = [f"grid = {tables['grid']}"] if "grid" in tables else []
        lines.append(f'topology = "{self.topology}"')
        for name in ("link", "broadcast", "pe"):
            lines += ["", f"[{name}]"]
            lines += [f"{key} = {value}" for key, value in tables[name].items() if key != "cycles"]
        if self.pe.cycles:
            lines += [
                "",
                "[pe.cycles]",
                *(f"{_toml_key(key)} = {value}" for key, value in self.pe.cycles.items()),
            ]
        Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def __repr__(self) -> str:
        return _code(self)

    def __str__(self) -> str:
        grid = " of any size" if self.grid is None else " " + "×".join(map(str, self.grid))
        text = f"{self.topology}{grid}, link latency {self.link.latency} depth {_depth(self.link)}"
        if self.broadcast != self.link:
            text += f", broadcast latency {self.broadcast.latency} depth {_depth(self.broadcast)}"
        return f"{text}, {_bytes_text(self.pe.memory)} a PE"


class _Costs(dict[str, int]):
    """A dict that does not change, and hashes."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def _refuse(self, *_: object, **__: object) -> Any:
        raise TypeError("the cycles of a PE do not change; use dataclasses.replace(pe, cycles=...)")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Costs, (dict(self),))


def _bytes_text(count: int) -> str:
    for unit, size in (("GiB", _KIB**3), ("MiB", _KIB**2), ("KiB", _KIB)):
        if count % size == 0:
            return f"{count // size} {unit}"
    return f"{count} bytes"


def _depth(link: Link) -> str:
    return "unbounded" if link.depth >= UNBOUNDED else str(link.depth)


def _code(value: Link | PE | Machine) -> str:
    """Return the code that rebuilds the value; fields that have their default are left out."""
    default = type(value)()
    given = [
        f"{field.name}={getattr(value, field.name)!r}"
        for field in dataclasses.fields(value)
        if getattr(value, field.name) != getattr(default, field.name)
    ]
    return f"cy.{type(value).__name__}({', '.join(given)})"


def _fields(value: Link | PE) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _toml_key(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _wrong_type(what: str, value: object, wanted: str) -> ShapeError:
    return ShapeError(
        f"{what} is {value!r}, of type {type(value).__name__}", code="CYC402", help=f"give {wanted}"
    )


def _integer(field: str, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise _wrong_type(f"machine `{field}`", value, "an integer")
    number = operator.index(value)
    if not least <= number <= most:
        raise ShapeError(
            f"machine `{field}` is {number}, outside {least} .. {most}",
            code="CYC401",
            help=f"give `{field}` a value of at least {least}" if number < least else f"give at most {most}",
        )
    return int(number)


def _set_integer(target: Link | PE, prefix: str, field: str, least: int, most: int) -> None:
    object.__setattr__(target, field, _integer(f"{prefix}.{field}", getattr(target, field), least, most))


def _grid(grid: object) -> tuple[int, ...]:
    if isinstance(grid, str | Mapping) or not hasattr(grid, "__iter__"):
        raise _wrong_type("machine `grid`", grid, "a tuple of integers, for example (8, 8), or None")
    extents = tuple(grid)
    _integer("grid dimensions", len(extents), 1, _MOST_DIMENSIONS)
    count = 1
    result = []
    for dimension, extent in enumerate(extents):
        result.append(_integer(f"grid[{dimension}]", extent, 1, _MOST))
        count *= result[-1]
    _integer("grid size", count, 1, _MOST_PES)
    return tuple(result)


def _known(what: str, data: object, kind: type) -> Mapping[str, Any]:
    """Return data if it is a mapping whose keys are fields of the class."""
    if not isinstance(data, Mapping):
        raise _wrong_type(what, data, "a table of its fields")
    names = [field.name for field in dataclasses.fields(kind)]
    for key in data:
        if key not in names:
            close = difflib.get_close_matches(str(key), names, 1)
            hint = f"did you mean `{close[0]}`? " if close else ""
            raise ShapeError(
                f"`{what}` has no field `{key}`", code="CYC402", help=f"{hint}it has: {', '.join(names)}"
            )
    return data
