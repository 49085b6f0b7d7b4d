"""Numbers have the types that NumPy gives them, wherever they come from: NumPy itself is the witness."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

import cyclotron as cy


def agree(kernel: cy.Kernel, *arguments: Any) -> None:
    """The kernel's own text on plain arrays says which values, signs and dtypes all backends give."""
    copies = [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]
    expected = np.asarray(kernel.__wrapped__(*copies))  # type: ignore[attr-defined]
    program = kernel.compile(*arguments)
    results = {backend: cy.run(program, backend=backend).output for backend in ("sim", "local")}
    for backend, found in {"reference": kernel.reference(*arguments), **results}.items():
        found = np.asarray(found)
        assert found.dtype == expected.dtype, backend
        assert found.shape == expected.shape, backend
        np.testing.assert_array_equal(found, expected, err_msg=backend)
        if expected.dtype.kind in "fc":
            for part in (np.real, np.imag):
                np.testing.assert_array_equal(np.signbit(part(found)), np.signbit(part(expected)), backend)


@cy.kernel
def by_size(u):
    return u / u.shape[0]


@cy.kernel
def times_size(u):
    return u * u.shape[0] + len(u) * u.size


@cy.kernel
def element_times_size(u):
    n = u.shape[0]
    y = cy.empty_like(u)
    for i in range(n):
        y[i] = u[i] * n * u.shape[0]
    return u[0] * n + y


@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "float32", "complex64"])
@pytest.mark.parametrize("kernel", [by_size, times_size], ids=lambda kernel: kernel.name)
def test_sizes_are_numbers_of_python(kernel: cy.Kernel, dtype: str) -> None:
    agree(kernel, np.arange(3).astype(dtype))


def test_an_element_times_a_size() -> None:
    agree(element_times_size, np.arange(3, dtype=np.int32))


@cy.kernel
def times(u, n):
    return u * n


@cy.kernel
def stepwise(u, n):
    y = cy.zeros(u.shape[0], dtype="float64")
    for i in range(u.shape[0]):
        y[i] = (u[i] + n) * n if u[i] > n else cy.maximum(n, u[i]) / 3
    return y


NUMBERS = [
    np.int64(3_000_000_000),
    np.array(3_000_000_000),
    np.int32(3),
    np.int8(3),
    np.uint8(3),
    np.bool_(True),
    np.float16(1.5),
    np.float32(0.1),
    np.float64(0.1),
    np.array(0.1),
    np.complex64(1j),
    np.complex128(1j),
    True,
    3,
    0.1,
    1j,
]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda one: f"{type(one).__name__} {one}")
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_numbers_given_as_arguments_keep_their_types(number: Any, dtype: str) -> None:
    agree(times, np.arange(1, 4).astype(dtype), number)


@pytest.mark.parametrize("number", [np.int64(3), np.float32(0.1), np.array(0.1)], ids=repr)
def test_elements_beside_numbers_given_as_arguments(number: Any) -> None:
    agree(stepwise, np.arange(1, 4, dtype=np.float32), number)


@pytest.mark.parametrize(
    "argument",
    [
        np.longdouble(2),
        np.clongdouble(2),
        np.array(np.longdouble(2)),
        np.datetime64("2000-01-01"),
        np.timedelta64(1),
        np.array("text"),
        np.array(None),
        np.void(b"1"),
        np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
        np.ma.masked,
        np.matrix([[1.0, 2.0, 3.0]]),
    ],
    ids=lambda one: f"{type(one).__name__} {one}",
)
def test_arguments_that_kernels_do_not_have(argument: Any) -> None:
    for call in (times, times.reference, times.compile):
        with pytest.raises(cy.CyclotronError, match="argument `n`") as caught:
            call(np.arange(3.0), argument)
        assert caught.value.code in ("CYC116", "CYC120")
        assert caught.value.span is not None


def _nan(bits: int) -> float:
    number: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return number


@pytest.mark.parametrize(
    "numbers",
    [
        (0.0, -0.0),
        (-0.0, 0.0),
        (0j, complex(0.0, -0.0), complex(-0.0, 0.0)),
        (_nan(0x7FF8000000000000), _nan(0xFFF8000000000000), _nan(0x7FF8000000000001)),
        (np.float32(0.0), np.float32(-0.0)),
        (True, 1, 1.0, np.int64(1), np.int32(1), np.bool_(True), 1 + 0j, np.float32(1)),
    ],
    ids=repr,
)
def test_numbers_that_compare_equal_are_told_apart(numbers: tuple[Any, ...]) -> None:
    u = np.ones(2, np.complex64 if isinstance(numbers[-1], complex) else np.float32)
    programs = [times.compile(u, number) for number in numbers]
    assert len({id(program) for program in programs}) == len(numbers)
    assert [times.compile(u, number) for number in numbers] == programs
    for number in numbers:
        agree(times, u, number)


@cy.kernel
def less(x):
    y = cy.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] -= x[i]
    return y


@cy.kernel
def less_in_two_steps(x):
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = 0.0
        y[i] -= x[i]
    return y


@cy.kernel
def less_all(x):
    y = cy.zeros(1)
    for i in range(x.shape[0]):
        y[0] -= x[i]
    return y


@pytest.mark.parametrize("kernel", [less, less_in_two_steps, less_all], ids=lambda kernel: kernel.name)
def test_nothing_less_zero_is_positive(kernel: cy.Kernel) -> None:
    agree(kernel, np.zeros(1))
    agree(kernel, np.array([0.0, 1.0, 0.0]))


@cy.kernel
def squares(u):
    return cy.square(u)


@cy.kernel
def rounded(u):
    return cy.round(u)


@cy.kernel
def reciprocals(u):
    return cy.reciprocal(u)


@cy.kernel
def reciprocals_of_elements(u):
    y = cy.empty_like(u)
    for i in range(u.shape[0]):
        y[i] = cy.reciprocal(u[i])
    return y


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64"]
)
@pytest.mark.parametrize(
    "kernel", [squares, rounded, reciprocals, reciprocals_of_elements], ids=lambda kernel: kernel.name
)
def test_dtypes_of_functions(kernel: cy.Kernel, dtype: str) -> None:
    u = np.array([1, -1, 2, -2, 3, 7]).astype(dtype)
    name = {"rounded": "round", "squares": "square"}.get(kernel.name, "reciprocal")
    expected = getattr(np, name)(u)
    if kernel is reciprocals_of_elements:
        expected = expected.astype(dtype)  # of the array that keeps them: NumPy's is int8 of bool
    program = kernel.compile(u)
    for found in (kernel.reference(u), *(cy.run(program, backend=one).output for one in ("sim", "local"))):
        assert np.asarray(found).dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_reciprocals_of_the_whole_number_zero() -> None:
    u = np.array([0, 1], np.int32)
    with np.errstate(divide="ignore"):
        expected = np.reciprocal(u)
        np.testing.assert_array_equal(reciprocals.reference(u), expected)
    np.testing.assert_array_equal(reciprocals(u), expected)


@cy.kernel
def counts_of_truths(u):
    y = cy.empty_like(u)
    for i in range(u.shape[0]):
        y[i] = any(u[k] > 0 for k in range(3)) + any(u[k] > 1 for k in range(3))
        y[i] += (any(u[k] > 0 for k in range(3)) + True) * 10 - (not u[i] > 0) - (not u[i] > 1)
        y[i] += -any(u[k] > 0 for k in range(3)) * 100 + all(u[k] > 0 for k in range(3)) // True
        y[i] += (bool(u[i]) + bool(u[i])) * 1000 + (not (u[i] > 0 and u[i] > 1)) * 7 + bool(u[i] > 0) ** 2
        y[i] += +any(u[k] > 0 for k in range(3)) + +(not u[i] > 0)
        y[i] += sum(not u[k] > 0 for k in range(3)) * 3 + (any(u[k] > 5 for k in range(3)) or True) + 1
        y[i] += max(any(u[k] > 0 for k in range(3)), not u[i] > 0) + abs(not u[i] > 0) * 5
        y[i] += (
            (u[i] > 0) + (u[i] > 1) + ((u[i] > 0) | (not u[i] > 1)) * 11 + any(u[k] > 0 for k in range(i)) % 2
        )
    return y


@cy.kernel
def truths_beside_arrays(u):
    up = any(u[k] > 0 for k in range(3))
    return u * up + (u > 0) * (not u[0] > 0) + up + up


@cy.kernel
def truths_in_conditions(u):
    y = cy.zeros(u.shape[0], dtype="bool")
    z = cy.zeros_like(u)
    for i in range(u.shape[0]):
        y[i] = any(u[k] > 0 for k in range(3)) == (not u[i] > 1)
        if any(u[k] > 1 for k in range(i + 1)) + (not u[i] > 0) > 0:
            z[i] = 1 if any(u[k] > 0 for k in range(3)) and not u[i] > 1 else 2
    return z * 2 + y


@pytest.mark.parametrize("dtype", ["int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize(
    "kernel", [counts_of_truths, truths_beside_arrays, truths_in_conditions], ids=lambda kernel: kernel.name
)
def test_truth_values_of_python_are_whole_numbers_in_arithmetic(kernel: cy.Kernel, dtype: str) -> None:
    for values in ([0, 1, 2], [0, 0, 0], [-1, 0, 1], [2, 3, 4]):
        agree(kernel, np.array(values, dtype))


@cy.kernel
def bounded(u, n):
    y = cy.zeros_like(u)
    for i in range(n):
        y[i] = u[i]
    return y


@cy.kernel
def placed(u, n):
    return u * u[n]


@cy.kernel
def compared(u, n):
    y = cy.zeros_like(u)
    for i in range(u.shape[0]):
        if i < n:
            y[i] = u[i]
    return y


@pytest.mark.parametrize("number", [2**62, 2**63, -(2**80), np.uint64(2**63)], ids=repr)
@pytest.mark.parametrize("kernel", [bounded, placed], ids=lambda kernel: kernel.name)
def test_numbers_beyond_those_of_indices_are_refused(kernel: cy.Kernel, number: Any) -> None:
    with pytest.raises(cy.ShapeError, match=r"end at 2\^62.*CYC120") as caught:
        kernel.compile(np.arange(3.0), number)
    assert caught.value.span is not None


@pytest.mark.parametrize("number", [2**62, -(2**63), 2**80, np.uint64(2**63), 1e300, float("-inf")], ids=repr)
def test_comparisons_with_large_numbers(number: Any) -> None:
    agree(compared, np.arange(3.0), number)


@cy.kernel
def updated_elements(x):
    y = cy.zeros(3, dtype="float64")
    first = x[0]
    other = first
    first //= 2.0
    y[0] = first
    second = x[1]
    second %= 3
    y[1] = second + other
    third = x[2]
    third **= 2
    y[2] = third + (x[2] & 3) + x[1]
    x[0] //= 2.5
    x[1] %= 2.5
    return y, x


def test_elements_are_updated_as_numbers() -> None:
    x = np.array([7, 8, 9])
    expected = updated_elements.__wrapped__(x.copy())  # type: ignore[attr-defined]
    program = updated_elements.compile(x)
    results = [updated_elements.reference(x)]
    results += [tuple(cy.run(program, backend=one).outputs.values()) for one in ("sim", "local")]
    for found in results:
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


@cy.kernel
def plus_of_a_truth(u):
    return +(u > 0)


@cy.kernel
def plus_of_elements(u):
    y = cy.zeros_like(u)
    for i in range(u.shape[0]):
        y[i] = +(u[i] > 0)
    return y


@pytest.mark.parametrize("kernel", [plus_of_a_truth, plus_of_elements], ids=lambda kernel: kernel.name)
def test_truth_values_of_numpy_have_no_sign(kernel: cy.Kernel) -> None:
    with pytest.raises(TypeError):
        kernel.__wrapped__(np.arange(3))  # type: ignore[attr-defined]
    with pytest.raises(cy.ShapeError, match="CYC121"):
        kernel.compile(np.arange(3))


TENTH, THIRD, LARGE = np.float32(0.1), np.float32(1 / 3), np.int32(2**30)


@cy.kernel
def chosen_numbers_of_numpy(x):
    y = cy.empty((2, x.shape[0]), dtype="float64")
    for i in range(x.shape[0]):
        y[0, i] = (TENTH if i > 1 else THIRD) * np.float32(0.7) + x[i]
        y[1, i] = (LARGE if i > 1 else np.int32(3)) * np.int32(7) + ((TENTH if i > 1 else THIRD) == 0.1)
    return y


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_numbers_of_numpy_are_computed_in_their_dtype() -> None:
    agree(chosen_numbers_of_numpy, np.zeros(4))
