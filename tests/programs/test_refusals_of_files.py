"""The refusals of changed program files, and of proofs and runs of programs that are wrong."""

import json
import struct
import zlib

import kernels
import numpy as np
import pytest

import cyclotron as cy
from cyclotron import _core


@cy.kernel
def until_large(u, steps):
    for t in range(steps):
        if cy.max(u) > 3:
            break
        u = u + 1
    return u


WEIGHTS = np.array([1.0, 2.0, 3.0])
TRUTHS = np.array([True, False, True])


@cy.kernel
def weighted(x):
    y = cy.where(TRUTHS, x, -x)
    return y * WEIGHTS


HEADER = 24
CONSTANTS = weighted.compile(np.ones(3))
ENDING = until_large.compile(np.arange(2), 12, schedule=cy.Schedule().space("i"))
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


def edited(change, program=PRODUCT, values=lambda values: values):
    """The core's program from a file whose text or values were changed, with their checksum."""
    data = program.core.to_bytes()
    (length,) = struct.unpack("<I", data[20:HEADER])
    end = HEADER + length if length else len(data)
    text = json.loads(data[HEADER:end])
    change(text)
    written, rest = json.dumps(text).encode(), values(data[end:])
    body = written + rest
    sizes = struct.pack("<QII", len(body), zlib.crc32(body), len(written) if rest else 0)
    return _core.Program.from_bytes(data[:8] + sizes + body)


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
    return lambda: cy.prove(cy.Program(edited(change, program), recurrences=program.recurrences))


def run(change, program=PRODUCT, inputs=SIDES):
    return lambda: cy.run(cy.Program(edited(change, program)), *inputs, backend="sim")


def ends_by(number, classes=(0,)):
    """The change after which PEs end their loop by a number instead of the flag."""

    def change(text):
        text["endings"][0]["last"] = 6  # so that some iterations follow
        for pe_class in classes:
            own = text["classes"][pe_class]
            own["memory_bytes"] = address = -(-own["memory_bytes"] // 8) * 8 + 8
            own["slots"].append(own["slots"][0] | {"name": "flag", "dtype": "bool", "address": address - 8})
            slot = {"slot": len(own["slots"]) - 1, "index": [0]}
            exit = first(text, "exit", pe_class)
            move = {"do": "move", "destination": slot, "source": {"real": number, "imaginary": 0.0}}
            own["code"].insert(own["code"].index(exit), move)
            exit["runs"] = slot

    return change


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
    "file-of-an-exit-too-few": (cy.ProgramError, "CYC614", read(without("exit"), ENDING)),
    "file-of-a-constant-too-short": (
        cy.ProgramError,
        "CYC615",
        lambda: edited(lambda text: None, CONSTANTS, lambda values: values[:-1]),
    ),
    "proof-of-two-flags": (cy.ProgramError, "CYC670", prove(ends_by(0.0), ENDING)),
    "proof-of-another-flag": (cy.LegalityError, "CYC671", prove(ends_by(1.0, range(2)), ENDING)),
    "run-of-two-flags": (
        cy.ExecutionError,
        "CYC707",
        run(ends_by(0.0), ENDING, (np.arange(2),)),
    ),
    "proof-of-a-read-outside": (
        cy.ProgramError,
        "CYC660",
        prove(change_of("load", "index", [[0, 1], [7]])),
    ),
    "file-of-too-few-channels": (
        cy.CapacityError,
        "CYC504",
        lambda: edited(assign(["machine", "pe", "channels"], 1)),
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
    assert cy.prove(cy.Program(program, recurrences=PRODUCT.recurrences)).ok


@pytest.mark.parametrize(
    ("change", "values", "wanted"),
    [
        (lambda text: None, lambda values: values + b"\0", "CYC615"),
        (lambda text: None, lambda values: b"", "CYC615"),
        (assign(["tensors", 1, "role"], "input"), lambda values: values, "CYC615"),
        (assign(["tensors", 1, "shape"], [4]), lambda values: values, "CYC615"),
        (assign(["tensors", 1, "shape"], [-3]), lambda values: values, "CYC615"),
        (assign(["tensors", 1, "shape"], [1 << 61]), lambda values: values, "CYC615"),
        (assign(["tensors", 0, "role"], "constant"), lambda values: values, "CYC615"),
        (lambda text: None, lambda values: bytes([values[0] ^ 2]) + values[1:], "CYC606"),
    ],
)
def test_constants_without_their_values(change, values, wanted):
    assert [tensor["role"] for tensor in CONSTANTS.tensors] == ["input", "constant", "constant", "output"]
    assert CONSTANTS.tensors[1]["dtype"] == "bool"
    with pytest.raises(cy.ProgramError) as caught:
        edited(change, CONSTANTS, values)
    assert caught.value.code == wanted


def test_constants_of_a_file_are_read():
    assert edited(lambda text: None, CONSTANTS) == CONSTANTS.core


@pytest.mark.parametrize(
    "change",
    [
        lambda text: code(text).insert(0, first(text, "exit")),  # in no loop, and a second one
        lambda text: code(text).insert(code(text).index(first(text, "exit")), first(text, "exit")),
        lambda text: code(text).insert(
            code(text).index(first(text, "loop")) + 1, code(text).pop(code(text).index(first(text, "exit")))
        ),
        assign(["endings", 0, "last"], 12),
        assign(["endings", 0, "first"], 0),
        assign(["endings", 0, "per_pe"], True),  # its PEs have messages for each other
        lambda text: first(text, "loop").update(step=2),
        lambda text: text["endings"].append(text["endings"][0]),
        lambda text: [without("exit", n)(text) for n in range(len(text["classes"]))],
    ],
)
def test_exits_in_wrong_places(change):
    with pytest.raises(cy.ProgramError) as caught:
        edited(change, ENDING)
    assert caught.value.code == "CYC614"


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (assign(["endings", 0, "period"], 0), "CYC606"),
        (assign(["endings", 0, "last"], -5), "CYC606"),
        (change_of("exit", "ending", 1), "CYC607"),
        (change_of("exit", "ending", -1), "CYC606"),
        (assign(["endings", 0, "extra"], 1), "CYC605"),
        (lambda text: first(text, "exit").pop("runs"), "CYC605"),
    ],
)
def test_endings_that_are_none(change, wanted):
    with pytest.raises(cy.ProgramError) as caught:
        edited(change, ENDING)
    assert caught.value.code == wanted
