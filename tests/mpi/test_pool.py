"""Programs on a pool of ranks: results, errors, deaths."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import programs
import pytest

from cyclotron import mpi
from cyclotron.mpi import jobs
from cyclotron.mpi import pool as pool_module
from cyclotron.mpi.arena import MappedArrays
from cyclotron.mpi.store import Work
from cyclotron.support.errors import BackendUnavailable, DeadlockError, ExecutionError, ShapeError

ROOT = Path(__file__).parents[2]


def run_matmul(m, n, k, tile, ranks, dtype="float64"):
    program, tensors = programs.matmul(m, n, k, tile, dtype)
    a, b = programs.small_integers((m, k), 1, dtype), programs.small_integers((k, n), 2, dtype)
    c = np.zeros((m, n), dtype)
    profile, kept = programs.run(program, tensors, [a, b, c], ranks)
    assert len(profile) == ranks
    assert not kept
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize(
    ("m", "n", "k", "tile"),
    [
        (1, 1, 1, 1),  # more ranks than PEs
        (2, 2, 3, 1),
        (3, 5, 4, 1),  # no multiple of any
        (12, 12, 30, 1),
        (66, 70, 68, 22),  # 3872 bytes a tile: below the eager limit
        (92, 92, 115, 23),  # 4232 bytes: above it, where Send then Receive hangs
        (300, 260, 280, 128),
    ],
)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_matmul(m, n, k, tile, ranks):
    run_matmul(m, n, k, tile, ranks)


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "complex64", "complex128"])
def test_dtypes(dtype):
    run_matmul(5, 7, 6, 2, 3, dtype)


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_broadcasts_across_ranks(ranks):
    program, tensors = programs.broadcasts(5, 4)
    x, y = programs.small_integers((5, 20), 3), np.zeros((5, 5))
    programs.run(program, tensors, [x, y], ranks)
    np.testing.assert_array_equal(y, np.repeat(x.sum(axis=1, keepdims=True), 5, axis=1))


def test_strided_inputs_and_outputs():
    program, tensors = programs.matmul(6, 4, 5)
    a = programs.small_integers((12, 10), 1)[::-2, ::2]
    b = np.asfortranarray(programs.small_integers((5, 4), 2))
    c = np.zeros((4, 6)).T
    programs.run(program, tensors, [a, b, c], 2)
    np.testing.assert_array_equal(c, a @ b)


def test_ranks_run_far_ahead_without_a_deadlock():
    program, tensors = programs.chain(4, 20_000, 20_000)
    profile, _ = programs.run(program, tensors, [], 4)
    assert len(profile) == 4


def test_message_that_nobody_sends():
    program, tensors = programs.chain(5, 2, 3)
    for ranks in (2, 3):
        with pytest.raises(DeadlockError) as caught:
            programs.run(program, tensors, [], ranks)
        assert caught.value.code == "CYC801"
        assert "waits for a message that nobody sends" in caught.value.message
    assert not mpi.default_pool(3).closed


def test_failure_of_an_operator_names_rank_pe_and_source():
    program, tensors = programs.chain(7, 3, 3, root=-1.0)
    pids = mpi.default_pool(3).pids
    with pytest.raises(ExecutionError) as caught:
        programs.run(program, tensors, [], 3)
    error = caught.value
    assert error.code == "CYC701"
    assert error.message == "sqrt of a negative number, in PE (6), on rank 2"
    assert error.span is not None
    assert error.span.file == "kernel.py"
    assert error.notes[0][1] == "at instruction 12 of class 0"
    assert mpi.default_pool(3).pids == pids


def test_wrong_arrays_and_programs():
    program, tensors = programs.matmul(2, 2, 2)
    a = np.zeros((2, 2))
    with pytest.raises(ShapeError, match="float32") as caught:
        programs.run(program, tensors, [a, a.astype("float32"), a.copy()], 2)
    assert caught.value.code == "CYC208"
    with pytest.raises(Exception, match="program file"):
        programs.run(b"nonsense", [], [], 2)
    with pytest.raises(ExecutionError) as caught:
        mpi.Pool(0)
    assert caught.value.code == "CYC733"


def test_arrays_that_cannot_be_mapped(golden):
    program, tensors = programs.matmul(2, 2, 2)
    processes = mpi.default_pool(2)._processes
    run = jobs.Run(Work(program, tensors, (None, None, None)), MappedArrays("/nonexistent", ()))
    failure, _ = processes.run(([], run))
    assert failure.code == "CYC730"
    assert "No such file" in failure.message
    golden("refusals/ranks-without-their-arrays.txt", str(failure))


def test_dead_rank_is_reported_and_replaced(golden):
    run_matmul(4, 4, 4, 1, 3)
    pool = mpi.default_pool(3)
    pids = pool.pids
    program, tensors = programs.endless(6)
    killer = threading.Timer(0.3, os.kill, (pids[1], signal.SIGKILL))
    killer.start()
    begun = time.monotonic()
    with pytest.raises(ExecutionError) as caught:
        programs.run(program, tensors, [], 3)
    assert time.monotonic() - begun < 2.3
    assert caught.value.code == "CYC732"
    assert caught.value.message == f"rank 1 of 3 died (process {pids[1]})"
    text = str(caught.value).replace(str(pids[1]), "PID")
    golden("refusals/rank-that-died.txt", re.sub(r"(?m)^ +=? note: .*\n", "", text))  # what its launcher said
    assert pool.closed
    assert_gone(pids)
    run_matmul(4, 4, 4, 1, 3)
    assert not set(mpi.default_pool(3).pids) & set(pids)


def test_rank_that_fails_alone_ends_the_others(monkeypatch, golden):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))  # where the job is
    with mpi.Pool(2) as pool:
        pids = pool.pids
        with pytest.raises(ExecutionError) as caught:
            pool.do(programs.FailsAlone(0))  # of which rank 1 waits for a message
        assert caught.value.code == "CYC730"
        golden("refusals/rank-that-failed-alone.txt", str(caught.value))
        assert pool.closed
        assert_gone(pids)


def test_rank_that_died_while_idle():
    run_matmul(4, 4, 4, 1, 2)
    pids = mpi.default_pool(2).pids
    os.kill(pids[0], signal.SIGKILL)
    assert_gone(pids[:1])
    program, tensors = programs.endless(2)
    with pytest.raises(ExecutionError, match="rank 0 of 2 died"):
        programs.run(program, tensors, [], 2)
    assert_gone(pids)
    run_matmul(4, 4, 4, 1, 2)


def test_stopped_rank_is_named_and_replaced(golden, monkeypatch):
    monkeypatch.setenv("CYCLOTRON_STOPPED_SECONDS", "1")
    run_matmul(4, 4, 4, 1, 3)
    pool = mpi.default_pool(3)
    pids = pool.pids
    program, tensors = programs.endless(6)
    threading.Timer(0.3, os.kill, (pids[1], signal.SIGSTOP)).start()
    begun = time.monotonic()
    with pytest.raises(ExecutionError) as caught:
        programs.run(program, tensors, [], 3)
    assert 1.2 < time.monotonic() - begun < 6
    text = re.sub(r"for [\d.]+ s", "for SECONDS s", str(caught.value)).replace(str(pids[1]), "PID")
    golden("refusals/rank-that-was-stopped.txt", text)
    assert pool.closed
    assert_gone(pids)
    run_matmul(4, 4, 4, 1, 3)


def test_rank_that_is_stopped_for_a_moment_goes_on():
    run_matmul(4, 4, 4, 1, 3)
    pool = mpi.default_pool(3)
    os.kill(pool.pids[1], signal.SIGSTOP)
    threading.Timer(0.5, os.kill, (pool.pids[1], signal.SIGCONT)).start()
    run_matmul(4, 4, 4, 1, 3)
    assert not pool.closed


def test_interrupt_ends_the_run_and_the_ranks():
    run_matmul(4, 4, 4, 1, 2)
    pool = mpi.default_pool(2)
    pids = pool.pids
    program, tensors = programs.endless(4)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        programs.run(program, tensors, [], 2)
    assert pool.closed
    assert_gone(pids)


def test_ranks_end_when_their_owner_is_killed():
    script = """
        import sys, time
        sys.path.insert(0, {tests!r})
        from cyclotron import mpi
        import programs
        pool = mpi.Pool(2)
        print(*pool.pids, flush=True)
        pool.run(Work(*programs.endless(4), []))
    """
    source = textwrap.dedent(script).format(tests=str(Path(__file__).parent))
    owner = subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, text=True, env=environment()
    )
    assert owner.stdout is not None
    pids = [int(pid) for pid in owner.stdout.readline().split()]
    assert len(pids) == 2
    owner.kill()
    owner.wait()
    owner.stdout.close()
    assert_gone(pids)


def test_exit_without_close_leaves_nothing_behind():
    script = """
        from cyclotron import mpi
        print(*mpi.default_pool(2).pids)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    assert_gone([int(pid) for pid in done.stdout.split()])
    assert done.stderr == ""


def test_pool_is_a_context_manager():
    program, tensors = programs.matmul(2, 3, 4)
    a, b, c = np.ones((2, 4)), np.ones((4, 3)), np.zeros((2, 3))
    with mpi.Pool(2) as pool:
        folder = pool._processes.folder
        pool.run(Work(program, tensors, [a, b, c]))
        pids = pool.pids
    assert (c == 4).all()
    assert pool.closed
    assert not folder.exists()
    assert_gone(pids)
    with pytest.raises(ExecutionError, match="closed"):
        pool.run(Work(program, tensors, [a, b, c]))


def test_without_mpirun(monkeypatch, golden):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(BackendUnavailable) as caught:
        mpi.Pool(2)
    assert caught.value.code == "CYC722"
    assert "apt-get install libopenmpi-dev openmpi-bin" in caught.value.help
    golden("refusals/no-mpirun.txt", str(caught.value))


def test_without_the_extension(monkeypatch):
    monkeypatch.setitem(sys.modules, "cyclotron._mpi", None)
    monkeypatch.delattr("cyclotron._mpi", raising=False)
    with pytest.raises(BackendUnavailable, match="MPI"):
        mpi.Pool(2)


def test_ranks_that_do_not_start(monkeypatch):
    monkeypatch.setattr(
        pool_module.launch, "command", lambda ranks, folder: ["sh", "-c", "echo no slots; exit 3"]
    )
    with pytest.raises(BackendUnavailable) as caught:
        mpi.Pool(2)
    assert caught.value.message == "the MPI ranks did not start: it ended with code 3"
    assert caught.value.notes == ((None, "no slots"),)
    monkeypatch.setattr(pool_module.launch, "command", lambda ranks, folder: ["sleep", "60"])
    with pytest.raises(BackendUnavailable, match="did not report in time"):
        mpi.Pool(2, start_seconds=0.2)


def test_pools_that_nobody_uses_make_room():
    first = mpi.default_pool(1)
    mpi.default_pool(2)
    mpi.default_pool(3)
    assert first.closed
    assert mpi.default_pool(2) is mpi.default_pool(2)


def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def assert_gone(pids):
    """Wait until the processes have ended."""
    deadline = time.monotonic() + 10
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < deadline, f"{pids} are still there"
        os.sched_yield()


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.mark.parametrize(("given", "seconds"), [("0.5", 0.5), ("nan", 10), ("-1", 10), ("soon", 10)])
def test_seconds_that_are_none_are_the_usual_ones(given, seconds, monkeypatch):
    monkeypatch.setenv("CYCLOTRON_STOPPED_SECONDS", given)
    assert pool_module._stopped_seconds() == seconds
