"""Serpentines: a line of PEs back and forth through the rows of a grid."""

import warnings

import numpy as np
import pytest

import cyclotron as cy

S = cy.Schedule().space("i")
GRIDS = [(2, 2), (3, 5), (4, 2), (8, 8), (2, 9), (7, 1), (1, 6)]


@cy.kernel
def heated(u, steps):
    for _ in range(steps):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@cy.kernel
def relaxed(u, tol):
    change = 1.0
    while change > tol:
        new = u.copy()
        new[1:-1] = (u[2:] + u[:-2]) / 2
        change = cy.max(cy.abs(new - u))
        u = new
    return u


@cy.kernel
def sums(x):
    return cy.cumsum(x)


@cy.kernel
def by_place(x, y):
    z = cy.zeros(x.shape[0])
    for i in range(x.shape[0]):
        z[i] = x[i] * i + y[(i + 3) % y.shape[0]]
    return z


@cy.kernel
def total(x):
    return cy.sum(x)


rng = np.random.default_rng(5)
X, Y = rng.random(29), rng.random(7)
CASES = {
    "heated": (heated, (X, 6)),
    "relaxed": (relaxed, (np.where(np.arange(29) < 4, X, 0.0), 0.02)),
    "sums": (sums, (X,)),
    "by_place": (by_place, (X, Y)),
    "total": (total, (X,)),
}


def place(step, columns):
    """The row and column of a PE of the line."""
    row, along = divmod(step, columns)
    return row, columns - 1 - along if row % 2 else along


def copies(args):
    return [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_each_pe_does_what_its_place_on_the_line_does(name, grid):
    kernel, args = CASES[name]
    rows, columns = grid
    line = kernel.compile(*copies(args), machine=cy.Machine(grid=(rows * columns,)), schedule=S)
    wound = kernel.compile(*copies(args), machine=cy.Machine(grid=grid), schedule=S.serpentine())
    (pes,) = line.grid
    assert wound.grid == (-(-pes // columns), min(columns, pes))
    before, after = cy.run(line, backend="sim"), cy.run(wound, backend="sim")
    assert after.cycles == before.cycles
    assert after.steps == before.steps
    places = tuple(zip(*(place(step, wound.grid[1]) for step in range(pes)), strict=True))
    for key in ("busy", "stall_empty", "stall_full", "idle"):
        counts = before.stats[key]
        np.testing.assert_array_equal(after.stats[key].reshape(wound.grid)[places], counts, key)
    right = kernel.reference(*copies(args))
    for result in (before, after, cy.run(wound, backend="local")):
        np.testing.assert_allclose(result.output, right, rtol=1e-12)


@pytest.mark.parametrize("grid", [(3, 5), (8, 8)], ids=str)
def test_a_line_is_proven_and_kept_in_files(grid, tmp_path):
    program = heated.compile(X.copy(), 2, machine=cy.Machine(grid=grid), schedule=S.serpentine())
    assert all(channel["offset"] in [[0, 1], [0, -1], [1, 0], [-1, 0]] for channel in program.channels)
    proof = cy.prove(program)
    assert {item.name: item.status for item in proof.properties}["terms"] == "proven"
    program.save(tmp_path / "line.cyc")
    again = cy.load(tmp_path / "line.cyc")
    np.testing.assert_array_equal(cy.run(again, X.copy()).output, cy.run(program, X.copy()).output)


@pytest.mark.parametrize(
    "fields",
    [
        {"chiplets": cy.Chiplets((2, 2), link=cy.Link(latency=9, depth=1))},
        {"links": {(0, -1): cy.Link(latency=3, depth=1), (1, 0): cy.Link(words_per_cycle=2)}},
        {"topology": "torus"},
        {"topology": "hexagonal", "shared_links": True},
        {"memories": {"dram": cy.Memory(serves=(":, 0", ":, 3"))}},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_lines_go_through_grids_whose_links_differ(fields):
    machine = cy.Machine(grid=(4, 4), **fields)
    program = heated.compile(X.copy(), 6, machine=machine, schedule=S.serpentine())
    result = cy.run(program, backend="sim")
    np.testing.assert_allclose(result.output, heated.reference(X.copy(), 6), rtol=1e-12)
    plain = cy.run(heated.compile(X.copy(), 6, machine=cy.Machine(grid=(16,)), schedule=S), backend="sim")
    assert (result.cycles > plain.cycles) == bool({"chiplets", "links", "memories"} & set(fields))


def test_the_number_of_classes_does_not_grow_with_the_grid():
    counts = []
    for side in (6, 12, 400):
        x = np.zeros(3 * side * side)
        machine = cy.Machine(grid=(side, side))
        program = heated.compile(x, 2, machine=machine, schedule=S.serpentine())
        assert sum(item.pe_count for item in program.classes) == side * side
        counts.append(len(program.classes))
    assert counts[0] == counts[1] == counts[2]


@pytest.mark.parametrize(
    ("name", "pes", "times"), [("heated", 62, 6), ("by_place", 62, 6), ("total", 62, 1.6)]
)
def test_by_default_arrays_of_one_axis_take_all_pes(name, pes, times):
    kernel, args = CASES[name]
    args = [np.tile(args[0], 40), *args[1:]]
    machine = cy.Machine(grid=(8, 8))
    program = kernel.compile(*copies(args), machine=machine)
    row = kernel.compile(*copies(args), machine=cy.Machine(grid=(8,)))
    assert sum(item.pe_count for item in program.classes) == pes
    cycles = [cy.run(one, backend="sim").cycles for one in (program, row)]
    assert cycles[0] * times <= cycles[1]
    np.testing.assert_allclose(cy.run(program).output, kernel.reference(*copies(args)), rtol=1e-12)


@cy.kernel
def largest_run(x):
    best = x[0]
    run = x[0]
    for i in range(1, len(x)):
        run = max(x[i], run + x[i])
        best = max(best, run)
    return best


def test_a_kernel_whose_only_other_default_is_one_pe():
    x = np.random.default_rng(2).integers(-9, 9, 48)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = largest_run.compile(x, machine=cy.Machine(grid=(8, 8)))
    assert program.schedule.is_serpentine
    assert cy.run(program).output == largest_run.reference(x)


@cy.kernel
def scaled(A):
    return 2 * A


def test_arrays_of_two_axes_stay_on_the_grid():
    machine = cy.Machine(grid=(8, 8))
    assert not scaled.compile(rng.random((64, 64)), machine=machine).schedule.is_serpentine
    skinny = scaled.compile(rng.random((3, 640)), machine=machine)  # 24 PEs on the grid
    assert skinny.schedule.is_serpentine
    assert sum(item.pe_count for item in skinny.classes) == 64


@pytest.mark.parametrize(
    ("schedule", "machine", "words"),
    [
        (cy.Schedule().space("i", "0").serpentine(), cy.Machine(grid=(4, 4)), "2 dimensions of space"),
        (S.serpentine(), cy.Machine(), "of any size"),
        (S.serpentine(), cy.Machine(grid=(16,)), "mesh 16"),
        (
            S.serpentine(),
            cy.Machine(grid=(4, 4), topology=cy.LinkMap("(i, j) -> (i, (j + 1) % 4)")),
            "custom",
        ),
    ],
)
def test_where_there_is_no_line_it_is_refused(schedule, machine, words):
    with pytest.raises(cy.ScheduleError, match=words) as error:
        by_place.compile(X, Y, machine=machine, schedule=schedule)
    assert error.value.code == "CYC321"


@cy.kernel
def products(A, x):
    y = cy.zeros(A.shape[0])
    for i in range(A.shape[0]):
        y[i] = sum(A[i, k] * x[k] for k in range(A.shape[1]))
    return y


def test_no_network_goes_along_a_line():
    A, x = rng.random((16, 5)), rng.random(5)
    machine = cy.Machine(grid=(4, 4))
    streamed = products.compile(A, x, machine=machine, schedule=S.stream("x").serpentine())
    np.testing.assert_allclose(cy.run(streamed).output, A @ x)
    with pytest.raises(cy.ScheduleError, match="broadcasts x"):
        products.compile(A, x, machine=machine, schedule=S.broadcast("x").serpentine())


def test_it_is_a_value():
    assert S.serpentine() != S
    assert S.serpentine().serpentine(False) == S
    with pytest.raises(cy.ScheduleError, match="serpentine"):
        S.serpentine("yes")
