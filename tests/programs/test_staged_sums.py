"""Stages of sums over a grid (MA-037 to MA-045): horizontal, vertical, to the middle; to one PE or to all.

An addition takes a cycle and so does a hop.
"""

import math

import numpy as np
import pytest

import cyclotron as cy

SHAPES = [(4, 4), (5, 7), (2, 3), (1, 6), (7, 1), (1, 1)]
GRID = cy.Schedule().space("i", "j")
COLUMNS = cy.Schedule().space("j", "i")  # the inner sum's index, j, counts rows


@cy.kernel
def rows_first(x):
    """Each row to one PE, then these: stage 1 is horizontal."""
    return cy.sum(x)


@cy.kernel
def columns_first(x):
    """Each column to one PE, then these: stage 1 is vertical."""
    return cy.sum(cy.sum(x, axis=0))


@cy.kernel
def everywhere(x):
    """All PEs use the total."""
    return x - cy.sum(x)


@cy.kernel
def largest(x):
    return cy.max(x), cy.min(x)


def ones(shape, dtype=float):
    return np.arange(math.prod(shape)).reshape(shape).astype(dtype)


def simulated(kernel, *arguments, schedule=GRID):
    program = kernel.compile(*arguments, schedule=schedule)
    assert cy.prove(program).ok
    result = cy.run(program, backend="sim")
    expected = kernel.reference(*arguments)
    for output, array in zip(
        result.outputs.values(), expected if isinstance(expected, tuple) else (expected,), strict=True
    ):
        np.testing.assert_array_equal(output, array, strict=True)
    return result


def messages(result):
    """Vertical and horizontal ones."""
    counts = np.zeros(2, dtype=int)
    for channel, found in zip(result.program.channels, result.stats["channels"], strict=True):
        counts += found["messages"] * np.abs(channel["offset"])
    return tuple(map(int, counts))


def chain(n):
    """From one end of n PEs to the other: a hop and an addition a PE."""
    return 2 * (n - 1)


def to_the_middle(n):
    """Two chains, of which the lower goes a hop on to where the upper ends; there they are added."""
    lower = (n - 1) // 2
    return max(2 * lower + 1, 2 * (n - 2 - lower)) + 1 if n > 1 else 0


def way_back(n):
    """From where the two chains meet to the farther end."""
    met = (n - 1) // 2 + 1
    return max(met, n - 1 - met) if n > 1 else 0


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_stages_and_the_messages_of_each(shape):
    rows, columns = shape
    x = ones(shape)
    for horizontal in (simulated(rows_first, x), simulated(rows_first, x, schedule=GRID.stages("j", "i"))):
        assert messages(horizontal) == (rows - 1, rows * (columns - 1))
        assert horizontal.cycles == chain(rows) + chain(columns)
    for vertical in (
        simulated(columns_first, x, schedule=COLUMNS),
        simulated(rows_first, x, schedule=GRID.stages("i", "j")),
    ):
        assert vertical.program.grid == shape
        assert messages(vertical) == (columns * (rows - 1), columns - 1)
        assert vertical.cycles == chain(rows) + chain(columns)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    ("kernel", "schedule"),
    [(rows_first, GRID), (columns_first, COLUMNS), (rows_first, GRID.stages("i", "j"))],
    ids=["rows-first", "columns-first", "columns-first-by-schedule"],
)
def test_to_the_middle(kernel, schedule, shape):
    rows, columns = shape
    result = simulated(kernel, ones(shape), schedule=schedule.inwards("i", "j"))
    assert result.program.grid == shape
    assert sum(messages(result)) == rows * columns - 1
    assert result.cycles == to_the_middle(rows) + to_the_middle(columns)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_result_goes_where_it_is_used(shape):
    """To one PE, which stores it, or to all, of which each receives it once."""
    rows, columns = shape
    others = rows * columns - 1
    for schedule, there, back in (
        (GRID, chain, lambda n: n - 1),
        (GRID.inwards("i", "j"), to_the_middle, way_back),
    ):
        assert sum(messages(simulated(rows_first, ones(shape), schedule=schedule))) == others
        result = simulated(everywhere, ones(shape), schedule=schedule)
        assert sum(messages(result)) == 2 * others
        assert result.cycles == sum(there(n) + back(n) for n in shape) + 1


@pytest.mark.parametrize("shape", [(4, 4), (1, 6)], ids=str)
def test_maxima_and_minima_go_the_same_ways(shape):
    for schedule in (GRID, GRID.inwards("i", "j"), GRID.stages("i", "j")):
        assert sum(messages(simulated(largest, ones(shape), schedule=schedule))) == 2 * (math.prod(shape) - 1)


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [("float16", "float32"), ("float32", "float64"), ("int32", "int64"), ("bool", "int64")],
)
@pytest.mark.parametrize("inwards", [(), ("i", "j")], ids=str)
def test_narrow_terms_are_summed_in_a_wide_type(narrow, wide, inwards):
    """Partial sums are wide, in PEs and on links, so that no stage loses what the sum's type has (MA-044)."""

    @cy.kernel
    def wide_sum(x):
        return cy.sum(x, dtype=wide)

    shape = (3, 5)
    # In the narrow type the first term swallows the others, or sums wrap around.
    x = np.full(shape, True if narrow == "bool" else 1).astype(narrow)
    x[0, 0] = {"float16": 2.0**11, "float32": 2.0**24, "int32": 2**31 - 1, "bool": True}[narrow]
    result = simulated(wide_sum, x, schedule=GRID.inwards(*inwards))
    assert result.output.dtype == wide
    assert result.output == int(x[0, 0]) + math.prod(shape) - 1
    if narrow != "bool":
        with np.errstate(over="ignore"):
            assert np.add.accumulate(x.ravel(), dtype=narrow)[-1] != result.output
    assert {channel["dtype"] for channel in result.program.channels} == {wide}


def test_the_order_of_stages_is_the_one_that_is_stated():
    x = np.random.default_rng(3).random((9, 10))
    program = rows_first.compile(x, schedule=GRID.stages("i", "j"))
    expected = np.add.accumulate(np.add.accumulate(x)[-1])[-1]
    assert expected != np.add.accumulate(np.add.accumulate(x, axis=1)[:, -1])[-1]  # it makes a difference
    for backend in ("sim", "local"):
        assert cy.run(program, backend=backend).output == expected
    assert "over i, then j, in this order" in " ".join(program.verify())
    assert "over i, then j" in str(program.explain())
    (terms,) = (found for found in cy.prove(program).properties if found.name == "terms")
    assert "over i, then j" in terms.text


@cy.kernel
def weighted(x, w):
    """Nested sums with an index in both factors, and another sum that stays as it is."""
    n, m, q = x.shape
    y = cy.empty((n,), dtype=x.dtype)
    s = cy.empty((), dtype=x.dtype)
    for i in range(n):
        y[i] = w[i] * sum(sum(x[i, j, k] * w[j + k] for k in range(q)) for j in range(m)) + w[i]
    s[()] = sum(y[l] for l in range(n))
    return y, s


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 1, 1), (3, 2, 1), (2, 0, 3)], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "int64", "complex128"])
@pytest.mark.parametrize("space", [(), ("i",), ("j",), ("j", "k")], ids=str)
def test_sums_of_other_forms(shape, dtype, space):
    schedule = cy.Schedule().space(*space).stages("j", "k")
    simulated(weighted, ones(shape, dtype), ones((8,), dtype), schedule=schedule)


@cy.kernel
def triangle(x):
    s = cy.empty(())
    s[()] = sum(sum(x[i, j] for j in range(i + 1)) for i in range(x.shape[0]))
    return s


@pytest.mark.parametrize(
    ("kernel", "stages", "message", "help"),
    [
        (triangle, ("i", "j"), "the range of `j` depends on", "name `j` before"),
        (rows_first, ("i", "z"), "no two of these are indices", "indices of a sum"),
        (rows_first, ("i",), "no two of these are indices", "indices of a sum"),
    ],
    ids=["range", "unknown", "one"],
)
def test_refusals(kernel, stages, message, help):
    with pytest.raises(cy.ScheduleError) as refused:
        kernel.compile(ones((3, 3)), schedule=GRID.stages(*stages))
    assert refused.value.code == "CYC318"
    assert message in str(refused.value)
    assert help in refused.value.help


def test_triangles_keep_the_order_that_they_have():
    simulated(triangle, ones((4, 4)), schedule=cy.Schedule().space("i").stages("j", "i"))
