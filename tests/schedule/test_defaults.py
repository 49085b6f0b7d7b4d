"""The schedule of those who give none: what is in space on each grid, and that every backend equals NumPy."""

import re

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel(max_steps=500)
def halved(x):
    while cy.max(x) > 1:
        x = x / 2
    return x * 2


@cy.kernel
def relaxed(u, tolerance, steps):
    for t in range(steps):
        new = u.copy()
        new[1:-1] = (u[:-2] + u[2:]) / 2
        change = cy.max(cy.abs(new - u))
        u = new
        if change < tolerance:
            break
    return u - 1


@cy.kernel
def decayed(x, steps):
    for t in range(steps):
        x = x / 2
    return x * 2


@cy.kernel
def heat(u, steps):
    """All states: the loop over them is not one over places."""
    U = cy.empty((steps + 1, *u.shape))
    n, m = u.shape
    for t in range(steps + 1):
        for i in range(n):
            for j in range(m):
                if t == 0:
                    U[t, i, j] = u[i, j]
                elif i == 0 or i == n - 1 or j == 0 or j == m - 1:
                    U[t, i, j] = U[t - 1, i, j]
                else:
                    rows = U[t - 1, i - 1, j] + U[t - 1, i + 1, j]
                    U[t, i, j] = (rows + U[t - 1, i, j - 1] + U[t - 1, i, j + 1]) / 4
    return U


@cy.kernel
def scaled(x):
    return x * 2


@cy.kernel
def dot(x, y):
    return cy.sum(x * y)


@cy.kernel
def square(A):
    return cy.sum(A * A)


@cy.kernel
def rows(A):
    return cy.max(A, axis=1)


@cy.kernel
def product(A, B):
    return A @ B


@cy.kernel
def neighbours(C):
    D = C.copy()
    D[1:-1, 1:-1, 1:-1] = C[2:, 1:-1, 1:-1] + C[:-2, 1:-1, 1:-1] + C[1:-1, 2:, 1:-1] + C[1:-1, 1:-1, :-2]
    return D


@cy.kernel
def padded(u, tol):
    change = 1.0
    while change > tol:
        p = cy.pad(u, 1)
        new = (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) / 4
        change = cy.max(cy.abs(new - u))
        u = new
    return u


def integers(*shape):
    return np.random.default_rng(0).integers(-4, 5, shape).astype(float)


def equals_numpy(kernel, *arguments, machine=None):
    """Compile without a schedule and run; return the program and its cycles."""
    program = kernel.compile(*arguments, machine=machine)
    assert program.schedule_chosen
    again = kernel.compile(*arguments, schedule=program.schedule, machine=machine)
    assert again.grid == program.grid
    expected = kernel.reference(*arguments)
    results = [cy.run(program, backend=backend) for backend in ("sim", "local")]
    for result in results:
        np.testing.assert_array_equal(result.output, expected)
    return program, results[0].cycles


def cycles_of(kernel, *arguments, space, machine):
    """The cycles of a placement."""
    schedule = cy.Schedule().space(*space) if space else cy.Schedule()
    return cy.run(kernel.compile(*arguments, schedule=schedule, machine=machine), backend="sim").cycles


@pytest.mark.parametrize("machine", [None, cy.Machine(grid=(6,)), cy.Machine(grid=(2, 3))], ids=str)
@pytest.mark.parametrize(
    ("kernel", "arguments"),
    [(halved, (integers(6) + 8,)), (relaxed, (np.r_[np.zeros(5), 1.0], 1e-3, 500))],
    ids=["while", "break"],
)
def test_a_loop_that_ends_is_time_and_ends(kernel, arguments, machine):
    program, cycles = equals_numpy(kernel, *arguments, machine=machine)
    assert not {"step", "t"} & set(program.schedule.space_indices)
    assert cycles < 1500  # not the hundreds of steps that the bound allows


@pytest.mark.parametrize("machine", [None, cy.Machine(grid=(11, 12))], ids=str)
def test_a_loop_ends_where_arrays_are_padded_in_it(machine):
    """The corners, which nothing needs, have no PEs that would go through all iterations."""
    program, cycles = equals_numpy(padded, 16 * integers(9, 10), 1.0, machine=machine)
    assert program.grid == (9, 10)
    assert cycles < 3000  # not the million that the bound allows


def test_steps_of_arrays_are_time():
    program, _ = equals_numpy(decayed, integers(5), 20)
    assert program.schedule.space_indices == ("i",)
    program, _ = equals_numpy(heat, integers(5, 6), 3)
    assert program.schedule.space_indices == ("i", "j")


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("machine", [None, cy.Machine(grid=(2,)), cy.Machine(grid=(2, 2))], ids=str)
def test_a_step_or_two_are_time_as_many_are(steps, machine):
    program, cycles = equals_numpy(decayed, integers(5), steps, machine=machine)
    assert "i" in program.schedule.space_indices
    if "t" in program.schedule.space_indices:  # where the grid has no room for more places
        assert cycles < cycles_of(decayed, integers(5), steps, space=("i", "0"), machine=machine)
    program, cycles = equals_numpy(heat, integers(5, 6), steps, machine=machine)
    if "t" in program.schedule.space_indices:  # a PE for each of two steps, one behind the other
        assert cycles < cycles_of(heat, integers(5, 6), steps, space="i", machine=machine)


def test_a_dimension_of_one_element_is_not_spread_beside_others():
    for shapes, space in [(((1, 6), (6, 5)), "j"), (((6, 5), (5, 1)), "i"), (((5, 1), (1, 6)), "i")]:
        program, _ = equals_numpy(product, *(integers(*shape) for shape in shapes))
        assert program.schedule.space_indices == tuple(space)


# What is usually in space on each grid: the default is as fast, if not the same.
GRIDS = {
    (4,): {scaled: "i", dot: "-", square: "i", rows: "i", product: "i", neighbours: "i"},
    (2, 3): {scaled: "0 i", dot: "0 0", square: "0 i", rows: "0 i", product: "i j", neighbours: "i j"},
    (1, 1): {scaled: "i 0", dot: "0 0", square: "i 0", rows: "i 0", product: "i j", neighbours: "i j"},
    (2, 2, 2): {
        scaled: "i 0 0",
        dot: "0 0 0",
        square: "i 0 0",
        rows: "i 0 0",
        product: "i j 0",
        neighbours: "i j k",
    },
}
ARGUMENTS = {
    scaled: [(5,), (1,), (0,)],
    dot: [(5, 5), (1, 1), (0, 0)],
    square: [((3, 4),), ((1, 1),)],
    rows: [((3, 4),), ((1, 1),)],
    product: [((3, 4), (4, 2)), ((1, 1), (1, 1))],
    neighbours: [((4, 3, 5),), ((2, 2, 2),)],
}


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("topology", ["mesh", "torus"])
@pytest.mark.parametrize("kernel", ARGUMENTS, ids=lambda kernel: kernel.__name__)
def test_each_grid_has_a_schedule(kernel, topology, grid):
    machine = cy.Machine(grid=grid, topology=topology)
    for shapes in ARGUMENTS[kernel]:
        arguments = [integers(*(shape if isinstance(shape, tuple) else (shape,))) for shape in shapes]
        program, cycles = equals_numpy(kernel, *arguments, machine=machine)
        assert len(program.grid) == len(grid)
        usual = () if GRIDS[grid][kernel] == "-" else tuple(GRIDS[grid][kernel].split())
        assert cycles <= 1.05 * cycles_of(kernel, *arguments, space=usual, machine=machine)


def test_several_dimensions_may_be_one_pe_wide():
    machine = cy.Machine(grid=(2, 2, 2))
    program = scaled.compile(integers(3), schedule=cy.Schedule().space("0", "i", "0"), machine=machine)
    assert program.grid == (1, 2, 1)
    np.testing.assert_array_equal(cy.run(program).output, scaled.reference(integers(3)))
    assert eval(repr(program.schedule)) == program.schedule


@cy.kernel
def twice(A, B, x):
    return B @ (A @ x)


@cy.kernel
def three_times(A, B, x):
    y = A @ x
    z = B @ cy.maximum(y, 0)
    return A @ z + y


@cy.kernel
def of_matrices(A, B, C):
    return A @ (B @ C), (A @ B) @ C


@cy.kernel
def residual(A, x, b):
    r = b - A @ x
    return cy.sum(r * r), A.T @ r


@cy.kernel
def scaled_rows(A):
    E = A * A + 1
    return E / cy.sum(E, axis=1)[:, None], cy.max(E, axis=0), E.T + A.T


@pytest.mark.parametrize("machine", [None, cy.Machine(grid=(3,)), cy.Machine(grid=(3, 2))], ids=str)
@pytest.mark.parametrize(
    ("kernel", "shapes"),
    [
        (twice, ((4, 5), (3, 4), (5,))),
        (twice, ((1, 1), (1, 1), (1,))),
        (twice, ((1, 7), (7, 1), (7,))),
        (three_times, ((5, 5), (5, 5), (5,))),
        (of_matrices, ((3, 4), (4, 5), (5, 2))),
        (residual, ((4, 3), (3,), (4,))),
        (scaled_rows, ((4, 5),)),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_sums_of_sums_are_spread(kernel, shapes, machine):
    arguments = [integers(*shape) for shape in shapes]
    program = kernel.compile(*arguments, machine=machine)
    assert set(program.schedule.space_indices) & set("ij")
    expected = kernel.reference(*arguments)
    for backend in ("sim", "local"):
        outputs = cy.run(program, backend=backend).outputs.values()
        for output, array in zip(
            outputs, expected if isinstance(expected, tuple) else (expected,), strict=True
        ):
            np.testing.assert_array_equal(output, array)


def test_names_of_indices_follow_the_data():
    """Values made along an axis of an array are summed and taken along it."""

    def sides(kernel, *shapes):
        lines = str(kernel.recurrences(*(integers(*shape) for shape in shapes))).splitlines()
        sides = [line.split("  ")[1].split(" = ")[0] for line in lines if " = " in line]
        return [re.sub(r"@\d+(_\d+)?", "", side) for side in sides]

    assert sides(three_times, (5, 5), (5, 5), (5,)) == ["y[i]", "z[j]", "result[i]"]
    matrices = sides(of_matrices, (3, 4), (4, 5), (5, 2))
    assert matrices == ["product[i, j]", "result_1[k, j]", "product[i, j]", "result_2[i, k]"]
    assert sides(scaled_rows, (4, 5)) == [
        "E[i, j]",
        "value[i, 0]",
        "result_1[i, j]",
        "result_2[j]",
        "result_3[j, i]",
    ]


@cy.kernel
def waves(u, steps):
    for _t in range(steps):
        u = u - cy.roll(u, -1) + cy.roll(u, -2) + 3 * cy.roll(u, 2)
    return u


@pytest.mark.parametrize("space", [("0", "i"), ("i", "0")], ids=str)
def test_a_dimension_of_one_pe_changes_nothing(space):
    """Also where values travel several hops within the other."""
    u = integers(7)
    line = waves.compile(u, 3, schedule=cy.Schedule().space("i"))
    plane = waves.compile(u, 3, schedule=cy.Schedule().space(*space))
    results = [cy.run(program, backend="sim") for program in (line, plane)]
    for result in results:
        np.testing.assert_array_equal(result.output, waves.reference(u, 3))
    assert results[0].cycles == results[1].cycles
    words = [sum(int(sent.sum()) for sent in result.stats["words_sent"].values()) for result in results]
    assert words[0] == words[1] > 0


@cy.kernel
def scans_and_sweeps(u, v, s):
    x = cy.empty_like(u)
    for i in range(u.shape[0]):
        for t in range(u.shape[1]):
            if i < 2 or t < 1:
                x[i, t] = u[i, t]
            else:
                x[i, t] = x[i - 2, t - 1] + u[i, t]
    for _t in range(s):
        for i in range(2, 4):
            v[i] = 2 * v[i - 2] - v[i + 1] - v[i]
        for i in range(3, 1, -1):
            v[i] = v[i - 2] + 3 * v[i + 1] - v[i]
    return x, v


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("grid", [(2,), (3,), (2, 2)], ids=str)
def test_one_pe_serves_where_no_place_does(steps, grid):
    """In an order of the loops that is not the text's."""
    arguments = integers(5, 4), integers(5), steps
    program = scans_and_sweeps.compile(*arguments, machine=cy.Machine(grid=grid))
    for found, right in zip(
        cy.run(program, backend="sim").outputs.values(), scans_and_sweeps.reference(*arguments), strict=True
    ):
        np.testing.assert_array_equal(found, right)


@cy.kernel
def product_of_products(A, B, C):
    return (A @ B) @ (B @ C)


@cy.kernel
def squared_product(A, B):
    P = A @ B
    return P @ P


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("depth", [1, 2])
def test_products_of_products_are_spread(n, depth):
    """Rows and columns of the first are passed on when the second needs them: both ways along the grid."""
    machine = cy.Machine(grid=(6, 6), link=cy.Link(depth=depth))
    square = integers(n, n)
    program, _ = equals_numpy(squared_product, square, square.T.copy(), machine=machine)
    assert program.grid == (n, n)
    program, _ = equals_numpy(
        product_of_products, integers(n, 3), integers(3, 3), integers(3, n + 1), machine=machine
    )
    assert program.grid == (max(n, 3), max(n + 1, 3))
    assert cy.prove(program).ok


@pytest.mark.sampled(3)
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("grid", [(3,), (2, 3), (1, 3)], ids=str)
def test_products_of_products_are_folded(grid, depth):
    machine = cy.Machine(grid=grid, link=cy.Link(depth=depth))
    program, _ = equals_numpy(squared_product, integers(6, 6), integers(6, 6).T.copy(), machine=machine)
    assert np.prod(program.grid) == np.prod(grid)
    program, _ = equals_numpy(
        product_of_products, integers(5, 4), integers(4, 4), integers(4, 7), machine=machine
    )
    assert cy.prove(program).ok


@cy.kernel
def staggered(u, v, steps):
    """Each field is stepped from the other: neighbours of the same step, but none by way of its own."""
    for _t in range(steps):
        u[1:-1] += 2 * v[:-2] - v[2:]
        v[1:-1] -= u[2:] + u[:-2]
    return u + 3 * v


@cy.kernel
def chained(u, v, steps):
    """Each point needs the one before it in the same step, by way of the other field."""
    x = cy.zeros((steps + 1, u.shape[0]))
    y = cy.zeros((steps + 1, u.shape[0]))
    for t in range(steps + 1):
        for i in range(u.shape[0]):
            if t == 0 or i == 0:
                x[t, i] = u[i]
                y[t, i] = v[i]
            else:
                x[t, i] = y[t, i - 1] + x[t - 1, i]
                y[t, i] = x[t, i] - y[t - 1, i]
    return x + y


@pytest.mark.parametrize(("shape", "grid"), [((11,), (4,)), ((5, 7), (2, 2)), ((4,), (2,))], ids=str)
@pytest.mark.parametrize(("steps", "depth"), [(1, 1), (3, 1), (2, 2)])
def test_fields_stepped_from_each_other_are_spread(shape, grid, steps, depth):
    machine = cy.Machine(grid=grid, link=cy.Link(depth=depth))
    arguments = integers(*shape), 3 * integers(*shape), steps
    program, cycles = equals_numpy(staggered, *arguments, machine=machine)
    spread = cycles_of(staggered, *arguments, space="ij"[: len(grid)], machine=machine)
    assert cycles <= spread
    assert program.grid == grid or cycles < spread  # one PE is as fast as two that wait for each other


def test_what_goes_from_point_to_point_by_way_of_another_field_runs_in_steps():
    program, _ = equals_numpy(chained, integers(6), 3 * integers(6), 4, machine=cy.Machine(grid=(3,)))
    assert program.schedule.time_indices[0] == "t"  # its steps go one after the other
    assert cy.run(program, backend="sim").cycles <= 50


@cy.kernel
def gathered(x, at):
    return x[at]


@cy.kernel
def added_at(x, at):
    y = cy.zeros(100)
    for k in range(at.shape[0]):
        y[at[k]] += x[k]
    return y


@cy.kernel
def sparse_product(values, columns, x):
    y = cy.zeros(values.shape[0])
    for i in range(values.shape[0]):
        for k in range(values.shape[1]):
            y[i] += values[i, k] * x[columns[i, k]]
    return y


def test_tables_are_where_their_elements_are_chosen():
    """Three cycles an element, not so many for each of the table."""
    rng = np.random.default_rng(7)
    table, at = rng.integers(-9, 9, 1000).astype(float), rng.integers(-1000, 1000, 4)
    program, cycles = equals_numpy(gathered, table, at)
    assert (program.grid, cycles) == ((4,), 3)
    _, cycles = equals_numpy(gathered, table, at, machine=cy.Machine(grid=(2,)))
    assert cycles <= 3 * 4
    _, cycles = equals_numpy(added_at, integers(40), rng.integers(0, 100, 40))
    assert cycles <= 3 * 40
    arguments = integers(32, 5), rng.integers(0, 32, (32, 5)), integers(32)
    program, cycles = equals_numpy(sparse_product, *arguments)
    assert cycles <= 5 * 5


def test_tables_that_pes_have_no_room_for_pass_them():
    table, at = integers(1000), np.arange(0, 1000, 250)
    small = cy.Machine(grid=(4,), pe=cy.PE(memory=1024))
    with pytest.warns(
        cy.PerformanceWarning, match=r'with space\("i"\).prefetch\("x"\) it would be .* times as fast'
    ):
        program, _ = equals_numpy(gathered, table, at, machine=small)
    assert program.grid == (4,)
