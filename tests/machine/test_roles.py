"""Roles: one controller in the middle, workers with data, reduction PEs and relays without."""

import itertools

import numpy as np
import pytest
from control_kernels import halved, tree_total

import cyclotron as cy

CONTROL = cy.Control()


@cy.kernel
def ends(x, n):
    """The first two PEs of n send to the last two."""
    y = cy.empty_like(x)
    for i in range(n):
        if i < 2:
            y[i] = x[i]
    for i in range(n):
        if i > n - 3:
            y[i - n + 4] = x[i - n + 2] * y[i - n + 2]
    return y


def on_grid(shape, topology="mesh", control=CONTROL, machine=None):
    schedule = cy.Schedule().space(*"ij"[: len(shape)]).time("_")
    target = machine or cy.Machine(grid=shape, topology=topology, control=control)
    return halved.compile(np.ones(shape), 0.5, 40, schedule=schedule, machine=target)


@pytest.mark.parametrize("topology", ["mesh", "torus"])
@pytest.mark.parametrize("shape", [(4, 4), (5, 7), (1, 6), (7, 1), (1, 1), (5,)], ids=str)
def test_the_controller_stands_where_its_pes_are_nearest(shape, topology):
    """MA-017."""
    program = on_grid(shape, topology)
    controller = program.roles.controller
    places = list(itertools.product(*map(range, shape)))

    def hops(a, b):
        ways = [(abs(x - y), n) for x, y, n in zip(a, b, shape, strict=True)]
        return sum(min(way, n - way) if topology == "torus" else way for way, n in ways)

    means = {at: np.mean([hops(at, pe) for pe in places]) for at in places}
    assert controller.mean_hops == means[controller.place]
    assert controller.mean_hops == min(means.values())
    assert controller.most_hops == max(hops(controller.place, pe) for pe in places)


def test_only_the_controller_holds_control_flow():
    roles = on_grid((3, 4)).roles
    assert roles.controller.loops == ("_",)
    loop = halved.first_line + 3
    assert roles.controller.flags == (
        f"whether_the_loop_at_line_{loop}_goes_on (control_kernels.py:{loop + 1})",
    )
    assert roles.controller.sections == 3
    assert "controller" in str(roles)
    assert "a controller, 12 workers" in repr(roles)
    # Without one, PEs decide for themselves; and static programs need none.
    assert on_grid((3, 4), control=None).roles.controller is None
    x = cy.spec((4, 4))
    machine = cy.Machine(control=CONTROL)

    @cy.kernel
    def doubled(x):
        return x + x

    static = doubled.compile(x, schedule=cy.Schedule().space("i", "j"), machine=machine).roles
    assert static.controller is None
    assert "no controller, 16 workers" in repr(static)


@pytest.mark.parametrize("blocks", [(1, 1), (2, 3)], ids=str)
def test_every_call_is_defined_for_every_class(blocks):
    """A PE takes part in the calls that have its text, and does nothing in the others."""
    shape = (2 * blocks[0], 2 * blocks[1])
    schedule = cy.Schedule().space("i", "j").time("_").fold(i=cy.block(2), j=cy.block(2))
    machine = cy.Machine(grid=(2, 2), control=CONTROL)
    program = halved.compile(np.ones(shape), 0.5, 40, schedule=schedule, machine=machine)
    roles = program.roles
    every = {(s, c): call for s, section in enumerate(roles.sections) for c, call in enumerate(section.calls)}
    assert roles.controller.calls == len(every)
    assert {name for role in roles for name in role.calls} == set(every)
    for role, own in zip(roles, program.core.classes, strict=True):
        assert list(role.calls) == sorted(role.calls)
        lines = {line for name in role.calls for line in every[name].lines}
        assert {line for line in own.lines if line[1] > 0} <= lines
        for name, call in every.items():
            assert (role.pe_class in call.classes) == (name in role.calls)


def smoothed(x, weight):
    """A call of the user's own."""
    return x - weight * x * x


@cy.kernel
def three_types(x, least, steps):
    """Workers of three types, by place: each has its own definition of what is called."""
    y = cy.empty_like(x)
    for _ in range(steps):
        for i in range(x.shape[0]):
            if i % 3 == 0:
                x[i] = x[i] * 0.5
            elif i % 3 == 1:
                x[i] = smoothed(x[i], 0.5)
        if cy.sum(x) < least:
            break
    for i in range(x.shape[0]):
        if i % 3 == 0:
            y[i] = x[i] + 1
        elif i % 3 == 1:
            y[i] = smoothed(x[i], 0.25)
        else:
            y[i] = -x[i]
    return y


@cy.kernel
def a_type_without_a_definition(x, least, steps):
    y = cy.empty_like(x)
    for _ in range(steps):
        x = x * 0.5
        if cy.sum(x) < least:
            break
    for i in range(x.shape[0]):
        if i % 3 == 0:
            y[i] = x[i] + 1
        elif i % 3 == 1:
            y[i] = smoothed(x[i], 0.25)
    return y


def test_users_types_of_workers_define_what_is_called():
    """MA-010, MA-012: a type takes part by its own text, or in nothing; one that lacks a value is refused."""
    x, least, steps = np.linspace(0.1, 0.9, 9), 2.2, 40
    schedule, machine = cy.Schedule().space("i"), cy.Machine(control=CONTROL)
    program = three_types.compile(x, least, steps, schedule=schedule, machine=machine)
    state, expected = x.copy(), np.empty(9)
    for ran in range(steps):
        state[0::3] *= 0.5
        state[1::3] -= 0.5 * state[1::3] ** 2
        if sum(state) < least:
            break
    assert 1 < ran < steps - 1
    expected[0::3], expected[1::3] = state[0::3] + 1, state[1::3] - 0.25 * state[1::3] ** 2
    expected[2::3] = -state[2::3]
    for backend in ("sim", "local", "mpi"):
        np.testing.assert_allclose(cy.run(program, backend=backend).output, expected, rtol=1e-14)
    after = len(program.sections) - 1  # of the three calls there each type takes part in its own
    calls = {role.pe_class: [call for call in role.calls if call[0] == after] for role in program.roles}
    own = [calls[number] for number in program.core.class_map.tolist()]
    assert [len(one) for one in own] == [1] * 9
    assert own == own[:3] * 3
    assert sorted(own[0] + own[1] + own[2]) == [(after, number) for number in range(3)]
    with pytest.raises(cy.LegalityError, match=r"`y\[2\]` is never assigned") as refused:
        a_type_without_a_definition.compile(x, least, steps, schedule=schedule, machine=machine)
    assert refused.value.code == "CYC202"


@pytest.mark.parametrize("leaves", [2, 3, 8, 13])
def test_reduction_pes_hold_no_data_of_the_program(leaves):
    """MA-016."""
    A = np.arange(1.0, leaves + 1)
    program = tree_total.compile(A, schedule=cy.Schedule().space("-p"), machine=cy.machines.tree(leaves))
    roles = program.roles
    # The root stores the total; the leaves have the terms.
    assert roles.count("reduction") == leaves - 2
    assert roles.count("worker") == leaves + 1
    for role in roles:
        assert bool(role.tensors) == (role.name == "worker")
    assert cy.run(program, backend="sim").output == A.sum()


def test_pes_between_others_are_relays():
    roles = ends.compile(np.arange(4.0), 7, schedule=cy.Schedule().space("i")).roles
    assert (roles.count("worker"), roles.count("relay"), roles.count("reduction")) == (4, 3, 0)
    assert [bool(role.tensors) for role in roles] == [role.name == "worker" for role in roles]


def test_files_and_notebooks(tmp_path):
    program = on_grid((3, 3))
    program.save(tmp_path / "halved.cyc")
    assert cy.load(tmp_path / "halved.cyc").roles == program.roles
    assert program.roles._repr_html_().count("<tr>") == 2 + len(program.roles)
    assert program.roles[0].pe_class == 0
