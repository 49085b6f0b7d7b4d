"""Refusals, and how they read: the guilty line, both quantities, one suggestion; nothing is lost."""

import os
import re
import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import kernels
import numpy as np
import pytest

import cyclotron as cy

SPACE = cy.Schedule().space
TILES = cy.blocked(np.ones(6), (2,))  # of scalars, it would be a loop nest


@cy.kernel
def twice(A):
    X = cy.empty_like(A)
    for i in range(A.shape[0]):
        for j in range(2):
            X[i] = A[i]
    return X


@cy.kernel
def doctored(A):
    X = cy.empty_like(A)
    for i in range(A.shape[0]):
        X[i] = A[i] + A[i]
    with cy.ignore():
        X[0] = 4.0
    return X


@cy.kernel
def turned_sums(B):
    X = cy.empty_like(B)
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            X[i, j] = B[i, j] + sum(X[j, k] for k in range(i))
    return X


@cy.kernel
def overlap(A):
    X = cy.empty_like(A)
    X[0] = A[1]
    for i in range(A.shape[0]):
        X[i] = A[i]
    return X


@cy.kernel
def gap(A):
    X = cy.empty_like(A)
    for i in range(1, A.shape[0]):
        X[i] = A[i]
    return X


@cy.kernel
def outside(A):
    X = cy.empty_like(A)
    for i in range(A.shape[0]):
        X[i] = A[i + 1]
    return X


@cy.kernel
def unassigned_read(A):
    n = A.shape[0]
    T = cy.empty_like(A)
    X = cy.empty_like(A)
    for i in range(1, n):
        T[i] = A[i]
    for i in range(n):
        X[i] = T[i]
    return X


@cy.kernel
def stencil(A):
    T, n = A.shape
    X = cy.empty_like(A)
    for t in range(T):
        for i in range(n):
            if t == 0 or i == 0 or i == n - 1:
                X[t, i] = A[t, i]
            else:
                X[t, i] = X[t - 1, i + 1] + X[t, i - 1]
    return X


@cy.kernel
def nine_back(A):
    X = cy.empty_like(A)
    for i in range(A.shape[0]):
        X[i] = X[i - 9] + A[i] if i > 8 else A[i]
    return X


@cy.kernel
def late_exchange(A):
    T, n = A.shape
    X = cy.empty_like(A)
    for t in range(T):
        for i in range(n):
            if t < 5:
                X[t, i] = A[t, i]
            elif i == 0:
                X[t, i] = X[t - 5, i + 1]
            elif i == n - 1:
                X[t, i] = X[t - 5, i - 1]
            else:
                X[t, i] = X[t - 5, i - 1] + X[t - 5, i + 1]
    return X


@cy.kernel
def halves(A):
    n = A.shape[0]
    T = cy.empty((2 * n,))
    X = cy.empty((1,))
    for i in range(n):
        T[2 * i] = A[i]
        T[2 * i + 1] = A[i]
    X[0] = sum(T[j] for j in range(2 * n))
    return X


@cy.kernel
def maximum_with_a_gap(A):
    X = cy.empty_like(A)
    for i in range(A.shape[0]):
        X[i] = max(A[k] for k in range(A.shape[0]) if k != i)
    return X


@cy.kernel
def running_maximum(x):
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = max(x[k] for k in range(i + 1))
    return y


@cy.kernel
def backwards(A):
    T, n = A.shape
    X = cy.empty_like(A)
    for t in range(T):
        for i in range(n):
            X[t, i] = A[t, i] if i == 0 else X[T - 1 - t, i - 1] + A[t, i]
    return X


@cy.kernel
def column_left_out(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        C[i, 2] = 0
        for j in range(B.shape[1]):
            if j != 2:
                C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


def loaded():
    """A program that knows only its file."""
    program = kernels.matmul.compile(A, B)
    return cy.Program(type(program.core).from_bytes(program.core.to_bytes()))


A, B = np.ones((4, 4)), np.ones((4, 4))
SMALL = cy.Machine(pe=cy.PE(memory=1024))
SHALLOW = cy.Machine(link=cy.Link(depth=2))
ONE_WAY = cy.Machine(topology=(cy.LinkMap("(i) -> (i + 1)"),))

REFUSALS = {
    "fractional-access": (cy.LegalityError, "CYC211", lambda: halves.compile(np.ones(3))),
    "maximum-with-a-gap": (cy.LegalityError, "CYC213", lambda: maximum_with_a_gap.compile(np.ones(4))),
    "overtaking": (
        cy.LegalityError,
        "CYC222",
        lambda: backwards.compile(np.ones((4, 3)), schedule=SPACE("i")),
    ),
    "receivers-with-a-gap": (
        cy.LegalityError,
        "CYC224",
        lambda: column_left_out.compile(
            np.ones((3, 3)), np.ones((3, 5)), schedule=SPACE("i", "j").broadcast("A")
        ),
    ),
    "wrong-machine": (cy.ShapeError, "CYC400", lambda: kernels.matmul.compile(A, B, machine="tpu")),
    "stages-of-a-loaded-program": (cy.ProgramError, "CYC620", lambda: loaded().recurrences),
    "no-program": (cy.ProgramError, "CYC621", lambda: cy.run(5)),
    "output-of-a-timing-run": (
        cy.ExecutionError,
        "CYC711",
        lambda: cy.run(kernels.matmul.compile(A, B), backend="sim", functional=False).output,
    ),
    "cycles-of-threads": (cy.ExecutionError, "CYC712", lambda: cy.run(kernels.matmul.compile(A, B)).cycles),
    "timing-only-threads": (
        cy.ExecutionError,
        "CYC713",
        lambda: cy.run(kernels.matmul.compile(A, B), functional=False),
    ),
    "unknown-engine": (
        cy.ExecutionError,
        "CYC715",
        lambda: cy.run(kernels.matmul.compile(A, B), backend="sim", functional=False, engine="warp"),
    ),
    "engine-of-a-functional-run": (
        cy.ExecutionError,
        "CYC715",
        lambda: cy.run(kernels.matmul.compile(A, B), backend="sim", engine="fast-forward"),
    ),
    "engine-of-threads": (
        cy.ExecutionError,
        "CYC715",
        lambda: cy.run(kernels.matmul.compile(A, B), engine="general"),
    ),
    "fast-forward-of-ragged-tiles": (
        cy.ExecutionError,
        "CYC709",
        lambda: cy.run(
            kernels.matmul.compile(cy.blocked(np.ones((3, 4)), (2, 2)), cy.blocked(np.ones((4, 4)), (2, 2))),
            backend="sim",
            functional=False,
            engine="fast-forward",
        ),
    ),
    "fast-forward-of-shared-links": (
        cy.ExecutionError,
        "CYC709",
        lambda: cy.run(
            kernels.matmul.compile(A, B, machine=cy.Machine(shared_links=True)),
            backend="sim",
            functional=False,
            engine="fast-forward",
        ),
    ),
    "depths-of-shared-links": (
        cy.LegalityError,
        "CYC672",
        lambda: kernels.matmul.compile(A, B, machine=cy.Machine(shared_links=True)).least_depths(),
    ),
    "ports-of-zero": (cy.ShapeError, "CYC401", lambda: cy.PE(ports={"load": 0})),
    "ports-of-nothing": (cy.ShapeError, "CYC401", lambda: cy.PE(ports={"jump": 1})),
    "latency-below-the-interval": (cy.ShapeError, "CYC401", lambda: cy.Unit(cycles=4, latency=3)),
    "more-cycles-than-fit": (
        cy.ExecutionError,
        "CYC708",
        lambda: cy.run(
            kernels.matmul.compile(
                cy.spec((2, 10**7)),
                cy.spec((10**7, 2)),
                schedule=cy.schedules.output_stationary(kernels.matmul),
                machine=cy.Machine(pe=cy.PE(cycles={"multiply_add": 2**40, "matmul_add": 2**40})),
            ),
            backend="sim",
            functional=False,
        ),
    ),
    "check-that-fails": (
        cy.ExecutionError,
        "CYC714",
        lambda: cy.check(doctored.compile(np.ones(3)), backends=("sim",)),
    ),
    "reference-of-a-loaded-program": (
        cy.BackendUnavailable,
        "CYC721",
        lambda: cy.run(loaded(), A, B, backend="numpy"),
    ),
    "assigned-twice": (cy.LegalityError, "CYC201", lambda: twice.compile(TILES)),
    "assigned-by-two-equations": (cy.LegalityError, "CYC201", lambda: overlap.compile(TILES)),
    "never-assigned": (cy.LegalityError, "CYC202", lambda: gap.compile(np.ones(3))),
    "outside-its-tensor": (cy.LegalityError, "CYC203", lambda: outside.compile(np.ones(3))),
    "undefined-element": (cy.LegalityError, "CYC204", lambda: unassigned_read.compile(np.ones(3))),
    "unknown-index": (
        cy.ScheduleError,
        "CYC310",
        lambda: kernels.matmul.compile(A, B, schedule=SPACE("i", "z")),
    ),
    "unknown-tensor": (
        cy.ScheduleError,
        "CYC310",
        lambda: kernels.matmul.compile(A, B, schedule=SPACE("i").stream("Q")),
    ),
    "prefetch-of-a-result": (
        cy.ScheduleError,
        "CYC312",
        lambda: kernels.matmul.compile(A, B, schedule=SPACE("i").prefetch("C")),
    ),
    "axis-that-does-not-carry": (
        cy.ScheduleError,
        "CYC313",
        lambda: kernels.solve_vector.compile(A, np.ones(4), schedule=SPACE("i").stream("b", along="j")),
    ),
    "broken-dependence": (
        cy.LegalityError,
        "CYC221",
        lambda: stencil.compile(np.ones((4, 5)), schedule=cy.Schedule().time("i", "t")),
    ),
    "far-hop": (
        cy.LegalityError,
        "CYC220",
        lambda: nine_back.compile(np.ones(24), schedule=SPACE("i"), machine=ONE_WAY),
    ),
    "memory-overflow": (
        cy.CapacityError,
        "CYC501",
        lambda: kernels.matmul.compile(
            cy.blocked(np.ones((32, 32)), (16, 16)), cy.blocked(np.ones((32, 32)), (16, 16)), machine=SMALL
        ),
    ),
    "no-affine-form": (
        cy.ScheduleError,
        "CYC310",
        lambda: kernels.matmul.compile(A, B, schedule=SPACE("i-n", "j")),
    ),
    "fold-of-time": (
        cy.ScheduleError,
        "CYC315",
        lambda: kernels.matmul.compile(A, B, schedule=SPACE("i", "j").fold(k=2)),
    ),
    "rotation-of-unequal-sides": (
        cy.ScheduleError,
        "CYC317",
        lambda: kernels.matmul.compile(A[:3], B, schedule=SPACE("i", "j").rotate("k", by=("i", "j"))),
    ),
    "folded-pes-in-a-circle": (
        cy.LegalityError,
        "CYC227",
        lambda: kernels.sums_of_all_before.compile(
            A[0], schedule=SPACE("i").broadcast("X").fold(i=cy.cyclic(2)), machine=None
        ),
    ),
    "tiles-in-a-circle": (
        cy.LegalityError,
        "CYC230",
        lambda: turned_sums.block(cy.spec((8, 8)), tile=2),
    ),
    "tiles-that-nothing-computes": (
        cy.LegalityError,
        "CYC231",
        lambda: stencil.compile(np.ones((4, 5)), tile=2),
    ),
    "tiles-of-an-index-that-is-none": (
        cy.ShapeError,
        "CYC232",
        lambda: kernels.matmul.compile(A, B, tile={"r": 2}),
    ),
    "rotation-of-sums-far-apart": (
        cy.ScheduleError,
        "CYC317",
        lambda: kernels.sums_in_the_border_columns.compile(A, B, schedule=SPACE("j").rotate("k", by="j")),
    ),
    "rotation-of-space": (
        cy.ScheduleError,
        "CYC317",
        lambda: kernels.matmul.compile(A, B, schedule=SPACE("i", "k").rotate("k", by="i")),
    ),
    "place-of-a-result": (
        cy.ScheduleError,
        "CYC319",
        lambda: kernels.matmul.compile(A, B, schedule=SPACE("i", "j").place("C", "i", "j")),
    ),
    "place-without-its-subscript": (
        cy.ScheduleError,
        "CYC319",
        lambda: kernels.matmul.compile(A, B, schedule=SPACE("i", "j").place("A", "i", "j")),
    ),
    "panels-of-space": (
        cy.ScheduleError,
        "CYC320",
        lambda: kernels.matmul.compile(A, B, schedule=SPACE("i", "k").panels("k", 2)),
    ),
    "reassociated-loop": (
        cy.ScheduleError,
        "CYC318",
        lambda: kernels.matmul.compile(A, B, schedule=SPACE("i").reassociate("j", parts=2, into="l")),
    ),
    "blocks-of-a-taken-name": (
        cy.ScheduleError,
        "CYC318",
        lambda: kernels.matmul.compile(A, B, schedule=SPACE("i").reassociate("k", parts=2, into="j")),
    ),
    "blocks-of-a-running-maximum": (
        cy.ScheduleError,
        "CYC318",
        lambda: running_maximum.compile(A[0], schedule=SPACE("i").reassociate("k", parts=2, into="l")),
    ),
    "grid-overflow": (
        cy.CapacityError,
        "CYC502",
        lambda: kernels.matmul.compile(A, B, schedule=SPACE("i", "j"), machine=cy.Machine(grid=(2, 2, 2))),
    ),
    "wrong-shape": (
        cy.ShapeError,
        "CYC710",
        lambda: cy.run(kernels.matmul.compile(A, B), np.ones((4, 5)), B),
    ),
    "wrong-dtype": (cy.ShapeError, "CYC710", lambda: cy.run(kernels.matmul.compile(A, B), A.astype(int), B)),
    "missing-input": (cy.ShapeError, "CYC710", lambda: cy.run(kernels.matmul.compile(A, B), A)),
    "deadlock": (
        cy.DeadlockError,
        "CYC801",
        lambda: cy.run(
            late_exchange.compile(np.ones((12, 4)), schedule=SPACE("i")).with_machine(SHALLOW), backend="sim"
        ),
    ),
    "not-positive-definite": (cy.ExecutionError, "CYC701", lambda: kernels.cholesky(-np.eye(4))),
    "singular": (cy.ExecutionError, "CYC701", lambda: kernels.solve(np.zeros((3, 3)), np.ones((3, 1)))),
    "unknown-backend": (
        cy.BackendUnavailable,
        "CYC720",
        lambda: cy.run(kernels.matmul.compile(A, B), backend="gpu"),
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name, golden_refusal):
    golden_refusal(name, *REFUSALS[name])


@pytest.mark.parametrize("backend", ["sim", "local"])
def test_deadlock_names_a_depth_that_breaks_it(backend):
    program = late_exchange.compile(np.ones((12, 4)), schedule=SPACE("i")).with_machine(SHALLOW)
    with pytest.raises(cy.DeadlockError, match="depth of 5"):
        cy.run(program, backend=backend)
    deep = late_exchange.compile(
        np.ones((12, 4)), schedule=SPACE("i"), machine=cy.Machine(link=cy.Link(depth=5))
    )
    without_machine = late_exchange.compile(np.ones((12, 4)), schedule=SPACE("i"))
    expected = late_exchange.reference(np.ones((12, 4)))
    for program in (deep, without_machine):  # without a machine channels are as deep as it takes
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, expected)


def program_bytes():
    return kernels.solve_scalar.compile(np.eye(4), np.ones((4, 2))).core.to_bytes()


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("empty", lambda data: b""),
        ("foreign", lambda data: b"\x7fELF" + data[4:]),
        ("newer-major", lambda data: data[:4] + struct.pack("<H", 99) + data[6:]),
        ("cut", lambda data: data[:-10]),
        ("longer", lambda data: data + b" "),
        ("bit-flip", lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:]),
    ],
)
def test_damaged_program_files_are_refused(name, damage, tmp_path):
    path = tmp_path / "program.cyc"
    path.write_bytes(damage(program_bytes()))
    with pytest.raises(cy.ProgramError) as caught:
        cy.load(path)
    assert caught.value.code.startswith("CYC6")
    assert caught.value.help


def test_programs_with_a_right_checksum_and_wrong_content_never_crash(tmp_path):
    data = program_bytes()
    body = data[24:]
    rng = np.random.default_rng(7)
    refused = 0
    numbers = [match.span() for match in re.finditer(rb"-?\d+", body)]
    for _ in range(300):
        start, end = numbers[rng.integers(len(numbers))]
        changed = (
            body[:start] + rng.choice([b"-1", b"0", b"7", b"99999999999", b"1e400", b"null"]) + body[end:]
        )
        header = data[:8] + struct.pack("<QI", len(changed), zlib.crc32(changed)) + data[20:24]
        path = tmp_path / "program.cyc"
        path.write_bytes(header + changed)
        try:
            program = cy.load(path)
            cy.run(program, np.eye(4), np.ones((4, 2)), backend="sim")
        except cy.CyclotronError:
            refused += 1
    assert refused > 100


def test_results_survive_a_failed_run():
    program = kernels.cholesky.compile(np.eye(4))
    good = cy.run(program)
    with pytest.raises(cy.ExecutionError):
        cy.run(program, -np.eye(4))
    np.testing.assert_array_equal(good.output, np.eye(4))
    np.testing.assert_array_equal(cy.run(program).output, np.eye(4))


def test_no_mpi_is_reported(monkeypatch):
    mpi = pytest.importorskip("cyclotron.mpi")
    mpi.close_all()
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.setitem(sys.modules, "cyclotron._mpi", None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(cy.BackendUnavailable) as caught:
        cy.run(kernels.matmul.compile(A, B), backend="mpi", ranks=2)
    assert "install" in caught.value.help


def test_interrupt_stops_a_simulation():
    """Ctrl-C ends a long run at once and the interpreter lives."""
    script = (
        "import cyclotron as cy, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import kernels\n"
        "grid = cy.Schedule().space('i', 'j')\n"
        "p = kernels.matmul.compile(cy.spec((64, 100000)), cy.spec((100000, 64)), schedule=grid)\n"
        "try:\n"
        "    print('ready', flush=True)\n"
        "    cy.run(p, backend='sim', functional=False, engine='general')\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    root = Path(__file__).parents[2]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")]))
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(Path(__file__).parent)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "interrupted\n"
    assert process.returncode == 0
