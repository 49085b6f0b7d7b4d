"""Rows that have loops inside, each of which ends by its own numbers, end on their own PEs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def mandelbrot(re, im):
    steps = cy.zeros((re.shape[0], im.shape[0]))
    for i in range(re.shape[0]):
        for j in range(im.shape[0]):
            x, y, k = 0.0, 0.0, 0.0
            while x * x + y * y < 4 and k < 50:
                x, y = x * x - y * y + re[i], 2 * x * y + im[j]
                k += 1
            steps[i, j] = k
    return steps


@cy.kernel(max_steps=60)
def roots(a):
    r = cy.zeros_like(a)
    for i in range(a.shape[0]):
        x = a[i]
        while cy.abs(x * x - a[i]) > 1e-9 * a[i]:
            x = (x + a[i] / x) / 2
        r[i] = x
    return r


@cy.kernel
def halvings(a):
    h = cy.zeros_like(a)
    for i in range(a.shape[0]):
        x = a[i]
        for t in range(100):
            x = x / 2
            if x < 1:
                break
        h[i] = x
    return h


@cy.kernel(max_steps=60)
def relaxed(a, tolerance):
    """Rows inside of a loop that all PEs end together."""
    u = a.copy()
    while cy.max(u) > tolerance:
        for i in range(a.shape[0]):
            x = u[i]
            while x > 1 + a[i]:
                x = x / 3
            u[i] = x * 0.75
    return u


@cy.kernel
def until(x, y):
    """Rows that read one table, each up to where it has enough, and add up."""
    total = 0.0
    for i in range(x.shape[0]):
        held = x[i]
        for j in range(y.shape[0]):
            held = held + y[j]
            if held > 2:
                break
        total = total + held
    return total


POINTS = (np.linspace(-2, 0.5, 12), np.linspace(-1.2, 1.2, 10))
NUMBERS = (np.random.default_rng(0).random(20) * 30 + 1.0,)


@pytest.mark.parametrize("grid", [None, (8,), (3, 2), (8, 8)], ids=str)
@pytest.mark.parametrize(
    ("kernel", "given"), [(mandelbrot, POINTS), (roots, NUMBERS), (halvings, NUMBERS)], ids=lambda one: ""
)
def test_rows_take_their_own_steps_on_their_own_pes(kernel, given, grid, recwarn):
    program = kernel.compile(*given, machine=None if grid is None else cy.Machine(grid=grid))
    assert not recwarn.list
    alone = kernel.compile(*given, machine=cy.Machine(grid=(1,)))
    runs = [cy.run(one, backend=backend) for one in (program, alone) for backend in ("sim", "local")]
    for run in runs:
        (result,) = run.outputs.values()
        np.testing.assert_array_equal(result, kernel.__wrapped__(*given))
        assert run.steps == runs[0].steps
    assert math.prod(program.grid) >= 3
    assert runs[0].cycles < runs[2].cycles / 2
    assert cy.prove(program).ok


def test_time_is_that_of_the_slowest_row():
    times = []
    for values in ([9.0] * 4, [1000.0] * 4, [1000.0, 9.0, 9.0, 9.0]):
        program = roots.compile(np.array(values))
        run = cy.run(program, backend="sim")
        times.append(run.cycles)
        if len(set(values)) == 1:  # by the engine that knows of no numbers
            same = cy.run(
                program, backend="sim", functional=False, steps={"iteration": run.steps["iteration"] // 4}
            )
            assert same.cycles == run.cycles
            assert same.steps == run.steps
    assert times[0] < times[1] == times[2]


def test_rows_end_inside_a_loop_that_all_end(recwarn):
    given = np.arange(1.0, 9.0)
    program = relaxed.compile(given, 1.0)
    assert not recwarn.list
    assert program.grid == (8,)
    for backend in ("sim", "local"):
        run = cy.run(program, backend=backend)
        np.testing.assert_array_equal(run.outputs["u"], relaxed.__wrapped__(given, 1.0))
        assert all(steps < 300 for steps in run.steps.values())


def test_a_table_that_rows_share_is_loaded_before_them(recwarn):
    given = np.linspace(0.1, 1.3, 12), np.linspace(0.2, 1.2, 300)
    program = until.compile(*given, machine=cy.Machine(grid=(8, 8)))
    assert not recwarn.list
    for backend in ("sim", "local"):
        run = cy.run(program, backend=backend)
        np.testing.assert_array_equal(run.outputs["total"], until.__wrapped__(*given))
        assert run.steps["j"] < 100
    assert cy.run(program, backend="sim").cycles < 1000  # 32,412 in all


def test_a_row_that_goes_on_for_ever_is_an_error():
    @cy.kernel(max_steps=20)
    def bounded(a):
        r = cy.zeros_like(a)
        for i in range(a.shape[0]):
            x = a[i]
            while x > 1:
                x = x - 1
            r[i] = x
        return r

    program = bounded.compile(np.array([3.0, 25.0, 4.0]))
    with pytest.raises(cy.ExecutionError, match="has not ended after 20 steps") as error:
        cy.run(program, backend="sim")
    np.testing.assert_array_equal(error.value.result.outputs["r"][[0, 2]], [1, 1])


def test_a_controller_that_ends_loops_for_all_needs_another_program():
    machine = cy.Machine(grid=(8,), control=cy.Control(latency=4))
    program = halvings.compile(*NUMBERS, machine=cy.Machine(grid=(8,)))
    with pytest.raises(cy.ProgramError, match="the loop over `t`, which each PE ends by itself") as error:
        program.with_machine(machine)
    assert "compile the kernel for this machine" in str(error.value)
    np.testing.assert_array_equal(
        cy.run(halvings.compile(*NUMBERS, machine=machine), backend="sim").outputs["h"],
        halvings.__wrapped__(*NUMBERS),
    )
