"""Odd arguments of array functions are errors of Cyclotron at the line, never raw ones of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

A, V = np.arange(6.0).reshape(2, 3), np.arange(4.0)
TWO = np.array([1, 0])
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "keepdims of two": lambda A, v: cy.sum(A, keepdims=TWO),
    "norm of two": lambda A, v: cy.norm(v, TWO),
    "boundary of two": lambda A, v: cy.shift(v, 1, 0, TWO),
    "shift by a fraction": lambda A, v: cy.shift(v, 1.5),
    "shift by three along two": lambda A, v: cy.shift(A, (1, 2, 3), (0, 1)),
    "roll by a text": lambda A, v: cy.roll(v, "x"),
    "fraction of a diagonal": lambda A, v: cy.diagonal(A, 1.5),
    "trace beside NaN": lambda A, v: cy.trace(A, float("nan")),
    "triangle of two": lambda A, v: cy.triu(A, TWO),
    "negative differences": lambda A, v: cy.diff(v, -1),
    "differences along two": lambda A, v: cy.diff(A, 1, (0, 1)),
    "concatenated along two": lambda A, v: cy.concatenate((A, A), (0, 1)),
    "nothing concatenated": lambda A, v: cy.concatenate(()),
    "padded by pairs of three": lambda A, v: cy.pad(A, ((1, 1, 1), (1, 1, 1))),
    "padded in a mode of two": lambda A, v: cy.pad(A, 1, TWO),
    "padded with three": lambda A, v: cy.pad(A, 1, constant_values=(1, 2, 3)),
    "padded with a text": lambda A, v: cy.pad(A, 1, constant_values="x"),
    "full of text": lambda A, v: cy.full((2,), "x"),
    "full of two": lambda A, v: cy.full((3,), TWO),
    "size along an axis": lambda A, v: A * np.size(A, 7),
    "transposed by two": lambda A, v: A.transpose(TWO),
    "steps of two": lambda A, v: v[::TWO],
}


@pytest.mark.parametrize("what", CALLS)
def test_odd_arguments(what: str) -> None:
    call = CALLS[what]

    @cy.kernel
    def odd(A, v):
        y = call(A, v)
        return y

    with pytest.raises(cy.CyclotronError) as caught:
        odd.recurrences(A, V)
    assert caught.value.span is not None


def test_filled_with_data() -> None:
    @cy.kernel
    def filled(v):
        return cy.full((3,), v[1] * 2) + v[:3]

    np.testing.assert_array_equal(filled(V), filled.reference(V))


def test_many_differences_leave_nothing() -> None:
    @cy.kernel
    def differences(v):
        return cy.diff(v, 9)

    assert differences.recurrences(V) is not None
    assert differences(V).shape == (0,)


@cy.kernel
def padded(A):
    return np.pad(A, ((1, 2), (0, 1)), constant_values=((1, 2), (3, 4)))


@cy.kernel
def shifted(A):
    return cy.shift(A, (1, -1), (0, 1), boundary="edge") + cy.shift(A, 1, axis=(0, 1))


@cy.kernel
def rounded(A):
    return np.round(A)


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
@pytest.mark.parametrize("kernel", [padded, shifted, rounded], ids=lambda kernel: kernel.name)
def test_as_numpy(kernel: cy.Kernel, dtype: str) -> None:
    values = np.array([[-0.4, -0.0, 0.0, 0.5], [-0.5, 1.5, 2.5, -1.5], [0.49999997, 1e9, 7, -3.2]])
    for given in (values.astype(dtype), values[:1, :1].astype(dtype), values[:0].astype(dtype)):
        expected = kernel.reference(given)
        program = kernel.compile(given)
        for backend in ("sim", "local"):
            found = cy.run(program, backend=backend).output
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@cy.kernel
def scaled(v, a):
    return v * a**3


def test_numbers_of_the_host_that_overflow() -> None:
    """Python refuses what NumPy's numbers let be infinite."""
    with pytest.raises(cy.TraceError, match="out of range") as caught:
        scaled(V, 1e308)
    assert caught.value.code == "CYC105"
    assert caught.value.span.line == scaled.first_line + 2
    with np.errstate(over="ignore"):
        assert np.isinf(scaled(V[1:], np.float64(1e308))).all()


@pytest.mark.parametrize("nested", [lambda m: [m], lambda m: (m, [1.0, 2.0]), lambda m: [[m], [m]]])
def test_masked_arrays_in_lists_are_refused(nested):
    """As they are by themselves: they would lose their masks."""

    @cy.kernel
    def double(x):
        return 2 * x

    with pytest.raises(cy.ShapeError, match="would lose its mask") as refused:
        double(nested(np.ma.array([1.0, 2.0], mask=[False, True])))
    assert refused.value.code == "CYC116"
    assert np.array_equal(double([[1.0, 2.0]]), [[2.0, 4.0]])


def test_more_axes_than_programs_have_are_refused():
    @cy.kernel
    def double(x):
        return 2 * x

    assert double(np.ones((1,) * 8)).shape == (1,) * 8
    with pytest.raises(cy.ShapeError, match="argument `x` has 9 axes, more than 8") as refused:
        double.compile(np.ones((1,) * 9))
    assert refused.value.span is not None
    assert double.reference(np.ones((1,) * 9)).shape == (1,) * 9


def test_an_array_is_no_dtype_of_a_machine():
    with pytest.raises(cy.ShapeError, match="machine `unit"):
        cy.machines.gemmini_16(np.array([1, 2]))


def test_complex_elements_in_real_arrays_of_numpy_warn_in_plain_runs():
    """As NumPy's elements do; compiled, they are refused."""

    @cy.kernel
    def products(x):
        y = np.zeros(3)
        for i in range(3):
            y[i] = x[i] * x[2 - i]
        return y

    x = np.arange(3) + 1j
    with pytest.warns(Warning, match="discards the imaginary part"):
        plain = products.reference(x)
    assert np.array_equal(plain, (x * x[::-1]).real)
    with pytest.raises(cy.ShapeError) as refused:
        products.compile(x)
    assert refused.value.code == "CYC120"
