"""Slices whose bounds are data take the time of the elements that they select (MA-128)."""

from __future__ import annotations

import numpy as np
import pytest

import cyclotron as cy

ROWS = cy.Schedule().space("i")
ONE_PE = cy.Schedule()


@cy.kernel
def scaled(x, y, stop):
    x[:, :stop] = y[:, :stop] * 2 + 1
    return x


@cy.kernel
def between(x, y, start, stop):
    x[:, start:stop] = cy.sqrt(y[:, start:stop]) - x[:, start:stop]
    return x


@cy.kernel
def sums(x, start, stop):
    n = x.shape[0]
    total = cy.zeros(n, x.dtype)
    for i in range(n):
        total[i] = cy.sum(x[i, start[i] : stop[i]])
    return total


@cy.kernel
def corner(x, ends):
    x[: ends[0], : ends[1]] *= 2
    return x


@cy.kernel
def again(x, stop):
    for _ in range(4):
        x[:, :stop] *= 2
    return x


@cy.kernel
def masked(x, y, stop):
    return cy.where(cy.arange(x.shape[0]) < stop[0], y * 2, x)


@cy.kernel
def segments(v, row):
    n = row.shape[0] - 1
    total = cy.zeros(n)
    for i in range(n):
        total[i] = cy.sum(v[row[i] : row[i + 1]])
    return total


def numbers(*shape, dtype=np.float64):
    values = np.random.default_rng(5).integers(1, 100, shape)
    return (values + 1j * values[::-1]).astype(dtype) if np.dtype(dtype).kind == "c" else values.astype(dtype)


def cycles(kernel, *arrays, schedule=ROWS):
    return cy.run(kernel.compile(*arrays, schedule=schedule), *arrays, backend="sim").cycles


def everywhere(kernel, expected, *arrays, schedule=ROWS):
    program = kernel.compile(*arrays, schedule=schedule)
    for backend in ("sim", "local"):
        found = cy.run(program, *arrays, backend=backend).output
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    program.verify()


def test_time_is_that_of_the_longest():
    x, y = numbers(8, 64), numbers(8, 64)
    none = cycles(scaled, x, y, np.zeros(8, int))  # of the first element, beside which the end is found
    assert [cycles(scaled, x, y, np.full(8, n)) - none for n in (1, 8, 64)] == [0, 2 * 7, 2 * 63]
    assert cycles(scaled, x, y, np.arange(8)) - none == 2 * 6
    assert none <= 8  # a negative end counts from the back


def test_so_in_loops_that_change_an_array_in_place():
    x = numbers(8, 64)
    none = cycles(again, x, np.zeros(8, int))
    assert [cycles(again, x, np.full(8, n)) - none for n in (8, 64)] == [4 * 8 - 1, 4 * 64 - 1]


def test_so_of_sums():
    x = numbers(4, 50)
    start = np.zeros(4, int)
    one = cycles(sums, x, start, start + 1)  # the first is where the sum starts
    assert [cycles(sums, x, start, start + n) - one for n in (11, 50)] == [10, 49]


def test_so_where_values_pass_by():
    v = numbers(300)
    row = np.array([0, 5, 105, 106, 300])
    wide = cycles(segments, v, row)
    assert wide - cycles(segments, v, np.zeros(5, int)) <= 194 + 4
    assert wide < 300 + 250  # `where` for each element of each segment would be 7 times as many


def test_two_ends_of_two_loops():
    x = numbers(8, 32)
    none = cycles(corner, x, np.array([0, 0]), schedule=ONE_PE)
    assert cycles(corner, x, np.array([3, 7]), schedule=ONE_PE) - none == 3 * 7 - 1
    assert cycles(corner, x, np.array([8, 32]), schedule=ONE_PE) - none == 8 * 32 - 1
    assert none <= 15


def test_masks_of_places_are_slices():
    x, y = numbers(100), numbers(100) + 1
    assert [cycles(masked, x, y, np.array([n]), schedule=ONE_PE) for n in (0, 10, 100)] == [0, 10, 100]
    everywhere(masked, np.where(np.arange(100) < 41, y * 2, x), x, y, np.array([41]), schedule=ONE_PE)


@cy.kernel
def two_sided(x, y, ends):
    k = cy.arange(x.shape[0])
    return cy.where((k >= ends[0]) & (k < ends[1]), y * 2 + 1, x)


def test_masks_with_two_sides_are_slices():
    x, y = numbers(64), numbers(64) + 1
    none = cycles(two_sided, x, y, np.array([3, 3]), schedule=ONE_PE)
    assert [cycles(two_sided, x, y, np.array([2, n]), schedule=ONE_PE) - none for n in (12, 62)] == [20, 120]
    expected = x.copy()
    expected[2:12] = y[2:12] * 2 + 1
    everywhere(two_sided, expected, x, y, np.array([2, 12]), schedule=ONE_PE)


@cy.kernel
def summed_after(x, ends):
    x[: ends[1]] += 1
    return x, cy.sum(x)


@cy.kernel
def less_its_sum(x, ends):
    total = cy.sum(x[: ends[1]])
    x[: ends[1]] -= total
    return x


@cy.kernel
def row_by_row(x, stop):
    for _ in range(3):
        for i in range(x.shape[0]):
            x[i, : stop[i]] += 1
    return x


def test_so_beside_other_statements():
    x = numbers(64)
    found = [cycles(summed_after, x, np.array([0, n]), schedule=ONE_PE) for n in (0, 4, 64)]
    assert found[0] <= 64 + 8
    assert found[2] - found[0] <= 64
    assert found[1] - found[0] <= 4
    found = [cycles(less_its_sum, x, np.array([0, n]), schedule=ONE_PE) for n in (0, 4, 64)]
    assert found[0] <= 16
    assert found[1] - found[0] <= 2 * 4
    x = numbers(16, 64)
    found = [cycles(row_by_row, x, np.full(16, n), schedule=ONE_PE) for n in (0, 4, 64)]
    assert found[0] <= 16 * 16
    assert found[1] - found[0] <= 3 * 4 * 16
    everywhere(row_by_row, np.where(np.arange(64) < 5, x + 3, x), x, np.full(16, 5), schedule=ONE_PE)


def test_ends_of_any_dtype():
    for end, dtype in ((2**63, "uint64"), (2**64 - 1, "uint64"), (3, "uint8"), (-3, "int8"), (100, "int8")):
        x = numbers(200)
        expected = x.copy()
        expected[2:end] += 1
        ends = np.array([2, end], dtype)
        np.testing.assert_array_equal(shifted.reference(x.copy(), ends), expected)
        everywhere(shifted, expected, x, ends, schedule=ONE_PE)


@cy.kernel
def taken_where(x, table, index, ends):
    return cy.where(cy.arange(x.shape[0]) < ends[0], table[index], x)


def test_places_outside_are_refused_though_none_chooses_them():
    x, table = numbers(8), numbers(5)
    index = np.array([0, 3, 4, 1, 1, 2, 5, 0])  # 5 is outside
    program = taken_where.compile(x, table, index, np.array([3]), schedule=ONE_PE)
    with pytest.raises(cy.ExecutionError):
        cy.run(program, x, table, index, np.array([3]), backend="sim")
    with pytest.raises(IndexError):
        taken_where.reference(x, table, index, np.array([3]))


@cy.kernel
def shifted(x, ends):
    x[ends[0] : ends[1]] += 1
    return x


def test_without_numbers_all_elements_count():
    x, y = numbers(8, 64), numbers(8, 64)
    program = scaled.compile(x, y, np.zeros(8, int), schedule=ROWS)
    timed = cy.run(program, backend="sim", functional=False).cycles
    assert timed == cycles(scaled, x, y, np.full(8, 64))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "complex128", "int8"])
def test_values(dtype):
    x, y = numbers(6, 20, dtype=dtype), numbers(6, 20, dtype=dtype) + np.ones(1, dtype)
    ends = np.array([0, 20, -3, 7, 25, -40])
    expected = x.copy()
    for row, end in enumerate(ends):
        expected[row, :end] = y[row, :end] * 2 + 1
    everywhere(scaled, expected, x.copy(), y, ends)


@pytest.mark.parametrize("seed", range(6))
def test_random_bounds(seed):
    random = np.random.default_rng(seed)
    rows, columns = int(random.integers(1, 7)), int(random.integers(1, 30))
    x, y = random.random((rows, columns)), random.random((rows, columns))
    start, stop = random.integers(-columns - 3, columns + 4, (2, rows))
    expected, totals = x.copy(), np.zeros(rows)
    for i in range(rows):
        part = slice(start[i], stop[i])
        expected[i, part] = np.sqrt(y[i, part]) - x[i, part]
        for value in x[i, part]:
            totals[i] = totals[i] + value
    for schedule in (ROWS, ONE_PE, cy.Schedule().space("i", "j")):
        everywhere(between, expected, x.copy(), y, start, stop, schedule=schedule)
    for schedule in (ROWS, ONE_PE):
        everywhere(sums, totals, x, start, stop, schedule=schedule)


@pytest.mark.parametrize("kind", ["float64", "complex128", "int64", "bool"])
def test_sums_of_nothing_are_plain_zeros(kind):
    x, none = np.ones((2, 5), kind), np.zeros(2, int)
    total = cy.run(sums, x, none, none, backend="sim").output
    assert total.tobytes() == bytes(total.nbytes)


def test_long_arrays_run_as_fast_on_threads_in_pieces():
    x, y = np.random.default_rng(0).random((2, 100_000))
    program = masked.compile(x, y, np.array([0]), schedule=ONE_PE)
    for stop in (0, 1, 77_777, 100_000, 200_000, -5):
        found = cy.run(program, x, y, np.array([stop]), backend="local").output
        np.testing.assert_array_equal(found, np.where(np.arange(100_000) < stop, y * 2, x))


def test_they_are_kept_in_files(tmp_path):
    x, y = numbers(3, 9), numbers(3, 9)
    program = scaled.compile(x, y, np.zeros(3, int), schedule=ROWS)
    program.save(tmp_path / "scaled.cyc")
    again = cy.load(tmp_path / "scaled.cyc")
    assert "if j < [i]_value" in str(again)
    expected = x.copy()
    expected[:, :4] = y[:, :4] * 2 + 1
    found = cy.run(again, x, y, np.full(3, 4), backend="sim")
    np.testing.assert_array_equal(found.output, expected)
    assert found.cycles == cycles(scaled, x, y, np.full(3, 4))


@cy.kernel
def taken(x, table, index, stop):
    y = x.copy()
    found = cy.take_along_axis(table, index, axis=1)
    y[:, :stop] = found[:, :stop] * 2
    return y


def test_elements_that_numbers_tell_are_found_within():
    table, index = numbers(4, 50), np.random.default_rng(2).integers(0, 50, (4, 30))
    x = numbers(4, 30)
    none = cycles(taken, x, table, index, np.zeros(4, int))
    assert cycles(taken, x, table, index, np.full(4, 30)) - none <= 4 * 30
    assert cycles(taken, x, table, index, np.full(4, 2)) - none <= 4 * 2
    expected = x.copy()
    expected[:, :7] = np.take_along_axis(table, index, axis=1)[:, :7] * 2
    everywhere(taken, expected, x, table, index, np.full(4, 7))


@cy.kernel
def apart(x, ends):
    x[ends[0] : ends[1], 2:5] = x[ends[0] : ends[1], 2:5] + 1
    return x


def test_parts_of_rows():
    x = numbers(8, 32)
    none = cycles(apart, x, np.array([3, 3]), schedule=ONE_PE)
    assert cycles(apart, x, np.array([1, 7]), schedule=ONE_PE) - none == 6 * 3
    expected = x.copy()
    expected[1:7, 2:5] += 1
    everywhere(apart, expected, x, np.array([1, 7]))


def test_on_ranks():
    x, y, stop = numbers(8, 20), numbers(8, 20), np.arange(8) * 3 - 4
    expected = x.copy()
    for row, end in enumerate(stop):
        expected[row, :end] = y[row, :end] * 2 + 1
    program = scaled.compile(x, y, stop, schedule=ROWS)
    np.testing.assert_array_equal(cy.run(program, x, y, stop, backend="mpi", ranks=2).output, expected)
