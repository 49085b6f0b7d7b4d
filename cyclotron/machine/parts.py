"""The parts of a machine: links, functional units, processing elements, and the checks of their numbers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from cyclotron import _core
from cyclotron.support import records
from cyclotron.support.arguments import index_of, items_of
from cyclotron.support.dtypes import is_castable
from cyclotron.support.errors import CyclotronError, ShapeError

__all__ = ["PE", "UNBOUNDED", "Chiplets", "Control", "Link", "Unit"]

READER = records.Reader(ShapeError, "CYC402")

# A channel depth that no program fills.
UNBOUNDED = 1 << 30

# As the core: far beyond any hardware, and small enough that sums of a few never overflow.
MOST = 2**40
_MOST_MEMORY = 2**50
_MOST_OF_A_PASS = 2**16
# The least and the most of what a PE may have.
_COUNTS = {"registers": (0, 2**20), "banks": (1, 1024), "channels": (1, 2**20)}
# Of units, for advice: the usual ones first.
_ACCUMULATORS = ("int32", "int64", "float32", "float64", "complex128")
_KIB = 1024


def code(value: Any) -> str:
    """Return the code that rebuilds a part or a machine; fields that have their default are left out."""
    default = type(value)()
    given = [
        f"{field.name}={getattr(value, field.name)!r}"
        for field in dataclasses.fields(value)
        if getattr(value, field.name) != getattr(default, field.name)
    ]
    return f"cy.{type(value).__name__}({', '.join(given)})"


@dataclasses.dataclass(frozen=True, repr=False)
class Link:
    """One hop between neighbouring PEs: a bounded first-in-first-out channel.

    Parameters
    ----------
    latency : int
        Cycles from sending to arrival, at least 0; 0 where the hop and the operator whose result it carries
        are one stage of the pipeline, as in a chain of multiply-adds.
    response_latency : int
        Cycles from the removal of a message until the sender sees the free place, at least 0.
    words_per_cycle : int
        Elements a cycle, at least 1.
    depth : int
        Messages in flight or queued, at least 1; 2**30 or more is printed as unbounded.

    Raises
    ------
    ShapeError
        CYC402 if a field has the wrong type; CYC401 if a number is out of range.

    Examples
    --------
    >>> cy.Machine(link=cy.Link(latency=2, depth=4)).link.depth
    4
    """

    latency: int = records.field(default=1, unit="cycles")
    response_latency: int = records.field(default=1, unit="cycles")
    words_per_cycle: int = 1
    depth: int = 2

    def __post_init__(self) -> None:
        for field, least in (("latency", 0), ("response_latency", 0), ("words_per_cycle", 1), ("depth", 1)):
            set_integer(self, "link", field, least, MOST)

    __repr__ = code


@dataclasses.dataclass(frozen=True, repr=False)
class Chiplets:
    """Chips of equal blocks of PEs, the first one at the grid's origin: a lattice of chiplets on one die.

    Parameters
    ----------
    shape : tuple of int
        PEs of a chip along each dimension of the grid; chips at the far edges may be smaller.
    link : Link
        Of each hop from one chip to another, whatever its direction, instead of the machine's ``link`` or
        ``links``; by default 8 cycles.

    Raises
    ------
    ShapeError
        CYC402 if a field has the wrong type or the shape is empty; CYC401 if an extent is out of range.

    Examples
    --------
    >>> machine = cy.Machine(grid=(8, 8), chiplets=cy.Chiplets((4, 4), cy.Link(latency=8)))
    >>> machine.chiplets.link.latency
    8
    """

    shape: tuple[int, ...] = (4, 4)
    link: Link = dataclasses.field(default_factory=lambda: Link(latency=8))

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", extents("chiplets.shape", self.shape))
        if not self.shape:
            raise unfit(
                "machine `chiplets.shape` is empty",
                "give the PEs of a chip along each dimension of the grid, for example (4, 4)",
                code="CYC402",
            )
        if not isinstance(self.link, Link):
            raise wrong_type("machine `chiplets.link`", self.link, "a cy.Link(...)")

    __repr__ = code


@dataclasses.dataclass(frozen=True, repr=False)
class Control:
    """A controller in the middle of the grid, which calls the procedures of the PEs where loops end by data.

    A section is what a program does between two decisions: an iteration of a loop whose end depends on data,
    or what follows that loop (`Program.sections`). The controller decides by the value that the PE nearest to
    it has, then sends the calls of the next section to all PEs, each of which waits for those that it has
    part in and sets them up. Sections that wait for no value are sent ahead. Programs without such loops
    never use the controller. Without one, PEs decide for themselves at no cost, and so do
    those in loops that none leaves early, but that go on to their bound without changing anything
    (`Result.steps` tells).

    What control costs comes out of the programs of its PEs, `Program.control_system`, which the simulator
    runs beside those of the workers: the ways of the value, of the section's number and of each call and
    argument, queues that slow PEs fill, and the set-up of each call (`Section.calls`) when a PE has come
    to it. What the compiler fused into one nest of loops is one procedure, and so is a `with cy.fuse():`.
    MACH's paper (section 4.1) has about 10 cycles until a section leaves the controller, which the ways
    and the look-up of the section take where a hop takes one, and 50 to 60 for the set-up of an
    operation.

    Parameters
    ----------
    latency : int
        Cycles in which the executive decides by a value, besides those of all ways, at least 0.
    hop : int
        Cycles of a word from PE to PE, at least 0.
    setup : int
        Cycles in which a PE sets up one call, at least 0.
    pes : int
        Of its row, at most; at least 4. A program has two response PEs, and as many more as the tables of its
        calls need: 996 PEs of 48 KB have the 48 MB of the paper (section 4.1).
    global_data : bool
        The executive computes, and keeps, the flags that end loops and the scalars that only flags, results
        and other such scalars are made of, with their inputs and outputs: a PE class of its own, in a row of
        the grid after those of the workers. They send it what it needs, and it sends back what they read.

    Raises
    ------
    ShapeError
        CYC402 if a field has the wrong type; CYC401 if a number is out of range.

    Examples
    --------
    >>> cy.Machine(control=cy.Control(latency=10, hop=1, setup=55)).control.setup
    55
    """

    latency: int = records.field(default=0, unit="cycles")
    hop: int = records.field(default=1, unit="cycles")
    setup: int = records.field(default=55, unit="cycles")
    pes: int = 996
    global_data: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.global_data, bool):
            raise wrong_type("machine `control.global_data`", self.global_data, "True or False")
        for field, least in (("latency", 0), ("hop", 0), ("setup", 0), ("pes", 4)):
            set_integer(self, "control", field, least, MOST)

    __repr__ = code


@dataclasses.dataclass(frozen=True, repr=False)
class Unit:
    """A functional unit of a PE: what one pass works on at most, and how long it takes.

    An operator takes as many passes as cover its tiles, one begun every ``cycles``. With a ``latency`` the
    unit is pipelined: the PE goes on when the next pass could begin, and the result is there ``latency -
    cycles`` later. An instruction that reads or overwrites it waits until then, so that a chain of additions
    to one sum takes ``latency`` each, and additions to several sums in turn hide it.

    Parameters
    ----------
    shape : tuple of int
        Of a matrix unit ``(m, n, k)``: a pass multiplies an m×k by a k×n tile, and a product of tiles with
        M×N results that are sums of K takes ``ceil(M/m) * ceil(N/n) * ceil(K/k)`` passes. Of a vector unit
        ``(lanes,)``: a tile takes ``ceil(elements/lanes)``. Of a scalar unit ``()``: one pass.
    cycles : int
        From the start of a pass to that of the next, the initiation interval, from 1 to 2**16.
    latency : int, optional
        Cycles from the start of a pass to its result, from ``cycles`` to 2**16; None: ``cycles``.
    dtypes : tuple of str, optional
        The dtypes that it computes on, ``("int8", "uint8")``; a program that has it compute on another is
        refused (CYC406). None: all.
    accumulator : str, optional
        The dtype in which it adds up products of ``dtypes``, ``"int32"`` for example, which holds their
        values. It takes factors of ``dtypes`` that the program converts to this one, and does nothing else
        with, as they are: the conversion takes no cycle, unless ``PE.cycles`` names it, and no energy, and a
        multiplication costs the energy of the factors' dtype. Sums, and what else it does, may be in this
        dtype too. None: the operands'.

    Raises
    ------
    ShapeError
        CYC402 if a field has the wrong type; CYC401 if a number is out of range.

    Examples
    --------
    >>> cy.PE(matrix=cy.Unit(shape=(16, 16, 16), cycles=16)).matrix.cycles
    16
    >>> cy.Unit((16, 16, 16), dtypes=("int8",), accumulator="int32").dtypes
    ('int8',)
    """

    shape: tuple[int, ...] = ()
    cycles: int = 1
    latency: int | None = records.field(default=None, unit="cycles")
    dtypes: tuple[str, ...] | None = records.field(
        default=None, to_core=lambda given: list(given or ()), from_core=lambda names: tuple(names) or None
    )
    accumulator: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", extents("unit.shape", self.shape))
        set_integer(self, "unit", "cycles", 1, _MOST_OF_A_PASS)
        if self.latency is not None:
            set_integer(self, "unit", "latency", self.cycles, _MOST_OF_A_PASS)
        if self.dtypes is not None:
            object.__setattr__(self, "dtypes", _dtypes(self.dtypes))
        if self.accumulator is not None:
            object.__setattr__(self, "accumulator", _dtype("unit.accumulator", self.accumulator))
            _check_accumulator(self.dtypes, self.accumulator)

    __repr__ = code


UNITS = {"matrix": "m, n, k", "vector": "lanes,", "scalar": ""}  # what their shapes are


@dataclasses.dataclass(frozen=True, repr=False)
class PE:
    """A processing element.

    An operator costs the passes of the unit that runs it, as `Unit` says; without a unit it costs
    ``ceil(flops / flops_per_cycle)`` cycles, at least 1. With registers or banks it takes at least the cycles
    that the busiest bank needs for its words: those of its operands and of its result, so that an accumulator
    counts twice. Values in registers and constants need none. Messages, loads, stores and moves go through
    ports of their own and wait for no bank.

    Parameters
    ----------
    memory : int
        Bytes of local memory.
    flops_per_cycle : int
        Floating-point operations a cycle, of operators without a unit.
    cycles : mapping of str to int
        Cycles by operator name, for example ``{"divide": 12}``, instead of all that; 0 is allowed.
    matrix : Unit, optional
        Runs products of tiles (``A @ B``, ``A @ A.T``, accumulated or not).
    vector : Unit, optional
        Runs elementwise operators, on the elements of their result, and reductions of rows or columns, on the
        elements of their operand.
    scalar : Unit, optional
        Runs elementwise operators whose result is a single element, instead of the vector unit.
    registers : int, optional
        Words of the register file, each of one element of any dtype, up to 2**20. The values that operators
        use most, for each register that they take, live there instead of in the memory, whole tiles and
        arrays only; values that are not live together share registers: one that is sent on is dead. 0 and
        None: no registers.
    banks : int, optional
        Equal contiguous parts of the memory, each of which gives or takes a word a cycle, up to 1024. Values
        that operators use together are put in different banks where they fit; one that is larger than a bank
        is spread evenly over neighbouring ones, of n banks each gives ``ceil(words / n)``. None: one bank if
        there are ``registers``, else the memory costs operators nothing.
    channels : int, optional
        Different channels that a PE sends to or receives from at most, up to 2**20; on a machine with
        `Control`, two more where a loop's end depends on data, which bring control and arguments. None: any
        number. Where a program needs more in a PE, kinds of message over one link take turns on a channel, as
        deep as any, if all PEs could have received one's messages before any sends the next's: their order
        and their values stay, and no circle of waits arises. ``Program.channels`` tells which share.
    ports : mapping of str to int
        Most instructions that begin in one cycle, 1 to 1024, by what they do: ``"load"``, ``"store"``,
        ``"send"`` (broadcasts too), ``"receive"``, and ``"issue"``, all of these, moves and operators
        together: ``{"issue": 1}`` has each instruction take a cycle at least. What is left out has no limit.
    holds : sequence of str
        Sharers of the memory besides the program's values: ``"code"``, its instructions; ``"queues"``, those
        of the channels into the PE; ``"tensors"``, the elements of the tensors that the PE loads and stores,
        each tensor at one address in all PEs, where no `Memory` serves the PE. `Program.memory` tells all of
        them; a program whose PEs need more than ``memory`` for values and these is refused (CYC501), that of
        the controller too (`Control`).
    overlap : bool
        The matrix, the vector and the scalar unit work side by side: an operator begins, in the program's
        order, once its unit may begin another pass, and the PE goes on at once. An instruction still waits
        for the results that it reads, and before it overwrites what a unit reads. Operators without a unit
        hold the PE up as ever.

    Raises
    ------
    ShapeError
        CYC402 if a field has the wrong type; CYC401 if a number is out of range, or the memory is no multiple
        of its banks.

    Examples
    --------
    >>> cy.Machine(pe=cy.PE(memory=65536, cycles={"divide": 12})).pe.memory
    65536
    """

    memory: int = records.field(default=48 * _KIB, unit="bytes")
    flops_per_cycle: int = 2
    cycles: Mapping[str, int] = dataclasses.field(default_factory=dict)
    matrix: Unit | None = None
    vector: Unit | None = None
    scalar: Unit | None = None
    registers: int | None = None
    banks: int | None = None
    channels: int | None = None
    ports: Mapping[str, int] = dataclasses.field(default_factory=dict)
    overlap: bool = False
    holds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        set_integer(self, "pe", "memory", 1, _MOST_MEMORY)
        set_integer(self, "pe", "flops_per_cycle", 1, MOST)
        if not isinstance(self.cycles, Mapping):
            raise wrong_type("pe.cycles", self.cycles, 'a mapping, for example {"divide": 12}')
        costs: dict[str, int] = {}
        for name, value in self.cycles.items():
            if not isinstance(name, str):
                raise wrong_type("an operator in pe.cycles", name, "its name as a string")
            costs[name] = integer(f"pe.cycles[{name!r}]", value, 0, MOST)
        object.__setattr__(self, "cycles", FrozenDict(costs))
        for name, sizes in UNITS.items():
            if not isinstance(unit := getattr(self, name), Unit | None):
                wanted = f"a cy.Unit(shape=({sizes}), cycles=...), or None"
                raise wrong_type(f"machine `pe.{name}`", unit, wanted)
        for field, (least, most) in _COUNTS.items():
            if getattr(self, field) is not None:
                set_integer(self, "pe", field, least, most)
        object.__setattr__(self, "ports", _ports(self.ports))
        if not isinstance(self.overlap, bool):
            raise wrong_type("machine `pe.overlap`", self.overlap, "True or False")
        held = None if isinstance(self.holds, str | Mapping) else items_of(self.holds)
        if held is None or not all(isinstance(part, str) for part in held):
            raise wrong_type("machine `pe.holds`", self.holds, 'names, for example ("code", "queues")')
        object.__setattr__(self, "holds", tuple(held))
        _core.verify_machine(_core.Machine(pe=records.to_core(self)))

    __repr__ = code


class FrozenDict(dict[Any, Any]):
    """A dict that does not change, and hashes."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def _refuse(self, *_: object, **__: object) -> Any:
        raise TypeError("a machine does not change; use dataclasses.replace")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenDict, (dict(self),))


def wrong_type(what: str, value: object, wanted: str) -> CyclotronError:
    """Return the error of a value of another type (CYC402)."""
    return READER.wrong_type(what, value, wanted)


def unfit(message: str, help: str, code: str = "CYC401") -> ShapeError:
    """Return the error of a machine that there cannot be."""
    return ShapeError(message, code=code, help=help)


def integer(field: str, value: object, least: int, most: int) -> int:
    """Return an integer in a range; ShapeError of another type (CYC402) or outside of it (CYC401)."""
    number = None if isinstance(value, bool) else index_of(value)
    if number is None:
        raise wrong_type(f"machine `{field}`", value, "an integer")
    if not least <= number <= most:
        raise unfit(
            f"machine `{field}` is {number}, outside {least} .. {most}",
            f"give `{field}` a value of at least {least}" if number < least else f"give at most {most}",
        )
    return number


def one_of(field: str, name: object, names: Sequence[str]) -> None:
    """Refuse a name that is none of those that there are (CYC402)."""
    if not isinstance(name, str) or name not in names:
        raise unfit(f"machine `{field}` is {name!r}", f"it is one of: {', '.join(names)}", code="CYC402")


def positive(field: str, value: object, example: str = "1.2e9") -> float:
    """Return a positive number; ShapeError of another type (CYC402) or out of range (CYC401)."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise wrong_type(f"machine `{field}`", value, f"a number, for example {example}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not 0 < number < math.inf:
        raise unfit(
            f"machine `{field}` is {value}, not a positive number", f"give one, for example {example}"
        )
    return number


def extents(field: str, sizes: object) -> tuple[int, ...]:
    """Return counts along dimensions, each at least 1; ShapeError as `integer`."""
    items = None if isinstance(sizes, str | Mapping) else items_of(sizes)
    if items is None:
        raise wrong_type(f"machine `{field}`", sizes, "a tuple of integers, for example (4, 4)")
    return tuple(integer(f"{field}[{d}]", size, 1, MOST) for d, size in enumerate(items))


def _dtype(field: str, given: object) -> str:
    try:
        name = given if isinstance(given, str) else np.dtype(given).name  # type: ignore[call-overload]
    except (TypeError, ValueError):
        name = None
    if name not in _core.dtypes():
        raise wrong_type(f"machine `{field}`", given, f"one of: {', '.join(_core.dtypes())}")
    return str(name)


def _dtypes(given: object) -> tuple[str, ...]:
    names = given if isinstance(given, list | tuple) else (given,)
    if not names:
        raise unfit(
            "machine `unit.dtypes` is empty",
            'give those that it computes on, for example ("int8",), or None for all',
            code="CYC402",
        )
    return tuple(dict.fromkeys(_dtype("unit.dtypes", name) for name in names))


def _check_accumulator(dtypes: tuple[str, ...] | None, accumulator: str) -> None:
    if dtypes is None:
        raise unfit(
            f"machine `unit.accumulator` is {accumulator}, and `unit.dtypes` are all",
            'give those whose products it adds up, for example dtypes=("int8",)',
        )

    for dtype in dtypes:
        if not is_castable(dtype, accumulator):
            wide = next(
                (one for one in _ACCUMULATORS if all(is_castable(each, one) for each in dtypes)), dtype
            )
            raise unfit(
                f"machine `unit.accumulator` is {accumulator}, which does not hold all of {dtype}",
                f'give one that does, for example accumulator="{wide}"',
            )


def set_integer(target: object, prefix: str, field: str, least: int, most: int) -> None:
    """Set a field of a part to the integer that it was given; errors as `integer`."""
    object.__setattr__(target, field, integer(f"{prefix}.{field}", getattr(target, field), least, most))


def _ports(ports: object) -> FrozenDict:
    if not isinstance(ports, Mapping):
        raise wrong_type("machine `pe.ports`", ports, 'a mapping, for example {"receive": 2}')
    most = {str(kind): integer(f"pe.ports[{kind!r}]", ports[kind], 1, MOST) for kind in ports}
    return FrozenDict(dict(sorted(most.items())))
