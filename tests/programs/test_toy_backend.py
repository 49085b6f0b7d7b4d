"""Programs run unchanged on a backend of two hundred lines: control, queues and kernels (CY-114, CY-116)."""

import cases
import kernels
import numpy as np
import pytest
import toy_backend

import cyclotron as cy

EXACT = [case for case in cases.all_cases() if case.exact][::3]


def outputs(program):
    return toy_backend.run(program.core.to_bytes(), program.inputs())


@pytest.mark.parametrize("case", EXACT, ids=[case.name for case in EXACT])
def test_the_file_of_a_program_is_all_that_a_backend_needs(case):
    program = case.compile()
    expected = cy.run(program, backend="local").outputs
    found = outputs(program)
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name])


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
