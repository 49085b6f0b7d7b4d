"""NumPy's functions that are a few operators each, and arrays of elements in other places, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

A = np.array([[0.5, -1.5, 2.5, 3.0], [-0.5, 1.5, 0.0, -2.0], [9.0, 0.25, -7.0, 1.0]])
X = np.array([2.5, -0.5, 1.5, 0.49999999999999994, -3.0])


def kernel(body: Callable[..., Any]) -> cy.Kernel:
    return cy.kernel(body)


@cy.kernel
def clipped(A, x):
    return cy.clip(A, -1, 2), np.clip(x, None, 0.5), x.clip(0.5), np.clip(A, A[0], 5)


@cy.kernel
def elementwise(A, x):
    return cy.tan(x), np.log2(A * A + 1), np.log10(cy.exp(x)), np.isinf(A / A), np.tan(A[0, 0])


@cy.kernel
def with_axes_swapped(A, x):
    B = A[None] + x[:3, None, None]
    return cy.swapaxes(A, 0, 1), np.swapaxes(B, -1, 0), B.swapaxes(1, 1), cy.swapaxes(B, 0, 1)[:, 1]


@cy.kernel
def rounded(A, x):
    return cy.round(A), np.rint(x), np.round(x.astype("int64")), A.round()


@cy.kernel
def as_numpy_names_them(A, x):
    y = +x
    y[0] = 7
    return (
        np.positive(A[1:, ::2]),
        y,
        x * 2,
        A.clip(max=1, min=0),
        np.fabs(x),
        cy.isclose(x, [2.5, 0, 1, 2, 3]),
    )


@cy.kernel
def of_whole_numbers(n):
    y = cy.empty(n.shape, dtype="float64")
    for i in range(n.shape[0]):
        y[i] = np.rint(n[i]) / 4 + np.fabs(n[i]) / 8 + np.rint(i)
    return np.rint(n), np.fabs(n), y


def test_angles():
    """Bit for bit, and in the dtypes that NumPy gives whole and narrow numbers."""

    @cy.kernel
    def angles(x):
        y = cy.empty(x.shape, dtype="float64")
        for i in range(x.shape[0]):
            y[i] = cy.degrees(x[i]) + np.deg2rad(i)
        return cy.degrees(x), np.rad2deg(x), cy.radians(x), np.deg2rad(x), y

    for dtype in ("float64", "float32", "float16", "int32", "int64"):
        x = (X * 90).astype(dtype)
        y = np.degrees(x) + np.deg2rad(np.arange(5))
        expected = np.degrees(x), np.degrees(x), np.radians(x), np.radians(x), y
        for backend in ("sim", "local"):
            outputs = cy.run(angles.compile(x), backend=backend).outputs.values()
            for own, numpy in zip(outputs, expected, strict=True):
                if numpy is not y:
                    assert own.dtype == numpy.dtype, dtype
                assert (own == numpy).all(), dtype


@cy.kernel
def close(A, x):
    return np.isclose(A, 0.5), cy.allclose(x, x + 1e-12), np.allclose(A, A[0]), cy.isclose(1 / x, 1 / x)


@cy.kernel
def folded(A, x):
    return (
        cy.prod(A, axis=0),
        A.prod(),
        np.prod(x > 1),
        np.sum(A, axis=1, dtype="float32"),
        A.sum(dtype="int64"),
    )


@cy.kernel
def spread(A, x):
    return np.std(A), cy.var(A, axis=1, keepdims=True), x.var(ddof=1), A.std(axis=0), cy.var(x > 0)


@cy.kernel
def lengths(A, x):
    return (
        np.linalg.norm(A, axis=0),
        cy.norm(A, 1, 1),
        cy.norm(A, np.inf, axis=0, keepdims=True),
        np.linalg.norm(x, -np.inf),
        np.linalg.norm(x, 0),
        np.linalg.norm(x, 3),
        cy.norm(A, 2.5, axis=1),
        cy.norm(A, "fro"),
        cy.norm(A, 1, (1, 0), True),
        cy.norm(A, -np.inf),
    )


@cy.kernel
def turned(A, x):
    return cy.flip(A), np.flip(A, 1), np.diff(A), cy.diff(A, 2, 0), np.diff(x > 0), np.diff(x, 9)


@cy.kernel
def diagonals(A, x):
    return np.diagonal(A), cy.diagonal(A, 2), np.diagonal(A, -1), np.trace(A), A.trace(1), cy.diagonal(A, 9)


@cy.kernel
def triangles(A, x):
    return np.tril(A), cy.tril(A, 1), np.triu(A, -1), cy.triu(A @ A.T)


@cy.kernel
def joined(A, x):
    return (
        np.concatenate([x, A[0], x[1:3]]),
        cy.concatenate((A, A > 0, A[:0]), axis=0),
        np.concatenate([A, A[:, :1]], 1),
    )


@cy.kernel
def padded(A, x):
    return np.pad(A, 1), cy.pad(A, ((0, 2), (1, 0)), constant_values=7), np.pad(x, (2, 1))


@cy.kernel
def made(A, x):
    identity = cy.eye(3)
    o = cy.ones((2, 3))
    p = cy.ones_like(A, dtype="int32")
    return identity @ A, cy.eye(2, 4, 1, dtype="bool"), o, p


@cy.kernel
def in_loops(A, x):
    for _ in range(3):
        A = cy.clip(A + cy.tril(A[:, :3]) @ A, -5, 5)
        x = np.concatenate([x[1:], x[:1]])
    return A, x


KERNELS = [
    as_numpy_names_them,
    clipped,
    elementwise,
    rounded,
    close,
    folded,
    spread,
    lengths,
    turned,
    diagonals,
    triangles,
    joined,
]
KERNELS += [padded, made, in_loops, with_axes_swapped]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda one: one.name)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_functions(kernel: cy.Kernel, dtype: str) -> None:
    arguments = (A.astype(dtype), X.astype(dtype))
    with np.errstate(all="ignore"):
        expected = kernel.reference(*arguments)
    program = kernel.compile(*arguments)
    for backend in ("sim", "local"):
        for found, wanted in zip(cy.run(program, backend=backend).outputs.values(), expected, strict=True):
            assert (found.shape, found.dtype) == (np.shape(wanted), np.asarray(wanted).dtype)
            if found.dtype.kind == "f":
                tolerance = 1e-12 if found.dtype == "float64" else 1e-5
                np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
            else:
                np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["round", "tan", "isinf", "clip"])
def test_elements(name: str) -> None:
    bounds = (0, 1) if name == "clip" else ()

    @cy.kernel
    def each(x):
        y = cy.zeros_like(x, dtype="bool" if name == "isinf" else None)
        for i in range(x.shape[0]):
            y[i] = getattr(cy, name)(x[i], *bounds)
        return y

    np.testing.assert_allclose(each(X), getattr(np, name)(X, *bounds), rtol=1e-14)


def test_sums_of_complex_numbers_and_of_nothing() -> None:
    @cy.kernel
    def numbers(z, e):
        return cy.var(z), np.prod(z), cy.prod(e), cy.trace(cy.diagonal(e, 0)[:, None] * e)

    z, e = np.array([1 + 2j, -3j, 0.5]), np.zeros((0, 0))
    found = numbers(z, e.astype("complex128"))
    np.testing.assert_allclose(found[0], np.var(z))
    assert found[0].dtype == "float64"
    np.testing.assert_allclose(found[1], np.prod(z))
    assert (found[2], found[3]) == (1, 0)


@cy.kernel
def rounded(x):
    return np.round(x)


def test_rounds_what_is_not_finite() -> None:
    x = np.array([np.inf, -np.inf, np.nan, 2.5, -1.5, 0.5, 1e300])
    np.testing.assert_array_equal(rounded(x), np.round(x))


@cy.kernel
def parts(x, y):
    return (x - y).real * (x * y).real + (x + y).imag * (x - y).imag


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_parts_of_complex_numbers_lie_beside_each_other(dtype: str) -> None:
    x = (np.arange(4) + 1j).astype(dtype)
    for schedule in (None, cy.Schedule()):
        program = parts.compile(x, 2 * x, schedule=schedule)
        for backend in ("sim", "local"):
            np.testing.assert_array_equal(cy.run(program, backend=backend).output, parts.reference(x, 2 * x))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_functions_of_whole_numbers_that_give_floating_ones(dtype: str) -> None:
    n = np.array([-3, 0, 7], dtype=dtype)
    expected = of_whole_numbers.reference(n)
    for found, wanted in zip(of_whole_numbers(n), expected, strict=True):
        assert found.dtype == wanted.dtype == np.float64
        np.testing.assert_array_equal(found, wanted)


@cy.kernel
def of_complex(z):
    return np.fabs(z)


@cy.kernel
def by_truth(A):
    return cy.sum(A, axis=True)


@cy.kernel
def of_no_axes(A):
    return cy.norm(A, axis=())


@pytest.mark.parametrize(
    ("kernel", "argument", "code", "text"),
    [
        (of_complex, A * 1j, "CYC121", "`np.fabs` is not defined on complex128"),
        (by_truth, A, "CYC122", "the axis True"),
        (of_no_axes, A, "CYC122", "over 0 axes"),
    ],
    ids=lambda one: one.name if isinstance(one, cy.Kernel) else None,
)
def test_what_numpy_refuses_or_kernels_do_not_have(
    kernel: cy.Kernel, argument: np.ndarray, code: str, text: str
) -> None:
    with pytest.raises(cy.CyclotronError) as refused:
        kernel.compile(argument)
    assert refused.value.code == code
    assert text in str(refused.value)


@pytest.mark.parametrize("size", [1, 3, 4])
def test_functions_of_choices_by_indices_have_few_cases(size):
    """Each use of a choice has two cases, and all of them are of one condition."""

    @cy.kernel
    def rounded_twice():
        return cy.round(cy.round(cy.eye(size, dtype="float64") * 1.6))

    np.testing.assert_array_equal(rounded_twice(), 2 * np.eye(size))


@cy.kernel
def functions_of_products(A, x):
    y = (A @ x) ** 2
    return y, cy.round(A @ x), cy.tan(A @ x), cy.isclose(A @ x, x), cy.std(A @ A.T, axis=0)


@cy.kernel
def rounded_after_changes(A, n):
    y = n * (cy.sign(A) <= A)
    y[3:2:-1, 0] = A[3, 0:1]
    A[...] = y
    return A, y, cy.round(A @ A.T)


def test_what_functions_read_several_times_is_computed_once() -> None:
    A, x = np.random.default_rng(4).integers(-9, 9, (4, 3)).astype(float), np.array([0.5, 2.0, -1.25])

    @cy.kernel
    def square(A, x):
        return (A @ x) ** 2

    cycles = cy.run(square.compile(A, x, schedule=cy.Schedule()), backend="sim").cycles
    assert cycles == 4 * (3 + 1)  # products with sums, and their squares
    for function, arguments in ((functions_of_products, (A[:3], x)), (rounded_after_changes, (A, 3))):
        program = function.compile(*(np.copy(one) for one in arguments))
        expected = function.__wrapped__(*(np.copy(one) for one in arguments))
        for backend in ("sim", "local"):
            for one, right in zip(cy.run(program, backend=backend).outputs.values(), expected, strict=True):
                np.testing.assert_allclose(one, right, rtol=1e-13)
