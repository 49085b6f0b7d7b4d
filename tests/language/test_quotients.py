"""Quotients, remainders and bits of indices in subscripts: values are NumPy's, in as many PEs as elements."""

from __future__ import annotations

import math
from types import FunctionType

import numpy as np
import pytest

import cyclotron as cy

STAGES = [(2**k, 2**j) for k in range(1, 4) for j in reversed(range(k))]


def coarse_input(x, e, A):
    y = cy.empty(8)
    for i in range(8):
        y[i] = e[i // 2]
    return y


def rows_of_an_input(x, e, A):
    y = cy.empty((6, 4))
    for i in range(6):
        y[i] = A[i // 2] * 2
    return y


def remainder(x, e, A):
    y = cy.empty(12)
    for i in range(12):
        y[i] = e[i % 4] + x[7 - i % 4]
    return y


def both_parts(x, e, A):
    y = cy.empty(12)
    for i in range(12):
        y[i] = A[i // 4, i % 4]
    return y


def names_and_arithmetic(x, e, A):
    y = cy.empty(8)
    for i in range(8):
        q, r = i >> 1, i & 1
        y[i] = x[2 * q + (1 - r)] + 2 * q - x[-(i // 4) + 7]
    return y


def in_place_over_time(x, e, A):
    f = e * 1.0
    u = x.copy()
    for _t in range(3):
        for i in range(1, 7):
            u[i] = 0.5 * (u[i - 1] + u[i + 1]) + f[i // 2]
        for k in range(4):
            f[k] = u[2 * k]
    return u


def tiles(x, e, A):
    y = cy.empty((8, 8))
    for i in range(8):
        for j in range(8):
            y[i, j] = x[(i // 4) * 4 + j % 4] * x[(j // 4) * 4 + i % 4]
    return y


def assigned(x, e, A):
    y = cy.empty(8)
    for i in range(8):
        y[i ^ 5] = x[i]
    return y


def added_to_quotients(x, e, A):
    y = cy.zeros(4)
    for i in range(8):
        y[i // 2] += x[i]
    return y


def butterflies(x, e, A):
    for h in (1, 2, 4):
        y = cy.empty_like(x)
        for i in range(8):
            if i & h:
                y[i] = x[i ^ h] - x[i]
            else:
                y[i] = x[i] + x[i ^ h]
        x = y
    return x


def butterflies_by_quotients(x, e, A):
    for s in (0, 1, 2):
        y = cy.empty_like(x)
        for i in range(8):
            if (i // 2**s) % 2 == 0:
                y[i] = x[i] + x[i + 2**s]
            else:
                y[i] = x[i - 2**s] - x[i]
        x = y
    return x


def bitonic_sort(x, e, A):
    for k, j in STAGES:
        y = cy.empty_like(x)
        for i in range(8):
            if (i & k == 0) == (i < i ^ j):
                y[i] = min(x[i], x[i ^ j])
            else:
                y[i] = max(x[i], x[i ^ j])
        x = y
    return x


def conditions(x, e, A):
    y = cy.zeros(8)
    for i in range(8):
        if (i // 2 + i % 3) % 2 == 1:
            y[i] = x[i]
        elif (i // 3 > i % 4) != (i | 4 == 5):
            y[i] = -x[i]
    return y


def many_cases(x, e, A):
    y = cy.zeros(8)
    for i in range(-4, 4):
        y[i + 4] = x[i // 2 + 4] + x[(i & 3) + i % 5] + x[4 + (i ^ 1)]
    return y


def last_writes_at_quotients(x, e, A):
    y = x.copy()
    for i in range(8):
        y[i // 2] = x[7 - i]
        y[4 - i // 3] -= e[i // 2]
    return y


def quotients_of_an_input(x, e, A):
    for i in range(3):
        for j in range(4):
            A[i // 2, j // 3] = A[i, j] + 1
    return A


def views_and_expressions(x, e, A):
    y, later, backwards = cy.empty(8), x[1:], e[::-1]
    for i in range(8):
        y[i] = later[i // 2] + backwards[i % 4] + (e * e)[i // 2] + A.T[i // 3, i % 3]
    for i in range(8):
        y[2:][5 - i // 2] = later[i // 3]
    return y


KERNELS = {
    views_and_expressions: 1,
    last_writes_at_quotients: 1,
    quotients_of_an_input: 1,
    many_cases: 1,
    coarse_input: 4,
    rows_of_an_input: 12,
    remainder: 12,
    both_parts: 4,
    names_and_arithmetic: 8,
    in_place_over_time: 3,  # a PE for each step, one behind the other: 36 cycles, 51 on a PE for each place
    tiles: 64,
    assigned: 8,
    added_to_quotients: 4,
    butterflies: 4,
    butterflies_by_quotients: 4,
    bitonic_sort: 4,
    conditions: 8,
}


@pytest.mark.parametrize("function", KERNELS, ids=lambda function: function.__name__)
def test_values_are_those_of_numpy(function: FunctionType) -> None:
    rng = np.random.default_rng(3)
    arrays = rng.random(8), rng.random(4), rng.random((3, 4))
    expected = function(*(one.copy() for one in arrays))
    program = cy.kernel(function).compile(*arrays)
    assert math.prod(program.grid) >= KERNELS[function]
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, expected, strict=True)


def test_a_quotient_of_what_changes_is_refused_where_no_layout_serves() -> None:
    @cy.kernel
    def changing(x):
        y = x.copy()
        for _t in range(2):
            for i in range(1, 8):
                y[i] = y[i // 2] + y[i - 1]
        return y

    with pytest.raises(cy.TraceError, match="assigned several times") as caught:
        changing.compile(np.ones(8))
    assert caught.value.code == "CYC103"


def of_an_input_in_turn(x, e, A):
    s = 0.0
    y = x * 0
    for i in range(1, 6):
        s += A[2, i // 2] + x[i]
        for j in range(5):
            y[j] = s
    return y


def of_what_makes_a_number(x, e, A):
    s = 0.0
    g = 0
    for i in range(1, 6):
        s += A[2, i // 2] + x[i]
        for j in range(5):
            if x[j] > 0.5:
                continue
            g = i
    return s + g


def of_what_changes(x, e, A):
    y = x * 1
    for i in range(1, 4):
        if x[0] > i - 3:
            y[i] = y[i // 2] + x[i]
    return y


@pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")
@pytest.mark.parametrize("function", [of_an_input_in_turn, of_what_makes_a_number, of_what_changes])
def test_quotients_of_the_loops_stand_in_the_order_of_the_text(function: FunctionType) -> None:
    """Each is an index of its own: readings at every second index once ran at half of it."""
    rng = np.random.default_rng(5)
    arrays = rng.random(8), rng.random(4), rng.random((3, 4))
    expected = function(*(one.copy() for one in arrays))
    for schedule in (None, cy.Schedule().space()):
        program = cy.kernel(function).compile(*arrays, schedule=schedule)
        for backend in ("sim", "local"):
            np.testing.assert_array_equal(cy.run(program, backend=backend).output, expected, strict=True)


def gray_code(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i ^ (i >> 1)]
    return y


def bit_reversal(x):
    y = np.zeros_like(x)
    z = np.zeros_like(x)
    for i in range(8):
        j = ((i & 1) << 2) | (i & 2) | ((i >> 2) & 1)
        y[i] = x[j]
        z[j] = x[i] * 2
    return y, z


def bit_reversal_in_place(x):
    for i in range(8):
        j = ((i & 1) << 2) | (i & 2) | ((i >> 2) & 1)
        if j > i:
            t = x[i]
            x[i] = x[j]
            x[j] = t
    return x


def bits_of_two_indices(x):
    y = np.zeros_like(x)
    for i in range(4):
        for j in range(2):
            y[2 * i + j] = x[(2 * i) | j] + x[i ^ j]
    return y


@pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")
@pytest.mark.parametrize(
    "function",
    [gray_code, bit_reversal, bit_reversal_in_place, bits_of_two_indices],
    ids=lambda f: f.__name__,
)
def test_bits_of_several_numbers_are_looked_up(function: FunctionType) -> None:
    x = np.arange(8.0) + 1
    expected = function(x.copy())
    for backend in ("sim", "local"):
        outputs = cy.run(cy.kernel(function).compile(x), backend=backend).outputs.values()
        found = tuple(outputs) if isinstance(expected, tuple) else next(iter(outputs))
        np.testing.assert_array_equal(found, expected)


def test_bits_beyond_the_end_are_an_error() -> None:
    def beyond(x):
        y = np.zeros_like(x)
        for i in range(8):
            y[i] = x[(i << 1) ^ i]
        return y

    with pytest.raises(cy.ExecutionError, match="CYC701"):
        cy.kernel(beyond)(np.arange(8.0))
