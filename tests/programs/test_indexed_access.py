"""Elements that data tell, read and added to by address: bits, cycles and proofs (MA-129, MA-130)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy_oracle import check_against_numpy

import cyclotron as cy

S = cy.Schedule()
ONE_PE = S.time("i", "j")


@cy.kernel
def gather(x, n):
    return x[n]


@cy.kernel
def gather_product(x, n, a):
    return a * x[n]


@cy.kernel
def put_into_filled(n, v, size):
    y = np.full(size, 3, dtype=v.dtype)
    y[n] += v
    return y


@cy.kernel
def scatter(y, n, v):
    for k in range(n.shape[0]):
        y[n[k]] += v[k]
    return y


@cy.kernel
def take_away(y, n, v):
    for k in range(n.shape[0]):
        y[n[k], 1] -= v[k]
    return y


@cy.kernel
def put(y, n, v):
    for k in range(n.shape[0]):
        y[n[k]] = v[k]
    return y


@cy.kernel
def put_along(y, n, v):
    cy.put_along_axis(y, n, v, 0)
    return y


@cy.kernel
def put_array(y, n, v):
    y[n] = v
    return y


@cy.kernel
def put_column(y, n, v):
    for k in range(n.shape[0]):
        y[n[k], 1] = v[k]
    return y


@cy.kernel
def gather_both(x, i, j):
    return x[i, j]


@cy.kernel
def put_both(x, i, j, v):
    for k in range(i.shape[0]):
        x[i[k], j[k]] = v[k]
    return x


@cy.kernel
def put_reversed(x, n):
    x[n] = x[::-1] + x
    return x


@cy.kernel
def put_view(x, n):
    cy.put_along_axis(x, n, x[::-1], 0)
    return x


@cy.kernel
def one_hot(labels):
    result = cy.zeros((labels.shape[0], 3), dtype="int64")
    for k in range(labels.shape[0]):
        result[k, labels[k]] = 1
    return result


@cy.kernel
def histogram(bins):
    counts = cy.zeros(6, dtype="int64")
    for k in range(bins.shape[0]):
        counts[bins[k]] += 1
    return counts


@cy.kernel
def ell(x, columns, a):
    y = cy.zeros(a.shape[0], dtype="float64")
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            y[i] += a[i, k] * x[columns[i, k]]
    return y


@cy.kernel
def followed(x, n, steps):
    at = np.int64(0)
    for _ in range(steps):
        at = n[at]
    return x[at]


@cy.kernel
def counted_by_data(x):
    y = cy.zeros_like(x)
    i = 0
    while i < 4:
        y[i] = x[i]
        i += 1
    return y


@cy.kernel
def fractions(x, n):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = x[n[i]]
    return y


@cy.kernel
def sum_of_rows(A):
    return sum(cy.max(A[k] @ A) for k in range(A.shape[0]))


def _cycles(program: cy.Program) -> int:
    return cy.run(program, backend="sim", functional=False).cycles


def _check(program: cy.Program, expected: np.ndarray) -> int:
    """Return the cycles of the simulator, which has the bits of the threads."""
    found = cy.run(program, backend="sim")
    assert found.output.dtype == expected.dtype
    assert found.output.tobytes() == expected.tobytes()
    assert cy.run(program, backend="local").output.tobytes() == expected.tobytes()
    assert cy.prove(program)
    assert found.cycles == _cycles(program)
    return found.cycles


@pytest.mark.parametrize("n", [16, 64])
def test_an_element_takes_the_same_time_of_any_table(n: int) -> None:
    x, places = np.arange(float(n)), np.array([3, -1, 0, 7, 7, -n, n - 1, 2])
    # Its place is checked, its address is found, and it is read.
    assert _check(gather.compile(x, places, schedule=ONE_PE), x[places]) == 3 * len(places)
    program = gather_product.compile(x, places, x[:8].copy(), schedule=ONE_PE)
    assert _check(program, x[:8] * x[places]) == 4 * len(places)


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex128"])
def test_what_an_array_is_filled_with_is_not_searched_for(dtype: str) -> None:
    places = np.array([3, -1, 0, 7, 4, -12, 9, 2])
    v = np.arange(-3, 5).astype(dtype)
    cycles = []
    for size in (13, 61):
        expected = np.full(size, 3, dtype=v.dtype)
        expected[places] += v
        program = put_into_filled.compile(places, v, size, schedule=S.time("place", "i"))
        cycles.append(_check(program, expected))
    assert cycles[1] - cycles[0] <= 2 * (61 - 13)  # it is filled and stored
    with pytest.raises(cy.ExecutionError) as caught:
        cy.run(put_into_filled.compile(places, v, 11), backend="sim")  # -12 is none of its places
    assert caught.value.code == "CYC701"


@pytest.mark.parametrize(
    "dtype", ["bool", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
)
def test_every_dtype_keeps_its_bits(dtype: str) -> None:
    x = (
        np.array([0, -0.0, 3, np.inf, 1, -2]).astype(dtype)
        if dtype[0] in "fc"
        else np.arange(6).astype(dtype)
    )
    places = np.array([1, 3, 0, -1])
    _check(gather.compile(x, places, schedule=ONE_PE), x[places])
    _check(
        scatter.compile(x, places, x[:4].copy(), schedule=S.time("k", "i")),
        scatter.reference(x, places, x[:4]),
    )


def test_elements_are_added_to_in_the_order_of_the_loop() -> None:
    rng = np.random.default_rng(2)
    for n in (8, 32):
        y, places, v = rng.random(n), np.array([1, 5, -3, 5, 1, 5]), rng.random(6)
        expected = y.copy()
        np.add.at(expected, places, v)
        assert _check(scatter.compile(y, places, v, schedule=S.time("k", "i")), expected) == 3 * 6 + 3
    y = rng.random((6, 2))
    expected = y.copy()
    np.subtract.at(expected, (places, 1), v)
    _check(take_away.compile(y, places, v, schedule=S.time("k", "i", "j")), expected)
    counts = histogram.compile(places, schedule=S.time("k", "i"))
    assert _check(counts, np.bincount(places % 6, minlength=6)) == 3 * 6 + 6  # zeros first


def test_elements_are_overwritten_in_the_order_of_the_loop() -> None:
    rng = np.random.default_rng(8)
    for n in (8, 32):
        y, places, v = rng.random(n), np.array([1, 5, -3, 5, 1, 5]), rng.random(6)
        expected = y.copy()
        expected[places] = v  # the last one of several stays
        # The first and the last element of the table are beside loops that read it first and store it last.
        assert _check(put.compile(y, places, v, schedule=S.time("k", "i")), expected) <= 3 * 6 + n + 3
        program = put_along.compile(y, places, v, schedule=S.time("place", "i"))
        assert _check(program, expected) <= 3 * 6 + n + 3


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
)
@pytest.mark.parametrize("pes", [1, 3, 12])
def test_overwritten_elements_keep_their_bits(dtype: str, pes: int) -> None:
    rng = np.random.default_rng(9)
    for count in (1, 2, 7):
        y, v = (rng.integers(-3, 3, (2, 12)) * 0.5).astype(dtype), rng.integers(0, 5, count).astype(dtype)
        if dtype[0] in "fc":
            y[0, 0], v[0] = -0.0, np.nan
        places = rng.integers(-12, 12, count)
        expected = y[0].copy()
        expected[places] = v
        for kernel in (put, put_along, put_array):
            program = kernel.compile(y[0].copy(), places, v, machine=cy.Machine(grid=(pes,)))
            _check(program, expected)


def test_an_element_of_rows_is_overwritten() -> None:
    rng = np.random.default_rng(10)
    y, places, v = rng.random((6, 3)), rng.integers(-6, 6, 9), rng.random((9, 3))
    expected = y.copy()
    expected[places] = v
    for pes in (1, 2):
        _check(put_array.compile(y.copy(), places, v, machine=cy.Machine(grid=(pes,))), expected)
    expected = y.copy()
    expected[places, 1] = v[:, 0]
    program = put_column.compile(y.copy(), places, v[:, 0].copy(), schedule=S.time("k", "i", "j"))
    assert _check(program, expected) <= 3 * 9 + 6 + 3


def test_values_that_are_assigned_are_read_before() -> None:
    x, places = np.arange(6.0), np.array([5, 0, 5, 2, 1, 0])
    expected = x.copy()
    expected[places] = x[::-1] + x
    assert np.array_equal(put_reversed(x.copy(), places), expected)
    expected = x.copy()
    np.put_along_axis(expected, places, x[::-1].copy(), 0)
    assert np.array_equal(put_view(x.copy(), places), expected)


def test_elements_of_two_axes() -> None:
    rng = np.random.default_rng(11)
    for rows, columns in ((3, 4), (11, 9)):
        x, v = rng.random((rows, columns)), rng.random(12)
        i, j = rng.integers(-rows, rows, 12), rng.integers(-columns, columns, 12)
        # Two places are checked and make one number; the first time rows are looked into as they are loaded.
        assert _check(gather_both.compile(x, i, j, schedule=S.time("i")), x[i, j]) <= 6 * 12 + 2 * rows
        expected = x.copy()
        expected[i, j] = v
        # Of all rows the element is overwritten by its address.
        program = put_both.compile(x.copy(), i, j, v, schedule=S.time("k", "i", "j"))
        assert _check(program, expected) <= 6 * 12 + 2 * columns + 3 * rows + 4


def test_one_hot_rows() -> None:
    labels = np.array([2, 0, 1, 2])
    for pes in (1, 4):
        program = one_hot.compile(labels, machine=cy.Machine(grid=(pes,)))
        _check(program, np.eye(3, dtype="int64")[labels])


@pytest.mark.parametrize(
    ("array", "value"), [("float32", "float64"), ("int64", "float64"), ("int32", "int64")]
)
def test_sums_in_another_dtype_are_rounded_where_they_are_assigned(array: str, value: str) -> None:
    y, places = (np.arange(-3, 3) * 1.1).astype(array), np.array([3, 0, -5, 0])
    v = np.array([0.1, 0.7, 1.3, -2.9]).astype(value)
    for kernel in (scatter, put):
        arguments = (y, places, v.astype(array) if kernel is put else v)
        expected = kernel.reference(*(one.copy() for one in arguments))
        _check(kernel.compile(*arguments, schedule=S.time("k", "i")), expected)
    y = np.full(32, 2**60 + 1 if array == "int64" else 3, dtype=array)  # which no float64 is
    expected = y.copy()
    expected[places] = v
    # A value is rounded, then put by its address.
    assert _check(put.compile(y, places, v, schedule=S.time("k", "i")), expected) <= 4 * 4 + 32 + 4


def test_tables_spread_over_a_line_of_pes() -> None:
    rng = np.random.default_rng(3)
    x, places = rng.random(10_000), rng.integers(-10_000, 10_000, 4)
    program = gather.compile(x, places, machine=cy.Machine(grid=(100,)))
    found = cy.run(program, backend="sim")
    assert np.array_equal(found.output, x[places])
    hops = 99
    assert found.cycles <= 200 + hops
    # A sum takes a cycle in each PE, which has the element by then, and one to the next.
    assert found.cycles <= 2 * hops + 3 * 4


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("numbers", [5, 11, 40])
def test_sums_over_a_line_are_the_same_whether_elements_are_taken_first(numbers: int, depth: int) -> None:
    """Of 12 PEs, for fewer numbers they are."""
    rng = np.random.default_rng(numbers)
    x, places = rng.choice([-0.0, 0.0, 1.5, -2.0], 48), rng.integers(-48, 48, numbers)
    machine = cy.Machine(grid=(12,), link=cy.Link(depth=depth))
    program = gather.compile(x, places, machine=machine, schedule=S.space("j").time("i"))
    assert ("element" in str(program)) == (numbers < 12)
    for backend in ("sim", "local"):
        found = cy.run(program, backend=backend).output
        assert np.array_equal(found, x[places])
        assert np.array_equal(np.signbit(found), np.signbit(x[places]))


@pytest.mark.parametrize("schedule", [None, S.space("i"), S.time("i", "k", "j")])
def test_sparse_rows_by_columns(schedule: cy.Schedule | None) -> None:
    rng = np.random.default_rng(4)
    n, width = 12, 3
    x, columns = rng.random(n), rng.integers(-n, n, (n, width))
    a = rng.random((n, width))
    expected = np.zeros(n)
    for k in range(width):
        expected += a[:, k] * x[columns[:, k]]
    cycles = _check(ell.compile(x, columns, a, schedule=schedule), expected)
    if schedule == S.time("i", "k", "j"):
        assert cycles == 5 * n * width


def test_the_bits_of_ranks() -> None:
    pytest.importorskip("cyclotron._mpi", reason="Cyclotron was built without MPI")
    x, places = np.arange(8.0), np.array([3, -1, 3, -8])
    assert (
        cy.run(gather.compile(x, places, schedule=ONE_PE), backend="mpi", ranks=1).output == x[places]
    ).all()
    for kernel in (scatter, put):
        program = kernel.compile(x, places, x[:4].copy(), schedule=S.time("k", "i"))
        expected = kernel.reference(x.copy(), places, x[:4])
        assert (cy.run(program, backend="mpi", ranks=1).output == expected).all()


def test_program_files_hold_addresses(tmp_path: Path) -> None:
    x, places = np.arange(8.0), np.array([3, -1])
    programs = (
        gather.compile(x, places, schedule=ONE_PE),
        scatter.compile(x, places, x[:2].copy(), schedule=S.time("k", "i")),
        put.compile(x, places, x[:2].copy(), schedule=S.time("k", "i")),
    )
    for program in programs:
        program.save(tmp_path / "p.cyc")
        loaded = cy.load(tmp_path / "p.cyc")
        assert str(loaded) == str(program)
        inputs = (x, places) if program is programs[0] else (x, places, x[:2])
        expected = cy.run(program, backend="local").output
        assert (cy.run(loaded, *inputs, backend="local").output == expected).all()


@pytest.mark.parametrize("place", [8, -9])
def test_a_place_outside_of_the_axis_is_named(place: int) -> None:
    x, places = np.arange(8.0), np.array([3, place])
    others = [kernel.compile(x, places, x[:2].copy()) for kernel in (scatter, put, put_along)]
    for program in (gather.compile(x, places), *others):
        for backend in ("sim", "local"):
            with pytest.raises(cy.ExecutionError, match=f"{place}") as caught:
                cy.run(program, backend=backend)
            assert caught.value.code == "CYC701"
            assert caught.value.span.line > 0


def test_numbers_that_loops_carry_are_places() -> None:
    x, links = np.arange(4.0), np.array([2, 0, 3, 1])
    _check(followed.compile(x, links, 3), np.asarray(1.0))
    assert np.array_equal(counted_by_data(x), x)


def test_places_are_integers() -> None:
    with pytest.raises(cy.ShapeError) as caught:
        fractions.compile(np.ones(3), np.ones(3))
    assert caught.value.code == "CYC120"


def test_terms_may_need_an_array_each() -> None:
    """Each term has its own before the next one is made."""
    A = np.random.default_rng(7).random((4, 4))
    _check(sum_of_rows.compile(A), np.asarray(sum(np.max(A[k] @ A) for k in range(4))))


@cy.kernel
def sum_of_chosen(x, places):
    s = 0.0
    for k in range(len(places)):
        s += x[places[k]]
    return s


@cy.kernel
def chosen_of_columns(A, places):
    y = cy.zeros_like(A[0])
    for k in range(len(places)):
        y[k] = A[places[k], k]
    return y


@cy.kernel
def sum_of_chosen_rows(A, places):
    y = cy.zeros_like(A[0])
    for k in range(len(places)):
        y = y + A[places[k]]
    return y


@cy.kernel
def chosen_of_two_axes(A, places):
    return A[places, places % 6]


@pytest.mark.parametrize(
    "kernel",
    [sum_of_chosen, chosen_of_columns, sum_of_chosen_rows, chosen_of_two_axes],
    ids=lambda one: one.name,
)
def test_what_is_chosen_takes_the_same_time_of_any_table(kernel: cy.Kernel) -> None:
    """Partial sums take turns in one place, so that PEs find the terms by address."""
    rng, places, cycles = np.random.default_rng(12), np.array([2, 0, 3, 7, 7, 1]), set()
    for rows in (16, 64):
        table = rng.random(rows) if kernel is sum_of_chosen else rng.random((rows, 6))
        program = kernel.compile(table, places, schedule=S if kernel is sum_of_chosen else None)
        cycles.add(_check(program, kernel.reference(table, places)))
    assert len(cycles) == 1


def changed_where_it_is_summed(b, places):
    total = 0.0
    for t in range(len(places)):
        total += b[places[t]]
        b[places[t]] *= 0.5
    return total, b


def test_what_is_summed_may_change_afterwards() -> None:
    check_against_numpy(changed_where_it_is_summed, np.array([1.0, -2, 3, 0.5]), np.array([2, 0, 2, -1]))


@cy.kernel
def shares_of_products(A, x):
    y = A @ x
    return y / cy.sum(y)


def test_partial_sums_take_the_place_of_one_element() -> None:
    n = 32
    A, x = np.random.default_rng(13).random((n, n)), np.random.default_rng(14).random(n)
    program = shares_of_products.compile(A, x, schedule=S)
    y = A @ x
    np.testing.assert_allclose(cy.run(program, backend="sim").output, y / y.sum(), rtol=1e-12)
    assert max(one.data for one in program.memory.classes) <= (2 * n + 16) * 8  # not n * n


@cy.kernel
def put_where(y, n, v, c):
    for k in range(n.shape[0]):
        if c[k] > 0:
            y[n[k]] = v[k]
    return y


@cy.kernel
def put_either(y, n, v, c):
    for k in range(n.shape[0]):
        if c[k] > 0:
            y[n[k]] = v[k]
        elif c[k] < -1:
            y[n[k]] = y[0] + 1
    return y


@cy.kernel
def put_while(y, n, v, c):
    k = 0
    while c[k] > 0:
        y[n[k]] = v[k] * 2
        k += 1
    return y


@pytest.mark.parametrize("kernel", [put_where, put_while], ids=lambda kernel: kernel.__name__)
def test_what_a_condition_puts_takes_the_same_time_in_any_array(kernel: cy.Kernel) -> None:
    rng = np.random.default_rng(11)
    steps = []
    for size in (16, 64, 128):
        y, v, n = rng.random(size), rng.random(12), rng.integers(0, 16, 12)
        c = rng.integers(-3, 4, 12).astype(float)
        c[:6], c[6] = 1, -2
        expected = kernel.reference(y.copy(), n, v, c)
        program = kernel.compile(y, n, v, c, schedule=S)
        few = cy.run(program, y, n, v, c, backend="sim")
        np.testing.assert_array_equal(few.output, expected)
        np.testing.assert_array_equal(cy.run(program, y, n, v, c, backend="local").output, expected)
        steps.append(few.cycles)
    assert steps[2] - steps[1] <= 64 * 8  # the first step reads the input, and copies what it leaves
    assert (steps[2] - steps[1]) / 64 == (steps[1] - steps[0]) / 48


@pytest.mark.parametrize("kernel", [put_where, put_either, put_while], ids=lambda kernel: kernel.__name__)
def test_what_a_condition_puts_is_proven(kernel: cy.Kernel) -> None:
    y, v, n = np.arange(4.0), np.arange(3.0) + 10, np.array([2, 0, 2])
    for c in ([1.0, 1, -1], [-1.0, 2, 0], [-2.0, -2, -2]):
        given = y, n, v, np.array(c)
        program = kernel.compile(*given, schedule=S)
        assert kernel is put_while or cy.prove(program).ok
        np.testing.assert_array_equal(
            cy.run(program, *given, backend="sim").output, kernel.reference(y.copy(), *given[1:])
        )


@cy.kernel
def rows_of_a_table(x, n, a):
    y = cy.zeros(n.shape[0])
    for i in range(n.shape[0]):
        for k in range(n.shape[1]):
            y[i] += a[i, k] * x[n[i, k]]
    return y


@pytest.mark.parametrize("length", [16, 256])
def test_blocks_of_rows_take_the_same_time_of_any_table(length: int) -> None:
    rng = np.random.default_rng(7)
    x, n, a = rng.random(length), rng.integers(0, length, (64, 3)), rng.random((64, 3))
    schedule = cy.Schedule().space("i").prefetch("x")
    program = rows_of_a_table.compile(x, n, a, schedule=schedule, machine=cy.Machine(grid=(8,)))
    result = cy.run(program, backend="sim")
    assert cy.prove(program)
    assert result.cycles <= 8 * 3 * 8 + 8
    np.testing.assert_array_equal(result.output, rows_of_a_table.reference(x, n, a))


def test_blocks_of_pictures_without_a_schedule() -> None:
    rng = np.random.default_rng(8)
    table, picture = rng.random(256), rng.integers(0, 256, (16, 16))
    program = gather.compile(table, picture, machine=cy.Machine(grid=(8, 8)))
    result = cy.run(program, backend="sim")
    assert program.grid == (8, 8)
    assert result.cycles <= 10 * 4
    np.testing.assert_array_equal(result.output, table[picture])
