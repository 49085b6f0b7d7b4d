"""A rank of a pool: ``python -m cyclotron.mpi.worker FOLDER``, started by `cyclotron.mpi.pool`."""

from __future__ import annotations

import contextlib
import ctypes
import os
import queue
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

from cyclotron.mpi import extension
from cyclotron.mpi.jobs import Answer
from cyclotron.mpi.store import Store
from cyclotron.support.errors import CyclotronError, ExecutionError

_PR_SET_PDEATHSIG = 1


def main(folder: str) -> None:
    """Connect to the pool, then run one job after the other until it says stop."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _mpi = extension.load()
    _mpi.init()
    world = _mpi.world()
    place = Path(folder)
    connection = Client(str(place / "socket"), "AF_UNIX", authkey=(place / "key").read_bytes())
    connection.send((_mpi.rank(world), os.getpid()))
    store = Store(_mpi, world)
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=listen, args=(connection, jobs, place), daemon=True).start()
    while (asked := jobs.get()) is not None:
        forgotten, job = asked
        store.drop(forgotten)
        connection.send(answer(job, store))


def answer(job: Callable[[Store], Any], store: Store) -> Answer:
    """Take part in a job; tell what it raised, or returned."""
    try:
        return Answer(None, job(store))
    except CyclotronError as error:
        return Answer(error, None)
    except Exception as error:
        failure = ExecutionError(
            f"rank {store.rank} of {store.ranks} failed: {type(error).__name__}: {error}",
            code="CYC730",
            help="the next run starts new ranks; if it fails again, please report it",
        )
        return Answer(failure, None, alone=True)


def listen(connection: Connection[Any, Any], jobs: queue.SimpleQueue[Any], folder: Path) -> None:
    """Put jobs into the queue; end this rank, and with it all, when the pool's process is gone."""
    while True:
        try:
            job = connection.recv()
        except (EOFError, OSError):
            shutil.rmtree(folder, ignore_errors=True)  # nobody else is left to do so
            os._exit(1)
        jobs.put(job)
        if job is None:
            return


def die_with_parent() -> None:
    """Ask the system to end this process when the launcher dies (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1])
