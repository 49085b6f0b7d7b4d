"""The target machine as plain data: a grid of processing elements (PEs), their links and memories."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from cyclotron import _core
from cyclotron.machine.energy import Energy
from cyclotron.machine.link_map import LinkMap
from cyclotron.machine.memory import Memory
from cyclotron.machine.parts import (
    MOST,
    PE,
    READER,
    Chiplets,
    Control,
    FrozenDict,
    Link,
    code,
    extents,
    integer,
    one_of,
    positive,
    unfit,
    wrong_type,
)
from cyclotron.support import records
from cyclotron.support.files import write_file
from cyclotron.support.tables import Records

__all__ = ["Machine", "Topology", "topology_text"]

Topology = Literal["mesh", "torus", "hexagonal", "ring"]
_TOPOLOGIES: tuple[Topology, ...] = ("mesh", "torus", "hexagonal", "ring")
Spread = Literal["constant", "distance", "tree"]
_SPREADS: tuple[Spread, ...] = ("constant", "distance", "tree")
# Fields that hold one part, with its class, and what an error shows of its arguments.
_PARTS = (
    ("link", Link, "..."),
    ("broadcast", Link, "..."),
    ("pe", PE, "..."),
    ("chiplets", Chiplets, "shape=..., link=..."),
    ("control", Control, "latency=..., setup=..."),
    ("energy", Energy, "operation_picojoules=..., source=..."),
)
Io = Literal["everywhere", "edges", "ports"]
_IOS: tuple[Io, ...] = ("everywhere", "edges", "ports")
_MOST_DIMENSIONS = 8


def _read_offset(key: object) -> tuple[int, ...]:
    try:
        return tuple(int(step) for step in str(key).split(","))
    except ValueError:
        raise unfit(
            f"machine `links` has the key `{key}`",
            'give the offset of a hop, for example "0,1"',
            code="CYC402",
        ) from None


def _read_axis(key: object) -> object:
    return int(str(key)) if str(key).isdecimal() else key


@dataclasses.dataclass(frozen=True, repr=False)
class Machine:
    """A grid of PEs. A value: comparable, hashable, printable, readable from TOML.

    Parameters
    ----------
    grid : tuple of int, optional
        PEs along each dimension; None: as large as the program needs.
    topology : {"mesh", "torus", "hexagonal", "ring"}, tuple of str, LinkMap, or tuple of LinkMap
        Without or with links that wrap around, hexagonal with those of one diagonal; a ring is a torus of one
        dimension. A tuple has ``"mesh"`` or ``"torus"`` for each dimension of the grid: ``("torus", "mesh")``
        wraps around along columns only; where all are the same, the one word says it. Link maps say which
        PEs are joined where no name does.
    link : Link
        Between neighbours.
    broadcast : Link
        The broadcast network, from a feeder to the PEs of a line.
    pe : PE
        Each processing element.
    links : mapping of tuple of int to Link
        Instead of ``link`` along these hops, by the offset from sender to receiver, one number a grid
        dimension, as channels have it: ``{(0, 1): cy.Link(latency=4)}`` slows the way along a row, not back.
    memories : mapping of str to Memory
        Where tensors live, by name: ``{"dram": cy.Memory(bandwidth=4, latency=100, serves=":, 0")}``. A PE
        has at most one; PEs that none serves load and store at no cost. A program on a part of the grid lies
        at the first place that the most memories serve; those that do not serve it there are left out.
    clock : float, optional
        Cycles a second, in Hz; None: unknown.
    broadcasts : mapping of int to Link
        Instead of ``broadcast`` along these grid dimensions: ``{1: cy.Link(latency=4)}`` is that of rows.
    spread : {"constant", "distance", "tree"}
        How long a broadcast takes: to every PE the latency of its network; that for each PE on the way (round
        the short way where the dimension wraps around); or that for each level of a binary tree of the PEs on
        the way, rooted at the sender.
    chiplets : Chiplets, optional
        Chips of several PEs each, with links of their own between them; None: one chip.
    control : Control, optional
        The controller that decides where loops end whose ends depend on data, and what that costs; None: PEs
        decide for themselves, at no cost.
    shared_links : bool
        Links are physical: all channels over one hop share its ``words_per_cycle``, in the order of the
        sender's program; the broadcasts along a line are on one bus, which takes them in the order in which
        they ask, and passes as many words to each of its PEs. Each channel keeps a queue of its own, so that
        no channel waits for another one's place. False: each channel has wires of its own.
    io : {"everywhere", "edges", "ports"}
        PEs that load and store: all of them; those that are first or last along some dimension of the grid,
        where a program begins at PE 0; or those that a memory serves. What others use or compute goes through
        PEs on one side of the grid, from which its words take their time over links; where it cannot, a
        program is refused (CYC507). Program files, which are checked, leave it out.
    energy : Energy, optional
        What operations, words on their way and time cost, for `Result.energy`; None: unknown. Nothing that is
        computed or timed depends on it, and program files leave it out: `Program.with_machine` gives it back.

    Attributes
    ----------
    topologies : tuple of str
        The topology's names: one for all dimensions or one for each; empty with link maps.
    link_maps : tuple of LinkMap
        Those of the topology; empty where it has names.
    pe_count : int or None
        PEs of the grid; None where it is as large as the program needs.

    Raises
    ------
    ShapeError
        CYC402 if a field has the wrong type or an unknown name; CYC401 if a number is out of range, or the
        ranks of grid, topology, links, broadcasts and chiplets differ; CYC404 if link maps lead out of the
        grid, CYC405 if one leads from two PEs to one; and as `Memory` and `LinkMap`.

    Examples
    --------
    >>> import cyclotron as cy
    >>> cy.Machine(grid=(8, 8), link=cy.Link(latency=2, depth=4), pe=cy.PE(memory=64 * 1024))
    cy.Machine(grid=(8, 8), link=cy.Link(latency=2, depth=4), pe=cy.PE(memory=65536))
    """

    grid: tuple[int, ...] | None = None
    topology: Topology | tuple[Topology, ...] | LinkMap | tuple[LinkMap, ...] = "mesh"
    link: Link = dataclasses.field(default_factory=Link)
    broadcast: Link = dataclasses.field(default_factory=Link)
    pe: PE = dataclasses.field(default_factory=PE)
    links: Mapping[tuple[int, ...], Link] = records.field(default_factory=dict, key=_read_offset)
    memories: Mapping[str, Memory] = dataclasses.field(default_factory=dict)
    clock: float | None = records.field(default=None, unit="hz")
    broadcasts: Mapping[int, Link] = records.field(default_factory=dict, key=_read_axis)
    spread: Spread = "constant"
    chiplets: Chiplets | None = None
    control: Control | None = None
    shared_links: bool = False
    io: Io = dataclasses.field(default="everywhere", metadata={"in_core": False})
    energy: Energy | None = dataclasses.field(default=None, metadata={"in_core": False})

    def __post_init__(self) -> None:
        if self.grid is not None:
            object.__setattr__(self, "grid", extents("grid", self.grid))
            integer("grid dimensions", len(self.grid), 1, _MOST_DIMENSIONS)
        object.__setattr__(self, "topology", _topology(self.topology, self.grid))
        for field, kind, fields in _PARTS:
            value = getattr(self, field)
            optional = getattr(Machine, field, kind) is None  # by default
            if not isinstance(value, kind) and not (optional and value is None):
                wanted = f"a cy.{kind.__name__}({fields}){', or None' if optional else ''}"
                raise wrong_type(f"machine `{field}`", value, wanted)
        object.__setattr__(self, "links", _links(self.links))
        object.__setattr__(self, "broadcasts", _broadcasts(self.broadcasts))
        for field, names in (("spread", _SPREADS), ("io", _IOS)):
            one_of(field, getattr(self, field), names)
        if self.clock is not None:
            object.__setattr__(self, "clock", positive("clock", self.clock))
        if not isinstance(self.shared_links, bool):
            raise wrong_type("machine `shared_links`", self.shared_links, "True or False")
        object.__setattr__(self, "memories", _memories(self.memories))
        _check_io(self.io, self.memories)
        _core.verify_machine(self.to_core())

    def with_links(self, **fields: int) -> Machine:
        """Return the machine with fields changed in every link and broadcast network, but between chiplets.

        Parameters
        ----------
        **fields : int
            As of `Link`: ``machine.with_links(latency=4, depth=8)``.

        Raises
        ------
        ShapeError
            As `Link`.
        """
        if not fields:
            return self

        def changed(links: Mapping[Any, Link]) -> dict[Any, Link]:
            return {key: dataclasses.replace(link, **fields) for key, link in links.items()}

        return dataclasses.replace(
            self,
            link=dataclasses.replace(self.link, **fields),
            broadcast=dataclasses.replace(self.broadcast, **fields),
            links=changed(self.links),
            broadcasts=changed(self.broadcasts),
            topology=tuple(
                dataclasses.replace(one, link=dataclasses.replace(one.link, **fields)) if one.link else one
                for one in self.link_maps
            )
            or self.topology,
        )

    @property
    def topologies(self) -> tuple[Topology, ...]:
        """Of all dimensions of the grid, or one for each; empty with link maps."""
        if isinstance(self.topology, tuple):
            return tuple(name for name in self.topology if not isinstance(name, LinkMap))
        return () if isinstance(self.topology, LinkMap) else (self.topology,)

    @property
    def link_maps(self) -> tuple[LinkMap, ...]:
        """The links where no named topology describes them, else empty."""
        if isinstance(self.topology, tuple):
            return tuple(one for one in self.topology if isinstance(one, LinkMap))
        return ()

    @property
    def pe_count(self) -> int | None:
        """Number of PEs, or None where the grid is as large as the program needs."""
        return None if self.grid is None else math.prod(self.grid)

    def to_core(self) -> _core.Machine:
        """Return the machine as the C++ core has it: names with units, an empty grid for one of any size."""
        fields = records.core_fields(self)
        fields["grid"] = self.grid or ()
        fields["topology"] = ["custom"] if self.link_maps else self.topologies
        fields["link_maps"] = [records.to_core(one) for one in self.link_maps]
        return _core.Machine(**fields)

    @classmethod
    def from_core(cls, core: _core.Machine, **changes: Any) -> Machine:
        """Return the machine of a compiled program; the inverse of `to_core`.

        Parameters
        ----------
        core : _core.Machine
            As the C++ core has it.
        **changes
            Fields that are others than the core's.
        """
        fields = records.fields_of_core(cls, core)
        maps = tuple(LinkMap(**records.fields_of_core(LinkMap, one)) for one in core.link_maps)
        names = fields["topology"]
        fields["topology"] = maps or (names if len(names) > 1 else names[0])
        # A program's grid may be a part of that of link maps, or of what a memory's blocks tile.
        cut = any(
            extent % share
            for memory in fields["memories"].values()
            for extent, share in zip(core.grid, memory.shared_by or (), strict=False)
        )
        fields["grid"] = None if maps or cut else fields["grid"] or None
        return cls(**{**fields, **changes})

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as `from_dict` and TOML files have it; a grid of any size is left out."""
        data: dict[str, Any] = records.to_dict(self)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Machine:
        """Return the machine that `to_dict` describes; what is left out has its default.

        Parameters
        ----------
        data : mapping
            ``{"grid": [8, 8], "topology": "mesh", "link": {...}, "broadcast": {...}, "pe": {...},
            "links": {"0,1": {...}}, "memories": {"dram": {...}}, "clock": 1.2e9,
            "chiplets": {"shape": [4, 4], "link": {...}}, "broadcasts": {"1": {...}}, "spread": "tree",
            "control": {"latency": 10}, "shared_links": False,
            "energy": {"hop_picojoules_per_byte": 0.5, "source": "..."}}``.

        Raises
        ------
        ShapeError
            If an entry is unknown, has the wrong type or is out of range.
        """
        return READER.record(cls, data, "machine", path="")

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
            If it cannot be read, is not TOML or not a machine.
        """
        example = "Machine.save writes such files; a machine of 8x8 PEs is the line `grid = [8, 8]`"
        return cls.from_dict(records.load_toml(path, READER, kind="Machine", help=example))

    def save(self, path: str | Path) -> None:
        """Write the machine to a TOML file that `load` reads.

        Parameters
        ----------
        path : str or Path
            The file; replaced if it exists.
        """
        write_file(path, records.to_toml(self.to_dict()))

    __repr__ = code

    def table(self) -> Records:
        """Return what `to_dict` has as a table that prints: a row a field, with its value.

        Examples
        --------
        >>> print(Machine(grid=(2, 3)).table()[:2])
        [{'field': 'grid', 'value': (2, 3)}, {'field': 'topology', 'value': 'mesh'}]
        """
        return Records({"field": name, "value": value} for name, value in _leaves(self.to_dict()))

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def __str__(self) -> str:
        text = _core.machine_text(self.to_core())
        text += "" if self.io == "everywhere" else f", loads and stores at {self.io}"
        return text if self.energy is None else f"{text}, {self.energy}"


def _leaves(data: Mapping[str, Any], path: str = "") -> Iterable[tuple[str, Any]]:
    """Return the values of nested dicts, with the names that lead to them: ``link.depth``."""
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", tuple(value) if isinstance(value, list) else value


def _entries(field: str, table: object, example: str) -> Iterable[tuple[Any, Any]]:
    """Return the entries of a field that is a mapping."""
    return READER.mapping(f"machine `{field}`", table, f"a mapping, for example {example}").items()


def _broadcasts(broadcasts: object) -> FrozenDict:
    result = {}
    for axis, link in _entries("broadcasts", broadcasts, "{1: cy.Link(latency=4)}"):
        if not isinstance(link, Link):
            raise wrong_type(f"machine `broadcasts[{axis}]`", link, "a cy.Link(...)")
        result[integer("broadcasts dimension", axis, 0, MOST)] = link
    return FrozenDict(result)


def topology_text(topology: Topology | tuple[Topology, ...] | LinkMap | tuple[LinkMap, ...]) -> str:
    """Return ``torus``; with a word for each dimension ``torus×mesh``; or the link maps."""
    if isinstance(topology, str | LinkMap):
        return str(topology)
    maps = [str(one) for one in topology if isinstance(one, LinkMap)]
    return ", ".join(maps) if maps else "×".join(map(str, topology))


def _topology(
    topology: object, grid: tuple[int, ...] | None
) -> Topology | tuple[Topology, ...] | tuple[LinkMap, ...]:
    if isinstance(topology, LinkMap):
        return (topology,)
    if isinstance(topology, list | tuple) and topology and all(isinstance(one, LinkMap) for one in topology):
        return tuple(topology)
    each = tuple(topology) if isinstance(topology, list | tuple) else (topology,)
    for name in each or (topology,):
        one_of("topology", name, _TOPOLOGIES)
    if not isinstance(topology, list | tuple):
        return cast(Topology, topology)
    if grid and len(each) != len(grid):
        raise unfit(
            f"machine `topology` has {len(each)} dimensions, and the grid {len(grid)}",
            "give one for each dimension of the grid, or one for all",
        )
    return cast("Topology | tuple[Topology, ...]", each if len(set(each)) > 1 else each[0])


def _links(links: object) -> FrozenDict:
    result = {}
    for offset, link in _entries("links", links, "{(0, 1): cy.Link(latency=4)}"):
        field = f"links[{offset}]"
        if not isinstance(offset, tuple):
            raise wrong_type(f"machine `{field}`: the offset", offset, "a tuple, for example (0, 1)")
        if not isinstance(link, Link):
            raise wrong_type(f"machine `{field}`", link, "a cy.Link(...)")
        result[tuple(integer(field, step, -MOST, MOST) for step in offset)] = link
    return FrozenDict(result)


def _memories(memories: object) -> FrozenDict:
    result = {}
    for name, memory in _entries("memories", memories, '{"dram": cy.Memory()}'):
        if not isinstance(name, str):
            raise wrong_type("a name in machine `memories`", name, "a string")
        if not isinstance(memory, Memory):
            raise wrong_type(f'machine `memories["{name}"]`', memory, "a cy.Memory(...)")
        result[name] = memory
    return FrozenDict(result)


def _check_io(io: Io, memories: Mapping[str, Memory]) -> None:
    if io == "ports" and not memories:
        raise unfit(
            "machine `io` is 'ports', and no memory has any",
            'give memories with the PEs that they serve, `memories={"dram": cy.Memory(serves=":, 0")}`',
        )
    for name, memory in memories.items():
        if io == "edges" and memory.serves is not None:
            raise unfit(
                f"machine `io` is 'edges', and memory `{name}` serves ({memory.serves}) only",
                'give io="ports", where the PEs that memories serve load and store, or leave `serves` out',
            )
