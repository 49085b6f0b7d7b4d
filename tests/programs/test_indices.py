"""Indices as numbers under many schedules: every backend equals NumPy, and programs are proven."""

from __future__ import annotations

import json
import struct
import zlib

import numpy as np
import pytest

import cyclotron as cy
from cyclotron import _core

S = cy.Schedule()


def integers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(float)


@cy.kernel
def product(A, B):
    n, m = A.shape[0], B.shape[1]
    C = cy.empty((n, m), dtype=A.dtype)
    for i in range(n):
        for j in range(m):
            C[i, j] = sum((i + 2 * j - k) * A[i, k] * B[k, j] + k for k in range(A.shape[1]))
    return C


@cy.kernel
def moments(x, w):
    y = cy.empty(x.shape[0], dtype=x.dtype)
    for i in range(x.shape[0]):
        y[i] = sum((k - i) * x[i, k] * w[k] for k in range(x.shape[1])) + i
    return y


@cy.kernel
def prefix(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        y[i] = x[i] * i + (y[i - 1] if i > 0 else 0)
    return y


@cy.kernel
def rising(u, steps):
    for t in range(steps):
        u[1:-1] = u[:-2] + u[2:] - u[1:-1] + t * cy.arange(1, len(u) - 1)
    return u


@cy.kernel
def places(x):
    return {"largest": cy.argmax(x, axis=1), "least": cy.argmin(x)}


@cy.kernel
def until_small(x):
    for t in range(40):
        x = x / 2 + (x[0] > 1) * t
        if cy.sum(x) < 0.1:
            break
    return x


PRODUCTS = {
    "default": None,
    "one PE": S,
    "outputs stay": cy.schedules.output_stationary(product),
    "weights stay": cy.schedules.weight_stationary(product),
    "summa": cy.schedules.summa(product),
    "streams": S.space("k", "j").time("i").stream("A", along="j").prefetch("B"),
    "broadcasts": S.space("i", "j").broadcast("A", along="j").broadcast("B", along="i"),
    "wavefront": S.space("i", "j").time("i+j+k"),
    "folded": S.space("i", "j").fold(i=cy.cyclic(2), j=cy.block(2)),
    "blocks in time": S.space("i", "j").reassociate("k", 2, into="l"),
    "blocks in space": S.space("i", "l").reassociate("k", 3, "l"),
    "inwards": S.space("i", "k").inwards("k"),
}
MOMENTS = {
    "one PE": S,
    "rows": S.space("i"),
    "terms": S.space("k"),
    "both": S.space("i", "k"),
    "folded terms": S.space("k").fold(k=cy.block(2)),
    "inwards": S.space("i", "k").inwards("k"),
}
LINES = {"one PE": S, "line": S.space("i"), "cyclic": S.space("i").fold(i=cy.cyclic(3))}
STEPS = {
    "line": S.space("i").time("t"),
    "blocks": S.space("i").time("t").fold(i=cy.block(3)),
    "one PE": S.time("t", "i"),
}
CASES = [
    *((product, (integers(4, 6), integers(6, 5, seed=1)), one) for one in PRODUCTS.values()),
    *((product, (integers(1, 3), integers(3, 1, seed=1)), one) for one in PRODUCTS.values()),
    *((moments, (integers(4, 5), integers(5)), one) for one in MOMENTS.values()),
    *((moments, (integers(1, 5), integers(5)), one) for one in MOMENTS.values()),
    *((moments, (integers(0, 5), integers(5)), one) for one in (S, S.space("i"))),
    *((prefix, (integers(n),), one) for one in LINES.values() for n in (1, 9)),
    *((rising, (integers(9), 4), one) for one in STEPS.values()),
]


@pytest.mark.parametrize(("kernel", "arguments", "schedule"), CASES, ids=range(len(CASES)))
def test_every_backend(kernel: cy.Kernel, arguments: tuple, schedule: cy.Schedule | None) -> None:
    program = kernel.compile(*arguments, schedule=schedule)
    assert cy.prove(program).ok
    expected = kernel.reference(*arguments)
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, expected)
    timed = cy.run(program, backend="sim", functional=False)
    assert timed.cycles == cy.run(program, backend="sim").cycles
    assert str(cy.Dataflow.parse(str(program.dataflow))) == str(program.dataflow)


def test_rotated_products() -> None:
    A, B = integers(5, 5), integers(5, 5, seed=1)
    torus = cy.Machine(grid=(5, 5), topology="torus")
    program = product.compile(A, B, schedule=cy.schedules.cannon(product), machine=torus)
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, product.reference(A, B))


@pytest.mark.parametrize("schedule", [None, S, S.space("i"), S.space("i", "j")], ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (5, 1)])
def test_places_of_extremes(shape: tuple[int, int], schedule: cy.Schedule | None) -> None:
    x = integers(*shape)
    program = places.compile(x, schedule=schedule)
    for backend in ("sim", "local"):
        outputs = cy.run(program, backend=backend).outputs
        np.testing.assert_array_equal(outputs["largest"], np.argmax(x, axis=1))
        np.testing.assert_array_equal(outputs["least"], np.argmin(x))


def test_ranks_count_alike() -> None:
    pytest.importorskip("cyclotron._mpi", reason="Cyclotron was built without MPI")
    A, B = integers(4, 6), integers(6, 5, seed=1)
    program = product.compile(A, B, schedule=PRODUCTS["streams"])
    np.testing.assert_array_equal(cy.run(program, backend="mpi", ranks=2).output, product.reference(A, B))


def test_loops_that_end_count_until_then() -> None:
    x = np.array([3.0, 1.0, 2.0])
    program = until_small.compile(x)
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, until_small.reference(x))


def test_an_index_moves_nothing() -> None:
    """Streams are those of the kernel without it."""

    @cy.kernel
    def scaled(x):
        y = cy.empty_like(x)
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[i, j] = x[i, j] * (i - j)
        return y

    program = scaled.compile(integers(3, 4), schedule=S.space("i", "j"))
    assert not program.channels
    assert cy.run(program, backend="sim").cycles == 1


def changed(program: cy.Program, change: object) -> _core.Program:
    """The core's program from a file in which the first moves of indices are changed."""
    data = program.core.to_bytes()
    text = json.loads(data[24:])
    for pe_class in text["classes"]:
        for instruction in pe_class["code"]:
            if instruction["do"] == "move" and "form" in instruction["source"]:
                instruction["source"] = change(instruction["source"]["form"])
    body = json.dumps(text).encode()
    preamble = data[:8] + struct.pack("<QI", len(body), zlib.crc32(body)) + data[20:24]
    return _core.Program.from_bytes(preamble + body)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda form: {"form": []}, "CYC608"),
        (lambda form: {"form": [*form, 0, 1]}, "CYC608"),
        (lambda form: {"form": [2**62]}, "CYC612"),
        (lambda form: {"form": form, "slot": 0}, "CYC6"),
        (lambda form: {"form": "i"}, "CYC6"),
    ],
)
def test_hostile_files(change: object, code: str) -> None:
    program = prefix.compile(integers(4), schedule=S)
    with pytest.raises(cy.ProgramError) as refused:
        changed(program, change)
    assert refused.value.code.startswith(code)


def test_a_form_has_no_truth_value() -> None:
    @cy.kernel
    def signs(x):
        y = cy.empty_like(x)
        for i in range(len(x)):
            y[i] = i
        return y

    data = signs.compile(np.zeros(3), schedule=S).core.to_bytes()
    text = data[24:].replace(b'"float64"', b'"bool"')
    with pytest.raises(cy.ProgramError) as refused:
        _core.Program.from_bytes(
            data[:8] + struct.pack("<QI", len(text), zlib.crc32(text)) + data[20:24] + text
        )
    assert refused.value.code == "CYC610"


def test_the_proof_sees_a_wrong_index() -> None:
    program = prefix.compile(integers(4), schedule=S)
    wrong = changed(program, lambda form: {"form": [form[0] + 1, *form[1:]]})
    assert cy.prove(program).ok
    with pytest.raises(cy.LegalityError):
        cy.prove(cy.Program(wrong, recurrences=program.recurrences))


def test_an_element_that_is_read_again_after_a_loop() -> None:
    """It is copied to an output, and stays where it is for the sum after the reduction."""

    @cy.kernel
    def twice(u, v):
        for _ in range(2):
            v[:2] = u[cy.argmax(u)]
        return v, all(u[k] > 0 for k in range(3)) + v

    u, v = np.array([0.0, -1.0, 3.0]), np.array([0.5, -3.0, -0.75])
    outputs = list(cy.run(twice.compile(u, v), backend="sim").outputs.values())
    expected = np.array([3.0, 3.0, -0.75])
    assert np.array_equal(outputs[0], expected)
    assert np.array_equal(outputs[1], bool(np.all(u > 0)) + expected)
