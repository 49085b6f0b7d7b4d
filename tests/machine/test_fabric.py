"""Layouts of a fabric: MACH's Listings 9 to 12, and what painting, stacking, placing and uniting mean."""

import itertools
from xml.etree import ElementTree

import numpy as np
import pytest

import cyclotron as cy
from cyclotron import fabric
from cyclotron.machine.region import Region, simplify

# Listing 9, lines 1 to 13.
NAMES = [
    *("rxColorData", "txColorData", "ctrl_color", "args_color"),
    *("ctrl_color_dist", "args_color_dist", "ctrl_coord_color"),
    *("reduction_1", "reduction_2", "reduction_3", "reduction_4", "reduction_broadcast"),
]
RECEIVE, SEND = "R>C; D>C; L>C; U>C; ring", "C>L; C>U; C>R; C>D; ring"  # Listing 10, lines 4 to 7
PARAMETERS = [  # Listing 11, lines 3 to 11
    *("ctrl_color", "args_color", "c0_data", "c1_data", "reduction_1", "reduction_broadcast"),
    *("loopColorWorker", "type", "reduction_reset_mask"),
]
W, H = 6, 8


def checkerboard(rows, columns, c0, c1):
    """Listing 10."""
    aa = fabric.tile(type=0).paint(c0, RECEIVE).paint(c1, SEND)
    bb = fabric.tile(type=1).paint(c1, RECEIVE).paint(c0, SEND)
    return fabric.vstack(fabric.hstack(aa, bb), fabric.hstack(bb, aa)).repeat(rows, columns)


def virtual_machine():
    """Listings 9, 11 and 12, with the three middle rows that the paper leaves out as bare as they can be."""
    colors = dict(zip(NAMES, fabric.colors(*NAMES), strict=True))
    rx, tx = colors["rxColorData"], colors["txColorData"]
    half = fabric.rect(H // 2, W)
    workers = fabric.vstack(half, half, gap=3).code(
        "worker",
        ctrl_color=colors["ctrl_color"],
        args_color=colors["args_color"],
        c0_data=rx,
        c1_data=tx,
        reduction_1=colors["reduction_1"],
        reduction_broadcast=colors["reduction_broadcast"],
        loopColorWorker="loopColorWorker",
        type="@type",
        reduction_reset_mask="@reduction_reset_mask",
    )
    upper = checkerboard(H // 2, W, rx, tx).set(reduction_reset_mask=0)
    lower = checkerboard(H // 2, W, rx, tx).set(reduction_reset_mask=0)
    reductions = fabric.rect(1, W).code("reduction").paint(colors["reduction_2"], "L>R")
    control = fabric.rect(1, W).code("control").paint(colors["ctrl_color"], "U>D")
    return fabric.union(workers, fabric.vstack(upper, reductions, control, reductions, lower))


def test_the_colors_of_listing_9():
    """MA-122: 12 are declared; the fabric has 24, and a layout with more is refused by name (MA-018)."""
    assert [str(color) for color in fabric.colors(*NAMES)] == NAMES
    many = fabric.colors(*(f"color_{n}" for n in range(25)))
    layout = fabric.tile()
    for color in many[:24]:
        layout = layout.paint(color, "C>R")
    with pytest.raises(cy.CapacityError, match="a layout has 25 colors, but the fabric 24") as refused:
        layout.paint(many[24], "C>R")
    assert refused.value.code == "CYC509"
    assert "`color_24`" in str(refused.value)


@pytest.mark.parametrize("shape", [(4, 6), (5, 3), (1, 7), (1, 1)])
def test_the_checkerboard_of_listing_10(shape):
    """MA-123: PE by PE, with other sizes than whole patterns."""
    c0, c1 = fabric.colors("c0", "c1")
    layout = checkerboard(*shape, c0, c1)
    assert layout.shape == shape
    for r, c in np.ndindex(*shape):
        black = (r + c) % 2
        expected = {("c0", "c1")[black]: RECEIVE, ("c0", "c1")[1 - black]: SEND}
        assert {name: str(route) for name, route in layout[r, c].routes.items()} == expected
        assert layout[r, c].variables == {"type": black}
    assert layout[shape[0], 0].routes == {}


def test_neighbours_send_and_receive_at_once():
    """MA-124: in each state all words go to one side, and come on the color on which they were sent."""
    layout = checkerboard(6, 7, *fabric.colors("c0", "c1"))
    sides = {"L": (0, -1), "R": (0, 1), "U": (-1, 0), "D": (1, 0)}
    opposite = dict(zip("LRUD", "RLDU", strict=True))
    directions = []
    for state in range(4):
        seen = set()
        for r, c in itertools.product(range(1, 5), range(1, 6)):
            routes = layout[r, c].routes
            ((color, side),) = [
                (n, w.states[state][1]) for n, w in routes.items() if w.states[state][0] == "C"
            ]
            dr, dc = sides[side]
            assert layout[r + dr, c + dc].routes[color].states[state] == (opposite[side], "C")
            seen.add(side)
        assert len(seen) == 1
        directions += seen
    assert directions == ["L", "U", "R", "D"]
    assert all(route.ring for route in layout[1, 1].routes.values())


def test_the_virtual_machine_of_listings_11_and_12(golden):
    """MA-125, MA-126: code with parameters on two rectangles with three rows between; union and stack."""
    layout = virtual_machine()
    assert layout.shape == (H + 3, W)
    for r, c in np.ndindex(*layout.shape):
        tile = layout[r, c]
        middle = H // 2 <= r < H // 2 + 3
        assert tile.code == (("reduction", "control", "reduction")[r - H // 2] if middle else "worker")
        if middle:
            continue
        row = r if r < H // 2 else r - H // 2 - 3
        values = ["ctrl_color", "args_color", "rxColorData", "txColorData", "reduction_1"]
        values += ["reduction_broadcast", "loopColorWorker", (row + c) % 2, 0]
        assert tile.parameters == dict(zip(PARAMETERS, values, strict=True))
        assert set(tile.routes) == {"rxColorData", "txColorData"}
    golden("mapping/fabric-listing-12.txt", f"{layout}\n")


def test_of_two_paints_the_later_one_counts():
    (red,) = fabric.colors("red")
    below = fabric.rect(3, 3).paint(red, "L>R").code("old", a=1).set(kind=1)
    above = fabric.rect(2, 1).paint(red, "U>D").code("new")
    layout = fabric.union(below, fabric.place(above, 1, 2))
    assert layout.shape == (3, 3)
    for r, c in np.ndindex(3, 3):
        covered = r >= 1 and c == 2
        assert str(layout[r, c].routes["red"]) == ("U>D" if covered else "L>R")
        assert (layout[r, c].code, layout[r, c].parameters) == (
            ("new", {}) if covered else ("old", {"a": "1"})
        )
        assert layout[r, c].variables == {"kind": 1}
    again = fabric.union(layout, fabric.rect(3, 3).paint(red, "L>R"))
    assert {str(again[r, c].routes["red"]) for r, c in np.ndindex(3, 3)} == {"L>R"}


def test_stacks_places_and_copies_are_those_of_numpy():
    """Tiles by their variable, beside the same done to arrays of numbers; -1 where there is no PE."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        layout, array = fabric.tile(n=0), np.zeros((1, 1), int)
        for n in range(1, 5):
            kind = rng.integers(4)
            rows, columns = (int(x) for x in rng.integers(1, 4, 2))
            other, numbers = fabric.rect(rows, columns).set(n=n), np.full((rows, columns), n)
            if kind == 0:
                gap = int(rng.integers(3))
                layout = fabric.vstack(layout, other, gap=gap)
                array = stacked(array, numbers, (array.shape[0] + gap, 0))
            elif kind == 1:
                layout, array = fabric.hstack(layout, other), stacked(array, numbers, (0, array.shape[1]))
            elif kind == 2:
                layout = fabric.union(layout, fabric.place(other, rows, columns))
                array = stacked(array, numbers, (rows, columns))
            else:
                height, width = array.shape[0] + rows, array.shape[1] + columns
                layout = layout.repeat(height, width)
                array = np.tile(array, (rows + 1, columns + 1))[:height, :width]
        assert layout.shape == array.shape
        found = [
            [layout[r, c].variables.get("n", -1) for c in range(array.shape[1])]
            for r in range(array.shape[0])
        ]
        np.testing.assert_array_equal(found, array)
        inside = [[(r, c) in layout.region for c in range(array.shape[1])] for r in range(array.shape[0])]
        np.testing.assert_array_equal(inside, array >= 0)


def stacked(array, other, at):
    shape = [max(n, x + m) for n, x, m in zip(array.shape, at, other.shape, strict=True)]
    result = np.full(shape, -1)
    result[: array.shape[0], : array.shape[1]] = array
    result[at[0] : at[0] + other.shape[0], at[1] : at[1] + other.shape[1]] = other
    return result


def test_a_wafer_takes_no_longer_than_a_few_pes():
    layout = checkerboard(750, 994, *fabric.colors("c0", "c1"))
    whole = fabric.vstack(layout, fabric.rect(3, 994), layout)
    assert len(whole.paints) == 6
    assert str(whole[1502, 993].routes["c0"]) == (RECEIVE if (749 + 993) % 2 == 0 else SEND)
    assert "1503x994" in whole.caption


def test_layouts_draw_themselves(tmp_path):
    layout = virtual_machine()
    layout.save(tmp_path / "layout.svg")
    picture = ElementTree.parse(tmp_path / "layout.svg").getroot()
    groups = picture.findall("{http://www.w3.org/2000/svg}g")
    assert len(groups) == (H + 3) * W
    ways = [len(group.findall("{http://www.w3.org/2000/svg}path")) for group in groups]
    assert ways.count(8) == H * W
    assert ways.count(1) == 3 * W
    assert "<img" in layout._repr_html_()
    large = checkerboard(100, 100, *fabric.colors("c0", "c1"))
    assert large.to_svg().count("<g ") == 144


@pytest.mark.parametrize(
    "text", ["", "R", "R>", ">C", "R>R", "R>X", "R>C>L", "RR>C", "R>C; ", "ring", "C>L; C>U; C>R; C>D; C>L"]
)
def test_what_is_no_route(text):
    with pytest.raises(cy.ShapeError, match="is no route") as refused:
        fabric.tile().paint(*fabric.colors("c"), text)
    assert refused.value.code == "CYC407"


def test_the_text_of_a_refused_route(golden_refusal):
    (red,) = fabric.colors("red")
    golden_refusal("route-to-nowhere", cy.ShapeError, "CYC407", lambda: fabric.tile().paint(red, "R>C; D>N"))


def test_headers_lead_along_a_row_and_then_a_column():
    """MA-133: destination, turn, and five bits of length; the rule of routers beside a walk by signs."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        sender, receiver = (tuple(int(n) for n in rng.integers(0, 12, 2)) for _ in range(2))
        words = int(rng.integers(1, 40))
        header = cy.fabric.Header.of(sender, receiver, words)
        assert header.length == (words if words < 32 else 0)
        assert (
            header.word
            == receiver[0] * 2**18 + receiver[1] * 2**7 + "CUD".index(header.turn) * 32 + header.length
        )
        (row, column), way = sender, []
        while (row, column) != receiver:
            way.append(header.way(row, column))
            column += {"R": 1, "L": -1}.get(way[-1], 0)
            row += {"D": 1, "U": -1}.get(way[-1], 0)
        right, down = receiver[1] - sender[1], receiver[0] - sender[0]
        assert way == ["R" if right > 0 else "L"] * abs(right) + ["D" if down > 0 else "U"] * abs(down)
        assert header.turn == ("C" if down == 0 else "D" if down > 0 else "U")
        assert header.way(*receiver) == "C"
    with pytest.raises(cy.ShapeError, match="`receiver` is 2048"):
        cy.fabric.Header.of((0, 0), (3, 2048), 1)


def test_sizes_are_checked():
    with pytest.raises(cy.ShapeError, match="the name of a color"):
        fabric.colors("red", 3)
    with pytest.raises(cy.ShapeError, match="`rows` is 0"):
        fabric.rect(0, 3)
    with pytest.raises(cy.ShapeError, match="`gap` is -1"):
        fabric.vstack(fabric.tile(), fabric.tile(), gap=-1)
    with pytest.raises(cy.ShapeError, match="`row` is -2"):
        fabric.place(fabric.tile(), -2, 0)


def test_regions_are_sets():
    """Beside sets of Python, of boxes, diagonals and lattices."""
    rng = np.random.default_rng(1)
    pes = set(np.ndindex(7, 7))

    def random_region():
        top, left = (int(n) for n in rng.integers(0, 4, 2))
        region = Region.box((top, top + int(rng.integers(1, 4))), (left, left + int(rng.integers(1, 4))))
        form, constant = tuple(int(n) for n in rng.integers(-2, 3, 2)), int(rng.integers(-3, 4))
        relation = [">=", "==", 2, 3][rng.integers(4)]
        return region & Region((((((form), constant), relation),),))

    for _ in range(60):
        one, two = random_region() | random_region(), random_region()
        first, second = ({pe for pe in pes if pe in region} for region in (one, two))
        assert {pe for pe in pes if pe in one & two} == first & second
        assert {pe for pe in pes if pe in one | two} == first | second
        moved = one.shift(1, -2)
        assert {pe for pe in pes if pe in moved} == {(r + 1, c - 2) for r, c in first} & pes
        assert bool(one) == bool(first)


def test_regions_print_what_they_are():
    """Their texts, as Python's conditions, beside the sets."""
    for region in (
        Region.box((0, 2), (1, 5)) | Region.box((2, 4), (1, 5)),
        Region.box((0, 1), (0, 4)) | Region.box((3, 5), (2, 4)),
        Region((((((1, -1), 0), "=="),), ((((2, 1), -9), ">="),))),
        Region.box((0, 6), (0, 6)) & Region((((((1, 1), -1), 3),),)),
        Region.box((0, 6), (0, 6)) & Region((((((-1, 2), 3), 4),),)),
        Region.box((0, 1), (0, 1)) & Region.box((1, 2), (1, 2)),
    ):
        text = str(region).replace("nowhere", "False").replace(" = ", " == ").replace(" mod ", " % ")
        text = text.replace("2 row", "2 * row").replace("2 column", "2 * column")
        for row, column in np.ndindex(7, 7):
            assert eval(text, {"row": row, "column": column}) == ((row, column) in region)
    names = Region.of(Region.box((0, 2), (1, 3)).lists, ("i-k", "j"))
    assert str(names) == "0 <= (i-k) <= 1 and 1 <= j <= 2"


def test_a_projection_that_is_no_region_is_refused():
    form = [
        (([7, 0, -100], 0), ">="),
        (([-7, 0, 100], 50), ">="),
        (([0, 3, -50], 0), ">="),
        (([0, -3, 50], 9), ">="),
    ]
    with pytest.raises(cy.ProgramError, match="no region of affine bounds") as refused:
        simplify([form])
    assert refused.value.code == "CYC510"
