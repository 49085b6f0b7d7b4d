"""Hops that a machine's wiring allows, and links that messages take: wraps by dimension, and chiplets."""

from dataclasses import replace

import numpy as np
import pytest

import cyclotron as cy
from cyclotron import PE, Chiplets, Link, Machine

ENGINES = ("general", "fast-forward")
DEEP = Link(depth=64)
ROOM = PE(memory=1 << 20)


@cy.kernel
def product(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


A, B = np.arange(12.0).reshape(3, 4), np.arange(16.0).reshape(4, 4)
STATIONARY = cy.schedules.output_stationary(product)
# A goes round the rows; B streams down the columns.
ROUND_ROWS = cy.Schedule().space("i", "j").rotate("k", by="j").stream("B", along="i")


def judge(program, cycles=None):
    """Every engine counts the same cycles, of the program in a file too, and the numbers are right."""
    functional = cy.run(program, A, B, backend="sim")
    assert np.array_equal(functional.output, A @ B)
    for engine in ENGINES:
        assert cy.run(program, backend="sim", functional=False, engine=engine).cycles == functional.cycles
    if cycles is not None:
        assert functional.cycles == cycles
    return functional


def test_a_rotation_is_as_fast_as_can_be_with_a_wrap_along_its_dimension():
    program = product.compile(A, B, schedule=ROUND_ROWS, machine=Machine(topology=("mesh", "torus"), pe=ROOM))
    cycles = judge(program).cycles
    assert cy.prove(program)
    for topology in ("mesh", ("torus", "mesh")):
        back = product.compile(A, B, schedule=ROUND_ROWS, machine=Machine(topology=topology, pe=ROOM))
        assert judge(back).cycles > cycles
        assert cy.prove(back)


def test_a_dimension_without_a_wrap_changes_no_time():
    """Of a program that goes round the rows only."""
    torus = product.compile(A, B, schedule=ROUND_ROWS, machine=Machine(topology="torus", pe=ROOM))
    rows = product.compile(A, B, schedule=ROUND_ROWS, machine=Machine(topology=("mesh", "torus"), pe=ROOM))
    assert judge(torus).cycles == judge(rows).cycles


@pytest.mark.parametrize(("shape", "crossings"), [((2, 2), 2), ((1, 4), 2), ((2, 1), 4), ((3, 4), 0)])
@pytest.mark.parametrize("latency", [1, 8])
def test_hops_between_chips_take_their_own_latency(shape, crossings, latency):
    """The last operands come to the far corner over all the boundaries of a row and of a column."""
    machine = Machine(link=DEEP, chiplets=Chiplets(shape, replace(DEEP, latency=latency)))
    program = product.compile(A, B, schedule=STATIONARY, machine=machine)
    judge(program, 3 + 4 + 4 - 2 + (latency - 1) * crossings)


def test_a_wrap_leads_to_another_chip_but_where_there_is_one():
    """Of a ring of four in chips of two, two hops of four cross, the wrap too."""

    def cycles(columns):
        machine = Machine(
            topology=("mesh", "torus"), link=DEEP, chiplets=Chiplets((1, columns), replace(DEEP, latency=9))
        )
        return judge(product.compile(A, B, schedule=ROUND_ROWS, machine=replace(machine, pe=ROOM)))

    sent = {columns: cycles(columns).stats["channels"] for columns in (2, 4)}
    assert [c["words"] for c in sent[2]] == [c["words"] for c in sent[4]]
    assert cycles(4).cycles < cycles(2).cycles


def test_a_chip_s_own_link_comes_before_those_by_direction():
    slow = replace(DEEP, latency=5)
    everywhere = {(1, 0): slow, (0, 1): slow}
    by_chips = Machine(link=DEEP, links=everywhere, chiplets=Chiplets((1, 1), DEEP))
    judge(product.compile(A, B, schedule=STATIONARY, machine=by_chips), 3 + 4 + 4 - 2)


def test_depths_and_widths_between_chips():
    """The result, the critical path, the checker and the roofline know the link."""
    narrow = Link(latency=2, depth=3, words_per_cycle=1)
    machine = Machine(link=Link(depth=5, words_per_cycle=4), chiplets=Chiplets((2, 2), narrow))
    program = product.compile(A, B, schedule=STATIONARY, machine=machine)
    assert [channel.given for channel in program.least_depths().channels] == [3, 3]
    result = judge(program)
    crossing, inside = 3 + 4, 3 * 2 + 4  # along rows and down columns of 3x4 PEs
    widths = sum(channel["words_per_cycle"] for channel in result.stats["channels"])
    assert widths == crossing * 1 + inside * 4
    path = cy.run(program, A, B, backend="sim", event_limit=1 << 20).critical_path()
    assert path.cycles == result.cycles
    assert program.core.link(0, 1).depth in (3, 5)


def test_printing():
    machine = Machine(grid=(4, 6), topology=["torus", "mesh"], chiplets=Chiplets((2, 3), Link(depth=9)))
    assert machine.topology == ("torus", "mesh")
    text = "torus x mesh 4x6, link latency 1 depth 2, between chips of 2x3 PEs latency 1 depth 9, 48 KiB a PE"
    assert str(machine) == text
    assert repr(machine) == (
        "cy.Machine(grid=(4, 6), topology=('torus', 'mesh'), "
        "chiplets=cy.Chiplets(shape=(2, 3), link=cy.Link(depth=9)))"
    )
    printed = str(product.compile(A, B, schedule=STATIONARY, machine=replace(machine, grid=None)).core)
    assert printed.startswith(
        "program product on torus x mesh 3x4, link latency 1 depth 2, between chips of 2x3 PEs "
    )


def test_files(tmp_path):
    machine = Machine(topology=("torus", "mesh"), chiplets=Chiplets((2, 3), Link(latency=9)))
    machine.save(tmp_path / "m.toml")
    assert Machine.load(tmp_path / "m.toml") == machine
    assert 'topology = ["torus", "mesh"]' in (tmp_path / "m.toml").read_text()
    program = product.compile(A, B, schedule=STATIONARY, machine=machine)
    program.save(tmp_path / "p.cyc")
    loaded = cy.load(tmp_path / "p.cyc")
    assert loaded.core == program.core
    assert Machine.from_core(loaded.core.machine) == replace(machine, grid=(3, 4))
    assert loaded.with_machine(machine).core == program.core


def test_one_word_for_all_dimensions():
    assert Machine(topology=("torus", "torus"), grid=(3, 4)) == Machine(topology="torus", grid=(3, 4))
    assert Machine(topology=["mesh"]).topology == "mesh"
    assert Machine.from_dict({"topology": ["mesh", "mesh"]}) == Machine()
    with pytest.raises(cy.ShapeError, match="has 2 dimensions, and the grid 1"):
        Machine(topology=("mesh", "mesh"), grid=(4,))


def test_a_sweep_over_topologies():
    topologies = ["torus", ("mesh", "torus"), ["torus", "mesh"], "mesh"]
    table = cy.sweep(product, A, B, schedule=ROUND_ROWS, topology=topologies)
    assert [record["topology"] for record in table] == ["torus", "mesh×torus", "torus×mesh", "mesh"]
    assert [record["error"] for record in table] == [None] * 4


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        (lambda: Machine(topology=("mesh", "ring")), "CYC402", "`topology` has 'ring' along one dimension"),
        (lambda: Machine(topology=("mesh", "star")), "CYC402", "`topology` is 'star'"),
        (lambda: Machine(topology=()), "CYC402", "`topology` is ()"),
        (lambda: Machine(topology=("mesh", "torus"), grid=(4,)), "CYC401", "2 dimensions, and the grid 1"),
        (lambda: Machine(chiplets=(4, 4)), "CYC402", "cy.Chiplets(shape=..., link=...)"),
        (lambda: Chiplets(shape=4), "CYC402", "of type int"),
        (lambda: Chiplets(shape=()), "CYC402", "is empty"),
        (lambda: Chiplets(shape=(0, 4)), "CYC401", "`chiplets.shape[0]` is 0, outside 1 .. "),
        (lambda: Chiplets(link=8), "CYC402", "cy.Link(...)"),
        (lambda: Machine(grid=(4,), chiplets=Chiplets()), "CYC401", "has rank 2, and the grid rank 1"),
        (
            lambda: Machine.from_dict({"chiplets": {"shpe": [4]}}),
            "CYC402",
            "did you mean `shape`?",
        ),
        (lambda: Machine.from_dict({"chiplets": {"link": {"dept": 4}}}), "CYC402", "did you mean `depth`?"),
    ],
)
def test_what_is_no_machine(make, code, words):
    with pytest.raises(cy.ShapeError) as refused:
        make()
    assert refused.value.code == code
    assert words in f"{refused.value.message} {refused.value.help}"


def test_a_program_keeps_its_topology():
    program = product.compile(A, B, schedule=STATIONARY, machine=Machine(topology=("torus", "mesh")))
    with pytest.raises(cy.ShapeError, match="is for a torus×mesh of 3x4 PEs, the machine a torus of 3x4"):
        program.with_machine(Machine(topology="torus"))
