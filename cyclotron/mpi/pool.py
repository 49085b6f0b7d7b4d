"""A pool of MPI ranks that this process starts, supervises and ends."""

from __future__ import annotations

import atexit
import collections
import contextlib
import itertools
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
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener, wait
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.mpi import extension, jobs, launch, part
from cyclotron.mpi.arena import Arena, Memory, shared_folder
from cyclotron.mpi.layout import Layout
from cyclotron.mpi.ranks import Outcome
from cyclotron.mpi.sources import File, Mapped, rank_among, require_numbers
from cyclotron.mpi.store import Source, Store, StoredTensor, Tensors, Work
from cyclotron.support.arguments import invalid_option, rank_count
from cyclotron.support.environment import threads
from cyclotron.support.errors import BackendUnavailable, CyclotronError, ExecutionError

_MOST_POOLS = 2
_MOST_RANKS_PER_CORE = 64
_STOP_SECONDS = 3.0
_KILL_SECONDS = 1.0
_LOG_LINES = 20
_LOG_BYTES = 1 << 14
_LOG_SECONDS = 0.3
_LOOK_SECONDS = 0.2
_STOPPED_VARIABLE = "CYCLOTRON_STOPPED_SECONDS"
_STOPPED_SECONDS = 10.0


class Pool:
    """Ranks that wait for programs and keep distributed tensors; a context manager.

    Each rank is a process of ``mpirun``, joined to this one by a local socket of its own. It costs no time
    while it waits, ends when this process does, and its death is seen at once. One that is stopped (SIGSTOP)
    while it works counts as dead after 10 seconds, or ``CYCLOTRON_STOPPED_SECONDS`` of the environment.

    Parameters
    ----------
    ranks : int
        MPI processes.
    start_seconds : float
        How long they may take to start.

    Raises
    ------
    BackendUnavailable
        If MPI is missing or the ranks do not start (CYC722).
    ExecutionError
        If `ranks` is no number of ranks, or more than make sense on this computer (CYC733).
    """

    def __init__(self, ranks: int, *, start_seconds: float = 60.0) -> None:
        ranks = rank_count(ranks)
        if ranks > _MOST_RANKS_PER_CORE * threads():
            raise invalid_option(
                f"ranks={ranks} in a pool on {threads()} cores",
                f"use at most {_MOST_RANKS_PER_CORE} ranks a core, or more computers under mpirun",
            )
        extension.load()
        self.ranks = ranks
        self.rank: int | None = None  # this process is none
        self._lock = threading.RLock()
        self._numbers = itertools.count()
        self._kept: set[int] = set()
        self._forgotten: collections.deque[int] = collections.deque()
        self._processes = _Processes(ranks, start_seconds)
        self._memory = Memory(self._processes.folder)
        self._finalizer = weakref.finalize(self, self._processes.stop)

    @property
    def closed(self) -> bool:
        """True where the ranks are gone."""
        return self._processes.gone

    @property
    def pids(self) -> list[int]:
        """Process ids, by rank."""
        return list(self._processes.pids)

    @property
    def keeps(self) -> int:
        """The number of its distributed arrays."""
        return len(self._kept)

    def new_number(self) -> int:
        """Return a number for a tensor that the ranks will keep."""
        number = next(self._numbers)
        self._kept.add(number)
        return number

    def distribute(self, source: Source, layout: Layout | None, root: int | None) -> tuple[int, StoredTensor]:
        """Keep an array in the ranks; see `cyclotron.distribute`. There is no root: this process has it."""
        array = source()
        require_numbers(array)
        if root is not None:
            rank_among(root, self.ranks)
        fixed = None if layout is None else layout.tabled(array.shape)
        with self._new_tensor() as number:
            keep = partial(Store.distribute, number=number, layout=fixed, root=None)
            if isinstance(source, File):  # each rank reads its part
                return number, self.do(partial(keep, source=source))
            with self._arena([{"role": "input"}], [array]) as arena:
                return number, self.do(partial(keep, source=Mapped(arena.mapped)))

    def relayout(self, number: int, form: StoredTensor, layout: Layout) -> tuple[int, StoredTensor]:
        """Keep another layout of a tensor."""
        fixed = layout.tabled(form.shape)
        with self._new_tensor() as new:
            return new, self.do(partial(Store.relayout, number=number, new=new, form=form, layout=fixed))

    def reshape(self, number: int, form: StoredTensor, shaped: StoredTensor) -> int:
        """Keep a tensor with more or fewer axes of extent 1."""
        with self._new_tensor() as new:
            self.do(partial(Store.reshape, number=number, new=new, form=form, shaped=shaped))
            return new

    def diagonal(self, number: int, form: StoredTensor) -> NDArray[Any]:
        """Return the diagonal of a matrix."""
        diagonal: NDArray[Any] = self.do(partial(Store.diagonal, number=number, form=form))
        return diagonal

    def gather(self, number: int, form: StoredTensor) -> NDArray[Any]:
        """Return the whole array."""
        whole = bool((form.owners >= 0).all())
        array = (np.empty if whole else np.zeros)(form.shape, form.dtype)
        with self._arena([{"role": "output", "name": ""}], [array], written=whole) as arena:
            self.do(jobs.Gather(number, form, arena.mapped))
            arena.outputs()
        return array

    def part(self, number: int, form: StoredTensor) -> dict[tuple[int, ...], NDArray[Any]]:
        """Return nothing: this process is no rank."""
        return {}

    def forget(self, number: int) -> None:
        """Drop a tensor, with the next job."""
        self._kept.discard(number)
        self._forgotten.append(number)

    def run(self, work: Work) -> Outcome:
        """Run a program on arrays, of which those of outputs are written, and on tensors that are kept."""
        given = [
            (tensor, value)
            for tensor, value in zip(work.tensors, work.bound, strict=False)
            if isinstance(value, np.ndarray)
        ]
        numbers = [value if isinstance(value, int) else None for value in work.bound]
        with self._arena([tensor for tensor, _ in given], [array for _, array in given]) as arena:
            done = self.do(jobs.Run(work._replace(bound=numbers), arena.mapped))
            arena.outputs()
        return Outcome(*done)

    def do(self, job: Callable[[Store], Any]) -> Any:
        """Have all ranks do a job; return what the first of them answers."""
        with self._lock:
            self._require_open()
            forgotten = [self._forgotten.popleft() for _ in range(len(self._forgotten))]
            try:
                failure, answer = self._processes.run((forgotten, job))
            except BaseException:  # an interrupt too: the ranks are in the middle of something
                self._processes.kill()
                raise
            if failure is not None:
                raise failure
            return answer

    def give(self, number: int, tensor: int, array: NDArray[Any]) -> None:
        """Copy an array to every rank, of a program that is resident."""
        with self._arena([{"role": "input"}], [array]) as arena:
            self.do(part.Give(number, tensor, Mapped(arena.mapped)))

    def fetch(self, number: int, tensor: int, array: NDArray[Any]) -> NDArray[Any]:
        """Return an output of a program that is resident, in the array."""
        with self._arena([{"role": "output", "name": ""}], [array], written=True) as arena:
            self.do(part.Fetch(number, tensor, arena.mapped))
            arena.outputs()
        return array

    def same(self, text: str, root: int = 0) -> str:
        """Return the text: this process is no rank, and alone."""
        return text

    @contextlib.contextmanager
    def _new_tensor(self) -> Iterator[int]:
        """A number for a tensor, which is forgotten where making it fails."""
        number = self.new_number()
        try:
            yield number
        except BaseException:
            self.forget(number)
            raise

    @contextlib.contextmanager
    def _arena(
        self, tensors: Tensors, arrays: Sequence[NDArray[Any]], written: bool = False
    ) -> Iterator[Arena]:
        with self._lock:
            self._require_open()
            with Arena(tensors, arrays, self._memory, written) as arena:
                yield arena

    def _require_open(self) -> None:
        if self.closed:
            raise invalid_option("the pool is closed", "make a new one: Pool(ranks)")

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
        self._busy = threading.Event()
        self._stopped: dict[int, float] = {}  # seconds, by rank, of those that were given up
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
        threading.Thread(target=self._watch, daemon=True).start()

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

    def run(self, job: Any) -> tuple[CyclotronError | None, Any]:
        """Give all ranks a job and wait for the answer of each; return the first failure and answer.

        A rank that failed alone ends this at once: the others may wait for it.
        """
        self._busy.set()
        try:
            return self._run(job)
        finally:
            self._busy.clear()

    def _run(self, job: Any) -> tuple[CyclotronError | None, Any]:
        open_connections = {connection: rank for rank, connection in enumerate(self._connections)}
        answers: dict[int, jobs.Answer] = {}
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
                failure = answers[rank].failure
                if failure is not None and answers[rank].alone:
                    raise failure
        failures = (answers[rank].failure for rank in range(len(answers)))
        return next((failure for failure in failures if failure is not None), None), answers[0].value

    def _watch(self) -> None:
        """End ranks that are stopped for too long while they should work, which who waits for them sees."""
        since: dict[int, float] = {}
        while not self.gone:
            self._busy.wait()
            time.sleep(_LOOK_SECONDS)
            for rank, pid in enumerate(self.pids):
                if not (self._busy.is_set() and _is_stopped(pid)):
                    since.pop(rank, None)
                elif time.monotonic() - since.setdefault(rank, time.monotonic()) >= _stopped_seconds():
                    self._stopped[rank] = time.monotonic() - since[rank]
                    os.kill(pid, signal.SIGKILL)

    def _died(self, rank: int) -> ExecutionError:
        for stopped, seconds in self._stopped.items():
            return ExecutionError(
                f"rank {stopped} of {len(self._connections)} did not go on: process {self.pids[stopped]} was "
                f"stopped for {seconds:.1f} s",
                code="CYC732",
                help=f"the next run starts new ranks; {_STOPPED_VARIABLE} says how many seconds to wait",
            )
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
        self._busy.set()  # lets the thread that watches end
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


def _is_stopped(pid: int) -> bool:
    """Tell whether a process is stopped by a signal, where the system says so."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False


def _stopped_seconds() -> float:
    try:
        seconds = float(os.environ[_STOPPED_VARIABLE])
    except (KeyError, ValueError):
        return _STOPPED_SECONDS
    return seconds if seconds >= 0 else _STOPPED_SECONDS  # NaN is none


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
            idle = [count for count, other in _pools.items() if not other.keeps]
            while len(_pools) >= _MOST_POOLS and idle:
                _pools.pop(idle.pop(0)).close()
            pool = Pool(ranks)
        _pools[ranks] = pool  # the last is the most recently used
        return pool


def close_all() -> None:
    """End all default pools."""
    with _pools_lock:
        while _pools:
            _pools.popitem()[1].close()


atexit.register(close_all)
