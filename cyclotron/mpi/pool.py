"""A pool of MPI ranks that this process starts, supervises and ends."""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener, wait
from pathlib import Path
from typing import IO, Any

from numpy.typing import NDArray

from cyclotron.errors import BackendUnavailable, CyclotronError, ExecutionError
from cyclotron.mpi import extension, launch
from cyclotron.mpi.arena import Arena, shared_folder

_MOST_POOLS = 2
_STOP_SECONDS = 3.0
_KILL_SECONDS = 1.0
_LOG_LINES = 20
_LOG_BYTES = 1 << 14
_LOG_SECONDS = 0.3


class Pool:
    """Ranks that wait for programs; a context manager.

    Each rank is a process of ``mpirun``, joined to this one by a local socket of its own. It costs no time
    while it waits, ends when this process does, and its death is seen at once.

    Parameters
    ----------
    ranks : int
        MPI processes.
    start_seconds : float
        How long they may take to start.

    Raises
    ------
    BackendUnavailable
        If MPI is missing or the ranks do not start.
    """

    def __init__(self, ranks: int, *, start_seconds: float = 60.0) -> None:
        if ranks < 1:
            raise ExecutionError(f"ranks={ranks}", code="CYC733", help="use at least one rank")
        extension.load()
        self.ranks = ranks
        self._lock = threading.Lock()
        self._processes = _Processes(ranks, start_seconds)
        self._finalizer = weakref.finalize(self, self._processes.stop)

    @property
    def closed(self) -> bool:
        """Whether the ranks are gone."""
        return self._processes.gone

    @property
    def pids(self) -> list[int]:
        """Process ids, by rank."""
        return list(self._processes.pids)

    def run(
        self, program: bytes, tensors: Sequence[Mapping[str, Any]], arrays: Sequence[NDArray[Any]]
    ) -> dict[str, NDArray[Any]]:
        """Run a program once; see `cyclotron.mpi.run`."""
        with self._lock:
            if self.closed:
                raise ExecutionError("the pool is closed", code="CYC733", help="make a new one: Pool(ranks)")
            with Arena(tensors, arrays, self._processes.folder) as arena:
                try:
                    failure = self._processes.run((program, arena.layout))
                except BaseException:  # an interrupt too: the ranks are in the middle of something
                    self._processes.kill()
                    raise
                if failure is not None:
                    raise failure
                return arena.outputs()

    def close(self) -> None:
        """End the ranks."""
        self._finalizer()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Processes:
    """The launcher, the ranks and their connections."""

    def __init__(self, ranks: int, start_seconds: float) -> None:
        self.gone = False
        self.pids: list[int] = []
        self._owner = os.getpid()
        self._connections: list[Connection[Any, Any]] = []
        shared = shared_folder()
        launch.command(ranks, shared)  # where there is no launcher, nothing is left behind
        # Only this user may enter it.
        self.folder = Path(tempfile.mkdtemp(prefix="cyclotron-mpi-", dir=shared))
        self._command = launch.command(ranks, str(self.folder))
        key = secrets.token_bytes(32)
        (self.folder / "key").write_bytes(key)
        listener = Listener(str(self.folder / "socket"), "AF_UNIX", backlog=ranks, authkey=key)
        self._launcher = subprocess.Popen(
            self._command,
            env=launch.environment(str(self.folder)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._log = _Log(self._launcher.stdout)
        try:
            self._accept(listener, ranks, time.monotonic() + start_seconds)
        except BaseException:
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as nobody:
                nobody.connect(str(self.folder / "socket"))  # lets a thread that still accepts end
            listener.close()
            self.kill()
            raise
        listener.close()

    def _accept(self, listener: Listener, ranks: int, deadline: float) -> None:
        """Wait for every rank, for the launcher to give up, or for too long."""
        arrived: list[Connection[Any, Any]] = []

        def accept() -> None:
            with contextlib.suppress(OSError, EOFError, AuthenticationError):
                while len(arrived) < ranks:
                    arrived.append(listener.accept())

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(0.05)
            if self._launcher.poll() is not None:
                raise self._not_started(f"it ended with code {self._launcher.returncode}")
            if time.monotonic() > deadline:
                raise self._not_started("the ranks did not report in time")
        if len(arrived) < ranks:
            raise self._not_started("a rank could not connect")
        greetings = {}
        for connection in arrived:
            rank, pid = connection.recv()
            greetings[rank] = (connection, pid)
        self._connections = [greetings[rank][0] for rank in range(ranks)]
        self.pids = [greetings[rank][1] for rank in range(ranks)]

    def _not_started(self, why: str) -> BackendUnavailable:
        return BackendUnavailable(
            f"the MPI ranks did not start: {why}",
            code="CYC722",
            notes=[(None, line) for line in self._log.lines()],
            help=f"try it by hand: {' '.join(self._command[:3])} hostname",
        )

    def run(self, job: Any) -> CyclotronError | None:
        """Give all ranks a job and wait for the answer of each."""
        open_connections = {connection: rank for rank, connection in enumerate(self._connections)}
        answers: dict[int, CyclotronError | None] = {}
        for rank, connection in enumerate(self._connections):
            try:
                connection.send(job)
            except OSError:
                raise self._died(rank) from None
        while open_connections:
            for ready in wait(list(open_connections)):
                assert isinstance(ready, Connection)
                rank = open_connections.pop(ready)
                try:
                    answers[rank] = ready.recv()
                except (EOFError, OSError):
                    raise self._died(rank) from None
        return next((answers[rank] for rank in sorted(answers) if answers[rank] is not None), None)

    def _died(self, rank: int) -> ExecutionError:
        return ExecutionError(
            f"rank {rank} of {len(self._connections)} died (process {self.pids[rank]})",
            code="CYC732",
            notes=[(None, line) for line in self._log.lines()],
            help="the next run starts new ranks",
        )

    def stop(self) -> None:
        """Let the ranks end, and see to it."""
        if self.gone or os.getpid() != self._owner:
            return
        with contextlib.suppress(OSError):
            for connection in self._connections:
                connection.send(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._launcher.wait(_STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End whatever still runs."""
        if self.gone or os.getpid() != self._owner:
            return
        self.gone = True
        if self._launcher.poll() is None:
            # Ranks that still hold their connection are still these processes.
            for connection, pid in zip(self._connections, self.pids, strict=True):
                with contextlib.suppress(OSError):
                    if not (connection.closed or connection.poll()):
                        os.kill(pid, signal.SIGKILL)
            # The launcher first gets the time to clean up.
            self._launcher.terminate()
            try:
                self._launcher.wait(_KILL_SECONDS)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(OSError):
                    os.killpg(self._launcher.pid, signal.SIGKILL)
                self._launcher.wait()
        for connection in self._connections:
            connection.close()  # what lives on sees this and ends
        shutil.rmtree(self.folder, ignore_errors=True)


class _Log:
    """The end of what the ranks and the launcher write; the rest is dropped, however much it is."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        assert stream is not None
        self._stream = stream
        self._tail = b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._stream:
            while chunk := os.read(self._stream.fileno(), _LOG_BYTES):
                self._tail = (self._tail + chunk)[-_LOG_BYTES:]

    def lines(self) -> list[str]:
        """Return the last lines, once the launcher had a moment to write them."""
        self._thread.join(_LOG_SECONDS)
        lines = [line.rstrip() for line in self._tail.decode(errors="replace").splitlines()]
        return [line for line in lines if line.strip("- ")][-_LOG_LINES:]


_pools: dict[int, Pool] = {}
_pools_lock = threading.Lock()


def default_pool(ranks: int) -> Pool:
    """Return the pool of this process with so many ranks; the first call, or one after a death, starts it.

    Parameters
    ----------
    ranks : int
        MPI processes.
    """
    with _pools_lock:
        pool = _pools.pop(ranks, None)
        if pool is None or pool.closed:
            while len(_pools) >= _MOST_POOLS:
                _pools.pop(next(iter(_pools))).close()
            pool = Pool(ranks)
        _pools[ranks] = pool  # the last is the most recently used
        return pool


def close_all() -> None:
    """End all default pools."""
    with _pools_lock:
        while _pools:
            _pools.popitem()[1].close()


atexit.register(close_all)
