"""Compiled programs on disk, for the next process: ``cy.cache.info()``, ``cy.cache.clear()``.

Beside them is what the mappings took that `cyclotron.map` compiled, and the machine code of loops that took
long on ``local``.

An entry is found by all that a compilation depends on: the equations with their places in the text, the
schedule, the machine, and the compiler itself. Tracing is never left out, so that what a kernel's text
refers to may change. ``CYCLOTRON_CACHE_DIR`` names another folder, or none where it is empty: then nothing
is kept; ``CYCLOTRON_CACHE_BYTES`` is the most that the entries take together. Whatever goes wrong with a
file, the program is compiled.

Examples
--------
>>> import os, tempfile
>>> from unittest import mock
>>> def compiled():
...     @cy.kernel
...     def double(x):
...         return 2 * x
...     return double.compile(np.ones(3))
>>> with tempfile.TemporaryDirectory() as folder:
...     with mock.patch.dict(os.environ, CYCLOTRON_CACHE_DIR=folder):
...         first, second = compiled(), compiled()
...         info = cy.cache.info()
>>> info["entries"], info["hits"], info["misses"]
(1, 1, 1)
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cyclotron import _core
from cyclotron.support.environment import VERSION

__all__ = ["clear", "info"]
__dir__ = __all__.copy

_MAGIC = b"cyclotron program cache 1\n"
_SUFFIX = ".program"
_DEFAULT_BYTES = 256 << 20
_LEFT_BEHIND_SECONDS = 3600.0  # a file that a killed process was writing


class ProgramCache:
    """A folder of entries, shared by processes; each is written whole or not at all, and checked when read.

    Parameters
    ----------
    folder : Path
        Made where it is missing.
    limit : int
        Bytes; the entries that were used longest ago make room.

    Attributes
    ----------
    hits, misses : int
        Of this process.
    failure : str or None
        The last thing that went wrong: a full disk, a damaged entry.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder, self.limit = folder, limit
        self.hits = self.misses = 0
        self.failure: str | None = None
        self._unchecked: int | None = None  # bytes written since the folder was measured; None: never

    def get(self, key: str) -> bytes | None:
        """Return the content of an entry; None where there is none. A damaged one is removed."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                self.failure = str(error)
            self.misses += 1
            return None
        head = len(_MAGIC) + hashlib.sha256().digest_size
        content = data[head:]
        if data[:head] != _MAGIC + hashlib.sha256(content).digest():
            self.failure = f"{path} is damaged; it was removed"
            self._remove([path])
            self.misses += 1
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # used now
        self.hits += 1
        return content

    def put(self, key: str, content: bytes) -> None:
        """Write an entry, if that is possible."""
        path = self._path(key)
        new = path.with_name(f".{key}.{os.getpid()}-{threading.get_ident()}")
        data = _MAGIC + hashlib.sha256(content).digest() + content
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            new.write_bytes(data)  # not synced: an entry that a crash cuts short is told by its digest
            os.replace(new, path)
        except OSError as error:
            self.failure = str(error)
            self._remove([new])
            return
        written = len(data) + (self._unchecked or 0)
        if self._unchecked is None or written >= self.limit // 64:
            self._make_room()
            written = 0
        self._unchecked = written

    def entries(self) -> list[tuple[float, int, Path]]:
        """Return when each entry was used last, its bytes and its file, the oldest first."""
        found = []
        with contextlib.suppress(OSError):
            for path in self.folder.iterdir():
                with contextlib.suppress(OSError):  # another process has removed it
                    status = path.stat()
                    if path.suffix in (_SUFFIX, ".loops"):
                        found.append((status.st_mtime, status.st_size, path))
                    elif path.name.startswith(".") and status.st_mtime < time.time() - _LEFT_BEHIND_SECONDS:
                        path.unlink()
        return sorted(found)

    def clear(self) -> None:
        """Remove all entries."""
        self._remove(path for _, _, path in self.entries())

    def _make_room(self) -> None:
        entries = self.entries()
        total = sum(size for _, size, _ in entries)
        for _, size, path in entries:
            if total <= self.limit:
                break
            self._remove([path])
            total -= size

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    @staticmethod
    def _remove(paths: Iterable[Path]) -> None:
        for path in paths:
            with contextlib.suppress(OSError):
                path.unlink()


def entry_key(*parts: str) -> str:
    """Return the name of the entry for all that a compilation depends on, beside the compiler itself."""
    digest = hashlib.sha256(_compiler().encode())
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def programs() -> ProgramCache | None:
    """Return the cache of this process's environment; None where it is off."""
    return _cache(os.environ.get("CYCLOTRON_CACHE_DIR"), os.environ.get("CYCLOTRON_CACHE_BYTES", ""))


def loops() -> tuple[str, str]:
    """Return the compiler of loops that take long, and the folder that keeps them: `_core.run_local`."""
    return os.environ.get("CYCLOTRON_CC", "cc"), str(getattr(programs(), "folder", ""))


def info() -> dict[str, Any]:
    """Return where compiled programs are kept, and what became of this process's compilations.

    Returns
    -------
    dict
        ``folder`` (str, or None where the cache is off), ``entries`` and their ``bytes``, the ``limit`` in
        bytes; ``hits`` and ``misses`` of this process; ``failure``, the last thing that went wrong with a
        file, or None.

    Examples
    --------
    >>> import cyclotron as cy
    >>> sorted(cy.cache.info())
    ['bytes', 'entries', 'failure', 'folder', 'hits', 'limit', 'misses']
    """
    cache = programs()
    entries = [] if cache is None else cache.entries()
    return {
        "folder": None if cache is None else str(cache.folder),
        "entries": len(entries),
        "bytes": sum(size for _, size, _ in entries),
        "limit": 0 if cache is None else cache.limit,
        "hits": 0 if cache is None else cache.hits,
        "misses": 0 if cache is None else cache.misses,
        "failure": None if cache is None else cache.failure,
    }


def clear() -> None:
    """Remove all compiled programs from the disk.

    Examples
    --------
    >>> import cyclotron as cy
    >>> cy.cache.clear()
    >>> cy.cache.info()["entries"]
    0
    """
    cache = programs()
    if cache is not None:
        cache.clear()


@functools.cache
def _cache(folder: str | None, limit: str) -> ProgramCache | None:
    most = int(limit) if limit.isascii() and limit.isdigit() else _DEFAULT_BYTES
    if folder == "" or most == 0:
        return None
    if folder is not None:
        return ProgramCache(Path(folder), most)
    try:
        # Linux has one rule for the folder (XDG), which takes no package to follow.
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # no home
        return None
    return ProgramCache(base / "cyclotron" / "programs", most)


@functools.cache
def _compiler() -> str:
    """The version, and the very file of the core: a source tree is compiled again under one version."""
    status = os.stat(_core.__file__)
    return f"{VERSION} {status.st_size} {status.st_mtime_ns} {_core.isl_version()}"
