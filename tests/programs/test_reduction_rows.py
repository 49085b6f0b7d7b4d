"""The reductions of MACH's figure 4 as a program: two rows amid the field, four PEs, one, and back."""

import dataclasses

import numpy as np
import pytest

import cyclotron as cy

# Stages 1 and 2 go past the programs of the PEs between; the other ways are short.
SCHEDULE = cy.Schedule().space("i", "j").time("t").broadcast("u", along="i").broadcast("c", along="j")


def kernel_of(h, columns, work):
    """Workers in `h` rows above and below; rows h and h + 1 reduce.

    What a step adds up of the values before it, and `work` products, of which the sums need none.
    """
    half = columns // 2

    @cy.kernel
    def stages(x, y, steps):
        u, c = cy.empty((steps, 2 * h + 2, columns)), cy.empty((steps, 2 * h + 2, columns))
        q, s = cy.empty((steps, 2 * h + 2, columns)), cy.empty((steps,))
        upper, lower = cy.empty((steps, h, columns, work)), cy.empty((steps, h, columns, work))
        for t in range(steps):
            for i in range(2 * h + 2):
                for j in range(columns):
                    if i < h:
                        u[t, i, j] = x[i, j] if t == 0 else u[t - 1, i, j] * 0.5 + s[t - 1]
                        for w in range(work):
                            if w == 0:
                                upper[t, i, j, w] = y[i, j] if t == 0 else upper[t - 1, i, j, work - 1]
                            else:
                                upper[t, i, j, w] = upper[t, i, j, w - 1] * 0.9
                    elif i > h + 1:
                        u[t, i, j] = x[i, j] if t == 0 else u[t - 1, i, j] * 0.5 + s[t - 1]
                        for w in range(work):
                            if w == 0:
                                lower[t, i - h - 2, j, w] = (
                                    y[i, j] if t == 0 else lower[t - 1, i - h - 2, j, work - 1]
                                )
                            else:
                                lower[t, i - h - 2, j, w] = lower[t, i - h - 2, j, w - 1] * 0.9
            for i in range(h, h + 2):  # stage 1: each column into the nearer row
                for j in range(columns):
                    if i == h:
                        c[t, i, j] = sum(u[t, k, j] for k in range(h))
                    else:
                        c[t, i, j] = sum(u[t, k + h + 2, j] for k in range(h))
            for i in range(h, h + 2):  # stage 2: each half of a row into its inner PE
                for j in range(half - 1, half + 1):
                    if j < half:
                        q[t, i, j] = sum(c[t, i, k] for k in range(half))
                    else:
                        q[t, i, j] = sum(c[t, i, k + half] for k in range(half))
            for i in range(h, h + 1):  # stage 3: the four inner PEs into one of them
                for j in range(half, half + 1):
                    s[t] = ((q[t, i, j] + q[t, i, j - 1]) + (q[t, i + 1, j] + q[t, i + 1, j - 1])) * 0.001
        return upper, lower, s

    return stages


def in_numpy(x, y, h, work, steps):
    """By the same three stages, each from its first value on."""
    half, u, sums = x.shape[1] // 2, x.copy(), []
    v = np.empty((steps, *y.shape, work))
    for t in range(steps):
        u = x.copy() if t == 0 else u * 0.5 + sums[-1]
        rows = []
        for part in (u[:h], u[h + 2 :]):
            column = part[0].copy()
            for row in part[1:]:
                column = column + row
            rows.append(column)
        inner = [[np.add.accumulate(part)[-1] for part in (row[:half], row[half:])] for row in rows]
        sums.append(((inner[0][1] + inner[0][0]) + (inner[1][1] + inner[1][0])) * 0.001)
        v[t, ..., 0] = y if t == 0 else v[t - 1, ..., -1]
        for w in range(1, work):
            v[t, ..., w] = v[t, ..., w - 1] * 0.9
    return v[:, :h], v[:, h + 2 :], np.array(sums)


def program_of(h, columns, work, steps):
    arrays = [np.random.default_rng(n).random((2 * h + 2, columns)) for n in (1, 2)]
    machine = dataclasses.replace(cy.machines.wse2(2 * h + 2, columns), spread="distance")
    return kernel_of(h, columns, work).compile(*arrays, steps, schedule=SCHEDULE, machine=machine), arrays


def steps_cost(h, columns, work):
    cycles = [
        cy.run(program_of(h, columns, work, steps)[0], backend="sim", functional=False).cycles
        for steps in (6, 12)
    ]
    return (cycles[1] - cycles[0]) / 6


@pytest.mark.parametrize(("h", "columns"), [(2, 4), (3, 6), (4, 8)])
@pytest.mark.parametrize("backend", ["sim", "local", "mpi"])
def test_sums_in_three_stages(h, columns, backend):
    """MA-037 to MA-040, MA-116, MA-117: bit for bit those of the stages' order, which workers get back."""
    program, (x, y) = program_of(h, columns, 3, 5)
    found = cy.run(program, backend=backend).outputs
    for own, right in zip(found.values(), in_numpy(x, y, h, 3, 5), strict=True):
        np.testing.assert_array_equal(own, right)


@pytest.mark.parametrize(("h", "columns"), [(2, 4), (5, 12)])
def test_roles_have_their_places(h, columns):
    """MA-015, MA-016, MA-119: reduction PEs are the rows in the middle, but the one with the result."""
    program, _ = program_of(h, columns, 3, 5)
    assert program.roles.count("reduction") == 2 * columns - 1
    assert program.roles.count("worker") == 2 * h * columns + 1
    for role in program.roles:
        if role.name == "reduction":
            assert f"i = {h}" in role.region or f"i = {h + 1}" in role.region or f"{h} <= i" in role.region
            assert role.tensors == ()
    # No place is tested at run time: conditions are on steps.
    conditions = [text for one in program.classes for text in str(one).split("\n") if " if " in text]
    assert not any(" i " in text or " j " in text for text in conditions)


def test_stages_take_the_way_to_the_middle_and_work_hides_it():
    """MA-036, MA-037 to MA-041: a longer way costs its hops; a step of much work costs its work."""
    idle = {size: steps_cost(*size, 2) for size in ((2, 4), (3, 4), (2, 8))}
    assert idle[3, 4] - idle[2, 4] >= 2  # a hop there and one back
    assert idle[2, 8] - idle[2, 4] >= 4  # two hops there and back
    assert steps_cost(2, 4, 4) == idle[2, 4]
    much = [steps_cost(2, 4, work) for work in (60, 80)]
    assert much[1] - much[0] == 20
    assert much[0] == 61  # 59 products, a product and a sum


def until(h, columns, work, *, local):
    """The same stages for columns of `work` points a worker, until the sum is small.

    `local`: workers read the sum, which the executive alone does else.
    """
    half = columns // 2

    @cy.kernel
    def drained(x, least, steps):
        upper, lower = cy.empty((steps, h, columns, work)), cy.empty((steps, h, columns, work))
        a, c = cy.empty((steps, 2 * h + 2, columns)), cy.empty((steps, 2 * h + 2, columns))
        q, s = cy.empty((steps, 2 * h + 2, columns)), cy.empty((steps,))
        for t in range(steps):
            for i in range(2 * h + 2):
                for j in range(columns):
                    if i < h:
                        for w in range(work):
                            if local:
                                upper[t, i, j, w] = (
                                    x[i, j, w] if t == 0 else upper[t - 1, i, j, w] * 0.5 - s[t - 1]
                                )
                            else:
                                upper[t, i, j, w] = x[i, j, w] if t == 0 else upper[t - 1, i, j, w] * 0.5
                    elif i > h + 1:
                        for w in range(work):
                            if local:
                                lower[t, i - h - 2, j, w] = (
                                    x[i, j, w] if t == 0 else lower[t - 1, i - h - 2, j, w] * 0.5 - s[t - 1]
                                )
                            else:
                                lower[t, i - h - 2, j, w] = (
                                    x[i, j, w] if t == 0 else lower[t - 1, i - h - 2, j, w] * 0.5
                                )
            for i in range(2 * h + 2):
                for j in range(columns):
                    if i < h:
                        a[t, i, j] = sum(upper[t, i, j, w] for w in range(work))
                    elif i > h + 1:
                        a[t, i, j] = sum(lower[t, i - h - 2, j, w] for w in range(work))
            for i in range(h, h + 2):
                for j in range(columns):
                    if i == h:
                        c[t, i, j] = sum(a[t, k, j] for k in range(h))
                    else:
                        c[t, i, j] = sum(a[t, k + h + 2, j] for k in range(h))
            for i in range(h, h + 2):
                for j in range(half - 1, half + 1):
                    if j < half:
                        q[t, i, j] = sum(c[t, i, k] for k in range(half))
                    else:
                        q[t, i, j] = sum(c[t, i, k + half] for k in range(half))
            for i in range(h, h + 1):
                for j in range(half, half + 1):
                    s[t] = ((q[t, i, j] + q[t, i, j - 1]) + (q[t, i + 1, j] + q[t, i + 1, j - 1])) * 0.001
            if s[t] < least:
                break
        return s

    return drained


def sums_until(x, h, least, steps, *, local):
    """By NumPy, each from its first value on."""
    half, u, sums = x.shape[1] // 2, x.copy(), []
    for t in range(steps):
        if t > 0:
            u = u * 0.5 - sums[-1] if local else u * 0.5
        rows = []
        for part in (u[:h], u[h + 2 :]):
            columns = np.add.accumulate(part, axis=2)[..., -1]
            rows.append(np.add.accumulate(columns, axis=0)[-1])
        inner = [[np.add.accumulate(part)[-1] for part in (row[:half], row[half:])] for row in rows]
        sums.append(((inner[0][1] + inner[0][0]) + (inner[1][1] + inner[1][0])) * 0.001)
        if sums[-1] < least:
            break
    return np.array(sums)


def drained_program(h, columns, work, least, steps, *, local, setup=50):
    x = np.random.default_rng(3).random((2 * h + 2, columns, work))
    wafer = cy.machines.wse2(2 * h + 3, columns, channels=None)
    control = dataclasses.replace(wafer.control, setup=setup, global_data=True)
    machine = dataclasses.replace(wafer, control=control, spread="distance")
    schedule = cy.Schedule().space("i", "j").time("t")
    kernel = until(h, columns, work, local=local)
    return kernel.compile(x, least, steps, schedule=schedule, machine=machine), x


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize(("h", "columns"), [(2, 4), (3, 6)])
@pytest.mark.parametrize("backend", ["sim", "local", "mpi"])
def test_a_loop_ends_by_a_sum_in_three_stages(h, columns, local, backend):
    """MA-120: bit for bit the sums of the stages' order, up to the one by which the loop ends."""
    program, x = drained_program(h, columns, 5, 4e-3, 30, local=local)
    right = sums_until(x, h, 4e-3, 30, local=local)
    assert 2 < len(right) < 30
    found = cy.run(program, backend=backend).output
    np.testing.assert_array_equal(found[: len(right)], right)


@pytest.mark.parametrize("local", [True, False])
def test_reduction_pes_take_the_words_of_calls_that_they_have_no_part_in(local):
    """MA-119, MA-120: those set nothing up for it, and hold nobody up in a thousand words and more."""
    h, columns, setup = 3, 6, 50
    program, _ = drained_program(h, columns, 5, -1.0, 600, local=local, setup=setup)
    assert program.roles.count("reduction") == 2 * columns - 1
    workers = [role for role in program.roles if role.name == "worker" and "i = 0" in role.region]
    reductions = [role for role in program.roles if role.name == "reduction"]
    calls = set.union(*(set(role.calls) for role in workers))
    for role in reductions:
        assert not role.tensors
        assert calls - set(role.calls)
    result = cy.run(program, backend="sim", functional=False)
    set_up = (result.stats["stall_control"] - result.stats["wait_control"]) // setup
    assert set_up[: 2 * h + 2].min() > 550  # with arguments more words than the merge PE's queue holds
    rows = np.delete(set_up[h : h + 2].ravel(), columns // 2)  # but for the PE with the result
    assert rows.max() + 550 < set_up[0].min()


def test_a_sum_goes_back_or_to_the_executive():
    """MA-040, MA-120: to all workers where they read it, else past those on the way to the executive."""
    h, columns, steps, sent = 3, 6, 20, {}
    for local in (True, False):
        program, _ = drained_program(h, columns, 5, -1e9, steps, local=local)
        result = cy.run(program, backend="sim", functional=False)
        sent[local] = sum(
            one["messages"] for one in result.stats["channels"] if one["name"].startswith("s along")
        )
        (told,) = [one for one in result.stats["channels"] if one["name"].endswith("to the executive")]
        assert told["messages"] == steps
    workers = 2 * h * columns
    assert sent[False] <= steps * (h + columns // 2)
    assert sent[True] >= sent[False] + (steps - 1) * workers
