"""Files that would take all memory are refused before they are read, or before they make what they name."""

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import kernels
import mutants
import pytest

import cyclotron as cy

ROOT = Path(__file__).parents[2]
LARGE = (2**24 - 1, 2**30, 2**40, 2**61)


@pytest.mark.parametrize(
    "load", [cy.load, cy.Machine.load, cy.Schedule.load], ids=["program", "machine", "schedule"]
)
@pytest.mark.parametrize("size", [2**33, None], ids=["huge", "endless"])
def test_a_huge_file_is_refused_unread(load, size, tmp_path):
    path = tmp_path / "huge" if size else Path("/dev/zero")
    if size:
        path.touch()
        os.truncate(path, size)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if size or load is cy.load:
        with pytest.raises(cy.CyclotronError, match="more than" if size else "not a Cyclotron program"):
            load(path)
    else:
        load(path)  # empty
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes


def numbers(value, path=()):
    """The places of the numbers in a file's text."""
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, entry in entries:
        yield from numbers(entry, (*path, key))
    if isinstance(value, int) and not isinstance(value, bool):
        yield path


def read_with_large_numbers():
    """Read files with one large number each; run in a process of little memory."""
    tree = cy.machines.tree(8)
    programs = [
        kernels.matmul.compile(cy.spec((4, 4)), cy.spec((4, 4)), schedule=cy.Schedule().space("i", "j")),
        kernels.matmul.compile(cy.spec((4, 4)), cy.spec((4, 4)), machine=cy.machines.wormhole()),
        kernels.prefix_sum.compile(cy.spec((8,)), schedule=cy.Schedule().space("i")),
    ]
    assert tree
    resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32))
    for program in programs:
        data = program.core.to_bytes()
        text, values = mutants.text_of(data)
        for path in list(numbers(text)):
            holder = text
            for key in path[:-1]:
                holder = holder[key]
            usual = holder[path[-1]]
            for large in LARGE:
                holder[path[-1]] = large
                try:
                    str(mutants.read(mutants.changed_file(data, text, values)))
                except cy.InternalError:
                    raise
                except cy.CyclotronError:
                    pass
            holder[path[-1]] = usual
    assert (used := most_memory()) < 500_000, used


def most_memory():
    """The kilobytes of this program at most; getrusage counts those of the process that started it, too."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])


def test_large_numbers_take_no_memory():
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT), str(Path(__file__).parent)]))
    script = "import test_hostile_files as t; t.read_with_large_numbers()"
    subprocess.run([sys.executable, "-c", script], check=True, env=environment, timeout=300)


def test_a_program_that_does_not_fit_in_memory_is_refused(monkeypatch, tmp_path):
    class Full:
        class Program:
            @staticmethod
            def from_bytes(data):
                raise MemoryError

    path = tmp_path / "program.cyc"
    path.write_bytes(b"0123456789")
    monkeypatch.setattr("cyclotron.compiler.program._core", Full)
    with pytest.raises(cy.ProgramError, match="10 bytes does not fit in memory") as caught:
        cy.load(path)
    assert caught.value.code == "CYC601"
