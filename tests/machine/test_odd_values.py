"""Arrays of NumPy and others as fields of machines: refused in words, whatever they are."""

import dataclasses

import numpy as np
import pytest

import cyclotron as cy

ODD = [
    np.array([1, 2]), np.array(2), "x", -1, 2.5, None, [1], {}, object(), float("nan"), 10**30, True,
    np.float64(3), (1, (2, 3)), b"x",
]  # fmt: skip


@pytest.mark.parametrize("kind", [cy.Memory, cy.PE, cy.Link, cy.Control, cy.Unit, cy.Machine])
def test_odd_fields_are_refused_or_accepted(kind):
    codes = []
    for field in dataclasses.fields(kind):
        for value in ODD:
            try:
                kind(**{field.name: value})
            except cy.CyclotronError as error:
                codes.append(error.code)
    assert len(codes) > 3 * len(dataclasses.fields(kind))
    assert set(codes) <= {"CYC401", "CYC402", "CYC406"}


@pytest.mark.parametrize("call", [
    lambda: cy.spec((2,), "1:"),
    lambda: cy.spec((2,), np.array([1, 2])),
    lambda: cy.spec(np.array(2.5)),
    lambda: cy.spec((2,), tile=np.array(2.5)),
    lambda: cy.blocked(np.ones(4), "ab"),
])  # fmt: skip
def test_odd_shapes_are_refused(call):
    with pytest.raises(cy.ShapeError):
        call()
