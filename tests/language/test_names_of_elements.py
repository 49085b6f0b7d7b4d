"""Names that hold elements of arrays: they stay what they were where the array changes, as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cyclotron as cy


def exchanged(x, y):
    kept = x[0]
    x[0] = x[1]
    x[1] = kept
    return x


def through_a_view(x, y):
    kept = x[1:][0]
    x[1] = 2.0
    return x * kept, x


def in_a_later_iteration(x, y):
    first = x[0]
    for i in range(4):
        x[i] = first + x[i]
    return x


def before_a_whole_array(x, y):
    last = 2 - x[-1]
    x[1:] = x[:-1] * x[0]
    y[:] = last * y + x
    return x, y


def items(x, y):
    for v in x:
        x[0] = 7
        x[1] = v
    return x


def in_a_sum(x, y):
    s = 1.0
    for k in range(3):
        s -= x[k]
    x[0] += 8
    x[1:] *= 2
    return x, y * s


def in_each_iteration(x, y):
    for i in range(1, 4):
        a = x[i]
        b = x[i - 1]
        for k in range(i):
            x[k] = a - b
        y[i] = a * x[0] + b
    return x, y


def in_a_double_sum(x, y):
    s = sum(x[k] * y[j] for k in range(3) for j in range(k))
    for i in range(4):
        x[i] = s - x[i]
        y[i] -= s
    return x, y


def behind_a_condition(x, y):
    for i in range(4):
        a = x[i - 1] if i > 0 else 2.0
        x[i] = 3 * a
        x[3 - i] = a
        y[i] += a
    return x, y


def of_data(x, y):
    for i in range(3):
        a = x[i + 1] if y[i] > 0 else x[i]
        x[i] += 1
        x[i + 1] = a * a
    return x


def of_itself(x, y):
    s = 2.0
    s = max(s, x[0])
    x[...] = y * 2
    for _ in range(2):
        s += x[1]
    return x, s


@pytest.mark.parametrize(
    "function",
    [
        exchanged,
        through_a_view,
        in_a_later_iteration,
        before_a_whole_array,
        items,
        in_a_sum,
        in_each_iteration,
        in_a_double_sum,
        behind_a_condition,
        of_data,
        of_itself,
    ],
    ids=lambda function: function.__name__,
)
@pytest.mark.parametrize("backend", ["local", "sim"])
def test_elements_stay_what_they_were(function: Callable[..., Any], backend: str) -> None:
    arrays = [np.array([3.0, -1.0, 2.0, 5.0]), np.array([1.0, -2.0, 4.0, 0.5])]
    expected = function(*(array.copy() for array in arrays))
    found = cy.run(cy.kernel(function).compile(*arrays), backend=backend).outputs
    expected = expected if isinstance(expected, tuple) else (expected,)
    for one, other in zip(found.values(), expected, strict=True):
        np.testing.assert_array_equal(one, other)
