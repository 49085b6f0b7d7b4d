"""Programs on disk between processes."""

import errno
import linecache
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import cyclotron as cy
from cyclotron import _core, cache
from cyclotron.cache import ProgramCache

ROOT = Path(__file__).resolve().parents[2]
LINES = """
import numpy as np
import cyclotron as cy
{before}
@cy.kernel
def matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1])) * {factor}
    return C
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CYCLOTRON_CACHE_DIR", str(tmp_path / "cache"))
    cache._cache.cache_clear()
    yield tmp_path / "cache"
    cache._cache.cache_clear()


@cy.kernel
def times(x, number):
    return x * number


def test_nans_of_either_sign_are_different_programs(folder):
    for sign in (1.0, -1.0):
        program = times.compile(np.ones(2), float(np.copysign(np.nan, sign)))
        assert np.signbit(cy.run(program, backend="sim").output).tolist() == [sign < 0] * 2


def fresh(tmp_path, *, factor="1", before=""):
    """A kernel that this process has not compiled, of one file and text."""
    file = tmp_path / "kernels_of_a_test.py"
    file.write_text(LINES.format(factor=factor, before=before))
    linecache.clearcache()
    names = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names["matmul"]


def test_the_second_process_compiles_nothing(folder, tmp_path, monkeypatch):
    A, B = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    first = fresh(tmp_path).compile(A, B)
    assert cy.cache.info()["misses"] == 1
    assert cy.cache.info()["entries"] == 1

    compilations = []
    compiler = _core.compile
    monkeypatch.setattr(_core, "compile", lambda *a: compilations.append(a) or compiler(*a))
    second = fresh(tmp_path).compile(A, B)
    assert cy.cache.info()["hits"] == 1
    assert second.core.to_bytes() == first.core.to_bytes()
    assert second.schedule == first.schedule
    assert second.schedule_chosen
    ran = cy.run(second, backend="sim")
    assert np.array_equal(ran.output, A @ B)
    assert ran.cycles == cy.run(first, backend="sim").cycles
    assert compilations == []
    # Every other stage is there when it is asked for, and is the same.
    assert str(second.dataflow) == str(first.dataflow)
    assert second.verify() == first.verify()
    assert second.channel_flows == first.channel_flows
    assert str(second.explain()) == str(first.explain())
    assert len(compilations) == 1


def test_all_that_a_program_depends_on(folder, tmp_path):
    A, B = np.eye(3), np.eye(3)
    variants = [
        lambda: fresh(tmp_path).compile(A, B),
        lambda: fresh(tmp_path, factor="2").compile(A, B),
        lambda: fresh(tmp_path, before="\n\n").compile(A, B),  # lines in errors and names
        lambda: fresh(tmp_path).compile(A.astype("f4"), B.astype("f4")),
        lambda: fresh(tmp_path).compile(np.ones((2, 3)), B),
        lambda: fresh(tmp_path).compile(cy.blocked(A, 3), cy.blocked(B, 3)),
        lambda: fresh(tmp_path).compile(A, B, schedule=cy.Schedule().space("i")),
        lambda: fresh(tmp_path).compile(A, B, machine=cy.Machine(link=cy.Link(latency=3))),
        lambda: fresh(tmp_path, factor="-0.0").compile(A, B),
        lambda: fresh(tmp_path, factor="0.0").compile(A, B),
    ]
    for number, compiled in enumerate(variants, 1):
        compiled()
        assert cy.cache.info()["entries"] == number
    for compiled in variants:
        compiled()
    assert cy.cache.info()["entries"] == len(variants)
    assert cy.cache.info()["hits"] == len(variants)


def test_schedules_that_make_other_equations_are_kept_with_them(folder, tmp_path):
    schedule = cy.Schedule().reassociate("k", parts=2, into="l").space("l")
    programs = [fresh(tmp_path).compile(np.eye(4), np.eye(4), schedule=schedule) for _ in range(2)]
    assert cy.cache.info()["entries"] == 1
    for program in programs:
        assert "l" in program.recurrences.indices
        np.testing.assert_array_equal(cy.run(program, backend="sim").output, np.eye(4))


def test_refusals_are_not_kept(folder, tmp_path):
    for _ in range(2):
        with pytest.raises(cy.CyclotronError, match="CYC"):
            fresh(tmp_path).compile(np.eye(3), np.eye(3), schedule=cy.Schedule().space("nowhere"))
    assert cy.cache.info()["entries"] == 0


@pytest.mark.parametrize("damage", [b"", b"nonsense", "cut", "bit", "foreign"])
def test_damaged_entries_are_compiled_again(folder, tmp_path, damage):
    A = np.eye(3)
    whole = fresh(tmp_path).compile(A, A).core.to_bytes()
    (entry,) = folder.iterdir()
    data = entry.read_bytes()
    if damage == "cut":
        damage = data[: len(data) // 2]
    elif damage == "bit":
        damage = data[:-9] + bytes([data[-9] ^ 4]) + data[-8:]
    if damage == "foreign":  # whole, but of another layout
        ProgramCache(folder, 1 << 20).put(entry.stem, b"{}\nno program")
    else:
        entry.write_bytes(damage)
    assert fresh(tmp_path).compile(A, A).core.to_bytes() == whole
    assert entry.read_bytes() == data  # written anew
    assert damage == "foreign" or "is damaged" in cy.cache.info()["failure"]


def test_a_full_disk_only_costs_the_compilation(folder, tmp_path, monkeypatch):
    def full(self, data):
        with open(self, "wb") as file:
            file.write(data[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))

    monkeypatch.setattr(Path, "write_bytes", full)
    program = fresh(tmp_path).compile(np.eye(2), np.eye(2))
    assert cy.run(program).output.tolist() == np.eye(2).tolist()
    assert "No space left" in cy.cache.info()["failure"]
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux only")
def test_a_folder_that_is_none(tmp_path, monkeypatch):
    monkeypatch.setenv("CYCLOTRON_CACHE_DIR", "/dev/full")
    cache._cache.cache_clear()
    assert fresh(tmp_path).compile(np.eye(2), np.eye(2)).grid == (2, 2)
    assert cy.cache.info()["failure"]
    cache._cache.cache_clear()


def test_no_folder_no_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CYCLOTRON_CACHE_DIR", "")
    cache._cache.cache_clear()
    fresh(tmp_path).compile(np.eye(2), np.eye(2))
    assert cy.cache.info() == {
        "folder": None,
        "entries": 0,
        "bytes": 0,
        "limit": 0,
        "hits": 0,
        "misses": 0,
        "failure": None,
    }


def test_the_oldest_make_room(tmp_path):
    store = ProgramCache(tmp_path, 1300)
    now = time.time()
    for number in range(8):
        store.put(f"{number}", bytes(200))
        os.utime(tmp_path / f"{number}.program", (now - 100 + number,) * 2)
        if number == 3:
            assert store.get("0") is not None  # used now
    kept = {path.stem for _, _, path in store.entries()}
    assert "0" in kept
    assert "7" in kept
    assert "1" not in kept
    assert sum(size for _, size, _ in store.entries()) <= 1300


def test_files_that_a_killed_process_left_are_removed(tmp_path):
    left, new = tmp_path / ".abc.1-2", tmp_path / ".abd.1-2"
    left.write_bytes(b"half")
    new.write_bytes(b"half")
    os.utime(left, (time.time() - 7200,) * 2)
    assert ProgramCache(tmp_path, 1000).entries() == []
    assert not left.exists()
    assert new.exists()


WORKER = """
import sys, numpy as np
sys.path.insert(0, sys.argv[1])
import cyclotron as cy
from kernels_of_a_test import matmul
for n in range(2, 8):
    A = np.arange(n * n * 1.0).reshape(n, n)
    assert np.array_equal(cy.run(matmul.compile(A, A), backend="sim").output, A @ A)
print(cy.cache.info()["failure"])
"""


def test_processes_at_once(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("CYCLOTRON_CACHE_BYTES", "60000")  # so that they remove each other's entries
    fresh(tmp_path)
    command = [sys.executable, "-c", WORKER, str(tmp_path)]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(3)
    ]
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert out == "None\n"
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 60000 * 65 // 64
    assert not [path for path in folder.iterdir() if path.suffix != ".program"]


def test_clear(folder, tmp_path):
    fresh(tmp_path).compile(np.eye(2), np.eye(2))
    cy.cache.clear()
    assert cy.cache.info()["entries"] == 0
