"""PE classes: nine on any weight-stationary grid from 3x3 on, others on smaller ones.

CY-074 … CY-077 with the readings of E1 and E2.
"""

import cases
import kernels
import numpy as np
import pytest

import cyclotron as cy

WEIGHT_STATIONARY = cases.MATMUL["weight-stationary"]


def compile_weight_stationary(rows, columns, steps=5):
    return kernels.matmul.compile(
        cy.spec((rows, columns)), cy.spec((columns, steps)), schedule=WEIGHT_STATIONARY
    )


def test_nine_classes_on_a_64x32_grid():
    program = compile_weight_stationary(64, 32)
    assert program.grid == (64, 32)
    counts = sorted(c.pe_count for c in program.classes)
    assert counts == [1, 1, 1, 1, 30, 30, 62, 62, 62 * 30]


@pytest.mark.parametrize(
    ("rows", "columns", "count"),
    [(1, 1, 1), (1, 2, 2), (2, 1, 2), (1, 5, 3), (5, 1, 3), (2, 2, 4), (2, 5, 6), (3, 3, 9), (4, 7, 9)],
)
def test_classes_of_small_grids(rows, columns, count):
    program = compile_weight_stationary(rows, columns)
    assert len(program.classes) == count
    assert sum(c.pe_count for c in program.classes) == rows * columns
    for pe in np.ndindex(rows, columns):
        assert 0 <= program.core.class_of(list(pe)) < count


def test_west_edge_sends_its_partial_sum():
    """E1: Cell (i, 0) of Fig. 14 sends C east; only the east edge stores."""
    program = compile_weight_stationary(4, 4)
    for c in program.classes:
        east = "k = 3" in c.region
        assert ("store" in c.text) == east
        assert ("[i, k+1]" in c.text) == (not east)
        assert c.text.count("load") == (2 if "i = 0" in c.region else 1)


def test_code_does_not_grow_with_the_grid():
    small, large = compile_weight_stationary(16, 16), compile_weight_stationary(1024, 1024)
    assert [c.instructions for c in small.core.classes] == [c.instructions for c in large.core.classes]
