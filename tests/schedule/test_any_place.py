"""Schedules of values that are made and needed in turn all over the grid: none is refused for distance."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cyclotron as cy
from cyclotron import _core

MESH = cy.Machine(grid=(12, 12))
SMALL = cy.Machine(grid=(3, 2))


@cy.kernel
def backward(U, Y):
    n, m = Y.shape
    X = cy.zeros((n, m))
    for r in range(m):
        for i in range(n - 1, -1, -1):
            X[i, r] = (Y[i, r] - sum(U[i, j] * X[j, r] for j in range(i + 1, n))) / U[i, i]
    return X


@cy.kernel
def backward_by_slices(U, y):
    n = len(y)
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - U[i, i + 1 :] @ x[i + 1 :]) / U[i, i]
    return x


@cy.kernel
def gauss_seidel(A, b, x):
    n = len(b)
    for t in range(5):
        for i in range(n):
            x[i] = (b[i] - sum(A[i, j] * x[j] for j in range(n) if j != i)) / A[i, i]
    return x


@cy.kernel
def gauss_seidel_by_slices(A, b, x):
    n = len(b)
    for t in range(5):
        for i in range(n):
            x[i] = (b[i] - A[i, :i] @ x[:i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


@cy.kernel
def over_relaxed(A, b, x):
    n = len(b)
    for t in range(5):
        for i in range(n):
            x[i] = x[i] + 1.1 * (b[i] - A[i] @ x) / A[i, i]
    return x


@cy.kernel
def pivoted(A):
    A = A.copy()
    n = A.shape[0]
    for k in range(n):
        p = k + np.argmax(np.abs(A[k:, k]))
        A[[k, p]] = A[[p, k]]
        for i in range(k + 1, n):
            A[i, k:] -= A[i, k] / A[k, k] * A[k, k:]
    return A


def relaxed(A, b, x, weight):
    x = x.copy()
    for _ in range(5):
        for i in range(len(b)):
            x[i] += weight * (b[i] - A[i] @ x) / A[i, i]
    return x


def eliminated(A):
    A = A.copy()
    for k in range(len(A)):
        rows = [k, k + np.abs(A[k:, k]).argmax()]
        A[rows] = A[rows[::-1]]
        A[k + 1 :] -= np.outer(A[k + 1 :, k] / A[k, k], A[k])
    return A


def uniform(*shape):
    return np.random.default_rng(len(shape)).random(shape)


def dominant(n):
    return uniform(n, n) + n * np.eye(n)


UPPER, DENSE = np.triu(dominant(7)), dominant(6)
CASES: dict[str, tuple[Any, tuple[np.ndarray, ...], Callable[..., Any]]] = {
    "backward": (backward, (UPPER, uniform(7, 3)), np.linalg.solve),
    "backward by slices": (backward_by_slices, (UPPER, uniform(7)), np.linalg.solve),
    "Gauss-Seidel": (
        gauss_seidel,
        (DENSE, uniform(6), np.zeros(6)),
        lambda A, b, x: relaxed(A, b, x, 1.0),
    ),
    "Gauss-Seidel by slices": (
        gauss_seidel_by_slices,
        (DENSE, uniform(6), np.zeros(6)),
        lambda A, b, x: relaxed(A, b, x, 1.0),
    ),
    "over-relaxed": (
        over_relaxed,
        (DENSE, uniform(6), np.zeros(6)),
        lambda A, b, x: relaxed(A, b, x, 1.1),
    ),
}


def check(kernel, arguments, expected, space, machine):
    schedule = cy.Schedule().space(*space)
    program = kernel.compile(*[one.copy() for one in arguments], machine=machine, schedule=schedule)
    for backend in ("sim", "local"):
        (value,) = cy.run(program, backend=backend).outputs.values()
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)
    return program


@pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")
@pytest.mark.parametrize("machine", [MESH, SMALL], ids=["mesh", "small"])
@pytest.mark.parametrize("name", CASES)
def test_every_pair_of_indices_may_be_space(name, machine):
    kernel, arguments, oracle = CASES[name]
    system = kernel.recurrences(*[one.copy() for one in arguments]).core
    names = [one for one in _core.index_names(system) if not one.startswith("statement")]
    for space in itertools.permutations(names, 2):
        check(kernel, arguments, oracle(*arguments), space, machine)


def test_pes_that_take_turns_are_named(golden_refusal):
    arguments = dominant(5), uniform(5), np.zeros(5)  # which no other test has compiled for

    def compiled():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            over_relaxed.compile(*arguments, machine=MESH, schedule=cy.Schedule().space("i", "j"))

    golden_refusal("pes-that-take-turns", cy.PerformanceWarning, "CYC334", compiled)


def test_pes_in_waves_take_no_turns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arguments = np.triu(dominant(5)), uniform(5, 3)
        program = check(backward, arguments, np.linalg.solve(*arguments), ("i", "j"), MESH)
    assert "r+i" in str(program.schedule)


@cy.kernel
def skipped(A):
    n, m = A.shape
    X = cy.empty_like(A)
    for i in range(n):
        for j in range(m):
            X[i, j] = A[i, j] + (X[i, j - 2] + X[i - 2, j] if i >= 2 and j >= 2 else 0.0)
    return X


@pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")
@pytest.mark.parametrize("space", [("j", "i+j"), ("i+j", "j"), ("i+j", "i"), ("i", "2*i+j")])
def test_waves_that_are_in_space_take_turns_as_others_do(space):
    A = uniform(5, 3)
    right = A.copy()
    for i, j in itertools.product(range(2, 5), range(2, 3)):
        right[i, j] = A[i, j] + (right[i, j - 2] + right[i - 2, j])
    check(skipped, (A,), right, space, MESH)


def test_turns_of_what_is_beside_a_wave_are_bounded():
    @cy.kernel
    def product(B, C):
        X = cy.zeros((3, 3))
        for i in range(3):
            for j in range(3):
                for k in range(3):
                    X[i, j] += B[k, i] * C[j, k]
        return X

    rotated = cy.Schedule().space("k+i", "i", "j").rotate("k", by=("i", "j"))
    with pytest.raises(cy.LegalityError, match="CYC220"):
        product.compile(uniform(3, 3), uniform(3, 3), schedule=rotated)


@pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")
@pytest.mark.parametrize("space", [("i", "j"), ("k", "j")])
def test_rows_that_data_swaps_go_any_way(space):
    check(pivoted, (uniform(5, 5),), eliminated(uniform(5, 5)), space, MESH)


@pytest.mark.parametrize("topology", ["mesh", "hexagonal"])
def test_partial_sums_go_as_far_as_they_have_to(topology):
    @cy.kernel
    def product(A, B):
        return A @ B

    A, B = uniform(5, 4), uniform(4, 6)
    program = product.compile(
        A, B, schedule=cy.schedules.hexagonal(product), machine=cy.Machine(topology=topology)
    )
    np.testing.assert_allclose(cy.run(program, backend="sim").output, A @ B, rtol=1e-12)
