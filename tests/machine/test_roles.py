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
