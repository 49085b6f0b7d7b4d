"""The registry of NumPy's functions: one decorated function is public, dispatched, a method and suggested."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import cyclotron as cy
from cyclotron.language.functions import registry
from cyclotron.language.values import numpy_functions

PACKAGES = {"cyclotron": cy, "cyclotron/language": cy.language}


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies of the tables, which a test may fill."""
    for name in ("FUNCTIONS", "UFUNCS", "METHODS", "ELEMENTWISE", "NAMES"):
        monkeypatch.setattr(numpy_functions, name, getattr(numpy_functions, name).copy())
    monkeypatch.setattr(registry, "PUBLIC", registry.PUBLIC.copy())


@pytest.mark.parametrize("package", PACKAGES)
def test_the_functions_are_the_names_of_both_packages_and_of_their_stubs(package: str) -> None:
    module = PACKAGES[package]
    assert len(set(module.__all__)) == len(module.__all__)
    assert set(registry.PUBLIC) <= set(module.__all__)
    assert all(getattr(module, name) is function for name, function in registry.PUBLIC.items())
    stub = ast.parse(Path(cy.__file__).parents[1].joinpath(package, "__init__.pyi").read_text())
    names = next(node.value for node in stub.body if isinstance(node, ast.Assign))
    assert set(ast.literal_eval(names)) == set(module.__all__)


@pytest.mark.usefixtures("tables")
def test_a_new_function_is_everywhere_at_once() -> None:
    @registry.numpy_function(np.rot90, method="rot90")
    def rot90(m):
        return cy.flip(m.T, axis=0)

    @cy.kernel
    def turned(A):
        return rot90(A), np.rot90(A), A.rot90()

    A = np.arange(6.0).reshape(2, 3)
    for result in turned(A):
        np.testing.assert_array_equal(result, np.rot90(A))
    assert registry.PUBLIC["rot90"] is rot90
    assert "cy.rot90" in (numpy_functions.refused("np.rot9").help or "")
    np.testing.assert_array_equal(rot90(A), np.rot90(A))  # which is NumPy's own


@pytest.mark.usefixtures("tables")
def test_a_new_ufunc_of_elements_takes_elements_slices_by_data_and_indices() -> None:
    @registry.numpy_function(np.deg2rad, elementwise=True)
    def deg2rad(x):
        return x * (np.pi / 180)

    @cy.kernel
    def angles(x, n):
        y = cy.zeros_like(x)
        for i in range(4):
            y[i] = np.deg2rad(x[i]) + deg2rad(i)
        z = cy.zeros_like(x)
        z[: n[0]] = np.deg2rad(x[: n[0]])
        return y, z, np.deg2rad(x)

    x, n = np.array([0.0, 45, 90, 180]), np.array([2])
    expected = np.deg2rad(x)
    y, z, all_of_x = angles(x, n)
    np.testing.assert_allclose(y, expected + np.deg2rad(np.arange(4)))
    np.testing.assert_allclose(z, [*expected[:2], 0, 0])
    np.testing.assert_allclose(all_of_x, expected)


@cy.kernel
def of_indices(x):
    y = cy.zeros_like(x)
    for i in range(4):
        y[i] = cy.tan(i) + np.log2(i + 1) + cy.clip(i, 1, 2) + cy.round(i / 4) + cy.isinf(i) + np.rint(i)
    return y


def test_compositions_take_indices_as_numbers() -> None:
    x = np.zeros(4)
    np.testing.assert_allclose(of_indices(x), of_indices.reference(x), rtol=1e-14)


def test_no_hint_stands_for_a_function_that_there_is() -> None:
    assert registry.PUBLIC.keys().isdisjoint(numpy_functions._OTHERWISE)
