"""Where no events are kept, numbers and time are computed apart: the same bits, cycles and failures."""

import cases
import kernels
import numpy as np
import pytest
from test_counters import ARRAYS as COUNTERS
from test_proofs import compile_late

import cyclotron as cy

CASES = list(cases.all_cases())
COUNTS = ("busy", "stall_empty", "stall_full", "idle", *COUNTERS)


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
