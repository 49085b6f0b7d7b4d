"""Functions of Python that kernels call: the arrays around them are constants, as those of kernels are."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

WEIGHTS = np.array([0.5, -1.25, 3.0, 0.0625, 2.0])
TABLE = np.arange(10.0).reshape(2, 5)
CALLS: list[int] = []
COUNT = 0


def weighted(x: Any, i: Any) -> Any:
    return WEIGHTS[i] * x[i]


def through_another(x: Any, i: Any) -> Any:
    return weighted(x, i) + TABLE[1, i] * sum(WEIGHTS[:2])


def recursive(x: Any, i: Any, k: int) -> Any:
    return x[i] if k == 0 else recursive(x, i, k - 1) * WEIGHTS[i]


def even(i: Any, k: int) -> Any:
    return WEIGHTS[i] if k == 0 else odd(i, k - 1)


def odd(i: Any, k: int) -> Any:
    return TABLE[0, i] if k == 0 else even(i, k - 1)


def by_default(i: Any, w: Any = WEIGHTS, *, t: Any = TABLE) -> Any:
    return w[i] + t[0, i]


def inside(i: Any) -> Any:
    return (lambda at: WEIGHTS[at])(i)


def on_the_host(n: int) -> list[Any]:
    CALLS.append(n)
    return [WEIGHTS[k] * 2 for k in range(n)]


def counting(i: Any) -> Any:
    global COUNT
    COUNT += 1
    return WEIGHTS[i]


def around() -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    scale, unset = WEIGHTS * 3, 0.0

    def first(i: Any) -> Any:
        return scale[i]

    def second(i: Any) -> Any:
        return first(i) + unset

    unset = 1.0
    return first, second


FIRST, SECOND = around()
module = types.ModuleType("helpers_of_a_test")
exec("import numpy as np\nW = np.arange(5.0)\ndef take(x, i):\n    return x[i] - W[i]\n", module.__dict__)


@cy.kernel
def of_functions(x):
    y = cy.empty_like(x)
    values = on_the_host(3)
    for i in range(len(x)):
        y[i] = weighted(x, i) + through_another(x, i) * values[1] - recursive(x, i, 2)
        y[i] += even(i, 3) + odd(i, 2) + by_default(i) * inside(i) + FIRST(i) - SECOND(i) + module.take(x, i)
    return y + values[2]


@pytest.mark.parametrize("size", [0, 1, 5])
def test_arrays_around_functions_are_constants(size: int) -> None:
    x = np.arange(size) - 1.5
    expected = of_functions.reference(x)
    program = of_functions.compile(x)
    assert set(program.constants) >= ({"WEIGHTS", "TABLE"} if size else set())
    for backend in ("local", "sim"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, expected)
    assert type(WEIGHTS) is np.ndarray
    assert WEIGHTS.flags.writeable


def test_constants_are_as_they_were_when_it_was_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(5)
    before = of_functions(x)
    monkeypatch.setattr(sys.modules[__name__], "WEIGHTS", WEIGHTS + 1)
    after = of_functions(x)
    np.testing.assert_array_equal(after, of_functions.reference(x))
    assert not np.array_equal(before, after)


@cy.kernel
def counted(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        y[i] = counting(i)
    return y


@cy.kernel
def changed(x):
    w = WEIGHTS
    w += x
    return w


@cy.kernel
def assigned(x):
    w = WEIGHTS
    w[1:] = x[1:]
    return w


def test_refusals_say_what_to_write() -> None:
    x = np.ones(5)
    for kernel, code, text in [
        (counted, "CYC110", "helper(w, i)"),  # a function that assigns globals stays what it is
        (changed, "CYC106", "`y = cy.empty_like(WEIGHTS)`"),
        (assigned, "CYC106", "`y = cy.empty_like(WEIGHTS)`"),
    ]:
        with pytest.raises(cy.TraceError) as refused:
            kernel.compile(x)
        assert refused.value.code == code
        assert text in str(refused.value)


@cy.kernel
def two_types(x):
    return 2 if x[0] > 0 else 3.5


def test_numbers_that_data_choose_have_the_dtype_of_where() -> None:
    for x in (np.ones(2), -np.ones(2)):
        found = two_types(x)
        expected = np.where(x[0] > 0, 2, 3.5)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@cy.kernel
def chosen_of_the_host(x, y):
    z = y
    if x[1] > 0:
        z = WEIGHTS
    if x[2] > 0:
        u = cy.clip(WEIGHTS, 0, 1)
    else:
        u = TABLE[1]
    u = u + cy.where(WEIGHTS > 0.5, 1, x) * cy.round(WEIGHTS)
    return z * x + u


def test_data_choose_arrays_of_the_host() -> None:
    for x in (np.arange(5.0), -np.arange(5.0), np.arange(5.0) - 1.5):
        np.testing.assert_array_equal(chosen_of_the_host(x, 2 * x), chosen_of_the_host.reference(x, 2 * x))


def test_functions_give_arrays_of_numpy_outside_of_kernels() -> None:
    for made in (cy.where(WEIGHTS > 0, 1, 2), cy.clip(WEIGHTS, 0, 1), cy.cast(WEIGHTS, "float32")):
        assert type(made) is np.ndarray
