"""Runs under mpirun: every rank calls, every rank gets the outputs or the error."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from ast import literal_eval
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PRELUDE = """
import os, sys
sys.path[:0] = {tests!r}
import numpy as np
import programs
from cyclotron.support.errors import CyclotronError

def report(text):
    os.write(1, (text + "\\n").encode())  # one write, so that lines of ranks stay whole

def rank():
    return int(os.environ["OMPI_COMM_WORLD_RANK"])
"""


def launch(ranks: int, script: str, first: str = "") -> list[str]:
    """Run a script on ranks and return its lines, sorted."""
    tests = [str(Path(__file__).parent), str(ROOT / "tests" / "programs")]
    source = first + PRELUDE.format(tests=tests) + textwrap.dedent(script)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OPENBLAS_NUM_THREADS": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    done = subprocess.run(
        ["mpirun", "-n", str(ranks), sys.executable, "-c", source],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.splitlines())


MATMULS = """
    for m, n, k, tile in [(1, 1, 1, 1), (3, 5, 4, 1), (92, 92, 115, 23), (50, 60, 70, 16)]:
        program, tensors = programs.matmul(m, n, k, tile)
        a, b = programs.small_integers((m, k), 1), programs.small_integers((k, n), 2)
        c = np.full((m, n), 7.0)
        programs.run(program, tensors, [a, b, c])
        assert (c == a @ b).all()
    report(f"rank {rank()} is done")
"""


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_every_rank_gets_every_output(ranks):
    assert launch(ranks, MATMULS) == [f"rank {rank} is done" for rank in range(ranks)]


def test_on_mpi4pys_world():
    first = "from mpi4py import MPI\n"
    script = MATMULS + "    assert MPI.COMM_WORLD.allreduce(1) == 3\n"
    assert launch(3, script, first) == [f"rank {rank} is done" for rank in range(3)]


def test_mpi4py_may_come_later():
    script = MATMULS + "    from mpi4py import MPI\n    assert MPI.COMM_WORLD.allreduce(1) == 2\n"
    assert launch(2, script) == ["rank 0 is done", "rank 1 is done"]


def test_errors_are_raised_on_all_ranks_alike():
    lines = launch(
        3,
        """
        for program, tensors, arrays in [
            (*programs.chain(7, 3, 3, root=-1.0), []),
            (*programs.chain(5, 2, 3), []),
            (*programs.matmul(2, 2, 2), [np.zeros((2, 2))] * (3 if rank() != 1 else 2)),
        ]:
            try:
                programs.run(program, tensors, arrays)
            except CyclotronError as error:
                report(f"{error.code} {error.message}")
        program, tensors = programs.matmul(2, 2, 2)
        c = np.zeros((2, 2))
        programs.run(program, tensors, [np.ones((2, 2)), np.ones((2, 2)), c])
        assert (c == 2).all()
        """,
    )
    assert lines == [
        *["CYC208 the program has 3 tensors, got 2 arrays, on rank 1"] * 3,
        *["CYC701 sqrt of a negative number, in PE (6), on rank 2"] * 3,
        *["CYC801 no PE can go on: PE (1) waits for a message that nobody sends"] * 3,
    ]


def test_different_programs_and_other_rank_counts(golden):
    lines = launch(
        2,
        """
        for program, ranks in [(programs.matmul(2, 2, 2 + rank()), None), (programs.matmul(2, 2, 2), 4)]:
            try:
                programs.run(*program, [np.zeros((2, 2))] * 3, ranks)
            except CyclotronError as error:
                report(repr(str(error)))
        """,
    )
    other_count, different = (literal_eval(line) for line in lines[1::2])
    assert lines[0::2] == lines[1::2]  # each rank was told
    assert "the 2 ranks were given different programs [CYC731]" in different
    assert "ranks=4 under a launcher that started 2 [CYC733]" in other_count
    golden("refusals/different-programs.txt", different)
    golden("refusals/other-rank-count.txt", other_count)


def test_interrupt_on_one_rank_stops_all(golden):
    lines = launch(
        2,
        """
        import signal, threading
        programs.run(*programs.chain(2, 1, 1), [])  # from here on MPI is started
        if rank() == 1:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            programs.run(*programs.endless(4), [])
        except KeyboardInterrupt:
            report("interrupted")
        except CyclotronError as error:
            report(repr(str(error)))
        """,
    )
    told, itself = lines
    assert itself == "interrupted"
    golden("refusals/interrupt-of-another-rank.txt", literal_eval(told))


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_check_takes_the_ranks_of_the_launcher(ranks):
    lines = launch(
        ranks,
        """
        import cyclotron as cy
        import kernels

        A = np.arange(12.0).reshape(3, 4)
        found = cy.check(kernels.matmul.compile(A, A.T, schedule=cy.Schedule().space("i")))
        report(f"{found.errors} {found.skipped}")
        """,
    )
    assert lines == ["{'sim': 0.0, 'local': 0.0, 'mpi': 0.0} {}"] * ranks


WATCHED = """
    import threading

    shared = set(sorted(os.sched_getaffinity(0))[:2])
    os.sched_setaffinity(0, shared)  # two cores, on any computer
    seen, done = [], threading.Event()

    def watch():
        thread = threading.main_thread().native_id
        while not done.is_set():
            seen.append(frozenset(os.sched_getaffinity(thread)))
            done.wait(0.001)

    watcher = threading.Thread(target=watch)
    watcher.start()
    program, tensors = programs.matmul(256, 256, 256, 32)
    a, b = programs.small_integers((256, 256), 1), programs.small_integers((256, 256), 2)
    for _ in range(5):
        programs.run(program, tensors, [a, b, np.zeros((256, 256))])
    done.set()
    watcher.join()
    bound = set(seen) - {frozenset(shared)}
    assert all(len(cores) == 1 and cores < shared for cores in bound), bound
    assert os.sched_getaffinity(0) == shared
    report(f"{sorted(core for cores in bound for core in cores)}")
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="ranks share cores where there are two")
def test_ranks_that_share_cores_stay_on_one_during_a_run():
    one, other = sorted(os.sched_getaffinity(0))[:2]
    assert launch(4, WATCHED) == [f"[{one}]", f"[{one}]", f"[{other}]", f"[{other}]"]
    assert launch(2, WATCHED) == ["[]", "[]"]  # each has a core, whichever the system thinks best
