"""Arrays in one file that the workers map: nothing is sent, and ranks touch only the tiles that they use."""

from __future__ import annotations

import contextlib
import functools
import itertools
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

from cyclotron.support.dtypes import dtype_of

_ALIGNMENT = 64
_SHARED_MEMORY = "/dev/shm"


# Memory of a pool that is kept from one run to the next: making its pages takes longer than using them.
_MOST_KEPT = 1 << 28


@dataclass(frozen=True)
class MappedArrays:
    """The addresses of arrays.

    Attributes
    ----------
    path : str
        Of the file.
    places : tuple
        (offset in bytes, shape, dtype name) of each array.
    kept : bool
        Whether later runs use the file too.
    """

    path: str
    places: tuple[tuple[int, tuple[int, ...], str], ...]
    kept: bool = False

    def map(self) -> list[NDArray[Any]]:
        """Return the arrays, in shared memory."""
        return self.within(_kept_file(self.path) if self.kept else _map_file(self.path))

    def within(self, memory: mmap.mmap) -> list[NDArray[Any]]:
        """Return the arrays in the file, which is mapped."""
        return [np.ndarray(shape, dtype_of(name), memory, offset) for offset, shape, name in self.places]


def _map_file(path: str) -> mmap.mmap:
    with open(path, "r+b") as file:
        return mmap.mmap(file.fileno(), 0)


# A rank is of one pool, which keeps one file.
_kept_file = functools.lru_cache(maxsize=1)(_map_file)


class Memory:
    """A pool's shared memory, in a file.

    Parameters
    ----------
    folder : Path
        Where files are put if there is room; whoever made it removes it, and with it the file that is kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count()  # in paths, which ranks know what they have mapped by
        self._path = ""
        self._kept: mmap.mmap | None = None

    def take(self, size: int) -> tuple[str, mmap.mmap, bool]:
        """Return the path of a file of at least so many bytes, what maps it, and whether it is kept."""
        if self._kept is not None and size <= len(self._kept):
            return self._path, self._kept, True
        in_folder = has_room(self._folder, size)
        kept = in_folder and size <= _MOST_KEPT
        if kept and self._kept is not None:
            remove(self._path)
            self._kept = None
        prefix = f"arrays-{next(self._numbers)}-"
        handle, path = tempfile.mkstemp(prefix=prefix, dir=self._folder if in_folder else None)
        try:
            os.ftruncate(handle, size)
            memory = mmap.mmap(handle, 0)
        except BaseException:
            remove(path)
            raise
        finally:
            os.close(handle)
        if kept:
            self._path, self._kept = path, memory
        return path, memory, kept


class Arena:
    """The arrays of one run in shared memory; a context manager that removes what is not kept.

    Parameters
    ----------
    tensors : sequence of dict
        The program's tensor table.
    arrays : sequence of ndarray
        One for each; they are copied in, but for outputs that the ranks write all of.
    memory : Memory
    written : bool
        Whether the ranks write all elements of outputs.
    """

    def __init__(
        self,
        tensors: Sequence[Mapping[str, Any]],
        arrays: Sequence[NDArray[Any]],
        memory: Memory,
        written: bool = False,
    ) -> None:
        places = []
        size = 0
        for array in arrays:
            places.append((size, tuple(array.shape), array.dtype.name))
            size += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        path, mapped, kept = memory.take(max(size, _ALIGNMENT))
        self.mapped = MappedArrays(path, tuple(places), kept)
        self._tensors = tensors
        self._arrays = arrays
        try:
            self._arrays_there = self.mapped.within(mapped)
            for tensor, array, there in zip(tensors, arrays, self._arrays_there, strict=True):
                if tensor["role"] != "output" or not written:
                    there[...] = array
        except BaseException:
            self._remove()
            raise

    def outputs(self) -> None:
        """Copy the outputs into their arrays."""
        for tensor, array, there in zip(self._tensors, self._arrays, self._arrays_there, strict=True):
            if tensor["role"] == "output":
                array[...] = there

    def __enter__(self) -> Arena:
        return self

    def __exit__(self, *_: object) -> None:
        self._arrays_there = []
        self._remove()

    def _remove(self) -> None:
        if not self.mapped.kept:
            remove(self.mapped.path)


def remove(path: str) -> None:
    """Remove a file, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def shared_folder() -> str:
    """Return a folder in memory, or where there is none the disk's temporary folder."""
    return _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK) else tempfile.gettempdir()


def has_room(folder: str | Path, size: int) -> bool:
    """Tell if a folder has room for so many bytes and as many again, since others share it."""
    return shutil.disk_usage(folder).free > 2 * size
