"""Defaults of runs that take long to simulate, of tables by numbers, and of lines that share inputs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def heat(u, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    return u


@cy.kernel
def components(A):
    n = A.shape[0]
    label = np.arange(n)
    for _ in range(10):
        near = np.where(A, label[None, :], n)
        label = np.minimum(label, np.min(near, axis=1))
    return label


@cy.kernel
def ways_to_pay(coins, amount):
    ways = np.zeros(amount + 1, dtype=np.int64)
    ways[0] = 1
    for c in coins:
        for s in range(1, amount + 1):
            if s >= c:
                ways[s] += ways[s - c]
    return ways


@cy.kernel
def splines(x, knots, c):
    y = np.zeros(len(x))
    for i in range(len(x)):
        for k in range(len(c)):
            y[i] += c[k] * np.maximum(0.0, 1.0 - np.abs(x[i] - knots[k]))
    return y


def compiled(kernel, *arguments, schedule=None, grid=(8, 8)):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return kernel.compile(*arguments, machine=cy.Machine(grid=grid), schedule=schedule)


def cycles(program):
    return cy.run(program, backend="sim", functional=False).cycles


@pytest.mark.parametrize("grid", [(8, 8), (32, 32)])
def test_iterations_of_a_long_loop_take_as_long_as_some_of_them(grid):
    u = np.random.default_rng(0).random((66, 66))
    default = compiled(heat, u.copy(), 600, grid=grid)
    on_blocks = compiled(heat, u.copy(), 600, grid=grid, schedule=cy.Schedule().space("i", "j"))
    assert cycles(default) <= cycles(on_blocks)


def test_a_placement_that_takes_long_to_simulate_is_not_taken_by_its_estimate():
    A = np.random.default_rng(1).random((36, 36)) < 0.05
    program = compiled(components, A)
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, components.reference(A))
    best = cy.Schedule().reduce("i", "tree", radix=8).space("j", "i")
    assert cycles(program) <= 1.5 * cycles(compiled(components, A, schedule=best))


def test_data_number_elements_of_a_table_at_once():
    coins = np.array([1, 2, 5, 10, 20, 50])
    program = compiled(ways_to_pay, coins, 100)
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, ways_to_pay.reference(coins, 100))
    on_one_pe = compiled(ways_to_pay, coins, 100, schedule=cy.Schedule().space("0", "0"))
    assert cycles(program) <= 1.25 * cycles(on_one_pe)


def test_the_pes_of_a_line_hold_what_they_share():
    random = np.random.default_rng(2)
    x, knots, c = random.random(50) * 8, np.arange(9.0), random.random(9)
    program = compiled(splines, x, knots, c)
    np.testing.assert_allclose(cy.run(program, backend="sim").output, splines.reference(x, knots, c))
    passing = cy.Schedule().space("i").serpentine()
    assert cycles(program) < cycles(compiled(splines, x, knots, c, schedule=passing))
