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
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

from cyclotron.errors import CyclotronError, ExecutionError
from cyclotron.mpi import extension
from cyclotron.mpi.arena import Layout

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
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=listen, args=(connection, jobs, place), daemon=True).start()
    while (job := jobs.get()) is not None:
        program, layout = job
        connection.send(run(_mpi, program, world, layout))


def run(_mpi: Any, program: bytes, world: int, layout: Layout) -> CyclotronError | None:
    """Take part in a run; return what it raised, on all ranks alike."""
    try:
        # A rank whose arrays cannot be mapped still takes part, so that all learn of it.
        arrays: list[Any] = []
        unmapped: Exception | None = None
        try:
            arrays = layout.map()
        except (OSError, ValueError) as error:
            unmapped = error
        try:
            _mpi.run(program, world, arrays, shared_outputs=True)
        except CyclotronError as error:
            if unmapped is None:
                return error
            return ExecutionError(
                f"the arrays cannot be mapped: {unmapped}",
                code="CYC730",
                help="the ranks of a pool share this machine's memory; run on several machines under mpirun",
            )
    except Exception as error:
        return ExecutionError(
            f"{type(error).__name__}: {error}",
            code="CYC730",
            help="run it again; if it fails again, please report it",
        )
    return None


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
