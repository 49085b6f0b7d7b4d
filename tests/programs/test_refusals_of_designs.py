"""How refusals of schedules, machines, files and sweeps read: the whole text, at most 15 lines."""

import struct
import zlib

import kernels
import numpy as np
import pytest
from test_refusals import text_of_refusal

import cyclotron as cy
from cyclotron import _core

S = cy.Schedule()
SPECS = cy.spec((3, 4)), cy.spec((4, 4))


def compiled(schedule=None, machine=None):
    return kernels.matmul.compile(*SPECS, schedule=schedule, machine=machine)


def read(data):
    return lambda: _core.Program.from_bytes(data)


def body(text):
    """A file whose header is right, around this text."""
    data = compiled().core.to_bytes()
    return data[:8] + struct.pack("<QI", len(text), zlib.crc32(text)) + data[20:24] + text


REFUSALS = {
    "no-schedule": (cy.ScheduleError, "CYC301", lambda: compiled(5)),
    "space-and-time": (cy.ScheduleError, "CYC302", lambda: S.space("i", "j").time("i")),
    "named-twice": (cy.ScheduleError, "CYC303", lambda: S.space("i", "i")),
    "recipe-of-another-kernel": (cy.ScheduleError, "CYC304", lambda: cy.schedules.cannon(kernels.prefix_sum)),
    "mapped-twice": (cy.ScheduleError, "CYC311", lambda: compiled(S.space("i+j").time("j+i", "k"))),
    "broadcast-across-a-skewed-fold": (
        cy.ScheduleError,
        "CYC316",
        lambda: compiled(S.space("i", "j").time("j+k").broadcast("A", along="j").fold(j=2)),
    ),
    "no-machine": (cy.ShapeError, "CYC400", lambda: compiled(machine=5)),
    "program-on-another-grid": (
        cy.ShapeError,
        "CYC400",
        lambda: compiled(S.space("i", "j")).with_machine(cy.Machine(grid=(9, 9))),
    ),
    "no-latency": (cy.ShapeError, "CYC401", lambda: cy.Link(latency=0)),
    "unknown-entry-of-a-machine": (cy.ShapeError, "CYC402", lambda: cy.Machine.from_dict({"gird": [4]})),
    "file-of-something-else": (cy.ProgramError, "CYC601", read(b"GIF89a" + bytes(40))),
    "file-of-no-text": (cy.ProgramError, "CYC604", read(body(b"{"))),
    "file-of-a-list": (cy.ProgramError, "CYC605", read(body(b"[]"))),
    "sweep-without-values": (cy.ExecutionError, "CYC716", lambda: cy.sweep(kernels.matmul, *SPECS, depth=[])),
    "sweep-of-a-fixed-grid": (cy.ExecutionError, "CYC716", lambda: cy.sweep(compiled(), grid=(2, 2))),
    "front-of-words": (
        cy.ExecutionError,
        "CYC716",
        lambda: cy.sweep(compiled(), depth=[1]).pareto("speed"),
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name, golden):
    golden(f"refusals/{name}.txt", text_of_refusal(*REFUSALS[name]))


def test_a_refused_file_is_read_again():
    data = compiled().core.to_bytes()
    with pytest.raises(cy.ProgramError):
        _core.Program.from_bytes(data[:-1])
    assert _core.Program.from_bytes(data).to_bytes() == data
    assert np.array_equal(cy.run(compiled(), np.eye(3, 4), np.eye(4), backend="sim").output, np.eye(3, 4))
