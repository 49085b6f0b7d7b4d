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


@pytest.mark.usefixtures("tables")
def test_a_new_function_of_elements_takes_them_by_the_name_of_numpy() -> None:
    @registry.numpy_function(np.nan_to_num, elementwise=True)
    def nan_to_num(x):
        return cy.where(cy.isnan(x), 0.0, x)

    @cy.kernel
    def numbers(x):
        y = cy.zeros_like(x)
        for i in range(3):
            y[i] = np.nan_to_num(x[i]) + np.nan_to_num(i)
        return y

    x = np.array([2.0, np.nan, -1.0])
    np.testing.assert_array_equal(numbers(x), np.nan_to_num(x) + np.arange(3))


@cy.kernel
def of_elements_by_numpy(x, k):
    y, z, u = cy.zeros_like(x), cy.zeros_like(x), cy.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = np.clip(x[i], 0, 1) + np.clip(x[i], min=-1) + np.clip(a=x[i], a_min=None, a_max=i)
        z[i] = np.round(x[i]) + np.round(k[i]) + np.clip(i, 1, 2) + np.round(i % 3)
        u[i] = np.isclose(x[i], 1.0) + np.where(x[i] > 0, 3, 5) + 7 * np.isclose(i, x[i]) + np.real(x[i])
    return y, z, u


def test_functions_of_elements_by_the_names_of_numpy() -> None:
    x, k = np.array([1.0, -0.5, 2.0, 0.3, 4.0]), np.arange(5)
    for found, expected in zip(of_elements_by_numpy(x, k), of_elements_by_numpy.reference(x, k), strict=True):
        np.testing.assert_array_equal(found, expected)


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
    assert registry.PUBLIC.keys().isdisjoint(numpy_functions.MEANINGS)


def test_names_that_the_package_lacks_are_those_of_numpy() -> None:
    assert cy.trunc is np.trunc
    assert cy.single is np.float32
    assert cy.sum is not np.sum
    assert not {"trunc", "single"} & {*dir(cy), *cy.__all__}
    for name in ("fft", "testing", "no_such_function"):  # modules, whose functions kernels do not know
        with pytest.raises(AttributeError, match=f"module 'cyclotron' has no attribute '{name}'"):
            getattr(cy, name)


@pytest.mark.parametrize("backend", ["sim", "local"])
@pytest.mark.parametrize("np", [cy, np], ids=["cyclotron", "numpy"])
def test_methods_of_ufuncs(np, backend) -> None:
    @cy.kernel
    def folded(A, n):
        y = A[0].copy()
        np.add.at(y, n, 2.0)
        s, m, t = np.add.reduce(A), np.maximum.reduce(A, axis=1), np.logical_or.reduce(A > 14)
        return s, m, t, np.multiply.accumulate(A, axis=1), np.minimum.accumulate(A), np.add.outer(y, A), y

    A, n = cy.reshape(cy.arange(16.0), (4, 4)) % 7, cy.asarray([2, 0, 2])
    outputs = cy.run(folded.compile(A, n), A, n, backend=backend).outputs.values()
    for found, expected in zip(outputs, folded.reference(A.copy(), n), strict=True):
        assert found.tolist() == expected.tolist()
