"""Random kernels under random schedules, sizes and channel depths: refused with a reason, or exact."""

import itertools
import os

import numpy as np
import pytest
import random_search
from random_search import SEED

COMBINATIONS = int(os.environ.get("CYCLOTRON_COMBINATIONS", "1000"))


@pytest.mark.timeout(1200)
def test_refused_or_exact(capsys):
    """That many combinations of kernel, schedule, sizes and depth: all verdicts and results agree."""
    outcome = random_search.search(SEED, COMBINATIONS, min(os.cpu_count() or 1, 8))
    with capsys.disabled():
        print(f"\nCYCLOTRON_SEED={SEED}: {outcome.runs} combinations\n{outcome}")
    assert not outcome.failures, "\n\n".join(outcome.failures)
    assert outcome.runs >= COMBINATIONS


def first_problem(judge, wanted):
    """The first problem that runs and whose kernel has such a text."""
    for case in itertools.count():
        for problem in random_search.problems(1, case):
            if wanted in problem.kernel.source and max(problem.sizes) < 5 and ran(judge, problem):
                return problem
    raise AssertionError


def ran(judge, problem):
    try:
        return judge.judge(problem) > 0
    except random_search.Failure:
        return False


def test_what_fails_is_made_small(tmp_path):
    class Picky(random_search.Judge):
        def run(self, problem, *rest):
            if "max(" in problem.kernel.source:
                raise random_search.Failure("a maximum")

    problem = first_problem(random_search.Judge(tmp_path), "max(")
    small, _ = random_search.shrunk(Picky(tmp_path), problem, "a maximum")
    assert small.sizes == (0, 0, 0)
    assert small.schedule is None
    assert [line for loops in small.kernel.loops for line in loops.lines() if "max(" in line]
    assert sum(line.count(" = ") for line in small.kernel.source.splitlines()) <= 3
    assert "# schedule None" in str(small)


def test_a_wrong_result_is_seen(tmp_path):
    judge = random_search.Judge(tmp_path)
    problem = first_problem(judge, "float64")
    kernel = judge.kernel(problem.kernel.source)
    arguments = problem.kernel.arguments(problem.sizes, np.random.default_rng(problem.data))
    right = kernel.reference(*arguments)
    right = right if isinstance(right, tuple) else (right,)
    program = judge.compiled(problem, kernel, arguments)
    judge.run(problem, program, 3, right)
    with pytest.raises(random_search.Failure, match="wrong result of sim"):
        judge.run(problem, program, 3, tuple(array + 1 for array in right))
    with pytest.raises(random_search.Failure, match="wrong result of sim"):
        judge.run(problem, program, 3, tuple(array.astype("float32") for array in right))
