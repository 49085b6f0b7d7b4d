"""Defaults that need more effort: values on long ways, sums of PEs from both ends; none falls to one PE."""

import numpy as np
import pytest

import cyclotron as cy

S = cy.Schedule()
FROM_BOTH_ENDS = S.space("i", "j").inwards("i", "j").reduce("i", "tree").reduce("j", "tree")


@cy.kernel
def repeated(e, x):
    y = np.zeros(24)
    for i in range(24):
        y[i] = e[i // 3] * x[i] + e[i % 5] - x[(i + 7) % 24]
    return y


@cy.kernel
def prolonged(u):
    e = np.zeros_like(u)
    beside = u[1:-3:2, 2:-2:2] + u[3:-1:2, 2:-2:2] + u[2:-2:2, 1:-3:2] + u[2:-2:2, 3:-1:2]
    e[2:-2:2, 2:-2:2] = u[2:-2:2, 2:-2:2] * 0.25 + 0.125 * beside
    e[1:-1:2, 2:-2:2] = 0.5 * (e[:-2:2, 2:-2:2] + e[2::2, 2:-2:2])
    e[1:-1, 1:-1:2] = 0.5 * (e[1:-1, :-2:2] + e[1:-1, 2::2])
    return u + e


@cy.kernel
def symmetric(u, steps):
    for _ in range(steps):
        u = (u.T @ u) / 16 + u.T
        u = u / np.abs(u).max()
    return u


@cy.kernel
def normalised(x):
    return x / np.sqrt(np.sum(x * x))


def cycles_of(program):
    return cy.run(program, backend="sim", functional=False).cycles


@pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")
@pytest.mark.parametrize(
    ("kernel", "shapes", "numbers", "pes", "schedule"),
    [
        (repeated, [(8,), (24,)], (), 8, S.space("i", "0")),
        (prolonged, [(17, 17)], (), 8, S.space("i", "j")),
        (symmetric, [(16, 16)], (3,), 8, S.space("j", "i")),
        (normalised, [(64, 64)], (), 16, FROM_BOTH_ENDS),
    ],
)
def test_a_default_is_as_fast_as_what_compiles(kernel, shapes, numbers, pes, schedule):
    machine = cy.Machine(grid=(pes, pes))
    rng = np.random.default_rng(1)
    values = [rng.random(shape) for shape in shapes]
    program = kernel.compile(*values, *numbers, machine=machine)
    found = cy.run(program, backend="sim").output
    np.testing.assert_allclose(found, kernel.reference(*(v.copy() for v in values), *numbers), rtol=1e-12)
    other = kernel.compile(*values, *numbers, machine=machine, schedule=schedule)
    assert cycles_of(program) <= 1.05 * cycles_of(other)
