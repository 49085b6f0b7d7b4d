"""Without events numbers and time are computed apart: the same bits, cycles and failures."""

import math

import cases
import kernels
import numpy as np
import pytest
from test_counters import ARRAYS as COUNTERS
from test_proofs import compile_late

import cyclotron as cy
from cyclotron.analysis.counters import TIMES

CASES = list(cases.all_cases())
COUNTS = (*TIMES, *COUNTERS)


def apart(program, *inputs, threads=1):
    return cy.run(program, *inputs, backend="sim", event_limit=0, threads=threads)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_together_and_apart_agree(case):
    program = case.compile()
    together = cy.run(program, backend="sim")
    found = apart(program, threads=2)
    assert found.engine == together.engine == "functional"
    assert found.output.tobytes() == together.output.tobytes()
    assert found.cycles == together.cycles
    assert all(np.array_equal(found.stats[name], together.stats[name]) for name in COUNTS)
    assert found.stats["channels"] == together.stats["channels"]
    assert len(together.events) > 0 or together.stats["busy"].sum() == 0
    assert len(found.events) == 0


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("depth", [1, 2, 40])
def test_any_number_of_threads_gives_the_same_bits(threads, depth):
    """Large enough for threads to start: float32 products whose sums depend on their order."""
    rng = np.random.default_rng(3)
    A, B = (rng.standard_normal(shape, "float32") for shape in ((40, 60), (60, 30)))
    machine = cy.Machine(link=cy.Link(depth=depth))
    schedule = cy.schedules.output_stationary(kernels.matmul)
    program = kernels.matmul.compile(A, B, schedule=schedule, machine=machine)
    together, found = cy.run(program, backend="sim"), apart(program, threads=threads)
    assert found.output.tobytes() == together.output.tobytes()
    assert found.cycles == together.cycles


def test_failures_are_the_same():
    tiles = cy.blocked(-np.eye(6), (2, 2))
    program = kernels.cholesky.compile(tiles, schedule=cy.Schedule().space("i", "j"))
    with pytest.raises(cy.ExecutionError, match="not positive definite") as together:
        cy.run(program, backend="sim")
    with pytest.raises(cy.ExecutionError) as found:
        apart(program)
    assert str(found.value) == str(together.value)
    with pytest.raises(cy.DeadlockError, match="depth of 5"):
        apart(compile_late(2))
    np.testing.assert_array_equal(apart(compile_late(5)).output, cy.run(compile_late(5)).output)


@cy.kernel
def root_distances(X, Y):
    D = cy.empty((X.shape[0], Y.shape[1]))
    for i in range(X.shape[0]):
        for j in range(Y.shape[1]):
            D[i, j] = sum(math.sqrt(X[i, k] - Y[k, j]) for k in range(X.shape[1]))
    return D


@pytest.mark.parametrize("k", [0, 1, 7, 255, 256, 299])
def test_a_failure_amid_many_iterations_names_its_own(k):
    """The root of a negative at one point of a loop whose iterations run many at a time."""
    X, Y = np.ones((3, 300)), np.zeros((300, 4))
    Y[k, 2] = 2.0
    schedule = cy.Schedule().space("i", "j").stream("X", along="j").stream("Y", along="i")
    program = root_distances.compile(X, Y, schedule=schedule)
    messages = []
    for functional in (cy.run, apart):
        with pytest.raises(cy.ExecutionError, match="negative") as error:
            functional(program)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert f"k = {k}" in messages[0] or k == 0


@cy.kernel
def running(A, W):
    """Sums that PEs keep many of: the loop's scalars are elements of slots that move with it."""
    S = cy.empty((W.shape[0], A.shape[0], A.shape[1]))
    for i in range(W.shape[0]):
        for r in range(A.shape[0]):
            for k in range(A.shape[1]):
                if r == 0:
                    S[i, r, k] = W[i, k] * A[r, k]
                else:
                    S[i, r, k] = S[i, r - 1, k] + W[i, k] * A[r, k]
    return S


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (5, 300), (3, 1100)])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex128"])
def test_slots_that_a_loop_walks_along(shape, dtype):
    rng = np.random.default_rng(5)
    A, W = rng.integers(-9, 9, shape).astype(dtype), rng.integers(-9, 9, (3, shape[1])).astype(dtype)
    program = running.compile(A, W, schedule=cy.Schedule().space("i").stream("A", along="i"))
    expected = running.reference(A, W)
    for threads in (1, 2):
        found = apart(program, threads=threads)
        np.testing.assert_array_equal(found.output, expected)
        assert found.cycles == cy.run(program, backend="sim").cycles
