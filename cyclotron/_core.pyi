"""The C++ core of Cyclotron."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

# Coefficients and constant of an affine form; it and its relation; a union of conjunctions of these.
_Affine = tuple[Sequence[int], int]
_Region = Sequence[Sequence[tuple[_Affine, str | int]]]
_Span = tuple[str, int, int, int, int, int]
_Schedule = tuple[
    Sequence[str],
    Sequence[str],
    Sequence[tuple[str, str, Sequence[str]]],
    Sequence[tuple[str, int, bool]],
    Sequence[tuple[str, Sequence[str]]],
    Sequence[tuple[str, int, str]],
    Sequence[tuple[str, Sequence[str]]],
    Sequence[tuple[str, int]],
    Sequence[str],
    Sequence[str],
    Sequence[tuple[str, int]],
]

class System:
    """A system of recurrence equations."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    idle_nests: list[list[str]]
    def __init__(self, kernel: str) -> None: ...
    def add_tensor(
        self,
        name: str,
        dtype: str,
        role: str,
        shape: Sequence[int],
        tile: Sequence[int] | None,
        span: _Span,
    ) -> int: ...
    def add_constant(self, value: int | complex, span: _Span) -> int: ...
    def add_index(self, form: _Affine, dtype: str, span: _Span) -> int: ...
    def add_access(self, tensor: int, index: Sequence[_Affine], span: _Span) -> int: ...
    def add_apply(self, op: str, operands: Sequence[int], flags: Sequence[str], span: _Span) -> int: ...
    def add_reduce(self, kind: str, index: str, domain: _Region, body: int, span: _Span) -> int: ...
    def add_equation(
        self,
        target: int,
        index: Sequence[_Affine],
        indices: Sequence[str],
        domain: _Region,
        expr: int,
        span: _Span,
    ) -> None: ...
    def expand(self, places: Sequence[tuple[Sequence[int], Sequence[bool]]]) -> None:
        """Take the equations as statements of a loop nest and make them recurrences."""

    def verify(self) -> None:
        """Prove single assignment, cover and bounds."""

    def __eq__(self, arg0: object, /) -> bool: ...

def dependences(system: System) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The statements of the loop nest that spells a system, and their dependences."""

def schedule_tree(system: System) -> tuple[str, str]:
    """isl's schedule tree of the statements, and the C code of its nest."""

class PeClass:
    """The program of all PEs in one region of the grid."""

    @property
    def name(self) -> str: ...
    @property
    def region(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def slots(self) -> list[dict[str, Any]]: ...
    @property
    def memory_bytes(self) -> int: ...
    @property
    def registers(self) -> int: ...
    @property
    def memory_map(self) -> str: ...
    @property
    def peak_flops_per_cycle(self) -> float: ...
    @property
    def lifetimes(self) -> list[list[tuple[int, int]]]: ...
    @property
    def loops(self) -> list[tuple[str, int, int]]: ...
    @property
    def footprint(self) -> dict[str, int | None]: ...
    @property
    def lines(self) -> list[tuple[str, int]]: ...
    @property
    def role(self) -> str: ...
    @property
    def tensors(self) -> list[str]: ...
    @property
    def instructions(self) -> int: ...

class Program:
    """A compiled program: PE classes, channels and tensors."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    @property
    def kernel(self) -> str: ...
    @property
    def grid(self) -> list[int]: ...
    @property
    def grid_names(self) -> list[str]: ...
    @property
    def notes(self) -> dict[str, str]: ...
    @property
    def machine(self) -> dict[str, Any]: ...
    @property
    def tensors(self) -> list[dict[str, Any]]: ...
    @property
    def channels(self) -> list[dict[str, Any]]: ...
    @property
    def endings(self) -> list[dict[str, Any]]: ...
    @property
    def sections(self) -> list[dict[str, Any]]: ...
    @property
    def control_place(self) -> list[int]: ...
    @property
    def control_distance(self) -> tuple[float, int]: ...
    @property
    def classes(self) -> list[PeClass]: ...
    def pe_counts(self) -> list[int]:
        """PEs in each class."""

    def class_of(self, coordinates: Sequence[int]) -> int | None:
        """Index of the class of the PE at these coordinates, or None."""

    def to_bytes(self) -> bytes:
        """The bytes of the program file."""

    def with_constants(self, values: Mapping[str, bytes]) -> Program:
        """The same program where inputs of these names are constants, of these bytes."""

    def without_constants(self) -> Program:
        """The same program where the constants are inputs."""

    @property
    def constants(self) -> dict[str, bytes]:
        """The bytes of the constants, by name."""

    def with_machine(self, machine: dict[str, Any]) -> Program:
        """The same program where operators, links and memories are another machine's."""

    def link(self, channel: int, sender: int) -> dict[str, int]:
        """A channel's link from the PE of that linear index; its depth is that of the queue."""

    def with_depths(self, depths: Sequence[int]) -> Program:
        """The same program where the channels have these depths; 0: the machine's."""

    @staticmethod
    def from_bytes(data: bytes) -> Program:
        """Read, check and return a program from file bytes."""

    def __eq__(self, arg0: object, /) -> bool: ...

class Dataflow:
    """Dataflow recurrences."""

    __hash__: ClassVar[None]  # type: ignore[assignment]
    @staticmethod
    def parse(text: str) -> Dataflow:
        """Read what str() wrote."""

    @property
    def kernel(self) -> str: ...
    @property
    def dims(self) -> list[str]: ...
    @property
    def spaces(self) -> list[dict[str, Any]]: ...
    @property
    def flows(self) -> list[dict[str, Any]]: ...
    @property
    def rules(self) -> list[dict[str, Any]]: ...
    @property
    def bounds(self) -> tuple[list[int], list[int]]: ...
    def space_points(self, space: int, least: Sequence[int], greatest: Sequence[int]) -> list[list[int]]:
        """Points of a space in a box."""

    def rule_points(self, rule: int, least: Sequence[int], greatest: Sequence[int]) -> list[list[int]]:
        """Points of a rule in a box."""

    def rule_arrows(
        self, rule: int, least: Sequence[int], greatest: Sequence[int]
    ) -> list[tuple[list[int], list[int]]]:
        """Moves of a rule into a box."""

    def __eq__(self, arg0: object, /) -> bool: ...

class Compiled:
    """All stages of one compilation."""

    @property
    def schedule(
        self,
    ) -> tuple[
        list[str],
        list[str],
        list[tuple[str, str, list[str]]],
        list[tuple[str, int, bool]],
        list[tuple[str, list[str]]],
        list[tuple[str, int, str]],
    ]: ...
    @property
    def schedule_chosen(self) -> bool: ...
    @property
    def system(self) -> System: ...
    @property
    def dataflow(self) -> Dataflow: ...
    @property
    def placed(self) -> Dataflow: ...
    @property
    def program(self) -> Program: ...
    @property
    def proofs(self) -> list[str]: ...
    @property
    def stages(self) -> list[tuple[str, float]]: ...

def compile(system: System, schedule: _Schedule | None, machine: dict[str, Any]) -> Compiled:
    """Compile recurrences to a verified program."""

PROOF_LIMIT: int
COMPILE_PROOF_LIMIT: int

def prove(program: Program, system: System | None, limit: int, other_terms: str = "") -> dict[str, Any]:
    """Check a program with the independent checker; without a system its terms are not checked."""

def least_depths(program: Program, limit: int) -> dict[str, Any]:
    """The least depths of each channel, without deadlock and without a stall."""

class Counters:
    """What each PE did; arrays over the grid, last dimension fastest."""

    def instructions(self) -> dict[str, NDArray[np.int64]]:
        """Executed, by kind."""
    def flops(self) -> NDArray[np.int64]:
        """Floating-point operations."""
    def words_loaded(self) -> NDArray[np.int64]:
        """Elements that LOADs read."""
    def words_stored(self) -> NDArray[np.int64]:
        """Elements that STOREs wrote."""
    def bytes_loaded(self) -> NDArray[np.int64]:
        """Their bytes."""
    def bytes_stored(self) -> NDArray[np.int64]:
        """Their bytes."""
    def words_sent(self, channel: int) -> NDArray[np.int64]:
        """Elements sent on a channel; of a broadcast those of one message."""
    def words_received(self, channel: int) -> NDArray[np.int64]:
        """Elements received from a channel."""

def simulate(
    program: Program,
    arrays: Sequence[NDArray[Any]],
    *,
    functional: bool = True,
    event_limit: int = 200_000,
    engine: str = "auto",
    threads: int = 0,
    progress: Callable[[float], bool] | None = None,
) -> dict[str, Any]:
    """Run on the cycle-accurate simulator; outputs are written into their arrays."""

def predict(
    program: Program,
    owners: Sequence[int],
    *,
    ranks: int,
    cores: int,
    progress: Callable[[float], bool] | None = None,
) -> dict[str, Any]:
    """Simulate the ranks that PEs are dealt out to, time alone."""

def run_local(
    program: Program,
    arrays: Sequence[NDArray[Any]],
    *,
    threads: int = 0,
    progress: Callable[[float], bool] | None = None,
) -> list[int]:
    """Run on threads of this process; outputs are written into their arrays.

    Returns the iterations left out of each loop that may end early.
    """

def rank_of_link_map(text: str) -> int:
    """Dimensions of the grid that a link map is for."""

def index_names(system: System) -> list[str]:
    """Every index of the kernel, outermost first."""

def verify_machine(machine: dict[str, Any]) -> None:
    """Raise ShapeError where programs cannot be compiled for the machine."""

def isl_version() -> str:
    """Version of isl."""

def blas_version() -> str:
    """The BLAS and how it was configured."""

def operators() -> list[tuple[str, int, str, list[tuple[str, str]]]]:
    """The registry: name, number of operands, kinds of dtypes, dtypes with the result's."""
