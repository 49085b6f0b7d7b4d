"""Layouts: who owns what, against ScaLAPACK's formulas; needs no MPI."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import cyclotron as cy
from cyclotron.mpi.layout import layout_of


def numroc(n: int, block: int, process: int, source: int, processes: int) -> int:
    """ScaLAPACK's TOOLS/numroc.f: how many of n rows a process has."""
    distance = (processes + process - source) % processes
    blocks = n // block
    rows = blocks // processes * block
    extra = blocks % processes
    return rows + (block if distance < extra else n % block if distance == extra else 0)


def owner_of(row: int, block: int, source: int, processes: int) -> int:
    """ScaLAPACK's TOOLS/indxg2p.f, counting from 0."""
    return (source + row // block) % processes


@pytest.mark.parametrize("grid", [(1, 1), (2, 2), (3, 2), (1, 4)])
@pytest.mark.parametrize("block", [(1, 1), (2, 3), (64, 5)])
def test_block_cyclic_is_scalapacks(grid, block):
    shape = (19, 23)
    for source in itertools.product(*map(range, grid)):
        layout = cy.Layout(grid, block, source)
        owners = layout.owners(shape)
        for i, j in itertools.product(*map(range, shape)):
            place = [owner_of(at, b, s, p) for at, b, s, p in zip((i, j), block, source, grid, strict=True)]
            assert owners[i // block[0], j // block[1]] == place[0] * grid[1] + place[1]
        for rank in range(layout.ranks):
            row, column = divmod(rank, grid[1])
            lengths = [len(index) for index in layout.local_indices(shape, rank)]
            assert lengths == [
                numroc(shape[0], block[0], row, source[0], grid[0]),
                numroc(shape[1], block[1], column, source[1], grid[1]),
            ]
            descriptor = layout.descriptor(shape, rank=rank, context=7)
            assert descriptor == (1, 7, *shape, *block, *source, max(1, lengths[0]))


def test_blocks_as_equal_as_can_be():
    assert cy.Layout((3, 2)).tile((10, 5)) == (4, 3)
    assert cy.Layout((3,)).tile((0,)) == (1,)
    assert cy.Layout([3, 1], np.int64(2)) == cy.Layout((3, 1), 2)
    assert cy.Layout((3,)).owners((7,)).tolist() == [0, 1, 2]
    assert cy.Layout((4,)).owners((5,)).tolist() == [0, 1, 2]  # blocks of 2; the last rank has none


@pytest.mark.parametrize("grid", [(1, 1), (2, 2), (3, 1), (1, 3), (2, 3)])
def test_a_layout_is_found_again(grid):
    shape = (20, 24)
    layout = cy.Layout(grid, (4, 4))
    assert layout_of(shape, (4, 4), layout.owners(shape)) == layout
    odd = cy.Layout(block=4, owner=lambda i, j: (i * j) % 3)
    found = layout_of(shape, (4, 4), odd.owners(shape))
    assert found.grid is None
    assert (found.owners(shape) == odd.owners(shape)).all()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "either a grid or an owner"),
        ({"grid": (2,), "block": 1, "owner": int}, "either a grid or an owner"),
        ({"owner": int}, "has a block"),
        ({"grid": 4}, "grid=4 of a layout"),
        ({"grid": (2, 2), "block": 1.5}, "block=1.5 of a layout"),
        ({"grid": (2, 0)}, "blocks None on a grid of"),
        ({"grid": (2, 1), "block": (1, -1)}, "on a grid of"),
        ({"grid": (2, 1), "source": (2, 0)}, "first block is on rank"),
    ],
)
def test_layouts_that_are_none(arguments, text):
    with pytest.raises(cy.ShapeError, match=text) as caught:
        cy.Layout(**arguments)
    assert caught.value.code == "CYC734"


def test_descriptors_are_of_matrices_on_grids(golden):
    with pytest.raises(cy.ShapeError) as caught:
        cy.Layout((2, 2)).descriptor((4, 4, 4))
    golden("refusals/descriptor-of-three-dimensions.txt", str(caught.value))
    with pytest.raises(cy.ShapeError, match="no product of rows and columns"):
        cy.Layout(block=2, owner=np.add).local_indices((4, 4), 0)
    with pytest.raises(cy.ShapeError, match="2 dimensions for an array of shape"):
        cy.Layout((2, 2)).tile((4,))


@pytest.mark.parametrize("grid", [(1, 1), (2, 3), (3, 1)])
@pytest.mark.parametrize("source", [None, (0, 0)])
def test_layouts_of_descriptors(grid, source):
    source = source and (grid[0] - 1, grid[1] - 1)
    layout = cy.Layout(grid, (7, 5), source)
    found = cy.Layout.from_descriptor(layout.descriptor((40, 33)), grid)
    np.testing.assert_array_equal(found.owners((40, 33)), layout.owners((40, 33)))
    assert found.tile((40, 33)) == (7, 5)
    assert found.descriptor((40, 33), rank=1 % found.ranks) == layout.descriptor(
        (40, 33), rank=1 % found.ranks
    )


@pytest.mark.parametrize(
    "descriptor",
    [(), (1, 0, 4, 4, 2, 2, 0, 0), (501, 0, 4, 4, 2, 2, 0, 0, 4), (1, 0, 4, 4, 0, 2, 0, 0, 4), "abc", 3],
)
def test_descriptors_of_no_dense_matrix(descriptor):
    with pytest.raises(cy.ShapeError) as caught:
        cy.Layout.from_descriptor(descriptor, (2, 1))
    assert caught.value.code == "CYC734"
