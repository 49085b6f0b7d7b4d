"""Loops over ranges with bounds that data tell: sparse rows, lists of several lengths, as in NumPy."""

import numpy as np
import pytest
from numpy_oracle import check_against_numpy

import cyclotron as cy

A = np.array([[0, 2.5, 0, 1], [0, 0, 0, 0], [4, 0, 0.5, 3], [0, 0, 0, 7]])
STARTS = np.cumsum([0, 2, 0, 3, 1])
COLUMNS, VALUES = np.nonzero(A)[1], A[A != 0]
X = np.array([1.5, -2, 3, 0.25])
COUNTS = np.array([3, 0, 4, 1])


def sparse_product(starts, columns, values, x):
    y = np.zeros(len(starts) - 1)
    for i in range(len(starts) - 1):
        for k in range(starts[i], starts[i + 1]):
            y[i] += values[k] * x[columns[k]]
    return y


def by_names(starts, columns, values, x):
    y = np.zeros(len(starts) - 1)
    for i in range(len(y)):
        first, last = starts[i], starts[i + 1]
        s = 0.0
        for k in range(first, last):
            s += values[k] * x[columns[k]]
        y[i] = s
    return y


def transposed(starts, columns, values, x):
    y = np.zeros_like(x)
    for i in range(len(starts) - 1):
        for k in range(starts[i], starts[i + 1]):
            y[columns[k]] += values[k] * x[i]
    return y


@pytest.mark.parametrize("function", [sparse_product, by_names, transposed])
def test_sparse_rows(function):
    check_against_numpy(function, STARTS, COLUMNS, VALUES, X)
    arguments = STARTS, COLUMNS, VALUES, X
    expected = A.T @ X if function is transposed else A @ X
    np.testing.assert_allclose(cy.kernel(function)(*arguments), expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32"])
@pytest.mark.parametrize("function", [sparse_product, by_names])
def test_starts_and_columns_of_other_whole_numbers(function, dtype):
    check_against_numpy(function, STARTS.astype(dtype), COLUMNS.astype(dtype), VALUES, X)


def until(a, counts):
    y = np.zeros(len(counts))
    for i in range(len(counts)):
        for k in range(counts[i]):
            if a[i, k] == 0.5:
                continue
            if a[i, k] > 3:
                break
            y[i] += a[i, k] * (k + 1)
    return y


def downwards(a, counts):
    y = np.zeros(len(counts))
    last = np.zeros(len(counts), dtype=np.int64)
    for i in range(len(counts)):
        k = -1
        for k in range(counts[i] - 1, -1, -1):
            y[i] = y[i] * 2 + a[i, k]
        last[i] = k
    return y, last


def in_steps(a, counts):
    y = np.zeros(len(counts))
    for i in range(len(counts)):
        for k in range(1, counts[i], 2):
            y[i] -= a[i, k]
    return y


def of_one_number(a, counts):
    total = 0.0
    n = counts.max()
    for k in range(n):
        total += a[0, k]
    for k in range(counts[0] + 1):
        total += a[1, k] + k
    return total


def within_what_is_computed(a, counts):
    y = np.zeros(len(counts), dtype=np.int64)
    for i in range(len(counts)):
        m = counts[i] // 2
        for k in range(m + 1):
            for j in range(k, counts[i]):
                y[i] += 10 * k + j
    return y


def of_counters(a, counts):
    c = 0
    for i in range(len(counts)):
        if counts[i] > 0:
            c += 1
    y = np.zeros(4)
    for k in range(c):
        y[k] = a[0, k] + c
    low = 0
    for i in range(4):
        if counts[i] == 0:
            low = i
        for k in range(low, min(i + 2, 4)):
            y[i] += a[i, k]
    for i, count in enumerate(counts):
        for k in range(count):
            y[k] -= i
    return y


@pytest.mark.parametrize(
    "function", [of_counters, until, downwards, in_steps, of_one_number, within_what_is_computed]
)
def test_lists_of_several_lengths(function):
    check_against_numpy(function, A, COUNTS)


def test_bounds_that_are_no_whole_numbers_and_steps_of_data_are_refused():
    def of_floats(x):
        y = x.copy()
        for k in range(x[0]):
            y[k] = 1
        return y

    def in_steps_of_data(n):
        y = n.copy()
        for k in range(0, 4, n[0]):
            y[k] = 1
        return y

    with pytest.raises(cy.TraceError, match="CYC102"):
        cy.kernel(of_floats).compile(np.ones(3))
    with pytest.raises(cy.TraceError, match=r"step of the range of `k` is not constant.*CYC102"):
        cy.kernel(in_steps_of_data).compile(np.ones(4, int))


def test_rows_take_as_long_as_they_are():
    def cycles(starts, columns, values):
        program = cy.kernel(sparse_product).compile(starts, columns, values, X, schedule=cy.Schedule())
        return cy.run(program, backend="sim").cycles

    empty, some = (cycles(starts, COLUMNS, VALUES) for starts in (np.zeros(5, int), STARTS))
    assert empty + 20 < some  # the first iterations are compared one by one
    loads = 60 * 2  # of the first row
    assert some <= cycles(STARTS, np.append(COLUMNS, [0] * 60), np.ones(66)) <= some + loads


def test_rows_on_pes_of_their_own_take_as_long_as_the_longest():
    starts = np.arange(0, 65, 4)
    arguments = starts, np.arange(64) % 4, np.arange(64.0), X
    schedule = cy.Schedule().space("i").prefetch("values").prefetch("columns").prefetch("x")
    program = cy.kernel(sparse_product).compile(*arguments, schedule=schedule)
    result = cy.run(program, backend="sim")
    assert program.grid == (16,)
    assert cy.prove(program)
    assert result.cycles <= 20 + 2 * 12 + 4 * 10
    np.testing.assert_array_equal(result.output, sparse_product(*arguments))
    assert np.array_equal(cy.run(program, backend="local").output, result.output)


@pytest.mark.parametrize(("grid", "most"), [(None, 110), ((64,), 110), ((8,), 700), ((8, 8), 700)])
def test_the_default_of_sparse_rows_takes_what_they_have(grid, most):
    """Not what all places of all rows would: 18,880 terms."""
    rng = np.random.default_rng(0)
    starts = np.append(0, np.cumsum(rng.integers(0, 10, 64)))
    arguments = starts, rng.integers(0, 64, starts[-1]), rng.random(starts[-1]), rng.random(64)
    machine = None if grid is None else cy.Machine(grid=grid)
    program = cy.kernel(sparse_product).compile(*arguments, machine=machine)
    result = cy.run(program, backend="sim")
    assert result.cycles <= most
    np.testing.assert_allclose(result.output, sparse_product(*arguments), rtol=1e-12)
    np.testing.assert_array_equal(cy.run(program, backend="local").output, result.output)
    one_pe = ("0",) * len(program.grid)
    one = cy.kernel(sparse_product).compile(
        *arguments, machine=machine, schedule=cy.Schedule().space(*one_pe)
    )
    assert 4 * result.cycles <= cy.run(one, backend="sim").cycles


@pytest.mark.parametrize("backend", ["sim", "local"])
@pytest.mark.parametrize(
    ("starts", "message"),
    [([0, 2, 5, 7, 6], "the index 6 is outside of an axis of 6"), ([-1, 2, 5, 6, 6], "begins at -1")],
)
def test_ranges_stay_inside_of_what_they_read(backend, starts, message):
    kernel = cy.kernel(sparse_product)
    program = kernel.compile(STARTS, COLUMNS, VALUES, X)
    with pytest.raises(cy.ExecutionError, match=f"{message}.*CYC701"):
        cy.run(program, np.array(starts), COLUMNS, VALUES, X, backend=backend)
    with pytest.raises(cy.ExecutionError, match="CYC701"):
        kernel.graph(np.array(starts), COLUMNS, VALUES, X).evaluate()


def largest(starts, columns, values, x):
    y = np.zeros(len(starts) - 1)
    for i in range(len(starts) - 1):
        most = -1.0
        for k in range(starts[i], starts[i + 1]):
            if values[k] > most:
                most = values[k]
        y[i] = most
    return y


def counted(starts, columns, values, x):
    y = np.zeros(4, dtype=int)
    for i in range(len(starts) - 1):
        first = starts[i]
        for k in range(first, min(starts[i + 1], 5)):
            if columns[k] > 0 and values[k] > 1:
                y[columns[k]] += k
    return y


def at_other_places(starts, columns, values, x):
    y = np.zeros(3)
    for k in range(starts[1], starts[3]):
        if values[k] > 2.9:
            y[k - 2] = values[k - 1]
    return y


def from_what_is_computed(starts, columns, values, x):
    y = np.zeros(4)
    for i in range(4):
        for k in range(columns[i] - 1, columns[i] + 1):
            y[i] += values[k]
    return y


def changed_in_place(starts, columns, values, x):
    for k in range(starts[1], starts[3]):
        values[k] = values[k] * 2 + x[columns[k]]
    return values


def of_rows(starts, columns, values, x):
    y = np.zeros(3)
    for i in range(3):
        row = values[: 2 * i + 2]
        for k in range(columns[i]):
            y[i] += row[k] * values[k]
    return y


@pytest.mark.parametrize(
    "function", [largest, counted, at_other_places, from_what_is_computed, changed_in_place, of_rows]
)
@pytest.mark.parametrize("machine", [None, cy.Machine(grid=(2,))], ids=["no machine", "two PEs"])
def test_what_ranges_do(function, machine):
    arguments = STARTS, COLUMNS, VALUES, X
    program = cy.kernel(function).compile(*arguments, machine=machine)
    expected = function(*(one.copy() for one in arguments))
    for backend in ("sim", "local"):
        output = cy.run(program, backend=backend).output
        np.testing.assert_array_equal(output, expected)
        assert output.dtype == expected.dtype


def test_a_function_that_loops_between_data_is_refused():
    @cy.kernel
    def by_function(counts):
        return total_below(counts[0])

    with pytest.raises(cy.TraceError, match=r"whole number of Python's in a function.*CYC105"):
        by_function.compile(COUNTS)


def total_below(n):
    total = 0
    for k in range(n):
        total += k
    return total


def shortest_paths(starts, columns, lengths):
    """Bellman and Ford's."""
    distance = np.full(len(starts) - 1, 100.0)
    distance[0] = 0
    changed = True
    while changed:
        changed = False
        for u in range(len(starts) - 1):
            for k in range(starts[u], starts[u + 1]):
                if distance[u] + lengths[k] < distance[columns[k]]:
                    distance[columns[k]] = distance[u] + lengths[k]
                    changed = True
    return distance


def three_whiles(starts, columns):
    total = 0
    k = starts[0]
    while k < starts[1]:
        m = starts[0]
        while m < starts[1]:
            o = starts[0]
            while o < starts[1]:
                total += columns[o]
                o += 1
            m += 1
        k += 1
    return total


GRAPH = np.cumsum([0, 3, 2, 1, 0]), np.array([1, 2, 3, 2, 3, 3])


@pytest.mark.parametrize("function", [shortest_paths, three_whiles])
def test_loops_inside_others_take_the_steps_that_data_tell(function):
    arguments = (*GRAPH, np.array([1.0, 5, 9, 1, 4, 1])) if function is shortest_paths else GRAPH
    check_against_numpy(function, *arguments)
    program = cy.kernel(function).compile(*arguments)
    assert cy.run(program, backend="sim").cycles < 100_000  # a bound is a million steps


def bounds_that_change(starts):
    total = 0
    low, high = starts[0], starts[1]
    for k in range(low, high):
        low += 1
        high = high - 1
        starts[1] = 1
        total += k + low * high
    for j in range(2):
        for k in range(starts[j], starts[j] + 2):
            starts[j] += 3
            total += k
            k = 7
            total += k
    return total, low, high, starts


def test_bounds_are_those_before_the_loop():
    check_against_numpy(bounds_that_change, np.array([1, 4]))
