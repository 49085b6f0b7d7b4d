"""Channels as colors of a wafer's fabric: programs of which each word goes through the routers.

`router_network` moves the words by what `Routes.to_dict` says, and knows nothing else of routes.
"""

import copy
import json
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import cases
import numpy as np
import pytest
import router_network
import test_control_system as systems
import toy_backend

import cyclotron as cy

sys.path.append(str(Path(__file__).parents[2] / "examples"))
import mach_listing

S = cy.Schedule
GRID = S().space("i", "j")


@cy.kernel
def matmul(A, B):
    return A @ B


@cy.kernel
def tiles(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def heat(u, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u


@cy.kernel
def shifted(x, steps):
    y = x
    for _ in range(steps):
        y[3:] = y[3:] + x[:-3]
        y[:-2] = y[:-2] + x[2:]
    return y


@cy.kernel
def oblique_steps(x, steps):
    y = cy.empty((steps, *x.shape))
    for t in range(steps):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                if t == 0:
                    y[t, i, j] = x[i, j]
                elif i >= 1 and j < x.shape[1] - 2:
                    y[t, i, j] = y[t - 1, i - 1, j + 2] + x[i, j]
                else:
                    y[t, i, j] = y[t - 1, i, j]
    return y


@cy.kernel
def moves(x, steps, a, b, c, d):
    y = x
    for _ in range(steps):
        y = x + cy.shift(y, a, b) + cy.shift(y, c, d)
    return y


@cy.kernel
def halving(x, steps):
    for _ in range(steps):
        x = x / 2
        if cy.max(x) < 0.1:
            break
    return x


@cy.kernel
def total(x):
    y = cy.empty(1)
    y[0] = cy.sum(x)
    return y


@cy.kernel
def total_of_grid(x):
    y = cy.empty(1)
    y[0] = sum(x[i, j] for i in range(x.shape[0]) for j in range(x.shape[1]))
    return y


@cy.kernel
def cg_until(b, steps):
    x = cy.zeros_like(b)
    r = b
    p = r
    rs = cy.sum(r * r)
    for _ in range(steps):
        q = 4 * p
        q[1:-1, 1:-1] -= p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]
        a = rs / cy.sum(p * q)
        x = x + a * p
        r = r - a * q
        new = cy.sum(r * r)
        if new < 1e-9:
            break
        p = r + new / rs * p
        rs = new
    return x


@cy.kernel
def cg(b, steps):
    x = cy.zeros_like(b)
    r = b
    p = r
    rs = cy.sum(r * r)
    for _ in range(steps):
        q = 4 * p
        q[1:-1, 1:-1] -= p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]
        a = rs / cy.sum(p * q)
        x = x + a * p
        r = r - a * q
        new = cy.sum(r * r)
        p = r + new / rs * p
        rs = new
    return x


@cy.kernel
def solve(L, b):
    x = cy.empty_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - sum(L[i, j] * x[j] for j in range(i))) / L[i, i]
    return x


def numbers(*shape):
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(float)


def document(routes):
    """The routes as a generator of code reads them."""
    return json.loads(json.dumps(routes.to_dict()))


def judge(program, routes, expected, orders=3):
    """Run a program with its words on the routes, PEs and routers in several orders."""
    inputs = program.inputs() | program.constants
    for seed in range(orders):
        (found,) = router_network.Run(program, inputs, document(routes), seed).run().values()
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def judged(kernel, *arguments, schedule=None, machine=None, colors=24, messages=False):
    """The routes of a kernel's program, whose results are the reference's; queues hold two messages."""
    program = kernel.compile(*arguments, schedule=schedule, machine=machine or cy.Machine())
    routes = program.routes(colors, messages=messages)
    copies = (np.copy(one) if isinstance(one, np.ndarray) else one for one in arguments)
    judge(program, routes, kernel.reference(*copies))
    return routes


def stencil(rows, columns):
    return heat, numbers(rows, columns), 3


LOWER = np.tril(numbers(6, 6)) + 9 * np.eye(6)
PROGRAMS = {
    "streams": ((matmul, numbers(3, 4), numbers(4, 5)), {}, 4),
    "streams on 1x6": ((matmul, numbers(1, 4), numbers(4, 6)), {}, 2),
    "weights stay": (
        (matmul, numbers(4, 4), numbers(4, 4)),
        {"schedule": cy.schedules.weight_stationary(matmul)},
        4,
    ),
    "broadcasts": (
        (matmul, numbers(4, 3), numbers(3, 5)),
        {"schedule": GRID.time("k").broadcast("A", along="j").broadcast("B", along="i")},
        2,
    ),
    "broadcasts from all PEs of a line": (
        (matmul, numbers(8, 8), numbers(8, 8)),
        {
            "schedule": cy.schedules.summa(matmul, 4, distributed=True),
            "machine": cy.Machine(grid=(4, 4)),
        },
        8,
    ),
    "broadcasts down from each PE of a line": (
        (solve, LOWER, numbers(6)),
        {"schedule": S().space("i").time("j").broadcast("x", along="i")},
        6,
    ),
    "broadcasts below a diagonal": (
        (solve, LOWER, numbers(6)),
        {"schedule": GRID.broadcast("x", along="i")},
        5,
    ),
    "hops to two sides": (
        (matmul, numbers(3, 3), numbers(3, 3)),
        {"schedule": cy.schedules.hexagonal(matmul), "machine": cy.Machine(topology="hexagonal")},
        7,
    ),
    "three hops and a turn": (
        (oblique_steps, numbers(6, 7), 4),
        {
            "schedule": GRID.time("t"),
            "machine": cy.Machine(topology=cy.LinkMap("(i, j) -> (i + 1, j - 2)")),
        },
        4,
    ),
    "a stencil of 5x3": (stencil(7, 5), {"schedule": GRID}, 8),
    "a stencil of 2x2": (stencil(4, 4), {"schedule": GRID}, 4),
    "a stencil of 1xN": (stencil(3, 9), {}, 5),
    "a stencil of 8x8": (stencil(10, 10), {}, 8),
    "far neighbours in a line": ((shifted, numbers(12), 3), {"schedule": S().space("i")}, 12),
    "a chain": ((total, numbers(13)), {"schedule": S().space("i")}, 2),
    "a sum over the grid": ((total_of_grid, numbers(6, 6)), {"schedule": GRID}, 3),
    "a tree": (
        (total, numbers(64)),
        {"schedule": S().space("i").reassociate("i"), "machine": cy.Machine(grid=(64,))},
        None,
    ),
    "conjugate gradients": (
        (cg, numbers(5, 6), 3),
        {"machine": cy.machines.wse2(5, 6, channels=8)},
        None,
    ),
    "conjugate gradients that end by data": (
        (cg_until, numbers(4, 5), 20),
        {"machine": cy.Machine(grid=(4, 5), pe=cy.PE(channels=8))},
        None,
    ),
    "a torus whose ends send nothing to each other": (
        (matmul, numbers(4, 4), numbers(4, 4)),
        {"schedule": cy.schedules.output_stationary(matmul), "machine": cy.Machine(topology="torus")},
        4,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_words_come_to_their_receivers(name):
    """MA-018, MA-123: on fixed routes, the sender's turn on a chain told by its place."""
    arguments, options, colors = PROGRAMS[name]
    routes = judged(*arguments, **options)
    assert colors in (None, len(routes.colors))
    assert 0 < len(routes.colors) <= 24


@pytest.mark.parametrize("shape", [(4, 4), (5, 7), (7, 5), (10, 10), (9, 4)])
def test_neighbours_take_turns_on_two_colors(shape):
    """MA-123, MA-124: four states in a ring, with an advance wavelet after each message."""
    routes = judged(*stencil(*shape), schedule=GRID, colors=2)
    ways = [way for _, ways in routes.colors for way in ways]
    assert len(ways) == 2
    assert all(way.advances and len(way.channels) == 4 for way in ways)
    most = max(len(route.states) for way in ways for _, route in way.routers)
    assert most == (4 if min(shape) > 4 else 3 if max(shape) > 4 else 2)
    if most == 4:  # inside, as in Listing 10: a PE sends on one color and receives on the other
        inside = routes.layout[2, 2].routes.values()
        assert [all(come == "C" for come, _ in route.states) for route in inside] == [True, False]


def test_a_message_without_its_advance_wavelet_is_lost():
    program = heat.compile(*stencil(6, 6)[1:], schedule=GRID)
    data = document(program.routes(2))
    data["colors"][0]["ways"][0]["advances"] = False
    with pytest.raises((toy_backend.Deadlock, AssertionError)):
        router_network.Run(program, program.inputs(), data).run()


def mutants(data):
    """The routes with one state of one region's routers other, or one region of routers left out."""
    for c, color in enumerate(data["colors"]):
        for w, way in enumerate(color["ways"]):
            for r, router in enumerate(way["routers"]):
                changed = copy.deepcopy(data)
                del changed["colors"][c]["ways"][w]["routers"][r]
                yield changed
                for s, (come, go) in enumerate(router["states"]):
                    for other in "LRUD":
                        changed = copy.deepcopy(data)
                        state = [other if one == "C" else "C" for one in (come, go)]
                        changed["colors"][c]["ways"][w]["routers"][r]["states"][s] = state
                        yield changed


@pytest.mark.parametrize("colors", [24, 2])
def test_no_other_routes_do(colors):
    """Of a small stencil each route is needed as it is: the oracle is not blind."""
    arguments = stencil(4, 5)
    program = heat.compile(*arguments[1:], schedule=GRID)
    expected = heat.reference(np.copy(arguments[1]), arguments[2])
    found = list(mutants(document(program.routes(colors))))
    assert len(found) > 40
    for data in found:
        try:
            (output,) = router_network.Run(program, program.inputs(), data).run().values()
        except (toy_backend.Deadlock, AssertionError, KeyError):
            continue
        np.testing.assert_allclose(output, expected)
        pytest.fail("other routes bring the words, too")


@pytest.mark.parametrize("seed", range(12))
def test_random_stencils(seed):
    """Any neighbours, near and far, on awkward grids; on as few colors as it says that it needs."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(2, 7, 2))
    offsets = [
        int(n) for axis in rng.integers(0, 2, 2) for n in (rng.integers(1, 3) * rng.choice((-1, 1)), axis)
    ]
    arguments = numbers(*shape), 3, *offsets
    program = moves.compile(*arguments, schedule=GRID, machine=cy.Machine())
    expected = moves.reference(*arguments)
    routes = program.routes()
    judge(program, routes, expected)
    for colors in range(len(routes.colors) - 1, 0, -1):
        try:
            fewer = program.routes(colors)
        except cy.CapacityError:
            break
        assert len(fewer.colors) <= colors
        judge(program, fewer, expected, orders=1)


# Messages with headers.

MESSAGES = {
    "receivers that change": (
        (solve, np.tril(numbers(12, 12)) + 9 * np.eye(12), numbers(12)),
        {"schedule": S().space("i").time("j").broadcast("x", along="i").fold(i=cy.cyclic(4))},
        1,
    ),
    "around a torus": (
        (matmul, numbers(4, 4), numbers(4, 4)),
        {"schedule": cy.schedules.cannon(matmul), "machine": cy.Machine(topology="torus")},
        2,
    ),
    "more senders on a line than colors": (
        (solve, np.tril(numbers(12, 12)) + 9 * np.eye(12), numbers(12)),
        {"schedule": S().space("i").time("j").broadcast("x", along="i"), "colors": 4},
        1,
    ),
    "all of a stencil": (stencil(7, 6), {"schedule": GRID, "colors": 1}, 4),
    "some of a sum over the grid": ((total_of_grid, numbers(5, 4)), {"schedule": GRID, "colors": 1}, None),
    "of tiles": (
        (tiles, cy.blocked(numbers(12, 12), (4, 4)), cy.blocked(numbers(12, 12), (4, 4))),
        {"schedule": GRID.time("k"), "colors": 1},
        2,
    ),
    "conjugate gradients": (
        (cg, numbers(5, 6), 3),
        {"machine": cy.machines.wse2(5, 6, channels=8), "colors": 9},
        None,
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_find_their_way_by_their_headers(name):
    """MA-132, MA-133: along a row, then a column; a router passes a message on as a whole, others wait."""
    arguments, options, count = MESSAGES[name]
    routes = judged(*arguments, **options, messages=True)
    assert count in (None, len(routes.messages))
    assert routes.messages
    assert routes.used <= options.get("colors", 24)
    assert all((one.words > 31) == (name == "of tiles") for one in routes.messages)


def test_messages_that_need_no_headers_have_none():
    program = heat.compile(*stencil(6, 6)[1:], schedule=GRID)
    assert program.routes(messages=True) == program.routes()
    assert program.routes(2, messages=True).messages == ()


EXACT = [case for case in cases.all_cases() if case.exact][5::9]


@pytest.mark.parametrize("colors", [24, 3])
@pytest.mark.parametrize("case", EXACT, ids=[case.name for case in EXACT])
def test_programs_of_all_kinds(case, colors):
    """Kernels and schedules of other tests, on few colors and on many, with headers where that is needed."""
    program = case.compile()
    if len(program.grid) > 2:
        pytest.skip("a grid of three dimensions")
    expected = cy.run(program, backend="local").outputs
    data = document(program.routes(colors, messages=True))
    found = router_network.Run(program, program.inputs() | program.constants, data).run()
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9)


# The controller.


def flood(data, names, grid, entry):
    """Count the words that come to each PE, on each color, of one from above a PE."""
    counts = {}
    for color in data["colors"]:
        for way in color["ways"]:
            if tuple(way["names"]) != names:
                continue
            above = [((entry[0] - 1, entry[1]), "D")] if entry[0] > 0 else []
            waiting = [(entry, "U"), *above]  # from the merge PE, whose row is between these two
            taken = np.zeros(grid, int)
            while waiting:
                pe, port = waiting.pop()
                states = [
                    r["states"] for r in way["routers"] if router_network.toy_backend.holds(r["region"], pe)
                ]
                ((come, go),) = states[0]
                assert len(states) == 1
                assert come == port
                for side in go:
                    if side == "C":
                        taken[pe] += 1
                        continue
                    move = router_network.NEIGHBOUR[side]
                    to = pe[0] + move[0], pe[1] + move[1]
                    assert 0 <= to[0] < grid[0]
                    assert 0 <= to[1] < grid[1]
                    waiting.append((to, router_network.OPPOSITE[side]))
            counts[color["name"]] = taken
    return counts


@pytest.mark.parametrize("grid", [(4, 5), (1, 4), (5, 1), (1, 1), (2, 2), (7, 3)])
def test_the_controllers_words_come_once_to_each_pe(grid):
    """MA-019: calls and arguments on colors of their own, from the PE in the middle to all."""
    machine = cy.Machine(grid=grid, control=cy.Control())
    program = halving.compile(numbers(*grid), 20, schedule=GRID, machine=machine)
    assert program.control_system is not None
    routes = program.routes()
    assert sum(way.channels == ("flag",) for _, ways in routes.colors for way in ways) == 1
    middle = tuple((extent - 1) // 2 for extent in grid)
    bus = {}
    for name in ("calls", "arguments"):
        found = flood(document(routes), (name,), grid, middle)
        assert len(found) == 1
        bus |= found
    assert len(bus) == 2
    assert all((counts == 1).all() for counts in bus.values())
    # No channel of the program shares them.
    assert all(len(ways) == 1 for color, ways in routes.colors if color.name in bus)


def test_the_flag_goes_from_the_nearest_pe_to_the_executive(listing):
    """By the row of the PE in the middle or the one above: the executive is between these, to the right."""
    machine = cy.Machine(grid=(4, 5), control=cy.Control())
    programs = [
        (halving.compile(numbers(4, 5), 20, schedule=GRID, machine=machine), (1, 2), (1, 3), "U"),
        (listing, (3, 4), (3, 5), "D"),  # its loop has PEs in rows 1 to 3
    ]
    for program, start, end, side in programs:
        ways = [way for color in document(program.routes())["colors"] for way in color["ways"]]
        (flag,) = [way for way in ways if way["names"] == ["flag"]]
        grid = program.grid
        assert [pe for pe in np.ndindex(*grid) if toy_backend.holds(flag["senders"], pe)] == [start]
        pe, port = start, "C"
        while pe != end:
            ((come, go),) = next(r for r in flag["routers"] if toy_backend.holds(r["region"], pe))["states"]
            assert come == port
            move = router_network.NEIGHBOUR[go]
            pe, port = (pe[0] + move[0], pe[1] + move[1]), router_network.OPPOSITE[go]
        assert next(r for r in flag["routers"] if toy_backend.holds(r["region"], pe))["states"] == [
            [port, side]
        ]


def test_static_programs_have_no_colors_for_control():
    """MA-127: what a program does not need takes no color."""
    machine = cy.Machine(grid=(4, 5), control=cy.Control())
    kinds = []
    for steps in (halving, heat):
        routes = steps.compile(numbers(4, 5), 20, schedule=GRID, machine=machine).routes()
        kinds.append([("calls",) in [w.channels for w in ways] for _, ways in routes.colors].count(True))
    assert kinds == [1, 0]


@pytest.fixture(scope="module")
def listing():
    return mach_listing.listing.compile(
        *mach_listing.problem(), schedule=mach_listing.WORKERS, machine=cy.machines.wse2(10, 10)
    )


def test_the_control_system_runs_on_colors_too(listing):
    """MA-122, Listing 9: the five channels of control, of Listing 1, each on a color or one for each side."""
    control = listing.control_system
    routes = control.routes()
    flags = np.ones(9, bool)
    inputs = control.constants | {"goes_on_0": flags}
    expected = cy.run(control, flags, backend="sim").outputs
    for seed in range(3):
        found = router_network.Run(control, inputs, document(routes), seed).run()
        assert found.keys() == expected.keys()
        for name in expected:
            np.testing.assert_array_equal(found[name], expected[name])
    sides = Counter(way.channels[0] for _, ways in routes.colors for way in ways)
    # ctrl_color, args_color, ctrl_color_dist, args_color_dist, ctrl_coord_color
    assert [sides[name] for name in ("calls", "arguments", "calls in", "arguments in", "section")] == [
        1,
        1,
        2,
        2,
        2,
    ]


def test_a_longer_control_row_is_reset_on_a_color():
    """MA-029: of four response PEs; numbers of sections have headers, since not all have a share of each."""
    control = systems.compiled("nested", 512).control_system
    routes = control.routes(messages=True)
    assert [one.channel for one in routes.messages] == ["section"]
    assert sum(way.channels == ("reset",) for _, ways in routes.colors for way in ways) == 1
    flags = {one["name"]: np.ones(one["shape"], bool) for one in systems.inputs_of(control)}
    expected = cy.run(control, *flags.values(), backend="sim").outputs
    found = router_network.Run(control, control.constants | flags, document(routes), 29).run()
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name])


# As values.


def test_routes_do_not_depend_on_the_size_of_the_grid():
    small, large = (heat.compile(cy.spec((n, n + 2)), 3, schedule=GRID).routes(2) for n in (12, 700))
    texts = [str(routes).replace("699", "11").replace("698", "10") for routes in (small, large)]
    routes = [
        [[(str(r)) for _, r in way.routers] for _, ways in one.colors for way in ways]
        for one in (small, large)
    ]
    assert routes[0] == routes[1]
    assert len(texts[0].splitlines()) == len(texts[1].splitlines())
    assert (697, 5) in large.colors[0][1][0].receivers or (697, 5) in large.colors[1][1][0].receivers


def test_loaded_programs_have_the_same_routes(tmp_path):
    program = heat.compile(*stencil(6, 6)[1:], schedule=GRID)
    program.save(tmp_path / "heat.cyc")
    routes = program.routes()
    assert cy.load(tmp_path / "heat.cyc").routes() == routes
    routes.save(tmp_path / "routes.json")
    assert json.loads((tmp_path / "routes.json").read_text()) == routes.to_dict()
    routes.save(tmp_path / "routes.svg")
    picture = ElementTree.parse(tmp_path / "routes.svg").getroot()
    assert len(picture.findall("{http://www.w3.org/2000/svg}g")) == 36
    assert "<table>" in routes._repr_html_()
    assert routes.layout[1, 1].code == "class 1"


def test_what_is_printed(golden):
    golden("mapping/colors-matmul.txt", f"{matmul.compile(np.eye(3), np.eye(3)).routes()}\n")
    text = heat.compile(*stencil(6, 6)[1:], schedule=GRID).routes(2)
    golden("mapping/colors-stencil.txt", f"{text}\n")


# Refusals.


def test_too_many_colors(golden_refusal):
    """MA-018: with the channels, and how many each needs."""
    program = heat.compile(*stencil(6, 6)[1:], schedule=GRID)
    golden_refusal("colors-too-many", cy.CapacityError, "CYC509", lambda: program.routes(colors=1))


def test_a_broadcast_alone_needs_too_many(golden_refusal):
    schedule = S().space("i").time("j").broadcast("x", along="i")
    program = solve.compile(np.eye(40), numbers(40), schedule=schedule)
    golden_refusal("colors-of-one-broadcast", cy.CapacityError, "CYC509", program.routes)


def test_a_torus_has_no_routes(golden_refusal):
    program = matmul.compile(
        numbers(4, 4),
        numbers(4, 4),
        schedule=cy.schedules.cannon(matmul),
        machine=cy.Machine(topology="torus"),
    )
    golden_refusal("colors-of-a-torus", cy.ProgramError, "CYC510", program.routes)


def test_receivers_that_change_have_no_route(golden_refusal):
    schedule = S().space("i").time("j").broadcast("x", along="i").fold(i=cy.cyclic(4))
    program = solve.compile(np.eye(12), numbers(12), schedule=schedule)
    golden_refusal("colors-of-receivers-that-change", cy.ProgramError, "CYC510", program.routes)


def test_other_shapes_have_no_routes():
    cube = matmul.compile(numbers(3, 3), numbers(3, 3), schedule=cy.schedules.johnson(matmul))
    with pytest.raises(cy.ProgramError, match="its grid has 3 dimensions"):
        cube.routes()
    with pytest.raises(cy.ShapeError, match="`colors` is 0"):
        matmul.compile(np.eye(3), np.eye(3)).routes(0)
