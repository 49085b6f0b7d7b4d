"""CYCLOTRON_QUICK leaves out cases of tests marked ``sampled``, and nothing else."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "programs/test_notation.py"
SAMPLED = "test_latex_is_valid"  # one of three cases


def cases(**quick):
    """Count the cases of each test of a file."""
    environment = {name: value for name, value in os.environ.items() if name != "CYCLOTRON_QUICK"} | quick
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", str(FILE)]
    told = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=True, cwd=FILE.parent
    )
    tests = (line.partition("::")[2] for line in told.stdout.splitlines() if "::" in line)
    return Counter(test.partition("[")[0] for test in tests)


def test_a_few_cases_of_sampled_tests():
    every, quick = cases(), cases(CYCLOTRON_QUICK="1")
    assert quick.pop(SAMPLED) == -(-every.pop(SAMPLED) // 3)
    assert quick == every
