"""MPI ranks give the simulator's bits: under mpirun on 1, 2, 4 and 8 ranks, and on a pool of workers.

CY-133 … CY-137.
"""

import os
import subprocess
import sys
from pathlib import Path

import cases
import numpy as np
import pytest

import cyclotron as cy

ROOT = Path(__file__).parents[2]
pytest.importorskip("cyclotron._mpi", reason="Cyclotron was built without MPI")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Every program with its inputs and the simulator's output, in one folder."""
    folder = tmp_path_factory.mktemp("programs")
    for number, case in enumerate(cases.all_cases()):
        program = case.compile()
        inputs = list(program.inputs().values())
        expected = cy.run(program, backend="sim").output
        program.save(folder / f"{number:04}.cyc")
        named = {f"input{n}": array for n, array in enumerate(inputs)}
        np.savez(folder / f"{number:04}.npz", expected=expected, **named)
    return folder


@pytest.mark.sampled(2)
@pytest.mark.parametrize("ranks", [8, 1, 2, 4])
def test_every_program_under_mpirun(ranks, saved):
    environment = dict(
        os.environ,
        PYTHONPATH=os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        OPENBLAS_NUM_THREADS="1",
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_rmaps_base_oversubscribe="1",
        PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",
    )
    command = [
        "mpirun",
        "-n",
        str(ranks),
        sys.executable,
        str(Path(__file__).parent / "run_cases.py"),
        str(saved),
    ]
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=280
    )
    count = len(list(saved.glob("*.cyc")))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{count} programs, 0 wrong []"] * ranks


@pytest.mark.parametrize("case", list(cases.all_cases())[::40], ids=lambda case: case.name)
def test_pool_from_a_plain_process(case):
    program = case.compile()
    expected = cy.run(program, backend="sim").output
    assert cy.run(program, backend="mpi", ranks=4).output.tobytes() == expected.tobytes()


@cy.kernel
def smooth(u, steps):
    for t in range(steps):
        u[1:-1, 1:-1] += (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]) * 3
    return u


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", [(3, 4), (7, 40), (12, 5003)], ids=str)
@pytest.mark.parametrize("dtype", [np.int32, np.complex128])
def test_blocks_of_points_pass_rows_of_scalars(shape, dtype):
    """Within a rank and between ranks, up to more at once than a queue has room for."""
    u = np.random.default_rng(5).integers(-9, 9, shape).astype(dtype)
    schedule = cy.Schedule().space("i", "j").time("t").fold(i=cy.block(3), j=cy.block(1))
    program = smooth.compile(u, 4, schedule=schedule)
    expected = smooth.reference(u, 4)
    for ranks in (1, 2, 3):
        assert cy.run(program, backend="mpi", ranks=ranks).output.tobytes() == expected.tobytes()
