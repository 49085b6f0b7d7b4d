"""Wide stencils: each value crosses links into each other PE that uses it once a step, and no other link.

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
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

PLANE = cy.Schedule().space("i", "j").time("t")
COLUMNS = cy.Schedule().space("i", "j").time("t", "k")
Offsets = list[tuple[int, ...]]


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


def box(radius: int) -> Offsets:
    reach = range(-radius, radius + 1)
    return [offset for offset in itertools.product(reach, reach) if any(offset)]


def star(radius: int, rank: int) -> Offsets:
    return [
        tuple(step if d == axis else 0 for d in range(rank))
        for axis in range(rank)
        for step in range(-radius, radius + 1)
        if step
    ]


CORNERS = [(-1, -1), (-1, 1), (1, -1), (1, 1)]


def tree_words(pes: Iterable[tuple[int, int]], maker: tuple[int, int]) -> int:
    """The other PEs that a value must come into: its users, and for corners alone neighbours."""
    others = {(i - maker[0], j - maker[1]) for i, j in pes} - {(0, 0)}
    if all(abs(i) == abs(j) == 1 for i, j in others):
        return len(others) + len({j for _, j in others})
    return len(others)


def least_words(shape: tuple[int, ...], offsets: Offsets, block: tuple[int, int]) -> int:
    """The minimum for one step, by every value and the PEs of its users."""
    radius = max(abs(step) for offset in offsets for step in offset)
    inner = [range(radius, extent - radius) for extent in shape]
    words = 0
    for point in itertools.product(*inner):
        users = [tuple(p - step for p, step in zip(point, offset, strict=True)) for offset in offsets]
        used = [user for user in users if all(x in r for x, r in zip(user, inner, strict=True))]
        words += tree_words(
            {(user[0] // block[0], user[1] // block[1]) for user in used},
            (point[0] // block[0], point[1] // block[1]),
        )
    return words


def words_a_step(kernel: cy.Kernel, shape: tuple[int, ...], schedule: cy.Schedule) -> int:
    """The words over links in each step after those that read the input."""
    u: Any = np.random.default_rng(1).integers(-4, 5, shape).astype(float)
    counts = []
    for steps in (3, 4):
        program = kernel.compile(u, steps, schedule=schedule)
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
    pytest.param(nine_points, box(1), id="nine points"),
    pytest.param(corners, CORNERS, id="corners"),
    pytest.param(box_of_25, box(2), id="box of 25"),
]


def test_the_minimum_far_from_the_border() -> None:
    for offsets, words in ((star(1, 2), 4), (box(1), 8), (CORNERS, 6), (box(2), 24)):
        assert tree_words([(-i, -j) for i, j in offsets], (0, 0)) == words


@pytest.mark.parametrize("shape", [(8, 9), (5, 12), (9, 6), (7, 7)])
@pytest.mark.parametrize(("kernel", "offsets"), STENCILS)
def test_one_point_a_pe(kernel: cy.Kernel, offsets: Offsets, shape: tuple[int, int]) -> None:
    assert words_a_step(kernel, shape, PLANE) == least_words(shape, offsets, (1, 1))


@pytest.mark.parametrize(
    ("shape", "pes"), [((10, 10), (4, 4)), ((12, 9), (3, 2)), ((13, 7), (5, 1)), ((8, 11), (1, 5))]
)
@pytest.mark.parametrize(("kernel", "offsets"), STENCILS)
def test_blocks(kernel: cy.Kernel, offsets: Offsets, shape: tuple[int, int], pes: tuple[int, int]) -> None:
    schedule, blocks = folded(PLANE, shape, pes)
    assert words_a_step(kernel, shape, schedule) == least_words(shape, offsets, blocks)


@pytest.mark.parametrize("shape", [(14, 13, 12), (9, 15, 13)])
def test_columns_of_a_star(shape: tuple[int, int, int]) -> None:
    assert words_a_step(star_of_25, shape, COLUMNS) == least_words(shape, star(4, 3), (1, 1))


@pytest.mark.parametrize("pes", [(3, 2), (4, 5)])
def test_blocks_of_columns_of_a_star(pes: tuple[int, int]) -> None:
    """In the second case a block is narrower than the star's arms, which reach the one after."""
    shape = (16, 15, 11)
    schedule, blocks = folded(COLUMNS, shape, pes)
    assert words_a_step(star_of_25, shape, schedule) == least_words(shape, star(4, 3), blocks)
