"""Options and fixtures of all Python tests."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# OpenBLAS starts threads in each process, which look for work for a while before they sleep: where a core is
# idle, half of the processor time of the hundreds of short processes that these tests start.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
# Ranks that wait leave their core to those that they wait for: Open MPI knows of no other tests.
os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")

# What is compiled is compiled: nothing comes from an earlier run, nor is left for a later one.
os.environ.setdefault("CYCLOTRON_CACHE_DIR", "")

# Compilers of loops would take the cores of other tests; `programs/test_compiled_loops.py` asks for them.
os.environ.setdefault("CYCLOTRON_CC", "")

# A shell that starts the tests in the background has them ignore Ctrl-C, which some of them send.
signal.signal(signal.SIGINT, signal.default_int_handler)

GOLDEN = Path(__file__).parent / "golden"
QUICK = bool(os.environ.get("CYCLOTRON_QUICK"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


def pytest_report_header() -> str | None:
    return "CYCLOTRON_QUICK: a few cases of each test marked `sampled`" if QUICK else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases of tests marked ``sampled(n)`` where CYCLOTRON_QUICK is set: all but one of n."""
    if not QUICK:
        return
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    cases: Counter[str] = Counter()
    for item in items:
        marker = item.get_closest_marker("sampled")
        test = item.nodeid.partition("[")[0]
        (left_out if marker and cases[test] % marker.args[0] else kept).append(item)
        cases[test] += 1
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def pytest_collection_finish() -> None:
    """Keep all that is there before the first test: the garbage collector need not look at it again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With several workers (``-n 2 --dist loadgroup``), one of them runs all tests that start MPI ranks.

    Told by their names: pytest-xdist 3.8 writes its groups where pytest 9 does not read them.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return "mpi" if "mpi" in re.split(r"[^a-z]+", nodeid.lower()) else nodeid

    return Scheduling(config, log)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``golden("errors/while.txt", text)``: compare a text with a file below tests/golden."""

    def compare(path: str, text: str) -> None:
        file = GOLDEN / path
        text = text.rstrip("\n") + "\n"
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.exists(), f"{file} is missing; run pytest with --update-golden and look at it"
        kept = file.read_text(encoding="utf-8")
        if sys.version_info < (3, 11):
            text, kept = _without_columns(text), _without_columns(kept)
        assert text == kept, f"{file} differs; see --update-golden"

    return compare


def _without_columns(text: str) -> str:
    """An error's text without where in a line it is, of which Python 3.10 tells nothing."""
    text = re.sub(r"(?m)^( *--> .*):\d+$", r"\1", text)
    return re.sub(r"(?m)^ +\| +\^+\n", "", text)


@pytest.fixture
def golden_refusal(golden: Callable[[str, str], None]) -> Callable[..., None]:
    """``golden_refusal("no-machine", cy.ShapeError, "CYC400", action)``: what a refused action says.

    Kept in tests/golden/refusals, with file names only and without line numbers, which change with the test.
    """

    def compare(name: str, kind: type[Exception], code: str, action: Callable[[], object]) -> None:
        with pytest.raises(kind) as caught:
            action()
        text = str(caught.value)
        assert f"[{code}]" in text.splitlines()[0], text
        text = re.sub(r"--> .*/(\w+\.py):\d+:", r"--> \1:LINE:", text)
        text = re.sub(r"(?m)^ +(\d*) +\|", lambda m: " LINE |" if m.group(1) else "      |", text)
        golden(f"refusals/{name}.txt", text)

    return compare
