"""Arrays that loops assign and take elements of, where data tell or in rows: their places, and their cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cyclotron as cy

N = 9
random = np.random.default_rng(5)
X, V = random.random(N), random.random((N, 4))
PLACES, OTHERS = random.integers(0, N, N), random.integers(0, N, (N, 4))
BEFORE = np.array([random.integers(0, i + 1) for i in range(N)])


@cy.kernel
def shuffled(x, n):
    for i in range(len(n)):
        x[i], x[n[i]] = x[n[i]], x[i]
    return x


@cy.kernel
def exchanged(x, n):
    for i in range(len(n)):
        j = n[i]
        t = x[j]
        x[j] = x[i]
        x[i] = t
    return x


@cy.kernel
def sweeps(x, v, n):
    """Gauss and Seidel's sweeps with a bounded number of elements a row."""
    for _ in range(2):
        for i in range(len(x)):
            s = 0.0
            for k in range(v.shape[1]):
                s = s + v[i, k] * x[n[i, k]]
            x[i] = (1 - s) / 4
    return x


@cy.kernel
def intervals(w, p):
    """The largest weight of intervals that do not overlap: `p` are those which end before each starts."""
    best = np.zeros(len(w) + 1)
    for i in range(1, len(w) + 1):
        best[i] = max(best[i - 1], w[i - 1] + best[p[i - 1]])
    return best


@cy.kernel
def grown(x, n):
    for i in range(len(n)):
        x[i] += x[n[i]]
    return x


@cy.kernel
def chosen(x, n):
    for i in range(len(n)):
        if x[n[i]] > 0.5:
            x[i] = x[i] * 0.5
    return x


@cy.kernel
def largest(x, n):
    y = np.zeros(4)
    for i in range(len(n)):
        y[n[i] % 4] = max(y[n[i] % 4], x[i])
    return y


@cy.kernel
def of_columns(v, n):
    for i in range(v.shape[0]):
        for j in range(v.shape[1]):
            v[i, j] = v[i, n[i, j] % 4] * 0.5 + 1
    return v


@cy.kernel
def of_rows(v, n):
    for i in range(v.shape[0]):
        v[i] = v[n[i]] * 0.5 + v[i]
    return v


@cy.kernel
def along_both(v, n):
    for i in range(v.shape[0]):
        for j in range(v.shape[1]):
            v[i, j] = v[i, n[i, j] % 4] + 1
    for i in range(v.shape[0]):
        for j in range(v.shape[1]):
            v[i, j] = v[n[j, 1], n[i, j] % 4] * 0.5
    return v


@cy.kernel
def whole_numbers(n):
    count = np.zeros(len(n), dtype=np.int32)
    for i in range(len(n)):
        n[i] = n[n[i]]
        count[n[i]] = count[n[i]] + i
        count[i] = count[n[i]] // 2
    return n, count


@cy.kernel
def permuted(A, n):
    return A[n] + A


@cy.kernel
def pairs(x):
    change = 1.0
    while change > 0:
        before = x.copy()
        low = cy.minimum(x[0::2], x[1::2])
        high = cy.maximum(x[0::2], x[1::2])
        x[0::2] = low
        x[1::2] = high
        change = cy.max(cy.abs(x - before))
    return x


@cy.kernel
def pairings(s):
    """Nussinov's: the most pairs of letters of each interval."""
    n = len(s)
    N = cy.zeros((n, n), dtype="int64")
    for d in range(1, n):
        for i in range(n - d):
            j = i + d
            pair = 1 if s[i] + s[j] == 3 else 0
            best = max(N[i + 1, j], N[i, j - 1], N[i + 1, j - 1] + pair)
            for m in range(i + 1, j):
                best = max(best, N[i, m] + N[m + 1, j])
            N[i, j] = best
    return N


@cy.kernel
def centred(u):
    for _ in range(3):
        u = u - cy.mean(u, axis=1, keepdims=True)
        u = u - cy.mean(u, axis=0)
    return u


KERNELS: list[tuple[cy.Kernel, tuple[Any, ...]]] = [
    (shuffled, (X, PLACES)),
    (exchanged, (X, PLACES)),
    (sweeps, (X, V, OTHERS)),
    (intervals, (X, BEFORE)),
    (grown, (X, PLACES)),
    (chosen, (X, PLACES)),
    (largest, (X, PLACES)),
    (of_columns, (V, OTHERS)),
    (of_rows, (V, PLACES)),
    (along_both, (V, OTHERS)),
    (whole_numbers, (PLACES,)),
]


@pytest.mark.parametrize("grid", [(3, 1), (8, 8)], ids=str)
@pytest.mark.parametrize(("kernel", "inputs"), KERNELS, ids=lambda one: getattr(one, "__name__", ""))
def test_as_numpy(kernel: cy.Kernel, inputs: tuple[np.ndarray, ...], grid: tuple[int, int]) -> None:
    expected = kernel.reference(*(one.copy() for one in inputs))
    program = kernel.compile(*inputs, machine=cy.Machine(grid=grid))
    for backend in ("sim", "local"):
        outputs = cy.run(program, backend=backend).outputs
        several = expected if isinstance(expected, tuple) else (expected,)
        for own, numpys in zip(outputs.values(), several, strict=True):
            np.testing.assert_array_equal(own, numpys)
            assert own.dtype == numpys.dtype


@pytest.mark.parametrize(
    ("kernel", "shape", "most"),
    [
        (shuffled, (160,), 14),
        (exchanged, (160,), 16),
        (intervals, (160,), 14),
        (grown, (160,), 12),
        (chosen, (160,), 17),
        (largest, (160,), 12),
        (of_rows, (60, 6), 70),
    ],
)
def test_an_element_costs_the_same_in_long_arrays(
    kernel: cy.Kernel, shape: tuple[int, ...], most: int
) -> None:
    n = shape[0]
    places = random.integers(0, np.arange(n) + 1)  # before each
    program = kernel.compile(random.random(shape), places, machine=cy.Machine(grid=(1, 1)))
    assert cy.run(program, backend="sim").cycles <= most * n


@pytest.mark.parametrize("shape", [(20, 20), (19, 13)])
def test_rows_at_places_cost_the_same_where_blocks_differ(shape: tuple[int, int]) -> None:
    """The last block of rows has fewer than the others, which ended the search by address."""
    A = random.random(shape)
    rows = random.permutation(shape[0])
    program = permuted.compile(A, rows, machine=cy.Machine(grid=(8, 8)))
    result = cy.run(program, backend="sim")
    np.testing.assert_array_equal(result.output, A[rows] + A)
    assert result.cycles <= 100


@pytest.mark.parametrize("n", [16, 32])
def test_loops_over_parts_of_rows_end(n: int) -> None:
    """On one PE, too, where values of two iterations lay in a ring that had to come round first."""
    x = random.random(n)
    program = pairs.compile(x, machine=cy.Machine(grid=(1, 1)))
    result = cy.run(program, backend="sim")
    np.testing.assert_array_equal(result.output, pairs.reference(x.copy()))
    (steps,) = result.steps.values()
    assert steps <= 4  # NumPy's are 2


def test_a_running_maximum_takes_one_place() -> None:
    """The last one stays where each took the place of the one before: of a table of all, no PE has room."""
    letters = random.integers(0, 4, 20)
    program = pairings.compile(letters, machine=cy.Machine(grid=(8, 8)))
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, pairings.reference(letters))


@cy.kernel
def swept(u):
    for _ in range(2):
        for i in range(1, len(u)):
            u[i] = (u[i] + 0.3 * u[i - 1]) / 1.3
        for j in range(1, len(u)):
            u[:, j] = (u[:, j] + 0.3 * u[:, j - 1]) / 1.3
    return u


def test_values_beside_the_loops_of_others_take_no_more_places() -> None:
    """The index of a loop over rows and that of the axis that the columns have are the same in each value."""
    u = random.random((16, 16))
    one = cy.Machine(grid=(1, 1), pe=cy.PE(memory=1 << 20))
    program = swept.compile(u, schedule=cy.Schedule().space("0", "0"), machine=one)
    assert program.memory_bytes <= 3 * u.nbytes  # 34,600, as many as for each pair of the two
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, swept.reference(u.copy()))


@pytest.mark.parametrize("n", [8, 16])
def test_rows_and_columns_are_centred_on_all_pes(n: int) -> None:
    u = random.random((n, n))
    program = centred.compile(u, machine=cy.Machine(grid=(8, 8)))
    assert program.grid == (8, 8)
    result = cy.run(program, backend="sim")
    np.testing.assert_allclose(result.output, centred.reference(u), rtol=1e-12, atol=1e-12)
    assert result.cycles <= 600  # 3,072 on one PE for n = 16


@cy.kernel
def exchanged_at_a_running_place(x):
    """On one PE in the text's order: a later statement takes the element of the test to all others."""
    for _ in range(2):
        place = 0
        for j in range(len(x)):
            if x[j] < x[place]:
                x[place], x[j] = x[j], x[place]
                place += 1
    return x


def test_an_exchange_at_a_running_place_compiles_on_one_pe() -> None:
    x = random.random(12)
    program = exchanged_at_a_running_place.compile(x, machine=cy.Machine(grid=(1, 1)))
    found = cy.run(program, backend="sim").output
    np.testing.assert_array_equal(found, exchanged_at_a_running_place.reference(x.copy()))


@cy.kernel
def both_ways(u):
    """Thomas' sweeps along rows, to and fro, as of an alternating direction implicit method."""
    n = len(u)
    for _ in range(3):
        for j in range(1, n):
            u[:, j] = u[:, j] + 0.25 * u[:, j - 1]
        for j in range(n - 2, -1, -1):
            u[:, j] = u[:, j] - 0.5 * u[:, j + 1]
    return u


def test_sweeps_to_and_fro_run_on_several_pes() -> None:
    u = random.random((16, 16))
    program = both_ways.compile(u, machine=cy.Machine(grid=(8, 8)))
    result = cy.run(program, backend="sim")
    np.testing.assert_array_equal(result.output, both_ways.reference(u.copy()))
    one = both_ways.compile(u, schedule=cy.Schedule().space("0", "0"), machine=cy.Machine(grid=(8, 8)))
    assert 4 * result.cycles <= cy.run(one, backend="sim").cycles
