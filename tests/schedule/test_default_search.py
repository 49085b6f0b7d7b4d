"""Defaults beside the best of all placements, on machines of all shapes, and that a slow one says so."""

import warnings

import day_two
import numpy as np
import pytest
from best_placements import best_of, cycles_of, specs
from day_one import CASES

import cyclotron as cy

pytestmark = pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")


def pes_of(program):
    return int(np.prod(program.grid))


def arguments(name):
    """Small whole numbers that are no divisors of zero; matrices that Cholesky's algorithm takes."""
    rng = np.random.default_rng(3)
    values = [rng.integers(1, 4, shape).astype(float) for shape in CASES[name][1]]
    if name in ("cholesky", "trsm", "trsv", "cg"):
        values[0] = values[0] @ values[0].T + 40 * np.eye(len(values[0]))
    return values


# Those of which the exhaustive search takes long are left to the nightly run.
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "name", [name for name in CASES if name not in ("heads", "colour_mask", "red_black")]
)
def test_a_default_is_as_fast_as_the_best_placement(name):
    kernel = CASES[name][0]
    program = kernel.compile(*specs(name))
    assert program.schedule_chosen
    assert cycles_of(program) <= 1.05 * best_of(name)[0]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name", [name for name in day_two.CASES if name not in ("bicgstab", "kalman_gain", "vorticity")]
)
def test_a_default_of_another_kernel_is_nearly_as_fast_as_the_best(name):
    assert cycles_of(day_two.CASES[name][0].compile(*specs(name))) <= 2 * best_of(name)[0]


@pytest.mark.parametrize(
    "name", ["attention", "edit_distance", "quotient_totals", "red_black", "column_means"]
)
def test_a_default_is_not_slower_than_space_i_j(name):
    kernel = CASES[name][0]
    both = kernel.compile(*specs(name), schedule=cy.Schedule().space("i", "j"))
    assert cycles_of(kernel.compile(*specs(name))) <= 1.05 * cycles_of(both)


@cy.kernel
def gemver(A, u, v, y):
    n = A.shape[0]
    x, w = cy.zeros(n), cy.zeros(n)
    for i in range(n):
        for j in range(n):
            A[i, j] = A[i, j] + u[i] * v[j]
    for i in range(n):
        for j in range(n):
            x[i] = x[i] + A[j, i] * y[j]
    for i in range(n):
        for j in range(n):
            w[i] = w[i] + A[i, j] * x[j]
    return w


@pytest.mark.parametrize("n", [4, 6, 8, 10, 16])
def test_a_default_is_not_slower_than_space_i_j_at_any_size(n):
    """Estimates of others may promise more, and of those on long ways be a little too large."""
    shapes = {day_two.CASES["lu"][0]: [(n, n)], gemver: [(n, n), n, n, n]}
    for kernel, sizes in shapes.items():
        values = [cy.spec(size) for size in sizes]
        both = kernel.compile(*values, schedule=cy.Schedule().space("i", "j"))
        assert cycles_of(kernel.compile(*values)) <= 1.05 * cycles_of(both)


@pytest.mark.parametrize("name", ["horner", "prefix", "serial_chain", "thomas"])
def test_a_chain_is_one_pe_without_a_warning(name):
    kernel = cy.kernel(CASES[name][2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernel.compile(*specs(name)).grid == (1,)


def test_a_long_filter_has_a_pe_for_each_coefficient():
    """Not one for each of 100,000 samples, which would be as fast."""
    program = CASES["fir"][0].compile(cy.spec((100_000,)), cy.spec((64,)))
    assert program.grid == (64,)
    assert cycles_of(program) <= 100_100


@pytest.mark.parametrize("n", [3, 8, 20, 33])
def test_cells_of_any_size_are_spread(n):
    program = CASES["lstm"][0].compile(
        *(cy.spec(shape) for shape in [(n,), (n,), (n,), (4 * n, n), (4 * n, n), (4 * n,)])
    )
    one = CASES["lstm"][0].compile(*program.arguments, schedule=cy.Schedule())
    assert pes_of(program) > 1
    assert cycles_of(program) * 2 < cycles_of(one)


MACHINES = [
    cy.Machine(grid=(4, 4)),
    cy.Machine(grid=(3, 5)),
    cy.Machine(grid=(7,)),
    cy.Machine(grid=(1, 1)),
    cy.Machine(grid=(4, 4), pe=cy.PE(channels=2)),
    cy.Machine(grid=(4, 4), pe=cy.PE(memory=512)),
]
# Of the rest, numbers are not whole.
EXACT = ["matmul", "matvec", "fir", "edit_distance", "symmetric", "transposed", "reversed_slices", "trsv"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.parametrize("name", EXACT)
def test_a_default_fits_each_machine(name, machine):
    if name in ("symmetric", "transposed") and machine.pe.memory == 512:
        pytest.skip("values come from all over the grid, and one PE is too small for all of them")
    kernel = CASES[name][0]
    program = kernel.compile(*arguments(name), machine=machine)
    assert len(program.grid) == len(machine.grid)
    assert all(extent <= most for extent, most in zip(program.grid, machine.grid, strict=True))
    result = cy.run(program, backend="sim")
    np.testing.assert_allclose(result.output, kernel.reference(*arguments(name)), rtol=1e-14)


@cy.kernel
def plate(u, tolerance):
    change = np.inf
    while change > tolerance:
        new = u.copy()
        new[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        change = cy.max(cy.abs(new - u))
        u = new
    return u


@cy.kernel
def gradients(A, b, tolerance):
    x = cy.zeros_like(b)
    r = b.copy()
    p = b.copy()
    rs = cy.sum(r * r)
    for _t in range(40):
        q = A @ p
        alpha = rs / cy.sum(p * q)
        x = x + alpha * p
        r = r - alpha * q
        new = cy.sum(r * r)
        if new < tolerance:
            break
        p = r + (new / rs) * p
        rs = new
    return x


@pytest.mark.parametrize("name", ["plate", "gradients"])
def test_reductions_in_any_order_go_inwards_where_that_is_faster(name):
    if name == "plate":
        kernel, values = plate, (np.eye(16), 0.01)
    else:
        matrix = np.diag(np.arange(9.0, 17)) + 0.5
        kernel, values = gradients, (matrix, np.arange(1.0, 9), 1e-12)
    program = kernel.compile(*values)
    space = program.schedule.space_indices
    assert program.schedule.inward_indices == space
    inwards = kernel.compile(*values, schedule=cy.Schedule().space(*space).inwards(*space))
    result = cy.run(program, backend="sim")
    assert result.cycles <= 1.1 * cy.run(inwards, backend="sim").cycles
    np.testing.assert_allclose(result.output, kernel.reference(*values), rtol=1e-12)
    assert "from both ends" in str(program.explain())


def test_exact_reductions_go_inwards_and_sums_of_the_text_stay_in_order():
    @cy.kernel
    def written(x):
        total = cy.zeros(1, dtype=x.dtype)
        y = cy.empty_like(x)
        for i in range(x.shape[0]):
            total[0] += x[i]
        for i in range(x.shape[0]):
            y[i] = x[i] - total[0]
        return y

    @cy.kernel
    def whole(x):
        return x - cy.sum(x)

    numbers = np.arange(64)
    assert written.compile(numbers).schedule.inward_indices == ("i",)
    assert not written.compile(numbers + 0.5).schedule.inward_indices
    assert whole.compile(numbers + 0.5).schedule.inward_indices == ("i",)


def test_extrema_over_ranges_that_vary_stay_as_they_are():
    @cy.kernel
    def largest(A):
        y = cy.zeros(A.shape[0], dtype="int64")
        for i in range(A.shape[0]):
            y[i] = max((A[i, j] * 3 + 1) * (A[i, j] - 2) for j in range(20 * i + 5))
        return y

    values = np.arange(3 * 45).reshape(3, 45) % 7
    program = largest.compile(values)
    assert "j" in program.schedule.space_indices
    np.testing.assert_array_equal(cy.run(program).output, largest.reference(values))


@pytest.mark.parametrize("place", [0, 3, 7])
def test_extrema_inwards_take_nan_and_zeros_as_numpy_does(place):
    @cy.kernel
    def bounds(x):
        return x * 0 + cy.max(x), x * 0 + cy.min(x)

    values = np.zeros(8)
    for value in (np.nan, -0.0, -1.0, 2.0):
        values[place] = value
        for found, right in zip(
            cy.run(bounds.compile(values)).outputs.values(), bounds.reference(values), strict=True
        ):
            np.testing.assert_array_equal(found, right)


def symmetric_kernel():
    @cy.kernel
    def symmetric(A, B):
        C = A @ B
        return C.T + C

    return symmetric


# On links that lead one way round no value goes back the way it came.
ONE_WAY = cy.Machine(
    topology=(cy.LinkMap("(i, j) -> (i, (j + 1) % 8)"), cy.LinkMap("(i, j) -> ((i + 1) % 8, j)")), grid=(8, 8)
)


def test_a_slow_default_says_what_prevented_a_faster_one(golden_refusal):
    def compile_():
        with warnings.catch_warnings():
            warnings.simplefilter("error", cy.PerformanceWarning)
            symmetric_kernel().compile(np.ones((8, 8)), np.ones((8, 8)), machine=ONE_WAY)

    golden_refusal("slow-default", cy.PerformanceWarning, "CYC330", compile_)


def test_an_explanation_shows_the_warnings():
    with pytest.warns(cy.PerformanceWarning, match="would be about") as caught:
        program = symmetric_kernel().compile(np.ones((8, 8)), np.ones((8, 8)), machine=ONE_WAY)
    warning = caught[0].message
    assert f"slow: {warning.message}; {warning.help} [CYC330]" in program.explain().sentences()


def test_a_warning_stands_at_the_call_and_comes_once():
    kernel = symmetric_kernel()
    for count in (1, 0):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kernel.compile(np.ones((8, 8)), np.ones((8, 8)), machine=ONE_WAY)
        assert [one.filename for one in caught] == [__file__] * count
        assert all(issubclass(one.category, UserWarning) for one in caught)


def test_a_schedule_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        symmetric_kernel().compile(np.ones((8, 8)), np.ones((8, 8)), schedule=cy.Schedule())


def test_the_choice_is_the_same_each_time():
    for name in ("attention", "quotient_totals", "lstm"):
        schedules = {str(cy.kernel(CASES[name][2]).compile(*specs(name)).schedule) for _ in range(2)}
        assert len(schedules) == 1


def test_a_kernel_of_many_views_and_a_branch_has_time_for_its_analysis():
    @cy.kernel
    def steps(u, v):
        part = v[::-2, 0:]
        v *= u
        part[...] = part.copy()
        corner = part[-1:, -1:]
        part[...] += v[1:3, 0:4]
        spread = (v.T.std() if cy.all(v) > 0 else -v.T.std()) - corner.T[0, 0]
        if spread < 1:
            u[::-2, -1:] += u.T[0:4:2, 3:4]
        return spread, corner.copy(), v, u.copy(), cy.where(corner == 1, corner, v[2:3, 0:1])

    rng = np.random.default_rng(15)
    u, v = (rng.integers(0, 6, (4, 4)).astype("uint32") for _ in range(2))
    program = steps.compile(u, v)
    one = steps.compile(u, v, schedule=cy.Schedule().space())
    assert cycles_of(program) <= cycles_of(one)
    for found, right in zip(
        cy.run(program, backend="local").outputs.values(), steps.reference(u, v), strict=True
    ):
        np.testing.assert_allclose(found, right, rtol=1e-12)


def test_one_pe_of_a_machine_of_two_dimensions_is_tried_where_others_lose_an_early_exit():
    @cy.kernel
    def means(x, centres):
        moved = 1.0
        while moved > 1e-9:
            distance = cy.abs(x[:, None] - centres[None, :])
            near = distance == distance.min(axis=1, keepdims=True)
            total = cy.sum(cy.where(near, x[:, None], 0.0), axis=0)
            new = total / cy.maximum(cy.sum(cy.where(near, 1.0, 0.0), axis=0), 1.0)
            moved = cy.max(cy.abs(new - centres))
            centres = new
        return centres

    x, centres = np.random.default_rng(3).random(16), np.array([0.1, 0.5, 0.9])
    result = cy.run(means.compile(x, centres, machine=cy.Machine(grid=(4, 4))), backend="sim")
    assert result.cycles < 10_000  # not a million steps
    np.testing.assert_allclose(result.output, means.reference(x, centres), rtol=1e-12)


@cy.kernel
def edge_strengths(u):
    along = u[:-2, 2:] + 2 * u[1:-1, 2:] + u[2:, 2:] - u[:-2, :-2] - 2 * u[1:-1, :-2] - u[2:, :-2]
    down = u[2:, :-2] + 2 * u[2:, 1:-1] + u[2:, 2:] - u[:-2, :-2] - 2 * u[:-2, 1:-1] - u[:-2, 2:]
    return np.sqrt(along * along + down * down)


@cy.kernel
def inverse_of(A):
    n = A.shape[0]
    B = A.copy()
    X = cy.eye(n) + 0 * A
    for k in range(n):
        p = B[k, k]
        row_B = B[k, :] / p
        row_X = X[k, :] / p
        f = np.where(cy.arange(n) == k, 0.0, B[:, k])
        B = B - f[:, None] * row_B[None, :]
        X = X - f[:, None] * row_X[None, :]
        B[k, :] = row_B
        X[k, :] = row_X
    return X


def test_values_are_dealt_out_in_turn_where_blocks_would_leave_pes_idle():
    """Ten rows in blocks of a whole number occupy five of eight PEs."""
    u = np.random.default_rng(5).random((10, 10))
    machine = cy.Machine(grid=(8, 8))
    program = edge_strengths.compile(u, machine=machine)
    assert {fold.kind for _, fold in program.schedule.folds} == {"cyclic"}
    blocks = edge_strengths.compile(u, machine=machine, schedule=cy.Schedule().space("i", "j"))
    assert 2 * cycles_of(program) <= cycles_of(blocks)
    np.testing.assert_allclose(cy.run(program, backend="local").output, edge_strengths.reference(u))


def test_rows_and_columns_of_a_matrix_lie_along_it():
    A = np.random.default_rng(6).random((8, 8)) + 8 * np.eye(8)
    program = inverse_of.compile(A, machine=cy.Machine(grid=(8, 8)))
    assert program.grid == (8, 8)  # rows lie along the rows that they are taken of, in PEs of their own
    assert cycles_of(program) <= 150
    one = inverse_of.compile(A, machine=cy.Machine(grid=(8, 8)), schedule=cy.Schedule().space("0", "0"))
    assert 2 * cycles_of(program) <= cycles_of(one)
    np.testing.assert_allclose(cy.run(program, backend="sim").output, np.linalg.inv(A), rtol=1e-9)


@cy.kernel
def adaptive_descent(X, y):
    w = cy.zeros(10)
    m = cy.zeros(10)
    v = cy.zeros(10)
    for t in range(6):
        g = X.T @ (X @ w - y) / 20
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        w = w - 0.01 * m / (1 - 0.9 ** (t + 1)) / (cy.sqrt(v / (1 - 0.999 ** (t + 1))) + 1e-8)
    return w


def test_steps_that_reduce_all_of_the_one_before_are_not_tried_side_by_side():
    """The cycles that these promise on PEs of their own would leave no candidates for trees of sums."""
    rng = np.random.default_rng(7)
    X, y = rng.random((20, 10)), rng.random(20)
    machine = cy.Machine(grid=(8, 8))
    program = adaptive_descent.compile(X, y, machine=machine)
    in_order = adaptive_descent.compile(X, y, machine=machine, schedule=cy.Schedule().space("j", "i"))
    assert 1.2 * cycles_of(program) <= cycles_of(in_order)
    np.testing.assert_allclose(
        cy.run(program, backend="sim").output, adaptive_descent.reference(X, y), rtol=1e-9
    )


@cy.kernel
def fed_back(x, a):
    m = a.shape[0]
    y = cy.zeros(x.shape[0])
    for i in range(m, x.shape[0]):
        y[i] = x[i] - cy.sum(a * y[i - m : i])
    return y


@cy.kernel
def autoregressive(x, a):
    y = cy.zeros(x.shape[0])
    for i in range(x.shape[0]):
        s = x[i]
        for j in range(a.shape[0]):
            if i + j >= a.shape[0]:
                s = s - a[j] * y[i + j - a.shape[0]]
        y[i] = s
    return y


@pytest.mark.parametrize("kernel", [fed_back, autoregressive])
@pytest.mark.parametrize("grid", [(8, 8), (8,), (5,), (3, 2)], ids=str)
def test_a_filter_that_feeds_back_has_a_pe_for_each_coefficient(kernel, grid):
    """Results go back from PE to PE against the sums, as in Kung's systolic arrays."""
    rng = np.random.default_rng(8)
    x, a = rng.integers(-3, 4, 40).astype(float), rng.integers(-1, 2, 8).astype(float)
    program = kernel.compile(x, a, machine=cy.Machine(grid=grid))
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, kernel.reference(x, a))
    assert cy.prove(program).ok
    one = kernel.compile(x, a, machine=cy.Machine(grid=(1,)))
    if grid[0] == 8:
        assert max(program.grid) == 8
        assert 2 * cycles_of(program) <= cycles_of(one)
    assert cycles_of(program) <= cycles_of(one)


@cy.kernel
def pooled_convolution(x, w, b):
    y = cy.zeros((w.shape[0], x.shape[1] - 2, x.shape[2] - 2))
    for f in range(w.shape[0]):
        for i in range(x.shape[1] - 2):
            for j in range(x.shape[2] - 2):
                s = b[f]
                for c in range(x.shape[0]):
                    for p in range(3):
                        for q in range(3):
                            s += x[c, i + p, j + q] * w[f, c, p, q]
                y[f, i, j] = max(s, 0.0)
    return cy.maximum(
        cy.maximum(y[:, ::2, ::2], y[:, 1::2, ::2]), cy.maximum(y[:, ::2, 1::2], y[:, 1::2, 1::2])
    )


def test_a_placement_that_takes_long_to_analyse_is_tried_where_it_promises_half_as_much_again():
    rng = np.random.default_rng(9)
    x, w, b = (rng.integers(-2, 3, shape).astype(float) for shape in [(3, 10, 10), (4, 3, 3, 3), (4,)])
    machine = cy.Machine(grid=(8, 8))
    program = pooled_convolution.compile(x, w, b, machine=machine)
    both = pooled_convolution.compile(x, w, b, machine=machine, schedule=cy.Schedule().space("i", "j"))
    assert cycles_of(program) <= 1.05 * cycles_of(both)
    np.testing.assert_array_equal(
        cy.run(program, backend="sim").output, pooled_convolution.reference(x, w, b)
    )
