"""Numbers that types make, and numbers of NumPy's types: their dtypes are those of the Python function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy_oracle import check_against_numpy

import cyclotron as cy

WEIGHTS = np.array([0.1, 0.7, -1.3])
DTYPES = ("float64", "float32", "int64", "int32", "bool")


def thirds(size: int, dtype: str = "float64") -> np.ndarray:
    return ((np.arange(size) - 2) / 3 if dtype.startswith("float") else np.arange(size) - 2).astype(dtype)


def equal(kernel: cy.Kernel, *arguments: Any) -> None:
    """The compiled kernel gives the function's results, in its dtypes."""
    expected = kernel.reference(*arguments)
    program = kernel.compile(*arguments)
    for backend in ("local", "sim"):
        found = cy.run(program, backend=backend).output
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@cy.kernel
def by_types_of_python(x):
    y = cy.empty(x.shape, dtype="float64")
    for i in range(len(x)):
        k = int(i)
        y[i] = float(i) * x[i] + float(x[i]) * x[k] / 3 + int(i // 2) + int(i > 1) * 2
        y[i] += bool(i) * 3 + (bool(x[i]) + bool(i - 3)) + abs(complex(i)) + float(i % 3)
        if bool(x[i]) and float(i) > 1.5:
            y[i] -= float(i * i) * x[i]
    return y * float(len(x)) + float(cy.sum(x * 2)) * x


@cy.kernel
def by_types_of_numpy(x):
    y = cy.empty(x.shape, dtype="float64")
    for i in range(len(x)):
        y[i] = np.float32(i) * x[i] + np.float64(i) / 3 * x[i] + np.int64(i) * x[i] + np.int32(x[i] * 1.5)
        y[i] += np.float32(x[i]) * np.float64(x[i]) * x[i] + np.float32(i / 3) + np.bool_(i - 2)
    return y + np.float32(x)


@cy.kernel
def numbers_of_numpy(x):
    y = cy.empty(x.shape, dtype="float64")
    for i in range(len(x)):
        y[i] = np.float64(0.1) * x[i] * x[i] + x[i] * WEIGHTS[0] + np.float32(0.1) * i * x[i]
        y[i] += np.float64(0.1) * i * x[i] * x[i] + (x[i] + np.float64(0)) * 0.3 + np.float32(0.25) ** 2
        y[i] += (x[i] * 1) ** 2.0 / 3 + (x[i] + 0.0) * 0.3 - max(x[i] * 0, np.float64(0.1)) * i
    return y


@cy.kernel
def chosen(x):
    y = cy.empty(x.shape, dtype="float64")
    for i in range(len(x)):
        y[i] = cy.where(i > 3, 1, 3) * x[i] * x[i] * x[i] + cy.where(x[i] > 0, 0.1, 3) * x[i] * x[i]
        y[i] += np.where(i > 2, i, 1) * x[i] * x[i] * x[i] + (1 if i > 3 else 3) * x[i] * x[i] * x[i]
        y[i] += cy.where(i < 2, cy.where(i > 0, 1, 2), 0.1) * x[i] * x[i] + ((i * i > 3) + (i > 2)) * x[i]
        y[i] += sum(cy.where(x[k] > 0, 1, 0) for k in range(i)) * x[i] * x[i] * x[i]
    return y


TENTH = np.float32(0.1)


@cy.kernel
def numbers_made_of_numpys(x):
    y = cy.empty((10, len(x)), dtype="float64")
    for i in range(len(x)):
        y[0, i] = math.sqrt(np.float32(i)) * x[i] + math.sqrt(i) / 3 * x[i] + math.hypot(i, 2) * x[i] / 3
        y[1, i] = sum(TENTH for j in range(i + 1)) + sum(TENTH * 1 for j in range(i + 1)) * x[i] / 3
        y[2, i] = int(np.int32(i)) * x[i] / 3 + float(np.float32(i / 3)) * x[i] + int(np.bool_(i > 1)) * x[i]
        y[3, i] = np.divide(i, 3) * x[i] + np.multiply(i * i, 0.1) * x[i] + cy.abs(i - 3) * x[i] / 3
        y[4, i] = max(np.float32(i), np.float32(1)) / 3 * x[i] / 3 + min(i * i, 3) * x[i] / 3
        y[5, i] = sum(np.float32(k / 3) for k in range(i + 1)) * x[i] / 3
        y[6, i] = (
            sum(np.bool_(k > 1) for k in range(i + 1)) * x[i] / 3 + sum(k > 1 for k in range(i)) * x[i] / 3
        )
        y[7, i] = math.prod(np.float64(k + 1) for k in range(i + 1)) * x[i] / 3
        y[8, i] = (
            max(np.float64(k / 3) for k in range(i + 1)) * x[i] / 3 + max(k / 3 for k in range(i + 1)) * x[i]
        )
        y[9, i] = (
            math.pow(np.float32(i / 3), 2) * x[i]
            + max(np.float64(1), np.float64(2), np.float64(i)) * x[i] / 3
        )
    return y


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("size", [0, 1, 7])
def test_dtypes_of_numbers_made_of_numpys(size: int, dtype: str) -> None:
    x = thirds(size, dtype)
    expected = numbers_made_of_numpys._function(x)
    for backend in ("local", "sim"):
        found = cy.run(numbers_made_of_numpys.compile(x), backend=backend).output
        for row, (one, other) in enumerate(zip(found, expected, strict=True)):
            np.testing.assert_array_equal(one, other, err_msg=f"row {row}")


@cy.kernel
def returned_numbers(x):
    return math.prod(np.float32(j + 1) for j in range(3)), np.subtract(len(x), 1) * x, x + 0


def test_numbers_that_are_returned_keep_their_types() -> None:
    x = np.ones(2, "float32")
    expected = returned_numbers._function(x)
    found = cy.run(returned_numbers.compile(x), backend="sim").outputs.values()
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@cy.kernel
def of_several_types(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        y[i] = max(np.float32(i), 1) * x[i]
    return y


def test_extrema_of_several_types_are_refused() -> None:
    with pytest.raises(cy.ShapeError, match="NumPy's float32 and Python's") as refused:
        of_several_types.compile(thirds(3, "float16"))
    assert refused.value.code == "CYC120"
    assert refused.value.help


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize("kernel", [by_types_of_python, by_types_of_numpy, numbers_of_numpy, chosen])
def test_dtypes(kernel: cy.Kernel, size: int, dtype: str) -> None:
    equal(kernel, thirds(size, dtype))


@cy.kernel
def large(x):
    y = cy.empty(x.shape, dtype="int64")
    for i in range(len(x)):
        y[i] = x[i] * np.int64(3) - np.int64(2**40) * i
    return y


def test_numbers_of_numpy_make_room() -> None:
    equal(large, thirds(6, "int32") * 2**29)


def test_numbers_of_numpy_beside_tiles_adopt_their_dtype() -> None:
    @cy.kernel
    def scaled(A):
        B = cy.empty_like(A)
        for i in range(A.shape[0]):
            B[i, 0] = np.float64(0.5) * A[i, 0] + cy.where(i > 0, 1, 2) * A[i, 0]
        return B

    A = np.arange(12, dtype="float32").reshape(4, 3)
    found = scaled(cy.blocked(A, (2, 3)))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, A * np.float32([[2.5], [2.5], [1.5], [1.5]]))


@cy.kernel
def clamped(x):
    y = cy.zeros_like(x)
    for i in range(len(x)):
        y[i] = max(0, min(i, 5)) * x[i] + min(max(i, 2), 4) + min(max(i, x[i]), 3)
        y[i] += max(i - 1, 0) * min(3, i * i) + max(i, 2) * 3 - (1 - max(i, 2)) + (max(i, 2) > 3)
        if max(i, 2) > 3:
            y[i] = y[i] - max(i, 3) // 2 + np.sqrt(max(i, 2)) + math.sqrt(i % 2)
        y[i] += sum(x[j] for j in range(1 + max(0, i - 2), min(len(x), i + 1)))
    return y


@cy.kernel
def guarded(x):
    y = cy.zeros_like(x)
    for i in range(len(x)):
        for j in range(len(x)):
            y[i] += cy.where(i >= j, 2 ** (i - j), 0) + np.where(i < j, 1, 3 ** (i - j)) * x[j]
    return y


@cy.kernel
def beside_arrays_without_axes(x):
    y = cy.empty(x.shape, dtype="float64")
    for i in range(len(x)):
        y[i] = i - cy.where(len(x) > 2, 0.1, float(i)) + np.array(2.5) * i + x[np.array(1) + i - 1]
        if i > np.array(1.5) or i < WEIGHTS[0] or i >= np.float32(6.5):
            y[i] -= np.array(2) * i
        if i < np.float64(2.5) and i <= 1e9 and not i > 1.5:
            y[i] += 7
    return y


@cy.kernel
def counted(x):
    y = cy.zeros_like(x)
    for k, i in enumerate(range(len(x) - 1, -1, -1), 1):
        y[i] = k * x[i] + math.floor(i) + round(i) + round(max(i, 1)) + math.ceil(min(i, 2)) + round(i % 3)
    return y


@pytest.mark.parametrize("dtype", ["float64", "int64", "int32"])
@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize("kernel", [clamped, guarded, counted, beside_arrays_without_axes])
def test_numbers_of_indices(kernel: cy.Kernel, size: int, dtype: str) -> None:
    equal(kernel, thirds(size, dtype))


def of_each(value: Callable[[Any, Any], Any]) -> cy.Kernel:
    @cy.kernel
    def each(x):
        y = cy.empty_like(x)
        for i in range(len(x)):
            y[i] = value(x, i)
        return y

    return each


@cy.kernel
def halved(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        y[i] = int(i / 2)
    return y


@cy.kernel
def too_large(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        y[i] = np.int32(i * 2000000000)
    return y


@cy.kernel
def of_clamped(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        y[i] = x[max(0, min(i, 3))]
    return y


@cy.kernel
def of_largest(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        y[i] = x[max(i, 2)]
    return y


@cy.kernel
def counts_inside(x):
    y = cy.zeros_like(x)
    for i in range(len(x)):
        for k, j in enumerate(range(i)):
            y[i] += k * x[j]
    return y


@cy.kernel
def floors(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        y[i] = math.floor(i / 2)
    return y


@pytest.mark.parametrize(
    ("kernel", "code", "text"),
    [
        (halved, "CYC105", "`i // 2`"),
        (too_large, "CYC120", "a number that indices make may reach 6000000000"),
        (of_clamped, "CYC103", "`max(0, min(i, 3))` is not affine"),
        (of_largest, "CYC103", "`max(i, 2)` is not affine"),
        (counts_inside, "CYC102", "k = j - start"),
        (floors, "CYC105", "`cy.floor`"),
        (of_each(lambda x, i: float(i)), "CYC110", "`float(i)` in the kernel itself"),
    ],
    ids=lambda one: one.name if isinstance(one, cy.Kernel) else None,
)
def test_refusals(kernel: cy.Kernel, code: str, text: str) -> None:
    with pytest.raises(cy.CyclotronError) as refused:
        kernel.compile(thirds(4))
    assert refused.value.code == code
    assert text in str(refused.value)


@cy.kernel
def asked(x, n):
    y = cy.zeros_like(x)
    if isinstance(x, np.ndarray) and not isinstance(x, (list, tuple)):
        for i in range(len(x)):
            y[i] = 2 * x[i] if isinstance(i, int) and isinstance(x[i], float) else 3 * x[i]
            y[i] += 10 if isinstance(n[i], (int, np.integer)) else 20
            y[i] += 100 if isinstance(x.sum(), np.floating) and isinstance(1.0 * i, float) else 200
    return y


def test_isinstance_asks_of_what_numpy_has():
    """Not of the symbols that stand for it while the kernel is recorded."""
    x, n = np.array([1.0, 2.0]), np.array([3, 4])
    assert asked(x, n).tolist() == [112.0, 114.0]
    assert asked(x.astype("float32"), n).tolist() == [113.0, 116.0]  # which Python's float is not


@cy.kernel
def powers_of_pythons(x):
    y = cy.zeros(2, dtype="float64")
    for i in range(2):
        y[i] = math.pow(x[i], 2) + math.pow(2, x[1])
    return y, math.pow(x[0], 2), math.pow(x.sum(), 0.5)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "bool", "float16", "float32", "float64"])
def test_powers_of_math_are_pythons_floats(dtype):
    x = np.array([100, 3, 1]).astype(dtype)
    expected = powers_of_pythons.__wrapped__(x)
    for found, right in zip(
        cy.run(powers_of_pythons.compile(x), backend="sim").outputs.values(), expected, strict=True
    ):
        assert found.dtype == "float64"
        np.testing.assert_allclose(found, right, rtol=1e-14)


def test_functions_of_math_are_of_real_numbers():
    @cy.kernel
    def of_complex(x):
        return math.sin(x[0])

    with pytest.raises(cy.TraceError, match=r"`math`, sin, is taken of a complex number.*CYC105"):
        of_complex.compile(np.array([1 + 2j]))


def test_numbers_of_pythons_have_no_astype():
    @cy.kernel
    def chosen_by_data(x):
        y = cy.zeros(2, dtype="int8")
        for i in range(2):
            y[i] = (2 if cy.sum(x) > 1 else True).astype("int8")
        return y

    with pytest.raises(cy.TraceError, match=r"`\.astype` is asked of a number of Python's.*CYC105"):
        chosen_by_data.compile(np.ones(2))


def whole_numbers(x):
    n = len(x)
    y = np.zeros((5, n), dtype=np.int64)
    counted = np.zeros(8, dtype=np.int64)
    for i in range(n):
        y[0, i] = int(x[i])
        y[1, i] = math.floor(x[i])
        y[2, i] = math.ceil(x[i])
        y[3, i] = int(x[i] / 2)
        y[4, i] = int(x[i] > 1) + int(float(x[i]) / 3)
        counted[int(abs(x[i]))] += 1
    return y, counted, int(x.sum() / 2), x * int(x[0]), x[int(x[1])]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float16", "float32", "float64"])
def test_whole_numbers_of_data_are_pythons(dtype):
    x = np.array([1.75, 2.5, -2.5, 0.25, -0.75, 7])
    check_against_numpy(whole_numbers, (np.abs(x) if dtype == "uint8" else x).astype(dtype))


@pytest.mark.parametrize("dtype", ["complex64", "uint64"])
def test_numbers_of_which_python_makes_no_whole_ones_of_64_bits_are_refused(dtype):
    @cy.kernel
    def first(x):
        return int(x[0])

    with pytest.raises(cy.TraceError, match="CYC105"):
        first.compile(np.ones(2, dtype))
