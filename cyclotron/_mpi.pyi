"""The MPI runtime of Cyclotron."""

from collections.abc import Callable, Sequence
from typing import Any, overload

from numpy.typing import NDArray

class Distributed:
    """A tensor of which each rank holds some tiles."""
    @overload
    def __init__(self) -> None:
        """An output, before the run."""
    @overload
    def __init__(self, array: NDArray[Any], tile: Sequence[int], owners: Sequence[int], rank: int) -> None:
        """This rank's tiles; `owners` is the rank of each, row-major."""
    def gather(self, array: NDArray[Any], communicator: int) -> None:
        """Collective: all tiles into the array of every rank."""
    def read(self, number: int, shape: Sequence[int]) -> NDArray[Any]:
        """A tile of this rank, without a copy and not to be written."""
    def redistribute(self, tile: Sequence[int], owners: Sequence[int], communicator: int) -> Distributed:
        """Collective: the same numbers in other tiles, on other ranks."""
    @property
    def owners(self) -> list[int]:
        """The rank of each tile, row-major; -1: none."""
    @property
    def tile(self) -> list[int]:
        """Scalars of a tile along each dimension."""

class Halo:
    """The tiles of an output that other ranks load as an input of the next run."""
    def __init__(
        self,
        program: bytes,
        output: int,
        input: int,
        deal: Sequence[tuple[int, int]] | None,
        communicator: int,
    ) -> None:
        """Collective."""
    def exchange(self, array: NDArray[Any], communicator: int) -> None:
        """Collective: into each rank's array."""
    @property
    def bytes(self) -> int:
        """Of all ranks, in an exchange."""
    @property
    def messages(self) -> int:
        """Of all ranks, in an exchange."""

def agree(bytes: bytes, communicator: int) -> bool:
    """Collective: tell whether all ranks pass the same bytes."""

def broadcast(bytes: bytes, root: int, communicator: int) -> bytes:
    """Collective: the root's bytes."""

def combine(array: NDArray[Any], communicator: int) -> None:
    """Collective: the bits of all ranks' arrays, or'ed, on every rank."""

def init() -> None:
    """Start MPI in this process, unless it is started; it ends when Python does."""

def initialized() -> bool:
    """Tell whether MPI is started."""

def library_version() -> str:
    """The MPI that is loaded."""

def rank(communicator: int) -> int:
    """This process's rank."""

def run(
    program: bytes,
    communicator: int,
    tensors: list[Any],
    *,
    shared_outputs: bool = False,
    share_memory: bool = True,
    deal: Sequence[tuple[int, int]] | None = None,
    event_limit: int = 0,
    loops: tuple[str, str] = ("", ""),
    seconds_to_look: float = 0.0005,
    progress: Callable[[float], bool] | None = None,
) -> list[dict[str, Any]]:
    """Run on all ranks; returns where the time of each went. `loops`: see `_core.run_local`."""

def size(communicator: int) -> int:
    """The number of ranks."""

def world() -> int:
    """The Fortran handle of MPI_COMM_WORLD."""
