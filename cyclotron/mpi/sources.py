"""Sources of an array that ranks are to hold: callables, which raise CyclotronError."""

from __future__ import annotations

import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.language.values.operators import DTYPES, USUAL_DTYPES
from cyclotron.mpi.arena import MappedArrays
from cyclotron.mpi.layout import unfit
from cyclotron.support.arguments import whole_number
from cyclotron.support.errors import ExecutionError


@dataclass(frozen=True, eq=False)
class Given:
    """An argument of the caller: an array, or None where another rank has it."""

    array: NDArray[Any] | None

    def __call__(self) -> NDArray[Any]:
        if self.array is None:
            raise unfit("this rank has no array", "pass it on every rank, or on one: root=")
        return self.array


@dataclass(frozen=True)
class File:
    """A ``.npy`` file, mapped: of it only what is looked at is read."""

    path: Path

    def __call__(self) -> NDArray[Any]:
        why = ""
        try:
            found: Any = np.load(self.path, mmap_mode="r", allow_pickle=False)
            if isinstance(found, np.ndarray):
                return found
            found.close()
            why = ": it is an archive of arrays"
        except (OSError, ValueError, EOFError, SyntaxError, tokenize.TokenError) as error:
            why = f": {error.strerror}" if isinstance(error, OSError) and error.strerror else ""
        raise unfit(
            f"`{self.path}` is no array that can be mapped{why}",
            "give the path of a .npy file of numbers: np.save(path, array)",
        )


@dataclass(frozen=True)
class Mapped:
    """The only array of an arena."""

    arrays: MappedArrays

    def __call__(self) -> NDArray[Any]:
        try:
            return self.arrays.map()[0]
        except (OSError, ValueError) as error:
            raise not_mapped(error) from None


def require_numbers(array: NDArray[Any]) -> None:
    """Raise `ShapeError` CYC734 where an array has no axis, or not numbers that programs have."""
    if array.dtype.name not in DTYPES or array.ndim == 0:
        raise unfit(
            f"an array of shape {array.shape} and dtype {array.dtype} is not distributed",
            f"it has at least one dimension, and one of the dtypes {', '.join(USUAL_DTYPES)}",
        )


def rank_among(root: Any, ranks: int) -> int:
    """Return the rank that has an array; raise `ExecutionError` CYC733 where there is no such rank."""
    return whole_number("root", root, code="CYC733", least=0, most=ranks - 1)


def not_mapped(error: Exception) -> ExecutionError:
    """Return the error of arrays that a rank cannot map."""
    return ExecutionError(
        f"the arrays cannot be mapped: {error}",
        code="CYC730",
        help="the ranks of a pool share this machine's memory; run on several machines under mpirun",
    )
