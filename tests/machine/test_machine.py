"""`cy.Machine` as a value: defaults, printing, files, ranges."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cyclotron as cy
from cyclotron import _core
from cyclotron.machine.machine import Machine
from cyclotron.machine.parts import PE, Chiplets, Control, Link, Unit

links = st.builds(
    Link,
    latency=st.integers(0, 100),
    response_latency=st.integers(0, 100),
    words_per_cycle=st.integers(1, 100),
    depth=st.integers(1, 2**40),
)


def units(sizes):
    shapes = st.tuples(*[st.integers(1, 2**40)] * sizes)
    return st.builds(Unit, shape=shapes, cycles=st.integers(1, 2**16))


hops = st.dictionaries(st.sampled_from([(0, 1), (0, -1), (1, 0), (-1, 0)]), links)
machines = st.builds(
    Machine,
    grid=st.none() | st.tuples(st.integers(1, 100), st.integers(1, 100)),
    topology=st.sampled_from(["mesh", "torus", ("torus", "mesh")]),
    chiplets=st.none() | st.builds(Chiplets, st.tuples(st.integers(1, 9), st.integers(1, 9)), links),
    link=links,
    broadcast=links,
    links=hops,
    broadcasts=st.dictionaries(st.sampled_from([0, 1]), links),
    spread=st.sampled_from(["constant", "distance", "tree"]),
    control=st.none() | st.builds(Control, *[st.integers(0, 2**40)] * 3),
    clock=st.none() | st.floats(0, exclude_min=True, allow_infinity=False),
    pe=st.builds(
        PE,
        memory=st.sampled_from([2**50, 48 * 1024, 120]),
        registers=st.none() | st.integers(0, 2**20),
        banks=st.sampled_from([None, 1, 2, 4, 8]),
        channels=st.none() | st.integers(1, 2**20),
        flops_per_cycle=st.integers(1, 1000),
        cycles=st.dictionaries(st.sampled_from(["divide", "sqrt", 'o"d\\d']), st.integers(0, 50)),
        matrix=st.none() | units(3),
        vector=st.none() | units(1),
        scalar=st.none() | units(0),
    ),
)


def test_links_are_changed_wherever_they_are():
    slow = Link(latency=7, depth=9)
    chips = Chiplets(shape=(2, 2), link=slow)
    machine = Machine(grid=(4, 4), link=slow, links={(0, 1): slow}, broadcasts={1: slow}, chiplets=chips)
    changed = Link(latency=3, depth=9)
    assert machine.with_links(latency=3) == Machine(
        grid=(4, 4),
        link=changed,
        broadcast=Link(latency=3),
        links={(0, 1): changed},
        broadcasts={1: changed},
        chiplets=chips,
    )
    maps = cy.LinkMap("(i) -> ((i + 1) % 4)", slow), cy.LinkMap("(i) -> ((i + 3) % 4)")
    ring = Machine(grid=(4,), topology=maps).with_links(depth=1)
    assert ring.link_maps == (cy.LinkMap(maps[0].map, Link(latency=7, depth=1)), maps[1])
    assert ring.link == Link(depth=1)
    assert machine.with_links() == machine
    with pytest.raises(cy.ShapeError, match="latency"):
        machine.with_links(latency=-1)


@pytest.mark.parametrize("name", ["a\nb", 'a"b\\', "\x00\x1f\x7f\t", "é 😀"], ids=ascii)
def test_any_name_of_a_memory_is_saved(name, tmp_path):
    machine = cy.Machine(grid=(2, 2), memories={name: cy.Memory(serves=":, 0")})
    machine.save(tmp_path / "m.toml")
    assert cy.Machine.load(tmp_path / "m.toml") == machine


def test_defaults_are_those_of_the_core():
    assert Machine().to_core() == _core.Machine()


def test_to_core_names_units():
    machine = Machine(
        grid=(4, 2), topology="torus", link=Link(latency=3, depth=7), pe=PE(cycles={"divide": 9})
    )
    core = machine.to_core()
    assert core.grid == [4, 2]
    assert core.topology == ["torus"]
    assert core.link.latency_cycles == 3
    assert core.link.depth == 7
    assert core.pe.cycles == {"divide": 9}


@given(machines)
def test_core_round_trip(machine):
    assert Machine.from_core(machine.to_core()) == machine


@given(machines)
def test_round_trips(machine):
    assert eval(repr(machine), {"cy": cy}) == machine
    assert Machine.from_dict(machine.to_dict()) == machine
    assert pickle.loads(pickle.dumps(machine)) == machine
    assert hash(replace(machine)) == hash(machine)


@given(machines)
def test_file_round_trip(tmp_path_factory, machine):
    path = tmp_path_factory.mktemp("machine") / "m.toml"
    machine.save(path)
    assert Machine.load(path) == machine


def test_a_file_needs_only_what_differs(tmp_path):
    path = tmp_path / "m.toml"
    path.write_text("grid = [8, 8]\n[link]\ndepth = 4\n[pe.cycles]\ndivide = 12\n")
    assert Machine.load(path) == Machine(grid=(8, 8), link=Link(depth=4), pe=PE(cycles={"divide": 12}))


def test_a_file_with_units(tmp_path):
    path = tmp_path / "m.toml"
    path.write_text("[pe.matrix]\nshape = [16, 16, 16]\ncycles = 16\n[pe.vector]\nshape = [8]\n")
    machine = Machine(pe=PE(matrix=Unit((16, 16, 16), 16), vector=Unit((8,))))
    assert Machine.load(path) == machine
    assert eval(repr(machine), {"cy": cy}) == machine


def test_a_file_with_banks(tmp_path):
    path = tmp_path / "m.toml"
    path.write_text("[pe]\nregisters = 1\nbanks = 8\n")
    machine = Machine(pe=PE(registers=1, banks=8))
    assert Machine.load(path) == machine
    assert repr(machine) == "cy.Machine(pe=cy.PE(registers=1, banks=8))"
    assert str(machine).endswith("depth 2, 48 KiB a PE in 8 banks, 1 register")
    assert str(Machine(pe=PE(registers=0))).endswith("48 KiB a PE, 0 registers")


def test_a_file_with_links(tmp_path):
    path = tmp_path / "m.toml"
    path.write_text('[links."0,1"]\nlatency = 4\n[links."-1,0"]\ndepth = 8\n')
    machine = Machine(links={(0, 1): Link(latency=4), (-1, 0): Link(depth=8)})
    assert Machine.load(path) == machine
    assert machine.to_dict()["links"]["0,1"]["latency"] == 4
    assert str(machine) == (
        "mesh of any size, link latency 1 depth 2, link (-1, 0) latency 1 depth 8,"
        " link (0, 1) latency 4 depth 2, 48 KiB a PE"
    )


def test_hexagonal_links_have_one_diagonal():
    assert Machine(topology="hexagonal", links={(-1, -1): Link(latency=2)}).links[-1, -1].latency == 2
    for topology, offset in (("mesh", (1, 1)), ("torus", (1, 1)), ("hexagonal", (1, -1))):
        with pytest.raises(cy.ShapeError, match=f"is no hop of a {topology}"):
            Machine(topology=topology, links={offset: Link()})


def test_repr_leaves_defaults_out():
    assert repr(Machine()) == "cy.Machine()"
    assert (
        repr(Machine(grid=(8,), link=Link(depth=4), pe=PE(memory=1024)))
        == "cy.Machine(grid=(8,), link=cy.Link(depth=4), pe=cy.PE(memory=1024))"
    )


def test_str_says_the_main_things():
    assert str(Machine()) == "mesh of any size, link latency 1 depth 2, 48 KiB a PE"
    assert str(Machine(grid=(2, 3), pe=PE(memory=100))) == "mesh 2x3, link latency 1 depth 2, 100 bytes a PE"
    assert "broadcast latency 5" in str(Machine(broadcast=Link(latency=5)))
    units = PE(matrix=Unit((4, 4, 8), 16), scalar=Unit(cycles=3))
    assert str(Machine(topology="ring", clock=7e8)).endswith("48 KiB a PE, 700 MHz")
    assert str(Machine(pe=units)).endswith("48 KiB a PE, matrix unit 4x4x8 cycles 16, scalar unit cycles 3")


def test_values_do_not_change():
    machine = Machine()
    with pytest.raises(FrozenInstanceError):
        machine.grid = (2, 2)
    costs = {"divide": 3}
    pe = PE(cycles=costs)
    costs["divide"] = 4
    assert pe.cycles == {"divide": 3}
    with pytest.raises(TypeError):
        pe.cycles["divide"] = 4


def test_numpy_integers_and_lists_are_welcome():
    machine = Machine(grid=[np.int64(3), 2], link=Link(depth=np.int32(5)))
    assert machine.grid == (3, 2)
    assert type(machine.grid[0]) is int
    assert type(machine.link.depth) is int
    assert machine.pe_count == 6
    assert Machine().pe_count is None


def test_unit_is_the_textbook_array():
    machine = cy.machines.unit(4, 4)
    assert machine.grid == (4, 4)
    assert machine.link.latency == 1
    assert cy.machines.unit().grid is None
    assert cy.machines.unit(4, topology="torus").topology == "torus"


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        (lambda: Link(latency=-1), "CYC401", "`link.latency` is -1, outside 0 .. "),
        (lambda: Link(response_latency=-1), "CYC401", "`link.response_latency` is -1, outside 0 .. "),
        (lambda: Link(words_per_cycle=0), "CYC401", "words_per_cycle"),
        (lambda: Link(depth=2**41), "CYC401", "give at most"),
        (lambda: PE(memory=0), "CYC401", "`pe.memory` is 0"),
        (lambda: PE(cycles={"divide": -1}), "CYC401", "divide"),
        (lambda: PE(registers=-1), "CYC401", "`pe.registers` is -1, outside 0 .. 1048576"),
        (lambda: PE(registers=2.0), "CYC402", "of type float"),
        (lambda: PE(banks=0), "CYC401", "`pe.banks` is 0, outside 1 .. 1024"),
        (lambda: PE(memory=100, banks=8), "CYC401", "100 bytes, which are no 8 equal banks"),
        (lambda: PE(memory=100, banks=8), "CYC401", "give a memory of 96 bytes"),
        (lambda: Machine.from_dict({"pe": {"register": 4}}), "CYC402", "did you mean `registers`?"),
        (lambda: PE(channels=0), "CYC401", "`pe.channels` is 0, outside 1 .. 1048576"),
        (lambda: Control(latency=-1), "CYC401", "`control.latency` is -1, outside 0 .. "),
        (lambda: Control(hop=2.0), "CYC402", "of type float"),
        (lambda: Control(setup=True), "CYC402", "of type bool"),
        (lambda: Machine(control=10), "CYC402", "a cy.Control(latency=..., setup=...), or None"),
        (lambda: Machine.from_dict({"control": {"set_up": 1}}), "CYC402", "did you mean `setup`?"),
        (lambda: Machine(grid=(0, 4)), "CYC401", "`grid[0]` is 0"),
        (lambda: Machine(grid=()), "CYC401", "grid dimensions"),
        (lambda: Machine(grid=(2,) * 9), "CYC401", "grid dimensions"),
        (lambda: Machine(grid=(2**40, 2**40)), "CYC401", "grid size"),
        (lambda: Link(latency=1.5), "CYC402", "of type float"),
        (lambda: Link(depth=True), "CYC402", "of type bool"),
        (lambda: Machine(grid=4), "CYC402", "of type int"),
        (lambda: Machine(grid="44"), "CYC402", "of type str"),
        (lambda: Machine(topology="star"), "CYC402", "mesh, torus"),
        (lambda: Machine(topology="ring", grid=(2, 2)), "CYC401", "2 dimensions, and a ring has 1"),
        (lambda: Machine(topology="ring", links={(0, 1): Link()}), "CYC401", "and the grid rank 1"),
        (lambda: Machine(clock=0), "CYC401", "`clock` is 0, not a positive number"),
        (lambda: Machine(clock=float("nan")), "CYC401", "`clock` is nan"),
        (lambda: Machine(clock=10**400), "CYC401", "not a positive number"),
        (lambda: Machine(clock=float("inf")), "CYC401", "`clock` is inf"),
        (lambda: Machine(clock="1 GHz"), "CYC402", "of type str"),
        (lambda: Machine(clock=True), "CYC402", "of type bool"),
        (lambda: Machine(topology=["star"]), "CYC402", "mesh, torus"),
        (lambda: Machine(link=3), "CYC402", "cy.Link(...)"),
        (lambda: PE(cycles=[3]), "CYC402", "of type list"),
        (lambda: PE(cycles={3: 3}), "CYC402", "of type int"),
        (lambda: Unit(shape=(16, 0)), "CYC401", "`unit.shape[1]` is 0, outside 1 .. "),
        (lambda: Unit(cycles=2**16 + 1), "CYC401", "give at most 65536"),
        (lambda: Unit(shape=16), "CYC402", "of type int"),
        (lambda: PE(matrix=(16, 16, 16)), "CYC402", "give a cy.Unit(shape=(m, n, k), cycles=...), or None"),
        (lambda: PE(matrix=Unit(shape=(16,))), "CYC402", "of 1 sizes instead of 3"),
        (lambda: PE(vector=Unit()), "CYC402", "give a cy.Unit(shape=(lanes,), cycles=...)"),
        (lambda: Machine.from_dict({"pe": {"vector": {"lanes": 4}}}), "CYC402", "`pe.vector` has no field"),
        (lambda: Machine(links={(0, 2): Link()}), "CYC401", "`links[(0, 2)]` is no hop of a mesh"),
        (lambda: Machine(links={(0, 0): Link()}), "CYC401", "is no hop of a mesh"),
        (lambda: Machine(links={(): Link()}), "CYC401", "is no hop of a mesh"),
        (
            lambda: Machine(grid=(4,), links={(0, 1): Link()}),
            "CYC401",
            "has rank 2, and the grid rank 1",
        ),
        (lambda: Machine(links={(0, 1): Link(), (1,): Link()}), "CYC401", "and the grid rank 2"),
        (lambda: Machine(links=[Link()]), "CYC402", "of type list"),
        (lambda: Machine(links={1: Link()}), "CYC402", "of type int"),
        (lambda: Machine(links={(0.5, 0): Link()}), "CYC402", "of type float"),
        (lambda: Machine(links={(0, 1): 4}), "CYC402", "a cy.Link(...)"),
        (lambda: Machine.from_dict({"links": {"east": {}}}), "CYC402", "the key `east`"),
        (lambda: Machine.from_dict({"links": {(0, 1): {}}}), "CYC402", "the key `(0, 1)`"),
        (lambda: Machine.from_dict({"links": {"0,1": {"dept": 4}}}), "CYC402", "did you mean `depth`?"),
        (lambda: Machine.from_dict({"links": [4]}), "CYC402", "of type list"),
        (lambda: Machine.from_dict({"gird": [4]}), "CYC402", "did you mean `grid`?"),
        (lambda: Machine.from_dict({"link": {"dept": 4}}), "CYC402", "did you mean `depth`?"),
        (lambda: Machine.from_dict({"link": 4}), "CYC402", "of type int"),
        (lambda: Machine.from_dict([4]), "CYC402", "of type list"),
    ],
)
def test_refusals_name_field_value_and_range(make, code, words):
    with pytest.raises(cy.ShapeError) as caught:
        make()
    assert caught.value.code == code
    assert words in str(caught.value)


def test_files_that_are_no_machine(tmp_path, monkeypatch, golden_refusal):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.toml").write_text("grid = [")
    (tmp_path / "picture.toml").write_bytes(b"\xff\xd8")
    golden_refusal("machine-file-of-no-toml", cy.ShapeError, "CYC402", lambda: Machine.load("broken.toml"))
    golden_refusal("machine-file-that-is-missing", cy.ShapeError, "CYC402", lambda: Machine.load("none.toml"))
    for path in ("picture.toml", tmp_path):
        with pytest.raises(cy.ShapeError):
            Machine.load(path)
