"""Where ranks get an array from that is to be distributed: callables, which raise CyclotronError."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.errors import ExecutionError, ShapeError
from cyclotron.mpi.arena import MappedArrays


@dataclass(frozen=True, eq=False)
class Given:
    """What a caller passed: an array, or None where another rank has it."""

    array: NDArray[Any] | None

    def __call__(self) -> NDArray[Any]:
        if self.array is None:
            raise ShapeError(
                "this rank has no array", code="CYC734", help="pass it on every rank, or on one: root="
            )
        return self.array


@dataclass(frozen=True)
class File:
    """A ``.npy`` file, mapped: of it only what is looked at is read."""

    path: Path

    def __call__(self) -> NDArray[Any]:
        try:
            found: NDArray[Any] = np.load(self.path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            why = f": {error.strerror}" if isinstance(error, OSError) and error.strerror else ""
            raise ShapeError(
                f"`{self.path}` is no array that can be mapped{why}",
                code="CYC734",
                help="give the path of a .npy file of numbers: np.save(path, array)",
            ) from None
        return found


@dataclass(frozen=True)
class Mapped:
    """The only array of an arena."""

    arrays: MappedArrays

    def __call__(self) -> NDArray[Any]:
        try:
            return self.arrays.map()[0]
        except (OSError, ValueError) as error:
            raise not_mapped(error) from None


def not_mapped(error: Exception) -> ExecutionError:
    """Return the error of arrays that a rank cannot map."""
    return ExecutionError(
        f"the arrays cannot be mapped: {error}",
        code="CYC730",
        help="the ranks of a pool share this machine's memory; run on several machines under mpirun",
    )
