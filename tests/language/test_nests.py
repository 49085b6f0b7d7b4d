"""Loop nests: elements assigned several times, in place or in any order, mean what Python makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cyclotron as cy

ONE_PE = cy.Schedule()


def integers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(float)


def agree(kernel: cy.Kernel, *arguments: Any, schedules: tuple[Any, ...] = (ONE_PE, None)) -> None:
    """The compiled programs give what plain Python gives."""
    expected = kernel.reference(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for schedule in schedules:
        program = kernel.compile(*arguments, schedule=schedule)
        for backend in ("sim", "local"):
            found = cy.run(program, backend=backend).outputs.values()
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other)


@cy.kernel
def in_place(A):
    """An LU factorisation without pivots."""
    n = A.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    return A


@cy.kernel
def assigned_from_itself(x):
    X = cy.zeros_like(x)
    for i in range(len(x)):
        X[i] = X[i] + x[i]
    return X


@cy.kernel
def two_reduced_loops(A):
    X = cy.zeros(1)
    for i in range(4):
        for j in range(4):
            X[0] += A[i, j]
    return X


@cy.kernel
def reads_its_own_term(A, x):
    X = cy.full(4, 1.0)
    for i in range(len(x)):
        for k in range(len(x)):
            X[i] += A[i, k] * X[i]
    return X


@cy.kernel
def read_while_accumulated(A, x):
    X = cy.zeros_like(x)
    Y = cy.empty_like(A)
    for i in range(4):
        for k in range(4):
            X[i] += A[i, k]
            Y[i, k] = X[i]
    return X, Y


@cy.kernel
def read_before_assigned(x):
    X = cy.zeros_like(x)
    Y = cy.empty_like(x)
    for i in range(len(x)):
        Y[i] = X[i]
        X[i] = x[i]
    return Y, X


@cy.kernel
def reads_ahead(x):
    n = len(x)
    X = cy.zeros(n + 1)
    for i in range(n):
        X[i] = X[i + 1] + x[i]
    return X


@cy.kernel
def difficult_range(x):
    X = cy.zeros(8)
    for k in range(4):
        for i in range(2 * k, 8):
            X[i] += x[k]
    return X


@cy.kernel
def sum_of_what_changes(A):
    """The elements of one sum have been assigned at different times."""
    n = A.shape[0]
    x = cy.zeros(n)
    for i in range(n):
        x[i] = A[i, 0] + sum(x[k] * A[i, k] for k in range(n))
    return x


@cy.kernel
def in_either_direction(x, y):
    """One name for loops that count up and down, one of them with a condition."""
    n = len(x)
    for i in range(1, n):
        x[i] += x[i - 1]
    for i in range(n - 2, -1, -1):
        x[i] -= 2 * x[i + 1]
        if i > 1:
            y[i] = x[i] + y[i - 1]
        else:
            y[i + 1] = x[i + 1]
    return x, y


@cy.kernel
def nested_either_way(A):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            A[i, j] += 2 * A[0, j]
    for j in range(1, m):
        for i in range(n):
            A[i, j] -= A[i, j - 1]
    return A


@cy.kernel
def carried(x):
    """A value that one iteration leaves for the next, in an array of one element."""
    last = cy.zeros(1)
    y = cy.empty_like(x)
    for i in range(len(x)):
        y[i] = x[i] - last[0]
        last[0] = x[i]
    return y


@cy.kernel
def overwritten(x):
    """Nothing of the first loop is left."""
    y = cy.empty_like(x)
    for i in range(len(x)):
        y[i] = 3 * x[i]
    for i in range(len(x)):
        y[i] = -x[i]
    return y


@cy.kernel
def chosen(x):
    y = cy.zeros_like(x)
    for _k in range(2):
        for i in range(len(x)):
            y[i] = y[i] + x[i] if i < 2 else y[i - 1] - x[i]
    return y


@cy.kernel
def keeps_a_stride(x):
    for i in range(2):
        x[2 * i] += 1
    return x


@cy.kernel
def two_strides(x, f):
    for _t in range(3):
        for i in range(1, len(x) - 1, 2):
            x[i] = x[i - 1] + x[i + 1] - f[i]
        for i in range(2, len(x) - 1, 2):
            x[i] = x[i - 1] + x[i + 1] - f[i]
    return x


@cy.kernel
def folded_along_an_axis_of_the_target(A):
    """The maximum over j stands at A[i, 0], where j is an axis of A."""
    n, m = A.shape
    for i in range(n):
        A[i, 0] += max(A[i, j] for j in range(m))
    for i in range(n):
        for j in range(m):
            A[i, j] += 1
    return A


@cy.kernel
def folded_over_another_size(A, B):
    P = cy.zeros((5, 2))
    for i in range(5):
        for j in range(2):
            P[i, j] = sum(B[i, k] * A[k, j] for k in range(3))
    for i in range(2):
        A[i + 1, 0] += max(P[j, i] for j in range(5))
    for i in range(3):
        for j in range(2):
            A[i, j] += 1
    return A


@cy.kernel
def of_one_element(x):
    """The first element is read as it was filled, the others as it is then."""
    y = cy.full_like(x, 3)
    z = cy.full_like(x, 2)
    for i in range(x.shape[0]):
        y[i] = y[0] + x[i]
        z[x.shape[0] - 1 - i] = z[i] * 2
    return y, z


KERNELS = [
    (of_one_element, (np.arange(1.0, 5.0),)),
    (of_one_element, (np.arange(1.0, 6.0),)),
    (of_one_element, (np.ones(1),)),
    (folded_along_an_axis_of_the_target, (integers(3, 4),)),
    (folded_over_another_size, (integers(3, 2), integers(5, 3, seed=1))),
    (in_place, (integers(5, 5) + 16 * np.eye(5),)),
    (assigned_from_itself, (integers(4),)),
    (two_reduced_loops, (integers(4, 4),)),
    (reads_its_own_term, (integers(4, 4), integers(4))),
    (read_while_accumulated, (integers(4, 4), integers(4))),
    (read_before_assigned, (integers(4),)),
    (reads_ahead, (integers(4),)),
    (difficult_range, (integers(4),)),
    (sum_of_what_changes, (integers(4, 4),)),
    (in_either_direction, (integers(5), integers(5))),
    (nested_either_way, (integers(3, 4),)),
    (carried, (integers(4),)),
    (overwritten, (integers(4),)),
    (chosen, (integers(4),)),
    (keeps_a_stride, (integers(4),)),
    (two_strides, (integers(9), integers(9, seed=1))),
]


@pytest.mark.parametrize(("kernel", "arguments"), KERNELS, ids=[kernel.name for kernel, _ in KERNELS])
def test_a_nest_means_what_python_makes_of_it(kernel: cy.Kernel, arguments: tuple[Any, ...]) -> None:
    if kernel is in_place:
        L = np.tril(integers(5, 5), -1) + np.eye(5)
        arguments = (L @ (np.triu(integers(5, 5, seed=1), 1) + np.eye(5)),)
    agree(kernel, *arguments)


def test_an_elimination_runs_on_a_grid() -> None:
    L = np.tril(integers(5, 5), -1) + np.eye(5)
    agree(in_place, L @ L.T, schedules=(cy.Schedule().space("i", "j"), cy.Schedule().space("i")))


def test_what_is_overwritten_is_not_computed() -> None:
    text = str(overwritten.recurrences(integers(4)))
    assert text.count(" = ") == 1
    assert "y[i] = negative(x[i])" in text


def test_a_value_handed_on_is_read_where_it_was_made() -> None:
    text = str(carried.recurrences(integers(4)))
    assert "y[i] = x[i] - 0 " in text
    assert "y[i] = x[i] - x[i-1] " in text
    assert "last" not in text


def test_an_input_assigned_in_place_is_another_tensor_when_returned() -> None:
    A = np.eye(3)
    result = cy.run(in_place.compile(A))
    assert list(result.outputs) == ["A_out"]
    np.testing.assert_array_equal(A, np.eye(3))
    np.testing.assert_array_equal(in_place(A), in_place.reference(A))


@cy.kernel
def by_name(x):
    y = cy.zeros_like(x)
    for i in range(1, len(x)):
        x[i] += x[i - 1]
        y[i] = x[i]
    return {"y": y, "x": x}


def test_results_by_name() -> None:
    x = integers(4)
    expected = by_name.reference(x)
    found = by_name(x)
    assert list(found) == ["y", "x"]
    for name in found:
        np.testing.assert_array_equal(found[name], expected[name])
    assert "agrees" in str(cy.check(by_name.compile(x), backends=("sim", "local")))


@cy.kernel
def no_first_value(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        for k in range(len(x)):
            X[i] += x[k]
    return X


@cy.kernel
def of_another_stride(x):
    X = cy.zeros(8)
    for i in range(4):
        for j in range(2):
            X[2 * i + j] += x[i]
    for i in range(8):
        X[i] = X[i] + 1
    return X


@cy.kernel
def never_assigned(x):
    X = cy.empty(5)
    for _k in range(2):
        for i in range(len(x)):
            X[i] = x[i]
    return X


@cy.kernel
def outside(x):
    for i in range(len(x)):
        x[i] += x[i + 1]
    return x


@cy.kernel
def read_too_early(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        if i > 0:
            x[i] += y[i]
        y[i] = x[i]
    return x


@pytest.mark.parametrize(
    ("kernel", "code"),
    [
        (no_first_value, "CYC215"),
        (read_too_early, "CYC215"),
        (of_another_stride, "CYC216"),
        (never_assigned, "CYC202"),
        (outside, "CYC203"),
    ],
    ids=lambda value: value.name if isinstance(value, cy.Kernel) else None,
)
def test_nests_that_are_refused(kernel: cy.Kernel, code: str, golden_refusal) -> None:
    golden_refusal(f"nest-{kernel.name}", cy.LegalityError, code, lambda: kernel.compile(integers(4)))


@cy.kernel
def returned_the_other_way_round(x):
    X = cy.empty_like(x)
    Y = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = x[i]
        Y[i] = 2 * x[i]
    return Y, X


def test_results_come_in_the_order_of_the_return() -> None:
    agree(returned_the_other_way_round, integers(3))
    x = integers(3)
    for one, other in zip(
        returned_the_other_way_round(x), returned_the_other_way_round.reference(x), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@cy.kernel
def exchange_neighbours(x):
    kept = cy.empty((1,))
    for i in range(x.shape[0] - 1):
        kept[0] = x[i]
        x[i] = x[i + 1]
        x[i + 1] = kept[0]
    return x


@cy.kernel
def between_other_elements(x):
    for i in range(1, x.shape[0] - 1):
        before = x[i - 1]
        after = x[i + 1]
        x[i] = before + after
    return x


@pytest.mark.parametrize("kernel", [exchange_neighbours, between_other_elements])
def test_elements_keep_what_they_were(kernel):
    x = np.array([1.0, -2.0, 3.0, 4.0, 5.0])
    np.testing.assert_array_equal(kernel(x), kernel.reference(x.copy()))


@cy.kernel
def empty_beside_one_term(A):
    L = cy.zeros_like(A)
    for j in range(1):
        L[j, j] = A[j, j] - (sum(L[j, k] for k in range(1)) + sum(L[j, k] for k in range(1, j)))
    return L


@cy.kernel
def several_ranges_of_one_name(y, x):
    for i in range(2):
        y[i] = y[i] + x[i]
    for i in range(4):
        x[i] = (
            sum(y[k] for k in range(i, 5))
            + sum(y[k] for k in range(1, i)) * 2
            + sum(y[k] for k in range(3)) * 4
        )
    return x, y


@pytest.mark.parametrize(
    ("kernel", "shapes"), [(empty_beside_one_term, [(3, 3)]), (several_ranges_of_one_name, [(5,), (4,)])]
)
def test_sums_over_several_ranges_read_one_array_by_one_name(kernel, shapes):
    agree(kernel, *(integers(*shape) for shape in shapes), schedules=(None,))
