"""Arrays of the host in kernels: constants of the program, as they were when it was compiled."""

from __future__ import annotations

import copy
import pickle
import struct
import zlib
from typing import Any, NamedTuple

import numpy as np
import pytest

import cyclotron as cy
from cyclotron import _core

WEIGHTS = np.array([0.5, -1.25, 3.0, 0.0625])
MATRIX = np.arange(20.0).reshape(5, 4)[::-1] - 7
MASK = np.array([True, False, True, True])
OFFSETS = np.array([-1, 0, 1])
TILES = cy.blocked(np.arange(24.0).reshape(4, 6) - 9, (2, 3))
PARAMETERS = {"w": WEIGHTS * 2, "layers": [(MATRIX, np.arange(5.0)), (MATRIX[:4] / 8, np.ones(4))]}


class Coefficients(NamedTuple):
    """Arrays by name."""

    a: Any
    b: Any


PAIR = Coefficients(np.array([1.0, 2.0, 4.0, 8.0]), np.full((4, 1), 0.25))


@cy.kernel
def by_element(x):
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = WEIGHTS[i] * x[i] + WEIGHTS[0] - WEIGHTS[x.shape[0] - 1 - i]
    return y


@cy.kernel
def whole(x):
    y = WEIGHTS * x - x / WEIGHTS
    y[1:] += WEIGHTS[1:] * WEIGHTS[:-1]
    y[...] = cy.where(MASK, y, -y)
    return y


@cy.kernel
def product(x):
    y = MATRIX @ x
    s = cy.sum(MATRIX * x, axis=0)
    t = cy.empty((4,))
    for j in range(4):
        t[j] = sum(MATRIX[k, j] * x[j] for k in range(MATRIX.shape[0]) if k != 2) + max(
            MATRIX.T[j, k] for k in range(5)
        )
    return y, s, t


@cy.kernel
def by_host_values(x):
    y = cy.zeros_like(x)
    for d in OFFSETS:
        y[1:-1] += x[1 + d : 3 + d] * OFFSETS[d]
    if WEIGHTS[1] < 0:
        y += WEIGHTS.sum() * float(WEIGHTS[2])
    return y


@cy.kernel
def made_in_the_kernel(x):
    n = x.shape[0]
    w = np.linspace(0, 1, n) ** 2
    w[0] = 5
    with cy.host():
        noise = np.random.default_rng(3).random(n)
        noise[1:3] *= 2
    y = cy.empty_like(x)
    for i in range(n):
        y[i] = w[i] * x[i] + noise[i]
    return y + noise * w


@cy.kernel
def chosen(x):
    y = x * 1
    for i in range(x.shape[0]):
        if MASK[i]:
            y[i] += 10
        elif WEIGHTS[i] < x[i]:
            y[i] -= 1
    return y + (1 if MASK[1] else 2)


@cy.kernel
def of_containers(x):
    h = x
    for weight, bias in PARAMETERS["layers"]:
        h = cy.tanh(weight @ h[:4] + bias)
    y = cy.empty_like(x)
    for i in range(4):
        y[i] = PARAMETERS["w"][i] * x[i] + PARAMETERS["layers"][1][1][i] * PAIR.a[i]
    return h, y * PAIR.b, PAIR.a[2:] + PAIR.b


@cy.kernel
def with_lists(x):
    return x * [1.0, 2.0, 3.0, 4.0] + (4.0, 3.0, 2.0, 1.0)


@cy.kernel
def inner(x, w):
    y = cy.empty_like(w)
    for i in range(w.shape[0]):
        y[i] = w[i] * x[i]
    return y


@cy.kernel
def passed_on(x):
    return inner(x, WEIGHTS) + inner(x, 2 * WEIGHTS)


@cy.kernel
def no_arguments():
    y = cy.empty(4)
    for i in range(4):
        y[i] = WEIGHTS[i] * 2
    return y


@cy.kernel
def returned(x):
    return x + 1, WEIGHTS


@cy.kernel
def over_time(u):
    for _t in range(3):
        u[1:-1] += WEIGHTS[1:-1] * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@cy.kernel
def until(u):
    for _t in range(20):
        u[...] = u * 0.5 + WEIGHTS
        if cy.max(cy.abs(u - 2 * WEIGHTS)) < 0.01:
            break
    return u


@cy.kernel
def einsums(x):
    y = cy.einsum("ij,j->i", MATRIX, x)
    return y


@cy.kernel
def by_parts(x):
    y = cy.empty((4, 3), dtype="float64")
    for i in range(4):
        for j in range(3):
            y[i, j] = (
                MATRIX.T[i, j] * x[i]
                + (2 * MATRIX)[j][i]
                + np.linspace(0, 1, 4)[i]
                + PARAMETERS["layers"][0][0][j, i]
            )
    rows = cy.zeros_like(MATRIX[:3])
    for i in range(3):
        rows[i, :] = WEIGHTS
        rows[i] += x[i] * WEIGHTS + cy.dot(MATRIX[i], x)
    return y, rows, cy.full(x.shape, WEIGHTS) - x


@cy.kernel
def by_functions(x):
    least = cy.clip(x, WEIGHTS - 1, WEIGHTS + 1)
    either = WEIGHTS if cy.sum(x) > 0 else 2 * WEIGHTS
    if cy.any(x < WEIGHTS):
        either = either + 1
    return (
        np.maximum(WEIGHTS, x),
        cy.where(WEIGHTS > 0, x, 0),
        x @ MATRIX.T - abs(MATRIX @ x),
        cy.outer(WEIGHTS, x),
        cy.concatenate([WEIGHTS, x]),
        cy.roll(WEIGHTS, 1) * x + cy.shift(WEIGHTS, 1),
        least,
        either,
    )


@cy.kernel
def over_rows(x):
    y = cy.zeros_like(x)
    for row in MATRIX:
        y += row * x
    for v, n in zip(WEIGHTS, OFFSETS, strict=False):
        y[1:] += v * x[:-1] - n
    for i, v in enumerate(WEIGHTS):
        y -= v * i
    return y


KERNELS = [
    *(by_parts, by_functions, over_rows),
    *(by_element, whole, product, by_host_values, made_in_the_kernel, chosen, of_containers, with_lists),
    *(passed_on, no_arguments, returned, over_time, until, einsums),
]


def agree(kernel: cy.Kernel, *arguments: Any, schedule: Any = None) -> cy.Program:
    """All runs agree with the function's own body, also the graph and a loaded program."""
    expected = kernel.__wrapped__(*(a.copy() for a in arguments))
    expected = expected if isinstance(expected, tuple) else (expected,)
    program = kernel.compile(*arguments, schedule=schedule)
    loaded = pickle.loads(pickle.dumps(program))
    runs = [cy.run(program, backend=backend).outputs for backend in ("numpy", "sim", "local")]
    runs += [cy.run(loaded, *arguments, backend="sim").outputs, kernel.graph(*arguments).evaluate()]
    for outputs in runs:
        for found, right in zip(outputs.values(), expected, strict=True):
            assert found.dtype == right.dtype
            np.testing.assert_allclose(found, right, rtol=1e-13, atol=1e-13)
    assert loaded == program
    assert loaded.core.to_bytes() == program.core.to_bytes()
    return program


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda one: one.name)
def test_runs_agree(kernel: cy.Kernel) -> None:
    arguments = () if kernel is no_arguments else (np.array([3.0, -1.0, 0.5, 2.0]),)
    agree(kernel, *arguments)


def test_one_value_an_array_on_one_pe_and_on_several() -> None:
    one = np.array([2.0])

    @cy.kernel
    def f(x):
        return x * one

    for n in (0, 1, 3):
        agree(f, np.arange(float(n)))
    schedule = cy.Schedule().space("i").time()
    agree(by_element, np.arange(4.0), schedule=schedule)


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "complex64", "complex128"])
def test_dtypes_are_promoted_as_those_of_arguments(dtype: str) -> None:
    w = np.array([1, 0, 2, 3]).astype(dtype)

    @cy.kernel
    def f(x):
        y = w * x
        z = cy.empty(4, dtype=y.dtype)
        for i in range(4):
            z[i] = w[i] + x[i]
        return y, z

    for other in ("int64", "float32", "float64", "complex128"):
        agree(f, np.array([1, -2, 3, 4]).astype(other))


def test_tiles() -> None:
    @cy.kernel
    def f(X):
        Y = cy.empty((TILES.shape[0], X.shape[1]))
        for i in range(TILES.shape[0]):
            for j in range(X.shape[1]):
                Y[i, j] = sum(TILES[i, k] @ X[k, j] for k in range(TILES.shape[1]))
        return Y

    X = cy.blocked(np.arange(18.0).reshape(6, 3), (3, 2))
    program = f.compile(X)
    assert [t["tile"] for t in program.tensors if t["role"] == "constant"] == [[2, 3]]
    cy.check(program, backends=("sim", "local"))
    np.testing.assert_array_equal(f(X), TILES.array @ X.array)


def test_strides_byte_orders_and_bits() -> None:
    """Of a view with negative strides, in the other byte order, with NaNs of several bits."""
    bits = np.array(
        [0x7FF8000000000001, 0xFFF0000000000123, 0x7FF8DEADBEEF0000, 0x8000000000000000], np.uint64
    )
    w = bits.view(np.float64).astype(">f8")[::-1]
    swapped = bits.view(np.float64)[::-1].copy()

    @cy.kernel
    def f(x):
        y = cy.empty_like(x)
        for i in range(4):
            y[i] = w[i]
        return y

    program = f.compile(np.zeros(4))
    loaded = pickle.loads(pickle.dumps(program))
    for one in (program, loaded):
        assert one.constants["w"].tobytes() == swapped.tobytes()
        assert not one.constants["w"].flags.writeable
        assert cy.run(one, np.zeros(4)).output.tobytes() == swapped.tobytes()


def test_names_in_stages_and_schedules() -> None:
    schedule = cy.Schedule().space("i").prefetch("WEIGHTS")
    program = by_element.compile(np.arange(4.0), schedule=schedule)
    assert "WEIGHTS : input float64" in str(program.recurrences)
    np.testing.assert_array_equal(program.recurrences.constants["WEIGHTS"], WEIGHTS)
    assert "constant WEIGHTS: [4] float64" in str(program)
    assert [t["name"] for t in program.tensors if t["role"] == "input"] == ["x"]
    np.testing.assert_array_equal(program.constants["WEIGHTS"], WEIGHTS)
    cy.check(program, backends=("sim", "local"))
    assert cy.prove(program).ok
    assert program.with_depths({}).constants.keys() == program.constants.keys()
    assert list(program.inputs()) == ["x"]


def test_programs_keep_the_array_as_it_was() -> None:
    w = np.array([1.0, 2.0])

    @cy.kernel
    def f(x):
        return w * x

    before = f.compile(np.ones(2))
    w[0] = 7
    np.testing.assert_array_equal(cy.run(before).output, [1, 2])
    np.testing.assert_array_equal(f(np.ones(2)), [7, 2])
    with pytest.raises(cy.ExecutionError, match=r"CYC714(.|\n)*have changed"):
        cy.check(before, backends=("sim",))


def test_globals_that_change_are_seen_and_equal_ones_compile_once() -> None:
    x = np.ones(4)
    first, again = by_element.compile(x), by_element.compile(x)
    assert first._compiled is again._compiled
    old = WEIGHTS[2]
    try:
        WEIGHTS[2] = 11
        changed = by_element.compile(x)
        assert changed != first
        np.testing.assert_array_equal(cy.run(changed).output, by_element.__wrapped__(x))
    finally:
        WEIGHTS[2] = old
    assert by_element.compile(x)._compiled is first._compiled
    assert first.core.to_bytes() == by_element.compile(x).core.to_bytes()


def test_programs_of_old_globals_are_forgotten() -> None:
    first, old = by_element.compile(np.ones(4)), WEIGHTS[3]
    try:
        for n in range(70):
            WEIGHTS[3] = n
            by_element.compile(np.ones(4))
    finally:
        WEIGHTS[3] = old
    again = by_element.compile(np.ones(4))
    assert again == first
    assert again._compiled is not first._compiled


def test_the_intermediate_language_reads_arrays_of_the_host(tmp_path: Any) -> None:
    x = np.arange(4.0)
    for kernel in (by_element, whole, chosen):
        names: dict[str, Any] = {"WEIGHTS": WEIGHTS, "MASK": MASK}
        path = tmp_path / f"{kernel.name}.py"
        path.write_text(kernel.il())
        exec(compile(kernel.il(), str(path), "exec"), names)
        program = names[kernel.name].compile(x)
        assert list(program.constants) == list(kernel.compile(x).constants)
        np.testing.assert_array_equal(cy.run(program).output, kernel.reference(x))

    @cy.il.program
    def written(x):
        y = cy.il.empty(4, name="y")
        with cy.il.loop("i", 4) as i:
            y[i] = shifted[i] * x[i]
        return cy.il.outputs(y=y)

    shifted = WEIGHTS + 1
    np.testing.assert_array_equal(written(x)["y"], shifted * x)


def test_one_array_is_one_constant() -> None:
    program = by_element.compile(np.ones(4))
    assert list(program.constants) == ["WEIGHTS"]
    program = whole.compile(np.ones(4))
    assert list(program.constants) == ["WEIGHTS", "constant", "MASK"]


def test_truth_values_of_other_bytes_and_dates() -> None:
    odd = np.frombuffer(b"\x00\x02\x01\x00", dtype=bool)
    dates = np.array(["2020-01-01"] * 4, dtype="datetime64[D]")

    @cy.kernel
    def f(x):
        return cy.where(odd, x, -x)

    @cy.kernel
    def g(x):
        return x * dates

    np.testing.assert_array_equal(f(np.ones(4)), [-1, 1, 1, -1])
    with pytest.raises(cy.ShapeError, match=r"`dates` has dtype datetime64.*CYC120"):
        g(np.ones(4))


def test_copies_of_programs_and_files(tmp_path: Any) -> None:
    program = whole.compile(np.arange(4.0))
    program.save(tmp_path / "p.cyc")
    loaded = cy.load(tmp_path / "p.cyc")
    assert loaded == program == copy.deepcopy(program)
    for name, array in program.constants.items():
        np.testing.assert_array_equal(loaded.constants[name], array)
    given = np.array([1.0, 2.0, -3.0, 4.0])
    np.testing.assert_array_equal(cy.run(loaded, given).output, whole.__wrapped__(given))


def test_large_arrays() -> None:
    """Files have the bytes of the array once, and little else."""
    big = np.arange(500_000.0)

    @cy.kernel
    def f(x):
        return cy.sum(big * x)

    program = f.compile(np.ones(1))
    data = program.core.to_bytes()
    assert big.nbytes < len(data) < big.nbytes + 50_000
    assert cy.run(program).output == big.sum()


def test_mpi_ranks_get_constants() -> None:
    cy.check(by_element.compile(np.arange(4.0), schedule=cy.Schedule().space("i")), backends=("mpi",))
    cy.check(product.compile(np.arange(4.0)), backends=("local", "mpi"))


def test_the_proof_sees_a_wrong_constant() -> None:
    program = whole.compile(np.arange(4.0))
    assert cy.prove(program).ok
    data = program.core.to_bytes()
    (text,) = struct.unpack_from("<I", data, 20)
    body = bytearray(data[24:])
    body[text + 6] ^= 1  # a bit of the first constant's first value
    head = data[:8] + struct.pack("<QII", len(body), zlib.crc32(bytes(body)), text)
    wrong = _core.Program.from_bytes(head + bytes(body))
    with pytest.raises(cy.LegalityError, match="other values for the constant") as caught:
        cy.prove(cy.Program(wrong, recurrences=program.recurrences))
    assert caught.value.code == "CYC666"


MODE = 0
WEIGHTS_OF_MODE = np.array([1.0, 2.0, 4.0])


def set_mode(mode):
    global MODE
    MODE = mode


def weighted(x):
    weighted.calls += 1
    return x * WEIGHTS_OF_MODE + MODE


@cy.kernel
def in_a_mode(x):
    set_mode(7)
    return weighted(x)


def test_functions_over_constants_read_globals_when_they_run():
    x = np.arange(3.0)
    for run in (in_a_mode.reference, lambda x: cy.run(in_a_mode.compile(x), backend="sim").output):
        set_mode(0)
        weighted.calls = 0
        np.testing.assert_array_equal(run(x), x * WEIGHTS_OF_MODE + 7)
        assert weighted.calls == 1


def test_functions_need_no_module():
    spaces = {"W": np.full(3, 2.0)}
    exec("def scaled(x):\n    return x * W", spaces)
    scaled = spaces["scaled"]
    assert scaled.__module__ is None or scaled.__module__ == "builtins"

    @cy.kernel
    def kernel(x):
        return scaled(x)

    np.testing.assert_array_equal(cy.run(kernel.compile(np.ones(3)), backend="sim").output, [2, 2, 2])
