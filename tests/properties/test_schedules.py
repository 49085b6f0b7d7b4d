"""Any schedule of any kernel is refused with a reason or computes what NumPy computes."""

import sys
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import cyclotron as cy

sys.path.insert(0, str(Path(__file__).parents[1] / "programs"))

import cases
import kernels

INDICES = {
    "matmul": ("i", "j", "k"),
    "solve_scalar": ("i", "r", "j"),
    "solve_vector": ("i", "j"),
    "prefix_sum": ("i",),
    "cholesky_scalar": ("j", "i", "k"),
}
TENSORS = {
    "matmul": ("A", "B"),
    "solve_scalar": ("L", "B", "X"),
    "solve_vector": ("L", "b", "x"),
    "prefix_sum": ("A", "P"),
    "cholesky_scalar": ("A", "L"),
}
EXPECTED = (cy.LegalityError, cy.ScheduleError, cy.CapacityError, cy.DeadlockError)


@st.composite
def problems(draw):
    name = draw(st.sampled_from(sorted(INDICES)))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    n, m, k = (draw(st.integers(1, 6)) for _ in range(3))
    arguments = {
        "matmul": lambda: (cases.integers(rng, n, k), cases.integers(rng, k, m)),
        "solve_scalar": lambda: (cases.unit_triangle(rng, n), cases.integers(rng, n, m)),
        "solve_vector": lambda: (cases.unit_triangle(rng, n), cases.integers(rng, n)),
        "prefix_sum": lambda: (rng.integers(-9, 10, n),),
        "cholesky_scalar": lambda: (lambda L: (L @ L.T,))(cases.factor(rng, n)),
    }[name]()
    indices = draw(st.permutations(INDICES[name]))
    grid = draw(st.integers(0, len(indices)))
    schedule = cy.Schedule().space(*indices[:grid])
    if draw(st.booleans()):
        schedule = schedule.time(*indices[grid:])
    for tensor in TENSORS[name]:
        move = draw(st.sampled_from(["none", "stream", "broadcast", "prefetch"]))
        along = draw(st.one_of(st.none(), st.sampled_from(INDICES[name])))
        if move == "stream":
            schedule = schedule.stream(tensor, along=along)
        elif move == "broadcast":
            schedule = schedule.broadcast(tensor, along=along)
        elif move == "prefetch":
            schedule = schedule.prefetch(tensor)
    return name, arguments, schedule


# Sets of which isl 0.25 can join no parts, "cannot relax redundant constraint".
@example(("cholesky_scalar", (np.eye(6),), cy.Schedule().time("i", "k", "j")))
@given(problems())
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
def test_refused_or_right(problem):
    name, arguments, schedule = problem
    kernel = getattr(kernels, name)
    assert eval(repr(schedule)) == schedule
    try:
        program = kernel.compile(*arguments, schedule=schedule)
        outputs = [cy.run(program, backend=backend).output for backend in ("sim", "local")]
    except EXPECTED as error:
        refused = error
    else:
        refused = None
    if refused is not None:
        assert refused.help
        return
    expected = kernel.reference(*arguments)
    for output in outputs:
        np.testing.assert_array_equal(output, expected)
    assert type(program.dataflow).parse(str(program.dataflow)) == program.dataflow
