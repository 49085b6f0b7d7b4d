"""The C++ core of Cyclotron."""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Annotated, Any, ClassVar

import numpy
from numpy.typing import ArrayLike, NDArray

class Operator:
    """An operator of scalars and tiles."""
    def result_shape(self, operands: Sequence[tuple[int, int]], flags: Sequence[str] = ()) -> tuple[int, int]:
        """Rows and columns of the result, from those of the operands."""
    @property
    def accumulating(self) -> bool:
        """The first operand is an accumulator."""
    @property
    def arity(self) -> int: ...
    @property
    def dtypes(self) -> dict[str, str]:
        """Dtypes that have it, each with the result's."""
    @property
    def family(self) -> str:
        """Its shape rule: elementwise, product, solve, reduction and others."""
    @property
    def kinds(self) -> str:
        """NumPy's letters of the dtypes that have it."""
    @property
    def name(self) -> str: ...
    @property
    def numpy(self) -> str:
        """Its meaning in NumPy, over `a` and `b`."""
    @property
    def symbol(self) -> str:
        """Infix symbol, or empty."""
    @property
    def typing(self) -> str:
        """The rule of the result's dtype: same, truth, select, part or cast."""

class Link:
    """One hop between neighbouring PEs."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(
        self,
        *,
        latency_cycles: int = 1,
        response_latency_cycles: int = 1,
        words_per_cycle: int = 1,
        depth: int = 2,
    ) -> None: ...
    @property
    def depth(self) -> int: ...
    @property
    def latency_cycles(self) -> int: ...
    @property
    def response_latency_cycles(self) -> int: ...
    @property
    def words_per_cycle(self) -> int: ...

class LinkMap:
    """Links from each PE to the one that a map names."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(self, *, map: str = "", link: Link | None = None) -> None: ...
    @property
    def link(self) -> Link | None: ...
    @property
    def map(self) -> str: ...

class Chiplets:
    """Chips of equal blocks of PEs."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(self, *, shape: Sequence[int] = [], link: Link = ...) -> None: ...
    @property
    def link(self) -> Link: ...
    @property
    def shape(self) -> list[int]: ...

class Unit:
    """A functional unit of a PE."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(
        self,
        *,
        shape: Sequence[int] = [],
        cycles: int = 1,
        latency_cycles: int | None = None,
        dtypes: Sequence[str] = [],
        accumulator: str | None = None,
    ) -> None: ...
    @property
    def accumulator(self) -> str | None: ...
    @property
    def cycles(self) -> int: ...
    @property
    def dtypes(self) -> list[str]: ...
    @property
    def latency_cycles(self) -> int | None: ...
    @property
    def shape(self) -> list[int]: ...

class PE:
    """A processing element."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(
        self,
        *,
        memory_bytes: int = 49152,
        flops_per_cycle: int = 2,
        cycles: Mapping[str, int] = {},
        matrix: Unit | None = None,
        vector: Unit | None = None,
        scalar: Unit | None = None,
        registers: int | None = None,
        banks: int | None = None,
        channels: int | None = None,
        ports: Mapping[str, int] = {},
        overlap: bool = False,
        holds: Sequence[str] = [],
    ) -> None: ...
    @property
    def banks(self) -> int | None: ...
    @property
    def channels(self) -> int | None: ...
    @property
    def cycles(self) -> dict[str, int]: ...
    @property
    def flops_per_cycle(self) -> int: ...
    @property
    def holds(self) -> list[str]: ...
    @property
    def matrix(self) -> Unit | None: ...
    @property
    def memory_bytes(self) -> int: ...
    @property
    def overlap(self) -> bool: ...
    @property
    def ports(self) -> dict[str, int]: ...
    @property
    def registers(self) -> int | None: ...
    @property
    def scalar(self) -> Unit | None: ...
    @property
    def vector(self) -> Unit | None: ...

class Slice:
    """Coordinates as of a Python slice."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(self, *, first: int = 0, last: int | None = None, step: int = 1) -> None: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int | None: ...
    @property
    def step(self) -> int: ...

class Dram:
    """Banks of DRAM."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(
        self,
        *,
        banks: int = 16,
        row_bytes: int = 8192,
        activate_cycles: int = 0,
        precharge_cycles: int = 0,
        open_cycles: int = 0,
        recovery_cycles: int = 0,
        turnaround_cycles: int = 0,
        interval_cycles: int = 0,
        refresh_cycles: int = 0,
    ) -> None: ...
    @property
    def activate_cycles(self) -> int: ...
    @property
    def banks(self) -> int: ...
    @property
    def interval_cycles(self) -> int: ...
    @property
    def open_cycles(self) -> int: ...
    @property
    def precharge_cycles(self) -> int: ...
    @property
    def recovery_cycles(self) -> int: ...
    @property
    def refresh_cycles(self) -> int: ...
    @property
    def row_bytes(self) -> int: ...
    @property
    def turnaround_cycles(self) -> int: ...

class Memory:
    """A memory outside the PEs."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(
        self,
        *,
        bandwidth_words_per_cycle: int = 1,
        latency_cycles: int = 1,
        depth: int = 2,
        serves: Sequence[Sequence[Slice]] = [],
        shared_by: Sequence[int] = [],
        size_bytes: int | None = None,
        dram: Dram | None = None,
    ) -> None: ...
    @property
    def bandwidth_words_per_cycle(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def dram(self) -> Dram | None: ...
    @property
    def latency_cycles(self) -> int: ...
    @property
    def serves(self) -> list[list[Slice]]: ...
    @property
    def shared_by(self) -> list[int]: ...
    @property
    def size_bytes(self) -> int | None: ...

class Control:
    """The controller of loops whose ends depend on data."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(
        self,
        *,
        latency_cycles: int = 0,
        hop_cycles: int = 1,
        setup_cycles: int = 55,
        pes: int = 996,
        global_data: bool = False,
    ) -> None: ...
    @property
    def global_data(self) -> bool: ...
    @property
    def hop_cycles(self) -> int: ...
    @property
    def latency_cycles(self) -> int: ...
    @property
    def pes(self) -> int: ...
    @property
    def setup_cycles(self) -> int: ...

class Machine:
    """The target; an empty grid is as large as the program needs."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(
        self,
        *,
        grid: Sequence[int] = [],
        topology: Sequence[str] = ["mesh"],
        link_maps: Sequence[LinkMap] = [],
        link: Link = ...,
        broadcast: Link = ...,
        pe: PE = ...,
        links: dict[tuple[int, ...], Link] = {},
        memories: Mapping[str, Memory] = {},
        clock_hz: float | None = None,
        broadcasts: Mapping[int, Link] = {},
        spread: str = "constant",
        chiplets: Chiplets | None = None,
        control: Control | None = None,
        shared_links: bool = False,
    ) -> None: ...
    @property
    def broadcast(self) -> Link: ...
    @property
    def broadcasts(self) -> dict[int, Link]: ...
    @property
    def chiplets(self) -> Chiplets | None: ...
    @property
    def clock_hz(self) -> float | None: ...
    @property
    def control(self) -> Control | None: ...
    @property
    def grid(self) -> list[int]: ...
    @property
    def link(self) -> Link: ...
    @property
    def link_maps(self) -> list[LinkMap]: ...
    @property
    def links(self) -> dict[tuple[int, ...], Link]: ...
    @property
    def memories(self) -> dict[str, Memory]: ...
    @property
    def pe(self) -> PE: ...
    @property
    def shared_links(self) -> bool: ...
    @property
    def spread(self) -> str: ...
    @property
    def topology(self) -> list[str]: ...

class Network:
    """Routers between the nodes of a grid."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(
        self,
        *,
        topology: str = "mesh",
        shape: Sequence[int] = [8, 8],
        routing: str = "xy",
        switching: str = "wormhole",
        router_latency_cycles: int = 3,
        link_latency_cycles: int = 1,
        credit_latency_cycles: int = 1,
        virtual_channels: int = 2,
        depth: int = 8,
    ) -> None: ...
    @property
    def credit_latency_cycles(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def link_latency_cycles(self) -> int: ...
    @property
    def router_latency_cycles(self) -> int: ...
    @property
    def routing(self) -> str: ...
    @property
    def shape(self) -> list[int]: ...
    @property
    def switching(self) -> str: ...
    @property
    def topology(self) -> str: ...
    @property
    def virtual_channels(self) -> int: ...

class System:
    """A system of recurrence equations."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(self, kernel: str) -> None: ...
    def __str__(self) -> str: ...
    def add_access(
        self,
        tensor: int,
        index: Sequence[tuple[Sequence[int], int]],
        span: tuple[str, int, int, int, int, int],
    ) -> int: ...
    def add_apply(
        self,
        op: str,
        operands: Sequence[int],
        flags: Sequence[str],
        span: tuple[str, int, int, int, int, int],
    ) -> int: ...
    def add_constant(self, value: int | int | complex, span: tuple[str, int, int, int, int, int]) -> int: ...
    def add_equation(
        self,
        target: int,
        index: Sequence[tuple[Sequence[int], int]],
        indices: Sequence[str],
        domain: Sequence[Sequence[tuple[tuple[Sequence[int], int], str | int]]],
        expr: int,
        span: tuple[str, int, int, int, int, int],
    ) -> None: ...
    def add_index(
        self, form: tuple[Sequence[int], int], dtype: str, span: tuple[str, int, int, int, int, int]
    ) -> int: ...
    def add_reduce(
        self,
        kind: str,
        index: str,
        domain: Sequence[Sequence[tuple[tuple[Sequence[int], int], str | int]]],
        body: int,
        any_order: bool,
        span: tuple[str, int, int, int, int, int],
    ) -> int: ...
    def add_tensor(
        self,
        name: str,
        dtype: str,
        role: str,
        shape: Sequence[int],
        tile: Sequence[int] | None,
        span: tuple[str, int, int, int, int, int],
        variable: str = "",
    ) -> int: ...
    def assigns_once(self) -> bool:
        """Return whether no element is assigned twice: else the equations are statements of a loop nest."""
    def expand(self, places: Sequence[tuple[Sequence[int], Sequence[bool]]], required: bool = True) -> bool:
        """Make loop nests recurrences; tell if it was done."""
    def fill_tiles(self) -> dict[str, list[int]]:
        """Make numbers that operators read as tiles tiles; return the shapes of masks that are all true."""
    def split_strides(self) -> None:
        """Make equations that read elements of several strides one for each."""
    def verify(self) -> None:
        """Prove single assignment, cover and bounds."""
    @property
    def idle_nests(self) -> list[list[str]]: ...
    @idle_nests.setter
    def idle_nests(self, arg0: Sequence[Sequence[str]]) -> None: ...

class TileClass:
    """Tiles of a tensor that the same operators compute."""
    @property
    def equation(self) -> str: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def operators(self) -> list[str]: ...
    @property
    def reason(self) -> str: ...
    @property
    def tensor(self) -> str: ...
    @property
    def tiles(self) -> str: ...

class IndexClass:
    """Indices whose tiles have one length."""
    @property
    def extent(self) -> int: ...
    @property
    def indices(self) -> list[str]: ...
    @property
    def reason(self) -> str: ...
    @property
    def tile(self) -> int: ...

class MaskInput:
    """A constant input that keeps a triangle of tiles."""
    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> list[int]: ...

class Blocking:
    """A kernel in tiles."""
    @property
    def classes(self) -> list[TileClass]: ...
    @property
    def complete(self) -> bool: ...
    @property
    def indices(self) -> list[IndexClass]: ...
    @property
    def masks(self) -> list[MaskInput]: ...
    @property
    def system(self) -> System: ...

class Movement:
    """The movement of one tensor."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(self, *, tensor: str = "", kind: str = "stream", along: Sequence[str] = []) -> None: ...
    @property
    def along(self) -> list[str]: ...
    @property
    def kind(self) -> str: ...
    @property
    def tensor(self) -> str: ...

class Fold:
    """A grid dimension shared out over fewer PEs."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(self, *, dimension: str = "", kind: str = "block", parts: int = 1) -> None: ...
    @property
    def dimension(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def parts(self) -> int: ...

class Rotation:
    """A reduction index that starts where its PE is."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(self, *, index: str = "", by: Sequence[str] = []) -> None: ...
    @property
    def by(self) -> list[str]: ...
    @property
    def index(self) -> str: ...

class Reassociation:
    """A reduction in blocks."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(self, *, index: str = "", parts: int = 1, into: str = "") -> None: ...
    @property
    def index(self) -> str: ...
    @property
    def into(self) -> str: ...
    @property
    def parts(self) -> int: ...

class Place:
    """The PEs in which an input lies before the run."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(self, *, tensor: str = "", at: Sequence[str] = []) -> None: ...
    @property
    def at(self) -> list[str]: ...
    @property
    def tensor(self) -> str: ...

class PanelCount:
    """A time index cut into panels."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(self, *, index: str = "", count: int = 1) -> None: ...
    @property
    def count(self) -> int: ...
    @property
    def index(self) -> str: ...

class Reduction:
    """A reduction in a tree; of radix 0, in two phases."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(self, *, index: str = "", radix: int = 2) -> None: ...
    @property
    def index(self) -> str: ...
    @property
    def radix(self) -> int: ...

class Schedule:
    """The place and time of a kernel's points, and the movements of its tensors."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(
        self,
        *,
        space_indices: Sequence[str] = [],
        time_indices: Sequence[str] = [],
        movements: Sequence[Movement] = [],
        folds: Sequence[Fold] = [],
        rotations: Sequence[Rotation] = [],
        reassociations: Sequence[Reassociation] = [],
        places: Sequence[Place] = [],
        panel_counts: Sequence[PanelCount] = [],
        inward_indices: Sequence[str] = [],
        descending_indices: Sequence[str] = [],
        stage_indices: Sequence[str] = [],
        reductions: Sequence[Reduction] = [],
        is_serpentine: bool = False,
    ) -> None: ...
    @property
    def descending_indices(self) -> list[str]: ...
    @property
    def folds(self) -> list[Fold]: ...
    @property
    def inward_indices(self) -> list[str]: ...
    @property
    def is_serpentine(self) -> bool: ...
    @property
    def movements(self) -> list[Movement]: ...
    @property
    def panel_counts(self) -> list[PanelCount]: ...
    @property
    def places(self) -> list[Place]: ...
    @property
    def reassociations(self) -> list[Reassociation]: ...
    @property
    def reductions(self) -> list[Reduction]: ...
    @property
    def rotations(self) -> list[Rotation]: ...
    @property
    def space_indices(self) -> list[str]: ...
    @property
    def stage_indices(self) -> list[str]: ...
    @property
    def time_indices(self) -> list[str]: ...

class Dataflow:
    """Dataflow recurrences."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    @staticmethod
    def parse(text: str) -> Dataflow:
        """Read what str() wrote."""
    def __eq__(self, arg0: object, /) -> bool: ...
    def __str__(self) -> str: ...
    def rule_arrows(
        self, rule: int, least: Sequence[int], greatest: Sequence[int]
    ) -> list[tuple[list[int], list[int]]]:
        """Moves of a rule into a box."""
    def rule_points(self, rule: int, least: Sequence[int], greatest: Sequence[int]) -> list[list[int]]:
        """Points of a rule in a box."""
    def space_points(self, space: int, least: Sequence[int], greatest: Sequence[int]) -> list[list[int]]:
        """Points of a space in a box."""
    @property
    def bounds(self) -> tuple[list[int], list[int]]: ...
    @property
    def dims(self) -> list[str]: ...
    @property
    def flows(self) -> list[dict[str, Any]]: ...
    @property
    def kernel(self) -> str: ...
    @property
    def rules(self) -> list[dict[str, Any]]: ...
    @property
    def spaces(self) -> list[dict[str, Any]]: ...

class PeClass:
    """The program of all PEs in one region of the grid."""
    def __str__(self) -> str: ...
    @property
    def footprint(self) -> dict[str, int | None]: ...
    @property
    def instructions(self) -> int: ...
    @property
    def lifetimes(self) -> list[list[tuple[int, int]]]: ...
    @property
    def lines(self) -> list[tuple[str, int]]: ...
    @property
    def loops(self) -> list[tuple[str, int, int]]: ...
    @property
    def memory_bytes(self) -> int: ...
    @property
    def memory_map(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def peak_flops_per_cycle(self) -> float: ...
    @property
    def region(self) -> str: ...
    @property
    def registers(self) -> int: ...
    @property
    def role(self) -> str: ...
    @property
    def slots(self) -> list[dict[str, Any]]: ...
    @property
    def tensors(self) -> list[str]: ...
    @property
    def text(self) -> str: ...

class Program:
    """A compiled program: PE classes, channels and tensors."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    @staticmethod
    def from_bytes(data: bytes) -> Program:
        """Read, check and return a program from file bytes."""
    def __eq__(self, arg0: object, /) -> bool: ...
    def __str__(self) -> str: ...
    def class_of(self, coordinates: Sequence[int]) -> int | None:
        """Index of the class of the PE at these coordinates, or None."""
    def control_system(self) -> Program:
        """The program of the control system; ValueError where no PE waits for a controller."""
    def link(self, channel: int, sender: int) -> Link:
        """A channel's link from the PE of that linear index; its depth is that of the queue."""
    def pe_counts(self) -> list[int]:
        """PEs in each class."""
    def to_bytes(self) -> bytes:
        """The bytes of the program file."""
    def with_constants(self, values: Mapping[str, bytes]) -> Program:
        """The same program where inputs of these names are constants, of these bytes."""
    def with_depths(self, depths: Sequence[int]) -> Program:
        """The same program where the channels have these depths; 0: the machine's."""
    def with_machine(self, machine: Machine) -> Program:
        """The same program where operators, links and memories are another machine's."""
    def without_constants(self) -> Program:
        """The same program where the constants are inputs."""
    @property
    def channels(self) -> list[dict[str, Any]]: ...
    @property
    def class_map(self) -> NDArray[numpy.uint32]:
        """Index of each PE's class; 2^32 - 1 of those without one."""
    @property
    def classes(self) -> list[PeClass]: ...
    @property
    def constants(self) -> dict[str, bytes]:
        """The bytes of the constants, by name."""
    @property
    def control_distance(self) -> tuple[float, int]: ...
    @property
    def control_place(self) -> list[int]: ...
    @property
    def endings(self) -> list[dict[str, Any]]: ...
    @property
    def grid(self) -> list[int]: ...
    @property
    def grid_names(self) -> list[str]: ...
    @property
    def is_bounded_by_numbers(self) -> bool: ...
    @property
    def kernel(self) -> str: ...
    @property
    def machine(self) -> Machine: ...
    @property
    def notes(self) -> dict[str, str]: ...
    @property
    def sections(self) -> list[dict[str, Any]]: ...
    @property
    def tensors(self) -> list[dict[str, Any]]: ...

class Compiled:
    """All stages of one compilation."""
    @property
    def channel_flows(self) -> list[str]: ...
    @property
    def dataflow(self) -> Dataflow: ...
    @property
    def lost_loops(self) -> list[Any]: ...
    @property
    def placed(self) -> Dataflow: ...
    @property
    def program(self) -> Program: ...
    @property
    def proofs(self) -> list[str]: ...
    @property
    def schedule(self) -> Schedule: ...
    @property
    def schedule_chosen(self) -> bool: ...
    @property
    def stages(self) -> list[tuple[str, float]]: ...
    @property
    def system(self) -> System: ...
    @property
    def warning(self) -> Any | None: ...

class OperationGraph:
    """Operators point by point, with what each waits for."""
    def __len__(self) -> int: ...
    def least_time(
        self,
        pes: Annotated[ArrayLike, numpy.int64],
        *,
        distance: str,
        hop: int,
        at_most: int,
        words_per_cycle: int = 4611686018427387904,
        memories_of: Machine | None = None,
        ordered: bool = True,
        onwards: Sequence[int] = [],
        passed_on: bool = False,
    ) -> int:
        """Cycles that no program goes below whose operators run in these PEs."""
    @property
    def kinds(self) -> list[dict[str, Any]]:
        """Of those that no schedule moves, indices, points and nodes."""

class Counters:
    """Activity of each PE; arrays over the grid, last dimension fastest."""
    def amounts(self) -> list[Any]:
        """Uses of energy: operations, and words read, written, loaded and stored, by slot or tensor."""
    def bytes_loaded(self) -> NDArray[numpy.int64]:
        """Their bytes."""
    def bytes_stored(self) -> NDArray[numpy.int64]:
        """Their bytes."""
    def flops(self) -> NDArray[numpy.int64]:
        """Floating-point operations."""
    def instructions(self) -> dict[str, NDArray[numpy.int64]]:
        """Executed, by kind."""
    def words_loaded(self) -> NDArray[numpy.int64]:
        """Elements that LOADs read."""
    def words_received(self, channel: int) -> NDArray[numpy.int64]:
        """Elements received from a channel."""
    def words_resident(self) -> NDArray[numpy.int64]:
        """Elements that LOADs and STOREs moved within PEs."""
    def words_sent(self, channel: int) -> NDArray[numpy.int64]:
        """Elements sent on a channel; of a broadcast those of one message."""
    def words_stored(self) -> NDArray[numpy.int64]:
        """Elements that STOREs wrote."""

class Traffic:
    """Packets of one size that nodes send at random."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __eq__(self, arg0: object, /) -> bool: ...
    def __init__(
        self,
        *,
        pattern: str = "uniform",
        packet_flits: int = 1,
        hotspot: float = 0.1,
        seed: int = 0,
        warmup_cycles: int = 1000,
        measured_cycles: int = 10000,
    ) -> None: ...
    @property
    def hotspot(self) -> float: ...
    @property
    def measured_cycles(self) -> int: ...
    @property
    def packet_flits(self) -> int: ...
    @property
    def pattern(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def warmup_cycles(self) -> int: ...

def blas_version() -> str:
    """The BLAS and how it was configured."""

def block(system: System, all: int, by_index: Mapping[str, int]) -> Blocking:
    """Block recurrences on scalars."""

def bounds(
    variables: int, region: Sequence[Sequence[tuple[tuple[Sequence[int], int], str | int]]], variable: int
) -> tuple[int, int] | None:
    """Return the least and the largest value of a variable; None where there is none."""

def compile(
    system: System, schedule: Schedule | None, machine: Machine, most_operations: int = 40000000
) -> Compiled:
    """Compile recurrences to a verified program, in so many operations of integer sets."""

def compile_loops(program: Program, arrays: Sequence[NDArray[Any]], loops: tuple[str, str]) -> int:
    """Compile the loops of a run at once; return how many there are, 0 where the compiler fails."""

def dependences(system: System) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The statements of the loop nest that spells a system, and their dependences."""

def dtypes() -> list[str]:
    """NumPy's names of the dtypes that elements have."""

def equations_to_lower(system: System, kernel: System) -> System | None:
    """The equations that are compiled; None where that depends on the schedule."""

def fetch_cycles(program: Program, tensor: int, *, progress: Callable[[float], bool] | None = None) -> int:
    """Simulate the STOREs of a resident output alone."""

def first_pe(
    program: Program,
    *,
    pe_class: int | None,
    inside: Sequence[Sequence[Slice]],
    outside: Sequence[Sequence[Slice]],
) -> list[int] | None:
    """Return the first PE of a class, or of all if it is None, in one of some boxes and in none of others."""

def has_gap(
    variables: int, region: Sequence[Sequence[tuple[tuple[Sequence[int], int], str | int]]], variable: int
) -> bool:
    """Return whether a variable skips values between others; True, too, where that takes long to tell."""

def index_names(system: System) -> list[str]:
    """Every index of the kernel, outermost first."""

def indices_in_any_order(system: System) -> list[str]:
    """The indices whose reductions do not mind the order of their terms."""

def is_empty(variables: int, region: Sequence[Sequence[tuple[tuple[Sequence[int], int], str | int]]]) -> bool:
    """Return whether a region has no point; False, too, where that takes long to tell."""

def isl_version() -> str:
    """Version of isl."""

def least_depths(program: Program, limit: int) -> dict[str, Any]:
    """The least depths of each channel, without deadlock and without a stall."""

def machine_text(machine: Machine) -> str:
    """The machine in one line."""

def network_deliver(network: Network, packets: Annotated[ArrayLike, numpy.int64]) -> NDArray[numpy.int64]:
    """Cycles from which on packets are there: rows of cycle, source, destination, flits."""

def network_saturation(network: Network, traffic: Traffic) -> float:
    """The highest rate at which latencies are at most three times those without load."""

def network_traffic(network: Network, traffic: Traffic, rates: Sequence[float]) -> list[dict[str, Any]]:
    """Measures of a network under traffic at each rate."""

def operation_graph(system: System, machine: Machine, *, most: int) -> OperationGraph | None:
    """The operators of a system point by point; None where there are more points than that."""

def operations_by_place(system: System, machine: Machine, space: Sequence[str]) -> list[dict[str, Any]]:
    """The number of operations of a system at each place, and the cycles of each at least."""

def operator_places(system: System, graph: OperationGraph, space: Sequence[str]) -> list[dict[str, Any]]:
    """The coordinates of operators, in each way to place equations that lack an index."""

def operators() -> list[Operator]:
    """The registry."""

def pass_edge(system: System, tensors: Set[str], index: str, last: bool) -> System | None:
    """The system with copies of inputs and outputs at an edge of the grid, or None."""

def placements(system: System, grid: Sequence[int]) -> list[tuple[list[str], float, float, bool]]:
    """Placements without a schedule, defaults first: space, cycles and PEs, if these take turns."""

def predict(
    program: Program,
    owners: Sequence[int],
    *,
    ranks: int,
    cores: int,
    progress: Callable[[float], bool] | None = None,
) -> dict[str, Any]:
    """Simulate the ranks that PEs are dealt out to, time alone."""

def project(
    variables: int,
    region: Sequence[Sequence[tuple[tuple[Sequence[int], int], str | int]]],
    keep: Sequence[int],
) -> list[list[tuple[tuple[list[int], int], str | int]]] | None:
    """Return the region of the variables to keep; None where it is no union of conjunctions."""

def prove(program: Program, system: System | None, limit: int, other_terms: str = "") -> dict[str, Any]:
    """Check a program with the independent checker; without a system its terms are not checked."""

def rank_of_link_map(text: str) -> int:
    """Dimensions of the grid that a link map is for."""

def reorder_reductions(system: System, schedule: Schedule, machine: Machine) -> System:
    """The recurrences that a program of this schedule computes."""

def require_room(program: Program, resident: Sequence[int]) -> None:
    """Raise CapacityError where PEs have no room for tensors, by number, besides their programs."""

def run_local(
    program: Program,
    arrays: Sequence[NDArray[Any]],
    *,
    threads: int = 0,
    loops: tuple[str, str] = ("", ""),
    seconds_to_look: float = 0.0005,
    progress: Callable[[float], bool] | None = None,
) -> tuple[list[int], int]:
    """
    Run on threads of this process; outputs are written into their arrays.

    `loops` are the command that compiles those that take long, and the folder that keeps them; empty: none.
    Returns the iterations left out of each loop that may end early, and the exceptions of IEEE 754 that
    arithmetic raised, as NumPy numbers them.
    """

def schedule_text(schedule: Schedule) -> str:
    """The schedule in one line."""

def schedule_tree(system: System) -> tuple[str, str]:
    """isl's schedule tree of the statements, and the C code of its nest."""

def simulate(
    program: Program,
    arrays: Sequence[NDArray[Any]],
    *,
    functional: bool = True,
    event_limit: int = 200000,
    engine: str = "auto",
    threads: int = 0,
    steps: Sequence[int] = [],
    resident: Sequence[int] = [],
    most_work: int = 0,
    progress: Callable[[float], bool] | None = None,
) -> dict[str, Any]:
    """Run on the cycle-accurate simulator; outputs are written into their arrays."""

def unassigned(
    extents: Sequence[int],
    assignments: Sequence[
        tuple[
            Sequence[tuple[Sequence[int], int]],
            Sequence[Sequence[tuple[tuple[Sequence[int], int], str | int]]],
            int,
        ]
    ],
) -> list[list[tuple[tuple[list[int], int], str | int]]] | None:
    """Return the elements that no assignment (subscripts, domain, count of loops) reaches, or None."""

def values_along(system: System, space: Sequence[str]) -> list[tuple[int, int, bool] | None]:
    """The first value of each form, how many there are, and if a reduction's result may lie beyond."""

def vector_order(system: System, sums: Set[str]) -> list[str]:
    """The order of loops whose innermost one runs in vectors; empty where the text's is as good."""

def verify_machine(machine: Machine) -> None:
    """Raise ShapeError where programs cannot be compiled for the machine."""

def verify_network(network: Network) -> None:
    """Raise ShapeError where there cannot be such a network."""

ANYWHERE: int = -9223372036854775808
COMPILE_PROOF_LIMIT: int = 20000
PROOF_LIMIT: int = 8388608
