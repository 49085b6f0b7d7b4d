"""Loops that have ended leave the iterations out that would change nothing."""

import warnings

import numpy as np
import pytest

import cyclotron as cy
from cyclotron import _core


@cy.kernel
def jacobi(u, tolerance, steps):
    changes = cy.zeros((steps,))
    for t in range(steps):
        new = u.copy()
        new[1:-1] = (u[:-2] + u[2:]) / 2
        changes[t] = cy.max(cy.abs(new - u))
        u = new
        if changes[t] < tolerance:
            break
    return u, changes


@cy.kernel
def conjugate_gradient(b, tolerance, steps):
    x, r, p = cy.zeros_like(b), b.copy(), b.copy()
    rho = cy.sum(b * b)
    for t in range(steps):
        q = 2 * p - cy.shift(p, 1) - cy.shift(p, -1)
        alpha = rho / cy.sum(p * q)
        x += alpha * p
        r -= alpha * q
        new = cy.sum(r * r)
        if new < tolerance:
            break
        p = r + new / rho * p
        rho = new
    return x


@cy.kernel
def several(u, limit, steps):
    before = u.copy()
    for t in range(steps):
        if cy.max(u) > limit:
            break
        later = u + before
        before = u
        if cy.min(later) > 3 * limit:
            break
        u = later
    for k in range(steps):
        u = u - 1
        if cy.min(u) < 0:
            break
    return u, before


@cy.kernel
def restarted(u, limit, steps):
    for t in range(steps):
        for k in range(steps):
            if cy.max(u) > limit:
                break
            u = u + 1
        u = u - 2
    return u


ALONG = cy.Schedule().space("i")
HEAT = np.r_[np.zeros(5), 1.0]


def runs(program):
    """Each engine and backend: the outputs and the steps are the same."""
    results = [
        cy.run(program, backend="sim"),
        cy.run(program, backend="sim", event_limit=0),
        *(cy.run(program, backend="local", threads=threads) for threads in (1, 2)),
    ]
    first = results[0]
    assert results[1].cycles == first.cycles
    for result in results:
        assert result.steps == first.steps
        for name, output in first.outputs.items():
            assert result.outputs[name].tobytes() == output.tobytes()
    return first


@pytest.mark.sampled(3)
@pytest.mark.parametrize("tolerance", [1.0, 0.1, 1e-2, 1e-3])
@pytest.mark.parametrize("schedule", [ALONG, ALONG.inwards("i")])
def test_steps_follow_convergence(tolerance, schedule):
    steps = 200
    result = runs(jacobi.compile(HEAT, tolerance, steps, schedule=schedule))
    u, changes = jacobi.reference(HEAT, tolerance, steps)
    np.testing.assert_array_equal(result.outputs["u_out"], u)
    np.testing.assert_array_equal(result.outputs["changes"], changes)
    needed = np.count_nonzero(changes)
    assert needed <= result.steps["t"] <= max(needed, 3) + 2
    assert result.stats["steps"] == result.steps


@cy.kernel
def counted_halves(x):
    n = 0
    while cy.max(x) > 1:
        x = x / 2
        n += 1
    return x, n


@pytest.mark.parametrize("greatest", [0.5, 2.0, 32.0])
@pytest.mark.parametrize("schedule", [cy.Schedule(), ALONG])
def test_steps_are_those_executed_and_kernels_count_those_of_numpy(greatest, schedule):
    x = np.array([0.5, greatest, 0.25, 1.0])
    result = runs(counted_halves.compile(x, schedule=schedule))
    halves, needed = counted_halves.reference(x)
    found, counted = result.outputs.values()
    np.testing.assert_array_equal(found, halves)
    assert counted == needed
    assert max(needed, 2) < result.steps["iteration"] <= max(needed, 2) + 3


def test_cycles_do_not_depend_on_the_bound():
    cycles = {
        steps: cy.run(jacobi.compile(HEAT, 1e-3, steps, schedule=ALONG), backend="sim").cycles
        for steps in (100, 400)
    }
    assert cycles[100] == cycles[400]


def test_totals_whose_pes_do_not_need_the_flag():
    b = np.zeros(9)
    b[2] = 1.0
    program = conjugate_gradient.compile(b, 1e-12, 60, schedule=ALONG)
    result = runs(program)
    np.testing.assert_allclose(result.output, conjugate_gradient.reference(b, 1e-12, 60), atol=1e-12)
    assert result.steps["t"] < 14
    assert cy.prove(program).ok


def test_two_loops_and_two_exits():
    u = np.arange(1, 5)
    result = runs(several.compile(u, 50, 40, schedule=ALONG))
    for found, right in zip(result.outputs.values(), several.reference(u, 50, 40), strict=True):
        np.testing.assert_array_equal(found, right)
    assert sorted(result.steps) == ["k", "t"]
    assert max(result.steps.values()) < 40


def test_a_loop_that_does_not_end_takes_all_steps():
    result = runs(jacobi.compile(HEAT, 0.0, 30, schedule=ALONG))
    assert result.steps == {"t": 30}


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4, 5])
def test_few_steps(steps):
    result = runs(jacobi.compile(HEAT, 1e-1, steps, schedule=ALONG))
    np.testing.assert_array_equal(result.outputs["u_out"], jacobi.reference(HEAT, 1e-1, steps)[0])


def test_a_loop_inside_another_one_ends_in_each_of_its_iterations():
    u = np.arange(4)
    program = restarted.compile(u, 9, 20, schedule=ALONG)
    result = runs(program)
    np.testing.assert_array_equal(result.output, restarted.reference(u, 9, 20))
    assert list(result.steps) == ["k"]
    assert result.steps["k"] < 9 + 20 * 6
    assert cy.prove(program).ok


def test_time_alone_takes_all_steps():
    program = jacobi.compile(HEAT, 1e-2, 50, schedule=ALONG)
    assert cy.run(program, backend="sim", functional=False).steps == {"t": 50}
    assert cy.run(program, backend="numpy").steps == {}


def test_files_keep_them():
    program = jacobi.compile(HEAT, 1e-2, 50, schedule=ALONG)
    again = _core.Program.from_bytes(program.core.to_bytes())
    assert again == program.core
    assert again.endings == program.core.endings != []


def test_ranks_leave_the_same_steps_out():
    pytest.importorskip("cyclotron._mpi", reason="Cyclotron was built without MPI")
    program = jacobi.compile(HEAT, 1e-2, 80, schedule=ALONG)
    expected, result = cy.run(program, backend="local"), cy.run(program, backend="mpi", ranks=2)
    assert result.steps == expected.steps
    assert result.steps["t"] < 80
    for name, output in expected.outputs.items():
        assert result.outputs[name].tobytes() == output.tobytes()


def test_memories_fetch_for_the_steps_that_are_taken():
    memory = cy.Memory(bandwidth=1, latency=7, depth=2, serves=":")
    machine = cy.Machine(memories={"dram": memory})
    cycles = [
        runs(jacobi.compile(HEAT, 1e-2, steps, schedule=ALONG).with_machine(machine)).cycles
        for steps in (40, 80)
    ]
    assert cycles[0] == cycles[1]


@cy.kernel
def down_and_up(x, steps):
    q = cy.sum(x)
    for t in range(steps):
        x = x * 0.7
        q = cy.sum(x)
        if q < 5:
            break
    for t in range(steps):
        x = x * 1.3
        q = cy.sum(x)
        if q > 50:
            break
    return x


@cy.kernel
def two_exits(v, steps):
    u = v + 0
    s = cy.sum(v)
    for _ in range(steps):
        d = cy.zeros_like(v)
        u = d
        if not cy.sum(u) < 726:
            break
        if s > 298:
            break
        v[1:] -= u[:-1]
    return u, v, s + 0


@pytest.mark.parametrize("schedule", [None, cy.Schedule()])
def test_loops_of_one_name_end_one_after_the_other(schedule: cy.Schedule | None) -> None:
    x = np.linspace(1, 4, 6)
    program = down_and_up.compile(x, 200, schedule=schedule)
    result = cy.run(program, backend="sim")
    np.testing.assert_array_equal(result.output, down_and_up.reference(x, 200))
    assert list(result.steps) == ["t", "t_2"]
    assert max(result.steps.values()) < 20


@cy.kernel
def halved_after_a_nest(u, v):
    most = cy.max(cy.abs(u))
    for s in range(2):
        for i in range(1, -1, -1):
            for j in range(3):
                v[3 - j, j + 1] -= v[3 - i, 2]
    while most > 0.5:
        u /= 2
        most = cy.max(cy.abs(u))
    change = 1.0
    while change > 0.5:
        v /= 2
        change = cy.max(cy.abs(v))
    return u, v, most, change


@cy.kernel
def halved_between_nests(v, w):
    for s in range(1, 4):
        for i in range(3):
            if v[s] != 0.5:
                v[i] = v[s] + 1
            else:
                v[i] = all(k > 0 for k in range(1, i))
    most = cy.max(cy.abs(w))
    while most > 0.5:
        w /= 2
        most = cy.max(cy.abs(w))
    change = cy.max(cy.abs(v))
    while change > 1:
        v[...] = v / 2
        change = cy.max(cy.abs(v))
    for s in range(4):
        for i in range(s):
            w[0] -= 1
    return v, w, most, change


@pytest.mark.parametrize(
    ("kernel", "shapes"),
    [(halved_after_a_nest, ((2, 4), (4, 5))), (halved_between_nests, ((4,), (2,)))],
    ids=["after a nest", "between nests"],
)
def test_loops_end_one_after_the_other_on_one_pe(kernel, shapes):
    rng = np.random.default_rng(3)
    arguments = [0.2 + 0.5 * rng.random(shape) for shape in shapes]
    result = cy.run(kernel.compile(*arguments, schedule=cy.Schedule()), backend="sim")
    for found, expected in zip(result.outputs.values(), kernel.reference(*arguments), strict=True):
        np.testing.assert_array_equal(found, expected, strict=True)
    assert len(result.steps) == 2
    assert max(result.steps.values()) < 6


@pytest.mark.parametrize("steps", [1, 2, 3, 20])
@pytest.mark.parametrize("n", [2, 5])
def test_flags_reach_loops_that_begin_earlier(n: int, steps: int) -> None:
    v = np.linspace(-1, 90, n)
    program = two_exits.compile(v, steps)
    assert cy.prove(program)
    for backend in ("sim", "local"):
        outputs = cy.run(program, backend=backend).outputs.values()
        for found, wanted in zip(outputs, two_exits.reference(v, steps), strict=True):
            np.testing.assert_array_equal(found, wanted)


@cy.kernel
def textbook(u, tol):
    change = 1.0
    while change > tol:
        new = u.copy()
        new[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        change = cy.max(cy.abs(new - u))
        u = new
    return u


@cy.kernel
def textbook_break(u, tol):
    for t in range(100_000):
        new = u.copy()
        new[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        change = cy.max(cy.abs(new - u))
        u = new
        if change < tol:
            break
    return u


@cy.kernel
def in_place(u, tol):
    """PEs at the border need no flag: they are sent it back the way that their changes went."""
    change = 1.0
    while change > tol:
        old = u.copy()
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        change = cy.max(cy.abs(u - old))
    return u


@cy.kernel
def masked(u, red, tol):
    change, steps = 1.0, 0
    while change > tol:
        old = u.copy()
        s = (cy.shift(u, 1, 0) + cy.shift(u, -1, 0) + cy.shift(u, 1, 1) + cy.shift(u, -1, 1)) / 4
        u = cy.where(red == 1, s, u)
        s = (cy.shift(u, 1, 0) + cy.shift(u, -1, 0) + cy.shift(u, 1, 1) + cy.shift(u, -1, 1)) / 4
        u = cy.where(red == 0, s, u)
        change = cy.max(cy.abs(u - old))
        steps += 1
    return u, steps


@cy.kernel
def implicit(u, tol, steps):
    """Jacobi until converged, in each step of time."""
    for t in range(steps):
        b = u.copy()
        change = 1.0
        while change > tol:
            new = u.copy()
            new[1:-1, 1:-1] = (
                b[1:-1, 1:-1] + (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 2
            ) / 3
            change = cy.max(cy.abs(new - u))
            u = new
    return u


@cy.kernel
def implicit_until_steady(u, tol, steady):
    drift = 1.0
    while drift > steady:
        b = u.copy()
        change = 1.0
        while change > tol:
            new = u.copy()
            new[1:-1, 1:-1] = (
                b[1:-1, 1:-1] + (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 2
            ) / 3
            change = cy.max(cy.abs(new - u))
            u = new
        drift = cy.max(cy.abs(u - b))
    return u


@cy.kernel
def implicit_cg(u, tol, steps):
    for t in range(steps):
        r = cy.shift(u, 1, 0) + cy.shift(u, -1, 0) + cy.shift(u, 1, 1) + cy.shift(u, -1, 1) - 4 * u
        p = r.copy()
        rho = cy.sum(r * r)
        while rho > tol:
            q = 5 * p - cy.shift(p, 1, 0) - cy.shift(p, -1, 0) - cy.shift(p, 1, 1) - cy.shift(p, -1, 1)
            alpha = rho / cy.sum(p * q)
            u = u + alpha * p
            r = r - alpha * q
            before, rho = rho, cy.sum(r * r)
            p = r + rho / before * p
    return u


@cy.kernel
def newton(u, tol, steps):
    for t in range(steps):
        b = u.copy()
        while cy.max(cy.abs(u + u**3 / 2 - b)) > tol:
            u = u - (u + u**3 / 2 - b) / (1 + 1.5 * u**2)
    return u


PLATE = np.zeros((6, 6))
PLATE[0] = 1.0
SPOT = np.zeros((5, 5))
SPOT[1, 2], SPOT[3, 1] = 1.0, -0.5
OVER = cy.Schedule().space("i", "j")
TEXTBOOK = [
    (textbook, (PLATE, 1e-2), 20),
    (textbook_break, (PLATE, 1e-2), 20),
    (in_place, (PLATE, 1e-2), 20),
    (masked, (SPOT, np.indices((5, 5)).sum(0) % 2, 1e-2), 12),
    (implicit, (PLATE, 1e-3, 4), 50),
    (implicit_until_steady, (PLATE, 1e-3, 1e-2), 120),
    (implicit_cg, (SPOT, 1e-12, 3), 60),
    (newton, (PLATE + 0.3, 1e-8, 4), 24),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("kernel", "arguments", "most"), TEXTBOOK, ids=lambda value: getattr(value, "name", "")
)
@pytest.mark.parametrize("schedule", [OVER, OVER.inwards("i", "j")], ids=["chains", "inwards"])
def test_textbook_forms_end_on_grids(kernel, arguments, most, schedule):
    """Loops of a million steps cost what they execute; each class of PEs hears of their ends."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = kernel.compile(*arguments, schedule=schedule)
    result = runs(program)
    expected = kernel.reference(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for found, right in zip(result.outputs.values(), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-14)
    assert result.steps
    assert sum(result.steps.values()) <= most
    assert max(pes.data for pes in program.memory.classes) < 1000


def test_ranks_end_loops_inside_others_alike():
    pytest.importorskip("cyclotron._mpi", reason="Cyclotron was built without MPI")
    program = implicit_until_steady.compile(PLATE, 1e-3, 1e-2, schedule=OVER)
    expected, result = cy.run(program, backend="local"), cy.run(program, backend="mpi", ranks=2)
    assert result.steps == expected.steps
    for name, output in expected.outputs.items():
        assert result.outputs[name].tobytes() == output.tobytes()


@pytest.mark.parametrize(("kernel", "arguments"), [(textbook, (PLATE, 1e-2)), (implicit, (PLATE, 1e-3, 4))])
def test_time_alone_takes_the_steps_that_are_given(kernel, arguments):
    program = kernel.compile(*arguments, schedule=OVER)
    times = [
        cy.run(program, backend="sim", functional=False, steps={"iteration": steps}) for steps in (10, 20, 30)
    ]
    assert times[1].cycles - times[0].cycles == times[2].cycles - times[1].cycles > 0
    loops = program.core.endings[0]["runs"]
    assert [result.steps["iteration"] for result in times] == [10 * loops, 20 * loops, 30 * loops]


def test_time_alone_of_given_steps_is_that_of_a_run():
    program = textbook.compile(PLATE, 1e-2, schedule=OVER)
    result = cy.run(program, backend="sim")
    timed = cy.run(program, backend="sim", functional=False, steps=result.steps)
    assert (timed.cycles, timed.steps) == (result.cycles, result.steps)


@pytest.mark.parametrize(
    "steps", [{"t": 3}, {"iteration": -1}, {"iteration": 1.5}, 3, {"iteration": 1_000_001}]
)
def test_steps_that_are_none(steps):
    program = textbook.compile(PLATE, 1e-2, schedule=OVER)
    with pytest.raises(cy.ExecutionError) as caught:
        cy.run(program, backend="sim", functional=False, steps=steps)
    assert caught.value.code == "CYC733"
    with pytest.raises(cy.ExecutionError):
        cy.run(program, backend="sim", steps={"iteration": 3})


@cy.kernel
def recorded(u, tol):
    """Steps after the end would store -1, so that none can be left out."""
    seen = cy.full((40,), -1.0)
    for t in range(40):
        u = u / 2
        seen[t] = cy.max(u)
        if cy.max(u) < tol:
            break
    return u, seen


@cy.kernel
def later(u, tol):
    """Each row begins where the one before did not."""
    for k in range(3):
        for _t in range(k, 40):
            u = u / 2
            if cy.max(u) < tol:
                break
        u = u * 1024
    return u


def test_a_loop_that_has_to_go_on_says_why(golden_refusal, recwarn):
    def compiled():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            recorded.compile(HEAT, 1e-3, schedule=ALONG)

    def from_row():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            later.compile(HEAT, 1e-3, schedule=ALONG)

    golden_refusal("loop-to-its-bound", cy.PerformanceWarning, "CYC331", compiled)
    golden_refusal("loop-of-varying-range", cy.PerformanceWarning, "CYC331", from_row)
    program = recorded.compile(HEAT, 1e-3, schedule=ALONG.inwards("i"))
    assert [one.category for one in recwarn.list] == [cy.PerformanceWarning]
    result = runs(program)
    assert result.steps == {}
    for found, right in zip(result.outputs.values(), recorded.reference(HEAT, 1e-3), strict=True):
        np.testing.assert_array_equal(found, right)


@cy.kernel
def counted(u, tol, steady):
    """Counters of both loops, which the inner one hands on where the outer one has ended."""
    drift, outer, inner = 1.0, 0, cy.zeros((1,), dtype="int64")
    while drift > steady:
        b = u.copy()
        change = 1.0
        while change > tol:
            new = (b + cy.shift(u, 1) + cy.shift(u, -1)) / 3
            change = cy.max(cy.abs(new - u))
            u = new
            inner += 1
        drift = cy.max(cy.abs(u - b))
        outer += 1
    return u, outer, inner


def test_counters_of_loops_inside_others_stand_still():
    program = counted.compile(HEAT, 1e-4, 1e-2, schedule=ALONG)
    result = runs(program)
    u, outer, inner = counted.reference(HEAT, 1e-4, 1e-2)
    np.testing.assert_allclose(result.outputs["u_out"], u, rtol=1e-12)
    found = list(result.outputs.values())
    assert (found[1], found[2][0]) == (outer, inner[0])
    assert list(result.steps) == ["iteration", "iteration2"]
    assert outer <= result.steps["iteration"] <= outer + 3
    assert inner[0] <= result.steps["iteration2"] <= inner[0] + 3 * result.steps["iteration"]


def test_memory_does_not_grow_with_the_bound():
    peaks = {
        most: cy.kernel(max_steps=most)(implicit.__wrapped__).compile(PLATE, 1e-3, 3, schedule=OVER)
        for most in (100, 100_000)
    }
    assert len({program.memory.fullest.total for program in peaks.values()}) == 1


@cy.kernel
def mirrored(u):
    s = cy.max(u)
    while s > 0.1:
        u = (u[::-1] + u) * 0.3
        s = cy.max(u)
    return u


@cy.kernel
def rolled(u):
    while u[0] > 0.1:
        u = (cy.roll(u, 1) + u) * 0.3
    return u


@pytest.mark.parametrize("n", [2, 3])
def test_defaults_end_loops_where_any_placement_does(n, recwarn):
    u = np.arange(1.0, n + 1)
    result = cy.run(mirrored.compile(u), backend="sim")
    np.testing.assert_array_equal(result.output, mirrored.reference(u))
    assert result.cycles < 200
    assert not recwarn.list


@pytest.mark.parametrize("schedule", [cy.Schedule(), ALONG.fold(i=1), ALONG.fold(i=2)])
def test_a_value_that_is_needed_after_its_loop_takes_no_place_an_iteration(schedule):
    u = np.arange(1.0, 5.0)
    program = rolled.compile(u, schedule=schedule)
    result = runs(program)
    np.testing.assert_array_equal(result.output, rolled.reference(u))
    assert max(result.steps.values()) < 12
    assert program.memory.fullest.data < 200


@cy.kernel
def nested_jacobi(u, f, steps, tolerance):
    for _step in range(steps):
        change = 1.0
        while change > tolerance:
            new = u.copy()
            new[1:-1] = (u[:-2] + u[2:] + f[1:-1]) / 2
            change = cy.max(cy.abs(new - u))
            u = new
        f[1:-1] += 0.1 * (u[2:] - u[:-2])
    return u, f


@pytest.mark.parametrize("steps", [1, 2])
def test_loops_end_inside_a_loop_of_one_iteration(steps, recwarn):
    arguments = np.zeros(6), np.ones(6), steps, 1e-2
    program = nested_jacobi.compile(*arguments)
    result = cy.run(program, backend="sim")
    assert not [one for one in recwarn if "CYC331" in str(one.message)]
    assert max(result.steps.values()) < 100 * steps
    for found, right in zip(result.outputs.values(), nested_jacobi.reference(*arguments), strict=True):
        np.testing.assert_array_equal(found, right)


@cy.kernel
def clusters(x, c):
    """k-means: whole centres are needed in every PE, and tell whether the loop ends."""
    moved = 1.0
    while moved > 1e-6:
        distance = cy.sum((x[:, None, :] - c[None, :, :]) ** 2, axis=2)
        near = cy.where(distance == cy.min(distance, axis=1)[:, None], 1.0, 0.0)
        new = (near.T @ x) / cy.maximum(cy.sum(near, axis=0), 1.0)[:, None]
        moved = cy.max(cy.abs(new - c))
        c = new
    return c


def test_a_default_that_would_lose_its_exit_gives_way_to_one_pe(recwarn):
    """Whose analysis takes more operations of isl than a candidate has."""
    x = np.random.default_rng(1).random((12, 2))
    result = cy.run(clusters.compile(x, x[:3]), backend="sim")
    assert result.steps == {"iteration": 4}
    np.testing.assert_array_equal(result.output, clusters.reference(x, x[:3]))
    assert not [warning for warning in recwarn if "CYC331" in str(warning.message)]


@cy.kernel
def left_inside(x):
    n = len(x)
    k = total = 0
    while k < n - 1:
        k += 1
        j = 0
        while j < k:
            if x[j] > x[k]:
                break
            j += 1
        total += j
    return x + total


def test_a_loop_ends_around_one_that_is_left(recwarn):
    x = np.array([0, 1, 0, 0, 1, 0, 1])
    result = cy.run(left_inside.compile(x), backend="sim")
    np.testing.assert_array_equal(result.output, left_inside.reference(x.copy()))
    assert result.cycles < 10_000  # of a million iterations
    assert not [one for one in recwarn if "CYC331" in str(one.message)]


@cy.kernel
def sparse_jacobi(row, col, val, b):
    """Loops over what data tell inside one that data end: what a row made is read when all have been made."""
    n = b.shape[0]
    x = np.zeros(n)
    change = 1.0
    steps = 0
    while change > 1e-1:
        y = np.zeros(n)
        for i in range(n):
            s = b[i]
            for k in range(row[i], row[i + 1]):
                s += val[k] * x[col[k]]
            y[i] = s
        change = 0.0
        for i in range(n):
            change += abs(y[i] - x[i])
            x[i] = y[i]
        steps += 1
    return x, steps


@cy.kernel
def halved_and_swept(u, times):
    n = u.shape[0]
    for _t in range(times):
        while sum(u[i, j] for i in range(n) for j in range(n)) > 1:
            for i in range(n):
                for j in range(n):
                    u[i, j] *= 0.5
        for j in range(n):
            for i in range(1, n):
                u[i, j] += u[i - 1, j]
    return u


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("schedule", [None, cy.Schedule()], ids=["default", "one PE"])
def test_loops_around_loops_of_data_end(n, schedule, recwarn):
    """With two rows too, of which the dataflow is one function of the row: 60 million cycles."""
    rng = np.random.default_rng(n)
    row = np.concatenate([[0], np.cumsum(rng.integers(1, 3, n))])
    given = row, rng.integers(0, n, row[-1]), rng.random(row[-1]) / 4, np.ones(n)
    program = sparse_jacobi.compile(*given, schedule=schedule)
    assert not [w for w in recwarn if "CYC331" in str(w.message)]
    result = cy.run(program, backend="sim")
    x, steps = sparse_jacobi.__wrapped__(*given)
    np.testing.assert_array_equal(result.outputs["x"], x)
    assert result.outputs["steps"] == steps
    assert result.cycles < 10_000


@pytest.mark.parametrize("times", [1, 2, 3])
def test_loops_inside_a_loop_of_few_iterations_end(times, recwarn):
    u = np.random.default_rng(1).random((3, 3))
    program = halved_and_swept.compile(u.copy(), times)
    assert not [w for w in recwarn if "CYC331" in str(w.message)]
    result = cy.run(program, backend="sim")
    np.testing.assert_allclose(result.output, halved_and_swept.__wrapped__(u.copy(), times), rtol=1e-13)
    assert result.cycles < 1_000


@cy.kernel
def implicit_twice(u, f):
    for _ in range(4):
        f = f * 0.9
        residual = 1.0
        while residual > 1e-4:
            p = u.copy()
            inner = 1.0
            while inner > 1e-3:
                q = p.copy()
                q[1:-1] = (p[2:] + p[:-2] + f[1:-1]) / 2.2
                inner = cy.max(cy.abs(q - p))
                p = q
            residual = cy.max(cy.abs(p - u))
            u = p
    return u


@pytest.mark.timeout(20)
def test_threads_go_through_no_iterations_that_only_bounds_allow():
    """By their bounds the inner loop has a million iterations in each of a million, 4 times."""
    rng = np.random.default_rng(4)
    u, f = rng.random(16), rng.random(16)
    program = implicit_twice.compile(u, f, machine=cy.Machine(grid=(4,)))
    result = cy.run(program, backend="local")
    np.testing.assert_array_equal(result.output, implicit_twice.reference(u, f))
    assert max(result.steps.values()) < 1000


@cy.kernel
def symmetrized(u, tol):
    change = 1.0
    while change > tol:
        w = (u + u.T) / 2 + 0.1 * (cy.roll(u, 1, axis=0) - u)
        change = cy.max(cy.abs(w - u))
        u = w
    return u


@pytest.mark.parametrize("grid", [(8, 8), (4,)], ids=str)
def test_transposes_in_a_loop_that_ends_take_no_place_an_iteration(grid):
    """Rows that lie on fewer PEs go on long ways, which say of some coordinates the number alone."""
    u = np.random.default_rng(5).random((10, 10))
    program = symmetrized.compile(u, 1e-3, machine=cy.Machine(grid=grid))
    assert max(program.grid) > 1
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, symmetrized.reference(u, 1e-3))
