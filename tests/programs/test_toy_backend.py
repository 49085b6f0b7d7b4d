"""Programs run unchanged on a backend of two hundred lines: control, queues and kernels (CY-114, CY-116)."""

import json

import cases
import kernels
import numpy as np
import pytest
import toy_backend

import cyclotron as cy
from cyclotron.compiler import generators
from cyclotron.runtime import backends

EXACT = [case for case in cases.all_cases() if case.exact][::3]


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    """Register the backend for a test alone: errors elsewhere list all there are."""
    monkeypatch.setattr(backends, "_BACKENDS", {**backends._BACKENDS})
    monkeypatch.setattr(generators, "_GENERATORS", {**generators._GENERATORS})
    backends.register(toy_backend.BACKEND)


def outputs(program):
    return cy.run(program, backend="toy").outputs


@pytest.mark.parametrize("case", EXACT, ids=[case.name for case in EXACT])
def test_the_decoded_program_is_all_that_a_backend_needs(case):
    program = case.compile()
    expected = cy.run(program, backend="local").outputs
    found = outputs(program)
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name])


def test_programs_with_constants_of_the_host_are_decoded():
    weights = np.arange(6.0)

    @cy.kernel
    def scaled(x):
        y = cy.empty_like(x)
        for i in range(len(x)):
            y[i] = weights[i] * x[i]
        return y

    x = np.random.default_rng(0).random(6)
    program = scaled.compile(x)
    assert program.constants
    np.testing.assert_array_equal(outputs(program)["y"], weights * x)


@pytest.mark.parametrize("recipe", [cy.schedules.output_stationary, cy.schedules.cannon, cy.schedules.summa])
def test_tiles_of_several_sizes(recipe):
    rng = np.random.default_rng(0)
    A, B = (rng.integers(-3, 4, (9, 9)).astype(float) for _ in range(2))
    tiles = cy.blocked(A, (2, 2)), cy.blocked(B, (2, 2))
    program = kernels.matmul.compile(*tiles, schedule=recipe(kernels.matmul))
    np.testing.assert_array_equal(outputs(program)["C"], A @ B)


def test_channels_that_are_too_shallow_block_it_as_they_block_the_simulator():
    """Two rounds of a ring in which each PE sends what it has made twice before it takes anything."""
    A = np.arange(24.0).reshape(12, 2)

    @cy.kernel
    def exchange(A):
        X = cy.empty_like(A)
        for t in range(A.shape[0]):
            for i in range(A.shape[1]):
                if t < 3 or i == 0:
                    X[t, i] = A[t, i]
                else:
                    X[t, i] = X[t - 3, i - 1] + A[t, i]
        return X

    program = exchange.compile(A, schedule=cy.Schedule().space("i"))
    for depth in (1, 2, 3, 4):
        shallow = program.with_machine(cy.Machine(link=cy.Link(depth=depth)))
        try:
            expected = cy.run(shallow, backend="sim").output
        except cy.DeadlockError:
            with pytest.raises(toy_backend.Deadlock):
                outputs(shallow)
        else:
            np.testing.assert_array_equal(outputs(shallow)["X"], expected)


def test_checks_and_options_know_it():
    """By its name, like those that come with Cyclotron."""
    program = kernels.matmul.compile(np.eye(3), np.arange(9.0).reshape(3, 3))
    assert list(cy.check(program, backends=["toy", "local"]).errors) == ["toy", "local"]
    with pytest.raises(cy.ExecutionError, match="threads=2 on the toy backend") as caught:
        cy.run(program, backend="toy", threads=2)
    assert caught.value.code == "CYC733"
    with pytest.raises(cy.BackendUnavailable, match="there is no backend 'toys'") as unavailable:
        cy.run(program, backend="toys")
    assert "toy" in unavailable.value.help


def test_generators():
    """By name, of the decoded program."""
    program = kernels.matmul.compile(np.eye(2), np.eye(2))
    generators.register("title", lambda decoded: f"{decoded['kernel']} on {decoded['grid']}")
    assert program.emit("title") == f"matmul on {list(program.grid)}"
    assert json.loads(program.emit("json")) == program.decoded()
    with pytest.raises(cy.BackendUnavailable, match="there is no generator 'verilog'") as caught:
        program.emit("verilog")
    assert caught.value.code == "CYC720"
