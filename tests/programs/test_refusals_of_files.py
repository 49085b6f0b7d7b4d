"""How refusals of changed program files read, and of proofs and runs of programs that are wrong."""

import json
import struct
import zlib

import kernels
import numpy as np
import pytest

import cyclotron as cy
from cyclotron import _core

HEADER = 24
PRODUCT = kernels.matmul.compile(
    cy.spec((4, 4)), cy.spec((4, 4)), schedule=cy.schedules.output_stationary(kernels.matmul)
)
SIDES = np.ones((4, 4)), np.ones((4, 4))
TILED = cy.blocked(np.eye(4), (2, 2)), cy.blocked(np.ones((4, 4)), (2, 2))
TILES = kernels.solve.compile(*TILED, schedule=cy.Schedule().space("i", "r"))


def read_framed(version, checksum):
    """Read a file of an empty object with this preamble."""
    preamble = b"CYCP" + struct.pack("<HHQII", version, 0, 2, checksum, 0)
    return lambda: _core.Program.from_bytes(preamble + b"{}")


def edited(change, program=PRODUCT):
    """The core's program from a file whose text was changed, with the checksum of the new text."""
    data = program.core.to_bytes()
    text = json.loads(data[HEADER:])
    change(text)
    body = json.dumps(text).encode()
    preamble = data[:8] + struct.pack("<QI", len(body), zlib.crc32(body)) + data[20:HEADER]
    return _core.Program.from_bytes(preamble + body)


def code(text, pe_class=0):
    return text["classes"][pe_class]["code"]


def first(text, verb, pe_class=0):
    return next(i for i in code(text, pe_class) if i["do"] == verb)


def assign(path, value):
    """The change that gives one entry of the text another value."""

    def change(text):
        for key in path[:-1]:
            text = text[key]
        text[path[-1]] = value

    return change


def change_of(verb, entry, value, pe_class=0):
    """The change of one entry of the first instruction of this kind."""
    return lambda text: first(text, verb, pe_class).update({entry: value})


def without(verb, pe_class=0):
    return lambda text: code(text, pe_class).remove(first(text, verb, pe_class))


def again_at_the_end(verb, pe_class=0):
    return lambda text: code(text, pe_class).append(first(text, verb, pe_class))


def read(change, program=PRODUCT):
    return lambda: edited(change, program)


def prove(change, program=PRODUCT):
    return lambda: cy.prove(cy.Program(edited(change, program), system=program._system))


def run(change, program=PRODUCT, inputs=SIDES):
    return lambda: cy.run(cy.Program(edited(change, program)), *inputs, backend="sim")


def on_a_huge_grid(text):
    text["grid"] = text["machine"]["grid"] = [1 << 20, 1 << 20]


REFUSALS = {
    "file-of-another-format": (cy.ProgramError, "CYC602", read_framed(9, 0)),
    "file-of-another-checksum": (cy.ProgramError, "CYC603", read_framed(1, 0)),
    "file-without-a-depth": (
        cy.ProgramError,
        "CYC606",
        read(assign(["machine", "link", "depth"], 0)),
    ),
    "file-of-no-such-tensor": (cy.ProgramError, "CYC607", read(change_of("load", "tensor", 9))),
    "file-of-a-nameless-axis": (cy.ProgramError, "CYC608", read(assign(["grid_names"], ["i"]))),
    "file-of-an-open-loop": (cy.ProgramError, "CYC609", read(lambda text: code(text).append({"do": "end"}))),
    "file-of-two-dtypes": (cy.ProgramError, "CYC610", read(assign(["tensors", 0, "dtype"], "float32"))),
    "file-that-loads-a-result": (cy.ProgramError, "CYC611", read(change_of("load", "tensor", 2))),
    "file-of-a-huge-tensor": (
        cy.ProgramError,
        "CYC612",
        read(assign(["tensors", 0, "shape"], [1 << 31, 1 << 31])),
    ),
    "file-of-a-slot-elsewhere": (
        cy.ProgramError,
        "CYC613",
        read(assign(["classes", 0, "slots", 0, "address"], 4)),
    ),
    "proof-of-a-read-outside": (
        cy.ProgramError,
        "CYC660",
        prove(change_of("load", "index", [[0, 1], [7]])),
    ),
    "proof-of-an-unwritten-read": (cy.ProgramError, "CYC661", prove(without("load"))),
    "proof-of-two-stores": (cy.ProgramError, "CYC662", prove(again_at_the_end("store"))),
    "proof-of-a-message-too-many": (cy.ProgramError, "CYC663", prove(again_at_the_end("send"))),
    "proof-of-a-large-tile": (
        cy.ProgramError,
        "CYC664",
        prove(assign(["classes", 0, "slots", 0, "tile"], [2, 1]), TILES),
    ),
    "proof-of-another-operation": (cy.LegalityError, "CYC665", prove(change_of("compute", "op", "add"))),
    "proof-of-other-tensors": (
        cy.LegalityError,
        "CYC666",
        prove(assign(["tensors", 2, "name"], "D")),
    ),
    "proof-of-a-large-program": (cy.CapacityError, "CYC669", lambda: PRODUCT.least_depths(limit=100)),
    "run-of-a-read-outside": (
        cy.ExecutionError,
        "CYC703",
        run(change_of("load", "index", [[0, 1], [7]])),
    ),
    "run-of-an-unwritten-read": (cy.ExecutionError, "CYC704", run(without("load"), TILES, TILED)),
    "run-of-more-PEs-than-memory": (
        cy.ExecutionError,
        "CYC705",
        run(on_a_huge_grid),
    ),
    "run-over-the-edge": (
        cy.ExecutionError,
        "CYC706",
        run(assign(["channels", 0, "offset"], [0, -1])),
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name, golden_refusal):
    golden_refusal(name, *REFUSALS[name])


def test_an_unchanged_file_is_read():
    program = edited(lambda text: None)
    assert program.to_bytes()[:8] == PRODUCT.core.to_bytes()[:8]
    assert cy.prove(cy.Program(program, system=PRODUCT._system)).ok
