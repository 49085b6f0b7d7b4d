"""Every code that the sources raise has a page with a program that gives it and one that runs."""

import importlib
import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs/extensions"), str(ROOT / "tools/checks")]
error_codes = importlib.import_module("error_codes")
refusals = importlib.import_module("refusals")

CASES = {case.code: case for case in refusals.cases()}
# No Python program gives these: the core refuses what only it could have made, or it takes another process.
ELSEWHERE = {
    **dict.fromkeys(["CYC210", "CYC212", "CYC214", "CYC299"], "the compiler never makes such equations"),
    **dict.fromkeys(["CYC667", "CYC668"], "the compiler never makes such programs"),
    **dict.fromkeys(["CYC702", "CYC730", "CYC731"], "it takes a launcher, or a failure of one rank"),
    "CYC622": "it takes a process that has compiled nothing",
    "CYC900": "a bug of the compiler",
}
PROGRAMS = [case for case in CASES.values() if case.fails]


def test_every_code_is_documented():
    assert set(CASES) == set(error_codes.raised(ROOT))
    assert len(CASES) == len(list(refusals.cases()))


def test_every_code_has_two_programs():
    assert {code for code, case in CASES.items() if case.elsewhere} == set(ELSEWHERE)
    for code, case in CASES.items():
        assert bool(case.fails) == bool(case.works) == (code not in ELSEWHERE), code


@pytest.mark.parametrize("code", sorted(ELSEWHERE))
def test_the_text_of_the_others_is_kept(code):
    assert f"[{code}]" in (refusals.GOLDEN / f"{CASES[code].elsewhere}.txt").read_text()


def available(case):
    if case.starts_ranks and not (importlib.util.find_spec("cyclotron._mpi") and shutil.which("mpirun")):
        pytest.skip("MPI is not installed")
    if case.code in ("CYC718", "CYC735"):
        pytest.importorskip("matplotlib")


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: f"{'mpi-' * case.starts_ranks}{case.code}")
def test_programs(case):
    available(case)
    error = refusals.run(case.prologue, case.fails)
    assert getattr(error, "code", None) == case.code, repr(error)
    error = refusals.run(case.prologue, case.works)
    assert error is None, repr(error)
