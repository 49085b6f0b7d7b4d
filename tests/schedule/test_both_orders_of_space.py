"""On a square grid a placement is tried with its dimensions either way round."""

import numpy as np
import pytest

import cyclotron as cy

GRID = cy.Machine(grid=(8, 8))


@cy.kernel
def horner(c, x):
    y = cy.zeros_like(x)
    for k in range(c.shape[0]):
        y = y * x + c[k]
    return y


@pytest.mark.parametrize("n", [33, 100])
def test_the_faster_way_round_is_taken(n):
    """Folded, a PE goes through its values in another order."""
    given = np.linspace(1, 2, 10), np.linspace(0, 1, n)
    default, along, across = (
        cy.run(horner.compile(*given, machine=GRID, schedule=schedule), backend="sim")
        for schedule in (None, cy.Schedule().space("i", "k"), cy.Schedule().space("k", "i"))
    )
    assert min(along.cycles, across.cycles) < 0.7 * max(along.cycles, across.cycles)
    assert default.cycles <= min(along.cycles, across.cycles)
    np.testing.assert_array_equal(default.outputs["y"], horner.__wrapped__(*given))
