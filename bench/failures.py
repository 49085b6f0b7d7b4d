"""Failures of ranks: whether the error is the right one, how soon it comes, and what is left behind.

A rank of a pool is killed, aborts, exits with 0 or raises while the ranks exchange messages; the user
interrupts; there are too few slots. After each no process may be left, and the next run has to be right.
Then messages around every eager limit of Open MPI's transports, sent both ways at once. Bound: 2 s.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from common import write

import cyclotron as cy
from cyclotron import mpi
from cyclotron.linalg.kernels import matmul

BOUND_SECONDS = 2.0
TRANSPORTS = ("vader,self", "tcp,self")
RANKS = 3
DELAY_SECONDS = 0.1
AFTERWARDS_SECONDS = 1.0  # until when a process that ends is not left behind


@cy.kernel
def laps(A, turns):
    """Neighbours exchange values again and again."""
    n = A.shape[0]
    R, X = cy.empty((turns, n)), cy.empty_like(A)
    for i in range(n):
        for t in range(turns):
            if t == 0:
                R[t, i] = A[i]
            elif i == 0:
                R[t, i] = R[t - 1, i + 1] + A[i]
            elif i == n - 1:
                R[t, i] = R[t - 1, i - 1] + A[i]
            else:
                R[t, i] = R[t - 1, i - 1] - R[t - 1, i + 1]
        X[i] = R[turns - 1, i]
    return X


@dataclass(frozen=True)
class Fault:
    """A job in which one rank fails while the others run a program; writes when it did.

    Attributes
    ----------
    kind : str
        Of FAULTS.
    run : job
        Of the pool.
    stamp : str
        The file for the time, by the computer's monotonic clock.
    """

    kind: str
    run: Any
    stamp: str

    def __call__(self, store: Any) -> Any:
        if store.rank == 1:
            if self.kind == "exception":
                self.fail()
            threading.Timer(DELAY_SECONDS, self.fail).start()
        return self.run(store)

    def fail(self) -> None:
        Path(self.stamp).write_text(repr(time.monotonic()))
        FAULTS[self.kind]()


def raise_error() -> None:
    raise RuntimeError("a fault of this rank")


FAULTS: dict[str, Callable[[], None]] = {
    "kill -9": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "abort": os.abort,
    "exit 0": lambda: os._exit(0),
    "exception": raise_error,
}


@dataclass
class Found:
    """Findings of the runs of one kind."""

    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    orphans: int = 0

    def row(self, kind: str) -> str:
        middle, most = statistics.median(self.seconds), max(self.seconds)
        return (
            f"{kind:14} {len(self.seconds):4} runs  median {middle:.2f} s  most {most:.2f} s of bound "
            f"{BOUND_SECONDS:.0f} s  orphans {self.orphans}  wrong {len(self.wrong)} {self.wrong[:1] or ''}"
        )

    def fails(self) -> bool:
        return bool(self.wrong or self.orphans) or max(self.seconds) > BOUND_SECONDS


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def left(pids: list[int], deadline: float) -> int:
    """The number of processes that are still there some time later."""
    while time.monotonic() < deadline and any(map(alive, pids)):
        os.sched_yield()
    return sum(map(alive, pids))


def next_run(found: Found) -> None:
    A = np.arange(12.0).reshape(3, 4)
    program = matmul.compile(cy.blocked(A, (1, 4)), cy.blocked(A.T.copy(), (4, 1)))
    if not np.array_equal(cy.run(program, backend="mpi", ranks=RANKS).output, A @ A.T):
        found.wrong.append("the next run is wrong")


def record_outcome(
    found: Found, begun: float, error: BaseException | None, right: bool, pids: list[int]
) -> None:
    """Note what came of a fault, and when."""
    now = time.monotonic()
    found.seconds.append(now - begun)
    if not right:
        found.wrong.append(repr(error)[:200])
    found.orphans += left(pids, now + AFTERWARDS_SECONDS)
    next_run(found)


def of_a_rank(kind: str, found: Found) -> None:
    """One rank fails."""
    pool = mpi.default_pool(RANKS)
    processes, run = pool._processes, pool.do
    pids = [*pool.pids, processes._launcher.pid]
    with tempfile.TemporaryDirectory() as folder:
        stamp = f"{folder}/stamp"
        pool.do = lambda job: run(Fault(kind, job, stamp))  # type: ignore[method-assign]
        error: BaseException | None = None
        try:
            cy.run(endless(), backend="mpi", ranks=RANKS)
        except cy.ExecutionError as raised:
            error = raised
        code = "CYC730" if kind == "exception" else "CYC732"
        right = isinstance(error, cy.ExecutionError) and error.code == code
        right = right and f"rank 1 of {RANKS}" in str(error) and not processes.folder.exists()
        record_outcome(found, float(Path(stamp).read_text()), error, right, pids)


def of_the_user(found: Found) -> None:
    """An interrupt."""
    pids = mpi.default_pool(RANKS).pids
    begun = []

    def interrupt() -> None:
        begun.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(DELAY_SECONDS, interrupt).start()
    error: BaseException | None = None
    try:
        cy.run(endless(), backend="mpi", ranks=RANKS)
    except BaseException as raised:
        error = raised
    record_outcome(found, begun[0], error, isinstance(error, KeyboardInterrupt), pids)


def of_slots(found: Found) -> None:
    """More ranks than the launcher allows."""
    names = {"OMPI_MCA_rmaps_base_oversubscribe": "0", "PRTE_MCA_rmaps_default_mapping_policy": "slot"}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    error: BaseException | None = None
    begun = time.monotonic()
    try:
        mpi.Pool(min(48, 16 * (os.cpu_count() or 1)))
    except cy.CyclotronError as raised:
        error = raised
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    right = isinstance(error, cy.BackendUnavailable) and "slots" in str(error)
    record_outcome(found, begun, error, right, [])


def endless() -> cy.Program:
    """A program that runs for minutes."""
    return laps.compile(np.ones(RANKS), 30_000_000, schedule=cy.Schedule().space("i").time("t"))


def limits(transport: str) -> list[int]:
    """The sizes in bytes at which a transport changes how it sends."""
    name = transport.split(",")[0]
    told = subprocess.run(
        ["ompi_info", "--param", "btl", name, "--level", "9", "--parsable"], capture_output=True, text=True
    ).stdout
    found = re.findall(rf"btl_{name}_(?:rndv_eager_limit|eager_limit|max_send_size):value:(\d+)", told)
    return sorted({int(size) for size in found if int(size) > 0})


def exchange(transport: str, quick: bool) -> dict[str, Any]:
    """Two ranks send each other messages just below and above each limit; whether all products are right."""
    around = [-8, 0, 8] if quick else [*range(-96, 104, 8)]
    sizes = [limit + more for limit in limits(transport) for more in around]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": transport,
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    command = ["mpirun", "-n", "2", sys.executable, __file__, "--exchange", *map(str, sizes)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return {"transport": transport, "limits": limits(transport), "sizes": len(sizes), "right": False}
    right = done.returncode == 0 and done.stdout.split() == ["right"] * 2
    return {"transport": transport, "limits": limits(transport), "sizes": len(sizes), "right": right}


def exchanged(sizes: list[int]) -> None:
    """On each rank: a ring of rows, in which both send before they receive."""
    from cyclotron import _mpi

    _mpi.init()
    schedule = cy.Schedule().space("i").time("j", "k").stream("B", along="i").rotate("k", by="i")
    for size in sizes:
        width = size // 8
        A, B = np.array([[1.0, 2.0], [3.0, 5.0]]), np.arange(2.0 * width).reshape(2, width)
        program = matmul.compile(cy.blocked(A, 1), cy.blocked(B, (1, width)), schedule=schedule)
        C = np.zeros((2, width))
        _mpi.run(program.core.to_bytes(), _mpi.world(), [A, B, C], share_memory=False)
        if not np.array_equal(C, A @ B):
            sys.exit(f"messages of {size} bytes: wrong")
    os.write(1, b"right\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("--quick", action="store_true", help="one run of one kind")
    parser.add_argument("--runs", type=int, default=50, help="of each kind")
    parser.add_argument("--kinds", nargs="+", choices=(kinds := [*FAULTS, "interrupt", "slots", "messages"]))
    parser.add_argument("--exchange", nargs="+", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.exchange:
        exchanged(arguments.exchange)
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job has it ignored
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    figures: dict[str, Any] = {}
    failed = False
    for kind in arguments.kinds or (kinds[:1] if arguments.quick else kinds):
        if kind == "messages":
            figures[kind] = [exchange(transport, arguments.quick) for transport in TRANSPORTS]
            for one in figures[kind]:
                told = f"{one['sizes']} sizes around {one['limits']} of {one['transport']}"
                print(f"{told}: {'right' if one['right'] else 'wrong'}")
                failed |= not one["right"]
            continue
        found = Found()
        for _ in range(1 if arguments.quick else arguments.runs):
            if kind in FAULTS:
                of_a_rank(kind, found)
            else:
                {"interrupt": of_the_user, "slots": of_slots}[kind](found)
        print(found.row(kind), flush=True)
        failed |= found.fails() and not arguments.quick
        figures[kind] = {"seconds": found.seconds, "wrong": found.wrong, "orphans": found.orphans}
    write(arguments.json, figures)
    mpi.close_all()
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    from failures import main as run_main  # as a module that ranks can import

    run_main()
