"""Dicts, types and starts of Python's folds, of what is known only when the program runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import cyclotron as cy

TABLE = {0: 1.0, 1: 5.0, 2: 7.0}


@cy.kernel
def entry_of_a_dict(n):
    y = cy.zeros(3, dtype="float64")
    for i in range(3):
        y[i] = TABLE[n[i]]
    return y


@cy.kernel
def entry_by_an_index(n):
    y = cy.zeros(3, dtype="float64")
    for i in range(3):
        y[i] = TABLE[i]
    return y


@cy.kernel
def entry_or_another(n):
    return n * {1: 3, 2: 4}.get(n[0], 9)


@cy.kernel
def made_of_an_element(n):
    return n * {n[0]: 3}[1]


@pytest.mark.parametrize("kernel", [entry_of_a_dict, entry_by_an_index, entry_or_another, made_of_an_element])
def test_dicts_of_the_host_find_no_data(kernel):
    with pytest.raises(cy.TraceError, match=r"only when the program runs|unhashable type") as caught:
        kernel.compile(np.arange(3))
    assert caught.value.code == "CYC105"


@cy.kernel
def types_of_elements(x, n):
    same = x[0].dtype == x.dtype and x[0].dtype == np.dtype("float64")
    like = x[0].dtype in (np.float64, int) and (x[0] * 2).dtype == float and n[0].dtype != x[0].dtype
    parts = x[0].dtype.kind == "f" and n[0].dtype.itemsize == 8 and x[0].dtype.name == "float64"
    scalar = np.isscalar(x[0]) and np.isscalar(x.sum()) and not np.isscalar(x)
    return x * (1 + same + 2 * like + 4 * parts + 8 * scalar)


def test_dtypes_of_elements_are_equal_to_numpys():
    assert types_of_elements(np.array([1.0, 2.0]), np.arange(2)).tolist() == [16.0, 32.0]


@cy.kernel
def class_of_an_array(x):
    return x * (2 if x.__class__ is np.ndarray else 3)


def test_classes_are_refused():
    with pytest.raises(cy.TraceError, match="the class") as caught:
        class_of_an_array.compile(np.ones(2))
    assert caught.value.code == "CYC105"


def sums_from_a_start(x):
    total = sum((x[k] for k in range(3)), 1e4)
    return total, sum((x[i] + 1 for i in range(3)), x[0]), sum((x[k] for k in range(0)), 3)


def whole_products(n):
    return math.prod((n[i] for i in range(3)), start=7), math.prod(n[i] for i in range(3))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex64"])
def test_sums_begin_with_their_start(dtype):
    x = np.array([0.1, 0.2, 0.3], dtype)
    for one, other in zip(cy.kernel(sums_from_a_start)(x), sums_from_a_start(x), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def test_products_with_a_start_are_of_whole_numbers():
    n = np.array([2, -3, 4])
    for one, other in zip(cy.kernel(whole_products)(n), whole_products(n), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
    with pytest.raises(cy.TraceError, match="multiplied first") as caught:
        cy.kernel(whole_products).compile(n * 0.5)
    assert caught.value.code == "CYC112"


@cy.kernel
def truths_of_python(u):
    flags = cy.zeros_like(u, dtype=bool)
    for i in range(3):
        flags[i] = cy.add(i > 0, i > 1)
    positive = all(u[k] > 0 for k in range(3))
    return flags, cy.abs(positive), cy.add(positive, positive), cy.multiply(positive, 3), positive + True


def test_functions_take_truth_values_as_numpy_does():
    """Python's operators count them, NumPy's functions do not."""
    expected = [np.add([False, True, True], [False, False, True]), np.abs(True), np.add(True, True)]
    expected += [np.multiply(True, 3), np.int64(True + True)]
    found = cy.run(truths_of_python, np.array([1.5, 2.5, 3.0]), backend="sim").outputs.values()
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
