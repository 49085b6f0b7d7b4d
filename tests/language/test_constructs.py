"""Every construct of the language, traced and compared with its plain Python body."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from oracle import agree, record

import cyclotron as cy

WIDTH = 2
CHOSEN = "upper"


def integers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(float)


@cy.kernel
def convolution(image, weights):
    (n, m), p = image.shape, weights.shape[0]
    out = cy.empty((n - p + 1, m))
    for x in range(n - p + 1):
        for y in range(m):
            out[x, y] = sum(image[x + r, y] * weights[r, 0] for r in range(p))
    return out


def test_affine_index_expressions() -> None:
    """CY-007 E17: `i + p`, the sum of two indices."""
    agree(convolution, integers(5, 2), integers(3, 1))


@cy.kernel
def mirrored(x):
    n = x.shape[0]
    X = cy.empty_like(x)
    for i in range(n):
        X[n - 1 - i] = x[i] - 2 * x[-1] + x[2 * i - i]
    return X


def test_reflections_and_negative_constants() -> None:
    """E17: `n - 1 - i`, and a negative number that counts from the end."""
    agree(mirrored, integers(5))


@cy.kernel
def downwards(x):
    n = x.shape[0]
    X = cy.zeros_like(x)
    for i in range(n - 2, 0, -1):
        X[i] = x[i + 1]
    return X


def test_loop_that_counts_down_and_fills_both_ends() -> None:
    """Elements that no equation assigns keep the fill value, in one equation for both ends."""
    system = agree(downwards, integers(5))
    assert len(system.equations) == 2
    assert len(system.equations[1].domain) == 2


@cy.kernel
def banded(A, x):
    n = len(x)
    y = cy.empty_like(x)
    for i in range(n):
        y[i] = sum(A[i, k] * x[k] for k in range(max(0, i - WIDTH), min(n, i + WIDTH + 1)))
    return y


def test_max_and_min_bound_a_range() -> None:
    """A range from the max of several bounds to the min of several."""
    agree(banded, integers(5, 5), integers(5))


@cy.kernel
def filtered(A):
    n = A.shape[0]
    x = cy.empty(n)
    for i in range(n):
        x[i] = sum(A[i, k] for k in range(n) if k != i if k < 3 or not i >= 2)
    return x


def test_filters_of_a_reduction() -> None:
    """CY-005: several conditions are conjoined; `!=`, `or`, `not` and chains."""
    agree(filtered, integers(5, 5))


@cy.kernel
def zoned(A):
    n, m = A.shape
    X = cy.empty_like(A)
    for i in range(n):
        for j in range(m):
            if i == j:
                X[i, j] = A[i, j]
            elif i < j <= i + 1:
                X[i, j] = -A[i, j]
            elif not (j >= i and i != 2):
                X[i, j] = A[i, j] + 1
            else:
                X[i, j] = A[j, i] - 1
    return X


def test_branches_on_indices() -> None:
    """CY-004: if, elif and else partition the domain."""
    system = agree(zoned, integers(5, 5))
    assert len(system.equations) == 4


@cy.kernel
def on_host(A):
    n = A.shape[0]
    x = cy.empty(n)
    if n > 3 and CHOSEN == "upper":
        offset = 1
    else:
        offset = A.shape[7]
    for i in range(n):
        t = A[i, 0] if n > 100 else A[i, n - 1]
        if CHOSEN == "lower":
            x[i] = A[i, 77]
        else:
            x[i] = t + offset
    return x


def test_conditions_on_host_values_are_python() -> None:
    """A branch that is not taken is not run."""
    agree(on_host, integers(4, 4))


@cy.kernel
def in_loop_constant(A):
    n = A.shape[0]
    x = cy.empty(n)
    for i in range(n):
        if i - i == 0:
            x[i] = A[i, 0]
        if i > i:
            x[i] = A[i, 99]
    return x


def test_conditions_without_points_leave_no_equation() -> None:
    assert len(agree(in_loop_constant, integers(4, 4)).equations) == 1


@cy.kernel
def masked(A):
    n = A.shape[0]
    x = cy.empty(n)
    y = cy.empty(n)
    for i in range(n):
        x[i] = sum(A[i, k] if k < i else 0 for k in range(n))
        y[i] = sum(A[i, k] if i > 0 else A[k, k] for k in range(n))
    return x, y


def test_conditional_expressions_in_reductions() -> None:
    """A zero where a condition on the reduced index fails restricts the reduction."""
    system = agree(masked, integers(4, 4))
    assert len(system.equations) == 3


@cy.kernel
def nested_choice(A):
    n = A.shape[0]
    X = cy.empty_like(A)
    for i in range(n):
        for j in range(n):
            X[i, j] = (A[i, j] if i < j else (2 if i == j else A[j, i])) * (A[0, 0] if i == 0 else 3)
    return X


def test_conditional_expressions_split_equations() -> None:
    system = agree(nested_choice, integers(4, 4))
    assert len(system.equations) == 5
    assert ("constant", 6) in system.exprs


@cy.kernel
def reductions(A):
    n, m = A.shape
    low, high, all_, plus = cy.empty(n), cy.empty(n), cy.empty(n), cy.empty(n)
    for i in range(n):
        low[i] = min(A[i, k] for k in range(m))
        high[i] = max([A[i, k] for k in range(m - 1, -1, -1)])
        all_[i] = math.prod(A[i, k] for k in range(m))
        plus[i] = sum((A[i, k] for k in range(1, m)), A[i, 0])
    return {"low": low, "high": high, "all_": all_, "plus": plus}


def test_reductions_and_a_dict_of_results() -> None:
    """CY-009 CY-010."""
    system = agree(reductions, integers(3, 4))
    kinds = [node[1] for node in system.exprs if node[0] == "reduce"]
    assert kinds == ["first_minimum", "first_maximum", "product", "sum"]
    assert reductions.returns == "dict"


@cy.kernel
def shadowed(x):
    X = cy.empty_like(x)
    sum = 2.0
    for i in range(len(x)):
        X[i] = x[i] * sum
    return X


def test_a_shadowed_builtin_is_a_local_variable() -> None:
    agree(shadowed, integers(3))


@cy.kernel
def elementary(x, y):
    X = cy.empty_like(x)
    for i in range(len(x)):
        a = cy.exp(x[i]) + np.exp(x[i]) + math.exp(x[i])
        b = cy.sqrt(y[i]) + np.sqrt(y[i]) + math.sqrt(y[i])
        c = cy.log(y[i]) + np.log(y[i]) + math.log(y[i])
        d = cy.abs(x[i]) + abs(x[i]) + np.abs(x[i]) + math.fabs(x[i])
        e = cy.maximum(x[i], 1) + np.maximum(x[i], y[i]) + max(x[i], y[i], 0.5)
        f = cy.minimum(x[i], 1) + np.minimum(x[i], y[i]) + min(x[i], y[i])
        X[i] = a + b + c + d + e + f + 1.0 / y[i] + x[i] ** 2 - (-x[i]) + x[i] ** 3 + np.float64(2) * +x[i]
    return X


def test_elementary_functions() -> None:
    """CY-009 CY-010: from cy, NumPy, math and the builtins."""
    arguments = (np.array([-1.0, 0.0, 2.0]), np.array([1.0, 4.0, 0.25]))
    system = record(elementary, *arguments)
    found = system.ops()
    expected = {"exp", "sqrt", "log", "absolute", "maximum", "minimum", "divide", "negative", "power"}
    expected |= {"first_maximum", "first_minimum"}
    assert found == expected | {"add", "subtract", "multiply"}
    agree(elementary, *arguments)


def test_a_square_is_a_product() -> None:
    @cy.kernel
    def square(x):
        X = cy.empty_like(x)
        for i in range(len(x)):
            X[i] = x[i] ** 2
        return X

    assert agree(square, integers(3)).ops() == {"multiply"}


def helper(value, factor=3):
    return value * factor + 1


@cy.kernel
def helped(x):
    X = cy.empty_like(x)
    twice = lambda value: value + value  # noqa: E731
    for i in range(len(x)):
        X[i] = helper(twice(x[i]))
    return X


def test_helper_functions_are_inlined() -> None:
    agree(helped, integers(3))


def test_shared_subexpressions_are_recorded_once() -> None:
    """Squaring thirty times makes thirty products, and takes no time."""

    @cy.kernel
    def squared(x):
        X = cy.empty_like(x)
        for i in range(len(x)):
            value = x[i]
            with cy.host():
                for _ in range(30):
                    value = value * value
            X[i] = value if i > 0 else 1
        return X

    system = record(squared, np.array([1.0, -1.0]))
    assert len(system.exprs) == 32


@cy.kernel
def phases(A, x):
    n = len(x)
    T = cy.empty_like(x)
    U = cy.full(n, 7)
    y = cy.empty_like(x)
    with cy.host():
        order = [n - 1, 0]
        for k in order:
            U[k] = x[k]
    for i in range(n):
        T[i] = sum(A[i, k] * x[k] for k in range(n))
    for i in range(n):
        y[i] = T[n - 1 - i] + U[i]
    with cy.ignore():
        assert np.array_equal(np.asarray(T), np.asarray(A) @ np.asarray(x))
        order.append(len(order))
    return y


def test_local_tensors_host_and_ignored_blocks() -> None:
    """Tensors that are not returned are local; a host block runs while tracing, an ignored one does not."""
    system = agree(phases, integers(4, 4), integers(4))
    assert [tensor.role for tensor in system.tensors] == ["input", "input", "local", "local", "output"]


@cy.kernel
def scaled(x, factor, shift=1):
    X = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = factor * x[i] + shift
    return X


def test_numbers_are_host_values() -> None:
    """Python numbers, NumPy numbers and arrays without axes become constants."""
    agree(scaled, integers(3), 2.0)
    agree(scaled, integers(3), np.float32(0.5), np.array(4))
    agree(scaled, integers(3).astype("int64"), 3)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "complex64", "complex128"])
def test_dtypes(dtype: str) -> None:
    """New tensors take the dtype of the inputs, and constants adopt it."""
    system = agree(scaled, np.array([1, 2, 3], dtype), 2)
    assert {tensor.dtype for tensor in system.tensors} == {dtype}


@cy.kernel
def renamed(x):
    result = cy.empty_like(x)
    never_used = cy.zeros_like(x)
    for i in range(len(x)):
        result[i] = x[i]
    out, _ = result, never_used
    return {"out": out}


def test_outputs_are_named_by_the_return() -> None:
    """And a tensor without use is no part of the system."""
    system = agree(renamed, integers(3))
    assert [tensor.name for tensor in system.tensors] == ["x", "out"]


def test_constant_results() -> None:
    @cy.kernel
    def ones(x):
        X = cy.full((2, len(x)), 1)
        return {"X": X}

    agree(ones, integers(3))


def test_spans_name_the_users_text() -> None:
    """Columns of characters, also behind letters of several bytes."""

    @cy.kernel
    def copy(α):
        X = cy.empty_like(α)
        for i in range(len(α)):
            X[i] = α[i] + 1
        return X

    (equation,) = record(copy, cy.spec(3)).equations
    assert equation.span.file == __file__
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[equation.span.line - 1]
    if sys.version_info >= (3, 11):
        assert line[equation.span.column : equation.span.end_column] == "X[i]"
