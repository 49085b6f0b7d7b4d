"""Elements at places that data tell, of computed tables: by address, in the PEs where they lie or come to."""

from __future__ import annotations

import numpy as np
import pytest

import cyclotron as cy

S = cy.Schedule()


@cy.kernel
def gather(x, places):
    t = x * 2.0
    return t[places]


@cy.kernel
def gather_both(x, i, j):
    t = x * 2.0
    return t[i, j]


@cy.kernel
def rotated(x, places, steps):
    u = x.copy()
    for _ in range(steps):
        u = u[places] + 1.0
    return u


@cy.kernel
def scatter(x, places, v):
    y = x * 2.0
    w = v * v
    for k in range(places.shape[0]):
        y[places[k]] += w[k]
    return y


@cy.kernel
def ell(x, columns, a, steps):
    p = x.copy()
    for _ in range(steps):
        p = cy.sum(a * p[columns], axis=1) + p
    return p


@cy.kernel
def csr(x, first, columns, a, steps):
    p = x.copy()
    for _ in range(steps):
        q = cy.zeros_like(p)
        for i in range(p.shape[0]):
            for k in range(first[i], first[i + 1]):
                q[i] += a[k] * p[columns[k]]
        p = q + p
    return p


@cy.kernel
def csr_cg(b, first, columns, a, steps):
    x = cy.zeros_like(b)
    r = b.copy()
    p = b.copy()
    rho = r @ r
    for _ in range(steps):
        q = cy.zeros_like(b)
        for i in range(b.shape[0]):
            for k in range(first[i], first[i + 1]):
                q[i] += a[k] * p[columns[k]]
        alpha = rho / (p @ q)
        x = x + alpha * p
        r = r - alpha * q
        new = r @ r
        p = r + new / rho * p
        rho = new
    return x


def _bits(program: cy.Program, expected: np.ndarray, *, prove: bool = False) -> int:
    """Return the cycles of the simulator, which has NumPy's bits, as the threads have."""
    found = cy.run(program, backend="sim")
    assert found.output.tobytes() == expected.tobytes()
    assert cy.run(program, backend="local").output.tobytes() == expected.tobytes()
    if prove:
        assert cy.prove(program)
    return found.cycles


def _ell(n: int, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Small whole numbers, whose sums are exact in any order."""
    rng = np.random.default_rng(n)
    return (
        rng.integers(1, 5, n) * 1.0,
        rng.integers(-n, n, (n, width)),
        rng.integers(-2, 3, (n, width)) * 1.0,
    )


def _ell_by_numpy(x: np.ndarray, columns: np.ndarray, a: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        x = (a * x[columns]).sum(axis=1) + x
    return x


@pytest.mark.parametrize("grid", [(100,), (10, 10)])
def test_few_numbers_go_to_a_table_that_stays(grid: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    x, places = rng.random(10_000), rng.integers(-10_000, 10_000, 4)
    program = gather.compile(x, places, machine=cy.Machine(grid=grid))
    hops, part = 99, 100
    # A PE computes its part; a sum takes a cycle in each, and one to the next.
    assert _bits(program, (x * 2.0)[places]) <= part + 2 * hops + 3 * 4


@pytest.mark.parametrize("grid", [(40,), (5, 8)])
def test_places_of_two_axes(grid: tuple[int, ...]) -> None:
    rng = np.random.default_rng(4)
    x, (i, j) = rng.random((40, 40)), rng.integers(-40, 40, (2, 60))
    program = gather_both.compile(x, i, j, machine=cy.Machine(grid=grid))
    # Two places are checked and make one number, which is copied, found and read.
    assert _bits(program, (x * 2.0)[i, j]) <= 6 * 60 + 40 + 2 * 40 + 20


@pytest.mark.parametrize("grid", [(40,), (5, 8)])
def test_a_table_goes_round_in_each_iteration_of_a_loop(grid: tuple[int, ...]) -> None:
    n, steps = 400, 5
    rng = np.random.default_rng(5)
    x, places = rng.random(n), rng.integers(-n, n, n)
    expected = x
    for _ in range(steps):
        expected = expected[places] + 1.0
    program = rotated.compile(x, places, steps, machine=cy.Machine(grid=grid))
    # A word a cycle over each link, and 10 numbers a PE; to compare all takes 12,000 cycles an iteration.
    assert _bits(program, expected) <= steps * (2 * n)
    small = rotated.compile(x[:12], places[:12] % 12, 3, machine=cy.Machine(grid=(4,)), schedule=S.space("i"))
    expected = x[:12]
    for _ in range(3):
        expected = expected[places[:12] % 12] + 1.0
    _bits(small, expected, prove=True)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize(("n", "pes"), [(1, 1), (5, 2), (9, 4), (13, 5), (16, 16)])
def test_tables_of_any_size_on_any_links(n: int, pes: int, depth: int) -> None:
    rng = np.random.default_rng(n)
    machine = cy.Machine(grid=(pes,), link=cy.Link(depth=depth))
    x, places = rng.choice([-0.0, 0.0, 1.5, -2.0], n), rng.integers(-n, n, 7)
    for schedule in (None, S.space("j"), S.space("i")):
        program = gather.compile(x, places, machine=machine, schedule=schedule)
        _bits(program, (x * 2.0)[places], prove=True)
    expected, w = x * 2.0, x.min() * np.arange(7.0)
    np.add.at(expected, places, w * w)
    _bits(scatter.compile(x, places, w, machine=machine), expected, prove=True)
    arguments = _ell(n, 3)
    program = ell.compile(*arguments, 2, machine=machine)
    _bits(program, _ell_by_numpy(*arguments, 2), prove=True)


def test_sparse_rows_of_a_vector_that_is_computed() -> None:
    n, width, steps = 80, 4, 3
    x, columns, a = _ell(n, width)
    expected = _ell_by_numpy(x, columns, a, steps)
    program = ell.compile(x, columns, a, steps, machine=cy.Machine(grid=(20,)))
    # The vector goes round; a number takes its check, two parts to look in, product and sum.
    assert _bits(program, expected) <= steps * (n + 8 * width * n // 20 + 3 * 20)
    first = np.arange(0, n * width + 1, width)
    arguments = (x, first, columns.ravel(), a.ravel())
    for grid in ((1,), (80,), (8, 10)):
        program = csr.compile(*arguments, steps, machine=cy.Machine(grid=grid))
        rows = n // int(np.prod(grid))
        assert _bits(program, expected) <= steps * (8 * n + rows * (10 * width + 30))


def test_sums_that_only_their_ends_outlive_take_a_place_a_row() -> None:
    """One for each of all rows' terms took 100 * 400 numbers."""
    n, width = 100, 4
    x, columns, a = _ell(n, width)
    arguments = (x, np.arange(0, n * width + 1, width), columns.ravel(), a.ravel())
    program = csr.compile(*arguments, 3, machine=cy.Machine(grid=(1,)), schedule=S.time("_", "i", "k", "j"))
    assert program.memory.classes[0].data < 8 * (12 * n + 4 * width * n)
    _bits(program, _ell_by_numpy(x, columns, a, 3))


def test_conjugate_gradients_of_sparse_rows() -> None:
    rng = np.random.default_rng(8)
    n, width = 24, 3
    columns = np.sort(rng.integers(0, n, (n, width)), axis=1)
    columns[:, 0] = np.arange(n)
    a = rng.random((n, width))
    a[:, 0] = 6
    b = rng.random(n)
    arguments = (b, np.arange(0, n * width + 1, width), columns.ravel(), a.ravel())
    program = csr_cg.compile(*arguments, 4, machine=cy.Machine(grid=(8,)))
    assert program.grid == (8,)
    dense = np.zeros((n, n))
    np.add.at(dense, (np.arange(n)[:, None], columns), a)
    x, r, p = np.zeros(n), b, b
    for _ in range(4):
        q = dense @ p
        alpha = (r @ r) / (p @ q)
        x, after = x + alpha * p, r - alpha * q
        p, r = after + (after @ after) / (r @ r) * p, after
    found = cy.run(program, backend="sim").output
    np.testing.assert_allclose(found, x, rtol=1e-9)
    assert cy.run(program, backend="local").output.tobytes() == found.tobytes()


def test_the_bits_of_ranks() -> None:
    pytest.importorskip("cyclotron._mpi", reason="Cyclotron was built without MPI")
    x, places = np.arange(8.0), np.array([3, -1, 3, -8, 0, 0, 7, 5])
    machine = cy.Machine(grid=(2,))
    for program in (
        gather.compile(x, places, machine=machine, schedule=S.space("j")),
        rotated.compile(x, places, 3, machine=machine, schedule=S.space("i")),
    ):
        expected = cy.run(program, backend="local").output
        assert cy.run(program, backend="mpi", ranks=2).output.tobytes() == expected.tobytes()


def test_axes_are_called_as_where_they_are_searched() -> None:
    x, places = np.arange(8.0), np.array([3, -1])
    text = str(gather.recurrences(x, places))
    assert "t[j] = x[j]" in text
    assert "result[i] = Σ_{0 <= j <= 7}" in text
