"""The MPI runtime of Cyclotron."""

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

def init() -> None:
    """Start MPI in this process, unless it is started; it ends when Python does."""

def initialized() -> bool:
    """Whether MPI is started."""

def world() -> int:
    """The Fortran handle of MPI_COMM_WORLD."""

def rank(communicator: int) -> int:
    """This process's rank."""

def size(communicator: int) -> int:
    """The number of ranks."""

def library_version() -> str:
    """The MPI that is loaded."""

def run(
    program: bytes,
    communicator: int,
    arrays: Sequence[NDArray[Any]],
    *,
    shared_outputs: bool = False,
    progress: Callable[[float], bool] | None = None,
) -> None:
    """Run on all ranks; outputs are written into their arrays on every rank."""
