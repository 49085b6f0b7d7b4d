"""Operands whose element is the same one PE on and some steps back: Kung's systolic convolutions (1982)."""

from __future__ import annotations

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def convolve(x, w, stride):
    n = (x.shape[0] - w.shape[0]) // stride + 1
    y = cy.empty((n,), dtype=x.dtype)
    for i in range(n):
        y[i] = sum(w[k] * x[stride * i + k] for k in range(w.shape[0]))
    return y


@cy.kernel
def image(x, w):
    y = cy.empty((x.shape[0] - w.shape[0] + 1, x.shape[1] - w.shape[1] + 1), dtype=x.dtype)
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            y[i, j] = sum(w[p, q] * x[i + p, j + q] for p in range(w.shape[0]) for q in range(w.shape[1]))
    return y


def space(*indices):
    return cy.Schedule().space(*indices)


@pytest.mark.parametrize("sizes", [(1, 1), (4, 1), (4, 4), (10, 3), (9, 4)])
@pytest.mark.parametrize(
    "schedule",
    [
        space("k").stream("x", along="-k"),
        space("k").stream("x", along="k"),
        space("k").prefetch("w").stream("x", along="-k"),
        space("i").stream("x", along="-i"),
        space("i").stream("x", along="i"),
        space("-i").stream("x", along="-i"),
        space("i").stream("x", along="-i").stream("w", along="i"),
    ],
    ids=str,
)
def test_every_direction(schedule, sizes):
    rng = np.random.default_rng(sum(sizes))
    x, w = (rng.integers(-9, 9, size).astype(float) for size in sizes)
    program = convolve.compile(x, w, 1, schedule=schedule)
    assert cy.prove(program).ok
    for backend in ("sim", "local"):
        assert np.array_equal(cy.run(program, backend=backend).output, np.correlate(x, w))


def test_only_the_boundary_loads_the_line():
    program = convolve.compile(cy.spec(20), cy.spec(5), 1, schedule=space("k").stream("x", along="-k"))
    loads = [rule for rule in program.dataflow.rules if rule.kind == "inject" and "x[" in rule.statement]
    (load,) = loads
    assert set(load.domain.split(" or ")) == {"(i = 0)", "(i ≥ 1, k = 4)"}  # in the order of isl's version
    (link,) = [channel for channel in program.channels if channel["name"].startswith("x")]
    assert link["offset"] == [-1]


@pytest.mark.parametrize("size", [7, 12])
def test_two_steps_back(size):
    """A stride of 2 over PEs of outputs: the element is back two taps later; over PEs of taps it is not."""
    x, w = np.arange(1.0, size + 1), np.array([1.0, -2, 4, 3, 5])
    program = convolve.compile(x, w, 2, schedule=space("i").stream("x", along="-i"))
    assert np.array_equal(cy.run(program, backend="sim").output, np.correlate(x, w)[::2])
    with pytest.raises(cy.ScheduleError) as caught:
        convolve.compile(x, w, 2, schedule=space("k").stream("x", along="-k"))
    assert caught.value.code == "CYC313"


@pytest.mark.parametrize("shapes", [((5, 6), (3, 2)), ((3, 3), (3, 3)), ((4, 7), (1, 4))])
def test_images(shapes):
    rng = np.random.default_rng(1)
    x, w = (rng.integers(-9, 9, shape).astype(float) for shape in shapes)
    expected = image.reference(x, w)
    for schedule in (space("p").stream("x", along="-p"), space("i", "j").stream("x", along="-i")):
        program = image.compile(x, w, schedule=schedule)
        assert cy.prove(program).ok
        assert np.array_equal(cy.run(program, backend="sim").output, expected)
