"""Classes whose attributes keep their types (MACH, section 5.3)."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

import cyclotron as cy


@cy.typed
class Plate:
    u: NDArray[np.float32]
    rate: float
    steps: int = 3

    def __init__(self, u, rate):
        self.u, self.rate, self.counts = u, rate, np.zeros(2, dtype="int64")

    @cy.kernel
    def cooled(self, x):
        for _ in range(self.steps):
            x = x * self.rate
        return x

    def run(self):
        self.u = self.cooled(self.u)


class Wall(Plate):
    width: int | None = None


def plate(kind=Plate):
    return kind(np.ones(4, dtype="float32"), 0.5)


@pytest.mark.parametrize("kind", [Plate, Wall])
@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        (
            "u",
            np.ones(4),
            "declared as `NDArray[np.float32]` and gets an array of shape (4,) and dtype float64",
        ),
        ("u", 1.0, "declared as `NDArray[np.float32]` and gets `1.0`"),
        ("rate", "fast", "declared as `float` and gets `'fast'`"),
        ("rate", np.ones(2), "declared as `float` and gets an array"),
        ("steps", 2.5, "declared as `int` and gets `2.5`"),
        ("counts", np.zeros(2), "gets an array of shape (2,) and dtype float64"),
        ("counts", None, "gets `None`"),
    ],
)
def test_another_type_is_refused(kind, name, value, says):
    """MA-085: what is declared, and what has had values; the attribute stays as it was."""
    one = plate(kind)
    before = getattr(one, name)
    with pytest.raises(cy.TraceError) as refused:
        setattr(one, name, value)
    assert refused.value.code == "CYC124"
    assert f"`{name}` of `{kind.__name__}` is declared as" in str(refused.value)
    assert says in str(refused.value)
    assert "test_typed_members.py" in str(refused.value)
    assert getattr(one, name) is before


def test_values_of_the_type_are_taken():
    """MA-085: of any shape, whole numbers for real ones, and names that are new."""
    one = plate(Wall)
    one.u, one.rate, one.steps, one.width = np.zeros((2, 2), dtype="float32"), 1, 5, None
    one.width = 3
    one.counts = np.arange(7)
    one.other = "anything"
    with pytest.raises(cy.TraceError, match="`width` of `Wall`"):
        one.width = 0.5
    with pytest.raises(cy.TraceError, match="`other` of `Wall`"):
        one.other = 1
    assert (one.rate, one.steps, one.width, one.other) == (1, 5, 3, "anything")


def test_kernels_of_the_class_run():
    """MA-084, MA-085: results are assigned to what they are declared as."""
    one = plate()
    one.run()
    np.testing.assert_array_equal(one.u, np.full(4, 0.125, dtype="float32"))
    one.__dict__["rate"] = "past the check"
    with pytest.raises(cy.TraceError, match="`rate` of `Plate` is declared as `float`"):
        one.run()


def test_dataclasses_keep_their_types_too():
    @cy.typed
    @dataclass
    class Grid:
        shape: tuple
        spacing: float = 0.1

    grid = Grid((2, 2))
    grid.spacing = 0.2
    with pytest.raises(cy.TraceError, match="`spacing` of `Grid`"):
        Grid((2, 2), spacing="wide")
    with pytest.raises(cy.TraceError, match="`spacing` of `Grid`"):
        grid.spacing = [1.0]
