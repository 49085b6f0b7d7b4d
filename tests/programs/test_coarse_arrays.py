"""Arrays read at another stride than they are computed: values are NumPy's, and all PEs take part."""

from __future__ import annotations

import math
from types import FunctionType

import numpy as np
import pytest

import cyclotron as cy

RNG = np.random.default_rng(5)


def every_second(f):
    r = f * 2.0
    return r[1:-1:2] + 0.5 * r[2::2]


def every_fourth(f):
    fine = f * 2.0
    coarse = fine[::2] + 1.0
    coarser = coarse[::2] - 1.0
    return coarser, coarse


def in_loops_of_scalars(f):
    r = cy.empty(17)
    for i in range(17):
        r[i] = f[i] * 2.0
    c = cy.empty(8)
    for i in range(8):
        c[i] = r[2 * i] + r[2 * i + 2]
    return c


def in_a_loop_over_time(f):
    r = f.copy()
    c = cy.zeros(8)
    for _t in range(3):
        c = c + r[1:-1:2]
        r[1:-1] = 0.5 * (r[:-2] + r[2:])
    return c


def there_and_back(f):
    fine = f + 1.0
    for _t in range(2):
        coarse = cy.zeros(9)
        coarse[1:-1] = (fine[1:-3:2] + 2 * fine[2:-2:2] + fine[3:-1:2]) / 4
        new = cy.zeros(17)
        new[::2] = coarse
        new[1::2] = (coarse[:-1] + coarse[1:]) / 2
        fine = new + fine
    return fine


def to_a_single_element(f):
    fine = f[:5] + 1.0
    for _t in range(2):
        coarse = cy.zeros(3)
        coarse[1:-1] = fine[2:-2:2]
        new = cy.zeros(5)
        new[::2] = coarse
        fine = new + fine
    return fine


def of_matrices(f):
    A = f[:, None] * f[:9]
    coarse = A[:-2:2, :-2:2] + A[2::2, 2::2]
    return coarse * 3


KERNELS = {
    every_second: 17,
    every_fourth: 17,
    in_loops_of_scalars: 17,
    in_a_loop_over_time: 15,
    there_and_back: 17,
    to_a_single_element: 5,
    of_matrices: 153,
}


@pytest.mark.parametrize("function", KERNELS, ids=lambda function: function.__name__)
@pytest.mark.filterwarnings("error::cyclotron.PerformanceWarning")
def test_values_are_those_of_numpy_on_as_many_pes_as_the_finest_array_has_elements(
    function: FunctionType,
) -> None:
    f = RNG.random(17)
    kernel = cy.kernel(function)
    expected = kernel.reference(f)
    expected = expected if isinstance(expected, tuple) else (expected,)
    program = kernel.compile(f)
    assert math.prod(program.grid) >= KERNELS[function]
    for backend in ("sim", "local"):
        found = cy.run(program, f, backend=backend).outputs.values()
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other, strict=True)


def test_a_coarse_array_lies_where_the_elements_are_that_it_comes_from() -> None:
    """On a mesh with a PE for each element, and schedules in the names of the loops of the text."""
    f = RNG.random(17)
    program = cy.kernel(every_second).compile(f, schedule=cy.Schedule().space("i"))
    assert tuple(program.grid) == (17,)
    assert cy.check(program, tolerance=0).errors.keys() >= {"sim", "local"}


def refused_stride(f):
    r = f * 2.0
    return r + r[::2].sum() + r[0]


def elements_and_every_second(f):
    r = f * 2.0
    y = cy.empty(9)
    for i in range(9):
        y[i] = r[i] - r[2 * i]
    return y


@pytest.mark.parametrize("function", [refused_stride, elements_and_every_second], ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")
def test_what_no_layout_serves_is_still_numpys(function: FunctionType) -> None:
    f = RNG.integers(0, 9, 17).astype(float)
    kernel = cy.kernel(function)
    np.testing.assert_array_equal(cy.run(kernel.compile(f)).output, kernel.reference(f), strict=True)
