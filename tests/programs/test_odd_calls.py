"""Calls with arguments of the wrong kind are refused in the package's own words."""

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


A = np.ones((2, 2))
PROGRAM = matmul.compile(A, A)
ODD = [None, True, 1.5, "a", (), {}, object(), A, np.zeros(0), matmul.compile, range(3), 2**70]


def refused(call, *args, **options):
    with pytest.raises(cy.CyclotronError) as found:
        call(*args, **options)
    return found.value


@pytest.mark.parametrize("name", [name for name in dir(cy.schedules) if name[0] != "_"])
@pytest.mark.parametrize("kernel", [*ODD, PROGRAM], ids=lambda one: type(one).__name__)
def test_recipes_are_for_kernels(name, kernel):
    recipe = getattr(cy.schedules, name)
    layers = {"layers": 2} if name == "matmul_25d" else {}
    error = refused(recipe, kernel, **layers)
    assert error.code == "CYC304"
    assert f"`{name}` got a `{type(kernel).__name__}`" in str(error)


@pytest.mark.parametrize(
    "objective", [*ODD, ["cycles", "a"], ["cycles", A]], ids=lambda one: type(one).__name__
)
def test_objectives_have_names(objective):
    assert refused(cy.map, matmul, A, A, objective=objective).code == "CYC301"


@pytest.mark.parametrize("gap", [None, -1, "a", A, float("nan")], ids=lambda one: type(one).__name__)
def test_gaps_are_numbers(gap):
    assert refused(cy.map, matmul, A, A, gap=gap).code == "CYC301"


@pytest.mark.parametrize("limit", [0, -1, *ODD[1:]], ids=lambda one: type(one).__name__)
def test_limits_of_proofs_are_whole_numbers(limit):
    assert refused(cy.prove, PROGRAM, limit=limit).code == "CYC733"


@pytest.mark.parametrize(
    "bind", [True, 1.5, "a", (1,), ["C"], A, object()], ids=lambda one: type(one).__name__
)
def test_what_is_bound_is_a_dict(bind):
    assert refused(cy.resident, PROGRAM, bind=bind).code == "CYC733"


@pytest.mark.parametrize("kind", ODD, ids=lambda one: type(one).__name__)
def test_folds_have_kinds(kind):
    refused(cy.Fold, kind, 2)


@pytest.mark.parametrize(
    "steps", [1.5, True, "a", -1, 2**31, A, np.zeros(0)], ids=lambda one: type(one).__name__
)
def test_bounds_of_loops_are_whole_numbers(steps):
    assert refused(cy.kernel, max_steps=steps).code == "CYC116"
