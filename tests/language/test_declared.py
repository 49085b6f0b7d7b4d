"""Types that kernels declare, kernels that are methods, and code that the host runs while tracing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import cyclotron as cy


@cy.kernel
def declared(x: NDArray[np.float64], scale: float | None = 2, steps: int = 1):
    total: float = cy.sum(x)
    y: np.ndarray = x / total
    for t in range(steps):
        y = y * (1.0 if scale is None else scale)
    total = cy.max(y)
    return y, total


@cy.kernel
def partly_known(x: OnlyForCheckers):
    y: OnlyForCheckers = x + 1
    n: list[int] = [1, 2]
    z = y * len(n)
    return z


class Heat:
    """A solver with a coefficient and a weight of its own, and kernels as methods."""

    def __init__(self, c: float) -> None:
        self.c = c
        self.steps = 2

    @cy.kernel
    def step(self, u: np.ndarray):
        for t in range(self.steps):
            u[1:-1] += self.c * (u[2:] - 2 * u[1:-1] + u[:-2])
        return u

    @cy.kernel(max_steps=9)
    def until(self, u, limit: float):
        while cy.max(u) > limit:
            u = self.c * u
        return u

    @cy.kernel
    def keep(self, u):
        self.c = 0.0
        v = u * self.c
        return v


@pytest.mark.parametrize("scale", [3, 0.5, None, True])
def test_values_of_the_declared_types_pass(scale: Any) -> None:
    x = np.arange(1.0, 5.0)
    for found, right in zip(declared(x, scale, 2), declared.reference(x, scale, 2), strict=True):
        np.testing.assert_array_equal(found, right)
    declared.compile(cy.spec((4,)))
    for kept in ("il.typed(total, float, name='total')", "il.typed(y, np.ndarray, name='y')"):
        assert kept in declared.il()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((np.ones(4, "float32"),), "float32"),
        ((np.ones(4), "fast"), "'fast'"),
        ((np.ones(4), 1j), "1j"),
        ((np.ones(4), np.ones(2)), r"an array of shape \(2,\)"),
        ((np.ones(4), 2, 1.5), "1.5"),
        ((3.0,), "`3.0`"),
        ((cy.spec((4,), "int64"),), "int64"),
        ((cy.blocked(np.ones(4, "int32"), (2,)),), "int32"),
    ],
)
def test_other_values_are_refused_before_anything_runs(arguments: tuple[Any, ...], what: str) -> None:
    for run in (declared, declared.reference, declared.compile, declared.graph):
        with pytest.raises(cy.TraceError, match=rf"{what}.*CYC124"):
            run(*arguments)


def test_types_that_are_not_known_are_not_checked() -> None:
    np.testing.assert_array_equal(partly_known(np.ones(3)), [4, 4, 4])


def test_methods_read_the_attributes_of_their_object() -> None:
    heat = Heat(0.25)
    u = np.arange(6.0) ** 2
    first = heat.step(u)
    np.testing.assert_array_equal(first, heat.step.reference(u))
    np.testing.assert_array_equal(heat.step.graph(u).evaluate()["u"], first)
    heat.c, heat.steps = 0.5, 3
    second = heat.step(u)
    np.testing.assert_array_equal(second, heat.step.reference(u))
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(Heat(0.25).step(u), first)
    np.testing.assert_array_equal(heat.until(u, 2.0), heat.until.reference(u, 2.0))
    assert str(heat.step.signature) == "(u: 'np.ndarray')"
    with pytest.raises(cy.TraceError, match="CYC124"):
        heat.step(3)


def test_programs_of_methods_keep_what_they_were_compiled_with() -> None:
    heat = Heat(0.25)
    u = np.arange(6.0) ** 2
    program = heat.step.compile(u)
    first = heat.step.reference(u)
    heat.c = 0.5
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, first)


def test_kernels_do_not_assign_attributes() -> None:
    with pytest.raises(cy.TraceError, match=r"`self.c` is assigned.*CYC101"):
        Heat(0.25).keep(np.ones(3))


def test_the_host_may_draw_before_the_loops() -> None:
    @cy.kernel
    def noisy(x):
        with cy.host():
            weight = float(np.random.default_rng(7).random())
            for _ in range(3):
                weight = weight / 2
        for t in range(2):
            with cy.host():
                doubled = 0
                doubled += 2 * weight
            x = x + doubled
        return x

    x = np.arange(3.0)
    np.testing.assert_array_equal(noisy(x), noisy.reference(x))
