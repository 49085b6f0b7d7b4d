"""Numbers of NumPy that meet Python's in loops, which are NumPy's from the first iteration on."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def counted(a):
    x, k = 1, 0
    while k < 5:
        x = x + a
        k += 1
    return x, k


@cy.kernel(max_steps=40)
def until_large(a):
    x = 0.0
    while x < 1:
        x = x + a / 10
    return x


@cy.kernel
def left_by_what_it_made(a):
    x = 1
    for _t in range(9):
        x = x * a
        if x > 20:
            break
    return x


@cy.kernel
def left_before(a):
    x = 1.0
    for _t in range(9):
        if x > 20:
            break
        x *= a
    return x


@cy.kernel(max_steps=40)
def compared(a):
    x = 0.1
    while x < a:
        x = x * np.float32(1.5)
    return x


@cy.kernel
def converted(a):
    x, t = 0.1, 0
    while t < 4:
        y = np.float32(x)
        x = x + y * a
        t = t + 1
    return x, t


@cy.kernel
def chosen(a):
    x = 0.1
    for i in range(3):
        x = cy.where(i > 1, x, np.float32(0.1)) + x + a
    return x


@cy.kernel
def in_another_loop(a):
    x = 0.1
    for _i in range(3):
        y = 1
        for _j in range(2):
            y = y + a
        x = x * y
    return x


KERNELS = (
    counted,
    until_large,
    left_by_what_it_made,
    left_before,
    compared,
    converted,
    chosen,
    in_another_loop,
)
NUMBERS: tuple[Any, ...] = (np.float32(2.1), np.float64(3), np.int32(3), np.int8(3), np.uint8(3), 2, 2.5)


@pytest.mark.parametrize("kernel", KERNELS, ids=[one.name for one in KERNELS])
@pytest.mark.parametrize("a", NUMBERS, ids=[f"{type(a).__name__} {a}" for a in NUMBERS])
def test_as_in_python(kernel: cy.Kernel, a: Any) -> None:
    plain = {**kernel.__wrapped__.__globals__, "cy": np}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whole numbers wrap
        wanted = type(kernel.__wrapped__)(kernel.__wrapped__.__code__, plain)(a)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for backend in ("sim", "local"):
        found = cy.run(kernel.compile(a), backend=backend).outputs.values()
        for one, right in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, right)
            assert np.asarray(one).dtype == np.asarray(right).dtype


def test_whole_numbers_wrap_as_numpys() -> None:
    """In 64 bits the sum is 5368709121."""
    assert cy.run(counted.compile(np.int32(2**30))).outputs["x"] == 2**30 + 1


def test_a_count_beside_a_number_of_another_type() -> None:
    """The test of the first iteration is known, whichever numbers it is recorded apart for."""

    @cy.kernel
    def kernel(x):
        s, k = 0, 0
        while k < len(x):
            s = s + x[k]
            k += 1
        return s, k

    x = np.array([1.5, 2.5, 4], "float32")
    outputs = cy.run(kernel.compile(x)).outputs
    assert outputs["s"] == 8
    assert outputs["s"].dtype == "float32"
    assert outputs["k"] == 3


def test_the_help_names_the_type_of_numpy() -> None:
    @cy.kernel
    def kernel(x):
        s = 0
        for i in range(len(x)):
            if x[i] > 3:
                break
            s += x[i]
        return s

    with pytest.raises(cy.ShapeError, match=r"`s = np\.float32\(0\)`") as error:
        kernel.compile(np.ones(3, "float32"))
    assert error.value.code == "CYC120"


def test_numbers_of_python_divide_by_zero_as_in_python() -> None:
    """In a loop too, where the next iterations would make NaN of them."""

    @cy.kernel
    def kernel(x):
        s, k = 1.0, 0
        while k < 2:
            s = s / (k + 0.0) + x[k]
            k += 1
        return s

    @cy.kernel
    def of_data(x):
        s, t = 1.0, 2.0
        while t > x[0]:
            t = t - 1
            s = s / t
        return s

    @cy.kernel
    def of_numpy(x):
        s = 1.0
        for k in range(3):
            s = s / x[k]
        return s

    x = np.array([0.0, 1, 2])
    with pytest.raises(cy.CyclotronError, match=r"division by zero|divided by zero"):
        cy.run(kernel.compile(x))
    with pytest.raises(cy.ExecutionError, match="divided by zero"):
        cy.run(of_data.compile(x))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert cy.run(of_numpy.compile(x)).outputs["s"] == np.inf


def test_numbers_of_python_that_begin_as_divisors() -> None:
    """As `rho = alpha = omega = 1.0` of BiCGStab, which NumPy's numbers take the places of."""

    @cy.kernel
    def kernel(A, b, tol):
        x, r = np.zeros_like(b), b.copy()
        rho = alpha = omega = 1.0
        v, p = np.zeros_like(b), np.zeros_like(b)
        while np.linalg.norm(r) > tol:
            new = np.dot(b, r)
            p = r + new / rho * (alpha / omega) * (p - omega * v)
            v = A @ p
            alpha = new / np.dot(b, v)
            s = r - alpha * v
            t = A @ s
            omega = np.dot(t, s) / np.dot(t, t)
            x = x + alpha * p + omega * s
            r = s - omega * t
            rho = new
        return x

    A, b = np.random.default_rng(7).random((6, 6)) + 6 * np.eye(6), np.arange(1.0, 7)
    for backend in ("sim", "local"):
        found = cy.run(kernel.compile(A, b, 1e-10), backend=backend).output
        np.testing.assert_allclose(found, np.linalg.solve(A, b), rtol=1e-9)


def test_a_number_divides_by_zero_as_numpys_from_the_second_iteration_on() -> None:
    @cy.kernel
    def at_once(x):
        s, t, y = 1.0, 1.0, np.zeros(len(x))
        for k in range(len(x)):
            y[k] = s / t
            s = x[k]
            t = t - 1
        return y

    x = np.array([3.0, 4, 5])
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        found = cy.run(at_once.compile(x)).output
    np.testing.assert_array_equal(found, [1, np.inf, -4])


def test_numbers_that_become_numpys_one_after_the_other() -> None:
    """With one of them recorded as Python's another one seems to become Python's of another type."""

    @cy.kernel
    def kernel(v):
        x = -1.5
        for _k in range(3):
            x *= x
            x -= v[0]
        y = 6
        for _k in range(3):
            y = y / x
        return y, x

    v = np.array([0.5, 0.1])
    outputs = cy.run(kernel.compile(v)).outputs
    assert (outputs["y"], outputs["x"]) == kernel.__wrapped__(v)


def test_inner_loops_tell_what_outer_ones_carry() -> None:
    """Only what is found first is known: of the sum the inner loop's extremum tells."""

    @cy.kernel
    def kernel(w):
        total = 0
        for _t in range(3):
            m = 0.0
            for v in range(3):
                m = max(m, w[v])
            total += m
        return total

    w = np.array([3, 1, 2], "float32")
    found = cy.run(kernel.compile(w)).outputs["total"]
    assert (found, found.dtype) == (9, "float32")
