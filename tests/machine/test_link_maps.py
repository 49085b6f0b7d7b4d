"""Machines whose links are maps: which programs they run, over which links, and what is no link map."""

from dataclasses import replace

import numpy as np
import pytest
from test_topologies import DEEP, ROOM, ROUND_ROWS, STATIONARY, A, B, judge, product

import cyclotron as cy
from cyclotron import Chiplets, Link, LinkMap, Machine

# TL's torus (section 2.4), as interconnects with a modulo for the wrap; on 3x4 PEs.
ROWS = LinkMap("(i, j) -> (i, (j + 1) % 4)")
COLUMNS = LinkMap("(i, j) -> ((i + 1) % 3, j)")


def compiled(*maps, schedule=ROUND_ROWS, **fields):
    machine = Machine(grid=(3, 4), topology=maps, pe=ROOM, **fields)
    return product.compile(A, B, schedule=schedule, machine=machine)


def torus(**fields):
    machine = Machine(grid=(3, 4), topology="torus", pe=ROOM, **fields)
    return product.compile(A, B, schedule=ROUND_ROWS, machine=machine)


def test_a_torus_of_maps_is_a_torus():
    program = compiled(ROWS, COLUMNS, LinkMap("(i, j) -> (i, (j - 1) % 4)"))
    assert judge(program).cycles == judge(torus()).cycles
    assert cy.prove(program)


def test_a_map_alone_is_a_topology():
    ring = LinkMap("(i) -> ((i + 1) % 4)")
    assert Machine(topology=ring, grid=(4,)) == Machine(topology=(ring,), grid=(4,))


def test_hops_that_no_map_joins_are_refused():
    with pytest.raises(
        cy.LegalityError, match=r"PE \(\d, \d\) needs `[AB]` from PE \(\d, \d\), and no link"
    ) as refused:
        compiled(LinkMap("(i, j) -> (i, j + 1) if j < 3"), COLUMNS)
    assert refused.value.code == "CYC220"
    assert "`(i, j) -> (i, j + 1) if j < 3`" in refused.value.help


def test_each_message_takes_the_link_of_the_first_map_that_joins_its_ends():
    """Down the columns of the left half, and of the right one; along rows within and across."""
    slow = replace(DEEP, latency=6)

    def cycles(*maps):
        return judge(compiled(*maps, schedule=STATIONARY, link=DEEP)).cycles

    down = LinkMap("(i, j) -> (i + 1, j) if i < 2")
    right = LinkMap("(i, j) -> (i, j + 1) if j < 3")
    plain = 3 + 4 + 4 - 2
    assert cycles(down, right) == plain
    assert cycles(replace(down, link=slow), right) == plain + 2 * 5
    assert cycles(LinkMap("(i, j) -> (i + 1, j) if i == 1", slow), down, right) == plain + 5
    assert cycles(down, LinkMap("(i, j) -> (i + 1, j) if i == 1", slow), right) == plain
    assert cycles(LinkMap("(i, j) -> (i, j + 1) if j % 2 == 1 and j < 3", slow), down, right) == plain + 5


def test_chips_and_maps():
    """A link map's own link is that of its links everywhere; the others leave a chip over the chip's link."""
    chips = Chiplets((3, 2), replace(DEEP, latency=9))
    down, right = LinkMap("(i, j) -> (i + 1, j) if i < 2"), LinkMap("(i, j) -> (i, j + 1) if j < 3")
    plain = 3 + 4 + 4 - 2
    for own, cycles in ((None, plain + 8), (DEEP, plain)):
        program = compiled(down, replace(right, link=own), schedule=STATIONARY, link=DEEP, chiplets=chips)
        judge(program, cycles)


def test_the_triple_ring():
    """TL's listing 8: cores on three rings, here one a cycle apart, one two and one four."""
    n = 8
    rings = tuple(LinkMap(f"(p) -> ((p + {step}) % {n})") for step in (1, 2, 4))
    machine = Machine(grid=(n,), topology=rings, pe=ROOM)
    x = np.arange(1.0, n + 1)

    @cy.kernel
    def rotated(M, x):
        y = cy.empty(M.shape[0])
        for i in range(M.shape[0]):
            y[i] = sum(M[i, k] * x[k] for k in range(M.shape[1]))
        return y

    M = np.arange(float(n * n)).reshape(n, n)
    backwards = (*rings, LinkMap(f"(p) -> ((p - 1) % {n})"))
    schedule = cy.Schedule().space("i").rotate("k", by="i")
    program = rotated.compile(M, x, schedule=schedule, machine=replace(machine, topology=backwards))
    assert np.array_equal(cy.run(program, backend="sim").output, M @ x)
    assert cy.run(program, backend="sim", functional=False).cycles == n
    with pytest.raises(cy.LegalityError, match="no link leads there"):
        rotated.compile(M, x, schedule=schedule, machine=machine)  # x goes the other way round


def test_a_machine_of_any_size_keeps_to_its_grid():
    machine = Machine(topology=(LinkMap("(i, j) -> (i, j + 1)"), LinkMap("(i, j) -> (i + 1, j)")), pe=ROOM)
    program = product.compile(A, B, schedule=STATIONARY, machine=machine)
    mesh = product.compile(A, B, schedule=STATIONARY, machine=Machine(pe=ROOM))
    assert judge(program).cycles == judge(mesh).cycles


def test_values(tmp_path):
    maps = LinkMap("(i,  j)->(i, (j + 1) % 4)", Link(latency=3)), COLUMNS
    machine = Machine(grid=(3, 4), topology=list(maps), pe=ROOM)
    assert eval(repr(machine), {"cy": cy}) == machine
    assert hash(machine) == hash(replace(machine))
    assert Machine.from_dict(machine.to_dict()) == machine
    machine.save(tmp_path / "m.toml")
    assert Machine.load(tmp_path / "m.toml") == machine
    text = (tmp_path / "m.toml").read_text()
    assert 'topology = [{map = "(i, j)->(i, (j + 1) % 4)", link = {latency = 3' in text
    assert str(machine).startswith(
        "custom 3x4, link latency 1 depth 2, (i, j)->(i, (j + 1) % 4) latency 3 depth 2, "
        "(i, j) -> ((i + 1) % 3, j), "
    )
    program = compiled(*maps, LinkMap("(i, j) -> (i, (j - 1) % 4)"))
    assert "custom 3x4, link latency 1 depth 2, (i, j)->(i, (j + 1) % 4) latency 3 depth 2" in str(program)
    program.save(tmp_path / "p.cyc")
    assert cy.load(tmp_path / "p.cyc").core == program.core
    assert judge(cy.load(tmp_path / "p.cyc")).cycles == judge(program).cycles


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        (lambda: LinkMap("(i) -> (j)"), "CYC402", "has `j`, which is no coordinate on its left"),
        (lambda: LinkMap("(i, j) -> (i)"), "CYC402", "has 2 coordinates on the left and 1 on the right"),
        (lambda: LinkMap("(i, i) -> (i, i)"), "CYC402", "has two coordinates `i`"),
        (lambda: LinkMap("(i) -> (i * i)"), "CYC402", "product of coordinates"),
        (lambda: LinkMap("(i) -> (i % 0)"), "CYC402", "no positive integer"),
        (lambda: LinkMap("(i) -> (i // i)"), "CYC402", "no positive integer"),
        (lambda: LinkMap("(i) -> (i + 1"), "CYC402", "has its end where `)` is expected"),
        (lambda: LinkMap("(i) -> (i) if i"), "CYC402", "where a comparison is expected"),
        (lambda: LinkMap("(i) -> (i) or i"), "CYC402", "has `or i` where its end is expected"),
        (lambda: LinkMap(f"(i) -> (i + {2**60})"), "CYC402", "above"),
        (lambda: LinkMap(f"(i) -> ({'(' * 99}i{')' * 99})"), "CYC402", "nested more than 64 deep"),
        (lambda: LinkMap(3), "CYC402", "of type int"),
        (lambda: LinkMap("(i) -> (i)", 3), "CYC402", "cy.Link(...), or None"),
        (
            lambda: Machine(grid=(3, 4), topology=(LinkMap("(i) -> (i)"),)),
            "CYC401",
            "has rank 1, and the grid rank 2",
        ),
        (
            lambda: Machine(topology=(ROWS, LinkMap("(i) -> (i)"))),
            "CYC401",
            "has rank 1, and the grid rank 2",
        ),
        (lambda: Machine(topology=(ROWS,), links={(0, 1): Link()}), "CYC401", "by link maps"),
        (lambda: Machine(topology=(ROWS, "mesh")), "CYC402", "`topology` is cy.LinkMap("),
        (
            lambda: Machine.from_dict({"topology": [{"map": "(i) -> (i)", "lnk": {}}]}),
            "CYC402",
            "did you mean `link`?",
        ),
        (lambda: Machine.from_dict({"topology": [{"link": {}}]}), "CYC402", "a link map in `topology`"),
        (
            lambda: Machine(grid=(3, 4), topology=(LinkMap("(i, j) -> (i, j + 1)"),)),
            "CYC404",
            "outside of the grid",
        ),
        (
            lambda: Machine(grid=(3, 4), topology=(LinkMap("(i, j) -> (i - 1, j)"),)),
            "CYC404",
            "outside of the grid",
        ),
        (lambda: Machine(grid=(3, 4), topology=(LinkMap("(i, j) -> (i, 0)"),)), "CYC405", "over one link"),
        (
            lambda: Machine(grid=(9,), topology=(LinkMap("(p) -> (p // 2)"),)),
            "CYC405",
            "from PE (0) and from PE (1) to PE (0)",
        ),
    ],
)
def test_what_is_no_machine(make, code, words):
    with pytest.raises(cy.ShapeError) as refused:
        make()
    assert refused.value.code == code
    assert words in f"{refused.value.message} {refused.value.help}"
