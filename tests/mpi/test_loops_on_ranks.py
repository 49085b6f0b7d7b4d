"""Loops in machine code on ranks: the interpreter's bits, one compiler for all, each rank's own stores."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_compiled_loops import averages, choices, floyd_warshall, gauss_jordan, least_sums

import cyclotron as cy

COMPILER = shutil.which("cc") or ""
pytestmark = pytest.mark.skipif(not COMPILER, reason="no C compiler here")
ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(11)

# Runs until this rank has loaded the library, then once more. A rank that fails ends the others.
_RANK = """
import os, sys, traceback
from pathlib import Path
import numpy as np
import cyclotron as cy
from cyclotron import _mpi
from cyclotron.runtime.backend import arrays_of, empty_outputs

_mpi.init()
world = _mpi.world()

def run(path, kept):
    program = cy.load(path)
    inputs = np.load(path.with_suffix(".inputs.npz"))
    expected = np.load(path.with_suffix(".outputs.npz"))
    own = path.with_suffix(f".{os.getpid()}")
    loops = str(path.with_suffix(".sh")), kept
    loaded = False
    while True:
        outputs = empty_outputs(program)
        arrays = arrays_of(program, inputs, outputs)
        _mpi.run(path.read_bytes(), world, arrays, loops=loops, seconds_to_look=0.0)
        for name, array in outputs.items():
            assert array.tobytes() == expected[name].tobytes(), (path, name)
        if loaded:
            break
        loaded = _mpi.agree(b"%d" % own.exists(), world) and own.exists()

try:
    for path in sorted(Path(sys.argv[1]).glob("*.cyc")):
        run(path, sys.argv[2])
except BaseException:
    traceback.print_exc()
    sys.stderr.flush()
    os._exit(1)
os.write(1, b"same\\n")  # one write, so that lines of ranks stay whole
"""

# Notes that it is called, and has the library note which processes load it.
_COMPILER = """#!/bin/sh
echo called >> {path}.calls
for source; do :; done
cat >> "$source" <<'END'
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void note(void) {{
  char name[4096];
  snprintf(name, sizeof name, "{path}.%d", (int)getpid());
  FILE* file = fopen(name, "w");
  if (file) fclose(file);
}}
END
exec {compiler} "$@"
"""


def on_rows(kernel, *arguments, block):
    return kernel.compile(*arguments, schedule=cy.Schedule().space("i").fold(i=cy.block(block)))


def programs():
    A, B = RNG.random((30, 17)), RNG.random((17, 23))
    square = RNG.random((21, 21)) + 21 * np.eye(21)
    yield on_rows(least_sums, A, B, block=10)
    yield on_rows(choices, *RNG.standard_normal((2, 37)), block=19)
    yield cy.run(gauss_jordan, square, threads=1, tile=None).program
    yield cy.run(floyd_warshall, square, threads=1, tile=None).program
    yield cy.run(averages, RNG.random(50), 0.25, threads=1, tile=None).program


@pytest.mark.parametrize("kept", [True, False])
def test_ranks_run_the_same_loops(kept, tmp_path):
    names = []
    for number, program in enumerate(programs() if kept else [next(programs())]):
        path = tmp_path / f"{number}"
        names.append(path)
        program.save(path.with_suffix(".cyc"))
        np.savez(path.with_suffix(".inputs.npz"), **program.inputs())
        outputs = cy.run(program, *program.inputs().values(), backend="sim").outputs
        np.savez(path.with_suffix(".outputs.npz"), **outputs)
        script = path.with_suffix(".sh")
        script.write_text(_COMPILER.format(path=path, compiler=COMPILER))
        script.chmod(0o700)
    environment = dict(
        os.environ,
        PYTHONPATH=os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_rmaps_base_oversubscribe="1",
        PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",
    )
    folder = tmp_path / "kept" if kept else ""
    words = ["mpirun", "-n", "2", sys.executable, "-c", _RANK, str(tmp_path), str(folder)]
    done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["same"] * 2
    for path in names:
        calls = path.with_suffix(".calls").read_text().count("called")
        assert calls == (1 if kept else 2)
    if kept:
        assert not list((tmp_path / "kept").glob(".*"))
