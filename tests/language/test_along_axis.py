"""Elements at places that data tell, against NumPy (MA-074, MA-076, MA-128)."""

from __future__ import annotations

import numpy as np
import pytest

import cyclotron as cy

S = cy.Schedule()
DTYPES = ("float16", "float32", "float64", "int64", "complex128", "bool")


@cy.kernel
def take_rows(x, indices):
    return cy.take_along_axis(x, indices, axis=1)


@cy.kernel
def take_columns(x, indices):
    y = np.take_along_axis(x, indices, 0)
    return y


@cy.kernel
def take_places(x, indices):
    return cy.take_along_axis(x * 1, indices, -1)


@cy.kernel
def put_rows(x, indices, values):
    cy.put_along_axis(x, indices, values, axis=1)
    return x


@cy.kernel
def put_columns(x, indices, values):
    np.put_along_axis(x, indices, values, axis=0)
    return x


@cy.kernel
def take_all(x, indices):
    return cy.take_along_axis(x, indices, None)


@cy.kernel
def put_all(x, indices, values):
    np.put_along_axis(x, indices, values, axis=None)
    return x


@cy.kernel
def up_to(target, source, stop):
    """MACH's Listing 13: each PE of a grid assigns as many elements as its own number says."""
    target[:, :, :stop] = source + 1
    return target


@cy.kernel
def between(target, first, stop, number):
    target[..., first:stop, 1:] = number[0]
    target[0, number[1] :, :] = -1
    return target


@cy.kernel
def listing_13(dst, a, b, stop):
    dst[:, :, :stop] = 2 * a[:, :, :stop] + b[:, :, :stop] // 1
    dst[:, :, :stop] += b[:, :, :stop]
    return dst


@cy.kernel
def other_bounds(x, y, stop, other):
    x[:, :stop] = y[:, :other]
    return x


@cy.kernel
def array_beside(x, y, stop):
    x[:, :stop] = y[:, :stop] + y
    return x


@cy.kernel
def stepped(x, stop):
    x[:, :stop:2] = 1
    return x


@cy.kernel
def summed(x, stop):
    return cy.sum(x[:, :stop], axis=1)


def some(dtype: str, *shape: int, seed: int = 0) -> np.ndarray:
    found = np.random.default_rng(seed).standard_normal(shape) * 3
    found.flat[::3] = -0.0
    return found.astype(dtype)


def integers(low: int, high: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(high).integers(low, high, shape)


def equal(kernel: cy.Kernel, *arguments: np.ndarray, schedule: cy.Schedule | None = None) -> None:
    """Bit for bit what NumPy does, on all backends and in the graph."""
    expected = kernel.reference(*(one.copy() for one in arguments))
    program = kernel.compile(*arguments, schedule=schedule)
    assert cy.prove(program).ok
    graph = kernel.graph(*arguments).evaluate()
    for found in (*(cy.run(program, backend=b).output for b in ("sim", "local")), *graph.values()):
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        assert found.tobytes() == np.ascontiguousarray(expected).tobytes()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "n", "taken"), [(1, 1, 1), (3, 4, 6), (4, 2, 1), (0, 3, 2), (2, 3, 0)])
def test_taken(rows: int, n: int, taken: int, dtype: str) -> None:
    x = some(dtype, rows, n)
    equal(take_rows, x, integers(-n, n, rows, taken))
    equal(take_rows, x, integers(-n, n, 1, taken).astype("int32"))
    equal(take_columns, np.ascontiguousarray(x.T), integers(-n, n, taken, rows))
    if dtype != "bool" and rows:
        equal(take_places, x[0], integers(-n, n, taken))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4,), (1, 1), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_of_all_axes(shape: tuple[int, ...], count: int, dtype: str) -> None:
    x, values = some(dtype, *shape), some(dtype, count, seed=1)
    indices = integers(-x.size, x.size, count)
    equal(take_all, x, indices)
    equal(put_all, x, indices, values)
    equal(put_all, x, indices, values[:1])


def test_taken_keeps_nan_and_infinity_apart() -> None:
    x = np.array([[np.nan, np.inf, 1.0, -0.0]])
    equal(take_rows, x, np.array([[2, 3, -1, 0, 1]]))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "n", "put"), [(1, 1, 1), (3, 4, 6), (4, 2, 1), (2, 3, 0), (0, 2, 1)])
def test_put(rows: int, n: int, put: int, dtype: str) -> None:
    x, values = some(dtype, rows, n), some(dtype, rows, put, seed=1)
    indices = integers(-n, n, rows, put)
    equal(put_rows, x, indices, values)
    equal(put_rows, x, indices[:1] if rows else indices, values)
    equal(put_columns, np.ascontiguousarray(x.T), np.ascontiguousarray(indices.T), values.T.copy())
    if put and rows:
        equal(put_rows, x, indices, values[0, :1])


@pytest.mark.parametrize("schedule", [S, S.space("i"), S.space("i", "j")], ids=str)
@pytest.mark.parametrize("rows", [1, 3])
def test_schedules(rows: int, schedule: cy.Schedule) -> None:
    equal(take_rows, some("float64", rows, 4), integers(-4, 4, rows, 3), schedule=schedule)


def test_ranks() -> None:
    pytest.importorskip("cyclotron._mpi", reason="Cyclotron was built without MPI")
    x, indices = some("float64", 4, 5), integers(-5, 5, 4, 3)
    program = take_rows.compile(x, indices, schedule=S.space("i"))
    found = cy.run(program, backend="mpi", ranks=2).output
    np.testing.assert_array_equal(found, np.take_along_axis(x, indices, 1))


@pytest.mark.parametrize("backend", ["sim", "local"])
@pytest.mark.parametrize("wrong", [4, -5])
def test_an_index_outside_fails_as_operators_do(wrong: int, backend: str) -> None:
    x, indices = some("float64", 3, 4), integers(0, 4, 3, 2)
    indices[1, 1] = wrong
    for program in (take_rows.compile(x, indices), put_rows.compile(x, indices, x[:, :2].copy())):
        with pytest.raises(
            cy.ExecutionError, match=f"the index {wrong} is outside of an axis of 4"
        ) as refused:
            cy.run(program, backend=backend)
        assert refused.value.code == "CYC701"
    with pytest.raises(IndexError):
        take_rows.reference(x, indices)


def test_shapes_and_dtypes_that_do_not_conform() -> None:
    x, indices = some("float64", 3, 4), integers(0, 4, 3, 2)
    for code, kernel, arguments in [
        ("CYC120", take_rows, (x, x)),
        ("CYC122", take_rows, (x, indices[:2])),
        ("CYC122", take_rows, (x, indices[0])),
        ("CYC122", take_rows, (x[:, :0], indices)),
        ("CYC122", put_rows, (x, indices, x)),
        ("CYC122", take_all, (x, indices)),
        ("CYC122", take_all, (x[:0], indices[0])),
        ("CYC122", put_rows, (x[:1], indices, x[:, :2])),
        ("CYC120", up_to, (some("float64", 2, 2, 2), some("float64", 2, 2, 2), x[:2, :2])),
        ("CYC122", up_to, (some("float64", 2, 2, 2), some("float64", 2, 2, 2), indices)),
    ]:
        with pytest.raises(cy.ShapeError) as refused:
            kernel.compile(*arguments)
        assert refused.value.code == code


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 5), (1, 4, 2), (2, 2, 0)])
def test_each_pe_assigns_up_to_a_number_of_its_own(shape: tuple[int, int, int], dtype: str) -> None:
    target, source = some(dtype, *shape), some(dtype, *shape, seed=1)
    stop = integers(-shape[2] - 2, shape[2] + 3, *shape[:2])
    expected = target.copy()
    for i, j in np.ndindex(*shape[:2]):
        expected[i, j, : stop[i, j]] = source[i, j, : stop[i, j]] + 1
    np.testing.assert_array_equal(up_to.reference(target.copy(), source, stop), expected)
    equal(up_to, target, source, stop)
    equal(up_to, target, source, stop, schedule=S.space("i", "j"))


def test_slices_from_one_number_to_another() -> None:
    target = some("float64", 3, 5, 4)
    first, stop = integers(0, 3, 3, 3), integers(2, 7, 3, 3)
    number = np.array([7, 3])
    expected = target.copy()
    for i, k in np.ndindex(3, 3):
        expected[i, first[i, k] : stop[i, k], 1 + k] = 7
    expected[0, 3:, :] = -1
    np.testing.assert_array_equal(between.reference(target.copy(), first, stop, number), expected)
    equal(between, target, first, stop, number)


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 5), (2, 2, 0)])
def test_slices_of_one_length_are_computed_with(shape: tuple[int, int, int]) -> None:
    dst, a, b = (integers(-5, 9 + n, *shape) for n in range(3))
    stop = integers(-2, shape[2] + 3, *shape[:2])
    expected = dst.copy()
    for i, j in np.ndindex(*shape[:2]):
        to = stop[i, j]
        expected[i, j, :to] = 2 * a[i, j, :to] + 2 * b[i, j, :to]
    np.testing.assert_array_equal(listing_13.reference(dst.copy(), a, b, stop), expected)
    equal(listing_13, dst, a, b, stop)


def test_what_slices_of_different_lengths_may_not() -> None:
    x, stop = some("float64", 2, 3), integers(0, 3, 2)
    for kernel, arguments in [
        (other_bounds, (x, x, stop, stop + 1)),
        (array_beside, (x, x, stop)),
        (stepped, (x, stop)),
    ]:
        for run in (kernel.compile, kernel.reference):
            with pytest.raises(cy.TraceError) as refused:
                run(*arguments)
            assert refused.value.code == "CYC107"
    with pytest.raises(cy.CyclotronError):
        summed.compile(x, stop)
