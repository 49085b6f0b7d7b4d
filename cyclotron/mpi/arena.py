"""Arrays in one file that the workers map: nothing is sent, and ranks touch only the tiles that they use."""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ALIGNMENT = 64
_SHARED_MEMORY = "/dev/shm"


@dataclass(frozen=True)
class MappedArrays:
    """Where the arrays are: path of the file, and (offset in bytes, shape, dtype name) of each."""

    path: str
    places: tuple[tuple[int, tuple[int, ...], str], ...]

    def map(self) -> list[NDArray[Any]]:
        """Return the arrays, in shared memory."""
        with open(self.path, "r+b") as file:
            memory = mmap.mmap(file.fileno(), 0)
        return [
            np.ndarray(shape, dtype, buffer=memory, offset=offset) for offset, shape, dtype in self.places
        ]


class Arena:
    """The file of one run; a context manager that removes it.

    Parameters
    ----------
    tensors : sequence of dict
        The program's tensor table.
    arrays : sequence of ndarray
        One for each; inputs are copied in.
    folder : Path
        Where the file is put if there is room.
    """

    def __init__(
        self, tensors: Sequence[Mapping[str, Any]], arrays: Sequence[NDArray[Any]], folder: Path
    ) -> None:
        places = []
        size = 0
        for array in arrays:
            places.append((size, tuple(array.shape), array.dtype.name))
            size += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        size = max(size, _ALIGNMENT)
        handle, path = tempfile.mkstemp(prefix="arrays-", dir=folder if has_room(folder, size) else None)
        try:
            os.ftruncate(handle, size)
        finally:
            os.close(handle)
        self.mapped = MappedArrays(path, tuple(places))
        self._tensors = tensors
        self._arrays = arrays
        try:
            self._arrays_there = self.mapped.map()
            for tensor, array, mapped in zip(tensors, arrays, self._arrays_there, strict=True):
                # An output may hold values that the program does not write.
                if tensor["role"] == "input" or array.any():
                    mapped[...] = array
        except BaseException:
            self._remove()
            raise

    def outputs(self) -> dict[str, NDArray[Any]]:
        """Copy the outputs into their arrays and return these by name."""
        found = {}
        for tensor, array, mapped in zip(self._tensors, self._arrays, self._arrays_there, strict=True):
            if tensor["role"] == "output":
                array[...] = mapped
                found[tensor["name"]] = array
        return found

    def __enter__(self) -> Arena:
        return self

    def __exit__(self, *_: object) -> None:
        self._arrays_there = []
        self._remove()

    def _remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.mapped.path)


def shared_folder() -> str:
    """Return a folder in memory, or where there is none the disk's temporary folder."""
    return _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK) else tempfile.gettempdir()


def has_room(folder: str | Path, size: int) -> bool:
    """Whether a folder has room for so many bytes and as many again, since others share it."""
    return shutil.disk_usage(folder).free > 2 * size
