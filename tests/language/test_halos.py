"""Of array programs only halos cross links: each value comes once a step into each other PE that uses it.

The minimum. A word that crosses a link comes into one PE. So every PE that uses a value that another makes
costs a word at least, whatever the route. For a stencil whose users lie next to each other and to the maker
(boxes and stars, one point a PE or a block of them) as many are enough: each PE receives the value from the
neighbour that uses it too. One point a PE far from the border, that is 8 words a value for 9 points in a
box, and 24 for 25 in a box; the 25-point star in three dimensions, its third in the PEs' memories, takes
16. Where only the corners use a value, two straight neighbours pass it on, each to both corners behind it:
6 words.
"""

from __future__ import annotations

import itertools
import runpy
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

PLANE = cy.Schedule().space("i", "j").time("t")
COLUMNS = cy.Schedule().space("i", "j").time("t", "k")
Offsets = list[tuple[int, ...]]


@cy.kernel
def five_points(u, steps):
    for t in range(steps):
        u[1:-1, 1:-1] -= u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return u


@cy.kernel
def seven_points(u, steps):
    for t in range(steps):
        inner = u[1:-1, 1:-1, 1:-1]
        inner -= (
            u[:-2, 1:-1, 1:-1]
            + u[2:, 1:-1, 1:-1]
            + u[1:-1, :-2, 1:-1]
            + u[1:-1, 2:, 1:-1]
            + (u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:])
        )
    return u


@cy.kernel
def nine_points(u, steps):
    for t in range(steps):
        u[1:-1, 1:-1] -= (
            (u[:-2, :-2] + 2 * u[:-2, 1:-1] + 3 * u[:-2, 2:])
            + (4 * u[1:-1, :-2] + 5 * u[1:-1, 2:])
            + (6 * u[2:, :-2] + 7 * u[2:, 1:-1] + 8 * u[2:, 2:])
        )
    return u


@cy.kernel
def corners(u, steps):
    for t in range(steps):
        u[1:-1, 1:-1] -= u[:-2, :-2] + 2 * u[:-2, 2:] + 3 * u[2:, :-2] + 4 * u[2:, 2:]
    return u


@cy.kernel
def box_of_25(u, steps):
    for t in range(steps):
        u[2:-2, 2:-2] -= (
            (u[:-4, :-4] + u[:-4, 1:-3] + u[:-4, 2:-2] + u[:-4, 3:-1] + u[:-4, 4:])
            + (u[1:-3, :-4] + u[1:-3, 1:-3] + u[1:-3, 2:-2] + u[1:-3, 3:-1] + u[1:-3, 4:])
            + (u[2:-2, :-4] + u[2:-2, 1:-3] + u[2:-2, 3:-1] + u[2:-2, 4:])
            + (u[3:-1, :-4] + u[3:-1, 1:-3] + u[3:-1, 2:-2] + u[3:-1, 3:-1] + u[3:-1, 4:])
            + (u[4:, :-4] + u[4:, 1:-3] + u[4:, 2:-2] + u[4:, 3:-1] + u[4:, 4:])
        )
    return u


@cy.kernel
def star_of_25(u, steps):
    """Of order 8 in space, as seismic codes have it."""
    for t in range(steps):
        inner = u[4:-4, 4:-4, 4:-4]
        inner -= (
            (u[3:-5, 4:-4, 4:-4] + 2 * u[2:-6, 4:-4, 4:-4] + 3 * u[1:-7, 4:-4, 4:-4] + 4 * u[:-8, 4:-4, 4:-4])
            + (
                u[5:-3, 4:-4, 4:-4]
                + 2 * u[6:-2, 4:-4, 4:-4]
                + 3 * u[7:-1, 4:-4, 4:-4]
                + 4 * u[8:, 4:-4, 4:-4]
            )
            + (
                u[4:-4, 3:-5, 4:-4]
                + 2 * u[4:-4, 2:-6, 4:-4]
                + 3 * u[4:-4, 1:-7, 4:-4]
                + 4 * u[4:-4, :-8, 4:-4]
            )
            + (
                u[4:-4, 5:-3, 4:-4]
                + 2 * u[4:-4, 6:-2, 4:-4]
                + 3 * u[4:-4, 7:-1, 4:-4]
                + 4 * u[4:-4, 8:, 4:-4]
            )
            + (
                u[4:-4, 4:-4, 3:-5]
                + 2 * u[4:-4, 4:-4, 2:-6]
                + 3 * u[4:-4, 4:-4, 1:-7]
                + 4 * u[4:-4, 4:-4, :-8]
            )
            + (
                u[4:-4, 4:-4, 5:-3]
                + 2 * u[4:-4, 4:-4, 6:-2]
                + 3 * u[4:-4, 4:-4, 7:-1]
                + 4 * u[4:-4, 4:-4, 8:]
            )
        )
    return u


def box(radius: int, rank: int = 2) -> Offsets:
    reach = range(-radius, radius + 1)
    return [offset for offset in itertools.product(reach, repeat=rank) if any(offset)]


def star(radius: int, rank: int) -> Offsets:
    return [
        tuple(step if d == axis else 0 for d in range(rank))
        for axis in range(rank)
        for step in range(-radius, radius + 1)
        if step
    ]


CORNERS = [(-1, -1), (-1, 1), (1, -1), (1, 1)]


def stencil(folder: Path, offsets: Offsets) -> cy.Kernel:
    """The kernel of one statement that takes the neighbours at these offsets."""
    radius = max(abs(step) for offset in offsets for step in offset)

    def part(offset: Iterable[int]) -> str:
        return f"u[{', '.join(f'{radius + step}:{step - radius or None}' for step in offset)}]"

    terms = [f"{n % 5 + 1} * {part(offset)}" for n, offset in enumerate(offsets)]
    while len(terms) > 1:
        terms = [f"({' + '.join(terms[n : n + 4])})" for n in range(0, len(terms), 4)]
    middle = part([0] * len(offsets[0]))
    path = folder / "stencil.py"
    path.write_text(
        "import cyclotron as cy\n\n\n@cy.kernel\ndef stencil(u, steps):\n    for t in range(steps):\n"
        f"        {middle} -= {terms[0]}\n    return u\n"
    )
    kernel: cy.Kernel = runpy.run_path(str(path))["stencil"]
    return kernel


def tree_words(pes: Iterable[tuple[int, ...]], maker: tuple[int, ...]) -> int:
    """The other PEs that a value must come into: its users, and for corners alone neighbours."""
    others = {tuple(x - y for x, y in zip(pe, maker, strict=True)) for pe in pes}
    others.discard((0,) * len(maker))
    if all(len(offset) == 2 and abs(offset[0]) == abs(offset[1]) == 1 for offset in others):
        return len(others) + len({offset[1] for offset in others})
    return len(others)


def least_words(shape: tuple[int, ...], offsets: Offsets, block: tuple[int, ...]) -> int:
    """The minimum for one step, by every value and the PEs of its users."""
    radius = max(abs(step) for offset in offsets for step in offset)
    inner = [range(radius, extent - radius) for extent in shape]
    words = 0
    for point in itertools.product(*inner):
        users = [tuple(p - step for p, step in zip(point, offset, strict=True)) for offset in offsets]
        used = [user for user in users if all(x in r for x, r in zip(user, inner, strict=True))]
        words += tree_words(
            {tuple(x // b for x, b in zip(user, block, strict=False)) for user in used},
            tuple(x // b for x, b in zip(point, block, strict=False)),
        )
    return words


def words_a_step(
    kernel: cy.Kernel, shape: tuple[int, ...], schedule: cy.Schedule, machine: cy.Machine | None = None
) -> int:
    """The words over links in each step after those that read the input."""
    u: Any = np.random.default_rng(1).integers(-4, 5, shape).astype(float)
    counts = []
    for steps in (3, 4):
        program = kernel.compile(u, steps, schedule=schedule, machine=machine)
        result = cy.run(program, backend="sim")
        np.testing.assert_array_equal(result.output, kernel.reference(u, steps))
        assert result.output.tobytes() == cy.run(program, backend="local").output.tobytes()
        counts.append(sum(int(words.sum()) for words in result.stats["words_sent"].values()))
    return counts[1] - counts[0]


def folded(schedule: cy.Schedule, shape: tuple[int, ...], pes: tuple[int, int]) -> tuple[cy.Schedule, Any]:
    """In blocks on so many PEs, with the points of a block."""
    blocks = (-(-shape[0] // pes[0]), -(-shape[1] // pes[1]))
    return schedule.fold(i=cy.block(pes[0]), j=cy.block(pes[1])), blocks


STENCILS = [
    pytest.param(five_points, star(1, 2), id="five points"),
    pytest.param(nine_points, box(1), id="nine points"),
    pytest.param(corners, CORNERS, id="corners"),
    pytest.param(box_of_25, box(2), id="box of 25"),
]
COLUMN_STENCILS = [
    pytest.param(seven_points, star(1, 3), id="seven points"),
    pytest.param(star_of_25, star(4, 3), id="star of 25"),
]


def around(offsets: Offsets, pes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the array whose inner points are these: the border as wide as the stencil reaches."""
    radius = max(abs(step) for offset in offsets for step in offset)
    return tuple(extent + 2 * radius for extent in pes)


def test_the_minimum_far_from_the_border() -> None:
    for offsets, words in ((star(1, 2), 4), (box(1), 8), (CORNERS, 6), (box(2), 24)):
        assert tree_words([(-i, -j) for i, j in offsets], (0, 0)) == words


@pytest.mark.sampled(3)
@pytest.mark.parametrize("pes", [(1, 1), (1, 8), (9, 1), (2, 2), (3, 2), (6, 7)])
@pytest.mark.parametrize(("kernel", "offsets"), STENCILS)
def test_one_point_a_pe(kernel: cy.Kernel, offsets: Offsets, pes: tuple[int, int]) -> None:
    shape = around(offsets, pes)
    assert words_a_step(kernel, shape, PLANE) == least_words(shape, offsets, (1, 1))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("kernel", "offsets", "shape", "pes"),
    [
        *(
            pytest.param(*stencil.values, shape, pes, id=f"{stencil.id} {shape} on {pes}")
            for stencil in STENCILS
            for shape, pes in [((12, 9), (3, 2)), ((13, 7), (5, 1)), ((8, 11), (1, 5))]
        ),
        pytest.param(five_points, star(1, 2), (10, 10), (4, 4), id="five points on 4 x 4"),
        pytest.param(nine_points, box(1), (10, 10), (4, 4), id="nine points on 4 x 4"),
        pytest.param(nine_points, box(1), (9, 9), (2, 2), id="nine points on 2 x 2"),
    ],
)
def test_blocks(kernel: cy.Kernel, offsets: Offsets, shape: tuple[int, int], pes: tuple[int, int]) -> None:
    schedule, blocks = folded(PLANE, shape, pes)
    assert words_a_step(kernel, shape, schedule) == least_words(shape, offsets, blocks)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("offsets", "shape", "pes"),
    [
        (box(2), (20, 20), (5, 5)),
        (box(2), (21, 17), (4, 3)),
        (box(2), (10, 10), (5, 5)),
        (box(2), (20, 11), (1, 5)),
        (box(2), (11, 20), (5, 1)),
        (box(3), (14, 15), (2, 2)),
        (star(4, 2), (19, 17), (3, 2)),
        (star(1, 3), (8, 8, 8), (2, 2, 2)),
        (box(1, 3), (9, 8, 5), (3, 2)),
        (box(1, 3), (6, 5, 4), (2, 2, 2)),
    ],
    ids=lambda value: f"{len(value)} others" if isinstance(value, list) else None,
)
def test_blocks_of_wide_stencils(
    offsets: Offsets, shape: tuple[int, ...], pes: tuple[int, ...], tmp_path: Path
) -> None:
    """Blocks as wide as the stencil reaches and narrower, ragged ones, in one, two and three dimensions."""
    names = "ijk"[: len(shape)]
    schedule = cy.Schedule().space(*names[: len(pes)]).time("t", *names[len(pes) :])
    schedule = schedule.fold({name: cy.block(count) for name, count in zip(names, pes, strict=False)})
    blocks = tuple(-(-extent // count) for extent, count in zip(shape, pes, strict=False))
    assert words_a_step(stencil(tmp_path, offsets), shape, schedule) == least_words(shape, offsets, blocks)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("shape", "pes"), [((12, 9), (3, 2)), ((12, 12), (4, 4)), ((8, 11), (1, 5))])
@pytest.mark.parametrize(("kernel", "offsets"), STENCILS)
def test_blocks_on_a_torus(
    kernel: cy.Kernel, offsets: Offsets, shape: tuple[int, int], pes: tuple[int, int]
) -> None:
    schedule, blocks = folded(PLANE, shape, pes)
    torus = cy.Machine(grid=pes, topology="torus", link=cy.Link(depth=64))
    assert words_a_step(kernel, shape, schedule, torus) == least_words(shape, offsets, blocks)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("link", [cy.Link(latency=9, depth=2), cy.Link(latency=30, depth=40)], ids=str)
@pytest.mark.parametrize(
    ("kernel", "offsets", "shape", "pes"),
    [
        (nine_points, box(1), (12, 9), (3, 2)),
        (nine_points, box(1), (9, 12), (1, 12)),
        (box_of_25, box(2), (13, 14), (2, 3)),
        (box_of_25, box(2), (9, 9), (9, 9)),
    ],
)
def test_slow_links_take_as_few_words(
    kernel: cy.Kernel, offsets: Offsets, shape: tuple[int, int], pes: tuple[int, int], link: cy.Link
) -> None:
    schedule, blocks = folded(PLANE, shape, pes)
    machine = cy.Machine(link=link)
    assert words_a_step(kernel, shape, schedule, machine) == least_words(shape, offsets, blocks)


def test_slow_links_are_waited_for_once_a_sweep() -> None:
    """Not at each point: by then the values of points before are there.

    Fifteen operators a point are all that a sweep takes, and the last value's way.
    """
    u = cy.spec((34, 8))
    machine = cy.Machine(link=cy.Link(latency=20, depth=4))
    schedule = cy.Schedule().space("j").time("t", "i")
    cycles = [
        cy.run(
            nine_points.compile(u, steps, schedule=schedule, machine=machine), backend="sim", functional=False
        ).cycles
        for steps in (3, 6)
    ]
    assert cycles[1] - cycles[0] <= 3 * (15 * 32 + 20)


@cy.kernel
def steady_source(u, v, steps):
    v = v * 2
    for t in range(steps):
        u = u - cy.shift(v, 1, 1)
    return u


@pytest.mark.sampled(3)
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("shape", [(4, 4), (8, 8), (7, 5), (1, 9), (8, 1)])
def test_what_is_used_at_once_and_later_crosses_once(shape: tuple[int, int], depth: int) -> None:
    """In the first step, in which `v` is made, and in those after it: the same values."""
    u = np.random.default_rng(3).integers(-4, 5, shape).astype(float)
    machine = cy.Machine(grid=(2, 2), link=cy.Link(depth=depth))
    program = steady_source.compile(u, u + 1, 4, schedule=PLANE, machine=machine)
    result = cy.run(program, backend="sim")
    np.testing.assert_array_equal(result.output, steady_source.reference(u, u + 1, 4))
    words = sum(int(words.sum()) for words in result.stats["words_sent"].values())
    assert words == (shape[0] if shape[1] > 1 else 0)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("inner", [(6, 5, 4), (1, 7, 3), (2, 2, 2)])
@pytest.mark.parametrize(("kernel", "offsets"), COLUMN_STENCILS)
def test_columns(kernel: cy.Kernel, offsets: Offsets, inner: tuple[int, int, int]) -> None:
    shape = around(offsets, inner)
    assert words_a_step(kernel, shape, COLUMNS) == least_words(shape, offsets, (1, 1))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("kernel", "offsets", "pes"),
    [
        (seven_points, star(1, 3), (3, 2)),
        (seven_points, star(1, 3), (1, 3)),
        (star_of_25, star(4, 3), (4, 5)),
    ],
)
def test_blocks_of_columns(kernel: cy.Kernel, offsets: Offsets, pes: tuple[int, int]) -> None:
    """On 4 x 5 a block is narrower than the arms of the star of 25, which reach the one after."""
    shape = (16, 15, 11)
    schedule, blocks = folded(COLUMNS, shape, pes)
    assert words_a_step(kernel, shape, schedule) == least_words(shape, offsets, blocks)


@cy.kernel
def on_a_ring(u, steps):
    for t in range(steps):
        u = cy.roll(u, 1, axis=0) - cy.roll(u, -1, axis=0) + 2 * cy.roll(u, 1, axis=1) + u
    return u


@pytest.mark.sampled(3)
@pytest.mark.parametrize("pes", [(3, 12), (12, 5), (4, 4)])
def test_shifts_on_a_torus_take_its_links(pes: tuple[int, int]) -> None:
    """Three neighbours use each value, those beyond the border over the links that wrap around."""
    torus = cy.Machine(grid=pes, topology="torus")
    assert words_a_step(on_a_ring, pes, PLANE, torus) == 3 * pes[0] * pes[1]


@cy.kernel
def drift(u, steps):
    for t in range(steps):
        u = u + cy.shift(u, 1, 0)
        u = u - cy.roll(u, -1, 1)
    return u


@pytest.mark.parametrize("shape", [(4, 5), (1, 4), (5, 1)])
def test_new_arrays_lie_where_arrays_as_long_do(shape: tuple[int, int]) -> None:
    """However far the neighbours are that an array is computed from: as many PEs as elements."""
    program = drift.compile(cy.spec(shape), 3, schedule=PLANE)
    assert cy.run(program, backend="sim", functional=False).utilization.shape == shape
    n, m = shape
    back = n * (m - 1)  # the first column passes all PEs of its row
    assert words_a_step(drift, shape, PLANE) == (n - 1) * m + n * (m - 1) + back


@pytest.mark.parametrize("shape", [(4, 5), (3, 3), (1, 4)])
def test_rolls_take_the_links_that_wrap_around(shape: tuple[int, int]) -> None:
    """A hop for each element, where on a mesh the first column passes all PEs of its row."""
    torus = cy.Machine(grid=shape, topology="torus")
    words = words_a_step(drift, shape, PLANE, torus)
    assert words == (shape[0] - 1) * shape[1] + shape[0] * shape[1]


@cy.kernel
def leaps(u, steps):
    for t in range(steps):
        u = u + cy.roll(u, 2, 0) - cy.roll(u, (1, -1), (0, 1)) + 3 * cy.roll(u, -2, 1)
    return u


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", [(6, 6), (5, 3), (1, 6), (4, 4), (12, 11), (1, 14)])
@pytest.mark.parametrize("topology", ["torus", "mesh"])
def test_rolls_stay_on_a_grid_as_large_as_the_array(shape: tuple[int, int], topology: str) -> None:
    u = np.random.default_rng(2).integers(-4, 5, shape).astype(float)
    machine = cy.Machine(grid=shape, topology=topology)
    for schedule in (PLANE, None):
        result = cy.run(leaps.compile(u, 3, schedule=schedule, machine=machine), backend="sim")
        np.testing.assert_array_equal(result.output, leaps.reference(u, 3))
        assert result.utilization.shape == shape


@cy.kernel
def far_neighbours(u, steps):
    for t in range(steps):
        u[2:-2, 2:-2] += u[2:-2, :-4] + u[2:-2, 4:]
    return u


def test_nothing_is_shared_in_vain() -> None:
    """No word fewer would cross a link, but PEs would wait for each other at each point.

    Three operators of each point are all that a step takes.
    """
    u = cy.spec((34, 12))
    machine = cy.Machine(link=cy.Link(depth=64))
    schedule = cy.Schedule().space("j").time("t", "i")
    cycles = [
        cy.run(
            far_neighbours.compile(u, steps, schedule=schedule, machine=machine),
            backend="sim",
            functional=False,
        ).cycles
        for steps in (3, 6)
    ]
    assert cycles[1] - cycles[0] == 3 * 30 * 3
