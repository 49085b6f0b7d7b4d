"""Random kernels are NumPy's in values and dtypes on all backends, or are refused with a reason."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path

import numpy as np
import numpy_programs
import numpy_search
import numpy_shim
import pytest
from numpy_values import Program
from random_search import SEED

import cyclotron as cy

PROGRAMS = int(os.environ.get("CYCLOTRON_NUMPY_PROGRAMS", "100"))
# Of a fresh seed only where many are asked for: what those find is no fault of the change at hand.
OWN_SEED = SEED if "CYCLOTRON_NUMPY_PROGRAMS" in os.environ else 20261121

pytestmark = pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="numbers have no dtype")


@pytest.mark.timeout(1200 if PROGRAMS < 1000 else 36000)
def test_programs_are_those_of_numpy(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = 1 if "PYTEST_XDIST_WORKER" in os.environ else min(os.cpu_count() or 1, 8)
    found = numpy_search.search(OWN_SEED, PROGRAMS, jobs)
    with capsys.disabled():
        print(f"\nCYCLOTRON_SEED={OWN_SEED}: {PROGRAMS} programs\n{found}")
    failed = [
        one
        for (outcome, _), some in found.scripts.items()
        if numpy_search.Finding(outcome).fails
        for one in some
    ]
    assert not failed, "\n\n".join(failed)
    assert found.outcomes.total() == PROGRAMS
    assert found.outcomes["ok"] > 0.5 * PROGRAMS


SUM = Program(
    "@cy.kernel\ndef kernel(u, v, a):\n    y1 = v[1:] * 2\n    y2 = u + a\n"
    "    y2 += cy.maximum(u, 0)\n    return y1, y2\n",
    ("np.array([1.5, nan, -0.0])", "np.array([1, 2, 3])", "0.0"),
    ("np.array([1.5, 2.0, 3.0])", "np.array([1, 2, 3])", "-0.0"),
)


def judged(wrong: str) -> numpy_search.Finding:
    """The finding on SUM where the oracle's text has a part of another meaning."""
    judge = numpy_search.Judge()
    kernel = judge.kernel(SUM.text)
    other = dataclasses.replace(SUM, text=SUM.text.replace("u + a", wrong))
    return judge.with_arguments(kernel, other, other.values(), 0, scheduled=True)


def test_a_warning_without_a_cause_is_seen() -> None:
    judge = numpy_search.Judge()
    u = np.zeros(2)
    program = judge.kernel("@cy.kernel\ndef kernel(u):\n    return 1 / u\n").compile(u)
    right = numpy_shim.expected("def kernel(u):\n    return 1 / u\n", [u], 0)
    assert judge.run(program, "local", right).outcome == "ok"
    silent = dataclasses.replace(right, warnings=frozenset())
    assert judge.run(program, "local", silent).outcome == "wrong warning"


def test_what_is_wrong_is_seen() -> None:
    assert judged("u + a").outcome == "ok"
    assert judged("u + a * (1 + 2**-50) + 2**-51").outcome == "wrong value"
    assert judged("(u + a).astype('complex128')").outcome == "wrong dtype"
    assert judged("cy.concatenate((u, u))[:2]").outcome != "ok"
    assert judged("-(u + a)").outcome == "wrong value"


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [("cy.exp(u)", 1 + 2**-51, 1 + 2**-44), ("u @ u", 1 + 2**-52, 1 + 2**-40), ("u * 3", 1.0, 1 + 2**-52)],
)
def test_last_bits_may_differ_where_they_are_told_to(text: str, right: float, wrong: float) -> None:
    """Functions and sums by their bounds, all else not at all."""
    u = np.array([0.5, 1.25, 3.0])
    expected = numpy_shim.expected(f"@cy.kernel\ndef kernel(u):\n    return {text}\n", [u], 0)
    assert expected.difference([expected.arrays[0] * right]) is None
    assert expected.difference([expected.arrays[0] * wrong]) is not None


def test_a_sign_of_zero_is_seen() -> None:
    expected = numpy_shim.expected("def kernel(u):\n    return u * 2\n", [np.array([0.0, np.nan])], 0)
    assert expected.difference([np.array([0.0, -np.nan])]) is None
    assert expected.difference([np.array([-0.0, np.nan])]) is not None


def test_plain_runs_are_those_of_numpy_where_it_makes_the_arrays() -> None:
    text = "@cy.kernel\ndef kernel(u):\n    y = MADE(5)\n    y[2] = u[0]\n    y[::2] = y[:3]\n    return y\n"
    for made in ("np.zeros", "cy.zeros"):
        program = Program(text.replace("MADE", made), ("np.array([6.0])",))
        assert numpy_search.Judge().judge(program, 0).outcome == "ok"


def test_an_order_of_complex_nan_is_not_judged() -> None:
    """NumPy has one for scalars and another for elements of arrays."""
    u = np.array([complex(-np.inf, np.nan), 1j])
    assert (u <= 0.5)[0] != (u[0] <= 0.5)
    expected = numpy_shim.expected("def kernel(u):\n    return u <= 0.5\n", [u], 0)
    assert expected.difference([np.array([True, True])]) is None
    assert expected.difference([np.array([False, False])]) is not None


def test_failures_are_made_small() -> None:
    class Picky(numpy_search.Judge):
        def judge(self, program: Program, seed: int) -> numpy_search.Finding:
            super().kernel(program.text)
            return numpy_search.Finding("wrong value" if "cy.maximum" in program.text else "ok")

    small, _ = numpy_search.shrunk(Picky(), SUM, 0, numpy_search.Finding("wrong value"))
    assert len(small.text.splitlines()) <= 4
    assert "maximum" in small.text
    assert not small.others
    assert len(small.arguments) < 3


def test_a_program_is_the_same_of_the_same_seed() -> None:
    assert numpy_programs.draw("7/3") == numpy_programs.draw("7/3") != numpy_programs.draw("7/4")


HANGS = """
import numpy_search
def judge(self, program, seed):
    while seed == 1:
        pass
    return numpy_search.Finding("ok")
numpy_search.Judge.judge = judge
numpy_search.HANG_SECONDS = 1
numpy_search.main()
"""


def test_a_process_that_hangs_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of processor time ends it, and the programs after it are judged."""
    folders = [str(Path(numpy_search.__file__).parent), str(Path(cy.__file__).parents[1])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))
    monkeypatch.setattr(numpy_search, "COMMAND", [sys.executable, "-c", HANGS])
    found = numpy_search.search(5, 3, shrink=False)
    assert found.outcomes["hang"] == 1
    assert found.outcomes.total() == 3
