"""Without a schedule, sums of whole arrays join the terms of each PE first, where it has several."""

import numpy as np
import pytest

import cyclotron as cy

GRID = cy.Machine(grid=(8, 8))


@cy.kernel
def norm(x):
    return cy.sqrt(cy.sum(x * x))


@cy.kernel
def frobenius(A):
    return cy.sum(A * A)


@cy.kernel
def squared_error(x, y):
    return cy.mean((x - y) ** 2)


@cy.kernel
def deviation(x):
    """The second sum is over what the first one's total makes."""
    m = cy.mean(x)
    return cy.sqrt(cy.mean((x - m) ** 2))


@cy.kernel
def step(A, p, r):
    q = A @ p
    return r - cy.dot(r, r) / cy.dot(p, q) * q


@cy.kernel
def nearest(Q, P):
    distance = cy.sum((Q[:, None, :] - P[None, :, :]) ** 2, axis=2)
    return cy.argmin(distance, axis=1)


@cy.kernel
def oscillators(angles, speeds, steps):
    """Each PE needs the angles of both its row and its column."""
    for t in range(steps):
        angles = angles + 0.1 * (speeds + cy.mean(cy.sin(angles[None, :] - angles[:, None]), axis=1))
    return angles


@cy.kernel
def chance():
    """Two rows of long computations: in the text's order PEs wait for the sums of those before."""
    u = cy.random.uniform(cy.random.key(3), (2, 100))
    return 4 * cy.mean(u[0] ** 2 + u[1] ** 2 < 1)


@cy.kernel
def largest(x):
    return cy.max(cy.abs(x))


def numbers(*shape):
    return np.random.default_rng(sum(shape)).random(shape) - 0.5


x, y, A = numbers(100), numbers(100) * 2, numbers(60, 60)
# Per PE: the operators of its elements; and some for hops, and what comes in turn.
CASES = [
    (norm, (x,), 13, 16),
    (norm, (numbers(1000),), 125, 25),
    (frobenius, (A,), 64, 50),
    (squared_error, (x, y), 3 * 13, 30),
    (deviation, (numbers(1000),), 4 * 125, 60),
    (step, (A, numbers(60), numbers(60)), 64, 100),
    (nearest, (numbers(18, 3), numbers(20, 3)), 9 * 12, 90),
    (oscillators, (numbers(18), numbers(18), 3), 3 * 9 * 3, 120),
    (largest, (numbers(1000),), 250, 25),
    (chance, (), 13 * 150, 500),
]


@pytest.mark.parametrize(("kernel", "args", "work", "rest"), CASES)
def test_all_pes_compute_at_once(kernel, args, work, rest):
    program = kernel.compile(*args, machine=GRID)
    result = cy.run(program, backend="sim")
    assert result.cycles <= work + rest
    expected = kernel.reference(*args)
    for backend in ("sim", "local"):
        output = cy.run(program, backend=backend).output
        np.testing.assert_allclose(output, expected, rtol=1e-12, atol=1e-12)
        assert output.dtype == np.asarray(expected).dtype
    assert "reduce" in str(program.schedule)
    assert "re-associated" in str(program.explain()) or "in a tree" in str(program.explain())


@cy.kernel
def in_order(x):
    return sum(x[i] * x[i] for i in range(x.shape[0]))


def test_sums_of_the_text_keep_their_order():
    x = numbers(100)
    program = in_order.compile(x, machine=GRID)
    assert "reduce" not in str(program.schedule)
    total = 0.0
    for value in x:
        total += value * value
    assert cy.run(program, backend="sim").output == total


@cy.kernel
def centred(X, W):
    """Means of rows have an axis of one element; W names a third index."""
    X = X - cy.mean(X, axis=1, keepdims=True)
    X = X / (cy.sum(X * X, axis=1, keepdims=True) + 1)
    return X @ W


def test_axes_of_one_element_are_no_indices():
    X, W = numbers(20, 10), numbers(10, 7)
    text = str(centred.recurrences(X, W))
    assert "[i, 0]" in text
    assert "k = 0" not in text
    program = centred.compile(X, W, machine=GRID)
    np.testing.assert_allclose(cy.run(program, backend="sim").output, centred.reference(X, W), rtol=1e-12)


@cy.kernel
def row(x):
    return cy.sum(x * 2, axis=1, keepdims=True), x + 1


@cy.kernel
def part(x):
    """The index of the last copy starts at 2."""
    return x[:2], x[2:3], x[1:2] + x[2:3]


def test_parts_of_one_element():
    x = numbers(4)
    for backend in ("sim", "local"):
        found = cy.run(part.compile(x), backend=backend).outputs.values()
        for output, expected in zip(found, (x[:2], x[2:3], x[1:2] + x[2:3]), strict=True):
            np.testing.assert_array_equal(output, expected)


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (1, 1), (3, 4)])
def test_arrays_of_one_row_or_column(shape):
    x = numbers(*shape)
    program = row.compile(x)
    sums, more = cy.run(program, backend="sim").outputs.values()
    np.testing.assert_allclose(sums, (x * 2).sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(more, x + 1)
    assert row.compile(x, schedule=cy.Schedule().space("i", "j")).grid == shape
