"""Cycles of a program by its units and links, in closed form; every engine agrees."""

from dataclasses import replace

import numpy as np
import pytest

import cyclotron as cy
from cyclotron import PE, Link, Machine, Unit


@cy.kernel
def product_of_tiles(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = A[i, 0] @ B[0, j]
    return C


@cy.kernel
def exponentials(A):
    C = cy.empty_like(A)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] = cy.exp(A[i, j])
    return C


@cy.kernel
def sums_of_rows(A):
    C = cy.empty((A.shape[0], 1))
    for i in range(A.shape[0]):
        C[i, 0] = cy.row_sum(A[i, 0])
    return C


@cy.kernel
def product(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def matvec(A, x):
    y = cy.empty(A.shape[0])
    for i in range(A.shape[0]):
        y[i] = sum(A[i, k] * x[k] for k in range(A.shape[1]))
    return y


def tile(rows, columns):
    """A matrix that is one tile."""
    return cy.blocked(np.ones((rows, columns)), (rows, columns))


PRODUCT = product_of_tiles, tile(5, 7), tile(7, 3)
EXPONENTIAL = exponentials, tile(5, 7)
SCALAR = exponentials, np.ones((1, 1))
SUM = sums_of_rows, tile(5, 7)
MATRIX = PE(matrix=Unit((2, 2, 2), 3))
VECTOR = PE(vector=Unit((8,), 2))


@pytest.mark.parametrize(
    ("what", "pe", "cycles"),
    [
        (PRODUCT, PE(), 5 * 7 * 3),
        (PRODUCT, VECTOR, 5 * 7 * 3),
        (PRODUCT, MATRIX, 3 * 2 * 4 * 3),
        (PRODUCT, PE(matrix=Unit((5, 3, 7), 20)), 20),
        (PRODUCT, PE(matrix=Unit((4, 1, 100))), 2 * 3 * 1),
        (PRODUCT, replace(MATRIX, cycles={"matmul": 9}), 9),
        (EXPONENTIAL, MATRIX, 18),
        (EXPONENTIAL, VECTOR, 5 * 2),
        (EXPONENTIAL, PE(vector=Unit((35,), 4)), 4),
        (EXPONENTIAL, PE(scalar=Unit(cycles=7)), 18),
        (EXPONENTIAL, replace(VECTOR, cycles={"exp": 0}), 0),
        (SCALAR, VECTOR, 2),
        (SCALAR, replace(VECTOR, scalar=Unit(cycles=7)), 7),
        (SUM, PE(), 15),
        (SUM, replace(VECTOR, scalar=Unit(cycles=7)), 5 * 2),
    ],
)
def test_operators_take_the_passes_of_their_unit(tmp_path, what, pe, cycles):
    kernel, *arguments = what
    judge(kernel.compile(*arguments).with_machine(Machine(pe=pe)), cycles, tmp_path)


PLAIN = Link()
SLOW = Link(latency=5)


@pytest.mark.parametrize(
    ("links", "right", "down"),
    [
        ({}, 1, 1),
        ({(0, 1): SLOW}, 5, 1),
        ({(1, 0): SLOW}, 1, 5),
        ({(0, -1): SLOW, (-1, 0): SLOW}, 1, 1),
        ({(0, 1): SLOW, (1, 0): Link(latency=3)}, 5, 3),
    ],
)
def test_each_direction_has_its_latency(tmp_path, links, right, down):
    """The last PE starts after the hops to it; a place is there for each message."""
    n, k, m = 4, 6, 5
    A, B = np.ones((n, k)), np.ones((k, m))
    program = product.compile(A, B, schedule=cy.schedules.output_stationary(product))
    deep = {offset: replace(link, depth=16) for offset, link in links.items()}
    machine = Machine(link=Link(depth=16), links=deep)
    judge(program.with_machine(machine), k + (n - 1) * down + (m - 1) * right, tmp_path)


def test_each_direction_has_its_depth_width_and_response():
    """The link that a channel takes counts, the machine's where it has no own."""
    A, B = cy.spec((6, 12)), cy.spec((12, 6))
    program = product.compile(A, B, schedule=cy.schedules.output_stationary(product))

    def cycles(**machine):
        return cy.run(program.with_machine(Machine(**machine)), backend="sim", functional=False).cycles

    for own in (Link(depth=1), Link(response_latency=7), Link(latency=2, depth=1)):
        slow = cycles(links={(0, 1): own})
        assert slow == cycles(links={(1, 0): own})
        assert slow == cycles(link=own, links={(1, 0): PLAIN})
        assert slow == cycles(link=own, links={(0, 1): own, (1, 0): PLAIN, (-1, 0): own})
        assert slow > cycles()
    depths = program.with_machine(Machine(links={(0, 1): Link(response_latency=7, depth=9)})).least_depths()
    assert [(channel.given, channel.no_stall) for channel in depths.channels] == [(9, 8), (2, 2)]


ROTATION = cy.Schedule().space("i").rotate("k", by="i")


def test_a_ring_is_a_torus_of_one_dimension(tmp_path):
    """x goes round: each PE multiplies in each of the n cycles."""
    n = 6
    A, x = np.arange(36.0).reshape(n, n), np.arange(6.0)
    for machine in (Machine(topology="ring"), Machine(topology="torus", grid=(n,))):
        program = matvec.compile(A, x, schedule=ROTATION, machine=machine)
        judge(program, n, tmp_path)
        assert np.array_equal(cy.run(program, backend="local").output, A @ x)
        assert cy.prove(program)
    slow = replace(machine, topology="ring", links={(-1,): Link(latency=3)})
    judge(matvec.compile(A, x, schedule=ROTATION, machine=slow), 1 + 3 * (n - 1), tmp_path)


def test_a_ring_has_one_dimension():
    with pytest.raises(cy.CapacityError, match="needs a grid of 4x4 PEs, and the machine has 1 dimension"):
        product.compile(
            *[cy.spec((4, 4))] * 2,
            schedule=cy.schedules.output_stationary(product),
            machine=Machine(topology="ring"),
        )


def test_a_clock_makes_cycles_seconds(tmp_path):
    program = exponentials.compile(tile(5, 7))
    program = program.with_machine(Machine(pe=VECTOR, clock=2.5e6))
    assert cy.run(program, backend="sim").simulated_seconds == 4e-6
    program.save(tmp_path / "program.cyc")
    loaded = cy.run(cy.load(tmp_path / "program.cyc"), backend="sim", functional=False)
    assert loaded.simulated_seconds == 4e-6
    with pytest.raises(cy.ExecutionError, match="measures no cycles"):
        cy.run(program, backend="local").simulated_seconds


def judge(program, cycles, folder):
    """Every engine counts these cycles, of the program in a file too."""
    assert cy.run(program, backend="sim").cycles == cycles
    for engine in ("general", "fast-forward"):
        assert cy.run(program, backend="sim", functional=False, engine=engine).cycles == cycles
    program.save(folder / "program.cyc")
    loaded = cy.load(folder / "program.cyc")
    assert Machine.from_core(loaded.core.machine) == replace(program.machine, grid=program.grid)
    assert cy.run(loaded, backend="sim", functional=False).cycles == cycles


@pytest.mark.parametrize(
    ("registers", "banks", "first", "others"),
    [
        (None, None, 1, 1),
        (None, 1, 3, 4),  # C <- A B, then C <- C + A B, word by word
        (None, 2, 2, 2),
        (None, 8, 1, 2),  # C is read and written
        (0, None, 3, 4),
        (1, None, 2, 2),
        (1, 2, 1, 1),
        (2, 1, 1, 1),
        (3, 1, 1, 1),
    ],
)
def test_operators_wait_for_the_busiest_bank(tmp_path, registers, banks, first, others):
    n, k, m = 4, 6, 5
    A, B = np.arange(24.0).reshape(n, k), np.arange(30.0).reshape(k, m)
    program = product.compile(A, B, schedule=cy.schedules.output_stationary(product))
    machine = Machine(link=Link(depth=16), pe=PE(registers=registers, banks=banks))
    judge(program.with_machine(machine), n - 1 + m - 1 + first + (k - 1) * others, tmp_path)
    compiled = product.compile(
        A, B, schedule=cy.schedules.output_stationary(product), machine=replace(machine, grid=(n, m))
    )
    assert compiled.core.to_bytes() == program.with_machine(machine).core.to_bytes()
    for backend in ("sim", "local"):
        assert np.array_equal(cy.run(compiled, backend=backend).output, A @ B)
    assert cy.prove(compiled)
    plain = compiled.with_machine(Machine(link=Link(depth=16)))
    assert [c.slots for c in plain.core.classes] == [c.slots for c in program.core.classes]


def test_large_values_are_spread_over_banks(tmp_path):
    """A 5x7 tile of float64 has 280 bytes: 18 words in each of two banks of 256, so that two do not meet."""
    program = exponentials.compile(tile(5, 7))
    judge(program.with_machine(Machine(pe=PE(memory=1024, banks=4, vector=Unit((35,))))), 18, tmp_path)
    judge(program.with_machine(Machine(pe=PE(memory=1024, banks=1, vector=Unit((35,))))), 70, tmp_path)
    judge(program.with_machine(Machine(pe=PE(memory=1024, registers=35, vector=Unit((35,))))), 35, tmp_path)
    judge(program.with_machine(Machine(pe=PE(registers=70, vector=Unit((35,))))), 1, tmp_path)


@pytest.mark.parametrize("dtype", ["float32", "int32", "complex128", "float64"])
def test_registers_hold_an_element_of_any_dtype(dtype):
    A, B = np.arange(6).reshape(2, 3).astype(dtype), np.arange(6).reshape(3, 2).astype(dtype)
    machine = Machine(grid=(1, 1), pe=PE(registers=12, banks=3))
    program = product.compile(A, B, schedule=cy.schedules.output_stationary(product), machine=machine)
    assert 0 < program.core.classes[0].registers <= 12
    for backend in ("sim", "local"):
        assert np.array_equal(cy.run(program, backend=backend).output, A @ B)


def test_the_memory_map_shows_banks_and_registers():
    program = product.compile(cy.spec((2, 3)), cy.spec((3, 2)))
    text = str(program.with_machine(Machine(pe=PE(registers=1, banks=4))).memory)
    assert "16 of 49152 bytes in 4 banks, 1 of 1 registers" in text
    assert " r0 " in text
    assert "bank" not in str(program.memory)


def test_depths_are_those_of_operators_that_wait_for_banks():
    A, B = cy.spec((6, 6)), cy.spec((6, 6))
    program = product.compile(A, B, schedule=cy.schedules.output_stationary(product))
    for banks, depth in ((1, 1), (None, 2)):
        depths = program.with_machine(Machine(pe=PE(banks=banks))).least_depths()
        assert {channel.no_stall for channel in depths.channels} == {depth}


def test_the_checker_keeps_the_same_time():
    """A place is free again 1 + 1 cycles after its message: at the full rate two are needed, at less one."""
    A, B = cy.spec((6, 6)), cy.spec((6, 6))
    program = product.compile(A, B, schedule=cy.schedules.output_stationary(product))
    for cycles, depth in ((1, 2), (2, 1)):
        machine = Machine(pe=PE(vector=Unit((4,), cycles)))
        depths = program.with_machine(machine).least_depths()
        assert {channel.no_stall for channel in depths.channels} == {depth}
