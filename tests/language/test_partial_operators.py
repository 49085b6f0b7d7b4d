"""Operators without a result for some values, where what they compute is dropped: no errors, as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def roots_until(u, n):
    for _ in range(n):
        if cy.min(u) < 0:
            break
        u = cy.sqrt(u) - 0.9
    return u


@cy.kernel(max_steps=9)
def roots_while(u):
    s = cy.zeros((), dtype="float32")
    while cy.min(u) >= 0:
        u = cy.sqrt(u) - 0.75
        s += cy.sum(cy.sqrt(u + 0.75))
    return u, s


@cy.kernel
def powers_until(u, n):
    for _ in range(n):
        if cy.min(u) < 0:
            break
        u = 2**u - u - 3
    return u


@cy.kernel
def factors_until(a, n):
    """Each of `cy.linalg` on scalars, of a number that falls to 0 and below."""
    x = cy.zeros((5, n))
    for t in range(n):
        if a[0] <= 0:
            break
        x[0, t] = cy.linalg.cholesky(a[0])
        x[1, t] = cy.linalg.lu(a[0])
        x[2, t] = cy.linalg.ldl(a[0])
        x[3, t] = cy.linalg.solve_triangular(a[0], a[1])
        x[4, t] = cy.linalg.inv_triangular(a[0])
        a[0] -= 1
    return x


@cy.kernel
def roots_where(u, v):
    return cy.where(u > 0, cy.sqrt(u), 0.0), np.where(v < 0, -1, np.sqrt(v))


@cy.kernel
def quotients_where(u, v):
    return cy.where(v != 0, u // v, 0), cy.where(v == 0, u, u % v)


@cy.kernel
def nested_where(u, v):
    return cy.where(v != 0, cy.where(u // v > 1, u % v, 7 // v), cy.where(u != 0, 9 // u, 0))


@cy.kernel
def sums_where(u, v):
    """The test is a reduction, and the branch has one of terms without a result."""
    return cy.where(cy.sum(v, axis=1) > 0, cy.sum(cy.sqrt(v), axis=1), u), cy.where(u[0] < 0, cy.sqrt(u), u)


@cy.kernel
def elements_where(u, v):
    x = cy.zeros_like(u)
    for i in range(u.shape[0]):
        x[i] = cy.where(v[i] != 0, u[i] // v[i], -1)
    return x


@cy.kernel
def ended_by_indices(u, n):
    for t in range(n):
        if t > 0 and u[0] // u[1] > 3:
            break
        if t > 1 and t != 2 and cy.sum(6 // u) > 1:
            break
        u[1] -= 1
    return u


CASES: list[tuple[cy.Kernel, tuple[Any, ...]]] = [
    (roots_until, (np.array([4.0, 6.0, 12.0]), 9)),
    (roots_until, (np.array([2.0, 3.0], "float32"), 6)),
    (roots_while, (np.array([1.0], "float32"),)),
    (powers_until, (np.array([2, 3]), 6)),
    (factors_until, (np.array([2.0, 3.0]), 4)),
    (factors_until, (np.array([0.0, 3.0]), 1)),
    (roots_where, (np.array([4.0, -1.0, 0.0]), np.array([-4.0, 1.0, 9.0]))),
    (roots_where, (np.zeros((0,)), np.zeros((0,)))),
    (quotients_where, (np.array([[7, -7], [3, 2]]), np.array([[2, 0], [-2, 3]]))),
    (quotients_where, (np.array([7], "int32"), np.array([0], "int32"))),
    (nested_where, (np.array([9, 0, 5, 0]), np.array([2, 0, 0, 3]))),
    (sums_where, (np.array([1.0, -2.0]), np.array([[4.0, 9.0], [1.0, -4.0]]))),
    (elements_where, (np.array([7, 8]), np.array([0, 3]))),
    (ended_by_indices, (np.array([9, 4]), 5)),
    (ended_by_indices, (np.array([9, 2]), 5)),
]


@pytest.mark.parametrize(
    ("kernel", "arguments"), CASES, ids=[f"{k.name}-{n}" for n, (k, _) in enumerate(CASES)]
)
def test_what_is_dropped_is_no_error(kernel: cy.Kernel, arguments: tuple[Any, ...]) -> None:
    program = kernel.compile(*arguments)
    with np.errstate(all="ignore"):
        expected = kernel.reference(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for backend in ("sim", "local"):
        outputs = cy.run(program, backend=backend).outputs.values()
        for found, wanted in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert found.dtype == wanted.dtype


def test_what_is_taken_is_still_an_error() -> None:
    @cy.kernel
    def taken(u):
        x = cy.zeros_like(u)
        for i in range(u.shape[0]):
            x[i] = cy.where(u[i] < 1, cy.linalg.cholesky(u[i]), 0.0)
        return x

    with pytest.raises(cy.ExecutionError) as caught:
        taken(np.array([2.0, -1.0]))
    assert caught.value.code == "CYC701"


def test_roots_of_sums_of_squares_need_no_choice() -> None:
    @cy.kernel
    def lengths(u, v, n):
        for _ in range(n):
            u = u + 1
            if cy.norm(u - v) + cy.max(cy.sqrt(abs(v))) > 9:
                break
        return u

    operations = [
        line.split(" = ")[-1] for line in str(lengths.graph(np.ones(3), np.ones(3), 4)).splitlines()
    ]
    assert sum(one.startswith("sqrt") for one in operations) == 2
    assert sum(one.startswith("where") for one in operations) == 2  # of what the loop keeps


def test_what_a_test_computes_has_no_choice_in_the_branches() -> None:
    """A choice for each use, in choices that a composition makes of it, would double with each of them."""

    @cy.kernel
    def rounded(u, v):
        return cy.round(cy.where(u < 1, -1.5, u % v))

    u, v = np.array([True, False, True]), np.array([3, 0, 2], "uint32")
    assert len(str(rounded.compile(u, v, schedule=cy.Schedule()))) < 20_000
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(rounded(u, v), np.round(np.where(u < 1, -1.5, u % v)))
