"""The refusals of tiles, schedules, machines, files and sweeps: the whole text, at most 15 lines."""

import struct
import zlib

import kernels
import numpy as np
import pytest
from test_placements import mirrored_halves
from test_proofs import compile_late

import cyclotron as cy
from cyclotron import _core

S = cy.Schedule()
SPECS = cy.spec((3, 4)), cy.spec((4, 4))


@cy.kernel
def squares_of_tiles(A):
    C = cy.empty_like(A)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] = A[i, j] @ A[i, j]
    return C


@cy.kernel
def largest_before_the_end(x):
    while cy.max(x) > 1:
        largest = cy.max(x)
        x = x / 2
    return x * largest


@cy.kernel(max_steps=1000)
def doubled_until(x):
    while x[0] < 1:
        x = x * 2
    return x


def steps_without_loops():
    schedule = S.space("j+i").time("j").prefetch("B").prefetch("C")
    return mirrored_halves.compile(np.ones(7), np.ones(3), schedule=schedule)


@cy.kernel
def norm(x):
    return x / cy.sum(x * x)


def classes_without_regions():
    return norm.compile(cy.spec((140,)), schedule=S.space("i").reduce("i", "tree", 67))


def compiled(schedule=None, machine=None):
    return kernels.matmul.compile(*SPECS, schedule=schedule, machine=machine)


def simulated(**options):
    return cy.run(compiled(S.space("i", "j")), functional=False, backend="sim", **options)


@cy.kernel
def copied(A):
    B = cy.empty_like(A)
    for i in range(A.shape[0]):
        B[i] = A[i]
    return B


@cy.kernel
def by_their_total(x):
    return x * cy.sum(x)


def dealt_out(topology, fold):
    schedule = S.space("i").fold(i=fold(3))
    return by_their_total.compile(np.arange(10.0), schedule=schedule, machine=cy.Machine(topology=topology))


def roofline_of_moves():
    program = copied.compile(cy.spec((3,)))
    return cy.run(program, backend="sim", functional=False).plot.roofline()


def read(data):
    return lambda: _core.Program.from_bytes(data)


def body(text):
    """A file whose header is right, around this text."""
    data = compiled().core.to_bytes()
    return data[:8] + struct.pack("<QI", len(text), zlib.crc32(text)) + data[20:24] + text


REFUSALS = {
    "tiles-that-do-not-fit": (
        cy.ShapeError,
        "CYC206",
        lambda: squares_of_tiles.compile(cy.blocked(np.ones((4, 3)), (2, 3))),
    ),
    "unknown-dtype": (
        cy.ShapeError,
        "CYC207",
        lambda: _core.System("copy").add_tensor("A", "int7", "input", [2], None, ("", 0, 0, 0, 0, 0)),
    ),
    "too-few-arrays": (cy.ShapeError, "CYC208", lambda: _core.simulate(compiled().core, [np.ones((3, 4))])),
    "serpentine-of-two-dimensions": (
        cy.ScheduleError,
        "CYC321",
        lambda: compiled(cy.Schedule().space("i", "j").serpentine()),
    ),
    "serpentine-without-rows": (
        cy.ScheduleError,
        "CYC321",
        lambda: compiled(cy.Schedule().space("i").serpentine(), cy.Machine(grid=(6,))),
    ),
    "classes-without-regions": (cy.LegalityError, "CYC225", classes_without_regions),
    "steps-without-loops": (cy.LegalityError, "CYC226", steps_without_loops),
    "points-of-another-space": (cy.ShapeError, "CYC240", lambda: compiled().dataflow.points("gemm")),
    "node-of-another-rank": (cy.ShapeError, "CYC241", lambda: compiled().dataflow.node(1, 2)),
    "node-of-no-number": (cy.ShapeError, "CYC241", lambda: compiled().dataflow.node(1, (), 3)),
    "tile-shape-of-no-number": (cy.ShapeError, "CYC122", lambda: cy.blocked(np.eye(2), "x")),
    "call-without-an-argument": (cy.TraceError, "CYC116", lambda: kernels.matmul.compile(np.eye(2))),
    "dataflow-of-something-else": (cy.ProgramError, "CYC650", lambda: cy.Dataflow.parse("C = A @ B")),
    "no-schedule": (cy.ScheduleError, "CYC301", lambda: compiled(5)),
    "space-and-time": (cy.ScheduleError, "CYC302", lambda: S.space("i", "j").time("i")),
    "named-twice": (cy.ScheduleError, "CYC303", lambda: S.space("i", "i")),
    "recipe-of-another-kernel": (cy.ScheduleError, "CYC304", lambda: cy.schedules.cannon(kernels.prefix_sum)),
    "product-of-indices": (cy.ScheduleError, "CYC314", lambda: S.space("i*j")),
    "mapped-twice": (cy.ScheduleError, "CYC311", lambda: compiled(S.space("i+j").time("j+i", "k"))),
    "broadcast-across-a-skewed-fold": (
        cy.ScheduleError,
        "CYC316",
        lambda: compiled(S.space("i", "j").time("j+k").broadcast("A", along="j").fold(j=2)),
    ),
    "stream-of-a-result-that-stays": (
        cy.ScheduleError,
        "CYC312",
        lambda: compiled(S.space("i", "j").stream("C")),
    ),
    "broadcast-of-partial-sums": (
        cy.ScheduleError,
        "CYC312",
        lambda: compiled(S.space("i", "k").broadcast("C", along="k")),
    ),
    "stream-of-sums-along-another-axis": (
        cy.ScheduleError,
        "CYC312",
        lambda: compiled(S.space("i", "k").stream("C", along="i")),
    ),
    "no-machine": (cy.ShapeError, "CYC400", lambda: compiled(machine=5)),
    "no-machine-to-map-to": (cy.ShapeError, "CYC400", lambda: cy.map(kernels.matmul, *SPECS, machine=5)),
    "program-on-another-grid": (
        cy.ShapeError,
        "CYC400",
        lambda: compiled(S.space("i", "j")).with_machine(cy.Machine(grid=(9, 9))),
    ),
    "negative-latency": (cy.ShapeError, "CYC401", lambda: cy.Link(latency=-1)),
    "unit-of-another-shape": (cy.ShapeError, "CYC402", lambda: cy.PE(matrix=cy.Unit(shape=(16,)))),
    "ring-of-two-dimensions": (
        cy.ShapeError,
        "CYC401",
        lambda: cy.Machine(topology="ring", grid=(4, 4)),
    ),
    "chiplets-of-another-grid": (
        cy.ShapeError,
        "CYC401",
        lambda: cy.Machine(grid=(8,), chiplets=cy.Chiplets(shape=(4, 4))),
    ),
    "topology-of-another-grid": (
        cy.ShapeError,
        "CYC401",
        lambda: cy.Machine(grid=(8, 8, 8), topology=("torus", "mesh")),
    ),
    "ring-along-one-dimension": (
        cy.ShapeError,
        "CYC402",
        lambda: cy.Machine(grid=(8, 8), topology=("ring", "mesh")),
    ),
    "broadcast-of-another-grid": (
        cy.ShapeError,
        "CYC401",
        lambda: cy.Machine(grid=(8,), broadcasts={1: cy.Link(latency=4)}),
    ),
    "link-map-that-is-none": (cy.ShapeError, "CYC402", lambda: cy.LinkMap("(i, j) -> (i, k + 1)")),
    "link-map-out-of-the-grid": (
        cy.ShapeError,
        "CYC404",
        lambda: cy.Machine(grid=(8, 8), topology=(cy.LinkMap("(i, j) -> (i, j + 1)"),)),
    ),
    "link-map-of-two-senders": (
        cy.ShapeError,
        "CYC405",
        lambda: cy.Machine(grid=(7,), topology=(cy.LinkMap("(p) -> ((p - 1) // 2) if p > 0"),)),
    ),
    "unit-of-another-dtype": (
        cy.ShapeError,
        "CYC406",
        lambda: kernels.matmul.compile(*SPECS, machine=cy.machines.gemmini_16()),
    ),
    "hop-without-a-link-map": (
        cy.LegalityError,
        "CYC220",
        lambda: compiled(S.space("i", "j"), cy.Machine(topology=(cy.LinkMap("(i, j) -> (i, j + 1)"),))),
    ),
    "seconds-without-a-clock": (
        cy.ExecutionError,
        "CYC712",
        lambda: cy.run(compiled(), backend="sim", functional=False).simulated_seconds,
    ),
    "link-to-no-neighbour": (cy.ShapeError, "CYC401", lambda: cy.Machine(links={(0, 2): cy.Link()})),
    "links-of-another-grid": (
        cy.ShapeError,
        "CYC401",
        lambda: compiled(S.space("i")).with_machine(cy.Machine(links={(0, 1): cy.Link()})),
    ),
    "channels-overflow": (
        cy.CapacityError,
        "CYC504",
        lambda: compiled(S.space("i", "j"), machine=cy.Machine(pe=cy.PE(channels=1))),
    ),
    "schedule-of-another-grid": (
        cy.CapacityError,
        "CYC502",
        lambda: compiled(S.space("i"), machine=cy.Machine(links={(0, 1): cy.Link()})),
    ),
    "unknown-entry-of-a-machine": (cy.ShapeError, "CYC402", lambda: cy.Machine.from_dict({"gird": [4]})),
    "depths-in-a-list": (cy.ShapeError, "CYC402", lambda: compiled().with_depths([1, 2])),
    "depth-of-half-a-channel": (cy.ShapeError, "CYC402", lambda: compiled().with_depths({1.0: 7})),
    "file-of-something-else": (cy.ProgramError, "CYC601", read(b"GIF89a" + bytes(40))),
    "file-of-no-text": (cy.ProgramError, "CYC604", read(body(b"{"))),
    "file-of-a-list": (cy.ProgramError, "CYC605", read(body(b"[]"))),
    "cycle-after-the-last": (cy.ExecutionError, "CYC735", lambda: simulated().plot.wavefront(1000)),
    "animation-of-another-type": (
        cy.ExecutionError,
        "CYC735",
        lambda: simulated().plot.animation("wavefronts.mp4"),
    ),
    "activity-of-dropped-events": (cy.ExecutionError, "CYC717", lambda: simulated(event_limit=9).active),
    "critical-path-of-dropped-messages": (
        cy.ExecutionError,
        "CYC717",
        lambda: simulated(event_limit=50).critical_path(),
    ),
    "roofline-of-moves": (cy.ExecutionError, "CYC718", roofline_of_moves),
    "proof-of-a-deadlock": (cy.DeadlockError, "CYC802", lambda: cy.prove(compile_late(2))),
    "while-at-its-most-steps": (
        cy.ExecutionError,
        "CYC719",
        lambda: cy.run(doubled_until.compile(np.zeros(1))),
    ),
    "name-that-no-iteration-assigned": (
        cy.ExecutionError,
        "CYC723",
        lambda: cy.run(largest_before_the_end.compile(np.zeros(1))),
    ),
    "sweep-without-values": (cy.ExecutionError, "CYC716", lambda: cy.sweep(kernels.matmul, *SPECS, depth=[])),
    "sweep-of-a-fixed-grid": (cy.ExecutionError, "CYC716", lambda: cy.sweep(compiled(), grid=(2, 2))),
    "front-of-words": (
        cy.ExecutionError,
        "CYC716",
        lambda: cy.sweep(compiled(), depth=[1]).pareto("speed"),
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name, golden_refusal):
    golden_refusal(name, *REFUSALS[name])


@pytest.mark.parametrize("fold", [cy.block, cy.cyclic])
@pytest.mark.parametrize("topology", ["mesh", "torus"])
def test_totals_come_back_in_blocks_and_dealt_out(topology, fold):
    total = cy.run(dealt_out(topology, fold), backend="sim").output
    assert np.array_equal(total, 45 * np.arange(10.0))


def test_a_refused_file_is_read_again():
    data = compiled().core.to_bytes()
    with pytest.raises(cy.ProgramError):
        _core.Program.from_bytes(data[:-1])
    assert _core.Program.from_bytes(data).to_bytes() == data
    assert np.array_equal(cy.run(compiled(), np.eye(3, 4), np.eye(4), backend="sim").output, np.eye(3, 4))


def test_sums_that_move_are_streams():
    """Says what they do anyhow."""
    plain = S.space("i", "k")
    assert str(compiled(plain.stream("C", along="k")).dataflow) == str(compiled(plain).dataflow)
