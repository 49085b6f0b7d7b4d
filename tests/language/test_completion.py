"""Names that `dir` and tab completion show: those for users."""

from types import ModuleType

import pytest

import cyclotron as cy


@cy.kernel
def doubled(x):
    return 2 * x


@pytest.mark.parametrize(
    "module",
    [cy, cy.il, cy.language, cy.language.linalg, cy.linalg, cy.machines, cy.schedules],
    ids=lambda module: module.__name__,
)
def test_modules_show_their_public_names(module: ModuleType) -> None:
    shown = {name for name in dir(module) if not name.startswith("__")}
    assert shown == set(module.__all__)
    assert all(hasattr(module, name) for name in shown)


def test_a_kernel_shows_what_is_for_users() -> None:
    methods = {"block", "compile", "graph", "il", "recurrences", "reference"}
    attributes = {"name", "file", "first_line", "number", "signature", "source"}
    assert {name for name in dir(doubled) if not name.startswith("_")} == methods | attributes
    assert all(hasattr(doubled, name) for name in dir(doubled) if name in methods | attributes)
