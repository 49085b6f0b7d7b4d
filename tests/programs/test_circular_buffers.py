"""Values that live for a few steps of a loop lie in circular buffers: memory does not grow with the steps."""

import dataclasses

import numpy as np
import pytest

import cyclotron as cy
from cyclotron.machine.parts import UNBOUNDED

rng = np.random.default_rng(7)


@cy.kernel
def heat(u, steps):
    for t in range(steps):
        u[1:-1, 1:-1] += 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
    return u


@cy.kernel
def wave(u, steps):
    """Each step needs the two before it."""
    n = u.shape[0]
    W = cy.zeros((steps + 2, n), dtype=u.dtype)
    for x in range(n):
        W[0, x] = u[x]
    for x in range(n):
        W[1, x] = u[x]
    for t in range(2, steps + 2):
        for x in range(1, n - 1):
            W[t, x] = W[t - 1, x - 1] + W[t - 1, x + 1] - W[t - 2, x]
    return W


@cy.kernel
def delayed(u, steps, d):
    """A filter with a delay line: a value is used again d steps later."""
    n = u.shape[0]
    Y = cy.zeros((n, steps), dtype=u.dtype)
    for x in range(n):
        for t in range(steps):
            if t < d:
                Y[x, t] = u[x]
            else:
                Y[x, t] = Y[x, t - d] * 3 + Y[x, t - 1]
    return Y


def check(program, expected):
    """Equal on all backends of one process, at the least depth and the greatest, and proven."""
    for depth in (1, UNBOUNDED):
        machine = dataclasses.replace(program.machine, link=cy.Link(depth=depth))
        one = program.with_machine(machine)
        if one.least_depths().passes_as_given:
            for backend in ("sim", "local"):
                np.testing.assert_array_equal(cy.run(one, backend=backend).output, expected)
            assert cy.prove(one).ok
    again = cy.Program(type(program.core).from_bytes(program.core.to_bytes()))
    inputs = program.inputs().values()
    np.testing.assert_array_equal(cy.run(again, *inputs, backend="sim").output, expected)


FOLDS = [
    {"i": cy.block(3), "j": cy.block(2)},
    {"i": cy.block(1), "j": cy.block(1)},
    {"j": cy.block(4)},
    {"i": cy.cyclic(2), "j": cy.cyclic(2)},
]


@pytest.mark.parametrize("fold", FOLDS, ids=str)
@pytest.mark.parametrize("shape", [(8, 5), (3, 3)])
def test_folded_stencils_keep_two_steps(fold, shape):
    u = rng.standard_normal(shape)
    schedule = cy.Schedule().space("i", "j").time("t").fold(fold)
    bytes_of = {}
    for steps in (1, 4, 21):
        program = heat.compile(u, steps, schedule=schedule)
        check(program, heat.reference(u, steps))
        bytes_of[steps] = program.memory_bytes
    assert bytes_of[21] == bytes_of[4] <= 6 * max(u.size, 20) * u.itemsize


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
@pytest.mark.parametrize("fold", [None, cy.block(3), cy.block(1), cy.cyclic(2)], ids=str)
def test_values_of_the_step_before_last(fold, dtype):
    u = rng.integers(-9, 9, 11).astype(dtype)
    schedule = cy.Schedule().space("x").time("t")
    if fold is not None:
        schedule = schedule.fold(x=fold)
    bytes_of = {}
    for steps in (0, 4, 20):
        program = wave.compile(u, steps, schedule=schedule)
        check(program, wave.reference(u, steps))
        bytes_of[steps] = program.memory_bytes
    assert bytes_of[20] == bytes_of[4]


@pytest.mark.parametrize("delay", [1, 2, 3, 7])
@pytest.mark.parametrize("fold", [None, cy.block(2)], ids=str)
def test_delay_lines(fold, delay):
    """The innermost loop goes round the buffer: iterations are not evenly apart."""
    u = rng.integers(-3, 3, 5)
    schedule = cy.Schedule().space("x").time("t")
    if fold is not None:
        schedule = schedule.fold(x=fold)
    bytes_of = {}
    for steps in (delay, 16, 24):
        program = delayed.compile(u, steps, delay, schedule=schedule)
        check(program, delayed.reference(u, steps, delay))
        bytes_of[steps] = program.memory_bytes
    assert bytes_of[24] == bytes_of[16]
    # Of three points a PE, a new one takes the place of that which it is computed from.
    places = delay + 1 if fold is None else 3 * delay
    assert delay == 1 or f"mod {places})" in str(program)


@cy.kernel
def rod(u, steps, reach):
    n = u.shape[0]
    W = cy.zeros((steps + 1, n), dtype=u.dtype)
    for x in range(n):
        W[0, x] = u[x]
    for t in range(1, steps + 1):
        for x in range(reach, n - 1):
            W[t, x] = W[t - 1, x - reach] + 2 * W[t - 1, x] - W[t - 1, x + 1]
    return W[steps]


@pytest.mark.parametrize("reach", [0, 1, 3])
@pytest.mark.parametrize("n", [5, 12, 90])
def test_new_values_take_the_place_of_the_last_ones_used(n, reach):
    """The loop over the points goes round the buffer."""
    u = rng.integers(-3, 3, n)
    steps = 4 if n > 50 else 9
    program = rod.compile(u, steps, reach, schedule=cy.Schedule().space("x").time("t").fold(x=cy.block(1)))
    check(program, rod.reference(u, steps, reach))
    if n > 50:
        assert program.memory_bytes <= (n + 2 * reach + 12) * u.itemsize


@pytest.mark.parametrize("shape", [(30, 20), (3, 40), (40, 3)])
def test_stencils_in_place_take_what_lives(shape):
    """A row more than the block has, its borders, some scalars; what one step alone uses is not kept."""
    u = rng.standard_normal(shape)
    schedule = cy.Schedule().space("i", "j").time("t").fold(i=cy.block(1), j=cy.block(1))
    program = heat.compile(u, 5, schedule=schedule)
    check(program, heat.reference(u, 5))
    rows, columns = shape[0] - 2, shape[1] - 2
    assert program.memory_bytes <= ((rows + 1) * columns + 2 * (rows + columns) + 12) * u.itemsize


@cy.kernel
def ends(a, steps):
    """Of an array that each step makes two elements are used in the next one."""
    n = a.shape[0]
    Y = cy.zeros((steps, n), dtype=a.dtype)
    for t in range(steps):
        for x in range(n):
            if t > 0 and x == 0:
                Y[t, x] = a[x] + Y[t - 1, 0] + Y[t - 1, n - 1]
            else:
                Y[t, x] = a[x] * 3
    return Y


@pytest.mark.parametrize("n", [1, 2, 9])
def test_what_no_later_step_uses_is_not_kept(n):
    a = rng.integers(-9, 9, n)
    program = ends.compile(a, 6, schedule=cy.Schedule().space("x").time("t").fold(x=cy.block(1)))
    check(program, ends.reference(a, 6))
