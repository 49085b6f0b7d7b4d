"""Numbers in the place of elements, and sums beside values of other dtypes, are computed as NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def counted(x):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        for _t in range(3):
            if y[i] + 1 < 3:
                y[i] += x[i]
    return y


@cy.kernel
def steps(x):
    c = cy.full_like(x, 2)
    y = x * 1
    for _t in range(3):
        if c[0] * 2 > 3:
            y += 1
        c -= 1
        if c[1] + c[2] > 1:
            y += 10
    return y


@cy.kernel
def compared(x):
    z = cy.full_like(x, 3)
    y = x * 1
    for i in range(x.shape[0]):
        if z[i] + 3 > z[i] + 2:
            y[i] += 1
        if x[i] >= z[i] * 0:
            y[i] += 2
        if y[i] != abs(z[i]):
            y[i] += 4
        if cy.maximum(z[i], 2) > 2:
            y[i] += 8
        if z[i] % 2 == 1:
            y[i] += 16
        if cy.where(x[i] > 0, z[i], 2) * 2 > 5:
            y[i] += 32
        if -z[i] < -2:
            z[i] = 0
    return y, z


@cy.kernel
def truths(x):
    z = cy.full(x.shape, 3, dtype="bool")
    y = x * 1
    for i in range(x.shape[0]):
        if z[i] == True:  # noqa: E712  # the number 3 is not
            y[i] += 1
        z[i] = x[i] > 0
    return y, z


@cy.kernel
def summed(x, z):
    y = cy.zeros_like(z)
    more = z[0]
    less = z[0]
    both = z[0]
    for i in range(x.shape[0]):
        more += x[i]
    for i in range(x.shape[0]):
        less -= x[i]
    for i in range(x.shape[0]):
        if x[i] > 0:
            both += x[i]
        else:
            both -= x[i]
    y[0] = more
    y[1] = less
    y[2] = both
    return y


@cy.kernel
def doubled(x):
    y = cy.zeros_like(x)
    z = cy.zeros_like(x)
    for i in range(x.shape[0]):
        k = 3.7 if x[i] > 0 else 7
        y[i] = k * 2
        z[i] = k * 2 + x[i]
    return y, z


@cy.kernel
def stored(x):
    y = cy.zeros_like(x)
    z = cy.zeros_like(x)
    for i in range(x.shape[0]):
        k = 7 if x[i] > 0 else 3.7
        y[i] = k
        z[i] = k / 2 if i % 2 == 0 else 0.3 * k
    return y, z


@cy.kernel
def halves(x):
    y = cy.zeros_like(x)
    z = cy.zeros_like(x)
    for i in range(x.shape[0]):
        k = 7 if x[i] > 0 else 3
        y[i] = x[i] + k / 2
        z[i] = (k // 2) * 0.5
    return y, z


@cy.kernel
def thirds(x):
    """Computed in float64, also where float32 keeps it."""
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        k = 0.1 if x[i] > 0 else 0.3
        y[i] = k * 3 - 0.7
    return y


@cy.kernel
def counts(x):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        k = x.shape[0] > 2 if x[i] > 0 else False
        m = 1 if i % 2 == 0 else 2.5
        y[i] = (k + k) * x[i] + m * 3
    return y


def check(kernel: cy.Kernel, *arguments: Any) -> None:
    """On plain arrays as in all backends: values and dtypes."""
    expected = kernel.__wrapped__(*(a.copy() for a in arguments))
    expected = expected if isinstance(expected, tuple) else (expected,)
    program = kernel.compile(*arguments)
    for backend in ("sim", "local"):
        for found, right in zip(cy.run(program, backend=backend).outputs.values(), expected, strict=True):
            assert found.dtype == right.dtype
            np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32"])
@pytest.mark.parametrize("kernel", [counted, steps, compared, truths], ids=lambda one: one.name)
def test_elements_of_filled_arrays_have_their_dtype(kernel: cy.Kernel, dtype: str) -> None:
    """Also where conditions on them have no other operands than numbers."""
    check(kernel, np.array([1, 2, -1]).astype(dtype))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "bool"])
@pytest.mark.parametrize("kernel", [doubled, stored, halves, thirds, counts], ids=lambda one: one.name)
def test_choices_of_numbers_are_computed_as_in_python(kernel: cy.Kernel, dtype: str) -> None:
    """They take the dtype of what they meet, or are stored in, only then."""
    for n in (4, 1, 0):
        check(kernel, np.array([1, -2, 0, 3]).astype(dtype)[:n])


@pytest.mark.parametrize(
    ("x", "z"),
    [
        (np.full(3, 1 << 30, "int32"), np.arange(3)),
        (np.array([-(1 << 30)] * 3, "int32"), np.arange(3)),
        (np.full(50, 0.1, "float32"), np.arange(3.0)),
        (np.arange(4), np.array([0.5, 0.25, 0])),
    ],
    ids=["int32", "negative", "float32", "int64"],
)
def test_sums_are_in_the_dtype_of_what_they_are_added_to(x: Any, z: Any) -> None:
    check(summed, x, z)


@cy.kernel
def beside_arrays(x):
    k = 2 if cy.sum(cy.abs(x)) > 1 else 3
    n = 0
    if cy.sum(cy.abs(x)) > 4:
        n = 1.5
    s = 0.5
    for _ in range(x.shape[0]):
        s += 2.5
    return (x + n) * k, x * s + sum(0.5 for j in range(3) if j > 1)


@cy.kernel
def sums_of_numbers(x):
    """Python's own: 2.5 is not cut off before it is added up."""
    y = cy.zeros_like(x)
    s = 0.0
    for _ in range(x.shape[0]):
        s += 2.5
    for i in range(x.shape[0]):
        y[i] = sum(1 for j in range(i)) + x[i]
    if x.shape[0] > 0:
        y[0] = s
    return y, x + s


@pytest.mark.parametrize("dtype", ["complex128", "complex64", "float32", "float64"])
def test_numbers_that_data_choose_beside_arrays(dtype: str) -> None:
    for values in ([1, -2, 0, 3], [0, 0, 0.5], [1]):
        check(beside_arrays, np.array(values).astype(dtype))


@pytest.mark.parametrize("dtype", ["complex128", "float32", "float64", "int64", "int32", "bool"])
def test_sums_of_numbers_alone(dtype: str) -> None:
    for n in (4, 1, 0):
        check(sums_of_numbers, np.array([1, -2, 0, 3]).astype(dtype)[:n])


@cy.kernel
def powers_of_counts(x):
    n = any(x[k] != 0 for k in range(2)) + all(x[k] != 0 for k in range(2))
    return x + n**2.0, x + n**1.0, (n**2.0) * (x != 0), x + n**2, x * (n**2.0 + len(x) ** 2.0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8", "bool"])
def test_powers_of_whole_numbers_by_floats_are_floats(dtype: str) -> None:
    check(powers_of_counts, np.array([1, 0, 1]).astype(dtype))


@cy.kernel
def functions_of_tests(x):
    return cy.sqrt(all(x[k] > 0 for k in range(2))), cy.degrees(any(x[k] > 0 for k in range(2)))


def test_functions_of_truth_values_are_of_half_precision() -> None:
    check(functions_of_tests, np.array([1.0, 2.0, -1.0]))


@cy.kernel
def counts_of_tests(c):
    y, z, w = cy.zeros(3), cy.ones(3), cy.full(3, 2.5)
    for i in range(3):
        for k in range(3):
            y[i] += c[k]
        if c[i]:
            z[0] += 1
    w[1] = 2
    return y, z + z, w


def test_new_arrays_beside_truth_values_are_of_numbers() -> None:
    """One of truth values would count by OR."""
    check(counts_of_tests, np.array([True, True, False]))


@cy.kernel
def zeros_and_truth_values(u):
    y = 0
    for k in range(0):
        y += k
    return u + (y + np.bool_(0)), u + (np.bool_(1) + y), y + np.bool_(0), u + (y + True)


def test_zero_and_a_truth_value_of_numpy_are_a_number_of_numpy() -> None:
    check(zeros_and_truth_values, np.array([1.0, 2.0], "float32"))
