"""Loops that have ended leave the iterations out that would change nothing."""

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


def test_a_loop_inside_another_one_goes_on():
    u = np.arange(4)
    program = restarted.compile(u, 9, 8, schedule=ALONG)
    result = runs(program)
    np.testing.assert_array_equal(result.output, restarted.reference(u, 9, 8))
    assert result.steps == {}


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
