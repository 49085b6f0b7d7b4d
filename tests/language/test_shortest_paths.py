"""Puts at places in loops that end, of values that a copy holds: Bellman and Ford's over lists of edges."""

import numpy as np
import pytest

import cyclotron as cy

pytestmark = pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")


@cy.kernel
def shortest(source, target, weight, n):
    dist = np.full(n, 1e9)
    dist[0] = 0.0
    for _ in range(n):
        old = dist.copy()
        for e in range(source.shape[0]):
            dist[target[e]] = min(dist[target[e]], old[source[e]] + weight[e])
        if np.all(dist == old):
            break
    return dist


@cy.kernel
def spread(source, target, weight, x):
    """Two arrays change at places of each other's old values; nothing ends early."""
    y = np.zeros_like(x)
    for _ in range(4):
        old, before = x.copy(), y.copy()
        for e in range(source.shape[0]):
            x[target[e]] += weight[e] * before[source[e]]
            y[source[e]] = max(y[source[e]], old[target[e]])
    return x, y


@cy.kernel
def largest(key, value, n):
    """Ends by what changed in a whole iteration."""
    best, change = np.zeros(n), 1.0
    while change > 0:
        old = best.copy()
        for e in range(key.shape[0]):
            best[key[e]] = max(best[key[e]], value[e])
        change = np.max(best - old)
    return best


@cy.kernel
def turned(target, x):
    """Each put decides by an element that another one may have changed; the first ones are made."""
    v = np.ones(x.shape[0], bool)
    for s in range(3):
        for e in range(target.shape[0]):
            if v[s]:
                v[target[e]] = not v[target[e]]
    return v


def edges(count, n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, n, count), rng.integers(0, n, count), rng.integers(1, 9, count).astype(float)


@pytest.mark.parametrize("grid", [(1, 1), (4, 4), (5, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_paths_are_those_of_numpy_on_all_backends(grid, seed):
    values = edges(20, 9, seed)
    program = shortest.compile(*values, 9, machine=cy.Machine(grid=grid))
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, shortest.reference(*values, 9))


@pytest.mark.parametrize("grid", [(1, 1), (3, 3)])
def test_what_copies_hold_stays_while_arrays_change(grid):
    values = (*edges(12, 7), np.arange(7.0))
    program = spread.compile(*values, machine=cy.Machine(grid=grid))
    right = spread.reference(*(one.copy() for one in values))
    for found, wanted in zip(cy.run(program, backend="sim").outputs.values(), right, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("grid", [None, (1, 1), (5, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_flags_are_those_of_the_put_before(grid, seed):
    target, _, _ = edges(12, 7, seed)
    machine = grid and cy.Machine(grid=grid)
    program = turned.compile(target, np.ones(7), machine=machine)
    right = turned.reference(target, np.ones(7))
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, right)


def test_an_edge_takes_as_long_on_a_larger_graph():
    """MA-129: an element is found by its address; only the copy and the comparison go through all of them."""
    values, machine = edges(64, 16), cy.Machine(grid=(1, 1))

    def cycles_of(n):
        program = shortest.compile(*values, n, machine=machine)
        return cy.run(program, backend="sim", functional=False, steps={"_": 8}).cycles

    assert cycles_of(64) - cycles_of(16) <= 4 * 8 * (64 - 16)


@pytest.mark.parametrize("count", [20, 40])
def test_a_loop_ends_soon_after_nothing_changes(count):
    """A copy is kept, no value of each edge: NumPy's 2 iterations, and those in which the flag travels."""
    key, _, value = edges(count, 8)
    result = cy.run(largest.compile(key, value, 8, machine=cy.Machine(grid=(8, 8))), backend="sim")
    np.testing.assert_array_equal(result.output, largest.reference(key, value, 8))
    assert result.steps["iteration"] <= 2 + 3
