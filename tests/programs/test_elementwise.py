"""Each operator on each dtype, as scalars, tiles and ragged tiles, on every backend against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

INTEGERS = ("int32", "int64")
REALS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
ALL = ("bool", *INTEGERS, *REALS, *COMPLEX)
NUMBERS = (*INTEGERS, *REALS, *COMPLEX)
ONE_PE = cy.Schedule()


def of_one(f: Callable[..., Any]) -> cy.Kernel:
    @cy.kernel
    def kernel(A, dtype):
        C = cy.empty(A.shape, dtype)
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                C[i, j] = f(A[i, j])
        return C

    return kernel


def of_two(f: Callable[..., Any]) -> cy.Kernel:
    @cy.kernel
    def kernel(A, B, dtype):
        C = cy.empty(A.shape, dtype)
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                C[i, j] = f(A[i, j], B[i, j])
        return C

    return kernel


def of_three(f: Callable[..., Any]) -> cy.Kernel:
    @cy.kernel
    def kernel(A, B, D, dtype):
        C = cy.empty(B.shape, dtype)
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                C[i, j] = f(A[i, j], B[i, j], D[i, j])
        return C

    return kernel


def values(dtype: str) -> np.ndarray:
    """Ordinary and special values of a dtype."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([False, True])
    if kind == "i":
        limits = np.iinfo(dtype)
        return np.array([0, 1, -1, 7, -3, 12, limits.max, limits.min], dtype)
    if kind == "f":
        return np.array([0.0, -0.0, 1.0, -1.5, 2.75, -7.0, 1e-3, np.inf, -np.inf, np.nan], dtype)
    return np.array([0, 1, 1j, -1.5 + 0.5j, 2 - 3j, -0.25j, 3 + 4j], dtype)


def run_everywhere(kernel: cy.Kernel, arguments: tuple[Any, ...]) -> np.ndarray:
    program = kernel.compile(*arguments, schedule=ONE_PE)
    simulated = cy.run(program, backend="sim").output
    local = cy.run(program, backend="local").output
    assert local.tobytes() == simulated.tobytes()
    return simulated


def compare(found: np.ndarray, expected: np.ndarray, exact: bool) -> None:
    if exact or expected.dtype.kind in "bi":
        np.testing.assert_array_equal(found, expected, strict=True)
    else:
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=8 * np.finfo(expected.dtype).eps)


def check(f: Callable[..., Any], operands: list[np.ndarray], numpy: Callable[..., Any], exact: bool) -> None:
    """On scalars, on tiles and on ragged tiles, and in plain Python."""
    with np.errstate(all="ignore"):
        expected = np.asarray(numpy(*operands))
    kernel = (of_one, of_two, of_three)[len(operands) - 1](f)
    rows, columns = expected.shape
    shapes: list[tuple[int, int] | None] = [None, (rows, columns), ((rows + 1) // 2, (columns + 2) // 3)]
    for tile in shapes:
        tiled = tuple(o if tile is None else cy.blocked(o, tile) for o in operands)
        found = run_everywhere(kernel, (*tiled, expected.dtype.name))
        compare(found, expected, exact)
        if expected.dtype.kind == "f" and exact:
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    with np.errstate(all="ignore"):
        plain = kernel.reference(*operands, expected.dtype.name)
    np.testing.assert_array_equal(plain, expected, strict=True)


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    one = values(dtype)
    return np.ascontiguousarray(np.repeat(one[:, None], len(one), 1)), np.ascontiguousarray(
        np.repeat(one[None, :], len(one), 0)
    )


ONE_OPERAND: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[str, ...], bool]] = {
    "-": (lambda a: -a, np.negative, NUMBERS, True),
    "~": (lambda a: ~a, np.invert, ("bool", *INTEGERS), True),
    "abs": (abs, np.abs, ("bool", *INTEGERS, *REALS), True),
    "abs complex": (cy.abs, np.abs, COMPLEX, False),
    "sign": (cy.sign, np.sign, (*INTEGERS, *REALS), True),
    "floor": (cy.floor, np.floor, REALS, True),
    "ceil": (cy.ceil, np.ceil, REALS, True),
    "exp": (cy.exp, np.exp, (*REALS, *COMPLEX), False),
    "sin": (cy.sin, np.sin, COMPLEX, False),
    "cos": (cy.cos, np.cos, COMPLEX, False),
    "sinh": (cy.sinh, np.sinh, (*REALS, *COMPLEX), False),
    "cosh": (cy.cosh, np.cosh, (*REALS, *COMPLEX), False),
    "tanh": (cy.tanh, np.tanh, (*REALS, *COMPLEX), False),
    "log1p": (lambda a: cy.log1p(abs(a)), lambda a: np.log1p(abs(a)), REALS, False),
    "expm1": (cy.expm1, np.expm1, REALS, False),
    "cbrt": (cy.cbrt, np.cbrt, REALS, False),
    "arctan": (cy.arctan, np.arctan, REALS, False),
    "square": (cy.square, np.square, NUMBERS, True),
    "reciprocal": (cy.reciprocal, lambda a: 1 / a, REALS, True),
    "conj": (cy.conj, np.conj, NUMBERS, True),
    "real": (cy.real, np.real, COMPLEX, True),
    "imag": (lambda a: a.imag, np.imag, COMPLEX, True),
    "copy": (cy.copy, np.copy, ALL, True),
    "isnan": (cy.isnan, np.isnan, ALL, True),
    "isfinite": (cy.isfinite, np.isfinite, ALL, True),
    "not": (cy.logical_not, np.logical_not, ALL, True),
}
TWO_OPERANDS: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[str, ...], bool]] = {
    "+": (lambda a, b: a + b, np.add, ALL, True),
    "-": (lambda a, b: a - b, np.subtract, NUMBERS, True),
    "*": (lambda a, b: a * b, np.multiply, ALL, True),
    "/": (lambda a, b: a / b, np.true_divide, REALS, True),
    "//": (lambda a, b: a // b, np.floor_divide, REALS, True),
    "%": (lambda a, b: a % b, np.remainder, REALS, True),
    "==": (lambda a, b: a == b, np.equal, ALL, True),
    "!=": (lambda a, b: a != b, np.not_equal, ALL, True),
    "<": (lambda a, b: a < b, np.less, ALL, True),
    "<=": (lambda a, b: a <= b, np.less_equal, ALL, True),
    ">": (lambda a, b: a > b, np.greater, ALL, True),
    ">=": (lambda a, b: a >= b, np.greater_equal, ALL, True),
    "&": (lambda a, b: a & b, np.bitwise_and, ("bool", *INTEGERS), True),
    "|": (lambda a, b: a | b, np.bitwise_or, ("bool", *INTEGERS), True),
    "^": (lambda a, b: a ^ b, np.bitwise_xor, ("bool", *INTEGERS), True),
    "<<": (lambda a, b: a << b % 9, lambda a, b: np.left_shift(a, b % 9), INTEGERS, True),
    ">>": (lambda a, b: a >> b % 9, lambda a, b: np.right_shift(a, b % 9), INTEGERS, True),
    "and": (cy.logical_and, np.logical_and, ALL, True),
    "or": (cy.logical_or, np.logical_or, ALL, True),
    "xor": (cy.logical_xor, np.logical_xor, ALL, True),
    "hypot": (cy.hypot, np.hypot, REALS, False),
    "arctan2": (cy.arctan2, np.arctan2, REALS, False),
    "maximum": (cy.maximum, np.maximum, ALL, False),
    "minimum": (cy.minimum, np.minimum, ALL, False),
}


def cases(table: dict[str, Any]) -> list[Any]:
    return [
        pytest.param(f, numpy, dtype, exact, id=f"{name}-{dtype}")
        for name, (f, numpy, dtypes, exact) in table.items()
        for dtype in dtypes
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("f", "numpy", "dtype", "exact"), cases(ONE_OPERAND))
def test_one_operand(f: Any, numpy: Any, dtype: str, exact: bool) -> None:
    check(f, [np.vstack([values(dtype), values(dtype)[::-1]])], numpy, exact)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("f", "numpy", "dtype", "exact"), cases(TWO_OPERANDS))
def test_two_operands(f: Any, numpy: Any, dtype: str, exact: bool) -> None:
    check(f, list(pairs(dtype)), numpy, exact)


@pytest.mark.parametrize("function", ["sin", "cos"])
@pytest.mark.parametrize("dtype", REALS)
def test_waves(function: str, dtype: str) -> None:
    angles = np.linspace(-7, 7, 12).astype(dtype).reshape(3, 4)
    check(getattr(cy, function), [angles], getattr(np, function), False)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_division_rounds_down(dtype: str) -> None:
    a, b = pairs(dtype)
    b[b == 0] = 5
    with np.errstate(over="ignore"):
        check(lambda x, y: x // y, [a, b], np.floor_divide, True)
        check(lambda x, y: x % y, [a, b], np.remainder, True)
    check(lambda x: x % 3, [a], lambda x: x % 3, True)
    check(lambda x: 7 // (x | 1), [a], lambda x: 7 // (x | 1), True)


@pytest.mark.parametrize("f", [lambda a, b: a // b, lambda a, b: a % b])
@pytest.mark.parametrize("backend", ["sim", "local"])
def test_integer_division_by_zero_gives_zero(f: Any, backend: str) -> None:
    a, b = np.full((1, 2), 7), np.array([[2, 0]])
    program = of_two(f).compile(a, b, "int64", schedule=ONE_PE)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, f(a, b))


@pytest.mark.parametrize("dtype", ALL)
def test_choices(dtype: str) -> None:
    a, b = pairs(dtype)
    condition = np.indices(a.shape).sum(0) % 2 == 0
    check(cy.where, [condition, a, b], np.where, True)
    check(lambda c, x: cy.where(c, x, 0), [condition, a], lambda c, x: np.where(c, x, x.dtype.type(0)), True)


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("source", ALL)
def test_conversions(source: str, target: str) -> None:
    a = np.vstack([values(source), values(source)])
    if np.dtype(source).kind == "c" and np.dtype(target).kind in "if":
        with pytest.raises(cy.ShapeError, match="CYC121"):
            of_one(lambda x: x.astype(target)).compile(a, target)
        return
    if np.dtype(source).kind == "f" and np.dtype(target).kind == "i":
        a = a[:, np.isfinite(a[0])]
    check(lambda x: x.astype(target), [a], lambda x: x.astype(target), True)
    check(lambda x: cy.cast(x, target), [a], lambda x: x.astype(target), True)


def test_what_integers_cannot_hold_becomes_the_least() -> None:
    a = np.array([[np.nan, np.inf, -np.inf, 1e30]])
    for dtype in INTEGERS:
        found = run_everywhere(of_one(lambda x: x.astype(dtype)), (a, dtype))
        assert (found == np.iinfo(dtype).min).all()


@cy.kernel
def counted(A):
    """Sums of choices between numbers, which adopt the dtype of what they meet."""
    n = A.shape[0]
    C = cy.empty(n, "int32")
    D = cy.empty(n)
    E = cy.empty(n, "bool")
    for i in range(n):
        C[i] = sum(cy.where(A[k] > 0, 1, 0) for k in range(i))
        D[i] = A[i] * cy.where(A[i] < 0, -1, 1) + sum(cy.where(A[k] > 1, 0.5, 0) for k in range(i))
        E[i] = sum(cy.where(A[k] > 0, 1, 0) for k in range(i)) >= 2
    return C, D, E


@pytest.mark.parametrize("schedule", [ONE_PE, cy.Schedule().space("i")], ids=["one-pe", "line"])
def test_numbers_adopt_a_dtype(schedule: cy.Schedule) -> None:
    A = np.array([1.5, -2, 3, 0, 0.25])
    program = counted.compile(A, schedule=schedule)
    for backend in ("sim", "local"):
        outputs = cy.run(program, backend=backend).outputs
        for found, expected in zip(outputs.values(), counted.reference(A), strict=True):
            np.testing.assert_array_equal(found, expected, strict=True)
    np.testing.assert_array_equal(outputs["C"], [0, 1, 1, 2, 2])
    np.testing.assert_array_equal(outputs["E"], [False, False, False, True, True])
