"""Repeated elements and running sums: values and dtypes are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

RNG = np.random.default_rng(9)
A = RNG.random((4, 6))
FUNCTIONS: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "repeat, of all": (lambda a: a.repeat(3) + 1, A[:2, :2]),
    "repeat, along an axis": (lambda a: np.repeat(a * 2, 2, axis=1) + 1, A),
    "repeat, many times": (lambda a: np.repeat(a, 9, axis=0) + 1, A[:2]),
    "repeat, once": (lambda a: np.repeat(a, 1, axis=0) + 1, A[:2]),
    "repeat, never": (lambda a: np.repeat(a, 0, axis=0) + 1, A[:2]),
    "cumsum": (lambda a: np.cumsum(a * 2, axis=1) + 1, A),
    "cumsum, down": (lambda a: a.cumsum(0), A),
    "cumsum, from the end": (lambda a: np.cumsum(a, axis=-1), A),
    "cumsum, of all": (lambda a: np.cumsum(a * 2), A),
    "cumsum, of whole numbers": (lambda a: np.cumsum(a), np.arange(6, dtype=np.int32)),
    "cumsum, of truth values": (lambda a: np.cumsum(a > 0.5), A[0]),
    "cumsum, of another dtype": (lambda a: np.cumsum(a, dtype=np.float32), np.arange(6)),
    "cumsum, of float16": (lambda a: np.cumsum(a), RNG.random(9).astype(np.float16)),
    "cumsum, of a part": (lambda a: np.cumsum(a[1:4]) + a[:3], A[0]),
}


def kernel_of(function: Callable[..., Any]) -> cy.Kernel:
    @cy.kernel
    def kernel(a):
        return function(a)

    return kernel


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")
def test_values_are_those_of_numpy(name: str) -> None:
    function, array = FUNCTIONS[name]
    expected = function(array)
    program = kernel_of(function).compile(array)
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, expected, strict=True)


def test_in_loops_over_time() -> None:
    @cy.kernel
    def totals(a):
        x = a.copy()
        for _t in range(2):
            x = x + np.cumsum(x, axis=0) / 10
        return x

    np.testing.assert_array_equal(totals(A), totals.reference(A), strict=True)


def test_running_sums_take_a_line_of_pes_each_and_no_more_than_their_length() -> None:
    program = kernel_of(lambda a: np.cumsum(a, axis=1)).compile(A)
    assert cy.run(program, backend="sim").cycles <= A.shape[1]


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.repeat(a, -1),
        lambda a: np.repeat(a, 2, axis=2),
        lambda a: np.cumsum(a, axis=2),
    ],
)
def test_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(cy.ShapeError) as caught:
        kernel_of(function).compile(A)
    assert caught.value.code == "CYC122"
