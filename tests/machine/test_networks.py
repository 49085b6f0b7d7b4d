"""Broadcast networks: one for each grid dimension, and how long they take to PEs far away."""

from dataclasses import replace

import numpy as np
import pytest

import cyclotron as cy
from cyclotron import PE, Link, Machine

ROOM = PE(memory=1 << 20)


@cy.kernel
def outer(a, b):
    C = cy.empty((a.shape[0], b.shape[0]))
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            C[i, j] = a[i] * b[j]
    return C


# Column 0 broadcasts a along the rows; then row 0, once it has its own, broadcasts b down the columns.
SCHEDULE = cy.Schedule().space("i", "j").broadcast("a", along="j").broadcast("b", along="i")


def cycles(rows, columns, **fields):
    """Of one product in each PE, as every engine counts them, of the program in a file too."""
    a, b = np.arange(1.0, rows + 1), np.arange(1.0, columns + 1)
    program = outer.compile(a, b, schedule=SCHEDULE, machine=Machine(pe=ROOM, **fields))
    functional = cy.run(program, a, b, backend="sim")
    assert np.array_equal(functional.output, np.outer(a, b))
    for engine in ("general", "fast-forward"):
        assert cy.run(program, backend="sim", functional=False, engine=engine).cycles == functional.cycles
    assert cy.prove(program)
    return functional.cycles


@pytest.mark.parametrize(("down", "right"), [(1, 1), (5, 2), (2, 9)])
def test_each_dimension_has_its_network(down, right):
    networks = {0: Link(latency=down), 1: Link(latency=right)}
    assert cycles(3, 4, broadcasts=networks) == right + down + 1
    rows = {1: networks[1]}
    assert cycles(3, 4, broadcasts=rows, broadcast=networks[0]) == right + down + 1


@pytest.mark.parametrize("latency", [1, 3])
@pytest.mark.parametrize("columns", [2, 4, 5, 9])
def test_time_over_distance(columns, latency):
    """The last PE of a row has its operand after so many hops, or so many levels of a tree."""
    fields = {"broadcasts": {1: Link(latency=latency)}, "broadcast": Link(latency=1)}
    last = columns - 1
    assert cycles(2, columns, spread="constant", **fields) == latency + 1 + 1
    assert cycles(2, columns, spread="distance", **fields) == latency * last + 1 + 1
    assert cycles(2, columns, spread="tree", **fields) == latency * len(f"{last:b}") + 1 + 1


def test_a_ring_is_gone_round_the_short_way():
    fields = {"spread": "distance", "broadcast": Link(latency=2)}
    assert cycles(2, 8, topology=("mesh", "torus"), **fields) == 2 * 4 + 2 + 1
    assert cycles(2, 8, topology=("torus", "mesh"), **fields) == 2 * 7 + 2 + 1


def test_values(tmp_path):
    machine = Machine(grid=(3, 4), broadcasts={1: Link(latency=4, depth=9)}, spread="tree")
    assert eval(repr(machine), {"cy": cy}) == machine
    machine.save(tmp_path / "m.toml")
    assert Machine.load(tmp_path / "m.toml") == machine
    assert "broadcast along 1 latency 4 depth 9, broadcasts by tree, 48 KiB a PE" in str(machine)
    program = outer.compile(cy.spec(3), cy.spec(4), schedule=SCHEDULE, machine=machine)
    assert "broadcast along 1 latency 4 depth 9, broadcasts by tree, 48 KiB a PE" in str(program)
    program.save(tmp_path / "p.cyc")
    loaded = cy.load(tmp_path / "p.cyc")
    assert loaded.core == program.core
    assert Machine.from_core(loaded.core.machine) == machine
    assert program.with_machine(replace(machine, spread="constant")).core != program.core


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        (
            lambda: Machine(broadcasts={2: Link()}, grid=(3, 4)),
            "CYC401",
            "along dimension 2, and the grid has 2 ",
        ),
        (
            lambda: Machine(broadcasts={-1: Link()}),
            "CYC401",
            "`broadcasts dimension` is -1, outside 0 ",
        ),
        (lambda: Machine(broadcasts={"rows": Link()}), "CYC402", "of type str"),
        (lambda: Machine(broadcasts={1: 4}), "CYC402", "cy.Link(...)"),
        (lambda: Machine(broadcasts=[Link()]), "CYC402", "of type list"),
        (lambda: Machine(spread="star"), "CYC402", "constant, distance, tree"),
        (lambda: Machine.from_dict({"broadcasts": {"1": {"dept": 4}}}), "CYC402", "did you mean `depth`?"),
        (lambda: Machine.from_dict({"broadcasts": {"rows": {}}}), "CYC402", "of type str"),
    ],
)
def test_what_is_no_machine(make, code, words):
    with pytest.raises(cy.ShapeError) as refused:
        make()
    assert refused.value.code == code
    assert words in f"{refused.value.message} {refused.value.help}"
