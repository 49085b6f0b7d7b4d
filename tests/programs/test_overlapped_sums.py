"""Sums of a field of workers by a row of reduction PEs, while workers go on (MACH, sections 4.1 and 4.2)."""

import numpy as np
import pytest

import cyclotron as cy

# Workers' values go down the columns, and columns' sums along the row, past the programs of the PEs between.
SCHEDULE = cy.Schedule().space("i", "j").time("t")
DRAINED = SCHEDULE.broadcast("u", along="i").broadcast("c", along="j")


def kernel_of(rows, columns, work, *, reduces=True):
    """Each step's `u` needs the sum of the step before, and `work` products do not.

    Row `rows` adds up the columns, a PE below it all of them, which goes back to the workers.
    """
    middle = columns // 2

    @cy.kernel
    def with_sums(x, y, steps):
        u, c, s = cy.empty((steps, rows, columns)), cy.empty((steps, columns)), cy.empty((steps,))
        v = cy.empty((steps, rows, columns, work))
        for t in range(steps):
            for i in range(rows + 2):
                for j in range(columns):
                    if i < rows:
                        u[t, i, j] = x[i, j] if t == 0 else u[t - 1, i, j] * 0.5 + s[t - 1]
                        for w in range(work):
                            if w == 0:
                                v[t, i, j, w] = y[i, j] if t == 0 else v[t - 1, i, j, work - 1]
                            else:
                                v[t, i, j, w] = v[t, i, j, w - 1] * 0.9
                    elif i == rows:
                        c[t, j] = sum(u[t, k, j] for k in range(rows))
                    elif j == middle:
                        s[t] = sum(c[t, k] for k in range(columns)) * 0.001
        return v, s

    @cy.kernel
    def alone(x, y, steps):
        u, v = cy.empty((steps, rows, columns)), cy.empty((steps, rows, columns, work))
        for t in range(steps):
            for i in range(rows):
                for j in range(columns):
                    u[t, i, j] = x[i, j] if t == 0 else u[t - 1, i, j] * 0.5 + 0.001
                    for w in range(work):
                        if w == 0:
                            v[t, i, j, w] = y[i, j] if t == 0 else v[t - 1, i, j, work - 1]
                        else:
                            v[t, i, j, w] = v[t, i, j, w - 1] * 0.9
        return u, v

    return with_sums if reduces else alone


def program_of(rows, columns, work, steps, *, latency=1, reduces=True):
    kernel = kernel_of(rows, columns, work, reduces=reduces)
    arrays = [np.random.default_rng(n).random((rows, columns)) for n in (1, 2)]
    hop = cy.Link(latency=latency)
    machine = cy.Machine(link=hop, broadcast=hop, spread="distance")
    return kernel.compile(*arrays, steps, schedule=DRAINED if reduces else SCHEDULE, machine=machine), arrays


def steps_cost(*arguments, first=6, **options):
    """Cycles of a step, past the filling of the grid."""
    cycles = []
    for steps in (first, 2 * first):
        program, _ = program_of(*arguments, steps, **options)
        cycles.append(cy.run(program, backend="sim", functional=False).cycles)
    return (cycles[1] - cycles[0]) / first


def in_numpy(x, y, work, steps):
    u, sums, v = x.copy(), [], np.empty((steps, *x.shape, work))
    for t in range(steps):
        u = x if t == 0 else u * 0.5 + sums[-1]
        sums.append(u.sum() * 0.001)
        v[t, ..., 0] = y if t == 0 else v[t - 1, ..., -1]
        for w in range(1, work):
            v[t, ..., w] = v[t, ..., w - 1] * 0.9
    return v, np.array(sums)


@pytest.mark.parametrize("backend", ["sim", "local", "mpi"])
def test_reduction_pes_add_what_workers_send(backend):
    """MA-016, MA-037, MA-040: a row of PEs without data of the program sums columns; the sum goes back."""
    program, (x, y) = program_of(4, 6, 3, 5)
    assert program.roles.count("reduction") == 6
    assert all(not role.tensors for role in program.roles if role.name == "reduction")
    found = cy.run(program, backend=backend).outputs
    for own, right in zip(found.values(), in_numpy(x, y, 3, 5), strict=True):
        np.testing.assert_allclose(own, right, rtol=1e-13)


@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (4, 6), (6, 5)])
@pytest.mark.parametrize("latency", [1, 3])
def test_work_hides_the_latency_of_a_sum(rows, columns, latency):
    """MA-036, MA-041: with work enough a step takes as long as without sums, with little it takes longer."""
    way = 2 * latency * (rows + columns) + 2 * columns + rows  # there and back, and the sums themselves
    little, much = 2, 2 * way
    hidden = steps_cost(rows, columns, much, latency=latency)
    assert hidden == steps_cost(rows, columns, much, latency=latency, reduces=False)
    waits = steps_cost(rows, columns, little, latency=latency)
    assert waits >= steps_cost(rows, columns, little, latency=latency, reduces=False) + latency * rows
    assert steps_cost(rows, columns, little + 3, latency=latency) == waits  # more work, the same time


def test_a_workers_time_is_its_work():
    """MA-041: it is free once its value is on the way: it computes in all cycles but the first few."""
    program, _ = program_of(4, 6, 60, 20)
    result = cy.run(program, backend="sim", functional=False)
    workers = result.stats["busy"][:4]
    assert workers.min() >= 0.95 * result.cycles
